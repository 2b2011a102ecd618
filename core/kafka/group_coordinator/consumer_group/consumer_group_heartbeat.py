"""The messages between members of consumer groups and their coordinator (KIP-848): ConsumerGroupHeartbeat. Times are in µs."""

from __future__ import annotations

from typing import NamedTuple

from core.kafka.group_coordinator.consumer_group.consumer_group_member import Partitions


class ConsumerGroupHeartbeatRequest(NamedTuple):
    """A member's request to join, remain in, or leave its group. Fields that have not changed since the last request are None.

    Attributes:
        correlation: the correlation ID.
        client: the client.id.
        group: the ID of the group.
        member_id: the ID that the client has generated for itself.
        member_epoch: 0 to join, the member's epoch to remain in the group, -1 to leave, or -2 if a static member leaves temporarily.
        instance_id: the group.instance.id of a static member; empty for a dynamic member.
        rack: the client.rack; None if the member has none.
        rebalance_timeout: the time within which the member must give up partitions.
        topics: the topics that the member subscribes to.
        assignor: the server-side assignor that the member prefers; None for no preference.
        owned: the partitions that the member owns.
    """

    correlation: int
    client: str
    group: str
    member_id: str
    member_epoch: int
    instance_id: str = ""
    rack: str | None = None
    rebalance_timeout: int | None = None
    topics: tuple[str, ...] | None = None
    assignor: str | None = None
    owned: Partitions | None = None

    def is_full(self) -> bool:
        """Whether the request carries all fields, for example after an error."""
        return self.member_epoch == 0 or (self.rebalance_timeout is not None and self.topics is not None and self.owned is not None)


class ConsumerGroupHeartbeatResponse(NamedTuple):
    """The response to ConsumerGroupHeartbeat.

    Attributes:
        correlation: the correlation ID.
        error: Kafka's name for the error, or NONE.
        member_id: the ID of the member.
        member_epoch: the epoch of the member.
        heartbeat_interval: the time until the next heartbeat; 0 if the member leaves or the request failed.
        assignment: the partitions that are assigned to the member; None if they have not changed.
    """

    correlation: int
    error: str
    member_id: str = ""
    member_epoch: int = 0
    heartbeat_interval: int = 0
    assignment: Partitions | None = None
