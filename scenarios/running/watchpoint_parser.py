"""Parses watchpoints in the form in which users type them.

lost > 0                     a condition of the script language: stop when it becomes true
isr(orders-0) changes        stop when a reading changes
leader changes               stop when the reading changes in any partition (leader, leader-epoch, partition-epoch, isr, replicas, elr)
truncated                    stop at the next event of a kind; the event can be limited: truncated {broker=2}

This module is imported when the first watchpoint is parsed, because it needs the script language.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from core.kafka.events import KINDS
from core.lab.history.playable import ClusterLike
from core.lab.history.watchpoints import AnyPartitionChanges, BecomesTrue, EventHappens, ValueChanges, Watchpoint
from core.lab.views.cluster_view import ClusterView
from scenarios.conditions.condition_parser import parse_condition
from scenarios.conditions.conditions import Compare, Condition, Happened, Names, Truth, kinds_of
from scenarios.conditions.tokens import ConditionError
from scenarios.readings.all_readings import READINGS
from scenarios.running.runner import LiveMoment

CHANGES: Final = " changes"
"""The last word of a watchpoint that stops when a reading changes."""

OF_ANY: Final = ("leader", "leader-epoch", "partition-epoch", "isr", "replicas", "elr")
"""The readings that one watchpoint can watch in all partitions at the same time."""


def parse_watchpoint(text: str, view: ClusterView) -> Watchpoint:
    """Parse the text of a watchpoint.

    Raises:
        ValueError: the text is not a watchpoint. The error message says what to write instead.
    """
    names = Names(
        {topic.name: topic.partitions for topic in view.topics},
        frozenset(broker.id for broker in view.brokers),
        frozenset([*(producer.name for producer in view.producers), *(consumer.name for consumer in view.consumers)]),
    )
    text = " ".join(text.split())
    try:
        if text.endswith(CHANGES):
            return _change(text.removesuffix(CHANGES), names)
        word = text.removeprefix("happened ").split(" ")[0].split("{")[0]
        if word in KINDS and word not in READINGS:
            happened = parse_condition(f"happened {text.removeprefix('happened ')}", names)
            assert isinstance(happened, Happened)
            return EventHappens(happened.pattern)
        condition = parse_condition(text, names)
    except ConditionError as wrong:
        raise ValueError(wrong.problem + (f"; {wrong.remedy}" if wrong.remedy else "")) from None
    if kinds_of(condition):
        raise ValueError(
            "this condition looks at past events; write a state, such as lost > 0, or only the kind of an event, such as truncated"
        )
    return BecomesTrue(_asked(condition.holds))


def _change(text: str, names: Names) -> Watchpoint:
    """Return a watchpoint for changes of a reading."""
    if text in OF_ANY:
        return AnyPartitionChanges(text)
    condition: Condition
    term = None
    try:
        condition = parse_condition(f"{text} == {text}", names)
        term = condition.left if isinstance(condition, Compare) else None
    except ConditionError:
        condition = parse_condition(text, names)
        term = condition.term if isinstance(condition, Truth) else None
    if term is None or kinds_of(condition):
        raise ConditionError(0, f"'{text[:40]}' is not a single reading", "write, for example, 'isr(orders-0) changes' or 'leader changes'")
    return ValueChanges(_asked(term.take))


def _asked(question: Callable[[LiveMoment], Any]) -> Callable[[ClusterLike], Any]:
    """Return a function that applies `question` to the current state of a cluster."""
    moments: dict[int, LiveMoment] = {}

    def ask(cluster: ClusterLike) -> Any:
        moment = moments.get(id(cluster))
        if moment is None:
            moments.clear()
            moment = moments[id(cluster)] = LiveMoment(cluster, {})  # type: ignore[arg-type]
        return question(moment)

    return ask
