"""The order in which hash maps of Scala return their keys: the immutable and the mutable map of Scala 2.13, and the mutable map of Scala 2.12.

Kafka's tools that are written in Scala print partitions in the iteration order of an immutable map.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from core.kafka.broker.isr_order import improved

MAP_4: Final = 4
"""The number of keys up to which the map keeps the order of insertion (`Map1` to `Map4`)."""

_BITS: Final = 5
"""The number of bits of the hash that select the branch at one level of the trie."""

_OLD_BITS: Final = 4
"""The number of bits of the hash that select one of the 16 buckets of a new mutable map of Scala 2.12."""

_MULTIPLIER: Final = 0x9E37_75CD
"""The multiplier of `scala.util.hashing.byteswap32`."""

_MASK: Final = 0xFFFF_FFFF

_PRODUCT_SEED: Final = 0xCAFE_BABE
"""The seed of the hash of case classes (`MurmurHash3.productSeed`)."""

T = TypeVar("T")


def scala_hash_order(keys: Iterable[T], hash_of: Callable[[T], int]) -> list[T]:
    """Return keys in the order in which a Scala map iterates over them. `keys` must be in insertion order, without duplicates.

    Args:
        keys: the keys to put in order.
        hash_of: the function that returns the `hashCode` of a key, as an unsigned 32-bit number.
    """
    inserted = list(keys)
    if len(inserted) <= MAP_4:
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


def old_scala_table_head(keys: Iterable[T], hash_of: Callable[[T], int]) -> T:
    """Return the first key of a mutable map of Scala 2.12 with at most 11 keys, which iterates from its last bucket to its first.

    Kafka: `scala.collection.mutable.HashTable#index`, `#improve`.

    Args:
        keys: the keys in ascending order. If several keys are in the first bucket, the result is the last of them.
        hash_of: the function that returns the `hashCode` of a key, as an unsigned 32-bit number.
    """

    def bucket(key: T) -> int:
        digest = hash_of(key) * _MULTIPLIER & _MASK
        digest = int.from_bytes(digest.to_bytes(4, "big"), "little") * _MULTIPLIER & _MASK
        return (digest >> _OLD_BITS | digest << 32 - _OLD_BITS) & _MASK

    return max(reversed(list(keys)), key=lambda key: bucket(key) >> 32 - _OLD_BITS)


def case_class_hash(text_hash: int, number: int) -> int:
    """Return the hash of a case class that has a string, with the given `hashCode`, and an int (`MurmurHash3#productHash`)."""
    digest = _PRODUCT_SEED
    for field in (text_hash, number):
        mixed = _rotated(field * 0xCC9E_2D51 & _MASK, 15) * 0x1B87_3593 & _MASK
        digest = (_rotated(digest ^ mixed, 13) * 5 + 0xE654_6B64) & _MASK
    digest ^= 2  # the number of fields
    digest = (digest ^ digest >> 16) * 0x85EB_CA6B & _MASK
    digest = (digest ^ digest >> 13) * 0xC2B2_AE35 & _MASK
    return digest ^ digest >> 16


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> 32 - bits) & _MASK
