"""The messages between the members of classic groups and their coordinator: JoinGroup, SyncGroup, Heartbeat, and LeaveGroup.

Times are in µs. As in Kafka, a generation of -1 means that the generation is undefined.
"""

from __future__ import annotations

from typing import NamedTuple

from core.kafka.ids import TopicPartition

Partitions = tuple[TopicPartition, ...]
"""The partitions of one member."""


class Subscription(NamedTuple):
    """What a member tells its group's leader (Kafka: `ConsumerPartitionAssignor.Subscription`). The coordinator passes the subscription on
    without reading it.

    Attributes:
        topics: the topics that the member subscribes to.
        owned: the partitions that the member owns.
        generation: the generation in which the member got the owned partitions; -1 if there is none.
        rack: the client.rack of the member; empty if the member has none."""

    topics: tuple[str, ...]
    owned: Partitions = ()
    generation: int = -1
    rack: str = ""


Protocols = tuple[tuple[str, Subscription], ...]
"""The names of the assignors that a member supports, in its order of preference, each with the member's subscription."""


class JoinGroupRequest(NamedTuple):
    """A client's request to become or remain a member of a group.

    Attributes:
        correlation: the correlation ID.
        client: the client.id.
        group: the ID of the group.
        member_id: the member ID; empty if the client has none yet.
        instance_id: the group.instance.id of a static member; empty for a dynamic member.
        session_timeout: session.timeout.ms, in µs.
        rebalance_timeout: the time within which the member must rejoin when the group rebalances, in µs.
        protocols: the assignors that the member supports.
        reason: the client's reason for joining.
    """

    correlation: int
    client: str
    group: str
    member_id: str
    instance_id: str
    session_timeout: int
    rebalance_timeout: int
    protocols: Protocols
    reason: str = ""


class JoinedMember(NamedTuple):
    """A group member, as the coordinator describes it to the leader."""

    member_id: str
    instance_id: str
    subscription: Subscription


class JoinGroupResponse(NamedTuple):
    """The response to JoinGroup.

    Attributes:
        correlation: the correlation ID.
        error: Kafka's name for the error, or NONE.
        member_id: the ID of the member.
        generation: the generation; -1 if the request failed.
        protocol: the name of the chosen assignor.
        leader: the member ID of the leader.
        members: all members of the group if the response goes to the leader; otherwise empty.
        skip_assignment: whether the leader keeps the group's current assignment (KIP-814).
    """

    correlation: int
    error: str
    member_id: str
    generation: int = -1
    protocol: str = ""
    leader: str = ""
    members: tuple[JoinedMember, ...] = ()
    skip_assignment: bool = False


class SyncGroupRequest(NamedTuple):
    """A member's request for its assignment. The leader's request contains the assignments of all members."""

    correlation: int
    group: str
    generation: int
    member_id: str
    instance_id: str
    protocol: str
    assignments: tuple[tuple[str, Partitions], ...]


class SyncGroupResponse(NamedTuple):
    """The assignment of a member."""

    correlation: int
    error: str
    assignment: Partitions


class HeartbeatRequest(NamedTuple):
    """A member's message to the coordinator that the member is alive."""

    correlation: int
    group: str
    generation: int
    member_id: str
    instance_id: str


class HeartbeatResponse(NamedTuple):
    """The response to Heartbeat."""

    correlation: int
    error: str


class LeaveGroupRequest(NamedTuple):
    """A request to remove members from a group. Each item is (member ID, group.instance.id). If an administrator removes a static member,
    the member ID is empty."""

    correlation: int
    group: str
    members: tuple[tuple[str, str], ...]
    reason: str = ""


class LeaveGroupResponse(NamedTuple):
    """The response to LeaveGroup: an error for the whole request, and an error for each member."""

    correlation: int
    error: str
    members: tuple[str, ...]
