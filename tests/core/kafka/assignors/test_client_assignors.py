"""The assignors that run in the leader of a group: cases from Kafka's own tests (RangeAssignorTest, RoundRobinAssignorTest,
AbstractStickyAssignorTest).
"""

from __future__ import annotations

import itertools

import pytest

from core.kafka.assignors import range_assignor, round_robin
from core.kafka.assignors.java_order import hash_map_order
from core.kafka.assignors.sticky import sticky_assignor
from core.kafka.assignors.sticky.general_assignment_builder import ROUNDS_IN_VAIN, GeneralAssignmentBuilder
from core.kafka.assignors.sticky.sticky_assignor import StickyRules
from core.kafka.assignors.subscription import TopicMetadata
from core.kafka.release import StickyAlgorithm
from tests.core.kafka.assignors.notation import member, members, shown, sizes, topics, tps

BOTH = "t1 t2"


# --- range ---------------------------------------------------------------------------------------------------------


def test_asg_01_range_of_two_topics() -> None:
    """ASG-01."""
    assert shown(range_assignor.assign(topics(t1=3, t2=3), members(BOTH, c1="", c2=""))) == {"c1": "t1:0,1 t2:0,1", "c2": "t1:2 t2:2"}


def test_asg_02_range_and_round_robin_of_mixed_subscriptions() -> None:
    """ASG-02."""
    group = [member("c1", "t1"), member("c2", BOTH), member("c3", "t1")]
    expected = {"c1": "t1:0", "c2": "t1:1 t2:0,1", "c3": "t1:2"}
    assert shown(range_assignor.assign(topics(t1=3, t2=2), group)) == expected
    assert shown(round_robin.assign(topics(t1=3, t2=2), group)) == expected


def test_asg_03_range_with_too_few_partitions_or_none() -> None:
    """ASG-03."""
    group = members("t1", c1="", c2="")
    assert shown(range_assignor.assign(topics(t1=1), group)) == {"c1": "t1:0", "c2": ""}
    for assign in (range_assignor.assign, round_robin.assign, sticky_assignor.cooperative_assign):
        assert shown(assign({}, group)) == {"c1": "", "c2": ""}
        assert shown(assign(topics(t1=0), group)) == {"c1": "", "c2": ""}


def test_asg_04_range_sorts_static_members_by_instance() -> None:
    """ASG-04."""
    statics = [member("consumer-a", BOTH, instance="instance2"), member("consumer-b", BOTH, instance="instance1")]
    expected = {"consumer-b": "t1:0,1 t2:0,1", "consumer-a": "t1:2 t2:2"}
    assert shown(range_assignor.assign(topics(t1=3, t2=3), statics)) == expected
    mixed = [member("a", BOTH), member("z", BOTH, instance="instance1")]
    assert shown(range_assignor.assign(topics(t1=3, t2=3), mixed)) == {"z": "t1:0,1 t2:0,1", "a": "t1:2 t2:2"}


@pytest.mark.parametrize("last", ["c4", "c5"])
def test_asg_05_range_of_static_members_persists(last: str) -> None:
    """ASG-05."""
    group = [member(f"id-{n}", BOTH, instance=f"i{n}") for n in (1, 2, 3)]
    found = shown(range_assignor.assign(topics(t1=5, t2=4), [*group, member(last, BOTH)]))
    assert list(found.values()) == ["t1:0,1 t2:0", "t1:2 t2:1", "t1:3 t2:2", "t1:4 t2:3"]
    for prefix in ("id", "other"):
        statics = [member(f"{prefix}-{9 - n}", BOTH, instance=f"i{n}") for n in (1, 2, 3)]
        found = shown(range_assignor.assign(topics(t1=5, t2=5), statics))
        assert list(found.values()) == ["t1:0,1 t2:0,1", "t1:2,3 t2:2,3", "t1:4 t2:4"]


