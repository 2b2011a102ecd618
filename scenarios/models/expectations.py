"""Reads the expectations of a script for other models: `{lost: 1, n2: {visible: 49}, k@1: {outcome: ok, took: 3ms}, r: {stale: 1}}`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

import attrs

from core.kafka.events import KINDS as KAFKA_KINDS
from core.models.catalogue import KINDS as MODEL_KINDS
from scenarios.conditions.conditions import OPERATORS
from scenarios.errors import Place, did_you_mean
from scenarios.language.nodes import Fields, Items, Node, shortened
from scenarios.language.timeline import Expectation, Language, compared_value
from scenarios.language.values import as_bool, as_duration, as_fields, as_int, as_text
from scenarios.models.readings import COUNTS, NAMES, OF_READ, OF_SERVER, OF_WRITE, Moment, Reading
from scenarios.readings.reading import BOOL, DURATION, NUMBER, show

KINDS: Final = {**KAFKA_KINDS, **MODEL_KINDS}
"""The event kinds of Kafka and of all other systems."""


@attrs.frozen
class Comparison:
    """A reading that is compared with a value.

    Attributes:
        subject: the server, client, or version that the reading describes, as written in the script; empty for the whole run.
        name: the name of the reading.
        type: the type of the reading's value.
        sign: the sign of the comparison.
        value: the expected value.
        take: the function that returns the reading's current value.
        kind: the kind of event that the comparison counts; empty if it does not count events.
    """

    subject: str
    name: str
    type: str
    sign: str
    value: Any
    take: Callable[[Moment], Any]
    kind: str = ""

    @property
    def text(self) -> str:
        """The comparison as text, for example in an error message."""
        return f"{self.what} {self.sign} {written(self.value, self.type)}"

    @property
    def what(self) -> str:
        """The reading as text."""
        return f"{self.subject} {self.name}".strip()

    def holds(self, moment: Moment) -> bool:
        """Return whether the comparison holds for the current value of the reading."""
        value = self.take(moment)
        return value is not None and OPERATORS[self.sign](value, self.value)

    def got(self, moment: Moment) -> str:
        """Return the current value as text."""
        value = self.take(moment)
        return f"{self.what} == {'no value' if value is None else written(value, self.type)}"


def written(value: Any, kind: str) -> str:
    """Return a value as a script writes it."""
    return f"[{', '.join(value)}]" if kind == NAMES else show(value, kind)


@attrs.frozen
class Under:
    """The systems to which a step or an expectation applies; empty for all systems."""

    systems: tuple[str, ...] = ()

    def includes(self, system: str) -> bool:
        """Return whether the step or the expectation applies to a system."""
        return not self.systems or system in self.systems


ModelExpectation = Expectation[Comparison, Under]
"""An expectation of a script for other models."""


Found = Iterable[tuple[Place, Comparison]]


@attrs.frozen
class Names:
    """The names that expectations can use: the systems, servers, and clients of the script."""

    systems: tuple[str, ...]
    servers: frozenset[str]
    clients: frozenset[str]


def language(names: Names) -> Language[Comparison, Under]:
    """Return the language of a script that declares the given names."""
    return Language(partial(_comparisons, names=names), partial(_until, names=names), partial(_under, names=names), Under())


def _until(node: Node, names: Names) -> tuple[ModelExpectation, ...]:
    return language(names).expectations(node)


def _under(node: Node, names: Names) -> Under:
    """Read the name of a system, or a list of names."""
    found = [as_text(item) for item in node] if isinstance(node, Items) else [as_text(node)]
    for name in found:
        if name not in names.systems:
            raise node.error(f"unknown system '{shortened(name)}'", did_you_mean(name, names.systems))
    return Under(tuple(found))


def _comparisons(node: Node, names: Names) -> Found:
    """Read a table."""
    fields = as_fields(node, "for example {lost: 0, n2: {visible: 49}}")
    if not fields.values:
        raise node.error("the expectation is empty", "for example {lost: 0}")
    with node.document.together():
        found = [fields.tried(partial(_subject, key=key, names=names), ()) for key in fields.values]
    return [one for each in found for one in each]


def _subject(fields: Fields, key: str, names: Names) -> Found:
    """Read the expected values for a key, which names a count, a server, a read by a client, the write of a version, or the events."""
    value = fields.values[key]
    if key in COUNTS:
        reading = COUNTS[key]
        return _compared(value, "", key, reading, reading.take)
    if key in names.servers:
        return _table(value, key, OF_SERVER, lambda take: lambda moment: take((moment, key)))
    if key == "events":
        return _events(value)
    name, _, number = key.rpartition("@") if "@" in key else (key, "", "0")
    if not number.isdecimal():
        raise fields.key_error(key, f"'{shortened(number)}' is not a number", "write the version of a key, for example k@1")
    if name in names.clients:
        return _table(value, key, OF_READ, lambda take: lambda moment: _of(take, moment.last_read(name, int(number))))
    if "@" in key:
        return _table(value, key, OF_WRITE, lambda take: lambda moment: _of(take, moment.write(name, int(number))))
    known = [*COUNTS, *sorted(names.servers), *sorted(names.clients), "events"]
    raise fields.key_error(
        key, f"unknown word '{shortened(key)}'", did_you_mean(key, known, "write a count, a server, a client, or key@version")
    )


def _of(take: Callable[[Any], Any], record: Any) -> Any:
    return None if record is None else take(record)


def _table(node: Node, key: str, readings: dict[str, Reading], bound: Callable[[Callable[[Any], Any]], Callable[[Moment], Any]]) -> Found:
    fields = as_fields(node, f"for example {{{next(iter(readings))}: …}}")
    fields.only(*readings)
    found: list[tuple[Place, Comparison]] = []
    with node.document.together():
        for name, value in fields.values.items():
            if name in readings:
                reading = readings[name]
                found += value.tried(partial(_compared, subject=key, name=name, reading=reading, take=bound(reading.take)), ())
    return found


def _compared(node: Node, subject: str, name: str, reading: Reading, take: Callable[[Moment], Any]) -> Found:
    """Read a value, which can begin with a comparison. If a number or a duration is compared with a list, every comparison in the list must
    hold.
    """
    if isinstance(node, Items) and reading.type in (NUMBER, DURATION):
        return [one for item in node for one in _compared(item, subject, name, reading, take)]
    sign, value = compared_value(node, reading.type)
    return [(node.place, Comparison(subject, name, reading.type, sign, _value(value, reading.type), take))]


def _value(node: Node, kind: str) -> Any:
    if kind == NUMBER:
        return as_int(node, -1)
    if kind == DURATION:
        return as_duration(node)
    if kind == BOOL:
        return as_bool(node)
    if kind == NAMES:
        return [as_text(item) for item in node] if isinstance(node, Items) else _names(as_text(node))
    return as_text(node)


def _names(text: str) -> list[str]:
    """Return the names in a text such as `[n1, n2]`, which is what remains of a list after a sign or between quotes."""
    inner = text.removeprefix("[").removesuffix("]") if text.startswith("[") and text.endswith("]") else text
    return [name.strip() for name in inner.split(",")] if inner.strip() else []


def _events(node: Node) -> Found:
    """Read `events: {semi-sync-off: 1, recovered: {count: 1, ops: 5000}}`: the expected number of events of a kind, or of events of a kind
    with given column values.
    """
    fields = as_fields(node, "for example {semi-sync-off: 1}")
    found: list[tuple[Place, Comparison]] = []
    with node.document.together():
        for kind, value in fields.values.items():
            if kind not in KINDS:
                node.document.add(fields.key_error(kind, f"unknown event '{shortened(kind)}'", did_you_mean(kind, KINDS)))
                continue
            found += value.tried(partial(_event, kind=kind), ())
    return found


def _event(node: Node, kind: str) -> Found:
    columns: list[tuple[str, str]] = []
    count: Node | None = node
    if isinstance(node, Fields):
        known = KINDS[kind].columns
        node.only("count", *known)
        count = node.get("count")
        columns = [(name, as_text(value)) for name, value in node.values.items() if name in known]
    text = f"{kind} {{{', '.join(f'{name}={value}' for name, value in columns)}}}" if columns else kind

    def take(moment: Moment) -> int:
        found = map(KINDS[kind], moment.events.get(kind, ()))
        return sum(all(_plain(getattr(event, name)) == value for name, value in columns) for event in found)

    if count is None:
        return [(node.place, Comparison("events", text, NUMBER, ">=", 1, take, kind))]
    reading = Reading(NUMBER, take, "")
    return [(place, attrs.evolve(one, kind=kind)) for place, one in _compared(count, "events", text, reading, take)]


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
