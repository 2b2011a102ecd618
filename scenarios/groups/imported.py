"""Adds the groups in the output of `kafka-consumer-groups --describe` to a cluster that was built from the output of `kafka-topics
--describe`.

The log end offsets and the committed offsets become the state of the cluster at time 0. The members become consumers that join at time 0. A
note reports each fact that this module inferred, and each part of the imported output that the cluster cannot reproduce.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from core.kafka.clients.group_member.assignors import ASSIGNORS, assignors_of
from core.kafka.ids import CONTROLLER, NO_EPOCH, ZOOKEEPER, TopicPartition
from core.kafka.release import Release
from core.kafka.topic_spec import LogSpec, PartitionSpec, TopicSpec
from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC, partition_for
from core.lab.acts import JoinGroup
from core.lab.spec import ClusterSpec, GroupSpec
from scenarios.describe.lines import shown
from scenarios.groups.described import GroupsError, GroupsImport
from scenarios.groups.facts import CONSUMER, INACTIVE, REBALANCING, Committed, Group, Member
from scenarios.groups.parse import MAX_NOTES
from scenarios.groups.subscriptions import subscriptions

OFFSETS_PARTITIONS: Final = 50
"""The number of partitions of `__consumer_offsets` if the output of `kafka-topics` doesn't contain this topic
(offsets.topic.num.partitions).
"""

OFFSETS_REPLICAS: Final = 3
"""The number of replicas of `__consumer_offsets` if the output of `kafka-topics` doesn't contain this topic and the cluster has enough
brokers (offsets.topic.replication.factor).
"""

_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9._-]")
_RANDOM_ID: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{21}")
_NAMED: Final = 8


@attrs.frozen
class WithGroups:
    """A cluster with its groups and the acts that start their members.

    Attributes:
        spec: the cluster.
        joins: the acts that start the members.
        notes: notes about inferred facts and about omitted parts of the imported output.
    """

    spec: ClusterSpec
    joins: tuple[JoinGroup, ...]
    notes: tuple[str, ...]


def add_groups(spec: ClusterSpec, imported: GroupsImport, release: Release, *, logs_known: bool = False) -> WithGroups:
    """Return the cluster with the groups.

    Args:
        spec: the cluster, as the output of `kafka-topics` describes it.
        imported: the result of `parse_groups`; its notes are not repeated in the returned notes.
        release: the release under which the cluster is to run.
        logs_known: whether the cluster already has its logs. Otherwise, they follow from the log end offsets and the committed offsets.

    Raises:
        GroupsError: the release has no groups, or the cluster with the groups is not valid.
    """
    if not release.consumer_groups:
        raise GroupsError(f"{imported.source}: release {release.name} has no group coordinator; use 0.9 or later")
    notes: list[str] = []
    groups = _known_partitions(spec, imported, notes)
    if not logs_known:
        spec = _with_logs(spec, groups, imported, notes)
    spec = _with_offsets_topic(spec, groups, notes)
    with_offsets = tuple(
        GroupSpec(group.name, tuple((tp, committed.offset, committed.leader_epoch) for tp, committed in sorted(group.offsets.items())))
        for group in _with_known_epochs(spec, groups)
        if group.offsets
    )
    spec = attrs.evolve(spec, groups=with_offsets)
    try:
        spec.check()
    except ValueError as problem:
        raise GroupsError(f"{imported.source}: {problem}") from None
    return WithGroups(spec, tuple(_joins(spec, groups, release, notes)), tuple(notes))


def _known_partitions(spec: ClusterSpec, imported: GroupsImport, notes: list[str]) -> list[Group]:
    """Return the groups, but leave out the partitions that the cluster does not have."""
    counts = {topic.name: topic.count for topic in spec.topics}
    unknown: dict[str, list[str]] = {}
    for (_, tp), place in imported.places.items():
        if tp.partition >= counts.get(tp.topic, 0):
            unknown.setdefault(f"topic {tp.topic}" if tp.topic not in counts else f"partition {tp}", []).append(place)
    for name, places in list(unknown.items())[:MAX_NOTES]:
        more = f" (and {len(places) - 1} more rows)" if len(places) > 1 else ""
        notes.append(f"{places[0]}: the output of kafka-topics has no {name}, so the row is ignored{more}")
    if len(unknown) > MAX_NOTES:
        notes.append(f"{imported.source}: and {len(unknown) - MAX_NOTES:,} more notes on unknown topics and partitions")

    def known(tps: Iterable[TopicPartition]) -> tuple[TopicPartition, ...]:
        return tuple(tp for tp in tps if tp.partition < counts.get(tp.topic, 0))

    return [
        attrs.evolve(
            group,
            members=tuple(attrs.evolve(member, assignment=known(member.assignment)) for member in group.members),
            offsets={tp: group.offsets[tp] for tp in known(group.offsets)},
        )
        for group in imported.groups
    ]


# --- the logs --------------------------------------------------------------------------------------------------------


def _with_logs(spec: ClusterSpec, groups: Sequence[Group], imported: GroupsImport, notes: list[str]) -> ClusterSpec:
    """Return the cluster with records up to the log end offsets."""
    commits: dict[TopicPartition, list[Committed]] = {}
    for group in groups:
        for tp, committed in group.offsets.items():
            commits.setdefault(tp, []).append(committed)
    unknown = sorted(tp for tp in commits if tp not in imported.log_ends)
    if unknown:
        notes.append(
            f"the imported output has no LOG-END-OFFSET for {_some(map(str, unknown))}; the largest committed offset takes its place"
        )
    behind: list[str] = []
    topics = []
    up = [broker.id for broker in spec.brokers if broker.up]
    for topic in spec.topics:
        tps = [TopicPartition(topic.name, number) for number in range(topic.count)]
        if topic.name == GROUP_METADATA_TOPIC or not any(tp in commits or tp in imported.log_ends for tp in tps):
            topics.append(topic)
            continue
        partitions = topic.assignment or tuple(_placed(spec, topic, number) for number in range(topic.count))
        filled = []
        for tp, partition in zip(tps, partitions, strict=True):
            known = imported.log_ends.get(tp)
            end = known.offset if known is not None else max((each.offset for each in commits.get(tp, ())), default=0)
            isr = [replica for replica in partition.replicas if replica in up] if partition.isr is None else partition.isr
            if end and len(isr) < len(partition.replicas):
                behind.append(str(tp))
            filled.append(_filled(partition, isr, end, commits.get(tp, [])))
        topics.append(attrs.evolve(topic, assignment=tuple(filled)))
    if behind:
        notes.append(
            f"the imported output doesn't say how many records a replica outside of the Isr lacks; such a replica starts with one record fewer: {_some(behind)}"
        )
    return attrs.evolve(spec, topics=tuple(topics))


def _placed(spec: ClusterSpec, topic: TopicSpec, number: int) -> PartitionSpec:
    """Return a placement for a partition whose row is missing, because `kafka-topics` printed only the summary line of its topic."""
    brokers = [broker.id for broker in spec.brokers]
    return PartitionSpec(tuple(brokers[(number + place) % len(brokers)] for place in range(topic.replication_factor)))


def _filled(partition: PartitionSpec, isr: Sequence[int], end: int, commits: Sequence[Committed]) -> PartitionSpec:
    """Return a partition whose log ends at the given offset and has the leader epochs of the given committed offsets."""
    epochs, leader_epoch = _epochs(end, commits)
    logs = []
    for replica in partition.replicas:
        leo = end if replica in isr else max(end - 1, 0)
        if leo:
            logs.append(LogSpec(replica, leo, leo, 0, tuple(entry for entry in epochs if entry[1] < leo)))
    return attrs.evolve(partition, leader_epoch=leader_epoch, logs=tuple(logs))


def _epochs(end: int, commits: Iterable[Committed]) -> tuple[tuple[tuple[int, int], ...], int]:
    """Return the leader epochs of a log with their start offsets, and the current leader epoch.

    A committed offset contains the leader epoch of the record before it. If the committed offset is beyond the log end, a later leader has
    truncated the log.
    """
    entries = [(0, 0)]
    latest = reached = 0
    for offset, epoch in sorted(((each.offset, each.leader_epoch) for each in commits), key=lambda each: (each[1], each[0])):
        if epoch == NO_EPOCH:
            continue
        latest = max(latest, epoch + (offset > end))
        if offset > end:
            continue
        if epoch > entries[-1][0] and (reached > entries[-1][1] or not reached):
            entries = [*entries, (epoch, reached)] if reached else [(epoch, 0)]
        reached = max(reached, offset)
    return tuple(entries), max(latest, entries[-1][0])


def _with_known_epochs(spec: ClusterSpec, groups: Sequence[Group]) -> list[Group]:
    """Return the groups, but without the committed leader epochs that contradict the log, so that consumers don't check these epochs."""
    logs = {
        TopicPartition(topic.name, number): partition.logs[0]
        for topic in spec.topics
        for number, partition in enumerate(topic.assignment)
        if partition.logs
    }

    def fits(tp: TopicPartition, committed: Committed) -> bool:
        ends = {} if tp not in logs else {epoch: end for _, end, epoch in logs[tp].epoch_ranges()}
        return committed.offset <= ends.get(committed.leader_epoch, -1) or committed.offset > (logs[tp].leo if tp in logs else 0)

    return [
        attrs.evolve(
            group,
            offsets={tp: each if fits(tp, each) else Committed(each.offset) for tp, each in group.offsets.items()},
        )
        for group in groups
    ]


