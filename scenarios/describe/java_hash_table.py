"""The order in which a Java hash table (`java.util.HashMap`) returns its keys.

Kafka's tools print topics and transactions in the order of such a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from core.kafka.ids import TopicPartition
from core.kafka.transaction.transaction_log import java_hash

DEFAULT_CAPACITY: Final = 16
"""The number of buckets of a new table."""

_PRIME: Final = 31
_MASK: Final = 0xFFFF_FFFF

T = TypeVar("T")


def hash_order(keys: Iterable[T], hash_of: Callable[[T], int], capacity: int = DEFAULT_CAPACITY) -> list[T]:
    """Return keys in the order in which a hash table iterates over them. `keys` must be in insertion order.

    The capacity doubles until the table is at most three quarters full. Keys in the same bucket keep their insertion order.

    Args:
        keys: the keys, without duplicates.
        hash_of: the function that returns the `hashCode` of a key, as an unsigned 32-bit number.
        capacity: the initial number of buckets, a power of two.
    """
    inserted = list(keys)
    while len(inserted) > capacity * 3 // 4:
        capacity *= 2
    return sorted(inserted, key=lambda key: _spread(hash_of(key)) & (capacity - 1))


def table_size_for(count: int) -> int:
    """Return the capacity of a hash table for a number of entries (`HashMap#tableSizeFor`)."""
    return 1 << max(count - 1, 0).bit_length()


def long_hash(value: int) -> int:
    """Return `Long#hashCode` of a nonnegative number, as an unsigned 32-bit number."""
    return (value ^ value >> 32) & _MASK


def partition_hash(tp: TopicPartition) -> int:
    """Return `TopicPartition#hashCode` as an unsigned 32-bit number."""
    return (_PRIME * (_PRIME + tp.partition) + java_hash(tp.topic)) & _MASK


def _spread(value: int) -> int:
    return value ^ value >> 16
