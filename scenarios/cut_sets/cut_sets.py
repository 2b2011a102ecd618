"""Minimal cut sets: the smallest sets of brokers, racks, or log directories without which partitions are harmed.

They follow from the replicas, the ISR, the ELR, min.insync.replicas and unclean.leader.election.enable of each partition, by Kafka's rules
for elections and for writes. Each partition is harmed as soon as too few of a few brokers are left (`standing.Need`), so its minimal cut
sets can be listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from math import comb
from typing import Final, TypeVar

import attrs

from core.kafka.ids import TopicPartition
from scenarios.cut_sets.standing import Harm, Moment, Need, Standing

Part = TypeVar("Part", bound=Hashable)
"""What fails as a whole: the number of a broker, the name of a rack, or a log directory as (broker, number)."""

PartOf = Callable[[TopicPartition, int], Hashable]
"""A function from a partition and one of its brokers to the part that holds this replica."""

LARGEST: Final = 3
"""The size of the largest cut sets that are looked for."""


@attrs.frozen
class CutSet:
    """A set of parts whose failure harms partitions that no smaller set of them harms.

    Attributes:
        parts: the parts.
        partitions: all partitions that are harmed if these parts fail, in the order of the cluster.
        only_together: how many of these partitions need all of the parts to fail.
    """

    parts: tuple[Hashable, ...]
    partitions: tuple[TopicPartition, ...]
    only_together: int


@attrs.frozen
class CutSets:
    """The minimal cut sets of a harm.

    Attributes:
        harmed: the partitions that are harmed already.
        sets: by size, up to `LARGEST`: each minimal cut set of at least one partition, with the number of partitions for which it is one.
    """

    harmed: tuple[TopicPartition, ...]
    sets: Mapping[int, Mapping[frozenset[Hashable], int]]
    _needs: Sequence[tuple[TopicPartition, Need, Mapping[int, Hashable]]] = attrs.field(repr=False)
    _on: Mapping[Hashable, Sequence[int]] = attrs.field(repr=False)

    @property
    def least(self) -> int | None:
        """The number of parts that must fail at least; None if it is more than `LARGEST`."""
        return min((size for size, found in self.sets.items() if found), default=None)

    def worst(self, size: int, number: int) -> list[CutSet]:
        """Return the cut sets of a size that harm most partitions, counting also those that a smaller part of the set harms."""
        smaller = [Counter(self.sets[each]) for each in range(1, size)]
        bounds = {
            chosen: together + sum(counts[frozenset(part)] for each, counts in enumerate(smaller, 1) for part in combinations(chosen, each))
            for chosen, together in self.sets[size].items()
        }
        found: list[CutSet] = []
        for chosen in sorted(bounds, key=lambda one: (-bounds[one], _in_order(one))):
            if len(found) >= number and len(found[number - 1].partitions) >= bounds[chosen]:
                break
            found.append(CutSet(_in_order(chosen), tuple(self._harmed(chosen)), self.sets[size][chosen]))
            found.sort(key=lambda one: -len(one.partitions))
        return found[:number]

    def _harmed(self, chosen: frozenset[Hashable]) -> Iterable[TopicPartition]:
        """Yield the partitions that are harmed if some parts fail. Only partitions with a replica in these parts can be harmed."""
        for number in sorted({number for part in chosen for number in self._on.get(part, ())}):
            partition, need, parts = self._needs[number]
            if need.is_broken(_brokers(parts, chosen)):
                yield partition

    def share(self, parts: int, size: int) -> float:
        """Return the share of all sets of so many parts, of a number of parts, whose failure harms at least one partition. `size` is at most
        `LARGEST`.
        """
        return self._harmful(parts, size) / comb(parts, size) if parts >= size else 0.0

    def _harmful(self, parts: int, size: int) -> int:
        """Count the sets of a size that contain a cut set. Those without a single part that harms are counted by the pairs in them."""
        alone = len(self.sets[1])
        spare = parts - alone
        count = comb(parts, size) - comb(spare, size)
        single = {part for one in self.sets[1] for part in one}
        pairs = [tuple(one) for one in self.sets[2] if not single.intersection(one)] if size >= 2 else []
        if size == 2:
            return count + len(pairs)
        if size == 3:
            beside: dict[Hashable, set[Hashable]] = {}
            for first, second in pairs:
                beside.setdefault(first, set()).add(second)
                beside.setdefault(second, set()).add(first)
            paths = sum(comb(len(others), 2) for others in beside.values())
            triangles = sum(len(beside[first] & beside[second]) for first, second in pairs) // 3
            count += len(pairs) * (spare - 2) - paths + triangles
            for triple in self.sets[3]:
                if not single.intersection(triple) and not any(
                    second in beside.get(first, ()) for first, second in combinations(triple, 2)
                ):
                    count += 1
        return count


def cut_sets(standings: Sequence[Standing], harm: Harm, moment: Moment, part_of: PartOf | None = None) -> CutSets:
    """Return the minimal cut sets of a harm.

    Args:
        standings: what each partition depends on.
        harm: the harm.
        moment: the state in which the parts fail.
        part_of: the part that holds a replica; by default, the broker.
    """
    sets: dict[int, Counter[frozenset[Hashable]]] = {size: Counter() for size in range(1, LARGEST + 1)}
    known: dict[Hashable, list[frozenset[Hashable]]] = {}
    harmed: list[TopicPartition] = []
    needs: list[tuple[TopicPartition, Need, Mapping[int, Hashable]]] = []
    on: dict[Hashable, list[int]] = {}
    for standing in standings:
        need = standing.need(harm, moment)
        if need is None:
            continue
        if need.is_broken(()):
            harmed.append(standing.partition)
            continue
        brokers = need.members | need.spares
        parts = {broker: broker if part_of is None else part_of(standing.partition, broker) for broker in brokers}
        for part in set(parts.values()):
            on.setdefault(part, []).append(len(needs))
        needs.append((standing.partition, need, parts))
        form = (need, None if part_of is None else frozenset(parts.items()))
        found = known.get(form)
        if found is None:
            found = known[form] = _minimal(need, parts)
        for one in found:
            sets[len(one)][one] += 1
    return CutSets(tuple(harmed), sets, needs, on)


def _minimal(need: Need, parts: Mapping[int, Hashable]) -> list[frozenset[Hashable]]:
    """Return the minimal sets of parts that break a condition, up to `LARGEST` parts."""
    found: list[frozenset[Hashable]] = []
    held = dict.fromkeys(parts[broker] for broker in sorted(need.members))
    for size in range(1, LARGEST + 1):
        for combination in combinations(held, size):
            chosen = frozenset(combination)
            if not any(smaller <= chosen for smaller in found) and need.is_broken(_brokers(parts, chosen)):
                found.append(chosen)
    return found


def _brokers(parts: Mapping[int, Hashable], chosen: frozenset[Hashable]) -> list[int]:
    """Return the brokers whose replicas are in some parts."""
    return [broker for broker, part in parts.items() if part in chosen]


def _in_order(parts: frozenset[Hashable]) -> tuple[Hashable, ...]:
    return tuple(sorted(parts, key=lambda part: (str(type(part)), part)))
