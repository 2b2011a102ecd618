"""The assignors of the group coordinator: cases of Kafka's own tests (RangeAssignorTest, UniformAssignorTest of the server)."""

from __future__ import annotations

import pytest

from core.kafka.assignors.server import range_assignor, uniform_assignor
from tests.core.kafka.assignors.notation import member, members, shown, sizes, topics

BOTH = "t1 t2"


def test_asg_19_range_of_different_subscriptions() -> None:
    """ASG-19."""
    group = [member("A", "t1 t2"), member("B", "t3"), member("C", "t2 t3")]
    found = range_assignor.assign(topics(t1=3, t2=3, t3=2), group)
    assert shown(found) == {"A": "t1:0,1,2 t2:0,1", "B": "t3:0", "C": "t2:2 t3:1"}


def test_asg_20_range_after_changes() -> None:
    """ASG-20."""
    owners = members(BOTH, A="t1:0 t2:0", B="t1:1 t2:1", C="")
    assert shown(range_assignor.assign(topics(t1=2, t2=2), owners)) == {"A": "t1:0 t2:0", "B": "t1:1 t2:1", "C": ""}
    two = members(BOTH, A="t1:0,1 t2:0,1", B="t1:2 t2:2")
    assert shown(range_assignor.assign(topics(t1=4, t2=4), two)) == {"A": "t1:0,1 t2:0,1", "B": "t1:2,3 t2:2,3"}
    three = members(BOTH, A="t1:0,1 t2:0,1", B="t1:2 t2:2", C="")
    assert shown(range_assignor.assign(topics(t1=3, t2=3), three)) == {"A": "t1:0 t2:0", "B": "t1:1 t2:1", "C": "t1:2 t2:2"}
    assert shown(range_assignor.assign(topics(t1=3, t2=3), members(BOTH, B="t1:2 t2:2"))) == {"B": "t1:0,1,2 t2:0,1,2"}
    for member_id in ("m", "zz"):
        group = [member("a", BOTH), member(member_id, BOTH, instance="i")]
        assert shown(range_assignor.assign(topics(t1=3, t2=3), group)) == {"a": "t1:2 t2:2", member_id: "t1:0,1 t2:0,1"}


def test_asg_22_uniform_gives_up_what_exceeds_the_quota() -> None:
    """ASG-22."""
    found = uniform_assignor.assign(topics(t1=3, t2=3), members(BOTH, A="t1:0,1 t2:0,1", B="t1:2 t2:2"))
    assert shown(found) == {"A": "t1:0,1 t2:0", "B": "t1:2 t2:1,2"}


def test_uniform_keeps_partitions_in_the_order_of_a_hash_set() -> None:
    """A set of 8 to 11 numbers has 16 buckets, so 16 and 17 come first; from 12 numbers on, it has 32."""
    for count, kept in ((9, "0,1,2,3,4,5,6,16,17"), (10, "0,1,2,3,4,5,6,7,8")):
        owned = ",".join(map(str, (*range(count), 16, 17)))
        found = uniform_assignor.assign(topics(t1=18), members("t1", A=f"t1:{owned}", B=""))
        assert shown(found)["A"] == f"t1:{kept}"
    found = uniform_assignor.assign(topics(t1=10), members("t1", A="t1:0,1,2,3,8", B="", C=""))
    assert shown(found)["A"] == "t1:0,1,2,3", "smaller sets have 16 buckets, too"


def test_asg_23_uniform_after_partitions_were_added() -> None:
    """ASG-23: The first member gets one partition more. Since 4.1, it is the last one, if nobody owns more than the quota (KAFKA-18688)."""
    group = members(BOTH, A="t1:0,2 t2:0", B="t1:1 t2:1,2")
    in_order = topics(t2=5, t1=6)
    before = uniform_assignor.assign(in_order, group, extra_goes_to_any_member=False)
    assert shown(before) == {"A": "t1:0,2,3 t2:0,3,4", "B": "t1:1,4,5 t2:1,2"}
    now = uniform_assignor.assign(in_order, group)
    assert shown(now) == {"A": "t1:0,2 t2:0,3,4", "B": "t1:1,3,4,5 t2:1,2"}


