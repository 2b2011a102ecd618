"""The invariants of each assignor on random groups. `python -m tests.core.kafka.assignors.random_groups` plays many more of them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.kafka.assignors.sticky import sticky_assignor
from core.kafka.assignors.subscription import Member, TopicMetadata
from core.kafka.ids import TopicPartition
from tests.core.kafka.assignors.random_groups import ASSIGNORS, play_many


@pytest.mark.parametrize("kind", ASSIGNORS)
def test_random_groups(kind: str) -> None:
    assert play_many(kind, range(150)).assignments > 150


TOPICS = {"a": TopicMetadata(4), "b": TopicMetadata(3), "c": TopicMetadata(1)}

CLAIMS = st.lists(
    st.builds(TopicPartition, st.sampled_from(["a", "b", "c", "gone"]), st.integers(min_value=0, max_value=3)), max_size=6, unique=True
)

GROUPS = st.lists(
    st.tuples(st.sets(st.sampled_from(["a", "b", "c", "unknown"]), min_size=1), CLAIMS, st.integers(min_value=-1, max_value=2)),
    min_size=1,
    max_size=5,
)


@settings(max_examples=60, deadline=None)
@given(GROUPS, st.sampled_from(sorted(kind for kind in ASSIGNORS if kind.startswith("sticky"))))
def test_sticky_assignors_take_any_claims(group: list, kind: str) -> None:
    """Members can claim anything: partitions that don't exist, partitions that others also claim, and partitions of topics that they don't
    subscribe to.
    """
    members = [Member(f"m{n}", tuple(sorted(topics)), tuple(claims), generation) for n, (topics, claims, generation) in enumerate(group)]
    found = ASSIGNORS[kind](TOPICS, members)
    wanted = {topic for member in members for topic in member.topics if topic in TOPICS}
    every = {TopicPartition(topic, n) for topic in wanted for n in range(TOPICS[topic].partitions)}
    assigned = [tp for tps in found.values() for tp in tps]
    assert sorted(assigned) == sorted(every)
    for member in members:
        assert all(tp.topic in member.topics for tp in found[member.member_id])


@settings(max_examples=60, deadline=None)
@given(GROUPS)
def test_cooperative_rebalances_end(group: list) -> None:
    """If no claim was wrong, the second rebalance assigns the partitions that the first one took away."""
    members = [Member(f"m{n}", ("a", "b", "c")) for n in range(len(group))]
    first = sticky_assignor.cooperative_assign(TOPICS, members)
    fewer = [Member(member.member_id, member.topics, tuple(first[member.member_id]), 1) for member in members[1:]] + [
        Member("new", ("a", "b"))
    ]
    second = sticky_assignor.cooperative_assign(TOPICS, fewer)
    third = sticky_assignor.cooperative_assign(
        TOPICS, [member._replace(owned=tuple(second[member.member_id]), generation=2) for member in fewer]
    )
    assigned = sorted(tp for tps in third.values() for tp in tps)
    expected = {topic for member in fewer for topic in member.topics}
    assert assigned == sorted(TopicPartition(topic, n) for topic in expected for n in range(TOPICS[topic].partitions))
