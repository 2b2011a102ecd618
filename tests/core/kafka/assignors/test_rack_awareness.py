"""Racks of members and partitions."""

from __future__ import annotations

from core.kafka.assignors.rack_awareness import RackInfo
from core.kafka.assignors.subscription import Member, TopicMetadata
from core.kafka.ids import TopicPartition


def test_partitions_are_sorted_by_the_number_of_members_in_their_racks() -> None:
    """`RackInfo#sortPartitionsByRackConsumers`: two racks with two members each come after one rack with three members."""
    members = [Member(f"m{number}", ("t",), rack=rack) for number, rack in enumerate("aabbccc")]
    racks = RackInfo({"t": TopicMetadata(2, (frozenset("ab"), frozenset("c")))}, members)
    first, second = TopicPartition("t", 0), TopicPartition("t", 1)
    assert racks.by_consumers([first, second]) == [second, first]
