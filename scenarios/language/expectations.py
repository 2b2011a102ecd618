"""Reads the expectations of a script: conditions, and tables such as `{orders-0: {leader: 2, 1: 15/4}, lost: 0}`.

Each value in a table becomes a separate expectation with its own place in the file. An error therefore points to a single value.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

import attrs

from core.kafka.ids import TopicPartition
from core.kafka.release import GUARDS, Release
from scenarios.conditions.condition_parser import parse_condition, parse_reading
from scenarios.conditions.conditions import Condition, Names, Term, comparison
from scenarios.conditions.tokens import ConditionError, Token
from scenarios.errors import Place, ScriptError, did_you_mean
from scenarios.language.nodes import Fields, Items, Node, Text, shortened
from scenarios.language.timeline import Expectation, Language, compared_value
from scenarios.language.values import as_bool, as_duration, as_fields, as_int, as_items, as_leader, as_text, as_word, each
from scenarios.readings.all_readings import READINGS
from scenarios.readings.reading import BOOL, BROKER, DURATION, EPOCHS, IDS, NUMBER, ROW, TEXT, WORD, Reading
from scenarios.releases import nearest_release, release_named

P = TypeVar("P")

_PAIR: Final = re.compile(r"(\d{1,18})\s*/\s*(\d{1,18})")


@attrs.frozen
class Under:
    """The releases that a step or an expectation applies to. A release is included only if it meets the criteria of all fields.

    Attributes:
        before: the first release that is not included, or None.
        since: the first release that is included, or None.
        only: the releases that are included; if empty, this criterion does not apply.
        guarded: the guards that must all be in force in the release.
        unguarded: at least one of these guards must be off in the release; if empty, this criterion does not apply.
    """

    before: str | None = None
    since: str | None = None
    only: tuple[str, ...] = ()
    guarded: tuple[str, ...] = ()
    unguarded: tuple[str, ...] = ()

    def includes(self, release: Release) -> bool:
        """Return whether a release meets all criteria."""
        if self.before is not None and release.order >= release_named(self.before).order:
            return False
        if self.since is not None and release.order < release_named(self.since).order:
            return False
        if not all(release.has(guard) for guard in self.guarded):
            return False
        if self.unguarded and all(release.has(guard) for guard in self.unguarded):
            return False
        return not self.only or release.name in self.only


ALWAYS: Final = Under()
"""A release criterion that matches every release."""


def language(names: Names) -> Language[Condition, Under]:
    """Return the language of a script that declares the given names."""
    return Language(partial(_conditions, names=names), partial(_until, names=names), read_under, ALWAYS)


def _conditions(node: Node, names: Names) -> list[tuple[Place, Condition]]:
    """Read a condition or a table."""
    return _Table(names).read(node) if isinstance(node, Fields) else [(node.place, read_condition(node, names))]


def _until(node: Node, names: Names) -> tuple[Expectation[Condition, Under], ...]:
    return (Expectation(node.place, read_condition(node, names), ALWAYS),)


def read_under(node: Node) -> Under:
    """Read `under: {before: "0.11"}`, `under: {since: "2.0"}`, `under: ["0.10.2", "4.3"]`, or `under: {without: maximal-isr}`."""
    if isinstance(node, Fields):
        with node.document.together():
            known = node.only("before", "since", "with", "without")
            if known and all(node.get(word) is None for word in ("before", "since", "with", "without")):
                raise node.error("'before', 'since', 'with', and 'without' are all missing", 'for example {before: "0.11"}')
            return Under(
                node.read("before", read_release, None),
                node.read("since", read_release, None),
                guarded=node.read("with", read_guards, ()),
                unguarded=node.read("without", read_guards, ()),
            )
    if isinstance(node, Items):
        return Under(only=each(node, "write a list of releases", read_release))
    return Under(only=(read_release(node),))


def read_guards(node: Node) -> tuple[str, ...]:
    """Read a guard or a list of guards (`core.kafka.release.GUARDS`)."""
    items = tuple(node) if isinstance(node, Items) else (node,)
    found: list[str] = []
    for item in items:
        guard = as_text(item, "write a guard, for example maximal-isr")
        if guard not in GUARDS:
            raise item.error(f"unknown guard '{guard[:40]}'", did_you_mean(guard, GUARDS, f"use one of {', '.join(GUARDS)}"))
        if guard in found:
            raise item.error(f"guard {guard} appears twice", "name each guard once")
        found.append(guard)
    if not found:
        raise node.error("the list is empty", "name at least one guard, for example [maximal-isr]")
    return tuple(found)


def read_release(node: Node) -> str:
    """Read the name of a known release, which can include guards to switch off."""
    return _release(node, lambda text: (release_named(text), ""))


def read_release_to_run(node: Node) -> str:
    """Read the release under which a script runs. A version without rules of its own runs as the nearest release, with a warning."""
    return _release(node, nearest_release)


def _release(node: Node, named: Callable[[str], tuple[Release, str]]) -> str:
    text = as_text(node, 'write a release, for example "4.3"')
    try:
        release, note = named(text)
    except ValueError as wrong:
        problem, _, remedy = str(wrong).partition("; ")
        raise node.error(problem, remedy) from None
    if note:
        node.document.warnings.append(node.error(note))
    return release.name


def read_condition(node: Node, names: Names) -> Condition:
    """Read a condition. An error points to the exact position of the mistake."""
    return _parsed(node, names, parse_condition, "write a condition, for example lost == 0")


def read_readings(node: Node, names: Names) -> tuple[Term, ...]:
    """Read the value of `show:`, which is a reading or a list of readings."""
    hint = "write a list of readings, for example ['leo(orders-0, 2)', lost]"
    if not isinstance(node, Items):
        return (_parsed(node, names, parse_reading, hint),)
    if not node.nodes:
        raise node.error("the list is empty", hint)
    return each(node, hint, lambda item: _parsed(item, names, parse_reading, hint))


def _parsed(node: Node, names: Names, parse: Callable[[str, Names], P], hint: str) -> P:
    text = as_text(node, hint)
    assert isinstance(node, Text)
    try:
        return parse(node.text, names)
    except ConditionError as wrong:
        raise ScriptError(
            node.place_at(wrong.offset),
            node.field,
            f"{shortened(wrong.problem, 160)} (in: {shortened(text, 80)})",
            shortened(wrong.remedy, 300),
        ) from None


class _Table:
    """A reader of expectations in table form."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def read(self, node: Fields) -> list[tuple[Place, Condition]]:
        if not node.values:
            raise node.error("the expectation is empty", "for example {orders-0: {leader: 2}, lost: 0}")
        with node.document.together():
            found = [node.tried(partial(self.subject, key=key), ()) for key in node.values]
        return [one for each_key in found for one in each_key]

    def subject(self, node: Fields, key: str) -> list[tuple[Place, Condition]]:
        """Read the value of one key of the table: a partition, a broker, a client, or a reading of the whole cluster."""
        value = node.values[key]
        reading = READINGS.get(key)
        if reading is not None and all(kind.endswith("?") for kind in reading.arguments):
            return [self.compared(value, reading, ())]
        if self.names.clients is not None and key in self.names.clients:
            fields = as_fields(value, "for example {acked: 100}")
            return self.all_of("client", fields, (key,))
        if key[:1] == "b" and key[1:].isdecimal():
            broker = self.checked(node, key, self.names.broker)
            fields = as_fields(value, "for example {state: stopped}")
            return self.all_of("broker", fields, (broker,))
        if "-" in key and key.rpartition("-")[2].isdecimal():
            return self.partition(self.checked(node, key, self.names.partition), value)
        known = [name for name, one in READINGS.items() if all(kind.endswith("?") for kind in one.arguments)]
        subjects = [f"{topic}-0" for topic in self.names.topics or ()] + sorted(self.names.clients or ())
        raise node.key_error(
            key,
            f"unknown word '{key[:40]}'",
            did_you_mean(key, [*known, *subjects], "write a partition (orders-0), a broker (b2), or a count (lost)"),
        )

    def partition(self, tp: TopicPartition, node: Node) -> list[tuple[Place, Condition]]:
        fields = as_fields(node, "for example {leader: 2, isr: [1, 2], 1: 15/4}")
        with node.document.together():
            found = [fields.tried(partial(self.of_partition, name=name, tp=tp), ()) for name in fields.values]
        return [one for each_name in found for one in each_name]

    def of_partition(self, fields: Fields, name: str, tp: TopicPartition) -> list[tuple[Place, Condition]]:
        """Read one field of a partition, or one of its replicas."""
        value = fields.values[name]
        digits = name[1:] if name[:1] == "b" else name
        if not digits.isdecimal():
            return [self.compared(value, self.of("partition", fields, name), (tp,))]
        return self.replica(tp, self.checked(fields, name, self.names.broker), value)

    def all_of(self, subject: str, fields: Fields, arguments: tuple[Any, ...]) -> list[tuple[Place, Condition]]:
        """Read all fields of a replica, broker, or client."""
        with fields.document.together():
            found = [
                fields.tried(lambda one, name=name: self.compared(one.values[name], self.of(subject, one, name), arguments), None)  # type: ignore[misc]
                for name in fields.values
            ]
        return [one for one in found if one is not None]

    def replica(self, tp: TopicPartition, broker: int, node: Node) -> list[tuple[Place, Condition]]:
        """Read `1: 15/4` (LEO/HW) or `1: {leo: 15, hw: 4, epochs: [[0, 0]]}`."""
        if isinstance(node, Fields):
            return self.all_of("replica", node, (tp, broker))
        match = _PAIR.fullmatch(as_text(node, "write LEO/HW, for example 15/4"))
        if match is None:
            raise node.error(f"{node.what()} is not LEO/HW", "write LEO and HW as 15/4, or as {leo: 15, hw: 4}")
        return [
            (node.place, comparison("leo", (tp, broker), "==", int(match[1]))),
            (node.place, comparison("hw", (tp, broker), "==", int(match[2]))),
        ]

    def of(self, subject: str, fields: Fields, name: str) -> Reading:
        """Return the reading for a field of a partition, replica, broker, or client."""
        wanted: dict[str, Callable[[tuple[str, ...]], bool]] = {
            "partition": lambda kinds: (
                kinds[:1] in (("partition",), ("partition?",), ("partition-or-client?",)) and kinds[1:] in ((), ("broker?",))
            ),
            "replica": lambda kinds: kinds in (("partition", "broker?"), ("partition", "broker")),
            "broker": lambda kinds: kinds == ("broker",),
            "client": lambda kinds: kinds in (("client",), ("partition-or-client?",)),
        }
        known = [reading.name for reading in READINGS.values() if wanted[subject](reading.arguments)]
        if name not in known:
            raise fields.key_error(name, f"a {subject} has no '{name[:40]}'", did_you_mean(name, known))
        return READINGS[name]

    def checked(self, node: Fields, key: str, read: Callable[[Token], Any]) -> Any:
        try:
            return read(Token("word", key, 0))
        except ConditionError as wrong:
            raise node.key_error(key, wrong.problem, wrong.remedy) from None

    def compared(self, node: Node, reading: Reading, arguments: tuple[Any, ...]) -> tuple[Place, Condition]:
        """Build the condition that compares a reading with a value in the table."""
        op, node = compared_value(node, reading.type)
        return node.place, comparison(reading.name, arguments, op, self.value(node, reading))

    def value(self, node: Node, reading: Reading) -> Any:
        """Read the literal with which a reading is compared."""
        if reading.type == NUMBER:
            return as_int(node, -1, 10**18)
        if reading.type == DURATION:
            return as_duration(node)
        if reading.type == BOOL:
            return as_bool(node)
        if reading.type == WORD:
            return as_word(node, reading.words)
        if reading.type == TEXT:
            return as_text(node)
        if reading.type == BROKER:
            leader = as_leader(node)
            return leader if leader < 0 else self.placed(node, self.names.broker)
        if reading.type in (IDS, ROW):
            return [self.placed(item, self.names.broker) for item in as_items(node, "write a list of brokers, for example [1, 2]")]
        assert reading.type == EPOCHS
        pairs = []
        for item in as_items(node, "write pairs of epoch and start offset, for example [[0, 0], [1, 5]]"):
            pair = as_items(item, "write a pair of epoch and start offset, for example [1, 5]")
            if len(pair.nodes) != 2:
                raise item.error(f"{len(pair.nodes)} numbers", "a pair has an epoch and a start offset, for example [1, 5]")
            pairs.append((as_int(pair.nodes[0]), as_int(pair.nodes[1])))
        return pairs

    def placed(self, node: Node, read: Callable[[Token], Any]) -> Any:
        text = as_text(node)
        try:
            return read(Token("word", text, 0))
        except ConditionError as wrong:
            raise node.error(wrong.problem, wrong.remedy) from None
