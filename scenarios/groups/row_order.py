"""The order of members and partitions in the output of `kafka-consumer-groups`, as recordings of real clusters show it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from core.kafka.ids import TopicPartition
from core.kafka.release import GroupsTool
from core.kafka.transaction.transaction_log import java_hash
from scenarios.describe.java_hash_table import hash_order, partition_hash
from scenarios.describe.scala_hash_map import scala_hash_order, scala_table_order
from scenarios.groups.facts import CONSUMER, Group, Member

COORDINATOR_IN_JAVA: Final = GroupsTool.EPOCHS
"""The first version of the tool from a release whose group coordinator is written in Java (4.0)."""


def members_in_order(tool: GroupsTool, group: Group) -> list[Member]:
    """Return the members as the coordinator lists them.

    The coordinator lists the members in the order of its hash table of member IDs. For groups of the consumer protocol, Kafka's order is
    not known; isrlab uses the order in which the members joined.
    """
    if group.kind == CONSUMER:
        return list(group.members)
    order = hash_order if tool >= COORDINATOR_IN_JAVA else scala_table_order
    return order(group.members, lambda member: java_hash(member.member_id))


def by_number_of_partitions(members: Iterable[Member]) -> list[Member]:
    """Return the members that own partitions. The members with the most partitions come first."""
    return sorted((member for member in members if member.assignment), key=lambda member: -len(member.assignment))


def owned_in_order(tool: GroupsTool, tps: Collection[TopicPartition]) -> list[TopicPartition]:
    """Return the partitions of one member in the order of their rows."""
    if tool >= GroupsTool.SORTED:
        return sorted(tps)
    mixed = hash_order(_by_topic(tps), partition_hash)
    if tool >= GroupsTool.JAVA:
        return mixed
    return scala_hash_order(sorted(mixed, key=lambda tp: tp.partition), partition_hash)


def unowned_in_order(tool: GroupsTool, tps: Collection[TopicPartition]) -> list[TopicPartition]:
    """Return the partitions that have no owner, in the order of their rows."""
    if tool >= GroupsTool.SORTED:
        return sorted(tps)
    return hash_order(_by_topic(tps) if tool >= GroupsTool.JAVA else sorted(tps), partition_hash)


def groups_in_hash_order(names: Iterable[str]) -> list[str]:
    """Return groups in the order in which `kafka-consumer-groups --list` prints them."""
    return hash_order(sorted(names), java_hash)


def _by_topic(tps: Collection[TopicPartition]) -> list[TopicPartition]:
    """Return partitions in the order in which Kafka's messages list them: the topics in the iteration order of a Java hash
    map, and the partitions of each topic in ascending order.
    """
    topics = hash_order(sorted({tp.topic for tp in tps}), java_hash)
    return sorted(tps, key=lambda tp: (topics.index(tp.topic), tp.partition))
