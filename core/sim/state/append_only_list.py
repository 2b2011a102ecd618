"""A list that only grows."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


class AppendOnlyList(list[T]):
    """A list of immutable items that only grows. Its former states share the items that they have in common."""

    __slots__ = ()