# --- the topic of the offsets ----------------------------------------------------------------------------------------


def _with_offsets_topic(spec: ClusterSpec, groups: Sequence[Group], notes: list[str]) -> ClusterSpec:
    """Return the cluster with the topic `__consumer_offsets`. If the imported output names the coordinator of a group, that broker leads
    the group's partition of `__consumer_offsets`.
    """
    if any(topic.name == GROUP_METADATA_TOPIC for topic in spec.topics):
        return spec
    brokers = [broker.id for broker in spec.brokers]
    up = {broker.id for broker in spec.brokers if broker.up}
    first = {partition_for(group.name, OFFSETS_PARTITIONS): group.coordinator_id for group in groups if group.coordinator_id in up}
    replicas = min(OFFSETS_REPLICAS, len(brokers))
    placed = []
    for number in range(OFFSETS_PARTITIONS) if first else ():
        start = brokers.index(first.get(number, brokers[number % len(brokers)]))
        placed.append(PartitionSpec(tuple(brokers[(start + place) % len(brokers)] for place in range(replicas))))
    config = (("compression.type", "producer"), ("cleanup.policy", "compact"), ("segment.bytes", "104857600"))
    topic = TopicSpec(GROUP_METADATA_TOPIC, OFFSETS_PARTITIONS, replicas, tuple(placed), config)
    notes.append(f"the output of kafka-topics has no {GROUP_METADATA_TOPIC}; the topic starts with {OFFSETS_PARTITIONS} partitions")
    return attrs.evolve(spec, topics=(*spec.topics, topic))


