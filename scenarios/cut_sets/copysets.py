"""Copysets: how many different sets of brokers hold all replicas of some partition, and how few could.

A copyset is a set of brokers such that losing all of them loses data. With random placement nearly every partition adds a copyset, so that
some partition is lost whenever enough brokers are lost together. The fewer copysets, the rarer a loss, and the larger. The scatter width is
the number of other brokers that share partitions with a broker; a broker's data is restored from so many (Cidon et al., Copysets: Reducing
the Frequency of Data Loss in Cloud Storage, USENIX ATC 2013).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, comb

import attrs

from scenarios.cut_sets.standing import Standing


@attrs.frozen
class Copysets:
    """The copysets of a cluster's partitions of one replication factor.

    Attributes:
        factor: the replication factor.
        partitions: the number of partitions.
        brokers: the number of brokers in the cluster.
        found: the number of copysets.
        scatter: the mean scatter width of the brokers that hold these partitions.
        needed: the number of copysets of a placement that has at least the same scatter width, made of permutations of the brokers.
    """

    factor: int
    partitions: int
    brokers: int
    found: int
    scatter: float
    needed: int

    def share(self, copysets: int) -> float:
        """Return the probability that so many brokers as the replication factor, lost at random, contain one of the copysets."""
        return copysets / comb(self.brokers, self.factor)


def copysets(standings: Sequence[Standing], brokers: int) -> Copysets | None:
    """Return the copysets of the replication factor that most partitions have; None if most have a single replica."""
    factors = [len(one.replicas) for one in standings]
    factor = max(set(factors), key=lambda one: (factors.count(one), one), default=0)
    if factor < 2:
        return None
    placed = [one.replicas for one in standings if len(one.replicas) == factor]
    sets = set(placed)
    beside: dict[int, set[int]] = {}
    for replicas in sets:
        for broker in replicas:
            beside.setdefault(broker, set()).update(replicas)
    scatter = sum(len(others) - 1 for others in beside.values()) / len(beside)
    permutations = max(1, ceil(scatter / (factor - 1)))
    needed = min(permutations * (brokers // factor), len(sets))
    return Copysets(factor, len(placed), brokers, len(sets), scatter, needed)
