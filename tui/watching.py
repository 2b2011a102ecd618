"""What somebody waits for while time runs, or looks for in the past: a state that comes true, a value that changes, an event.

lost > 0                     a condition, as scripts have them: the moment at which it becomes true
isr(orders-0) changes        the moment at which a reading has another value
leader changes               the same of any partition (leader, leader-epoch, partition-epoch, isr, replicas, elr)
truncated                    the next event of a kind; also truncated {broker=2}
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from core.ids import TopicPartition
from core.journal.events import KINDS, EventTuple, column_types
from core.view import ClusterView
from scenarios.conditions import Compare, Condition, EventPattern, Happened, Names, Truth, kinds_of
from scenarios.language.condition_parser import parse_condition
from scenarios.language.readings import READINGS
from scenarios.language.tokens import ConditionError
from scenarios.runner import LiveMoment
from tui.course import ClusterLike

CHANGES: Final = " changes"
"""What follows a reading whose change is meant."""

OF_ANY: Final = ("leader", "leader-epoch", "partition-epoch", "isr", "replicas", "elr")
"""Readings of a partition that may be watched in all partitions at once."""


class Watch:
    """Base: `see` is handed every event, `became` is asked after every step that recorded some."""

    def see(self, event: EventTuple) -> None:
        """An event has happened."""

    def became(self, cluster: ClusterLike) -> bool:
        """Whether it is so now, and was not a step ago. The first answer is always no: nothing has happened yet."""
        raise NotImplementedError


class BecomesTrue(Watch):
    """A state that was not so comes true."""

    def __init__(self, holds: Callable[[ClusterLike], bool]) -> None:
        self._holds = holds
        self._was = True

    def became(self, cluster: ClusterLike) -> bool:
        now = self._holds(cluster)
        rising, self._was = now and not self._was, now
        return rising


class Changes(Watch):
    """A value is another one than a step ago."""

    def __init__(self, value: Callable[[ClusterLike], Any]) -> None:
        self._value = value
        self._before: tuple[Any] | None = None

    def became(self, cluster: ClusterLike) -> bool:
        now = (self._value(cluster),)
        changed, self._before = self._before is not None and now != self._before, now
        return changed


class AnyChanges(Watch):
    """A column of the state of any partition is another one. Reads the events that carry that state, so it costs nothing else."""

    def __init__(self, column: str) -> None:
        self._name = column.replace("-", "_")
        self._at = 4 + list(column_types(KINDS["partition-changed"])).index(self._name)
        self._known: dict[TopicPartition, Any] | None = None
        self._changed = False

    def see(self, event: EventTuple) -> None:
        if event[3] == "partition-changed" and self._known is not None:
            tp, value = TopicPartition(event[4], event[5]), event[self._at]
            self._changed = self._changed or self._known.get(tp, value) != value
            self._known[tp] = value

    def became(self, cluster: ClusterLike) -> bool:
        if self._known is None:
            view: ClusterView = cluster.view()
            self._known = {p.tp: getattr(p, self._name) for p in view.partitions}
        changed, self._changed = self._changed, False
        return changed


class Happens(Watch):
    """An event of a kind, perhaps with given values in its columns."""

    def __init__(self, pattern: EventPattern) -> None:
        self._pattern = pattern
        self._seen = False
        self._asked = False

    def see(self, event: EventTuple) -> None:
        if event[3] == self._pattern.kind and self._pattern.matches(event):
            self._seen = True

    def became(self, cluster: ClusterLike) -> bool:
        seen, self._seen = self._seen and self._asked, False
        self._asked = True
        return seen


def parse_watch(text: str, view: ClusterView) -> Watch:
    """What a text says to look for.

    Raises:
        ValueError: it says nothing that can be looked for; the message tells what would be right.
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
            return Happens(happened.pattern)
        condition = parse_condition(text, names)
    except ConditionError as wrong:
        raise ValueError(wrong.problem + (f"; {wrong.remedy}" if wrong.remedy else "")) from None
    if kinds_of(condition):
        raise ValueError("this looks at past events; write what the state must be, as lost > 0, or an event's kind alone, as truncated")
    return BecomesTrue(_asked(condition.holds))


def _change(text: str, names: Names) -> Watch:
    """A watch for the change of a reading."""
    if text in OF_ANY:
        return AnyChanges(text)
    condition: Condition
    term = None
    try:
        condition = parse_condition(f"{text} == {text}", names)
        term = condition.left if isinstance(condition, Compare) else None
    except ConditionError:
        condition = parse_condition(text, names)
        term = condition.term if isinstance(condition, Truth) else None
    if term is None or kinds_of(condition):
        raise ConditionError(0, f"'{text[:40]}' is no single reading", "write for example isr(orders-0) changes, or leader changes")
    return Changes(_asked(term.take))


def _asked(question: Callable[[LiveMoment], Any]) -> Callable[[ClusterLike], Any]:
    """A question to a moment as one to a cluster."""
    moments: dict[int, LiveMoment] = {}

    def ask(cluster: ClusterLike) -> Any:
        moment = moments.get(id(cluster))
        if moment is None:
            moments.clear()
            moment = moments[id(cluster)] = LiveMoment(cluster, {})  # type: ignore[arg-type]
        return question(moment)

    return ask
