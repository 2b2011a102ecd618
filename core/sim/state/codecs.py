"""Codecs, which read, write, and create the objects of each class. A codec either uses the fields that a class declares, or treats the
objects of the class as containers.

The state of an object consists of the values of its fields. The state of a container consists of its items. A mutable object has a state of
its own, and other states refer to it. An immutable value (number, tuple, frozen class, bound method) has no state of its own, but can refer
to objects that have state.
"""

from __future__ import annotations

import types
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from itertools import chain, compress, repeat
from operator import call, is_not
from typing import Final

from core.sim.random_stream import RandomStream
from core.sim.state.append_only_list import AppendOnlyList
from core.sim.state.fields import ATOMS, FieldValue, fields_of, final_of, is_frozen, outside, reader

FEW: Final = 8
"""If at most this number of an object's values have changed, all changed values are visited. If more values have changed, those that the
object already held at another place are skipped.
"""

State = tuple[FieldValue, ...]
"""The state of an object: the values that it holds."""


Renew = Callable[[FieldValue], FieldValue]
"""A function that maps a value to its replacement in a copy."""


class Codec:
    """The codec for lists, and the base class of the other codecs.

    Attributes:
        leads: whether states can refer to other objects.
        changes: whether any part of a state can change.
    """

    leads = True
    changes = True

    def __init__(self, cls: FieldValue) -> None:
        self.cls = cls

    def read_final(self, each: object) -> State:
        """Return those values of an object that never change. The object's states do not contain these values."""
        return ()

    def read(self, objects: list[FieldValue], states: list[State]) -> list[State]:
        """Return the current states of objects. `states` holds the former states of the objects that are not new; these objects come first."""
        return list(map(tuple, objects))

    def reread(self, objects: list[FieldValue], states: list[State]) -> list[State]:
        """Return the current states of objects, read in full regardless of the former `states`."""
        return self.read(objects, states)

    def new_values(
        self, places: Sequence[int], states: list[State], former: list[State]
    ) -> Iterator[tuple[Sequence[int], list[FieldValue]]]:
        """Yield the new values in the states that can refer to other objects, with the places at which these values might be."""
        for at, state, held in zip(places, states, former, strict=True):
            if not ATOMS.issuperset(map(type, state)):
                others = compress(state, map(is_not, state, held)) if len(state) == len(held) else state
                new = [value for value in others if type(value) not in ATOMS]
                if held and len(new) > FEW:  # most values have only changed their place
                    former_ids = set(map(id, held))
                    new = [value for value in new if id(value) not in former_ids]
                if new:
                    yield (at,), new

    def write(self, each: FieldValue, state: State) -> None:
        """Set the state of an object."""
        each[:] = state

    def write_all(self, objects: list[FieldValue], states: list[State], held: list[State]) -> None:
        """Change the states of objects from `held` to `states`."""
        for each, state in zip(objects, states, strict=True):
            self.write(each, state)

    def blank(self, like: FieldValue) -> FieldValue:
        """Return a new object without content."""
        return self.cls()

    def fill(self, news: list[FieldValue], objects: list[FieldValue], states: list[State], renew: Renew) -> None:
        """Set the states of new objects to copies of the given states in which `renew` has replaced the values."""
        for new, state in zip(news, states, strict=True):
            if state:
                self.write(new, tuple(map(renew, state)) if self.leads else state)


