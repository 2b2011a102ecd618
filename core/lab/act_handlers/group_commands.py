"""Acts of an administrator on a group: resetting its offsets, deleting its offsets, or deleting the group (`kafka-consumer-groups`)."""

from __future__ import annotations

import re
from typing import Final

from core.kafka.broker.broker_state import BrokerState
from core.kafka.broker.partition import Partition
from core.kafka.clients.group_member.group_command import GroupCommand, Request
from core.kafka.clients.group_member.offset_reset import (
    BY_DURATION,
    SHIFT_BY,
    TO_CURRENT,
    TO_DATETIME,
    TO_EARLIEST,
    TO_LATEST,
    TO_OFFSET,
    LogBounds,
    Target,
    moment,
    moment_before,
    new_offset,
)
from core.kafka.group_coordinator.classic_group.group_state import GroupState
from core.kafka.group_coordinator.group_metadata import GroupMetadata
from core.kafka.group_coordinator.group_requests import NOT_A_MEMBER, DeleteGroupsRequest, OffsetCommitRequest, OffsetDeleteRequest
from core.kafka.ids import NO_EPOCH, TopicPartition
from core.kafka.release import GroupsTool
from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC
from core.lab import acts
from core.lab.act_handlers import find
from core.lab.cluster_nodes import ClusterNodes
from core.sim.errors import ActRefused

WORDS: Final = {"earliest": TO_EARLIEST, "latest": TO_LATEST, "current": TO_CURRENT}
"""The reset targets that are single words and take no value."""

NUMBER: Final = re.compile(r"[+-]?[0-9]{1,18}")
"""A pattern that matches a number for `shift-by`, or an offset."""


def _leader(cluster: ClusterNodes, tp: TopicPartition) -> Partition | None:
    """Return the leader's replica of a partition; None if no leader answers."""
    registration = cluster.controller.registry.partitions.get(tp)
    broker = None if registration is None else cluster.brokers.get(registration.leader)
    if broker is None or broker.context.state is BrokerState.STOPPED or broker.address in cluster.paused:
        return None
    partition = broker.partitions.get(tp)
    return partition if partition is not None and partition.is_leader else None


def _group(cluster: ClusterNodes, name: str) -> GroupMetadata | None:
    """Return a group as its coordinator knows it; None if it does not exist, or if no coordinator answers."""
    for tp in cluster.controller.registry.partitions:
        if tp.topic == GROUP_METADATA_TOPIC and (leader := _leader(cluster, tp)) is not None:
            cache = cluster.brokers[leader.broker.id].groups.groups.caches.get(tp.partition)
            if cache is not None and name in cache.groups:
                return cache.groups[name]
    return None


def _partitions(cluster: ClusterNodes, topics: tuple[str, ...], partition: int | None) -> tuple[TopicPartition, ...]:
    """Return the partitions of topics, or one partition of a topic.

    Raises:
        ActRefused: a topic or the partition does not exist.
    """
    known = cluster.controller.registry.partitions
    if partition is not None and len(topics) != 1:
        raise ActRefused("'partition' needs exactly one topic; name it in 'topics'")
    found: list[TopicPartition] = []
    for name in dict.fromkeys(topics):
        find.topic(cluster, name)
        found += sorted(tp for tp in known if tp.topic == name and partition in (None, tp.partition))
    if partition is not None and not found:
        raise ActRefused(f"there is no partition {topics[0]}-{partition}")
    return tuple(found)


def _target(cluster: ClusterNodes, act: acts.ResetOffsets) -> Target:
    """Return the target that an act specifies for an offset reset.

    Raises:
        ActRefused: the act does not have exactly one target, or the target is not valid.
    """
    if sum(each is not None for each in (act.offset, act.shift_by, act.to_datetime, act.by_duration)) != 1:
        raise ActRefused("give one of offset, shift-by, to-datetime, and by-duration")
    try:
        if act.to_datetime is not None:
            return Target(TO_DATETIME, moment(act.to_datetime))
        if act.by_duration is not None:
            return Target(BY_DURATION, moment_before(cluster.now, act.by_duration))
    except ValueError as wrong:
        raise ActRefused(str(wrong)) from None
    if act.shift_by is not None:
        if not NUMBER.fullmatch(act.shift_by):
            raise ActRefused(f"shift-by must be a whole number such as -10, not '{act.shift_by[:40]}'")
        return Target(SHIFT_BY, int(act.shift_by))
    to = act.offset or ""
    if to in WORDS:
        return Target(WORDS[to])
    if not NUMBER.fullmatch(to):
        raise ActRefused(f"offset must be earliest, latest, current, or an offset, not '{to[:40]}'")
    return Target(TO_OFFSET, int(to))


