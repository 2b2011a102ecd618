"""The facts that `kafka-consumer-groups` requests from the brokers before it prints its output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import attrs

from core.kafka.ids import NO_EPOCH, TopicPartition

CLASSIC: Final = "Classic"
"""The type of a group that uses the classic protocol, and of a group that has no members."""

CONSUMER: Final = "Consumer"
"""The type of a group that uses the consumer protocol (KIP-848)."""

REBALANCING: Final = frozenset({"PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"})
"""The states in which the tool warns that a group is rebalancing."""

INACTIVE: Final = frozenset({"Empty", "Dead"})
"""The states in which the tool can change the offsets of a group."""


class Committed(NamedTuple):
    """A committed offset and the leader epoch that was committed with it. The epoch is -1 if the commit contained no leader epoch."""

    offset: int
    leader_epoch: int = NO_EPOCH


@attrs.frozen
class Member:
    """A member of a group, as its coordinator describes it.

    Attributes:
        member_id: the member ID.
        client: the client.id.
        host: the address of the client.
        assignment: the partitions of the member.
        instance_id: the group.instance.id; empty for a dynamic member.
        epoch: the member epoch; None in a classic group.
        target_epoch: the epoch of the target assignment; None in a classic group.
        target: the partitions of the member's target assignment; None in a classic group.
        upgraded: whether the member uses the consumer protocol; None in a classic group.
    """

    member_id: str
    client: str
    host: str
    assignment: tuple[TopicPartition, ...] = ()
    instance_id: str = ""
    epoch: int | None = None
    target_epoch: int | None = None
    target: tuple[TopicPartition, ...] | None = None
    upgraded: bool | None = None


@attrs.frozen
class Group:
    """A group, as its coordinator describes it.

    Attributes:
        name: the group ID.
        state: the state, such as `Stable`.
        coordinator: the host and port of the coordinator.
        coordinator_id: the broker ID of the coordinator.
        kind: `Classic` or `Consumer`.
        assignor: the name of the assignor; empty if there is none.
        members: the members, in the order in which they joined.
        offsets: the committed offsets.
        epoch: the group epoch; None in a classic group.
        assignment_epoch: the epoch of the target assignment; None in a classic group.
    """

    name: str
    state: str
    coordinator: str
    coordinator_id: int
    kind: str = CLASSIC
    assignor: str = ""
    members: tuple[Member, ...] = ()
    offsets: Mapping[TopicPartition, Committed] = {}
    epoch: int | None = None
    assignment_epoch: int | None = None


@attrs.frozen
class Brokers:
    """The offsets that the brokers report for their partitions.

    Attributes:
        log_ends: the high watermark of each partition, as ListOffsets returns it; None if the partition has no leader that answers.
        log_starts: the log start offset of each partition that has a leader.
        at_time: for each partition that has a record at or after the requested moment, the offset of the first such record.
    """

    log_ends: Mapping[TopicPartition, int | None]
    log_starts: Mapping[TopicPartition, int] = {}
    at_time: Mapping[TopicPartition, int] = {}


class Printed(NamedTuple):
    """What the tool prints to stdout and to stderr, and its exit code."""

    out: str
    err: str = ""
    exit_code: int = 0
