"""The frozen state of a group, of its members, and of what they have processed."""

from __future__ import annotations

import attrs

from core.kafka.ids import TopicPartition
from core.sim.repr_mixin import ReprMixin


@attrs.frozen(repr=False)
class GroupMemberView(ReprMixin):
    """A member of a group, as its coordinator knows it.

    Attributes:
        member_id: the ID of the member.
        instance_id: the group.instance.id; empty for a dynamic member.
        client: the client.id of the member.
        assignment: the partitions that are assigned to the member.
    """

    member_id: str
    instance_id: str
    client: str
    assignment: tuple[TopicPartition, ...]


@attrs.frozen(repr=False)
class GroupView(ReprMixin):
    """One group, as its coordinator knows it.

    Attributes:
        name: the group ID.
        coordinator: the broker that coordinates the group.
        offsets: (partition, committed offset), in the order of the first commits.
        pending: the number of offsets in open transactions.
        state: the state of the group, such as `Stable`.
        generation: the generation of the group; 0 before the first one.
        protocol: the chosen assignor; empty if there is none.
        leader_id: the member ID of the leader; empty if there is none.
        members: the members, in the order in which they joined.
    """

    name: str
    coordinator: int
    offsets: tuple[tuple[TopicPartition, int], ...]
    pending: int
    state: str = "Empty"
    generation: int = 0
    protocol: str = ""
    leader_id: str = ""
    members: tuple[GroupMemberView, ...] = ()


@attrs.frozen(repr=False)
class ConsumptionView(ReprMixin):
    """The progress that the members of a group have made in one partition, according to the durability account.

    Attributes:
        group: the group ID.
        tp: the topic and the number of the partition.
        processed: the number of records that were processed at least once.
        again: the number of records that were processed more than once.
        repeats: the number of times that an already processed record was processed again.
        skipped: the number of records that the group never gets, for one of the following four reasons.
        committed, reset, deleted, truncated: the number of skipped records, by reason (`core.lab.accounts.missed_records`).
        left_out: the number of records below the position at which the group began, according to auto.offset.reset; they are not skipped.
        out_of_order: the number of records that were first processed after later records of the partition.
    """

    group: str
    tp: TopicPartition
    processed: int
    again: int
    repeats: int
    skipped: int
    committed: int = 0
    reset: int = 0
    deleted: int = 0
    truncated: int = 0
    left_out: int = 0
    out_of_order: int = 0


@attrs.frozen(repr=False)
class MemberView(ReprMixin):
    """The state of a group's consumer, from its own perspective.

    Attributes:
        name: the name of the consumer.
        group: the group ID.
        topics: the topics that the member subscribes to.
        running: whether the process of the member is running.
        frozen: whether the process of the member is frozen.
        phase: what the application of the member is doing, such as `processing`.
        state: the state of the membership, such as `Stable`.
        member_id: the member ID; empty if the member has none.
        generation: the generation of the member; -1 if the member has none.
        coordinator: the broker that the member considers the coordinator; -1 if the member does not know one.
        owned: the partitions that the member owns.
        positions: (partition, next offset to poll) for each partition whose position the member knows.
        processed: the number of records that the member has processed.
        in_hand: the number of records that the member has polled but not processed.
    """

    name: str
    group: str
    topics: tuple[str, ...]
    running: bool
    frozen: bool
    phase: str
    state: str
    member_id: str
    generation: int
    coordinator: int
    owned: tuple[TopicPartition, ...]
    positions: tuple[tuple[TopicPartition, int], ...]
    processed: int
    in_hand: int
