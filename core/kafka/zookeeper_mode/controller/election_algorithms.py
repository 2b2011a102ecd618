"""The four leader election strategies of the ZooKeeper controller. Each strategy also determines the resulting ISR.

The strategies are pure functions of the assignment, the ISR, and the live brokers. If no replica can lead, a strategy returns None. Kafka:
`PartitionLeaderElectionAlgorithms`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple


class Elected(NamedTuple):
    """The elected leader and its ISR. `unclean` is true if the leader was outside the ISR."""

    leader: int
    isr: tuple[int, ...]
    unclean: bool = False


def offline_partition_leader_election(
    assignment: Sequence[int], isr: Sequence[int], live: Collection[int], *, unclean_enabled: bool
) -> Elected | None:
    """Elect the first live ISR member in assignment order. If no ISR member is live, but unclean election is enabled, elect the first live
    replica.

    The new ISR consists of the live members of the previous ISR. After an unclean election, the ISR contains only the new leader. Kafka:
    `#offlinePartitionLeaderElection`, `Election#leaderForOffline`.
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
    """Elect the first target replica that is live and in the ISR (`#reassignPartitionLeaderElection`). The election does not change the
    ISR."""
    for replica in target:
        if replica in live and replica in isr:
            return Elected(replica, tuple(isr))
    return None


def preferred_replica_partition_leader_election(assignment: Sequence[int], isr: Sequence[int], live: Collection[int]) -> Elected | None:
    """Elect the first assigned replica if it is live and in the ISR. The election does not change the ISR.

    Kafka: `#preferredReplicaPartitionLeaderElection`.
    """
    if assignment and assignment[0] in live and assignment[0] in isr:
        return Elected(assignment[0], tuple(isr))
    return None


def controlled_shutdown_partition_leader_election(
    order: Sequence[int], isr: Sequence[int], live: Collection[int], shutting_down: Collection[int]
) -> Elected | None:
    """Elect the first live ISR member in a given order that is not shutting down (`#controlledShutdownPartitionLeaderElection`).

    Brokers that are shutting down leave the ISR. `live` includes brokers that are shutting down, because they are still running.
    """
    for replica in order:
        if replica in live and replica in isr and replica not in shutting_down:
            return Elected(replica, tuple(member for member in isr if member not in shutting_down))
    return None


def imbalance_ratio(preferring: int, led_elsewhere: int) -> float:
    """Return the fraction of a broker's preferred partitions that other brokers lead.

    Kafka: `KafkaController#checkAndTriggerAutoLeaderRebalance`.
    """
    return led_elsewhere / preferring if preferring else 0.0