class FieldsCodec(Codec):
    """The codec of classes that declare their fields.

    Attributes:
        final: the names of the fields that are set once.
        names: the names of the fields that can change. An object's `__dict__` counts as one field.
        read_one: the function that returns the current state of an object.
    """

    def __init__(self, cls: FieldValue) -> None:
        super().__init__(cls)
        names, final = fields_of(cls), final_of(cls)
        self.final = tuple(name for name in names if name in final)
        self.names = tuple(name for name in names if name not in final)
        self._read_final, self.read_one = reader(self.final), reader(self.names)
        self.changes = bool(self.names)
        self._is_made_whole = bool(outside(cls))

    def read_final(self, each: object) -> State:
        return self._read_final(each)

    def read(self, objects: list[FieldValue], states: list[State]) -> list[State]:
        return list(map(self.read_one, objects))

    def new_values(
        self, places: Sequence[int], states: list[State], former: list[State]
    ) -> Iterator[tuple[Sequence[int], list[FieldValue]]]:
        if () in former:
            yield from super().new_values(places, states, former)
            return
        each = chain.from_iterable
        values = compress(each(states), map(is_not, each(states), each(former)))
        new = [value for value in values if type(value) not in ATOMS]
        if new:
            yield places, new

    def write_all(self, objects: list[FieldValue], states: list[State], held: list[State]) -> None:
        for name, column, present in zip(self.names, zip(*states, strict=True), zip(*held, strict=True), strict=True):
            differs = list(map(is_not, column, present))
            if True in differs:
                deque(map(object.__setattr__, compress(objects, differs), repeat(name), compress(column, differs)), maxlen=0)

    def blank(self, like: FieldValue) -> FieldValue:
        return self.cls() if self._is_made_whole else self.cls.__new__(self.cls)

    def fill(self, news: list[FieldValue], objects: list[FieldValue], states: list[State], renew: Renew) -> None:
        for names, held in ((self.final, map(self.read_final, objects)), (self.names, states)):
            for name, column in zip(names, zip(*held, strict=True), strict=False):
                values = column if ATOMS.issuperset(map(type, column)) else map(renew, column)
                deque(map(object.__setattr__, news, repeat(name), values), maxlen=0)


class FewOfManyCodec(FieldsCodec):
    """A codec for many classes, each of which has few objects. It is faster to read the objects of all the classes together than class by
    class.
    """

    def __init__(self) -> None:
        self._codecs: dict[type, FieldsCodec] = {}
        self._readers: dict[type, Callable[[object], State]] = {}

    def include(self, codec: FieldsCodec) -> None:
        """Register the codec for the objects of its class."""
        self._codecs[codec.cls], self._readers[codec.cls] = codec, codec.read_one

    def read_final(self, each: object) -> State:
        return self._codecs[type(each)].read_final(each)

    def read(self, objects: list[FieldValue], states: list[State]) -> list[State]:
        return list(map(call, map(self._readers.__getitem__, map(type, objects)), objects))

    def write_all(self, objects: list[FieldValue], states: list[State], held: list[State]) -> None:
        for each, state, present in zip(objects, states, held, strict=True):
            for name, value, old in zip(self._codecs[type(each)].names, state, present, strict=True):
                if value is not old:
                    object.__setattr__(each, name, value)

    def blank(self, like: FieldValue) -> FieldValue:
        return self._codecs[type(like)].blank(like)

    def fill(self, news: list[FieldValue], objects: list[FieldValue], states: list[State], renew: Renew) -> None:
        for new, each, state in zip(news, objects, states, strict=True):
            self._codecs[type(each)].fill([new], [each], [state], renew)


class MappingCodec(Codec):
    """The codec of dicts. A state contains all keys, followed by all values."""

    def read(self, objects: list[FieldValue], states: list[State]) -> list[State]:
        return [(*each, *each.values()) if each else () for each in objects]

    def write(self, each: FieldValue, state: State) -> None:
        half = len(state) // 2
        each.clear()
        each.update(zip(state[:half], state[half:], strict=True))


class SetCodec(Codec):
    """The codec of sets, whose order must not matter."""

    def write(self, each: FieldValue, state: State) -> None:
        each.clear()
        each.update(state)


class DequeCodec(Codec):
    """The codec of deques, including their maximum length."""

    def blank(self, like: FieldValue) -> FieldValue:
        return deque(maxlen=like.maxlen)

    def write(self, each: FieldValue, state: State) -> None:
        each.clear()
        each.extend(state)


