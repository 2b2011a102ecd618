"""The cluster that a question is about, copies of it that can be run, and the form of an answer."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import attrs

from core.kafka.errors import KafkaError
from core.kafka.health import is_offline
from core.lab.acts import Act, Load, SetPace
from core.lab.cluster import Cluster
from core.lab.spec import Pace
from core.lab.views.cluster_view import ClusterView
from core.lab.views.partition_view import PartitionView
from core.lab.views.view_builder import broker_view
from core.sim.errors import ActRefused
from core.sim.units import SECOND, US_PER_MS, format_duration
from scenarios.cut_sets.standing import Standing, standings
from scenarios.io.escaping import escape_line
from scenarios.running.run_summary import RunSummary

MOST_NAMED: Final = 6
"""The number of partitions or topics that a line names; the others are counted."""

MOST_LOADS: Final = 20
"""The number of topics that get a load if the cluster has none."""

RATE: Final = 10
"""The rate of such a load, in records per second and partition."""

BY_RULE: Final = "This follows from the state of the cluster by Kafka's rules; nothing was run."


@attrs.frozen
class Answer:
    """An answer.

    Attributes:
        verdict: the answer in one line.
        lines: the reasons and details.
        how: how the answer was found.
        command: the command that shows it; empty if none does.
        data: a function that returns more details for other programs.
    """

    verdict: str
    lines: tuple[str, ...]
    how: str
    command: str = ""
    data: Callable[[], Mapping[str, Any]] = dict

    def text(self) -> list[str]:
        """Return the answer as lines of output."""
        shown = [f"show it: {self.command}"] if self.command else []
        lines = [self.verdict, *(f"  {line}" for line in self.lines), f"  {self.how}", *(f"  {line}" for line in shown)]
        return [escape_line(line) for line in lines]

    def as_data(self) -> dict[str, Any]:
        """Return the answer for JSON."""
        return {"verdict": self.verdict, "details": list(self.lines), "how": self.how, "command": self.command, **self.data()}


Slices = Generator[None, None, Answer]
"""A search for an answer. It can pause at each `yield`, and returns the answer."""

Pauses = Generator[None, None, None]
"""A part of such a search that has no result of its own."""


class AskedCluster:
    """A cluster that a question is about.

    Attributes:
        cluster: the cluster. Questions do not change it.
        target: its name, as the commands take it.
        progress: the share of the search for an answer that is complete, from 0 to 1, if the search runs a copy.
    """

    def __init__(self, cluster: Cluster, target: str, options: str = "", moment: str = "") -> None:
        """Create it. `options` are those that open the target as it was asked about, and `moment` the time that was asked about."""
        self.cluster: Final = cluster
        self.target: Final = target
        self._options: Final = options
        self._moment: Final = moment
        self.progress = 0.0

    @cached_property
    def view(self) -> ClusterView:
        """The state of the cluster."""
        return self.cluster.view()

    @cached_property
    def standings(self) -> tuple[Standing, ...]:
        """What each partition depends on, in the order of the view."""
        return standings(self.cluster, self.view)

    def brokers(self, words: Sequence[str]) -> tuple[int, ...]:
        """Read brokers that a person named, as `2,5`, `2 5`, or `b2`.

        Raises:
            ValueError: a word is not a broker of this cluster. The message says which there are.
        """
        known = self.cluster.brokers
        found = []
        for word in " ".join(words).replace(",", " ").split():
            number = word.removeprefix("b")
            if not (number.isascii() and number.isdecimal() and int(number[:9]) in known):
                raise ValueError(f"'{word[:40]}' is not a broker; the brokers are {listed(sorted(known))}")
            found.append(int(number))
        if not found:
            raise ValueError(f"name the brokers, for example 2,3; the brokers are {listed(sorted(known))}")
        return tuple(dict.fromkeys(found))

    def up(self) -> frozenset[int]:
        """Return the brokers whose processes run and that the controller considers alive."""
        return frozenset(broker.id for broker in self.view.brokers if broker.up)

    def branch(self) -> Generator[None, None, Branch]:
        """Return a copy of the cluster that can be run."""
        snapshot = self.cluster.snapshot()
        yield
        copy = Cluster.restore(snapshot)
        yield
        return Branch(copy)

    def play(self) -> str:
        """Return the command that opens the cluster, and how to get to the moment that was asked about."""
        opened = " ".join(("isrlab play", self.target, *filter(None, [self._options])))
        return f"{opened}, then g {self._moment}" if self._moment else opened


class Branch:
    """A copy of a cluster, with a load if it has none, and what happens in it. Whatever lets it run can pause after each step.

    Attributes:
        cluster: the copy.
        summary: what happens from now on, in the virtual time of the original.
        load: what the load is, in words.

    Raises:
        ValueError: the cluster can be stepped only by hand, so that a copy does not run.
    """

    def __init__(self, copy: Cluster) -> None:
        self.summary: Final = RunSummary()
        self.cluster: Final = copy
        self._before: Final = self.cluster.journal.seq
        self._acked: Final = self.cluster.account.acked
        self.cluster.journal.sink = self._shifted
        if self.cluster.by_hand and (refused := self.do(SetPace(str(Pace.TIMELINE)))):
            raise ValueError(f"the answer comes from running a copy, and {refused}")
        self.load: Final = self._add_load()

    def _shifted(self, event: tuple[object, ...]) -> None:
        """Pass an event to the summary as if the branch were a run of its own."""
        seq, time, cause, *rest = event
        assert isinstance(seq, int)
        causes = cause if isinstance(cause, tuple) else (cause,)
        shifted = tuple(one - self._before for one in causes if isinstance(one, int) and one > self._before)
        self.summary((seq - self._before, time, shifted[0] if len(shifted) == 1 else shifted or 0, *rest))

    def _add_load(self) -> str:
        view = self.cluster.view()
        loads = [producer for producer in view.producers if producer.rate]
        if loads:
            total = sum(producer.rate for producer in loads)
            return f"the load of the cluster ({len(loads)} producer{'' if len(loads) == 1 else 's'}, {total:,} records/s)"
        topics = [topic for topic in view.topics if not topic.name.startswith("__")]
        for topic in topics[:MOST_LOADS]:
            load = Load(topic=topic.name, rate=RATE * topic.partitions, acks="all", every=100 * US_PER_MS, producer=f"load-{topic.name}")
            try:
                self.cluster.do(load)
            except (ActRefused, KafkaError, ValueError):
                continue
        if not topics:
            return "no load, because the cluster has no topics"
        about = f"{RATE} records/s per partition with acks=all"
        return about if len(topics) <= MOST_LOADS else f"{about} on the first {MOST_LOADS} of {len(topics):,} topics"

    def do(self, act: Act) -> str:
        """Do an act. Return why it is refused; empty if it is not."""
        try:
            self.cluster.do(act)
        except (ActRefused, KafkaError, ValueError) as refused:
            return str(refused)
        return ""

    def run(self, time: int) -> Pauses:
        """Let the copy run for a time in µs."""
        cluster = self.cluster
        end = cluster.now + time
        while (due := cluster.next_time()) is not None and due <= end:
            cluster.step()
            yield
        cluster.run_until(end)

    def settled(self, returned: int, within: int, step: int = SECOND // 4) -> Generator[None, None, int | None]:
        """Run until a broker has returned and every partition is as replicated as it can be: all replicas on live brokers are in sync. Return
        how long that took in µs; None if it took longer than `within`.
        """
        begun = self.cluster.now
        while self.cluster.now - begun < within:
            up = {number for number, broker in self.cluster.brokers.items() if broker_view(self.cluster, broker).up}
            registered = self.cluster.controller.registry.partitions.values()
            if returned in up and all(up.intersection(one.replicas) <= set(one.isr) and not is_offline(one) for one in registered):
                return self.cluster.now - begun
            yield from self.run(step)
        return None

    def told(self) -> list[str]:
        """Return what happened since the copy was made."""
        return [line.removeprefix("    ") for line in (*self.summary.cluster_lines(), *self.felt())]

    def felt(self) -> list[str]:
        """Return what clients felt since the copy was made."""
        account = self.cluster.account
        lost = [loss._replace(event=loss.event - self._before) for loss in account.losses() if loss.event > self._before]
        return list(self.summary.client_lines(self.cluster.now, account.acked - self._acked, lost))

    def how(self, what: str) -> str:
        """Return how an answer was found by this copy."""
        return f"This is what a copy of the cluster did: {what}, with {self.load}."


def listed(names: Sequence[object]) -> str:
    """Return names as a list; only the first few if there are many."""
    shown = ", ".join(str(name) for name in names[:MOST_NAMED])
    return shown if len(names) <= MOST_NAMED else f"{shown}, and {len(names) - MOST_NAMED:,} more"


def partitions(found: Sequence[PartitionView]) -> str:
    """Return the names of partitions with their number."""
    return f"{len(found):,} partition{'' if len(found) == 1 else 's'}: {listed([one.tp for one in found])}"


def seconds(time: int) -> str:
    """Return a duration for people: with at most a tenth of a second."""
    return format_duration(round(time, -5)) if time >= SECOND else format_duration(time)
