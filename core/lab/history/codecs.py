"""What objects hold, read from what their classes declare: slots, a compiled class's attributes, an instance's own dict.

The state of an object is a tuple of what its fields hold, of a container a tuple of its items. What can change is an object with a
state of its own, so a tuple refers to it and nobody has to say which field is plain. What never changes (numbers, tuples, frozen
attrs classes, functions) has no state; it may lead to objects that have.
"""

from __future__ import annotations

import enum
import functools
import random
import sys
import types
import typing
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, Final

import attrs

from core.sim.kept import Growing
from core.sim.state import ATOMS, reader, slots_of
from core.sim.state import is_frozen as frozen

State = tuple[Any, ...]
"""What an object holds."""

CONSTANT: Final[set[Any]] = {*ATOMS, enum.EnumMeta, types.EllipsisType, frozenset} - {types.BuiltinMethodType}
"""Types of what never changes and leads to nothing that does; classes that declare nothing else join them as they are met."""

METHODS: Final = (types.MethodType, types.BuiltinMethodType)
"""Types of bound methods; the latter where the class is compiled."""


class Codec:
    """Reads and writes the objects of a class that declares its fields: one list of values for each field."""

    def __init__(self, cls: type) -> None:
        self.cls = cls
        self.names = fields_of(cls)
        self._made_whole = hasattr(cls, "STATE")
        self._get: Callable[[Any], State] = reader(self.names)

    def read(self, objects: list[Any]) -> list[Any]:
        """What objects hold now, field by field, one object after the other."""
        return list(chain.from_iterable(map(self._get, objects)))

    def blank(self, like: Any) -> Any:
        """A new object, not yet filled."""
        new: Any = self.cls.__new__
        return self.cls() if self._made_whole else new(self.cls)


class OfItems:
    """Reads and writes containers and what else refills itself, one tuple for each: of lists, their items.

    Attributes:
        leads: whether items may lead to other objects.
    """

    leads = True

    def __init__(self, cls: type) -> None:
        self.cls = cls

    def read(self, objects: list[Any], states: list[State]) -> list[State]:
        """What objects hold now; `states` are what the first of them held."""
        return list(map(tuple, objects))

    def blank(self, like: Any) -> Any:
        """A new object, not yet filled."""
        return self.cls()

    def write(self, each: Any, state: State) -> None:
        """Have an object hold a state."""
        each[:] = state


class OfMapping(OfItems):
    """Dicts: all keys, then all values."""

    def read(self, objects: list[Any], states: list[State]) -> list[State]:
        return [(*each, *each.values()) if each else () for each in objects]

    def write(self, each: Any, state: State) -> None:
        half = len(state) // 2
        each.clear()
        each.update(zip(state[:half], state[half:], strict=True))


class OfSet(OfItems):
    """Sets; nobody asks them for an order."""

    def write(self, each: Any, state: State) -> None:
        each.clear()
        each.update(state)


class OfDeque(OfItems):
    """Deques, with how long they may become."""

    def blank(self, like: Any) -> Any:
        return deque(maxlen=like.maxlen)

    def write(self, each: Any, state: State) -> None:
        each.clear()
        each.extend(state)


class OfGrowing(OfItems):
    """Lists that only grow: a copy that all states share, and how much of it is the list."""

    leads = False

    def read(self, objects: list[Any], states: list[State]) -> list[State]:
        known = [state if len(each) == state[1] else _grown(each, state) for each, state in zip(objects, states, strict=False)]
        return known + [(list(each), len(each)) for each in objects[len(known) :]]

    def write(self, each: Any, state: State) -> None:
        each[:] = state[0][: state[1]]


def _grown(each: Growing[Any], state: State) -> State:
    """More was added since; a copy that went on otherwise before somebody went back is left as it is."""
    copy, length = state
    if len(copy) != length:
        copy = copy[:length]
    copy += each[length:]
    return copy, len(copy)


class OfRandom(OfItems):
    """Random streams."""

    leads = False

    def read(self, objects: list[Any], states: list[State]) -> list[State]:
        return [each.getstate() for each in objects]

    def write(self, each: Any, state: State) -> None:
        each.setstate(state)


