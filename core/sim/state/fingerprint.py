"""Fingerprints of a simulation's state. Two states that allow the same future events have the same fingerprint, in every process.

A fingerprint reads declared fields only. A fingerprint represents moments of virtual time as distances from the current time, and leaves
out sequence numbers and causes. Numbers that are only compared with each other (`Declared.labels`) are renumbered in the order in which
they are found. Objects are numbered in the same way. The order of the items in dicts and sets does not matter. The order of entries in the
agenda matters only for entries of the same connection.
"""

from __future__ import annotations

import enum
import hashlib
import marshal
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter, itemgetter
from typing import Any, Final

from core.sim.agenda import Entry
from core.sim.random_stream import RandomStream
from core.sim.simulation import Simulation
from core.sim.state.fields import Classes, Fields, Table, is_frozen, reader

Form = Any
"""The form that represents a value in a fingerprint: nested tuples and lists of atoms."""

Way = Callable[[Any], Form]
"""A function that converts values of one type to their form in a fingerprint (`Form`)."""

ATOMS: Final[frozenset[type]] = frozenset({int, str, bool, float, bytes, type(None)})
"""The types of values that a fingerprint contains unchanged."""

MARSHAL_VERSION: Final = 0
"""The version of the marshal format whose bytes depend only on the values. Later versions of the marshal format also encode which strings
are interned and which objects occur twice.
"""


class Fingerprints:
    """An object that takes fingerprints of a simulation and of additional objects that belong to the simulation.

    Attributes:
        also: the additional objects, for example the memory of an observer.
        still: whether time never passes again. Then, what would be due later never happens, and of a moment only matters whether it is in the
            past, now, or in the future.
    """

    def __init__(self, simulation: Simulation, *also: object, table: Table | None = None, still: bool = False) -> None:
        self._simulation = simulation
        self.also = also
        self.still = still
        self._writer = _Writer(Classes(table or {}), still=still)

    def take(self) -> bytes:
        """Return the fingerprint of the current state: 16 bytes.

        Raises:
            TypeError: a class does not declare its fields; the message names the class.
        """
        return hashlib.blake2b(marshal.dumps(self.form(), MARSHAL_VERSION), digest_size=16).digest()

    def form(self) -> Form:
        """Return the state in the form that `take` hashes, for inspection."""
        writer = self._writer
        simulation = self._simulation
        network = simulation.network
        writer.begin(simulation.now)
        write = writer.write
        nodes = [(address, write(simulation.nodes[address])) for address in sorted(simulation.nodes)]
        links = []
        for (sender, node), link in sorted(network.links.items()):
            waiting = [
                (bool(t & 1), network.is_latest(sender, node, t), write(message))
                for t, message, _ in link.waiting
                if node in network.off or network.is_open(sender, node, t) or network.is_reset(sender, node, t)
            ]
            faults = (link.latency, link.jitter, link.loss_ppm, link.duplicate_ppm, link.reorder_ppm, link.cut, link.held)
            links.append((sender, node, faults, max(0, link.last_arrival - simulation.now), waiting))
        draws = () if network.plain and not any(link.jitter or link.loss_ppm for link in network.links.values()) else write(network.random)
        due = sorted(_by_connection(simulation, simulation.now if self.still else None).items(), key=itemgetter(0))
        agenda = [(where, [writer.due(entry) for entry in sorted(entries, key=_when)]) for where, entries in due]
        paused = [
            (address, writer.moment(since), [writer.due(entry) for entry in waiting])
            for address, (since, waiting) in sorted(simulation.paused.items())
        ]
        connections = [
            (
                pair,
                each.established,
                each.accepted == each.number,
                each.oldest > each.number,
                [write(message) for message, _ in each.unsent],
            )
            for pair, each in sorted(network.connections.items(), key=itemgetter(0))
            if not each.is_settled
        ]
        alive = [(address, runs, address in network.off) for address, runs in sorted(network.alive.items())]
        of_network: Form = (alive, sorted(network.lose_next), network.zero_latency, links, connections, draws, list(self._elided()))
        if backlogs := network.backlogs(simulation.now):
            of_network = (*of_network, backlogs)
        return (nodes, of_network, agenda, paused, [write(each) for each in self.also])

    def form_of(self, value: object, now: int) -> Form:
        """Return the form of one object, for inspection. Moments are distances from `now`."""
        self._writer.begin(now)
        return self._writer.write(value)

    def _elided(self) -> Iterator[Form]:
        """Yield the forms of elided long polls: for each poll, its stage, and the time until the stage ends."""
        for poll in sorted(self._simulation.network.polls, key=attrgetter("client", "server", "number")):
            stage, due = poll.stage()
            if stage is not None:
                cycle = (poll.there, poll.back, poll.wait)
                yield (poll.client, poll.server, poll.number, stage.name, self._writer.moment(due), cycle, self._writer.write(poll.request))