def test_asg_06_range_prefers_racks() -> None:
    """ASG-06."""
    every = "t1 t2 t3"
    plain = {"c1": "t1:0,1 t2:0,1,2 t3:0", "c2": "t1:2,3 t2:3,4 t3:1", "c3": "t1:4,5 t2:5,6"}
    group = [member(f"c{n + 1}", every, rack=f"r{n}") for n in range(3)]
    without_racks = topics(t1=6, t2=7, t3=2)
    assert shown(range_assignor.assign(without_racks, group)) == plain
    assert shown(range_assignor.assign(racked(without_racks, 1, 3), members(every, c1="", c2="", c3=""))) == plain
    assert shown(range_assignor.assign(racked(without_racks, 3, 3), group)) == plain, "all racks have all partitions"
    assert shown(range_assignor.assign(racked(without_racks, 1, 3), group, rack_aware=False)) == plain
    one = racked(without_racks, 1, 3)
    found = range_assignor.assign(one, group)
    assert shown(found) == {"c1": "t1:0,3 t2:0,3,6", "c2": "t1:1,4 t2:1,4 t3:0", "c3": "t1:2,5 t2:2,5 t3:1"}
    for replication, racks, expected in ((1, 3, 0), (2, 3, 1), (3, 2, 4)):
        by_topic = racked(without_racks, replication, racks)
        assert mismatches(range_assignor.assign(by_topic, group), group, by_topic) == expected
    two = range_assignor.assign(racked(without_racks, 2, 3), group)
    assert shown(two) == {"c1": "t1:0,2 t2:0,2,3 t3:1", "c2": "t1:1,3 t2:1,4 t3:0", "c3": "t1:4,5 t2:5,6"}


@pytest.mark.parametrize(
    ("replication", "racks", "consumer_racks", "expected"),
    [
        (2, 2, "0110", "t1:0,1 t2:0,1 t3:0 t4:0 | t1:2,3 t2:2,3 t3:1 t4:1 | t1:4 t2:4 | t1:5 t2:5"),
        (1, 2, "0110", "t1:0,2 t2:0,2 t3:0 t4:0 | t1:1,3 t2:1,3 t3:1 t4:1 | t1:5 t2:5 | t1:4 t2:4"),
        (1, 3, "0110", "t1:0,3 t2:0,3 t3:0 t4:0 | t1:1,4 t2:1,4 t3:1 t4:1 | t1:2 t2:2 | t1:5 t2:5"),
    ],
)
def test_range_keeps_co_partitioned_topics_together(replication: int, racks: int, consumer_racks: str, expected: str) -> None:
    """`testRackAwareAssignmentWithCoPartitioning`: t1 and t2 have the same number of partitions, and so do t3 and t4."""
    group = [member(f"c{n}", "t1 t2 t3 t4", rack=f"r{rack}") for n, rack in enumerate(consumer_racks)]
    found = range_assignor.assign(racked(topics(t1=6, t2=6, t3=2, t4=2), replication, racks), group)
    assert " | ".join(shown(found).values()) == expected


RACKED = [
    (1, 3, "t1 t2 t3", "||", "t1:0,3 t2:0,3,6 | t1:1,4 t2:1,4 t3:0 | t1:2,5 t2:2,5 t3:1"),
    (2, 3, "t1 t2 t3", "||", "t1:0,3 t2:0,3,6 | t1:1,4 t2:1,4 t3:0 | t1:2,5 t2:2,5 t3:1"),
    (3, 2, "t1 t2 t3", "||", "t1:0,3 t2:0,3,6 | t1:1,4 t2:1,4 t3:0 | t1:2,5 t2:2,5 t3:1"),
    (1, 3, "t1 t2 t3", "t1:0,1,2,3,4 | t1:5 t2:0,1,2,3 | t2:4,5,6 t3:0,1", "t1:0,3 | t2:1 | t2:5 t3:1"),
    (1, 3, "t1 t3", "||", "t1:3 t2:0,2,3,6 | t1:4 t2:1,4,5 t3:0 | t1:0,1,2,5 t3:1"),
    (2, 3, "t1 t3", "||", "t1:3 t2:0,2,5,6 | t1:0 t2:1,3,4 t3:0 | t1:1,2,4,5 t3:1"),
    (3, 2, "t1 t3", "||", "t1:5 t2:0,2,4,6 | t1:3 t2:1,3,5 t3:0 | t1:0,1,2,4 t3:1"),
    (1, 3, "t1 t3", "t1:0,1,2,3,4 | t1:5 t2:0,1,2,3 | t2:4,5,6 t3:0,1", "t1:3 | t2:1 | t3:1"),
    (1, 3, "t1 t3", "t1:3 | t2:1 | t3:1", "t1:3 t2:0,2,3,6 | t1:4 t2:1,4,5 t3:0 | t1:0,1,2,5 t3:1"),
    (3, 3, "t1 t3", "t1:0,1,2,3,4 | t1:5 t2:0,1,2,3 | t2:4,5,6 t3:0,1", "t1:2,3,4 | t2:0,1,2,3 | t3:0,1"),
    (3, 3, "t1 t3", "t1:2,3,4 | t2:0,1,2,3 | t3:0,1", "t1:2,3,4 t2:4,5 | t2:0,1,2,3,6 | t1:0,1,5 t3:0,1"),
]


