"""The assignors that a consumer can use, and how its group rebalances with them (Kafka: `ConsumerPartitionAssignor`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from core.kafka.assignors import range_assignor, round_robin
from core.kafka.assignors.java_order import hash_map_order
from core.kafka.assignors.sticky import sticky_assignor
from core.kafka.assignors.sticky.sticky_assignor import StickyRules
from core.kafka.assignors.subscription import Assignment, Member, Members, TopicMetadata, Topics
from core.kafka.group_coordinator.classic_group.classic_group_messages import JoinedMember, Partitions
from core.kafka.release import Release


class Assignor(NamedTuple):
    """An assignor.

    Attributes:
        assign: the function that assigns the partitions.
        cooperative: whether members keep their partitions during a rebalance (KIP-429).
        remembers: whether the subscription contains the member's last assignment, even though the member does not own it during a rebalance
            (`sticky`).
    """

    assign: Callable[[Topics, Members, Release], Assignment]
    cooperative: bool = False
    remembers: bool = False


def _range(topics: Topics, members: Members, release: Release) -> Assignment:
    return range_assignor.assign(topics, members, rack_aware=release.rack_aware_assignors)


def _round_robin(topics: Topics, members: Members, _: Release) -> Assignment:
    return round_robin.assign(topics, members)


def _sticky(topics: Topics, members: Members, release: Release) -> Assignment:
    return sticky_assignor.assign(topics, members, StickyRules.of(release)).assignment


def _cooperative_sticky(topics: Topics, members: Members, release: Release) -> Assignment:
    return sticky_assignor.cooperative_assign(topics, members, StickyRules.of(release))


ASSIGNORS: Final[Mapping[str, Assignor]] = {
    "range": Assignor(_range),
    "roundrobin": Assignor(_round_robin),
    "sticky": Assignor(_sticky, remembers=True),
    "cooperative-sticky": Assignor(_cooperative_sticky, cooperative=True),
}
"""All assignors, by name."""


def default_assignors(release: Release) -> tuple[str, ...]:
    """Return the default of partition.assignment.strategy in a release."""
    return ("range", "cooperative-sticky") if release.cooperative_by_default else ("range",)


def assignors_of(release: Release) -> tuple[str, ...]:
    """Return the names of the assignors that exist in a release."""
    names = ["range", "roundrobin"]
    if release.sticky_assignor:
        names.append("sticky")
    if release.cooperative_rebalances:
        names.append("cooperative-sticky")
    return tuple(names)


def by_topic(tps: Partitions) -> Partitions:
    """Return partitions in the order in which a subscription lists them: grouped by topic, with the topics in the order of Java's hash map
    (`CollectionUtils#groupPartitionsByTopic`)."""
    topics = hash_map_order(tp.topic for tp in tps)
    return tuple(sorted(tps, key=lambda tp: (topics.index(tp.topic), tp.partition)))


def is_cooperative(names: tuple[str, ...]) -> bool:
    """Return whether a consumer rebalances cooperatively, which requires that all of its assignors support cooperative rebalancing
    (`ConsumerCoordinator`)."""
    return all(ASSIGNORS[name].cooperative for name in names)


def assign(
    protocol: str, counts: Mapping[str, int], members: tuple[JoinedMember, ...], release: Release
) -> tuple[tuple[str, Partitions], ...]:
    """Return the partitions that are assigned to each member (`ConsumerCoordinator#onLeaderElected`).

    Args:
        protocol: the name of the assignor.
        counts: the number of partitions of each topic that has metadata.
        members: the members and their subscriptions.
        release: the rules of the simulated Kafka release.
    """
    by_id = {
        each.member_id: Member(
            each.member_id,
            each.subscription.topics,
            each.subscription.owned,
            each.subscription.generation,
            each.instance_id,
            each.subscription.rack,
        )
        for each in members
    }
    topics = {topic: TopicMetadata(count) for topic, count in sorted(counts.items())}
    assignment = ASSIGNORS[protocol].assign(topics, [by_id[name] for name in hash_map_order(by_id)], release)
    return tuple((name, tuple(tps)) for name, tps in assignment.items())
