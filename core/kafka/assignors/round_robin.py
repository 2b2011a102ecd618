"""The client-side assignor `roundrobin` (`RoundRobinAssignor`), which assigns all partitions to the members in round-robin order."""

from __future__ import annotations

from core.kafka.assignors.subscription import Assignment, Members, Topics, member_order, subscribed
from core.kafka.ids import TopicPartition


def assign(topics: Topics, members: Members) -> Assignment:
    """Assign the partitions of all topics to the members in round-robin order.

    Skip a member that does not subscribe to the topic (`RoundRobinAssignor#assign`).
    """
    assignment: Assignment = {member.member_id: [] for member in members}
    circle = [(assignment[member.member_id], frozenset(member.topics)) for member in sorted(members, key=member_order)]
    position = 0
    for topic, metadata in sorted(subscribed(topics, members).items()):
        for partition in range(metadata.partitions):
            while topic not in circle[position][1]:
                position = (position + 1) % len(circle)
            circle[position][0].append(TopicPartition(topic, partition))
            position = (position + 1) % len(circle)
    return assignment
