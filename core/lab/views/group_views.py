"""The views of groups, of the consumers in them, and of what they have processed."""

from __future__ import annotations

from core.kafka.clients.group_member.group_member import GroupMember
from core.kafka.group_coordinator.consumer_group.consumer_group import ConsumerGroup
from core.kafka.group_coordinator.group_metadata import GroupMetadata
from core.kafka.group_coordinator.group_metadata_manager import GroupCache
from core.kafka.ids import NO_LEADER, TopicPartition, broker_at
from core.lab.cluster_nodes import ClusterNodes
from core.lab.views.group_view import ConsumptionView, GroupMemberView, GroupView, MemberView


def group_views(cluster: ClusterNodes) -> tuple[GroupView, ...]:
    """Return the views of the groups, each as its newest coordinator knows it."""
    newest: dict[int, tuple[int, GroupCache]] = {}
    for broker in cluster.brokers.values():
        for number, cache in broker.groups.groups.caches.items():
            if number not in newest or newest[number][1].coordinator_epoch < cache.coordinator_epoch:
                newest[number] = (broker.id, cache)
    return tuple(_group_view(broker, group) for broker, cache in newest.values() for group in cache.groups.values())


def _group_view(broker: int, group: GroupMetadata) -> GroupView:
    classic = group.classic
    offsets = tuple((tp, stored.committed.offset) for tp, stored in group.offsets.items())
    pending = sum(len(each) for each in group.pending_transactional.values())
    if group.consumer is not None:
        return _consumer_group_view(broker, group.consumer, offsets, pending)
    return GroupView(
        group.name,
        broker,
        offsets,
        pending,
        classic.state.value,
        classic.generation,
        classic.protocol,
        classic.leader,
        tuple(
            GroupMemberView(member.member_id, member.instance_id, member.client, member.assignment) for member in classic.members.values()
        ),
    )


def _consumer_group_view(broker: int, group: ConsumerGroup, offsets: tuple[tuple[TopicPartition, int], ...], pending: int) -> GroupView:
    """Return the view of a group of the consumer protocol. In a group of the consumer protocol, the group epoch replaces the generation,
    and there is no leader.
    """
    members = tuple(
        GroupMemberView(member.member_id, member.instance_id, member.client, member.assigned) for member in group.members.values()
    )
    return GroupView(group.name, broker, offsets, pending, group.state().value, group.epoch, "", "", members)


def member_views(cluster: ClusterNodes) -> tuple[MemberView, ...]:
    """Return the views of all consumers that are members of groups."""
    return tuple(member_view(cluster, client) for client in cluster.clients.values() if isinstance(client, GroupMember))


def member_view(cluster: ClusterNodes, member: GroupMember) -> MemberView:
    """Return the view of one consumer."""
    coordinator = member.coordinator
    broker = broker_at(coordinator.calls.coordinator)
    membership = coordinator.membership
    return MemberView(
        member.name,
        member.does.group,
        member.does.topics,
        member.running,
        member.address in cluster.paused,
        member.phase.value,
        coordinator.state.value,
        membership.member_id,
        membership.generation,
        NO_LEADER if broker is None else broker,
        tuple(coordinator.owned),
        tuple((TopicPartition(topic, number), at) for topic, reader in member.readers.items() for number, at in reader.consumed.items()),
        member.processed,
        sum(each.end - each.start for each in member.batch),
    )


def consumption_views(cluster: ClusterNodes) -> tuple[ConsumptionView, ...]:
    """Return the progress of each group with members, by partition."""
    account = cluster.account
    return tuple(
        ConsumptionView(group, tp, *counts)
        for group in account.consumption.groups
        for tp, counts in account.consumption_counts(group).items()
    )