@pytest.mark.parametrize(("replication", "racks", "last", "owned", "expected"), RACKED)
def test_cooperative_sticky_prefers_racks(replication: int, racks: int, last: str, owned: str, expected: str) -> None:
    """`testRackAwareAssignmentWithUniformSubscription`, `…WithNonEqualSubscription`: the last member can subscribe to fewer topics."""
    by_topic = racked(topics(t1=6, t2=7, t3=2), replication, racks)
    subscriptions = ["t1 t2 t3", "t1 t2 t3", last]
    group = [member(f"consumer{n}", subscriptions[n], text, rack=f"r{n}") for n, text in enumerate(owned.split("|"))]
    in_order = {each.member_id: each for each in group}
    found = sticky_assignor.cooperative_assign(by_topic, [in_order[name] for name in hash_map_order(in_order)])
    assert " | ".join(shown(found)[name] for name in in_order) == expected


def racked(plain: dict[str, TopicMetadata], replication: int, racks: int) -> dict[str, TopicMetadata]:
    """Return the same topics, with the replicas of successive partitions in successive racks, as in Kafka's tests."""
    found = {}
    first = 0
    for name, (count, _) in plain.items():
        found[name] = TopicMetadata(
            count, tuple(frozenset(f"r{(first + n + i) % racks}" for i in range(replication)) for n in range(count))
        )
        first += count
    return found


def mismatches(assigned: dict, group: list, by_topic: dict[str, TopicMetadata]) -> int:
    """Return the number of partitions that members read from another rack."""
    racks = {each.member_id: each.rack for each in group}
    return sum(racks[who] not in by_topic[tp.topic].racks[tp.partition] for who, owned in assigned.items() for tp in owned)


# --- roundrobin ----------------------------------------------------------------------------------------------------


def test_asg_07_asg_10_round_robin_and_sticky_of_two_topics() -> None:
    """ASG-07 and ASG-10."""
    expected = {"c1": "t1:0,2 t2:1", "c2": "t1:1 t2:0,2"}
    group = [member("c1", BOTH), member("c2", BOTH)]
    assert shown(round_robin.assign(topics(t1=3, t2=3), group)) == expected
    found = sticky_assignor.assign(topics(t1=3, t2=3), group)
    assert shown(found.assignment) == expected
    assert not found.transferring


def test_asg_08_round_robin_of_static_members() -> None:
    """ASG-08."""
    statics = [member(f"id{n}", BOTH, instance=f"i{n}") for n in (1, 2, 3)]
    found = shown(round_robin.assign(topics(t1=3, t2=3), [*statics, member("c4", BOTH)]))
    assert list(found.values()) == ["t1:0 t2:1", "t1:1 t2:2", "t1:2", "t2:0"]
    found = shown(round_robin.assign(topics(t1=5, t2=5), statics))
    assert list(found.values()) == ["t1:0,3 t2:1,4", "t1:1,4 t2:2", "t1:2 t2:0,3"]


# --- sticky --------------------------------------------------------------------------------------------------------


def test_asg_09_sticky_balances_where_round_robin_does_not() -> None:
    """ASG-09."""
    by_topic = topics(t1=2, t2=1, t3=2, t4=1, t5=2)
    group = [member("c1", "t1 t2 t3 t4 t5"), member("c2", "t1 t3 t5"), member("c3", "t1 t3 t5"), member("c4", "t1 t2 t3 t4 t5")]
    assert sizes(round_robin.assign(by_topic, group)) == [3, 3, 0, 2]
    for order in itertools.permutations(group):
        assert sizes(sticky_assignor.assign(by_topic, order).assignment) == [2, 2, 2, 2]


