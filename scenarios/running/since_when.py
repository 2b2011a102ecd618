"""Since when a value has been what it is, and why: the last change of what a failed expectation got.

The answer comes from a second run of the scenario, which takes the reading after each instant. Runs that succeed need no second run.
"""

from __future__ import annotations

from typing import Final

import attrs

from core.kafka.events import DETAIL, KINDS
from core.kafka.ids import TopicPartition
from core.lab.act_sentences import sentence
from core.sim.events import EventTuple, kind_of, seq_of
from core.sim.units import format_duration
from scenarios.conditions.conditions import Compare, Condition, Truth
from scenarios.running.run_summary import RunSummary
from scenarios.running.runner import Run, State

MOST_EXPLAINED: Final = 3
"""The number of failed expectations of a run that are explained."""

MOST_INSTANTS: Final = 20_000
"""The number of instants after which the search ends without an answer."""


@attrs.frozen
class LastChange:
    """The last change of a value.

    Attributes:
        time: when the value became what it is, in µs of virtual time; -1 if it has been so since the start.
        event: the event that tells of the change; None if no event does.
        why: the act that led to the event, as the end of a sentence; empty if none did.
    """

    time: int
    event: EventTuple | None
    why: str

    def text(self) -> str:
        """Return the change in words."""
        if self.time < 0:
            return "the start"
        told = "" if self.event is None else f": {sentence(self.event)}{self.why}"
        return f"{format_duration(self.time)}{told}"


class _Instants:
    """A sink that keeps the events of the current instant, and learns the causes of all."""

    def __init__(self) -> None:
        self.summary: Final = RunSummary()
        self.events: Final[list[EventTuple]] = []

    def __call__(self, event: EventTuple) -> None:
        self.summary(event)
        self.events.append(event)


def last_change(run: Run, number: int) -> LastChange | None:
    """Return the last change of the value that an expectation of a finished run got. Return None if the search would take too long, or if
    the expectation is not a comparison.

    Args:
        run: the finished run.
        number: the place of the expectation in `run.conditions`.
    """
    condition = run.conditions[number]
    if not isinstance(condition, Compare | Truth):
        return None
    instants = _Instants()
    again = Run(run.scenario, run.release, run.seed, instants)
    found: LastChange | None = None
    before: str | None = None
    for _ in range(MOST_INSTANTS):
        value = again.conditions[number].got(again.moment)
        if value != before:
            event = _telling(instants.events, condition)
            why = "" if event is None else instants.summary.why(seq_of(event))
            found = LastChange(-1 if before is None else again.cluster.now, event, why)
            before = value
        instants.events.clear()
        if again.is_checked(number) or again.finished:
            return found
        due = again.next_due()
        again.advance_to(again.cluster.now if due is None else due, steps=1)
    return None


def _telling(events: list[EventTuple], condition: Condition) -> EventTuple | None:
    """Return the event of an instant that most likely changed a value: the most important one that names what the reading names."""
    named = set(_names(condition))
    best: tuple[int, int] | None = None
    for at, event in enumerate(events):
        if kind_of(event) == "act" or not named.intersection(_subjects(event)):
            continue
        rank = KINDS[kind_of(event)].level, -at
        if rank[0] > DETAIL and (best is None or rank > best):
            best = rank
    if best is not None:
        return events[-best[1]]
    return next((event for event in events if kind_of(event) == "act"), None)


def _names(condition: Condition) -> list[object]:
    term = condition.left if isinstance(condition, Compare) else condition.term if isinstance(condition, Truth) else None
    return [] if term is None else list(term.arguments)


def _subjects(event: EventTuple) -> list[object]:
    told = KINDS[kind_of(event)](event)
    subjects: list[object] = [getattr(told, name) for name in ("broker", "group", "client", "producer", "consumer") if name in told.columns]
    if "topic" in told.columns and "partition" in told.columns:
        subjects.append(TopicPartition(told.topic, told.partition))  # type: ignore[attr-defined]
    return subjects


def explain_failures(run: Run) -> None:
    """Write to the first few failed expectations of a finished run since when their values have been what they are, and why."""
    for check in [one for one in run.expectations if one.state is State.FAILED][:MOST_EXPLAINED]:
        number = run.number_of(check)
        change = None if number is None else last_change(run, number)
        if change is not None:
            check.since = change.text()
