"""What a change of a setting would do to partitions now, by the rules of `core.kafka.health`."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import NamedTuple

from core.kafka.health import could_elect_uncleanly, effective_min_isr, is_at_min_isr, is_offline, is_under_min_isr
from core.lab.views.view import PartitionView


class MinIsrChange(NamedTuple):
    """Of the partitions that are led: how many would refuse writes with acks=all, and how many would with one fewer in the ISR."""

    led: int
    refused: int
    at_min: int


def with_min_isr(partitions: Iterable[PartitionView], min_insync_replicas: int, *, capped: bool) -> MinIsrChange:
    """What would be if min.insync.replicas had that value for these partitions; `capped`: since 3.7."""
    led = refused = at_min = 0
    for partition in partitions:
        min_isr = effective_min_isr(min_insync_replicas, len(partition.replicas), capped=capped)
        led += not is_offline(partition)
        refused += is_under_min_isr(partition, min_isr)
        at_min += is_at_min_isr(partition, min_isr)
    return MinIsrChange(led, refused, at_min)


class UncleanChange(NamedTuple):
    """How many partitions an unclean election would give a leader, and how many records that only dead replicas hold would go."""

    elected: int
    lacking: int


def with_unclean_election(partitions: Iterable[PartitionView], up: Container[int]) -> UncleanChange:
    """What would be if unclean.leader.election.enable were true for these partitions; `up`: the brokers that are."""
    waiting = [partition for partition in partitions if could_elect_uncleanly(partition, up)]
    return UncleanChange(len(waiting), sum(map(only_on_the_dead, waiting)))


def only_on_the_dead(partition: PartitionView) -> int:
    """Records at the end of its longest log that no replica has whose process runs."""
    return max((copy.leo for copy in partition.copies), default=0) - max((copy.leo for copy in partition.copies if copy.alive), default=0)
