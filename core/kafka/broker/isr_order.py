"""The order in which a leader lists the members of a changed ISR.

A leader keeps the ISR as a set. When the leader sends a changed ISR, it lists the members in the iteration order of the set. Controllers
keep the order that they receive, and `kafka-topics --describe` prints it. Up to 4.1, the ISR is Scala's immutable `Set` of broker IDs. A
set with up to four members keeps the order in which they were added; a larger set is a trie that is ordered by hash. From 4.2, the ISR is
Scala's mutable `HashSet`. In a `HashSet`, IDs below 8 are in ascending order, and the order of larger IDs depends on the size of the hash
table.

Kafka: `Partition#prepareIsrExpand`, `#prepareIsrShrink`. Tests compare isrlab's order with the iteration order of sets in Scala 2.13.

isrlab's order differs from Kafka's in one case. Before 2.7, a leader keeps the same set object until the broker becomes leader again, so an
ISR that once had five members remains a trie when it shrinks. In isrlab, an ISR that shrinks to four members returns to the order in which
its members were added.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from core.kafka.release import IsrOrder

_INSERTION_ORDERED: Final = 4
"""The number of members up to which Scala's immutable Set keeps the order of insertion (`Set1` to `Set4`)."""

_BITS: Final = 5
"""The number of hash bits that select a branch on each level of a trie."""

_INT_MASK: Final = 0xFFFF_FFFF

_TABLE: Final = 16
"""The initial size of the table in a mutable HashSet (`HashSet.defaultInitialCapacity`)."""

_LOAD: Final = 0.75
"""The load factor at which the table of a mutable HashSet grows (`HashSet.defaultLoadFactor`)."""


def expanded(isr: tuple[int, ...], joining: int, order: IsrOrder) -> tuple[int, ...]:
    """Return an ISR with one more member, in the leader's order."""
    members = (*isr, joining)
    if order is IsrOrder.HASH_TABLE:
        return _in_table(members, _table_for(int((len(members) + 1) / _LOAD)))
    return _in_set(members, order)


def shrunk(isr: tuple[int, ...], leaving: Collection[int], order: IsrOrder) -> tuple[int, ...]:
    """Return an ISR after some of its members are removed, in the leader's order."""
    members = tuple(member for member in isr if member not in leaving)
    if order is IsrOrder.HASH_TABLE:
        length = _TABLE
        while len(members) >= length * _LOAD:
            length *= 2
        return _in_table(members, length)
    return members if len(isr) <= _INSERTION_ORDERED else _in_trie(members, order)


def _in_set(members: tuple[int, ...], order: IsrOrder) -> tuple[int, ...]:
    return members if len(members) <= _INSERTION_ORDERED else _in_trie(members, order)


def _in_trie(members: tuple[int, ...], order: IsrOrder) -> tuple[int, ...]:
    if order is IsrOrder.INSERTION_TRIE_2_13:
        return tuple(_data_before_nodes(members, 0))
    return tuple(sorted(members, key=_path))


def _path(member: int) -> tuple[int, ...]:
    """Return the branches on the path to a member of a trie (Scala 2.12's `HashTrieSet`).

    The path has one branch for every five bits of the member's hash, starting with the lowest bits.
    """
    digest = improved(member)
    return tuple(digest >> shift & 31 for shift in range(0, 32, _BITS))


def _data_before_nodes(members: Iterable[int], shift: int) -> list[int]:
    """Return the members below a node: first its own, then the members of its branches (Scala 2.13's `BitmapIndexedSetNode`)."""
    branches: dict[int, list[int]] = {}
    for member in members:
        branches.setdefault(improved(member) >> shift & 31, []).append(member)
    inner = [branches[branch] for branch in sorted(branches)]
    found = [branch[0] for branch in inner if len(branch) == 1]
    for branch in inner:
        if len(branch) > 1:
            found += _data_before_nodes(branch, shift + _BITS)
    return found


def improved(member: int) -> int:
    """Return the hash that a trie uses for an Int (`scala.collection.Hashing#improve`)."""
    digest = (member + ~(member << 9)) & _INT_MASK
    digest ^= digest >> 14
    digest = (digest + (digest << 4)) & _INT_MASK
    return digest ^ digest >> 10


def _table_for(capacity: int) -> int:
    """Return the size of the table for an initial capacity (`HashSet#tableSizeFor`)."""
    return 1 << max(capacity - 1, 4).bit_length()


def _in_table(members: tuple[int, ...], length: int) -> tuple[int, ...]:
    """Return the members ordered by bucket, and by hash within a bucket (`scala.collection.mutable.HashSet`)."""
    return tuple(sorted(members, key=lambda member: (_spread(member) & length - 1, _spread(member))))


def _spread(member: int) -> int:
    """Return the hash that a mutable HashSet uses for an Int (`HashSet#improveHash`)."""
    return member ^ member >> 16
