"""The builder that the assignor `uniform` uses if members subscribe to different topics (`UniformHeterogeneousAssignmentBuilder`)."""

from __future__ import annotations

from typing import Final

from core.kafka.assignors.server.member_assignment_balancer import MemberAssignmentBalancer
from core.kafka.assignors.subscription import Assignment, Members, Topics
from core.kafka.ids import TopicPartition

MAX_ITERATION_COUNT: Final = 16
"""The maximum number of times that the builder balances all topics."""


class UniformHeterogeneousAssignmentBuilder:
    """Builds one assignment.

    Attributes:
        member_ids: the IDs of the members; the builder refers to each member by its position in this list.
        subscribers: the members that subscribe to each topic.
        owners: for each topic, the member that each partition is assigned to; -1 if there is none.
        sizes: the number of partitions of each member (`memberTargetAssignmentSizes`).
    """

    __slots__ = ("member_ids", "owners", "sizes", "subscribers", "topics")

    topics: Final[Topics]
    member_ids: Final[list[str]]
    subscribers: Final[dict[str, list[int]]]
    owners: Final[dict[str, list[int]]]
    sizes: Final[list[int]]

    def __init__(self, topics: Topics, members: Members) -> None:
        self.topics = topics
        self.member_ids = [member.member_id for member in members]
        self.subscribers = {topic: [] for topic in topics}
        self.owners = {topic: [-1] * metadata.partitions for topic, metadata in topics.items()}
        self.sizes = [0] * len(members)
        for index, member in enumerate(members):
            names = frozenset(member.topics)
            for topic in dict.fromkeys(member.topics):
                if topic in topics:
                    self.subscribers[topic].append(index)
            for tp in member.owned:
                if tp.topic in names and tp.topic in topics and tp.partition < topics[tp.topic].partitions:
                    self.owners[tp.topic][tp.partition] = index
                    self.sizes[index] += 1

    def build(self) -> Assignment:
        """Build the assignment: keep the owned partitions, assign the others, and move some partitions to improve the balance
        (`#build`)."""
        self._assign_remaining_partitions()
        self._balance()
        assignment: Assignment = {member_id: [] for member_id in self.member_ids}
        for topic, owners in self.owners.items():
            for number, owner in enumerate(owners):
                assignment[self.member_ids[owner]].append(TopicPartition(topic, number))
        return assignment

    def _sorted_topics(self) -> list[str]:
        """Return the topics, ordered by partitions per subscriber (descending), then by the number of subscribers (ascending), and then by
        ID.

        Kafka: `topicComparator`.
        """

        def key(topic: str) -> tuple[float, int]:
            subscribers = len(self.subscribers[topic])
            return -self.topics[topic].partitions / subscribers, subscribers

        return sorted(self.topics, key=key)

    def _assign_remaining_partitions(self) -> None:
        """Give each partition that has no owner to the least loaded subscriber (`#assignRemainingPartitions`)."""
        for topic in self._sorted_topics():
            balancer = MemberAssignmentBalancer(self.sizes, self.subscribers[topic])
            owners = self.owners[topic]
            for number, owner in enumerate(owners):
                if owner == -1:
                    owners[number] = member = balancer.next_least_loaded_member()
                    self.sizes[member] += 1

    def _balance(self) -> None:
        """Balance the load of each topic's subscribers, and repeat until a pass over all topics moves no partition (`#balanceTopics`)."""
        topics = [topic for topic in self._sorted_topics() if len(self.subscribers[topic]) >= 2]
        last_rebalanced = -1
        for _ in range(MAX_ITERATION_COUNT):
            for place, topic in enumerate(topics):
                if place == last_rebalanced:
                    return
                if self._balance_topic(topic) or last_rebalanced == -1:
                    last_rebalanced = place

    def _balance_topic(self, topic: str) -> int:
        """Move partitions of a topic from its most loaded to its least loaded subscribers.

        Return the number of moved partitions (`#balanceTopic`).
        """
        balancer = MemberAssignmentBalancer(self.sizes, self.subscribers[topic])
        if balancer.imbalance <= 1:
            return 0
        owners = self.owners[topic]
        owned: dict[int, list[int]] = {}
        for number, owner in enumerate(owners):
            owned.setdefault(owner, []).append(number)
        moved = 0
        while not balancer.is_balanced():
            most = balancer.next_most_loaded_member()
            while most != -1 and not owned.get(most):
                balancer.exclude_most_loaded_member()
                most = balancer.next_most_loaded_member()
            if most == -1:
                break
            number = owned[most].pop()
            least = balancer.next_least_loaded_member()
            if balancer.is_balanced():
                break
            owners[number] = least
            self.sizes[most] -= 1
            self.sizes[least] += 1
            moved += 1
        return moved
