"""Plays the runs of a search: from a moment of a former run, each of some acts is tried.

A moment is the acts that lead to it and its virtual time, not a copy of the cluster. It can therefore be sent to another process, and a
search with thousands of moments needs no memory for them. To try several acts, the way to the moment is played once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Set
from functools import partial
from typing import Final, Protocol

import attrs

from core.kafka.errors import KafkaError
from core.lab.acts import Act
from core.lab.cluster import Cluster
from core.lab.views.situation import key_of, situations
from core.sim.errors import ActRefused
from core.sim.events import EventTuple
from core.sim.journal import null_sink
from core.sim.state.snapshot import Snapshot
from core.sim.units import SECOND
from scenarios.exploration.goal import Goal, Timed
from scenarios.exploration.menu import Fault, remedies
from scenarios.exploration.sends import Sends, moments_around_send
from scenarios.exploration.start import do

SWAPS: Final = "swaps"
REPEATS: Final = "repeats"

PRUNINGS: Final = {
    SWAPS: "situations that differ only because brokers have swapped their roles count as one",
    REPEATS: "a run ends in a situation that was reached with fewer faults",
}
"""What a search can leave out although something may be missed, by the word of the option `--prune`."""


@attrs.frozen
class Bounds:
    """The bounds of a search.

    Attributes:
        goal: what the search tries to make true.
        faults: the kinds of faults that it tries.
        at_most: the largest number of faults.
        within: how long the cluster runs, in µs of virtual time, counted from the beginning of the search.
        prune: what the search leaves out (`PRUNINGS`).
    """

    goal: Goal
    faults: tuple[Fault, ...]
    at_most: int = 2
    within: int = 30 * SECOND
    prune: frozenset[str] = frozenset()

    @property
    def gradual(self) -> tuple[Fault, ...]:
        """The faults that are also tried around sends, because the goal can depend on which batches they meet."""
        return tuple([fault for fault in self.faults if fault.gradual]) if self.goal.reads_records else ()


@attrs.frozen
class Task:
    """Acts to try at a moment of a run.

    Attributes:
        path: the acts of the run before the moment.
        time: the virtual time of the moment, in µs.
        kinds: the kinds of the faults among the acts of the path, in their order.
        acts: the acts, each of which begins a run.
    """

    path: tuple[Timed, ...]
    time: int
    kinds: tuple[str, ...]
    acts: tuple[Act, ...]


@attrs.frozen
class Moment:
    """A moment of a run at which partitions came into situations for the first time in the run.

    Attributes:
        keys: the keys of the situations.
        time: the virtual time, in µs.
        remedies: the acts that end a fault.
        faults: the faults that can happen.
    """

    keys: tuple[bytes, ...]
    time: int
    remedies: tuple[Act, ...]
    faults: tuple[Act, ...]


@attrs.frozen
class Run:
    """A run.

    Attributes:
        moments: its moments, in order.
        reached: the virtual time at which the goal became true, in µs; None if it did not.
        elections: the elections of leaders, by how the leader was elected.
    """

    moments: tuple[Moment, ...]
    reached: int | None
    elections: Counter[str]


Runs = Callable[[int], Run | None]
"""Returns the run that the act with a number in its task begins; None if the act is impossible."""


class Plays(Protocol):
    """Plays the tasks of a search, here or elsewhere."""

    def play(self, take: Callable[[], Task | None], fewer: Set[bytes], *, last: bool) -> Iterator[tuple[Task, Runs]]:
        """Play tasks, and yield each with its runs, in the order in which they were taken.

        Args:
            take: a function that returns the next task; None if there is none at present.
            fewer: the keys of the situations that were reached with fewer faults.
            last: whether no more faults can follow.
        """
        ...


class Player:
    """Plays tasks in a cluster."""

    def __init__(self, cluster: Cluster, bounds: Bounds) -> None:
        """Prepare for a search from the present state of the cluster."""
        self._cluster: Final = cluster
        self._bounds: Final = bounds
        self._begin: Final[Snapshot[Cluster]] = cluster.snapshots.take(cluster)
        self._end: Final = cluster.now + bounds.within
        self._here: tuple[tuple[Timed, ...], int, Snapshot[Cluster]] = ((), cluster.now, self._begin)

    def play(self, take: Callable[[], Task | None], fewer: Set[bytes], *, last: bool) -> Iterator[tuple[Task, Runs]]:
        """Play tasks (see `Plays.play`). Each run is played when it is asked for."""
        while (task := take()) is not None:
            yield task, partial(self.run, task, fewer, last)

    def first(self, sink: Callable[[EventTuple], None], *, last: bool) -> Run:
        """Play the run without faults, and pass its events to a function."""
        self._begin.restore()
        return self._watch(frozenset(), last=last, sink=sink)

    def run(self, task: Task, fewer: Set[bytes], last: bool, number: int) -> Run | None:
        """Play the run that an act of a task begins."""
        self._go_to(task)
        try:
            self._cluster.do(task.acts[number])
        except (ActRefused, KafkaError, ValueError):
            return None
        return self._watch(fewer, last=last)

    def _go_to(self, task: Task) -> None:
        """Bring the cluster to the moment of a task."""
        cluster = self._cluster
        path, time, here = self._here
        if path == task.path and time <= task.time:
            here.restore()
        else:
            self._begin.restore()
            do(cluster, task.path)
        if (path, time) != (task.path, task.time):
            cluster.run_until(task.time)
            self._here = (task.path, task.time, cluster.snapshots.take(cluster))

    def _acts(self, faults: tuple[Fault, ...]) -> tuple[Act, ...]:
        """Return the acts of some kinds of faults that are possible now."""
        return tuple([act for fault in faults for act in fault.acts(self._cluster)])

    def _watch(self, fewer: Set[bytes], *, last: bool, sink: Callable[[EventTuple], None] = null_sink) -> Run:
        """Run the cluster to the end, and return what happens on the way."""
        cluster, bounds = self._cluster, self._bounds
        ends = REPEATS in bounds.prune and not bounds.goal.ages
        swaps = SWAPS in bounds.prune
        moments: list[Moment] = []
        begun = cluster.now
        elections = Counter(cluster.account.elections)
        former, cluster.journal.sink = cluster.journal.sink, sink
        reached = None
        try:
            for check, is_true in bounds.goal.watch(cluster, self._end, Sends(cluster) if bounds.gradual and not last else None):
                if is_true:
                    reached = cluster.now
                    break
                if check.sent:
                    acts = self._acts(bounds.gradual)
                    around = [each for before in check.sent for each in moments_around_send(cluster, before, swaps=swaps)]
                    moments += [Moment((key,), time, (), acts) for key, time in around if time >= begun and acts]
                if check.new:
                    if ends and all(key_of(each, swaps=swaps) in fewer for each in situations(cluster)):
                        break
                    keys = tuple([key_of(each, swaps=swaps) for each in check.new])
                    moments.append(Moment(keys, cluster.now, tuple(remedies(cluster)), () if last else self._acts(bounds.faults)))
        finally:
            cluster.journal.sink = former
        return Run(tuple(sorted(moments, key=lambda each: each.time)), reached, Counter(cluster.account.elections) - elections)
