"""Who leads, by the four strategies of the ZooKeeper controller (Kafka: `PartitionLeaderElectionAlgorithms`), and the ISR that goes with it.

Pure functions over assignment, ISR and live brokers; each returns None where no leader is found.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple


class Elected(NamedTuple):
    """A leader with the ISR it leads with; `unclean` if it was outside the ISR."""

    leader: int
    isr: tuple[int, ...]
    unclean: bool = False


def offline_partition_leader_election(
    assignment: Sequence[int], isr: Sequence[int], live: Collection[int], *, unclean_enabled: bool
) -> Elected | None:
    """The first live member of the ISR in assignment order; else, if allowed, the first live replica (`#offlinePartitionLeaderElection`).

    The ISR keeps its live members, or is the new leader alone when that was outside it (`Election#leaderForOffline`).
    """
    for replica in assignment:
        if replica in live and replica in isr:
            return Elected(replica, tuple(member for member in isr if member in live))
    if unclean_enabled:
        for replica in assignment:
            if replica in live:
                return Elected(replica, (replica,), unclean=True)
    return None


def reassign_partition_leader_election(target: Sequence[int], isr: Sequence[int], live: Collection[int]) -> Elected | None:
    """The first of the target replicas that is live and in the ISR (`#reassignPartitionLeaderElection`); the ISR stays."""
    for replica in target:
        if replica in live and replica in isr:
            return Elected(replica, tuple(isr))
    return None


def preferred_replica_partition_leader_election(assignment: Sequence[int], isr: Sequence[int], live: Collection[int]) -> Elected | None:
    """The first assigned replica if it is live and in the ISR (`#preferredReplicaPartitionLeaderElection`); the ISR stays."""
    if assignment and assignment[0] in live and assignment[0] in isr:
        return Elected(assignment[0], tuple(isr))
    return None


def controlled_shutdown_partition_leader_election(
    assignment: Sequence[int], isr: Sequence[int], live: Collection[int], shutting_down: Collection[int]
) -> Elected | None:
    """The first live member of the ISR that is not shutting down (`#controlledShutdownPartitionLeaderElection`).

    The ISR loses those that are shutting down; `live` includes them, since they still run.
    """
    for replica in assignment:
        if replica in live and replica in isr and replica not in shutting_down:
            return Elected(replica, tuple(member for member in isr if member not in shutting_down))
    return None


def imbalance_ratio(preferring: int, led_elsewhere: int) -> float:
    """Share of the partitions preferring a broker that others lead (`KafkaController#checkAndTriggerAutoLeaderRebalance`)."""
    return led_elsewhere / preferring if preferring else 0.0
