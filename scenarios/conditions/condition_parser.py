"""Parses the text of a condition by recursive descent. The parser checks every name and type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from core.kafka.events import KINDS, column_types
from core.kafka.ids import NO_LEADER
from core.sim.units import parse_duration
from scenarios.conditions.conditions import (
    OPERATORS,
    Combined,
    Compare,
    Condition,
    EventPattern,
    Happened,
    Names,
    Order,
    Term,
    Truth,
    reading_term,
)
from scenarios.conditions.tokens import ConditionError, Token, tokenize
from scenarios.errors import did_you_mean
from scenarios.readings.all_readings import READINGS
from scenarios.readings.reading import BOOL, BROKER, DURATION, EPOCHS, IDS, NUMBER, ROW, TEXT, WORD, Reading

_MAX_NESTING: Final = 30
"""The maximum nesting depth of parentheses and `not`."""


def parse_condition(text: str, names: Names | None = None) -> Condition:
    """Parse a condition.

    Raises:
        ConditionError: the text is not a valid condition. The `offset` of the error is the position of the mistake in the text.
    """
    return _Parser(text, names or Names()).whole()


def parse_reading(text: str, names: Names | None = None) -> Term:
    """Parse a reading with its arguments, such as `leo(orders-0, 2)`, or a count of events, such as `count leader-elected`.

    Raises:
        ConditionError: the text is neither. The `offset` of the error is the position of the mistake in the text.
    """
    parser = _Parser(text, names or Names())
    if parser.next.kind == "end":
        raise ConditionError(0, "the reading is empty", "for example leo(orders-0, 2)")
    term = parser.value()
    if parser.next.kind != "end":
        raise ConditionError(
            parser.next.offset, f"unexpected '{parser.next.text}' after the end of the reading", "give one reading at a time"
        )
    if term.literal:
        raise ConditionError(0, f"'{text}' is a value, not a reading", "for example leo(orders-0, 2)")
    return term


class _Parser:
    """A recursive-descent parser for one condition."""

    def __init__(self, text: str, names: Names) -> None:
        self.text = text
        self.names = names
        self.tokens = tokenize(text)
        self.at = 0
        self.depth = 0

    # tokens

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        token = self.next
        self.at += 1
        return token

    def took(self, text: str) -> bool:
        if self.next.kind != "end" and self.next.text == text:
            self.at += 1
            return True
        return False

    def need(self, text: str) -> None:
        if not self.took(text):
            raise ConditionError(self.next.offset, f"expected '{text}', not {self.named(self.next)}")

    def named(self, token: Token) -> str:
        return "the end" if token.kind == "end" else f"'{token.text}'"

    def since(self, start: int) -> str:
        """Return the text from an offset to the end of the last token that was consumed."""
        last = self.tokens[self.at - 1]
        return self.text[start : last.offset + len(last.text)]

    # conditions

    def whole(self) -> Condition:
        if self.next.kind == "end":
            raise ConditionError(0, "the condition is empty", "for example lost == 0")
        condition = self.alternatives()
        if self.next.kind != "end":
            raise ConditionError(
                self.next.offset, f"unexpected '{self.next.text}' after the end of the condition", "join conditions with 'and' or 'or'"
            )
        return condition

    def alternatives(self) -> Condition:
        return self.joined("or", lambda: self.joined("and", self.negated))

    def joined(self, word: str, part: Callable[[], Condition]) -> Condition:
        start = self.next.offset
        inside = [part()]
        while self.took(word):
            inside.append(part())
        return inside[0] if len(inside) == 1 else Combined(self.since(start), word, tuple(inside))

    def negated(self) -> Condition:
        self.depth += 1
        if self.depth > _MAX_NESTING:
            raise ConditionError(self.next.offset, f"the condition has more than {_MAX_NESTING} levels of nesting")
        start = self.next.offset
        if self.took("not"):
            inside = self.negated()
            condition: Condition = Combined(self.since(start), "not", (inside,))
        else:
            condition = self.simple()
        self.depth -= 1
        return condition

    def simple(self) -> Condition:
        start = self.next
        if start.text == "(":
            self.at += 1
            inside = self.alternatives()
            self.need(")")
            return inside
        if start.text in ("happened", "never"):
            self.at += 1
            pattern = self.pattern()
            return Happened(self.since(start.offset), pattern, never=start.text == "never")
        if start.text == "order":
            self.at += 1
            return self.order(start)
        left = self.value()
        if self.next.kind == "sign" and self.next.text in OPERATORS:
            return self.compared(start, left)
        if self.next.text == "=":
            raise ConditionError(self.next.offset, "'=' is not a comparison", "to compare, write ==")
        if left.type == BOOL and not left.literal:
            return Truth(left.text, left)
        raise ConditionError(
            self.next.offset,
            f"there is nothing to compare {left.text} with",
            f"write a comparison, for example {left.text} == {_sample(left)}",
        )

    def compared(self, start: Token, left: Term) -> Condition:
        op = self.take().text
        at = self.next
        right = self.value(left)
        if left.literal and right.literal:
            raise ConditionError(
                start.offset, "the condition compares two fixed values", "one side must be a reading, for example hw(orders-0)"
            )
        if left.literal:
            left = self.fitted(left, right, start)
        sizes = {IDS, ROW}
        by_size = (left.type in sizes) != (right.type in sizes) and NUMBER in (left.type, right.type)
        if not by_size and left.type != right.type and not (left.type in sizes and right.type in sizes):
            raise ConditionError(
                at.offset,
                f"{left.text} is a {left.type}, but {right.text} is a {right.type}",
                f"compare {left.text} with a value such as {_sample(left)}",
            )
        if op not in ("==", "!=") and not by_size and left.type not in (NUMBER, DURATION):
            raise ConditionError(at.offset, f"a {left.type} cannot be compared with < or >", "use == or != for this comparison")
        return Compare(self.since(start.offset), left, op, right, by_size)

    def order(self, start: Token) -> Condition:
        self.need("[")
        patterns = [self.pattern()]
        while self.took(","):
            patterns.append(self.pattern())
        self.need("]")
        return Order(self.since(start.offset), tuple(patterns))

    # values

    def value(self, like: Term | None = None) -> Term:
        token = self.take()
        if token.text == "[":
            return self.listed(token)
        if token.kind != "word":
            raise ConditionError(
                token.offset, f"expected a value, not {self.named(token)}", "write a reading such as hw(orders-0) or a number"
            )
        if token.text == "count":
            pattern = self.pattern()
            return Term(self.since(token.offset), NUMBER, lambda moment: len(pattern.found(moment)), kinds=(pattern.kind,))
        if like is not None and (self.next.text != "(" or token.text not in READINGS):
            literal = self.literal(token, like)
            if literal is not None:
                return literal
        reading = READINGS.get(token.text)
        if reading is not None:
            return reading_term(reading, self.arguments(token, reading))
        literal = self.literal(token, None)
        if literal is not None:
            return literal
        words = [*READINGS, "happened", "never", "count", "order", "not"] if like is None else [*READINGS, *like.words]
        raise ConditionError(
            token.offset, f"unknown word '{token.text}'", did_you_mean(token.text, words, "see 'isrlab scenarios show' for examples")
        )

    def fitted(self, literal: Term, reading: Term, token: Token) -> Term:
        """Parse the literal on the left side of a comparison again, after the type of the right side is known."""
        if token.kind != "word":
            return literal
        return self.literal(token, reading) or literal

    def literal(self, token: Token, like: Term | None) -> Term | None:
        """Read a literal that is compared with a term (`like`). Return None if the token is not a literal."""
        text = token.text
        if like is not None and like.type == BROKER:
            if text == "none":
                return _fixed(text, BROKER, NO_LEADER)
            if _is_int(text) or (text[:1] == "b" and _is_int(text[1:])):
                return _fixed(text, BROKER, self.names.broker(token)) if text != "-1" else _fixed("none", BROKER, NO_LEADER)
            return None
        if like is not None and like.type == WORD:
            if text not in like.words:
                raise ConditionError(token.offset, f"unknown word '{text}'", did_you_mean(text, like.words))
            return _fixed(text, WORD, text)
        if like is not None and like.type == TEXT:
            return _fixed(text, TEXT, text)
        if text in ("true", "false"):
            return _fixed(text, BOOL, text == "true")
        if _is_int(text):
            if len(text) > 18:
                raise ConditionError(token.offset, "the number is too large", "use at most 18 digits")
            if like is not None and like.type == DURATION and int(text) != 0:
                raise ConditionError(token.offset, f"'{text}' is not a duration", "write a unit, for example 500ms")
            return _fixed(text, DURATION if like is not None and like.type == DURATION else NUMBER, int(text))
        if text[:1].isdigit():
            try:
                return _fixed(text, DURATION, parse_duration(text))
            except ValueError:
                raise ConditionError(token.offset, f"'{text}' is neither a whole number nor a duration") from None
        return None

    def listed(self, start: Token) -> Term:
        """Read a list such as `[1, 2]` or `[(0, 0), (1, 5)]`."""
        ids: list[int] = []
        pairs: list[tuple[int, int]] = []
        while not self.took("]"):
            if ids or pairs:
                self.need(",")
            if self.took("("):
                epoch = self.number()
                self.need(",")
                pairs.append((epoch, self.number()))
                self.need(")")
            else:
                token = self.take()
                if token.kind != "word":
                    raise ConditionError(token.offset, f"expected a broker, not {self.named(token)}", "for example [1, 2]")
                ids.append(self.names.broker(token))
        if ids and pairs:
            raise ConditionError(start.offset, "the list mixes brokers and epochs", "write [1, 2] or [(0, 0), (1, 5)]")
        text = self.since(start.offset)
        return _fixed(text, EPOCHS, pairs) if pairs else _fixed(text, IDS, ids)

    def number(self) -> int:
        token = self.take()
        if not _is_int(token.text) or len(token.text) > 18:
            raise ConditionError(token.offset, f"expected a number, not {self.named(token)}")
        return int(token.text)

    def arguments(self, name: Token, reading: Reading) -> tuple[Any, ...]:
        arguments: list[Any] = []
        if self.took("("):
            for kind in reading.arguments:
                if arguments:
                    if self.next.text != "," and kind.endswith("?"):
                        break
                    self.need(",")
                token = self.take()
                if token.kind != "word":
                    raise ConditionError(
                        token.offset, f"expected a {kind.rstrip('?')}, not {self.named(token)}", f"write {reading.written}"
                    )
                arguments.append(self.argument(token, kind.rstrip("?")))
            if not self.took(")"):
                raise ConditionError(self.next.offset, f"expected ')', not {self.named(self.next)}", f"write {reading.written}")
        elif any(not kind.endswith("?") for kind in reading.arguments):
            raise ConditionError(name.offset, f"{reading.name} needs an argument", f"write {reading.written}")
        return tuple(arguments)

    def argument(self, token: Token, kind: str) -> Any:
        if kind == "partition":
            return self.names.partition(token)
        if kind == "broker":
            return self.names.broker(token)
        if kind == "client":
            return self.names.client(token)
        if kind == "group":
            return self.names.group(token)
        if kind in ("key", "transactional-id"):
            return token.text
        known = self.names.clients
        if known is not None and token.text in known:
            return token.text
        topic, dash, number = token.text.rpartition("-")
        if dash and topic and number.isdecimal():
            return self.names.partition(token)
        return self.names.client(token)

    # events

    def pattern(self) -> EventPattern:
        """Read a pattern such as `leader-elected {partition=orders-0, election=unclean}`. Accept a colon instead of `=`."""
        token = self.take()
        event = KINDS.get(token.text)
        if event is None:
            raise ConditionError(
                token.offset, f"unknown event {self.named(token)}", did_you_mean(token.text, KINDS, "for example leader-elected")
            )
        types = column_types(event)
        columns: list[tuple[str, Any]] = []
        if self.took("{"):
            while not self.took("}"):
                if columns:
                    self.need(",")
                columns.extend(self.column(token.text, types))
        return EventPattern(self.since(token.offset), token.text, tuple(columns))

    def column(self, kind: str, types: dict[str, str]) -> list[tuple[str, Any]]:
        name = self.take()
        column = name.text.replace("-", "_")
        if column not in types:
            known = [one.replace("_", "-") for one in types]
            raise ConditionError(name.offset, f"{kind} has no column {self.named(name)}", did_you_mean(name.text, known))
        if not self.took(":"):
            self.need("=")
        token = self.take()
        if token.text == "[" and types[column].startswith("tuple"):
            return [(column, self.listed(token).take(None))]  # type: ignore[arg-type]
        if token.kind != "word":
            raise ConditionError(token.offset, f"expected a value, not {self.named(token)}")
        if column == "partition" and not _is_int(token.text):
            tp = self.names.partition(token)
            return [("topic", tp.topic), (column, tp.partition)]
        return [(column, self.column_value(token, column, types[column]))]

    def column_value(self, token: Token, column: str, kind: str) -> Any:
        if kind == "str":
            return token.text
        if kind == "bool":
            if token.text not in ("true", "false"):
                raise ConditionError(token.offset, f"'{token.text}' is neither true nor false")
            return token.text == "true"
        if kind != "int":
            raise ConditionError(token.offset, f"'{token.text}' is not a list", "write a list, for example [1, 2]")
        if _is_int(token.text) and len(token.text) <= 18:
            return int(token.text)
        if token.text == "none":
            return -1
        if token.text[:1] == "b" and _is_int(token.text[1:]):
            return self.names.broker(token)
        if column == "acks" and token.text == "all":
            return -1
        if column.endswith("_us"):
            try:
                return parse_duration(token.text)
            except ValueError:
                pass
        raise ConditionError(token.offset, f"'{token.text}' is not a number")


def _is_int(text: str) -> bool:
    digits = text[1:] if text[:1] == "-" else text
    return digits.isascii() and digits.isdecimal()


def _fixed(text: str, kind: str, value: Any) -> Term:
    return Term(text, kind, lambda _moment: value, literal=True)


def _sample(term: Term) -> str:
    """Return an example of a value that can be compared with a term."""
    if term.words:
        return term.words[0]
    samples = {
        NUMBER: "0",
        DURATION: "500ms",
        BOOL: "true",
        BROKER: "1",
        IDS: "[1, 2]",
        ROW: "[1, 2]",
        EPOCHS: "[(0, 0), (1, 5)]",
        TEXT: "none",
    }
    return samples.get(term.type, "0")
