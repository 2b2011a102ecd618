"""Snapshots: the state of a simulation as a value, and the way back to it.

A snapshot holds, for each object that can change, what its fields held. To restore it is to fill the same objects again, so
identity and cycles are kept without further care, and all that never changes is shared.
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable
from random import Random
from typing import Any, Final

from core.sim.simulation import Simulation
from core.sim.state import ATOMS, Classes, Table, is_frozen

State = Any
"""What an object held, in the form that its way of reading has."""


class Snapshot:
    """The state of all objects at a moment; immutable."""

    __slots__ = ("_objects", "_states", "_walk")

    def __init__(self, walk: Walk, objects: list[Any], states: list[State]) -> None:
        self._walk, self._objects, self._states = walk, objects, states

    def __len__(self) -> int:
        """How many objects it holds."""
        return len(self._objects)

    def restore(self) -> None:
        """Let everything stand as it did when this was taken."""
        writers = self._walk.writers
        for each, state in zip(self._objects, self._states, strict=True):
            writers[type(each)](each, state)


class Snapshots:
    """Takes snapshots of a simulation, and of what else belongs to it.

    Attributes:
        roots: what all the rest is found from.
        table: what fields mean, where they are not plain state.
    """

    def __init__(self, simulation: Simulation, *also: object, table: Table | None = None) -> None:
        self.roots = (simulation, simulation.journal, simulation.agenda, simulation.network, *also)
        self._walk = Walk(Classes(table or {}))

    def take(self) -> Snapshot:
        """The state between two steps.

        Raises:
            TypeError: something in it has no declared fields; the message names its class.
        """
        objects, states = self._walk.from_roots(self.roots)
        return Snapshot(self._walk, objects, states)


class Walk:
    """Finds all objects that can change and reads them.

    Attributes:
        readers: by class, what reads an object: its state, and the values in it.
        writers: by class, what gives an object its state back.
    """

    def __init__(self, classes: Classes) -> None:
        self._classes = classes
        self.readers: dict[type, Callable[[Any], tuple[State, Any]]] = {}
        self.writers: dict[type, Callable[[Any, State], None]] = {}
        self._immutable: dict[type, Callable[[Any], Any]] = {}
        self._drawn: dict[int, State] = {}

    def from_roots(self, roots: tuple[Any, ...]) -> tuple[list[Any], list[State]]:
        """All objects that can change, and their states."""
        known: set[int] = set()
        kept: list[Any] = []  # what is immutable stays alive, and so keeps its id, while the walk lasts
        objects: list[Any] = []
        states: list[State] = []
        waiting = list(reversed(roots))
        readers, immutable = self.readers, self._immutable
        while waiting:
            each = waiting.pop()
            cls = type(each)
            if cls in ATOMS or id(each) in known:
                continue
            known.add(id(each))
            if cls not in readers and cls not in immutable:
                self._learn(cls)
            if cls in readers:
                state, values = readers[cls](each)
                objects.append(each)
                states.append(state)
            else:
                values = immutable[cls](each)
                kept.append(each)
            waiting += [value for value in values if type(value) not in ATOMS]
        return objects, states

    def _learn(self, cls: type) -> None:
        """How a class is read and written."""
        if issubclass(cls, Random):
            self.readers[cls], self.writers[cls] = self._read_random, Random.setstate
            return
        for base, (read, write) in CONTAINERS.items():
            if issubclass(cls, base):
                self.readers[cls], self.writers[cls] = read, write
                return
        if issubclass(cls, (tuple, frozenset)):
            self._immutable[cls] = tuple
        elif cls is types.MethodType or cls is types.BuiltinMethodType:
            self._immutable[cls] = _owner
        elif cls is types.FunctionType:
            self._immutable[cls] = _nothing_held
        else:
            fields = self._classes.fields(cls)
            if is_frozen(cls):
                self._immutable[cls] = fields.read
            elif fields.has_dict:
                self.readers[cls], self.writers[cls] = _with_dict(fields.read, fields.write, fields.wiring)
            else:
                read_fields = fields.read

                def read_slots(each: Any) -> tuple[State, Any]:
                    state = read_fields(each)
                    return state, state

                self.readers[cls], self.writers[cls] = read_slots, fields.write

    def _read_random(self, each: Random) -> tuple[State, Any]:
        """A stream has much state, and is seldom drawn from: what it had last time is shared."""
        state = each.getstate()
        former = self._drawn.get(id(each))
        if former == state:
            return former, ()
        self._drawn[id(each)] = state
        return state, ()


def _with_dict(read: Callable[[Any], tuple[Any, ...]], write: Callable[[Any, Any], None], wiring: frozenset[str]) -> tuple[Any, Any]:
    def read_all(each: Any) -> tuple[State, Any]:
        slots = read(each)
        own = each.__dict__.copy()
        for name in wiring & own.keys():
            del own[name]
        return (slots, own), (*slots, *own.values())

    def write_all(each: Any, state: State) -> None:
        slots, former = state
        write(each, slots)
        own = each.__dict__
        if len(own) > len(former):
            for name in own.keys() - former.keys() - wiring:
                del own[name]
        own.update(former)

    return read_all, write_all


def _owner(method: Any) -> tuple[Any, ...]:
    return (method.__self__,)


def _nothing_held(function: types.FunctionType) -> tuple[Any, ...]:
    if function.__closure__ is not None:
        raise TypeError(f"a closure is part of a simulation's state: {function.__qualname__}")
    return ()


def _read_mapping(each: dict[Any, Any]) -> tuple[State, Any]:
    keys, values = tuple(each), tuple(each.values())
    return (keys, values), keys + values


def _write_mapping(each: dict[Any, Any], state: State) -> None:
    each.clear()
    each.update(zip(*state, strict=True))


def _read_sequence(each: Any) -> tuple[State, Any]:
    state = tuple(each)
    return state, state


def _write_list(each: list[Any], state: State) -> None:
    each[:] = state


def _write_deque(each: deque[Any], state: State) -> None:
    each.clear()
    each.extend(state)


def _write_set(each: set[Any], state: State) -> None:
    each.clear()
    each.update(state)


CONTAINERS: Final[dict[type, tuple[Callable[[Any], tuple[State, Any]], Callable[[Any, State], None]]]] = {
    dict: (_read_mapping, _write_mapping),
    list: (_read_sequence, _write_list),
    deque: (_read_sequence, _write_deque),
    set: (_read_sequence, _write_set),
}
"""How containers are read and written, whatever their class is derived from them."""
