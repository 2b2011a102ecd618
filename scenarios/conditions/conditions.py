"""The language of conditions in `until` and `expect`, for example `isr(orders-0) == [1, 2] and lost == 0`.

Each condition is parsed once, when its script is loaded. The parser checks names against the topics, brokers, and clients that the
script declares. A condition is evaluated on a `Moment`, which has frozen views and recorded events. No part of a condition runs as code.

    condition   := and-or-not of comparisons, with parentheses
    comparison  := value (== != < <= > >=) value | a reading that is true or false | events
    value       := number | duration | none | word | [1, 2] | [(0, 0), (1, 5)] | reading(arguments)
    events      := happened KIND {column=value} | never KIND {...} | count KIND {...} (a number) | order [KIND {...}, KIND]

`isr` is compared as a set, and `isr-row` is compared as an ordered list. If a list of brokers is compared with a number, the length of the
list is compared.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, Final

import attrs

from core.kafka.events import KINDS, column_types
from core.kafka.ids import TopicPartition
from core.sim.events import kind_of, seq_of, values_of
from scenarios.conditions.tokens import ConditionError, Token
from scenarios.errors import did_you_mean
from scenarios.readings.all_readings import READINGS
from scenarios.readings.reading import BOOL, DURATION, EPOCHS, IDS, ROW, Moment, Reading, show

OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
"""The function that implements each comparison operator."""


@attrs.frozen(repr=False)
class Names:
    """The names that a script declares, against which the parser checks conditions.

    Attributes:
        topics: the number of partitions of each topic, or -1 if the number is not known; None if any topic is valid.
        brokers: the broker ids; None if any broker is valid.
        clients: the names of clients; None if any client is valid.
        groups: the names of groups; None if any group is valid.
    """

    topics: dict[str, int] | None = None
    brokers: frozenset[int] | None = None
    clients: frozenset[str] | None = None
    groups: frozenset[str] | None = None

    def partition(self, token: Token) -> TopicPartition:
        """Return the partition that the given token identifies."""
        try:
            tp = TopicPartition.parse(token.text)
        except ValueError:
            raise ConditionError(token.offset, f"'{token.text}' is not a partition", "write topic-number, for example orders-0") from None
        if self.topics is not None:
            count = self.topics.get(tp.topic)
            if count is None:
                raise ConditionError(token.offset, f"unknown topic '{tp.topic}'", did_you_mean(tp.topic, self.topics))
            if 0 <= count <= tp.partition:
                raise ConditionError(
                    token.offset, f"{tp} does not exist", f"{tp.topic} has {count} partition{'s' if count != 1 else ''}, numbered from 0"
                )
        return tp

    def broker(self, token: Token) -> int:
        """Return the broker that the given token identifies."""
        digits = token.text[1:] if token.text[:1] == "b" else token.text
        if not (digits.isascii() and digits.isdecimal()) or len(digits) > 10:
            raise ConditionError(token.offset, f"'{token.text}' is not a broker", "write a broker's number, for example 2 or b2")
        if self.brokers is not None and int(digits) not in self.brokers:
            raise ConditionError(token.offset, f"unknown broker {digits}", "brokers are " + ", ".join(map(str, sorted(self.brokers)[:12])))
        return int(digits)

    def group(self, token: Token) -> str:
        """Return the group that the given token identifies."""
        if self.groups is not None and token.text not in self.groups:
            known = sorted(self.groups)
            raise ConditionError(
                token.offset, f"unknown group '{token.text}'", did_you_mean(token.text, known) if known else "the script has no groups"
            )
        return token.text

    def client(self, token: Token) -> str:
        """Return the client that the given token identifies."""
        if self.clients is not None and token.text not in self.clients:
            known = sorted(self.clients)
            raise ConditionError(
                token.offset, f"unknown client '{token.text}'", did_you_mean(token.text, known) if known else "the script has no clients"
            )
        return token.text


# --- parsed conditions ---------------------------------------------------------------------------------------------


@attrs.frozen(repr=False)
class Condition:
    """The base class of all conditions. `text` is the condition as written in the script."""

    text: str

    def holds(self, moment: Moment) -> bool:
        """Return whether the condition is true at a given moment."""
        raise NotImplementedError

    def expected(self) -> str:
        """Return text that describes the expected value."""
        return self.text

    def got(self, moment: Moment) -> str:
        """Return text that describes the actual value at a given moment."""
        raise NotImplementedError

    def parts(self) -> Iterator[Condition]:
        """Yield the condition and all conditions that it contains."""
        yield self


@attrs.frozen(repr=False)
class Term:
    """One side of a comparison: a literal, a reading, or a count of events."""

    text: str
    type: str
    take: Callable[[Moment], Any]
    arguments: tuple[Any, ...] = ()
    literal: bool = False
    kinds: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    ages: bool = False
    audits: bool = False


@attrs.frozen(repr=False)
class Compare(Condition):
    """A comparison of two values. If `by_size` is true, the length of a list of brokers is compared."""

    left: Term
    op: str
    right: Term
    by_size: bool = False

    def holds(self, moment: Moment) -> bool:
        left, right = self._value(self.left, moment), self._value(self.right, moment)
        if left is None or right is None:
            return False
        return OPERATORS[self.op](left, right)

    def _value(self, term: Term, moment: Moment) -> Any:
        value = term.take(moment)
        if value is None:
            return None
        if term.type in (IDS, ROW):
            if self.by_size:
                return len(value)
            as_sets = any(one.type == IDS and not one.literal for one in (self.left, self.right))
            return sorted(value) if as_sets else list(value)
        return [tuple(pair) for pair in value] if term.type == EPOCHS else value

    def expected(self) -> str:
        return self.right.text if self.op == "==" else f"{self.op} {self.right.text}"

    def got(self, moment: Moment) -> str:
        shown = show(self.left.take(moment), self.left.type)
        return shown if self.right.literal else f"{shown}, compared with {show(self.right.take(moment), self.right.type)}"


@attrs.frozen(repr=False)
class Truth(Condition):
    """A reading with a Boolean value, used as a condition."""

    term: Term

    def holds(self, moment: Moment) -> bool:
        return bool(self.term.take(moment))

    def got(self, moment: Moment) -> str:
        return f"{self.term.text} is {show(self.term.take(moment), BOOL)}"


@attrs.frozen(repr=False)
class Combined(Condition):
    """Several conditions joined by `and` or `or`, or one condition negated by `not`."""

    op: str
    inside: tuple[Condition, ...]

    def holds(self, moment: Moment) -> bool:
        if self.op == "and":
            return all(one.holds(moment) for one in self.inside)
        if self.op == "or":
            return any(one.holds(moment) for one in self.inside)
        return not self.inside[0].holds(moment)

    def got(self, moment: Moment) -> str:
        return ", ".join(f"{one.left.text} == {one.got(moment)}" if isinstance(one, Compare) else one.got(moment) for one in self.inside)

    def parts(self) -> Iterator[Condition]:
        yield self
        for one in self.inside:
            yield from one.parts()


@attrs.frozen(repr=False)
class EventPattern:
    """A kind of event, and the values that some of its columns must have."""

    text: str
    kind: str
    columns: tuple[tuple[str, Any], ...] = ()
    """Pairs that consist of the name of a column and the value that it must have."""

    def matches(self, event: tuple[Any, ...]) -> bool:
        """Return whether an event of the right kind has all required values."""
        known = KINDS[self.kind](event)
        return all(_same(getattr(known, name), value) for name, value in self.columns)

    def found(self, moment: Moment) -> list[tuple[Any, ...]]:
        """Return the matching events at or before a given time."""
        return [event for event in moment.events(self.kind) if self.matches(event)]


def _same(got: Any, wanted: Any) -> bool:
    return list(got) == wanted if isinstance(wanted, list) else got == wanted


@attrs.frozen(repr=False)
class Happened(Condition):
    """A condition that holds if an event matches or, with `never`, if no event matches."""

    pattern: EventPattern
    never: bool = False

    def holds(self, moment: Moment) -> bool:
        return (not self.pattern.found(moment)) is self.never

    def got(self, moment: Moment) -> str:
        found = self.pattern.found(moment)
        if found:
            return f"{len(found)} of them, the first: {_shown(found[0])}"
        others = moment.events(self.pattern.kind)
        return f"no event matches; the last {self.pattern.kind}: {_shown(others[-1])}" if others else f"no {self.pattern.kind} event"


@attrs.frozen(repr=False)
class Order(Condition):
    """A condition that holds if matching events occur in a given order. Other events can occur between the matching events."""

    patterns: tuple[EventPattern, ...]

    def _reached(self, moment: Moment) -> list[tuple[Any, ...]]:
        reached: list[tuple[Any, ...]] = []
        after = 0
        for pattern in self.patterns:
            following = next((event for event in moment.events(pattern.kind) if seq_of(event) > after and pattern.matches(event)), None)
            if following is None:
                break
            reached.append(following)
            after = seq_of(following)
        return reached

    def holds(self, moment: Moment) -> bool:
        return len(self._reached(moment)) == len(self.patterns)

    def got(self, moment: Moment) -> str:
        reached = self._reached(moment)
        if not reached:
            return f"no {self.patterns[0].text}"
        if len(reached) == len(self.patterns):
            return "all events happened in this order"
        return f"no {self.patterns[len(reached)].text} after {_shown(reached[-1])}"


def _shown(event: tuple[Any, ...]) -> str:
    names = list(column_types(KINDS[kind_of(event)]))
    columns = ", ".join(
        f"{name}={list(value) if isinstance(value, tuple) else value}" for name, value in zip(names, values_of(event), strict=True)
    )
    return f"event {seq_of(event)} {kind_of(event)} {{{columns}}}"


def kinds_of(condition: Condition) -> set[str]:
    """Return the kinds of events that a condition reads. To evaluate the condition, a run must keep all events of these kinds."""
    kinds: set[str] = set()
    for part in condition.parts():
        if isinstance(part, Happened):
            kinds.add(part.pattern.kind)
        elif isinstance(part, Order):
            kinds.update(pattern.kind for pattern in part.patterns)
        elif isinstance(part, Compare):
            kinds.update(part.left.kinds, part.right.kinds)
    return kinds


def ages(condition: Condition) -> bool:
    """Return whether a condition can become true without an event, merely because time passes."""
    return any(part.left.ages or part.right.ages for part in condition.parts() if isinstance(part, Compare))


def audits(condition: Condition) -> bool:
    """Return whether a condition needs a message audit of the run."""
    return any(part.left.audits or part.right.audits for part in condition.parts() if isinstance(part, Compare))


# --- building conditions -------------------------------------------------------------------------------------------


def comparison(reading: str, arguments: tuple[Any, ...], op: str, value: Any) -> Compare:
    """Build `reading(arguments) op value` for a short form of `expect`. `value` must have the type of the reading."""
    left = reading_term(READINGS[reading], arguments)
    right = Term(show(value, left.type), left.type, lambda _moment: value, literal=True)
    return Compare(f"{left.text} {op} {right.text}", left, op, right)


def reading_term(reading: Reading, arguments: tuple[Any, ...]) -> Term:
    """Build one side of a comparison from a reading and its arguments."""
    inside = ", ".join(map(str, arguments))
    text = f"{reading.name}({inside})" if arguments else reading.name
    kinds = reading.kinds or (("produce-acked", "produce-given-up") if reading.type == DURATION else ())
    return Term(
        text, reading.type, lambda moment: reading.read(moment, *arguments), arguments, kinds=kinds, words=reading.words, ages=reading.ages,
        audits=reading.audits,
    )  # fmt: skip
