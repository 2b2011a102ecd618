"""The fields that hold an object's state: those that its class declares with slots or attrs, and those in its `__dict__`.

Snapshots and fingerprints read objects only through this module, so no field can be forgotten. A table of `Declared` by class says how
fingerprints treat special fields. A field that is not in this table is plain state.
"""

from __future__ import annotations

import enum
import inspect
import sys
import types
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Final, NamedTuple

from core.sim.agenda import Agenda
from core.sim.journal import Journal
from core.sim.long_polling import LongPoll
from core.sim.network import Network
from core.sim.node import Node
from core.sim.simulation import Simulation

FieldValue = Any
"""The value of a field, of any type."""

ATOMS: Final = frozenset({int, str, bool, float, bytes, type(None), type, types.ModuleType})
"""The types whose values never change and refer to no other object."""


class Declared(NamedTuple):
    """The rules by which fingerprints treat some fields of a class and its subclasses.

    Attributes:
        wiring: fields that are set once, when the simulation is built, and that fingerprints do not read.
        history: sequence numbers, causes, and counts that do not affect later behavior.
        times: moments of virtual time, of which only the difference from the current time matters.
        labels: for each field that holds labels, the name of the family to which the labels belong. Labels are numbers above 0 that are
            only compared with others of their family. A field can also be a dict whose keys are labels.
        row, rows: for each field that holds a tuple with a cause, the place of the cause in the tuple. In `rows`, the field is a sequence
            of such tuples, or a dict whose values are such tuples. The class of these tuples does not matter.
    """

    wiring: tuple[str, ...] = ()
    history: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    labels: Mapping[str, str] = types.MappingProxyType({})
    row: Mapping[str, int] = types.MappingProxyType({})
    rows: Mapping[str, int] = types.MappingProxyType({})


Table = Mapping[type, Declared]

KERNEL: Final[Table] = {
    Journal: Declared(history=("seq", "cause", "causes"), times=("now",)),
    Node: Declared(wiring=("handlers", "timers", "network", "journal")),
    Network: Declared(wiring=("agenda", "polls", "disturbances")),
    Simulation: Declared(wiring=("journal", "agenda", "network")),
    Agenda: Declared(history=("order", "in_order", "at", "since", "moment")),
    LongPoll: Declared(
        wiring=("polls", "journal", "order", "client_end", "server_end", "silent", "request", "left_at", "allowed_wait", "timeout"),
        history=("elided", "there", "back", "wait", "began", "elided_at", "cause"),
    ),
}
"""The rules for the fields of the kernel's own classes."""


class Fields:
    """The fields that a fingerprint reads from the objects of one class.

    Attributes:
        names: the names of the fields, excluding the fields in `__dict__`, in alphabetical order. A compiled class lists its fields in an
            order of its own.
        read: the function that reads the values of these fields, in the order of the names.
        has_dict: whether objects have further fields in their `__dict__`.
    """

    def __init__(self, cls: type, table: Table) -> None:
        meanings = [found for base in reversed(cls.__mro__) for each in (KERNEL, table) if (found := each.get(base)) is not None]
        self.wiring = frozenset(name for each in meanings for name in each.wiring)
        self.history = frozenset(name for each in meanings for name in each.history)
        self.times = frozenset(name for each in meanings for name in each.times)
        self.labels = {name: family for each in meanings for name, family in each.labels.items()}
        self.row = {name: place for each in meanings for name, place in each.row.items()}
        self.rows = {name: place for each in meanings for name, place in each.rows.items()}
        names = cls._fields if issubclass(cls, tuple) and hasattr(cls, "_fields") else fields_of(cls)
        self.names = tuple(sorted(name for name in names if name not in self.wiring and name != "__dict__"))
        self.has_dict = "__dict__" in names
        self.read = reader(self.names)


def reader(names: tuple[str, ...]) -> Callable[[object], tuple[object, ...]]:
    """Return a function that reads the named fields of an object into a tuple."""
    if not names:
        return lambda each: ()
    if len(names) == 1:
        read = attrgetter(names[0])
        return lambda each: (read(each),)
    return attrgetter(*names)


_fields_of: Final[dict[type, tuple[str, ...]]] = {}


def fields_of(cls: type) -> tuple[str, ...]:
    """Return the names of the fields that hold the state of a class's objects. `__dict__` counts as one field.

    Raises:
        TypeError: the class does not declare all of its fields; for example, it extends a container or is an open file.
    """
    found = _fields_of.get(cls)
    if found is None:
        found = _fields_of[cls] = _declared_by(cls)
    return found


def _declared_by(cls: type) -> tuple[str, ...]:
    names: list[str] = [*getattr(cls, "__mypyc_attrs__", ())]
    for base in reversed(cls.__mro__):
        slots = base.__dict__.get("__slots__", () if base is object and cls is not object else None)
        if base.__module__.partition(".")[0] in sys.stdlib_module_names and slots != ():
            raise TypeError(f"a simulation's state holds a {cls.__module__}.{cls.__qualname__}, which declares no fields")
        names += [slots] if isinstance(slots, str) else slots or ()
    if cls.__dictoffset__:
        names.append("__dict__")
    return tuple(name for name in dict.fromkeys(names) if name != "__weakref__" and name not in outside(cls))


def outside(cls: type) -> tuple[str, ...]:
    """Return the fields in `OUTSIDE` of the class. They are not part of the state, and a copy gets them from `cls()`."""
    return tuple(getattr(cls, "OUTSIDE", ()))


def final_of(cls: type) -> frozenset[str]:
    """Return the fields that a class declares `Final`, which are set once. In compiled classes, `Final` fields have no annotations."""
    hints = {name: hint for base in cls.__mro__ for name, hint in inspect.get_annotations(base).items()}
    return frozenset(name for name, hint in hints.items() if str(hint).startswith("Final"))


def is_frozen(cls: type) -> bool:
    """Return whether the objects of a class never change, as is the case for enumerations and frozen attrs classes."""
    return issubclass(cls, enum.Enum) or cls.__setattr__ is not object.__setattr__


class Classes:
    """A cache of the fields of each class."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._fields: dict[type, Fields] = {}

    def fields(self, cls: type) -> Fields:
        """Return the fields of a class.

        Raises:
            TypeError: the class does not declare all of its fields.
        """
        found = self._fields.get(cls)
        if found is None:
            found = self._fields[cls] = Fields(cls, self._table)
        return found