class AppendOnlyListCodec(Codec):
    """The codec of append-only lists. A state consists of a copy of the items, which the states of a list share if possible, and of the
    length of the list.
    """

    leads = False

    def read(self, objects: list[FieldValue], states: list[State]) -> list[State]:
        known = [state if len(each) == state[1] else _grown(each, state) for each, state in zip(objects, states, strict=False)]
        return known + self.reread(objects[len(known) :], [])

    def reread(self, objects: list[FieldValue], states: list[State]) -> list[State]:
        return [(list(each), len(each)) for each in objects]

    def write(self, each: FieldValue, state: State) -> None:
        each[:] = state[0][: state[1]]

    def restore(self, objects: list[FieldValue], states: list[State], former: list[State]) -> None:
        """Restore append-only lists to the given states. Since the states in `former` were recorded, the lists must not have lost any
        items, except lists that were emptied. `former` can lack the states of the last objects.

        If a state and the former state share a copy of the list, the shorter one is a prefix of the longer one. In this case, only the
        items after this prefix are written.
        """
        for each, (copy, length), (known, agreed) in zip(objects, states, chain(former, repeat((None, 0))), strict=False):
            start = min(agreed, length, len(each)) if known is copy else 0
            if start < length or len(each) > length:
                each[start:] = copy[start:length]


def _grown(each: AppendOnlyList[object], state: State) -> State:
    """Return the state of a list that has grown.

    If another state has already extended the shared copy beyond this state's length, copy the shared copy first.
    """
    copy, length = state
    if len(each) < length:
        return list(each), len(each)  # its owner has emptied it, and does not use it anymore
    if len(copy) != length:
        copy = copy[:length]
    copy += each[length:]
    return copy, len(copy)


class StreamCodec(Codec):
    """The codec of random streams. A state holds the number of 32-bit words that were drawn, and the state of the random number
    generator."""

    leads = False

    def read(self, objects: list[FieldValue], states: list[State]) -> list[State]:
        known = [state if each.drawn == state[0] else (each.drawn, each.getstate()) for each, state in zip(objects, states, strict=False)]
        return known + [(each.drawn, each.getstate()) for each in objects[len(known) :]]

    def blank(self, like: FieldValue) -> FieldValue:
        return self.cls(like.name)

    def write(self, each: FieldValue, state: State) -> None:
        each.drawn = state[0]
        each.setstate(state[1])


CONTAINERS: Final[dict[type, type[Codec]]] = {
    dict: MappingCodec, OrderedDict: MappingCodec, list: Codec, set: SetCodec, deque: DequeCodec, AppendOnlyList: AppendOnlyListCodec, RandomStream: StreamCodec,
}  # fmt: skip
"""The codecs of classes that declare no fields but have a state."""


def codec_of(cls: type) -> Codec:
    """Return the codec for the objects of a class.

    Raises:
        TypeError: the class does not declare its fields.
    """
    return CONTAINERS[cls](cls) if cls in CONTAINERS else FieldsCodec(cls)


def parts_of(value: FieldValue) -> Sequence[FieldValue] | None:
    """Return the values that an immutable value contains or refers to; None if the value is mutable and therefore has a state of its own.

    Raises:
        TypeError: the value is a closure, which can refer to any object.
    """
    cls = type(value)
    if isinstance(value, tuple):
        return value
    if cls is types.MethodType or cls is types.BuiltinMethodType:
        return (value.__self__,)
    if cls is types.FunctionType:
        if value.__closure__ is not None:
            raise TypeError(f"a closure is part of a simulation's state: {value.__qualname__}")
        return ()
    if isinstance(value, frozenset):
        return tuple(value)
    if isinstance(value, (type, Enum)):
        return ()
    if is_frozen(cls):
        return [getattr(value, name) for name in fields_of(cls)]
    return None


def renewed(value: FieldValue, renew: Callable[[FieldValue], FieldValue]) -> FieldValue:
    """Return a copy of an immutable value in which each part is replaced by the result of `renew`. If the parts of the value stay the same,
    return the value itself.
    """
    cls = type(value)
    parts = parts_of(value) or ()
    news = list(map(renew, parts))
    if all(new is part for new, part in zip(news, parts, strict=True)):
        return value
    if cls is types.MethodType:
        return types.MethodType(value.__func__, news[0])
    if cls is types.BuiltinMethodType:
        return getattr(news[0], value.__name__)
    if isinstance(value, tuple):
        return tuple.__new__(cls, news)
    if isinstance(value, frozenset):
        return cls(news)
    new = object.__new__(cls)
    for name, part in zip(fields_of(cls), news, strict=True):
        object.__setattr__(new, name, part)
    return new
