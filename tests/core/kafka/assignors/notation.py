"""A short way to write members and assignments in tests: `t1:0,1 t2:0` are partitions 0 and 1 of t1, and partition 0 of t2."""

from __future__ import annotations

from core.kafka.assignors.subscription import NO_GENERATION, Assignment, Member, TopicMetadata
from core.kafka.ids import TopicPartition


def tps(text: str) -> tuple[TopicPartition, ...]:
    """Return the partitions in a text."""
    found = []
    for part in text.split():
        topic, _, numbers = part.partition(":")
        found += [TopicPartition(topic, int(number)) for number in numbers.split(",")]
    return tuple(found)


def topics(**counts: int) -> dict[str, TopicMetadata]:
    """Return topics without racks."""
    return {name: TopicMetadata(count) for name, count in counts.items()}


def member(member_id: str, subscribed: str, owned: str = "", generation: int = NO_GENERATION, instance: str = "", rack: str = "") -> Member:
    """Return a member with a subscription such as `t1 t2`."""
    return Member(member_id, tuple(subscribed.split()), tps(owned), generation, instance, rack)


def members(subscribed: str, **owned: str) -> list[Member]:
    """Return members with the same subscription, in the given order, that own partitions in the same generation."""
    return [member(member_id, subscribed, text, 1) for member_id, text in owned.items()]


def shown(assignment: Assignment) -> dict[str, str]:
    """Return an assignment in the notation, in the order of topics and numbers."""
    found = {}
    for member_id, owned in assignment.items():
        by_topic: dict[str, list[str]] = {}
        for tp in sorted(owned):
            by_topic.setdefault(tp.topic, []).append(str(tp.partition))
        found[member_id] = " ".join(f"{topic}:{','.join(numbers)}" for topic, numbers in by_topic.items())
    return found


def sizes(assignment: Assignment) -> list[int]:
    """Return the number of partitions of each member."""
    return [len(owned) for owned in assignment.values()]
