"""A list that only grows."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


class AppendOnlyList(list[T]):
    """A list of immutable items that only grows. The recorded states of the list share one copy of the items. Its owner can empty it when it
    no longer uses it, so that snapshots do not hold items that only such a list has.
    """

    __slots__ = ()