def test_asg_24_uniform_after_a_member_came_or_left() -> None:
    """ASG-24."""
    found = uniform_assignor.assign(topics(t1=3, t2=3), members(BOTH, A="t1:0,2 t2:0", B="t1:1 t2:1,2", C=""))
    assert shown(found) == {"A": "t1:0,2", "B": "t1:1 t2:1", "C": "t2:0,2"}
    left = uniform_assignor.assign(topics(t2=3, t1=3), members(BOTH, A="t1:0 t2:0", B="t1:1 t2:1"))
    assert shown(left) == {"A": "t1:0 t2:0,2", "B": "t1:1,2 t2:1"}


def test_uniform_keeps_a_balanced_assignment_since_4_1() -> None:
    """Before that, the extra partition moves to the first member (KAFKA-18688)."""
    group = members("t1", A="t1:0", B="t1:1,2")
    assert shown(uniform_assignor.assign(topics(t1=3), group)) == {"A": "t1:0", "B": "t1:1,2"}
    assert shown(uniform_assignor.assign(topics(t1=3), group, extra_goes_to_any_member=False)) == {"A": "t1:0,2", "B": "t1:1"}


def test_asg_25_uniform_of_different_subscriptions() -> None:
    """ASG-25."""
    found = uniform_assignor.assign(topics(t1=3, t3=6), [member("A", "t1 t3"), member("B", "t3")])
    assert shown(found) == {"A": "t1:0,1,2 t3:4", "B": "t3:0,1,2,3,5"}
    found = uniform_assignor.assign(topics(t1=2, t3=1), [member("A", "t3"), member("B", "t3"), member("C", "t1")])
    assert shown(found) == {"A": "t3:0", "B": "", "C": "t1:0,1"}


def test_asg_26_uniform_of_an_unbalanced_group() -> None:
    """ASG-26."""
    group = [member("A", "t1", "t1:0,1,2"), member("B", "t1 t2", "t1:3 t2:0"), member("C", "t1 t2 t3", "t1:4,5 t2:1,2,3 t3:0,1,2,3")]
    found = uniform_assignor.assign(topics(t1=6, t2=4, t3=4), group)
    assert shown(found) == {"A": "t1:0,1,2,5", "B": "t1:3 t2:0,1,2,3", "C": "t1:4 t3:0,1,2,3"}
    assert sizes(found) == [4, 5, 5]


def test_asg_28_uniform_when_most_loaded_members_run_out() -> None:
    """ASG-28."""
    by_topic = topics(t1=2, t2=2, t3=2)
    group = [member("A", "t1 t2 t3", "t1:0,1 t2:0,1 t3:0,1"), member("B", "t1 t2")]
    assert shown(uniform_assignor.assign(by_topic, group)) == {"A": "t2:0 t3:0,1", "B": "t1:0,1 t2:1"}
    group = [member("A", "t1", "t1:0,1,2 t2:0,1,2"), member("B", "t1 t2", "t2:3,4")]
    found = uniform_assignor.assign(topics(t1=3, t2=5), group)
    assert shown(found) == {"A": "t1:0,1,2", "B": "t2:0,1,2,3,4"}


@pytest.mark.parametrize("assign", [range_assignor.assign, uniform_assignor.assign])
def test_members_without_topics_get_nothing(assign) -> None:
    assert shown(assign({}, members("t1", A="", B=""))) == {"A": "", "B": ""}
    assert shown(assign(topics(t1=2), [member("A", ""), member("B", "t1")])) == {"A": "", "B": "t1:0,1"}
    assert assign(topics(t1=2), []) == {}
