"""The input and output of assignors: members and their subscriptions, topics, and assignments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from core.kafka.ids import TopicPartition

NO_GENERATION: Final = -1
"""The generation of a member that does not report one (`AbstractStickyAssignor.DEFAULT_GENERATION`)."""


class Member(NamedTuple):
    """A member of a group and its subscription (`ConsumerPartitionAssignor.Subscription`, `MemberSubscriptionAndAssignmentImpl`).

    The order in which an assignor gets the members can break ties. Kafka gets the members in the order of a Java hash map
    (`java_order.hash_map_order`).

    Attributes:
        member_id: the ID that the coordinator or the client has given to the member.
        topics: the topics that the member subscribes to.
        owned: the partitions that the member owns or, for server-side assignors, the partitions in the member's target assignment.
        generation: the generation in which the member got the owned partitions; NO_GENERATION if the member reports none.
        instance_id: the group.instance.id of a static member; empty for a dynamic member.
        rack: the client.rack of the member; empty if it has none.
    """

    member_id: str
    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...] = ()
    generation: int = NO_GENERATION
    instance_id: str = ""
    rack: str = ""


class TopicMetadata(NamedTuple):
    """The partitions of a topic.

    Attributes:
        partitions: the number of partitions.
        racks: for each partition, the racks of its replicas; empty if the racks are unknown.
    """

    partitions: int
    racks: tuple[frozenset[str], ...] = ()

    def racks_of(self, partition: int) -> frozenset[str]:
        """Return the racks of a partition's replicas."""
        return self.racks[partition] if self.racks else frozenset()


Topics: TypeAlias = Mapping[str, TopicMetadata]
"""The metadata of each known topic, by topic name. Server-side assignors assume that the topics are in the order of their IDs."""

Members: TypeAlias = Sequence[Member]

Assignment: TypeAlias = dict[str, list[TopicPartition]]
"""The partitions that are assigned to each member ID, in the order in which the assignor assigned them."""


def member_order(member: Member) -> tuple[bool, str]:
    """Return a sort key that orders static members by instance ID, and then dynamic members by member ID (`MemberInfo#compareTo`)."""
    return (False, member.instance_id) if member.instance_id else (True, member.member_id)


def subscribed(topics: Topics, members: Members) -> dict[str, TopicMetadata]:
    """Return the topics that have partitions and that a member subscribes to (`AbstractPartitionAssignor#assign`)."""
    names = {topic for member in members for topic in member.topics}
    return {name: metadata for name, metadata in topics.items() if name in names and metadata.partitions}