def _check(cluster: ClusterNodes) -> None:
    if cluster.by_hand:
        raise ActRefused("commands on groups need time to pass; use a cluster with 'pace: timeline'")
    if not any(tp.topic == GROUP_METADATA_TOPIC for tp in cluster.controller.registry.partitions):
        raise ActRefused("there are no groups yet: no consumer of a group has been started")


def _state(group: GroupMetadata) -> str:
    return group.classic.state.value if group.consumer is None else group.consumer.state().value


def _run(cluster: ClusterNodes, request: Request, verb: str) -> None:
    name = f"{verb}-{request.group}"
    command = GroupCommand(name, request, cluster.clients.context())
    former = cluster.nodes.get(name)
    if former is not None:
        command.incarnation = former.incarnation + 1
    cluster.nodes[name] = command
    command.start()


def _reset_offsets(cluster: ClusterNodes, act: acts.ResetOffsets) -> find.CheckThenDo:
    """Commit offsets as `kafka-consumer-groups` does: first read the state of the group and of the logs, and then commit."""
    if not cluster.release.groups_tool_resets:
        raise ActRefused(f"kafka-consumer-groups of {cluster.release.name} cannot reset offsets; use 0.11 or later (KIP-122)")
    _check(cluster)
    target, group = _target(cluster, act), _group(cluster, act.group)
    if group is not None and _state(group) != GroupState.EMPTY.value:
        raise ActRefused(f"Assignments can only be reset if the group '{act.group}' is inactive, but the current state is {_state(group)}.")
    committed = {} if group is None else {tp: stored.committed.offset for tp, stored in group.offsets.items()}
    if act.topics or act.partition is not None:
        tps = _partitions(cluster, act.topics, act.partition)
    else:
        topics = {tp.topic for tp in committed}
        tps = tuple(sorted(tp for tp in cluster.controller.registry.partitions if tp.topic in topics))
        if not tps:
            raise ActRefused(f"group {act.group} has no committed offset; name topics")
    offsets = []
    for tp in tps:
        leader = _leader(cluster, tp)
        if leader is None:
            raise ActRefused(f"{tp} has no leader that answers")
        log = leader.log
        found = log.offset_for_timestamp(target.number) if target.option in (TO_DATETIME, BY_DURATION) else -1
        bounds = LogBounds(log.log_start, log.high_watermark, found if found < log.high_watermark else -1)
        try:
            offsets.append((tp, new_offset(target, tp, bounds, committed.get(tp), _ignore), NO_EPOCH))
        except ValueError as wrong:
            raise ActRefused(str(wrong)) from None
    yield
    _run(cluster, OffsetCommitRequest(0, f"reset-offsets-{act.group}", act.group, NOT_A_MEMBER, tuple(offsets)), "reset-offsets")


def _ignore(_: str) -> None:
    """Ignore a warning about an offset that is outside the log."""


def _delete_offsets(cluster: ClusterNodes, act: acts.DeleteOffsets) -> find.CheckThenDo:
    if cluster.release.groups_tool < GroupsTool.GROUP_COLUMN:
        raise ActRefused(f"kafka-consumer-groups of {cluster.release.name} cannot delete offsets; use 2.4 or later (KIP-496)")
    _check(cluster)
    tps = _partitions(cluster, act.topics, act.partition)
    if not tps:
        raise ActRefused("name at least 1 topic")
    yield
    _run(cluster, OffsetDeleteRequest(0, act.group, tps), "delete-offsets")


def _delete_group(cluster: ClusterNodes, act: acts.DeleteGroup) -> find.CheckThenDo:
    if cluster.release.groups_tool < GroupsTool.VIEWS:
        raise ActRefused(f"kafka-consumer-groups of {cluster.release.name} cannot delete groups; use 1.1 or later (KIP-229)")
    _check(cluster)
    yield
    _run(cluster, DeleteGroupsRequest(0, act.group), "delete-group")


HANDLERS: Final[find.Handlers] = {
    acts.ResetOffsets: _reset_offsets,
    acts.DeleteOffsets: _delete_offsets,
    acts.DeleteGroup: _delete_group,
}
