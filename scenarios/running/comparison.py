"""Compares runs of one scenario under several releases: the first event that differs, and the final values.

Two runs with the same seed produce the same events until the releases behave differently for the first time. The final values show the
consequences of the first difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from core.kafka.events import KINDS, PARTITION_OF, EventTuple, explain
from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.release import Release
from core.lab.cluster import Cluster
from core.sim.events import content_of, kind_of, time_of, values_of
from core.sim.units import format_duration
from scenarios.language.script import Scenario
from scenarios.running.runner import Result, Run, Sink


@attrs.frozen
class Outcome:
    """The result of a run, and its final values as (name, value).

    The values are those in the durability account and, for each partition, the leader, the ISR, and the LEO and HW of each replica.
    """

    result: Result
    values: tuple[tuple[str, str], ...]


@attrs.frozen
class Difference:
    """The first event that differs between two runs.

    Attributes:
        number: the sequence number of the event; all earlier events are the same.
        time: the virtual time of the earlier of the two events, in µs.
        partition: the partition of the event; '' if it has none.
        after: a description of the last act before the difference; empty if there was no act.
        first, second: the first event that differs in each run; None for a run that had no further event.
    """

    number: int
    time: int
    partition: str
    after: str
    first: EventTuple | None
    second: EventTuple | None


@attrs.frozen
class Comparison:
    """The runs of one scenario under several releases.

    `differences` has an entry for each run after the first: its first difference from the first run, or None if all events are the same.
    """

    scenario: str
    outcomes: tuple[Outcome, ...]
    differences: tuple[Difference | None, ...]


class Same:
    """A sink that compares the events of a run with the events of another run, and remembers the first difference."""

    def __init__(self, reference: Sequence[EventTuple], further: Sink | None = None) -> None:
        self._reference = reference
        self._further = further
        self._count = 0
        self.found: tuple[int, EventTuple | None, EventTuple] | None = None

    def __call__(self, event: EventTuple) -> None:
        """Compare the next event with the event at the same position in the first run."""
        at, self._count = self._count, self._count + 1
        if self.found is None:
            other = self._reference[at] if at < len(self._reference) else None
            if other is None or content_of(event) != content_of(other):
                self.found = (at, other, event)
        if self._further is not None:
            self._further(event)

    def difference(self) -> Difference | None:
        """Return the first difference between the two runs. Call this method only after the run has ended."""
        reference = self._reference
        if self.found is not None:
            at, first, second = self.found
        elif self._count < len(reference):
            at, first, second = self._count, reference[self._count], None
        else:
            return None
        after = next((event for event in reversed(reference[:at]) if kind_of(event) == "act"), None)
        present = [event for event in (first, second) if event is not None]
        return Difference(
            number=at + 1,
            time=min(time_of(event) for event in present),
            partition=next(filter(None, map(partition_of, present)), ""),
            after="" if after is None else explain(after),
            first=first,
            second=second,
        )


def partition_of(event: EventTuple) -> str:
    """Return the partition of an event; '' if it has none."""
    of = PARTITION_OF.get(kind_of(event))
    return "" if of is None else str(TopicPartition(*of(event)))


def outcome_of(run: Run) -> Outcome:
    """Return the outcome of a finished run."""
    cluster = run.cluster
    return Outcome(run.result(), tuple(_values(cluster)))


def _values(cluster: Cluster) -> list[tuple[str, str]]:
    account, view = cluster.account, cluster.view()
    values = [
        ("records acknowledged", str(account.acked)),
        ("records lost", str(account.lost)),
        ("of them acknowledged", str(account.lost_acknowledged)),
        ("of them read", str(account.lost_read)),
        ("records that differ between replicas and leader", str(view.diverged)),
    ]
    for partition in view.partitions:
        name = str(partition.tp)
        values.append(
            (f"{name} leader", "none" if partition.leader == NO_LEADER else f"b{partition.leader} in epoch {partition.leader_epoch}")
        )
        values.append((f"{name} ISR", f"[{','.join(map(str, sorted(partition.isr)))}]"))
        values.extend((f"{name} on b{replica.broker}, LEO/HW", f"{replica.leo}/{replica.hw}") for replica in partition.replica_views)
    return values


def compare(scenario: Scenario, releases: Sequence[Release], seed: int | None = None, sinks: Sequence[Sink | None] = ()) -> Comparison:
    """Run a scenario under each release, and compare each run with the first.

    Raises:
        ScriptError: the cluster of the scenario cannot be built.
    """
    reference: list[EventTuple] = []
    outcomes: list[Outcome] = []
    differences: list[Difference | None] = []
    for number, release in enumerate(releases):
        further = sinks[number] if number < len(sinks) else None
        if number == 0:
            run = Run(scenario, release, seed, _both(reference.append, further))
            run.run()
        else:
            same = Same(reference, further)
            run = Run(scenario, release, seed, same)
            run.run()
            differences.append(same.difference())
        outcomes.append(outcome_of(run))
    return Comparison(scenario.name, tuple(outcomes), tuple(differences))


def _both(first: Sink, second: Sink | None) -> Sink:
    if second is None:
        return first
    also = second

    def take(event: EventTuple) -> None:
        first(event)
        also(event)

    return take


# --- in words ------------------------------------------------------------------------------------------------------


def lines(comparison: Comparison) -> list[str]:
    """Return a comparison as lines of text: the first difference, then the final values that differ."""
    said: list[str] = []
    base = comparison.outcomes[0]
    for outcome, difference in zip(comparison.outcomes[1:], comparison.differences, strict=True):
        names = (base.result.under, outcome.result.under)
        width = max(map(len, names))
        if difference is None:
            said.append(f"{comparison.scenario}: {names[0]} and {names[1]} produce the same {base.result.events} events")
            continue
        about = f", {difference.partition}" if difference.partition else ""
        said.append(
            f"first difference between {names[0]} and {names[1]}: event {difference.number} at {format_duration(difference.time)}{about}"
        )
        if difference.after:
            said.append(f"  after          {difference.after}")
        for name, event in zip(names, (difference.first, difference.second), strict=True):
            said.append(f"  {name:<{max(width, 14)}} {_event_in_words(event, difference)}")
        rows = unlike(base, outcome)
        said.append("at the end:" if rows else "at the end, the two runs have the same state")
        longest = max((len(row[0]) for row in rows), default=0)
        said.extend(f"  {row[0]:<{longest}}  {names[0]}: {row[1]}; {names[1]}: {row[2]}" for row in rows)
    return said


def _event_in_words(event: EventTuple | None, difference: Difference) -> str:
    """Return a description of the event that one run has at the first difference. If both events have the same description, add the columns
    that differ.
    """
    if event is None:
        return "no further events"
    other = difference.second if event is difference.first else difference.first
    if time_of(event) > difference.time:
        return f"no event until {format_duration(time_of(event))}; the next event is: {explain(event)}"
    if kind_of(event) == "act" and other is not None and kind_of(other) != "act":
        return f"no such act; the next event is: {explain(event)}"
    said = explain(event)
    if other is not None and kind_of(other) == kind_of(event) and explain(other) == said:
        columns = zip(KINDS[kind_of(event)].columns, values_of(event), values_of(other), strict=True)
        said += "; " + ", ".join(f"{name} {mine!r}" for name, mine, theirs in columns if mine != theirs)
    return said


def unlike(first: Outcome, second: Outcome) -> list[tuple[str, str, str]]:
    """Return the final values that differ: (name, value in the first run, value in the second run)."""
    theirs, mine = dict(second.values), dict(first.values)
    names = [*mine, *(name for name in theirs if name not in mine)]
    return [(name, mine.get(name, "-"), theirs.get(name, "-")) for name in names if mine.get(name) != theirs.get(name)]


def as_data(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON data. Times are in µs of virtual time."""
    base = comparison.outcomes[0]
    pairs = []
    for outcome, difference in zip(comparison.outcomes[1:], comparison.differences, strict=True):
        pairs.append(
            {
                "releases": [base.result.under, outcome.result.under],
                "first_difference": None if difference is None else _difference_as_data(difference),
                "unlike": [{"what": name, "values": [mine, theirs]} for name, mine, theirs in unlike(base, outcome)],
            }
        )
    return {
        "scenario": comparison.scenario,
        "outcomes": [{"release": one.result.under, "held": one.result.held, "values": dict(one.values)} for one in comparison.outcomes],
        "pairs": pairs,
    }


def _difference_as_data(difference: Difference) -> dict[str, Any]:
    return {
        "event": difference.number,
        "time_us": difference.time,
        "partition": difference.partition or None,
        "after": difference.after or None,
        "events": [
            None if event is None else {"time_us": time_of(event), "kind": kind_of(event), "sentence": explain(event)}
            for event in (difference.first, difference.second)
        ],
    }


__all__ = ["Comparison", "Difference", "Outcome", "as_data", "compare", "lines", "unlike"]
