"""The server-side assignor `range` (`org.apache.kafka.coordinator.group.assignor.RangeAssignor`), which ignores racks."""

from __future__ import annotations

from core.kafka.assignors.subscription import Assignment, Members, Topics, member_order, subscribed
from core.kafka.ids import TopicPartition


def assign(topics: Topics, members: Members) -> Assignment:
    """Give each member consecutive partitions of every topic that it subscribes to (`RangeAssignor#assign`).

    The assignment does not depend on what members own. Topics that have the same subscribers and the same number of partitions get the same
    ranges, because the order of members is the same.
    """
    ordered = sorted(members, key=member_order)
    partitions = subscribed(topics, members)
    subscribers = dict.fromkeys(partitions, 0)
    for member in ordered:
        for topic in dict.fromkeys(member.topics):
            if topic in partitions:
                subscribers[topic] += 1
    quotas = {topic: divmod(partitions[topic].partitions, count) for topic, count in subscribers.items()}
    next_range = dict.fromkeys(partitions, 0)
    turn = dict.fromkeys(partitions, 0)
    assignment: Assignment = {member.member_id: [] for member in members}
    for member in ordered:
        for topic in dict.fromkeys(member.topics):
            if topic in partitions:
                quota, extra = quotas[topic]
                start = next_range[topic]
                end = next_range[topic] = start + quota + (turn[topic] < extra)
                turn[topic] += 1
                assignment[member.member_id] += [TopicPartition(topic, number) for number in range(start, end)]
    return assignment
