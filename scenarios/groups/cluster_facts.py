"""The answers of a simulated cluster's brokers to `kafka-consumer-groups`.

A broker that is down or paused does not answer. The host of a broker is its name, with port 9092; the host of each client is 127.0.0.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs

from core.kafka.broker.partition import Partition
from core.kafka.group_coordinator.classic_group.group_state import GroupState
from core.kafka.group_coordinator.consumer_group.consumer_group import ConsumerGroup
from core.kafka.group_coordinator.group_metadata import GroupMetadata
from core.kafka.ids import NO_OFFSET, TopicPartition, broker_address
from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC, partition_for
from core.lab.cluster import Cluster
from scenarios.groups.facts import CONSUMER, Brokers, Committed, Group, Member
from scenarios.tools.transactions import answering_brokers

PORT: Final = 9092
"""The port of each broker."""

DEFAULT_ASSIGNOR: Final = "uniform"
"""The assignor of a group whose members do not request a specific assignor."""

CLIENT_HOST: Final = "/127.0.0.1"
"""The network address that the tool prints for each client."""


@attrs.frozen
class Coordinators:
    """The groups that the coordinators of a cluster know.

    Attributes:
        groups: the groups, keyed by name.
        partitions: the number of partitions of `__consumer_offsets`; 0 if the topic does not exist.
        answering: the partitions of `__consumer_offsets` whose coordinator answers.
    """

    groups: dict[str, Group]
    partitions: int
    answering: frozenset[int]

    def coordinates(self, group: str) -> bool:
        """Whether a coordinator answers for a group. If `__consumer_offsets` does not exist yet, the tool causes a broker to create it."""
        return not self.partitions or partition_for(group, self.partitions) in self.answering


def coordinators_of(cluster: Cluster) -> Coordinators:
    """Return the groups that the coordinators know. Only the leader of a partition of `__consumer_offsets` coordinates its groups."""
    known = cluster.controller.registry.partitions
    brokers = {broker.id: broker for broker in answering_brokers(cluster)}
    groups: dict[str, Group] = {}
    answering = []
    numbers = sorted(tp.partition for tp in known if tp.topic == GROUP_METADATA_TOPIC)
    for number in numbers:
        leader = brokers.get(known[TopicPartition(GROUP_METADATA_TOPIC, number)].leader)
        cache = None if leader is None else leader.groups.groups.caches.get(number)
        if leader is not None and cache is not None:
            answering.append(number)
            groups.update({name: _group(group, leader.id) for name, group in cache.groups.items()})
    return Coordinators(groups, len(numbers), frozenset(answering))


def _group(metadata: GroupMetadata, coordinator: int) -> Group:
    """Return a group as its coordinator describes it. The result contains the assignments and the assignor only if the group is Stable."""
    if metadata.consumer is not None:
        return _consumer_group(metadata, metadata.consumer, coordinator)
    classic = metadata.classic
    stable = classic.state is GroupState.STABLE
    members = tuple(
        Member(member.member_id, member.client, CLIENT_HOST, member.assignment if stable else (), member.instance_id)
        for member in classic.members.values()
    )
    return Group(
        metadata.name,
        classic.state.value,
        f"{broker_address(coordinator)}:{PORT}",
        coordinator,
        assignor=classic.protocol if stable else "",
        members=members,
        offsets=_offsets(metadata),
    )


def _consumer_group(metadata: GroupMetadata, group: ConsumerGroup, coordinator: int) -> Group:
    """Return the facts about a group that uses the consumer protocol. Each member has the partitions that it owns, and its part of the
    target assignment."""
    members = tuple(
        Member(
            member.member_id, member.client, CLIENT_HOST, member.owned(), member.instance_id, member.epoch, group.assignment_epoch,
            group.target.get(member.member_id, ()), member.classic is None,
        )
        for member in group.members.values()
    )  # fmt: skip
    assignor = next((member.assignor for member in group.members.values() if member.assignor), DEFAULT_ASSIGNOR)
    return Group(
        metadata.name,
        group.state().value,
        f"{broker_address(coordinator)}:{PORT}",
        coordinator,
        CONSUMER,
        assignor,
        members,
        _offsets(metadata),
        group.epoch,
        group.assignment_epoch,
    )


def _offsets(metadata: GroupMetadata) -> dict[TopicPartition, Committed]:
    return {tp: Committed(stored.committed.offset, stored.committed.leader_epoch) for tp, stored in metadata.offsets.items()}


def brokers_of(cluster: Cluster, tps: Iterable[TopicPartition], moment: int | None = None) -> Brokers:
    """Return the answers of partition leaders to ListOffsets: the high watermark, the log start offset, and the offset at a given time in
    µs.
    """
    ends: dict[TopicPartition, int | None] = {}
    starts: dict[TopicPartition, int] = {}
    at_time: dict[TopicPartition, int] = {}
    for tp in tps:
        partition = leader_of(cluster, tp)
        ends[tp] = None if partition is None else partition.log.high_watermark
        if partition is not None:
            starts[tp] = partition.log.log_start
            found = NO_OFFSET if moment is None else partition.log.offset_for_timestamp(moment)
            if 0 <= found < partition.log.high_watermark:
                at_time[tp] = found
    return Brokers(ends, starts, at_time)


def leader_of(cluster: Cluster, tp: TopicPartition) -> Partition | None:
    """Return the leader's replica of a partition; None if no leader answers."""
    registration = cluster.controller.registry.partitions.get(tp)
    if registration is None:
        return None
    leader = next((broker for broker in answering_brokers(cluster) if broker.id == registration.leader), None)
    partition = None if leader is None else leader.partitions.get(tp)
    return partition if partition is not None and partition.is_leader else None


def subscribed_topics(cluster: Cluster, name: str) -> frozenset[str]:
    """Return the topics to which the members of a group subscribe, as its coordinator knows them."""
    for broker in answering_brokers(cluster):
        for cache in broker.groups.groups.caches.values():
            metadata = cache.groups.get(name)
            if metadata is not None:
                topics = metadata.consumer.subscribers if metadata.consumer is not None else metadata.classic.subscribed_topics()
                return frozenset(topics or ())
    return frozenset()
