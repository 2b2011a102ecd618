"""The order in which an immutable map of Scala 2.13 (`scala.collection.immutable.HashMap`) returns its keys.

Kafka's tools that are written in Scala print partitions in the iteration order of an immutable map.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from core.kafka.broker.isr_order import improved

_INSERTION_ORDERED: Final = 4
"""The number of keys up to which the map keeps the order of insertion (`Map1` to `Map4`)."""

_BITS: Final = 5
"""The number of bits of the hash that select the branch at one level of the trie."""

T = TypeVar("T")


def scala_hash_order(keys: Iterable[T], hash_of: Callable[[T], int]) -> list[T]:
    """Return keys in the order in which a Scala map iterates over them. `keys` must be in insertion order, without duplicates.

    Args:
        keys: the keys to put in order.
        hash_of: the function that returns the `hashCode` of a key, as an unsigned 32-bit number.
    """
    inserted = list(keys)
    if len(inserted) <= _INSERTION_ORDERED:
        return inserted
    return [key for _, key in _node([(improved(hash_of(key)), key) for key in inserted], 0)]


def _node(entries: Sequence[tuple[int, T]], shift: int) -> list[tuple[int, T]]:
    """Return the entries below a node: first the node's own entries, then the entries of its branches (`BitmapIndexedMapNode`)."""
    if len({digest for digest, _ in entries}) == 1:
        return list(entries)  # a collision node keeps the order of insertion
    branches: dict[int, list[tuple[int, T]]] = {}
    for entry in entries:
        branches.setdefault(entry[0] >> shift & 31, []).append(entry)
    inner = [branches[branch] for branch in sorted(branches)]
    found = [branch[0] for branch in inner if len(branch) == 1]
    for branch in inner:
        if len(branch) > 1:
            found += _node(branch, shift + _BITS)
    return found


def scala_table_order(keys: Iterable[T], hash_of: Callable[[T], int]) -> list[T]:
    """Return keys in the order of a mutable map (`scala.collection.mutable.HashMap`): by bucket, and by hash within a bucket.

    Args:
        keys: the keys to put in order.
        hash_of: the function that returns the `hashCode` of a key, as an unsigned 32-bit number.
    """
    inserted = list(keys)
    capacity = 16
    while len(inserted) >= capacity * 3 // 4:
        capacity *= 2

    def place(key: T) -> tuple[int, int]:
        digest = hash_of(key)
        digest ^= digest >> 16
        return digest & (capacity - 1), digest - ((digest & 0x8000_0000) << 1)

    return sorted(inserted, key=place)
