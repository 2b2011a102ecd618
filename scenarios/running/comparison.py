"""Compares runs of one scenario under several releases or settings: what clients felt, the first event that differs, and the final values.

Two runs with the same seed produce the same events until the releases or the settings matter for the first time. The final values show the
consequences of the first difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from core.kafka.events import KINDS, PARTITION_OF, EventTuple, explain
from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.release import Release
from core.lab.cluster import Cluster
from core.lab.history.parallel_run import is_same_act
from core.sim.events import content_of, kind_of, time_of, values_of
from core.sim.units import format_duration
from scenarios.conditions.conditions import Term
from scenarios.io.escaping import escape_line
from scenarios.language.script import Scenario
from scenarios.running.client_summary import ClientSummary, Felt, felt_rows
from scenarios.running.runner import Result, Run, Sink

MOST_VALUES: Final = 12
"""The number of final values that two runs have different and that are printed."""


@attrs.frozen
class Case:
    """One of the runs that are compared.

    Attributes:
        name: the name of the run.
        scenario, release: what runs.
        settings: the values that differ from those of the script, by their words.
    """

    name: str
    scenario: Scenario
    release: Release
    settings: tuple[tuple[str, str], ...] = ()


@attrs.frozen
class Outcome:
    """The result of a run, and its final values as (name, value).

    The values are those in the durability account and, for each partition, the leader, the ISR, and the LEO and HW of each replica.
    """

    case: Case
    result: Result
    felt: Felt
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
    """The runs of one scenario under several releases or settings.

    `differences` has an entry for each run after the first: its first difference from the first run, or None if all events are the same.
    """

    scenario: str
    outcomes: tuple[Outcome, ...]
    differences: tuple[Difference | None, ...]


class Same:
    """A sink that compares the events of a run with the events of another run, and remembers the first difference."""

    def __init__(self, reference: Sequence[EventTuple], further: Sink | None = None, *, varied: bool = False) -> None:
        """Compare with the events of another run. If settings vary, an act with another setting is no difference; what it leads to is."""
        self._reference = reference
        self._further = further
        self._varied = varied
        self._count = 0
        self.found: tuple[int, EventTuple | None, EventTuple] | None = None

    def __call__(self, event: EventTuple) -> None:
        """Compare the next event with the event at the same position in the first run."""
        at, self._count = self._count, self._count + 1
        if self.found is None:
            other = self._reference[at] if at < len(self._reference) else None
            if other is None or (content_of(event) != content_of(other) and not (self._varied and is_same_act(event, other))):
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


def releases_as_cases(scenario: Scenario, releases: Sequence[Release]) -> list[Case]:
    """Return a run of a scenario under each release."""
    return [Case(release.name, scenario, release) for release in releases]


def compare(
    cases: Sequence[Case],
    seed: int | None = None,
    sinks: Sequence[Sink | None] = (),
    *,
    readings: Sequence[Term] = (),
    through: Callable[[Run], object] = Run.run,
) -> Comparison:
    """Run each case, and compare each run with the first.

    Args:
        cases: the runs.
        seed: the seed of all runs; None for that of the scenario.
        sinks: for each run, what also takes its events.
        readings, through: what callers read from the runs, and how they go through a run to its end.

    Raises:
        ScriptError: the cluster of the scenario cannot be built.
    """
    reference: list[EventTuple] = []
    outcomes: list[Outcome] = []
    differences: list[Difference | None] = []
    for number, case in enumerate(cases):
        further = sinks[number] if number < len(sinks) else None
        same = None if number == 0 else Same(reference, further, varied=bool(case.settings))
        clients = ClientSummary()
        run = Run(case.scenario, case.release, seed, _both(clients, same or _both(reference.append, further)), readings=readings)
        through(run)
        if same is not None:
            differences.append(same.difference())
        result = attrs.evolve(run.result(), settings=case.settings)
        felt = clients.felt(result.time, result.harm)
        outcomes.append(Outcome(case, result, felt, tuple(_values(run.cluster))))
    return Comparison(cases[0].scenario.name, tuple(outcomes), tuple(differences))


def _both(first: Sink, second: Sink | None) -> Sink:
    if second is None:
        return first
    also = second

    def take(event: EventTuple) -> None:
        first(event)
        also(event)

    return take


# --- in words ------------------------------------------------------------------------------------------------------


def side_by_side(comparison: Comparison) -> list[str]:
    """Return a table with a column for each run: what clients felt, the values that were asked for, failed expectations, and, if the settings
    vary, the final values that differ.
    """
    outcomes = comparison.outcomes
    rows = _heads(outcomes)
    rows += [(row.label, row.values, row.differs) for row in felt_rows([one.felt for one in outcomes])]
    shown = [{(one.time, one.reading): one.value for one in outcome.result.shown} for outcome in outcomes]
    for time, reading in sorted({key for values in shown for key in values}):
        rows.append(_row(f"{reading} at {format_duration(time)}", [each.get((time, reading), "-") for each in shown]))
    failed = [str(len(one.result.failures)) for one in outcomes]
    if any(count != "0" for count in failed):
        rows.append(_row("failed expectations", failed))
    if outcomes[-1].case.settings:
        finals = [dict(one.values) for one in outcomes]
        names = dict.fromkeys(name for values in finals for name in values if not name.startswith(("records ", "of them ")))
        parted = [row for name in names if (row := _row(name, [values.get(name, "-") for values in finals]))[2]]
        rows += parted[:MOST_VALUES]
        if len(parted) > MOST_VALUES:
            rows.append((f"and {len(parted) - MOST_VALUES:,} more values that differ (--json lists all)", (), False))
    label = max(len(row[0]) for row in rows if row[1])
    widths = [max(len(row[1][at]) for row in rows if row[1]) for at in range(len(outcomes))]
    table = []
    for name, values, differs in rows:
        cells = "  ".join(f"{value:<{width}}" for value, width in zip(values, widths, strict=False))
        table.append(escape_line(f"  {'≠' if differs else ' '} {name:<{label}}  {cells}".rstrip()))
    return table


def _heads(outcomes: Sequence[Outcome]) -> list[tuple[str, tuple[str, ...], bool]]:
    """Return the rows above a table: the name of each run, and below it the settings that vary."""
    settings = [dict(one.case.settings) for one in outcomes]
    words = dict.fromkeys(word for given in settings for word in given)
    return [
        ("", tuple(_names(outcomes)), False),
        *((word, tuple(given.get(word, "as given") for given in settings), False) for word in words),
    ]


def _names(outcomes: Sequence[Outcome]) -> list[str]:
    """Return short names of runs: the releases, or numbers if the settings differ, too."""
    numbered = any(one.case.settings for one in outcomes)
    return [f"run {number}" if numbered else one.case.name for number, one in enumerate(outcomes, 1)]


def _row(name: str, values: Sequence[str]) -> tuple[str, tuple[str, ...], bool]:
    return name, tuple(values), len(set(values)) > 1


def lines(comparison: Comparison) -> list[str]:
    """Return a comparison as lines of text: for each run after the first, the first difference, then the final values that differ unless the
    table beside (`side_by_side`) has them.
    """
    said: list[str] = []
    base, every = comparison.outcomes[0], _names(comparison.outcomes)
    for name, outcome, difference in zip(every[1:], comparison.outcomes[1:], comparison.differences, strict=True):
        names = (every[0], name)
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
        for told, event in zip(names, (difference.first, difference.second), strict=True):
            said.append(f"  {told:<{max(width, 14)}} {_event_in_words(event, difference)}")
        if outcome.case.settings:
            continue
        rows = unlike(base, outcome)
        said.append("at the end:" if rows else "at the end, the two runs have the same state")
        longest = max((len(row[0]) for row in rows), default=0)
        said.extend(f"  {row[0]:<{longest}}  {names[0]}: {row[1]}; {names[1]}: {row[2]}" for row in rows[:MOST_VALUES])
        if len(rows) > MOST_VALUES:
            said.append(f"  and {len(rows) - MOST_VALUES:,} more values (--json lists all)")
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
                "runs": [base.case.name, outcome.case.name],
                "releases": [base.result.under, outcome.result.under],
                "first_difference": None if difference is None else _difference_as_data(difference),
                "unlike": [{"what": name, "values": [mine, theirs]} for name, mine, theirs in unlike(base, outcome)],
            }
        )
    return {
        "scenario": comparison.scenario,
        "outcomes": [
            {
                "run": one.case.name,
                "release": one.result.under,
                "settings": dict(one.case.settings),
                "held": one.result.held,
                "felt": one.felt.as_data(),
                "values": dict(one.values),
            }
            for one in comparison.outcomes
        ],
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


__all__ = ["Case", "Comparison", "Difference", "Outcome", "as_data", "compare", "lines", "releases_as_cases", "side_by_side", "unlike"]
