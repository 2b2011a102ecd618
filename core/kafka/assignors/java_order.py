"""The order in which Java iterates over a hash map (`java.util.HashMap`). The sticky and uniform assignors break ties by the iteration
order of Java's hash maps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from core.kafka.ids import TopicPartition
from core.kafka.transaction.transaction_log import java_hash

K = TypeVar("K")


def table_size(keys: int) -> int:
    """Return the number of buckets in a map that has grown to hold a given number of keys.

    A map has at least 16 buckets and is at most three quarters full.
    """
    size = 16
    while 4 * keys > 3 * size:
        size *= 2
    return size


def initial_table_size(keys: int) -> int:
    """Return the number of buckets in a set that is created as a copy of a list (`HashSet(Collection)`)."""
    return max(16, 1 << int(keys / 0.75).bit_length())


def bucket(hash_code: int, size: int) -> int:
    """Return the bucket of a hash code in a table of a given size (`HashMap#hash`)."""
    return (hash_code ^ hash_code >> 16) & (size - 1)


def hash_map_order(ids: Iterable[str]) -> list[str]:
    """Return strings, such as member IDs, in the iteration order of a hash map. Strings in the same bucket stay in the order in which they
    were inserted."""
    return _ordered(ids, java_hash)


def partition_hash(tp: TopicPartition) -> int:
    """Return the hash code of a partition (`TopicPartition#hashCode`)."""
    return (31 * (31 + tp.partition) + java_hash(tp.topic)) & 0xFFFF_FFFF


def _ordered(keys: Iterable[K], hash_code: Callable[[K], int]) -> list[K]:
    known = list(dict.fromkeys(keys))
    size = table_size(len(known))
    return sorted(known, key=lambda key: bucket(hash_code(key), size))
