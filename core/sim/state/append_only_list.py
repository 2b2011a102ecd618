"""Lists that only grow."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


class AppendOnlyList(list[T]):
    """A list of constants to which is only ever added, so that former states of it share what they have in common."""

    __slots__ = ()
