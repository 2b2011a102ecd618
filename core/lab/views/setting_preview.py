"""Previews of the effect that changing a setting now would have on partitions, according to the rules of `core.kafka.health`."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import NamedTuple

from core.kafka.health import could_elect_uncleanly, effective_min_isr, is_at_min_isr, is_offline, is_under_min_isr
from core.lab.views.partition_view import PartitionView


class MinIsrChange(NamedTuple):
    """The effect of changing min.insync.replicas to a given value.

    Attributes:
        led: the number of partitions that have a leader.
        refused: the number of partitions with a leader that would refuse writes with acks=all.
        at_min: the number of partitions with a leader that would refuse writes with acks=all if the ISR lost one more member.
    """

    led: int
    refused: int
    at_min: int


def min_isr_change(partitions: Iterable[PartitionView], min_insync_replicas: int, *, capped: bool) -> MinIsrChange:
    """Return the effect of setting min.insync.replicas to a value for the given partitions.

    Args:
        capped: whether the replication factor caps the value (since 3.7).
    """
    led = refused = at_min = 0
    for partition in partitions:
        min_isr = effective_min_isr(min_insync_replicas, len(partition.replicas), capped=capped)
        led += not is_offline(partition)
        refused += is_under_min_isr(partition, min_isr)
        at_min += is_at_min_isr(partition, min_isr)
    return MinIsrChange(led, refused, at_min)


class UncleanChange(NamedTuple):
    """The effect of enabling unclean leader election.

    Attributes:
        elected: the number of partitions that would be given a leader.
        lacking: the number of records that would be lost because only stopped brokers hold them.
    """

    elected: int
    lacking: int


def unclean_change(partitions: Iterable[PartitionView], up: Container[int]) -> UncleanChange:
    """Return the effect of setting unclean.leader.election.enable to true for the given partitions.

    Args:
        up: the brokers that are up.
    """
    waiting = [partition for partition in partitions if could_elect_uncleanly(partition, up)]
    return UncleanChange(len(waiting), sum(map(only_on_stopped_brokers, waiting)))


def only_on_stopped_brokers(partition: PartitionView) -> int:
    """Return how many records at the end of the longest log are missing from every replica with a running process."""
    return max((replica.leo for replica in partition.replica_views), default=0) - max(
        (replica.leo for replica in partition.replica_views if replica.alive), default=0
    )