_CONTAINERS: Final[dict[type, type[OfItems]]] = {
    dict: OfMapping, OrderedDict: OfMapping, list: OfItems, set: OfSet, deque: OfDeque, Growing: OfGrowing, random.Random: OfRandom,
}  # fmt: skip

_codecs: Final[dict[type, Codec | OfItems]] = {}


def codec_of(cls: type) -> Codec | OfItems:
    """How the states of a class's objects are read and written.

    Raises:
        TypeError: nobody knows what they hold.
    """
    codec = _codecs.get(cls)
    if codec is None:
        if cls in _CONTAINERS:
            codec = _CONTAINERS[cls](cls)
        elif cls.__module__.partition(".")[0] in sys.stdlib_module_names:
            raise TypeError(f"a state holds a {cls.__module__}.{cls.__qualname__}, which cannot be read")
        else:
            codec = Codec(cls)
        _codecs[cls] = codec
    return codec


def fields_of(cls: type) -> tuple[str, ...]:
    """The names of the fields that are the state of a class's objects; an instance's own dict is a field, too."""
    if hasattr(cls, "STATE"):
        return tuple(cls.STATE)
    names = dict.fromkeys(slots_of(cls))
    if cls.__dictoffset__:
        names["__dict__"] = None
    return tuple(names)


def parts_of(value: Any) -> Iterable[Any] | None:
    """What leads on from something that never changes; None if it can change and so has a state.

    Raises:
        TypeError: it is a closure, which may hold anything.
    """
    cls = type(value)
    if isinstance(value, tuple):
        return value
    if cls in METHODS:
        return (value.__self__,)
    if cls is types.FunctionType:
        if value.__closure__ is not None:
            raise TypeError(f"a closure is part of a state: {value.__qualname__}")
        return ()
    if isinstance(value, type):
        return ()
    if is_frozen(cls):
        return [getattr(value, name) for name in fields_of(cls)]
    return None


def renewed(value: Any, renew: Callable[[Any], Any]) -> Any:
    """The like of something that never changes, with its parts renewed; itself, if they stay the same."""
    cls = type(value)
    if cls is types.MethodType:
        return types.MethodType(value.__func__, renew(value.__self__))
    if cls is types.BuiltinMethodType:
        return getattr(renew(value.__self__), value.__name__)
    parts = list(parts_of(value) or ())
    news = [renew(part) for part in parts]
    if all(new is part for new, part in zip(news, parts, strict=True)):
        return value
    if isinstance(value, tuple):
        return tuple.__new__(cls, news)
    new = object.__new__(cls)
    for name, part in zip(fields_of(cls), news, strict=True):
        object.__setattr__(new, name, part)
    return new


def is_frozen(cls: type) -> bool:
    """Whether objects of a class never change: those of a frozen attrs class."""
    return attrs.has(cls) and frozen(cls)


@functools.cache
def is_constant(cls: type) -> bool:
    """Whether a class's objects never change and lead to nothing that does, as it declares; it is among `CONSTANT` then."""
    if cls in CONSTANT:
        return True
    if issubclass(cls, enum.Enum):
        constant = True
    elif is_frozen(cls) or (issubclass(cls, tuple) and hasattr(cls, "_fields")):
        try:
            hints = typing.get_type_hints(cls)
        except NameError:  # a type that is only there for the type checker
            return False
        names = fields_of(cls) if is_frozen(cls) else cls._fields  # type: ignore[attr-defined]
        constant = all(_is_constant_hint(hints.get(name)) for name in names)
    else:
        constant = False
    if constant:
        CONSTANT.add(cls)
    return constant


def _is_constant_hint(hint: Any) -> bool:
    if hint is None or hint is Ellipsis:
        return hint is Ellipsis
    origin = typing.get_origin(hint)
    if origin is typing.Literal:
        return True
    if origin in (tuple, frozenset, typing.Union, types.UnionType):
        return all(map(_is_constant_hint, typing.get_args(hint)))
    return isinstance(hint, type) and is_constant(hint)
