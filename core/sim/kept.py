"""What objects say of themselves to whoever keeps their state (`core.lab.history`), where it is not just what their fields hold.

A class whose objects are more than their state names the fields that are, in `STATE`; `cls()` makes the others.
"""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

T = TypeVar("T")


class Growing(list[T]):
    """A list of constants to which is only ever added, so that former states of it share what they have in common."""


class Transient:
    """Holds what is no part of the state of whoever refers to it."""

    STATE: ClassVar[tuple[str, ...]] = ()

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: Any = None