# --- the members -----------------------------------------------------------------------------------------------------


def _joins(spec: ClusterSpec, groups: Sequence[Group], release: Release, notes: list[str]) -> Iterable[JoinGroup]:
    taken: set[str] = set()
    renamed: list[str] = []
    counts = {topic.name: topic.count for topic in spec.topics}
    for group in groups:
        if group.state in REBALANCING:
            notes.append(f"group {shown(group.name)} is rebalancing ({group.state}); at the start, its members join again")
        if not group.members and not group.offsets and group.state not in INACTIVE:
            notes.append(f"group {shown(group.name)} has neither members nor offsets in the imported output; it is not imported")
        members = tuple(attrs.evolve(member, client=_client_name(member, taken, renamed)) for member in group.members)
        assignors = _assignors(group, release, notes) if members else ()
        topics = subscriptions(attrs.evolve(group, members=members), assignors, counts, release, notes)
        for member in members:
            if not topics[member.member_id]:
                notes.append(
                    f"member {member.client} of group {shown(group.name)} is not imported: "
                    f"the imported output doesn't say which topics the member reads"
                )
                continue
            yield _join(group, member, topics[member.member_id], assignors, release)
    if renamed:
        notes.append(f"clients whose names are already taken or not valid in isrlab have new names: {_some(renamed)}")


def _client_name(member: Member, taken: set[str], renamed: list[str]) -> str:
    """Return a client name that no other node of the cluster has."""
    name = _NOT_IN_NAMES.sub("-", member.client)[:90]
    if not name[:1].isalpha() or name in (CONTROLLER, ZOOKEEPER) or (name[0] in "bc" and name[1:].isdecimal()):
        name = f"client-{name}"
    free, number = name, 2
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    taken.add(free)
    if free != member.client:
        renamed.append(f"{shown(member.client)} is {free}")
    return free


def _assignors(group: Group, release: Release, notes: list[str]) -> tuple[str, ...]:
    """Return the assignors of the members of a classic group, or the assignor of the coordinator; empty if the group uses the default
    assignor.
    """
    known = ("uniform", "range") if _uses_consumer_protocol(group, release) else assignors_of(release)
    if group.kind == CONSUMER and not release.consumer_protocol:
        notes.append(f"release {release.name} has no consumer protocol; the members of group {shown(group.name)} use the classic protocol")
    if not group.assignor or group.assignor in known:
        return (group.assignor,) if group.assignor else ()
    notes.append(
        f"isrlab has no assignor {shown(group.assignor)} for release {release.name}; "
        f"the members of group {shown(group.name)} use the default"
    )
    return ()


def _uses_consumer_protocol(group: Group, release: Release) -> bool:
    return group.kind == CONSUMER and release.consumer_protocol


def _join(group: Group, member: Member, topics: tuple[str, ...], assignors: tuple[str, ...], release: Release) -> JoinGroup:
    static = member.instance_id if release.static_members and member.instance_id else None
    if _uses_consumer_protocol(group, release) and member.upgraded is not False:
        return JoinGroup(
            topics, member.client, group.name, instance_id=static, reset="latest", protocol="consumer",
            remote_assignor=assignors[0] if assignors else None,
            member_id=member.member_id if _RANDOM_ID.fullmatch(member.member_id) else None,
        )  # fmt: skip
    classic = tuple(name for name in assignors if name in ASSIGNORS)
    return JoinGroup(topics, member.client, group.name, classic, static, reset="latest")


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:_NAMED]) + (f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else "")
