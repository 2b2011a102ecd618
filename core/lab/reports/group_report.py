"""The groups of a cluster at one moment: which member has which partition, what is stalled, and until when.

`Cluster.group_report` makes the report. The report contains what `kafka-consumer-groups --describe` would show, and also what only the
simulation knows: what each consumer is doing, and which deadlines are running.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from core.kafka.broker.broker_state import BrokerState
from core.kafka.clients.group_member.group_member import GroupMember, Phase
from core.kafka.controller.quorum_controller import QuorumController
from core.kafka.group_coordinator.classic_group.group_state import GroupState
from core.kafka.health import PartitionStatus
from core.kafka.ids import NO_LEADER, NO_OFFSET, TopicPartition
from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC, partition_for
from core.lab.accounts.missed_records import SKIPS
from core.lab.views.partition_health import partition_health

if TYPE_CHECKING:
    from core.kafka.broker.broker import Broker
    from core.kafka.group_coordinator.classic_group.classic_group import ClassicGroup
    from core.kafka.group_coordinator.consumer_group.consumer_group import ConsumerGroup
    from core.kafka.group_coordinator.group_metadata import GroupMetadata
    from core.kafka.partition_registration import PartitionRegistration
    from core.lab.cluster_nodes import ClusterNodes

NEVER: Final = -1
"""The value that means that there is no deadline."""

UNKNOWN: Final = "unknown"
"""The state of a group whose coordinator does not answer."""


@attrs.frozen
class MemberReport:
    """A member of a group.

    Attributes:
        client: the client.id of the member.
        member_id: the member ID; empty if the coordinator does not know the client.
        doing: what the consumer is doing, such as `processing`, `dead`, or `frozen`.
        stalled: whether the member currently reads nothing from its partitions.
        until: the time at which the member continues, or at which the coordinator removes it, in µs; NEVER if there is no deadline.
        then: what happens at the time `until`.
        partitions: the partitions that the member owns according to the coordinator or, if no coordinator answers, according to the member
            itself.
    """

    client: str
    member_id: str
    doing: str
    stalled: bool
    until: int
    then: str
    partitions: tuple[TopicPartition, ...]


@attrs.frozen
class OwnedPartition:
    """A partition that a group reads.

    Attributes:
        tp: the topic and the number of the partition.
        owner: the client.id of the member that owns the partition; empty if no member owns it.
        committed: the committed offset; NO_OFFSET if there is none or if it is not known.
        log_end: the high watermark; NO_OFFSET if the partition has no leader that answers.
        last_stable: the last stable offset; NO_OFFSET if the partition has no leader that answers.
        stalled: why no member gets new records from the partition; empty if a member gets new records.
        until: the time at which the stall ends or is detected, in µs; NEVER if there is no deadline.
    """

    tp: TopicPartition
    owner: str
    committed: int
    log_end: int
    last_stable: int
    stalled: str
    until: int = NEVER

    @property
    def lag(self) -> int | None:
        """The high watermark minus the committed offset; None if either offset is unknown. The lag is negative if the log was truncated."""
        return None if NO_OFFSET in (self.committed, self.log_end) else self.log_end - self.committed


@attrs.frozen
class GroupReport:
    """One group.

    Attributes:
        name: the group ID.
        state: the state of the group, such as `Stable`; UNKNOWN without a coordinator.
        generation: the generation of a classic group, or the group epoch of a consumer group.
        kind: `classic` or `consumer`, the protocol of the group.
        assignor: the assignor; empty if there is none.
        coordinator: the broker that coordinates the group; NO_LEADER if no broker coordinates it.
        coordinator_partition: the partition of `__consumer_offsets` that stores the group.
        waits: what the whole group is waiting for; empty if the group is not waiting.
        until: the latest time at which the group stops waiting, in µs; NEVER if there is no deadline.
        members: the members of the group.
        partitions: the partitions that the group reads.
        skipped: the number of records that the group never gets, by reason (`core.lab.accounts.missed_records`), of the reasons with records.
        left_out: the number of records below the position at which the group began, which auto.offset.reset gave.
    """

    name: str
    state: str
    generation: int
    kind: str
    assignor: str
    coordinator: int
    coordinator_partition: int
    waits: str
    until: int
    members: tuple[MemberReport, ...]
    partitions: tuple[OwnedPartition, ...]
    skipped: tuple[tuple[str, int], ...] = ()
    left_out: int = 0

    @property
    def lag(self) -> int:
        """The sum of the lags that are known."""
        return sum(each.lag or 0 for each in self.partitions)

    @property
    def unknown_lags(self) -> int:
        """The number of partitions whose lag is not known, because they have no committed offset or no leader that answers."""
        return sum(each.lag is None for each in self.partitions)

    @property
    def without_owner(self) -> int:
        """The number of partitions that no member owns."""
        return sum(not each.owner for each in self.partitions)

    @property
    def stalled(self) -> int:
        """The number of partitions from which no member gets new records."""
        return sum(bool(each.stalled) for each in self.partitions)


def group_report(cluster: ClusterNodes) -> tuple[GroupReport, ...]:
    """Return the groups that a coordinator knows and the groups of running consumers, in alphabetical order."""
    count = sum(tp.topic == GROUP_METADATA_TOPIC for tp in cluster.controller.registry.partitions)
    known: dict[str, tuple[Broker, GroupMetadata]] = {}
    for number in range(count):
        broker = _coordinator(cluster, number)
        cache = None if broker is None else broker.groups.groups.caches.get(number)
        if broker is not None and cache is not None:
            known.update({name: (broker, group) for name, group in cache.groups.items()})
    clients = [client for client in cluster.clients.values() if isinstance(client, GroupMember)]
    names = sorted({*known, *(client.does.group for client in clients if client.running)})
    return tuple(_with_account(cluster, _group(cluster, name, max(count, 1), known.get(name), clients)) for name in names)


def _with_account(cluster: ClusterNodes, group: GroupReport) -> GroupReport:
    """Add to a report what the group never gets according to the durability account."""
    counts = cluster.account.consumption_counts(group.name).values()
    skipped = tuple((reason, total) for reason in SKIPS if (total := sum(getattr(each, reason) for each in counts)))
    return attrs.evolve(group, skipped=skipped, left_out=sum(each.left_out for each in counts))


def _coordinator(cluster: ClusterNodes, number: int) -> Broker | None:
    """Return the leader of a partition of `__consumer_offsets` if the leader is running."""
    registration = cluster.controller.registry.partitions.get(TopicPartition(GROUP_METADATA_TOPIC, number))
    broker = None if registration is None else cluster.brokers.get(registration.leader)
    return None if broker is None or broker.context.state is BrokerState.STOPPED or broker.address in cluster.paused else broker


def _group(
    cluster: ClusterNodes, name: str, count: int, known: tuple[Broker, GroupMetadata] | None, clients: list[GroupMember]
) -> GroupReport:
    number = partition_for(name, count)
    own = {client.name: client for client in clients if client.does.group == name}
    if known is None:
        return _without_coordinator(cluster, name, number, own)
    broker, group = known
    offsets = {tp: stored.committed.offset for tp, stored in group.offsets.items()}
    if group.consumer is not None:
        return _consumer_group(cluster, name, number, broker.id, group.consumer, offsets, own)
    return _classic_group(cluster, name, number, broker.id, group.classic, offsets, own)


def _without_coordinator(cluster: ClusterNodes, name: str, number: int, own: dict[str, GroupMember]) -> GroupReport:
    """Return what the consumers of a group know while no coordinator answers."""
    members = tuple(
        _member(cluster, client.name, "", tuple(client.coordinator.owned), client, NEVER) for client in own.values() if client.running
    )
    tp = TopicPartition(GROUP_METADATA_TOPIC, number)
    registration = cluster.controller.registry.partitions.get(tp)
    down = NO_LEADER if registration is None else registration.leader
    waits = f"has no coordinator: {tp} has no leader" if down == NO_LEADER else f"has no coordinator: b{down} is silent"
    partitions = _partitions(cluster, members, {}, own, rebalancing="", until=NEVER)
    return GroupReport(name, UNKNOWN, 0, "", "", NO_LEADER, number, waits, _noticed(cluster, down), members, partitions)


def _consumer_group(
    cluster: ClusterNodes,
    name: str,
    number: int,
    coordinator: int,
    group: ConsumerGroup,
    offsets: dict[TopicPartition, int],
    own: dict[str, GroupMember],
) -> GroupReport:
    """Return a group that uses the consumer protocol (KIP-848)."""
    members = tuple(
        _member(
            cluster,
            each.client,
            each.member_id,
            each.assigned,
            own.get(each.client),
            group.timers[each.member_id].deadline if each.member_id in group.timers else NEVER,
        )
        for each in group.members.values()
    )
    revoking = [each.client for each in group.members.values() if each.pending_revocation]
    late = [timer.revoked_by for timer in group.timers.values() if timer.revoked_by >= 0]
    waits = f"is waiting for {', '.join(revoking)} to give up partitions" if revoking else ""
    return GroupReport(
        name, group.state().value, group.epoch, "consumer", "", coordinator, number, waits, min(late, default=NEVER), members,
        _partitions(cluster, members, offsets, own, rebalancing="", until=NEVER),
    )  # fmt: skip


def _classic_group(
    cluster: ClusterNodes,
    name: str,
    number: int,
    coordinator: int,
    group: ClassicGroup,
    offsets: dict[TopicPartition, int],
    own: dict[str, GroupMember],
) -> GroupReport:
    """Return a group that uses the classic protocol."""
    members = tuple(
        _member(cluster, each.client, each.member_id, each.assignment, own.get(each.client), each.deadline)
        for each in group.members.values()
    )
    waits, until = "", NEVER
    if group.state is GroupState.PREPARING_REBALANCE:
        until = group.state_timestamp + group.rebalance_timeout()
        missing = [each.client for each in group.members.values() if each.join is None]
        if group.in_initial_delay:
            delay = cluster.settings.us("group.initial.rebalance.delay.ms", broker=coordinator)
            waits, until = "is waiting for more members", min(group.state_timestamp + delay, until)
        else:
            waits = f"is waiting for {', '.join(missing) or 'new members'} to join"
    elif group.state is GroupState.COMPLETING_REBALANCE:
        leader = group.members.get(group.leader)
        waits = f"is waiting for the assignment from {leader.client if leader else 'the leader'}"
        until = group.state_timestamp + group.rebalance_timeout()
    stopped = waits if group.protocol != "cooperative-sticky" else ""
    return GroupReport(
        name, group.state.value, group.generation, "classic", group.protocol, coordinator, number, waits, until, members,
        _partitions(cluster, members, offsets, own, rebalancing=stopped, until=until),
    )  # fmt: skip


def _noticed(cluster: ClusterNodes, broker: int) -> int:
    """Return the time at which the controller ends the session of a broker that is down, and elects new leaders; NEVER if the time is not
    known.
    """
    controller = cluster.controller
    end = controller.heartbeats.session_end(broker) if isinstance(controller, QuorumController) else None
    return NEVER if end is None else end


def _uncommitted(cluster: ClusterNodes, tp: TopicPartition, registration: PartitionRegistration | None) -> tuple[str, int]:
    """Return the reason why a partition's high watermark does not advance, and the time until which this reason lasts. While the high
    watermark does not advance, consumers get no new records. The reason is `""` if the high watermark is advancing.
    """
    health = None if registration is None else partition_health(cluster, tp, registration)
    if health is None or health.status is not PartitionStatus.STALLED:
        return "", NEVER
    if not health.not_fetching:
        return "the high watermark does not move", NEVER
    ends = [_noticed(cluster, broker) for broker in health.not_fetching]
    names = ", ".join(f"b{broker}" for broker in health.not_fetching)
    return f"HW waits for {names}", NEVER if NEVER in ends else max(ends)


def _member(
    cluster: ClusterNodes, client: str, member_id: str, partitions: tuple[TopicPartition, ...], process: GroupMember | None, deadline: int
) -> MemberReport:
    """Return a member. The deadline is the time at which the member's session at the coordinator expires."""
    if process is None or not process.running:
        return MemberReport(client, member_id, "dead", True, deadline, "its session ends", partitions)
    if process.address in cluster.paused:
        return MemberReport(client, member_id, "frozen", True, deadline, "its session ends", partitions)
    if process.phase is Phase.PROCESSING:
        end, limit = process.batch_began + process.batch_time, process.coordinator.poll_deadline
        count = sum(each.end - each.start for each in process.batch)
        if limit < end and process.coordinator.heartbeats:
            return MemberReport(client, member_id, "busy", True, limit, "it leaves the group", partitions)
        doing = f"processing {count:,} record{'' if count == 1 else 's'}" if count else "busy"
        return MemberReport(client, member_id, doing, not count, end, "it polls again", partitions)
    return MemberReport(client, member_id, process.phase.value, False, NEVER, "", partitions)