def _when(entry: Entry) -> tuple[int, int]:
    return entry.time, entry.order


def _by_connection(simulation: Simulation, until: int | None) -> dict[tuple[str, str, bool, bool], list[Entry]]:
    """Return the live entries of the agenda that are due until a virtual time, or all, by connection. An open connection is identified by its two ends, by which end opened it, and by
    whether that end has opened a newer one since.
    """
    found: dict[tuple[str, str, bool, bool], list[Entry]] = {}
    for entry in simulation.agenda.entries:
        if (until is None or entry.time <= until) and simulation.is_live(entry):
            timer = entry.sender == entry.node
            latest = timer or simulation.network.is_latest(entry.sender, entry.node, entry.connection)
            found.setdefault((entry.node, entry.sender, not timer and bool(entry.connection & 1), latest), []).append(entry)
    return found


class _Writer:
    """A writer of the forms of values. The form of every value except an atom begins with the name of the value's class."""

    def __init__(self, classes: Classes, *, still: bool = False) -> None:
        self._classes = classes
        self._still = still
        self._ways: dict[type, Way] = {
            **dict.fromkeys(ATOMS, _itself),
            type: _name,
            types.FunctionType: _name,
            types.MethodType: self._method,
        }
        self._ways[types.BuiltinMethodType] = self._method
        self._constants: dict[int, tuple[object, Form]] = {}
        self.begin(0)

    def begin(self, now: int) -> None:
        """Start a new fingerprint."""
        self._now = now
        self._numbers: dict[int, int] = {}
        self._labels: dict[str, dict[int, int]] = {}

    def write(self, value: object) -> Form:
        """Convert a value of any type to its form in a fingerprint."""
        way = self._ways.get(type(value))
        if way is None:
            way = self._ways[type(value)] = self._way(type(value))
        return way(value)

    def moment(self, time: object) -> Form:
        """Return the form of a point in time: its distance from the current time. None and other values that are not times are written
        unchanged."""
        if type(time) is not int:
            return self.write(time)
        return ("t", (time > self._now) - (time < self._now) if self._still else time - self._now)

    def due(self, entry: Entry) -> Form:
        """Return the form of an entry in the agenda, without the node that handles it. An overdue entry counts as due now."""
        return (max(0, entry.time - self._now), self.write(entry.message))

    def _label(self, family: str, value: object) -> Form:
        """Return the number of a label within its family. Values of 0 or less are not labels. If the value is a dict, each of its keys is a
        label.
        """
        if isinstance(value, dict):
            return ("dict", [(self._label(family, key), self.write(value[key])) for key in sorted(value)])
        if type(value) is not int or value <= 0:
            return self.write(value)
        known = self._labels.setdefault(family, {})
        return ("label", known.setdefault(value, len(known)))

    def _way(self, cls: type) -> Way:
        if issubclass(cls, enum.Enum):
            return lambda each: (cls.__qualname__, each.name)
        if issubclass(cls, RandomStream):
            return lambda each: ("random", each.name, each.drawn)
        if issubclass(cls, dict):
            return self._mapping
        if issubclass(cls, (set, frozenset)):
            return lambda each: ("set", self._parts(self._sorted(each)))
        if issubclass(cls, (list, deque)):
            return lambda each: ("list", self._parts(each))
        if issubclass(cls, tuple):
            return self._object(cls) if hasattr(cls, "_fields") else self._parts
        return self._object(cls)

    def _parts(self, values: Iterable[Any]) -> list[Form]:
        """Return the forms of some values. Most values are atoms, which are their own forms."""
        write = self.write
        return [value if type(value) in ATOMS else write(value) for value in values]

    def _object(self, cls: type) -> Way:
        """Return a function that writes the forms of objects with fields. The form of a mutable object also holds its identity. In a form,
        the plain fields come first, followed by the fields that have a special rule (`Declared`).
        """
        fields = self._classes.fields(cls)
        ways = {name: way for name in fields.names if (way := self._field(name, fields)) is not None}
        read_plain = reader(tuple(name for name, way in ways.items() if way == self.write))
        special = tuple(way for way in ways.values() if way != self.write)
        read_special = reader(tuple(name for name, way in ways.items() if way != self.write))
        what = cls.__qualname__

        def of_slots(each: object) -> tuple[Form, ...]:
            plain = self._parts(read_plain(each))
            if special:
                return (what, *plain, *[way(value) for way, value in zip(special, read_special(each), strict=True)])
            return (what, *plain)

        if issubclass(cls, tuple):
            return of_slots
        if is_frozen(cls):
            return of_slots if special else self._kept(of_slots, read_plain)
        of_dict: dict[str, Way | None] = {}

        def written(each: object) -> Form:
            number = self._numbers.get(id(each))
            if number is not None:
                return ("#", number)
            self._numbers[id(each)] = len(self._numbers)
            form = of_slots(each)
            if fields.has_dict:
                own = each.__dict__
                for name in sorted(own):
                    if name not in of_dict:
                        of_dict[name] = None if name in fields.wiring else self._field(name, fields)
                    way = of_dict[name]
                    if way is not None:
                        form += (name, way(own[name]))
            return form

        return written

    def _kept(self, way: Way, read: Callable[[Any], tuple[object, ...]]) -> Way:
        """Return a function that caches the forms of those frozen objects that hold only constants. For example, the rules of a release
        occur in many places.
        """

        def kept(each: object) -> Form:
            found = self._constants.get(id(each))
            if found is not None:
                return found[1]
            form = way(each)
            if all(type(value) in ATOMS or isinstance(value, enum.Enum) for value in read(each)):
                self._constants[id(each)] = each, form  # keeps the id from being reused
            return form

        return kept

    def _field(self, name: str, fields: Fields) -> Way | None:
        if name in fields.history:
            return None
        if name in fields.times:
            return self.moment
        family = fields.labels.get(name)
        if family is not None:
            return lambda value: self._label(family, value)
        place = fields.row.get(name)
        if place is not None:
            return lambda value: self._row(value, place)
        places = fields.rows.get(name)
        if places is not None:
            return lambda value: self._rows(value, places)
        return self.write

    def _row(self, value: tuple[object, ...] | None, place: int) -> Form:
        """Return the form of a tuple without the cause at the given place."""
        return None if value is None else self._parts(value[:place] + value[place + 1 :])

    def _rows(self, values: Any, place: int) -> Form:
        """Return the forms of several tuples without their causes."""
        if isinstance(values, dict):
            return self._mapping({key: self._row(value, place) for key, value in values.items()})
        return [self._row(value, place) for value in values]

    def _mapping(self, each: dict[object, object]) -> Form:
        keys = self._sorted(each)
        return ("dict", self._parts(keys), self._parts([each[key] for key in keys]))

    def _sorted(self, values: Iterable[Any]) -> list[Any]:
        """Return the given values, sorted so that the result depends only on the forms of the values, not on their original order."""
        values = list(values)
        if len(values) < 2:
            return values
        if all(type(value) is str for value in values) or all(type(value) is int for value in values):
            return sorted(values)
        kept = self._numbers, self._labels
        written = []
        for value in values:
            self._numbers, self._labels = {}, {}
            written.append(repr(self.write(value)))
        self._numbers, self._labels = kept
        return [value for _, _, value in sorted(zip(written, range(len(values)), values, strict=True))]

    def _method(self, method: types.MethodType | types.BuiltinMethodType) -> Form:
        owner = method.__self__
        return ("method", method.__name__, None if owner is None or isinstance(owner, types.ModuleType) else self.write(owner))


def _itself(value: object) -> Form:
    return value


def _name(value: type | types.FunctionType | types.BuiltinFunctionType) -> Form:
    return ("name", value.__module__, value.__qualname__)