def test_asg_12_members_above_the_maximum_quota() -> None:
    """ASG-12."""
    group = members(BOTH, c2="t1:1 t2:1", c1="t1:0 t2:0", c3="")
    found = sticky_assignor.assign(topics(t1=2, t2=2), group)
    assert shown(found.assignment) == {"c1": "t1:0", "c2": "t1:1 t2:1", "c3": "t2:0"}
    assert found.transferring == {tps("t2:0")[0]: "c3"}
    assert shown(sticky_assignor.cooperative_assign(topics(t1=2, t2=2), group)) == {"c1": "t1:0", "c2": "t1:1 t2:1", "c3": ""}


def test_asg_15_topics_stay_balanced_while_members_come_and_go() -> None:
    """ASG-15."""
    by_topic = topics(t1=12, t2=12)
    owned: dict[str, str] = {}
    for names, expected in ((["c1"], 12), (["c1", "c2"], 6), (["c1", "c2", "c3", "c4"], 3), (["c1", "c2"], 6)):
        group = members(BOTH, **{name: owned.get(name, "") for name in hash_map_order(names)})
        assignment = sticky_assignor.assign(by_topic, group).assignment
        for tps_of_member in assignment.values():
            assert [sum(tp.topic == topic for tp in tps_of_member) for topic in by_topic] == [expected, expected]
        owned = shown(assignment)


def test_asg_16_two_members_join_and_two_leave() -> None:
    """ASG-16."""
    by_topic = topics(t1=3, t2=4)
    first = sticky_assignor.assign(by_topic, members(BOTH, c2="", c1=""))
    assert shown(first.assignment) == {"c1": "t1:0,2 t2:1,3", "c2": "t1:1 t2:0,2"}
    owned = shown(first.assignment)
    second = sticky_assignor.assign(by_topic, members(BOTH, c4="", c3="", c2=owned["c2"], c1=owned["c1"]))
    assert shown(second.assignment) == {"c1": "t1:0 t2:1", "c2": "t1:1 t2:0", "c3": "t1:2 t2:3", "c4": "t2:2"}
    assert second.transferring == {tps("t1:2")[0]: "c3", tps("t2:3")[0]: "c3", tps("t2:2")[0]: "c4"}
    owned = shown(second.assignment)
    third = sticky_assignor.assign(by_topic, members(BOTH, c4=owned["c4"], c3=owned["c3"]))
    assert shown(third.assignment) == {"c3": "t1:0,2 t2:1,3", "c4": "t1:1 t2:0,2"}
    assert not third.transferring


def test_asg_17_claims_of_two_members() -> None:
    """ASG-17."""
    by_topic = topics(t1=3)
    same = [member("c1", "t1", "t1:0,1", 3), member("c2", "t1", "t1:0,2", 3), member("c3", "t1", "t1:0", 3)]
    found = sticky_assignor.assign(by_topic, same)
    assert shown(found.assignment) == {"c1": "t1:1", "c2": "t1:2", "c3": "t1:0"}
    assert found.transferring == {tps("t1:0")[0]: "c3"}, "nobody owned it"
    older = [member("c1", "t1", "t1:0,1", 3), member("c2", "t1", "t1:0,2", 4)]
    found = sticky_assignor.assign(by_topic, older)
    assert shown(found.assignment) == {"c1": "t1:1", "c2": "t1:0,2"}
    before = sticky_assignor.assign(by_topic, older, StickyRules(claims_by_partition=False))
    assert shown(before.assignment) == {"c1": "t1:1", "c2": "t1:0,2"}
    everything = [member("c1", "t1", "t1:0,1,2", 3), member("c2", "t1", "", 4)]
    assert shown(sticky_assignor.assign(by_topic, everything).assignment)["c1"] == "t1:0,1"
    before = sticky_assignor.assign(by_topic, everything, StickyRules(claims_by_partition=False))
    assert shown(before.assignment) == {"c1": "t1:0,2", "c2": "t1:1"}, "the claim of the older generation counts for nothing"