def _partitions(
    cluster: ClusterNodes,
    members: tuple[MemberReport, ...],
    offsets: dict[TopicPartition, int],
    own: dict[str, GroupMember],
    *,
    rebalancing: str,
    until: int,
) -> tuple[OwnedPartition, ...]:
    """Return the partitions of the topics that the members subscribe to, and the partitions with a committed offset."""
    topics = {topic for client in own.values() if client.running for topic in client.does.topics}
    owners = {tp: member for member in members for tp in member.partitions}
    known = cluster.controller.registry.partitions
    tps = sorted({*offsets, *owners, *(tp for tp in known if tp.topic in topics)})
    found = []
    for tp in tps:
        registration = known.get(tp)
        broker = None if registration is None else cluster.brokers.get(registration.leader)
        answers = broker is not None and broker.context.state is not BrokerState.STOPPED and broker.address not in cluster.paused
        replica = broker.partitions.get(tp) if broker is not None and answers else None
        log = replica.log if replica is not None and replica.is_leader else None
        member = owners.get(tp)
        if log is None:
            leader = NO_LEADER if registration is None else registration.leader
            stalled = "no leader" if leader == NO_LEADER else f"b{leader} is silent"
            end = _noticed(cluster, leader)
        elif member is None:
            stalled, end = "rebalance" if rebalancing else "no owner", until
        elif member.stalled:
            stalled, end = f"{member.client} is {member.doing}", member.until
        elif rebalancing:
            stalled, end = "rebalance", until
        else:
            stalled, end = _uncommitted(cluster, tp, registration)
        found.append(
            OwnedPartition(
                tp, "" if member is None else member.client, offsets.get(tp, NO_OFFSET), NO_OFFSET if log is None else log.high_watermark,
                NO_OFFSET if log is None else log.last_stable_offset(), stalled, end,
            )
        )  # fmt: skip
    return tuple(found)
