"""What the state of an object is: the fields that its class declares by slots or attrs, or that stand in its `__dict__`.

Snapshots and fingerprints read objects by it, and only by it, so nothing that a class holds can be forgotten. What a field means
to them is said once, in a table of `Declared` by class; a field that no table names is plain state.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Final, NamedTuple

from core.sim.agenda import Agenda
from core.sim.journal import Journal
from core.sim.network import Network
from core.sim.node import Node
from core.sim.simulation import Simulation

ATOMS: Final = frozenset({int, str, bool, float, bytes, type(None), type, types.ModuleType, types.BuiltinFunctionType})
"""Types of values that never change and refer to nothing."""


WRITTEN_IN_PYTHON: Final = 1 << 9
"""Flag of classes that a program makes (CPython: Py_TPFLAGS_HEAPTYPE), as opposed to those of the interpreter, whose fields are hidden."""


class Declared(NamedTuple):
    """What some fields of a class mean; a class has those of its bases, too.

    Attributes:
        wiring: set once, when the simulation is built: neither a snapshot nor a fingerprint reads them.
        history: sequence numbers, causes and counts: nothing that happens later depends on them.
        times: moments of virtual time, of which only the distance from now matters.
        labels: numbers above 0 that are only compared with others of their family, or dicts by such numbers; field to family.
    """

    wiring: tuple[str, ...] = ()
    history: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    labels: Mapping[str, str] = types.MappingProxyType({})


Table = Mapping[type, Declared]

KERNEL: Final[Table] = {
    Journal: Declared(wiring=("sink",), history=("seq", "cause")),
    Node: Declared(wiring=("handlers", "timers", "network", "journal")),
    Network: Declared(wiring=("agenda", "disturbed")),
    Simulation: Declared(wiring=("journal", "agenda", "network")),
    Agenda: Declared(history=("order", "in_order", "at", "since", "moment")),
}
"""The kernel's own classes."""


class Fields:
    """How objects of one class are read and written.

    Attributes:
        names: of the fields in slots.
        read: their values, in the order of the names.
        has_dict: whether objects have further fields in their `__dict__`.
    """

    def __init__(self, cls: type, table: Table) -> None:
        meanings = [found for base in reversed(cls.__mro__) for each in (KERNEL, table) if (found := each.get(base)) is not None]
        self.wiring = frozenset(name for each in meanings for name in each.wiring)
        self.history = frozenset(name for each in meanings for name in each.history)
        self.times = frozenset(name for each in meanings for name in each.times)
        self.labels = {name: family for each in meanings for name, family in each.labels.items()}
        self.names = tuple(name for name in slots_of(cls) if name not in self.wiring)
        self.has_dict = cls.__dictoffset__ != 0
        self.read = reader(self.names)
        self._write = tuple(getattr(cls, name).__set__ for name in self.names)

    def write(self, each: object, values: tuple[object, ...]) -> None:
        """Give the fields in slots their values."""
        for write, value in zip(self._write, values, strict=True):
            write(each, value)


def reader(names: tuple[str, ...]) -> Callable[[object], tuple[object, ...]]:
    """Reads fields into a tuple, however many they are."""
    if not names:
        return lambda each: ()
    if len(names) == 1:
        read = attrgetter(names[0])
        return lambda each: (read(each),)
    return attrgetter(*names)


def slots_of(cls: type) -> list[str]:
    """The names of all fields that a class and its bases keep in slots, or that a compiled class has."""
    names: list[str] = [*getattr(cls, "__mypyc_attrs__", ())]
    for base in reversed(cls.__mro__):
        slots = base.__dict__.get("__slots__", ())
        names += [name for name in ([slots] if isinstance(slots, str) else slots) if name not in ("__weakref__", "__dict__")]
    return names


def is_frozen(cls: type) -> bool:
    """Whether objects of a class never change: enumerations, and frozen attrs classes."""
    return issubclass(cls, enum.Enum) or cls.__setattr__ is not object.__setattr__


class Classes:
    """The fields of each class, looked up once."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._fields: dict[type, Fields] = {}

    def fields(self, cls: type) -> Fields:
        """Those of a class.

        Raises:
            TypeError: it belongs to no simulation: a closure, an open file, or the like.
        """
        found = self._fields.get(cls)
        if found is None:
            if not cls.__flags__ & WRITTEN_IN_PYTHON:
                raise TypeError(f"a simulation's state holds a {cls.__module__}.{cls.__qualname__}, which declares no fields")
            found = self._fields[cls] = Fields(cls, self._table)
        return found