def test_sticky_moves_a_partition_back_instead_of_another_one() -> None:
    """A newcomer takes only as many partitions as the balance needs, and members with other subscriptions keep theirs."""
    by_topic = topics(t1=4, t2=2)
    group = [member("c1", "t1", "t1:0,1,2,3", 5), member("c2", "t1 t2", "t2:0,1", 5), member("c3", "t1")]
    found = sticky_assignor.assign(by_topic, group)
    assert shown(found.assignment) == {"c1": "t1:2,3", "c2": "t2:0,1", "c3": "t1:0,1"}
    assert set(found.transferring) == set(tps("t1:0,1"))
    assert shown(sticky_assignor.cooperative_assign(by_topic, group))["c3"] == ""


def test_sticky_stops_reversing_moves_after_ten_rounds_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this group, Kafka would move the same partition back and forth endlessly."""
    squares: list[int] = []
    measured = GeneralAssignmentBuilder._sum_of_squares
    monkeypatch.setattr(GeneralAssignmentBuilder, "_sum_of_squares", lambda builder: squares.append(measured(builder)) or squares[-1])
    group = [
        member("m2-01066e", "t1", "t1:4,5,6,7,8,10,12", 5), member("nd1633e", "t0 t1", instance="i"), member("m3-a07257", "t0", "t0:3,0", 5),
        member("m1-80ca6e", "t0", "t0:1,2,4", 5), member("ncf0ba6", "t1", "t1:0,1,2,3,9,11", 5),
    ]  # fmt: skip
    found = sticky_assignor.assign(topics(t0=5, t1=13), group)
    assert sorted(sizes(found.assignment)) == [2, 3, 4, 4, 5]
    assert squares.count(74) == 1 + ROUNDS_IN_VAIN == 11, "the round that reached 74, and ten in vain"
    assert squares[-1] == 70


def test_sticky_by_release() -> None:
    """Before 3.7.1, a member that owns too much keeps what it reports first. Before 3.0, all members keep up to the maximum quota."""
    by_topic = topics(x=3, y=2)
    group = [member("c1", "x y", "y:0,1 x:0,1,2", 1), member("c2", "x y")]
    now = StickyRules()
    assert shown(sticky_assignor.assign(by_topic, group, now).assignment)["c1"] == "x:0,1 y:0"
    unsorted = now._replace(sorts_owned=False)
    assert shown(sticky_assignor.assign(by_topic, group, unsorted).assignment)["c1"] == "x:0 y:0,1"
    three = [member("c1", "x y", "x:0,1", 1), member("c2", "x y", "x:2 y:0,1", 1), member("c3", "x y")]
    assert shown(sticky_assignor.assign(by_topic, three, now).assignment) == {"c1": "x:0,1", "c2": "y:0,1", "c3": "x:2"}
    maximum = StickyRules(StickyAlgorithm.MAXIMUM_QUOTA, False, False, False)
    assert shown(sticky_assignor.assign(by_topic, three, maximum).assignment) == {"c1": "x:0,1", "c2": "x:2 y:0", "c3": "y:1"}
    general = maximum._replace(algorithm=StickyAlgorithm.GENERAL)
    assert sorted(sizes(sticky_assignor.assign(by_topic, three, general).assignment)) == [1, 2, 2]


def test_java_order_of_kafkas_test_names() -> None:
    assert hash_map_order(f"consumer{n}" for n in (1, 2, 3, 4)) == ["consumer4", "consumer3", "consumer2", "consumer1"]


def test_a_hash_map_that_is_more_than_three_quarters_full_has_twice_as_many_buckets() -> None:
    """The hash code of `0` is 48, which belongs to bucket 0 of 16 and to bucket 16 of 32. `A` belongs to bucket 1 of both."""
    assert hash_map_order([*"ABCDEFGHIJK0"]) == [*"0ABCDEFGHIJK"]
    assert hash_map_order([*"ABCDEFGHIJKL0"]) == [*"ABCDEFGHIJKL0"]


def test_sticky_keeps_what_a_member_owns_besides_a_partition_of_a_topic_that_is_gone() -> None:
    """`AbstractStickyAssignor#allSubscriptionsEqual` leaves out the one partition, and goes on with the next."""
    group = members("t1", c1="t0:0 t1:1", c2="")
    assert shown(sticky_assignor.cooperative_assign(topics(t1=2), group)) == {"c1": "t1:1", "c2": "t1:0"}
