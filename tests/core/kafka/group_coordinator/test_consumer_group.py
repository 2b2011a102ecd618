"""The state of groups with the consumer protocol: cases from Kafka's own tests (GroupMetadataManagerTest, ConsumerGroupTest,
CurrentAssignmentBuilderTest).
"""

from __future__ import annotations

from typing import Any

import pytest

from core.kafka import errors
from core.kafka.group_coordinator.consumer_group.consumer_group import ConsumerGroup
from core.kafka.group_coordinator.consumer_group.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from core.kafka.group_coordinator.consumer_group.consumer_group_member import ConsumerGroupMember, Partitions
from core.kafka.group_coordinator.consumer_group.current_assignment_builder import next_assignment
from core.kafka.group_coordinator.consumer_group.heartbeats import (
    ConsumerGroupRules,
    HeartbeatResult,
    fence_member,
    heartbeat,
    request_error,
)
from core.kafka.group_coordinator.consumer_group.member_state import ConsumerGroupState, MemberState
from core.kafka.group_coordinator.consumer_group.records import (
    EpochKey,
    EpochValue,
    PartitionMetadataKey,
    TargetEpochKey,
    TargetMemberKey,
    TargetMemberValue,
    current_assignment_record,
    member_record,
    record_bytes,
)
from core.kafka.group_coordinator.group_requests import GroupMembership
from core.kafka.release import RELEASES
from tests.core.kafka.assignors.notation import tps

STABLE, UNREVOKED, UNRELEASED = MemberState.STABLE, MemberState.UNREVOKED_PARTITIONS, MemberState.UNRELEASED_PARTITIONS


class Coordinator:
    """A group, and the topics of its cluster."""

    def __init__(self, release: str = "4.0", max_size: int = 1_000, interval: int = 0, **topics: int) -> None:
        self.topics = topics
        self.rules = ConsumerGroupRules(
            RELEASES[release], max_size, ("uniform", "range"), interval, lambda topic: self.topics.get(topic, 0)
        )
        self.group = ConsumerGroup("g", RELEASES[release].consumer_groups_begin_at)
        self.now = 0

    def beat(self, member_id: str, epoch: int, *, owned: str | None = None, **fields: Any) -> HeartbeatResult:
        """Send a heartbeat, and apply its records. To join (epoch 0), a request is full."""
        if epoch == 0:
            fields = {"rebalance_timeout": 300, "topics": ("foo", "bar"), **fields}
            owned = owned or ""
        request = ConsumerGroupHeartbeatRequest(0, "c", "g", member_id, epoch, owned=None if owned is None else tps(owned), **fields)
        error = request_error(request, self.rules.assignors)
        if error != errors.NONE:
            return HeartbeatResult(error)
        result = heartbeat(self.group, request, self.rules, self.now)
        self.group.replay_all(result.records)
        if result.assigned:
            self.group.assigned_at = self.now
        return result

    def put(self, member: ConsumerGroupMember, target: str) -> None:
        """Add a member with its target assignment, as if it were loaded from the log."""
        self.group.replay_all([member_record("g", member), (TargetMemberKey("g", member.member_id), TargetMemberValue(tps(target)))])
        self.group.replay_all([current_assignment_record("g", member)])

    def at_epoch(self, epoch: int) -> None:
        """Set the epochs of the group and of its target assignment."""
        subscribed = sorted({topic for member in self.group.members.values() for topic in member.topics})
        metadata = tuple((topic, self.topics[topic]) for topic in subscribed if self.topics.get(topic))
        self.group.replay_all([(EpochKey("g"), EpochValue(epoch, metadata)), (TargetEpochKey("g"), epoch)])


def member(member_id: str, epoch: int, assigned: str, topics: str = "bar foo", **fields: Any) -> ConsumerGroupMember:
    return ConsumerGroupMember(
        member_id, "c", tuple(topics.split()), 300, epoch=epoch, previous_epoch=epoch, assigned=tuple(sorted(tps(assigned))), **fields
    )


def told(result: HeartbeatResult) -> tuple[int, MemberState, str | None]:
    """Return the epoch and the state of the member after a heartbeat, and the assignment in the response."""
    assert result.error == errors.NONE
    assert result.member is not None
    return result.member.epoch, result.member.state, None if result.assignment is None else short(result.assignment)


def short(assigned: Partitions) -> str:
    by_topic: dict[str, list[str]] = {}
    for tp in assigned:
        by_topic.setdefault(tp.topic, []).append(str(tp.partition))
    return " ".join(f"{topic}:{','.join(numbers)}" for topic, numbers in by_topic.items())


def kinds(result: HeartbeatResult) -> list[str]:
    """Return the records of a heartbeat in short form: their keys, with a minus sign for tombstones."""
    return [("-" if value is None else "") + type(key).__name__.removesuffix("Key") for key, value in result.records]


# --- heartbeats ----------------------------------------------------------------------------------------------------


def test_cgn_01_reconciliation_of_three_members() -> None:
    """CGN-01."""
    cluster = Coordinator(foo=6, bar=3)
    cluster.put(member("m1", 10, "foo:0,1,2 bar:0,1"), "foo:0,1,2 bar:0,1")
    cluster.put(member("m2", 10, "foo:3,4,5 bar:2"), "foo:3,4,5 bar:2")
    cluster.at_epoch(10)
    targets = {"m1": "foo:0,1 bar:0", "m2": "foo:2,3 bar:2", "m3": "foo:4,5 bar:1"}

    joined = cluster.beat("m3", 0)
    assert told(joined) == (11, UNRELEASED, "")
    # Kafka's test prescribes the target assignment; the assignor would choose another one.
    cluster.group.replay_all((TargetMemberKey("g", name), TargetMemberValue(tuple(sorted(tps(text))))) for name, text in targets.items())
    assert cluster.group.state() is ConsumerGroupState.RECONCILING
    assert told(cluster.beat("m1", 10)) == (10, UNREVOKED, "bar:0 foo:0,1")
    assert short(cluster.group.members["m1"].pending_revocation) == "bar:1 foo:2"
    assert told(cluster.beat("m2", 10)) == (10, UNREVOKED, "bar:2 foo:3")
    assert told(cluster.beat("m3", 11)) == (11, UNRELEASED, None)
    assert told(cluster.beat("m1", 10, owned="foo:0,1 bar:0")) == (11, STABLE, None)
    assert told(cluster.beat("m2", 10)) == (10, UNREVOKED, None)
    assert told(cluster.beat("m3", 11)) == (11, UNRELEASED, "bar:1")
    assert told(cluster.beat("m2", 10, owned="foo:3 bar:2")) == (11, STABLE, "bar:2 foo:2,3")
    assert cluster.group.state() is ConsumerGroupState.RECONCILING
    assert told(cluster.beat("m3", 11, owned="bar:1")) == (11, STABLE, "bar:1 foo:4,5")
    assert cluster.group.state() is ConsumerGroupState.STABLE
    assert {name: short(each.assigned) for name, each in cluster.group.members.items()} == {
        "m1": "bar:0 foo:0,1",
        "m2": "bar:2 foo:2,3",
        "m3": "bar:1 foo:4,5",
    }


@pytest.mark.parametrize(
    ("epoch", "owned", "error"),
    [
        (200, None, errors.FENCED_MEMBER_EPOCH),
        (50, None, errors.FENCED_MEMBER_EPOCH),
        (99, None, errors.FENCED_MEMBER_EPOCH),
        (99, "foo:1,2", errors.NONE),
        (99, "foo:1,2,4", errors.FENCED_MEMBER_EPOCH),
    ],
)
def test_cgn_02_member_epochs(epoch: int, owned: str | None, error: str) -> None:
    """CGN-02."""
    cluster = Coordinator(foo=6)
    cluster.put(member("m", 100, "foo:1,2,3", "foo")._replace(previous_epoch=99), "foo:1,2,3")
    cluster.at_epoch(100)
    result = cluster.beat("m", epoch, owned=owned)
    assert result.error == error
    assert error != errors.NONE or told(result) == (100, STABLE, None)


def test_cgn_05_new_subscription_and_a_member_that_leaves() -> None:
    """CGN-05."""
    cluster = Coordinator(foo=6, bar=3)
    cluster.put(member("m", 10, "foo:0,1,2,3,4,5", "foo"), "foo:0,1,2,3,4,5")
    cluster.at_epoch(10)
    assert told(cluster.beat("m", 10, topics=("foo", "bar"))) == (11, STABLE, "bar:0,1,2 foo:0,1,2,3,4,5")
    assert cluster.group.epoch == 11

    cluster = Coordinator(foo=3, zar=1)
    cluster.put(member("m1", 10, "foo:0,1,2", "foo"), "foo:0,1,2")
    cluster.put(member("m2", 10, "zar:0", "zar"), "zar:0")
    cluster.at_epoch(10)
    left = cluster.beat("m2", -1)
    assert told(left)[0] == -1
    assert kinds(left) == ["-CurrentAssignment", "-TargetMember", "-Member", "PartitionMetadata", "Epoch"]
    assert (cluster.group.epoch, cluster.group.assignment_epoch, cluster.group.state()) == (11, 10, ConsumerGroupState.ASSIGNING)
    assert told(cluster.beat("m1", 10)) == (11, STABLE, None)
    assert (cluster.group.assignment_epoch, cluster.group.state()) == (11, ConsumerGroupState.STABLE)


def test_cgn_09_static_member_that_leaves_for_a_while() -> None:
    """CGN-09."""
    cluster = Coordinator(foo=6, bar=3)
    cluster.put(member("m1", 10, "foo:0,1,2", "foo"), "foo:0,1,2")
    cluster.put(member("m2", 10, "foo:3,4,5 bar:0,1,2", instance_id="i2"), "foo:3,4,5 bar:0,1,2")
    cluster.at_epoch(10)
    left = cluster.beat("m2", -2, instance_id="i2")
    assert (told(left)[0], kinds(left)) == (-2, ["CurrentAssignment"])
    assert cluster.group.epoch == 10
    assert told(cluster.beat("m1", 10)) == (10, STABLE, None), "the partitions stay reserved"

    back = cluster.beat("m2-again", 0, instance_id="i2")
    assert told(back) == (10, STABLE, "bar:0,1,2 foo:3,4,5")
    assert (cluster.group.epoch, list(cluster.group.members)) == (10, ["m1", "m2-again"])
    assert cluster.group.state() is ConsumerGroupState.STABLE

    cluster.beat("m2-again", -2, instance_id="i2")
    other = cluster.beat("m2-third", 0, instance_id="i2", topics=("bar",))
    assert told(other) == (11, STABLE, "bar:0,1,2")
    assert cluster.group.epoch == 11


def test_cgn_10_static_members_that_are_refused() -> None:
    """CGN-10."""
    cluster = Coordinator(foo=6)
    cluster.put(member("m", 10, "foo:0,1,2,3,4,5", "foo", instance_id="i"), "foo:0,1,2,3,4,5")
    cluster.at_epoch(10)
    assert cluster.beat("other", 0, instance_id="i").error == errors.UNRELEASED_INSTANCE_ID
    assert cluster.beat("other", 10, instance_id="i").error == errors.FENCED_INSTANCE_ID
    assert cluster.beat("other", -1, instance_id="i").error == errors.FENCED_INSTANCE_ID
    assert cluster.beat("m", 10, instance_id="unknown").error == errors.UNKNOWN_MEMBER_ID
    assert cluster.beat("other", 10).error == errors.UNKNOWN_MEMBER_ID
    assert cluster.beat("other", -1).error == errors.UNKNOWN_MEMBER_ID
    left = cluster.beat("m", -1, instance_id="i")
    assert kinds(left) == ["-CurrentAssignment", "-TargetMember", "-Member", "PartitionMetadata", "Epoch"]
    assert (cluster.group.epoch, cluster.group.members, cluster.group.static_members, cluster.group.partition_epochs) == (11, {}, {}, {})


def test_cgn_07_cgn_10_a_member_whose_session_ends() -> None:
    """CGN-07 and CGN-10: The same for a dynamic member and for a static member that left for a while. The coordinator handles the timers."""
    cluster = Coordinator("4.1", foo=6, bar=3)
    cluster.beat("m", 0, instance_id="i")
    cluster.beat("m", -2, instance_id="i")
    records = fence_member(cluster.group, cluster.group.members["m"], cluster.rules)
    assert kinds(HeartbeatResult(errors.NONE, records)) == ["-CurrentAssignment", "-TargetMember", "-Member", "Epoch"]
    cluster.group.replay_all(records)
    assert (cluster.group.epoch, cluster.group.metadata, cluster.group.state()) == (2, (), ConsumerGroupState.EMPTY)
    assert cluster.group.assignment_epoch == 1, "the target assignment stays behind"


def test_cgn_11_full_group() -> None:
    """CGN-11."""
    cluster = Coordinator(max_size=2, foo=6, bar=3)
    cluster.beat("m1", 0)
    cluster.beat("m2", 0)
    assert cluster.beat("m3", 0) == HeartbeatResult(errors.GROUP_MAX_SIZE_REACHED)
    assert cluster.beat("m2", 0).error == errors.NONE
    assert len(cluster.group.members) == 2


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"topics": ()}, errors.INVALID_REQUEST),
        ({"rebalance_timeout": None}, errors.INVALID_REQUEST),
        ({"owned": "foo:0"}, errors.INVALID_REQUEST),
        ({"assignor": "sticky"}, errors.UNSUPPORTED_ASSIGNOR),
        ({"assignor": "range"}, errors.NONE),
    ],
)
def test_requests_to_join_are_complete(fields: dict[str, Any], error: str) -> None:
    assert Coordinator(foo=1, bar=1).beat("m", 0, **fields).error == error


def test_other_requests_that_no_group_accepts() -> None:
    cluster = Coordinator(foo=1)
    assert cluster.beat("", 4).error == errors.INVALID_REQUEST
    assert cluster.beat("m", -2).error == errors.INVALID_REQUEST
    assert cluster.beat("m", -3).error == errors.INVALID_REQUEST


def test_topics_that_grow_appear_or_vanish_change_the_group_epoch() -> None:
    cluster = Coordinator(foo=2)
    assert told(cluster.beat("m", 0)) == (1, STABLE, "foo:0,1")
    cluster.topics["foo"] = 3
    assert told(cluster.beat("m", 1)) == (2, STABLE, "foo:0,1,2")
    cluster.topics["bar"] = 1
    assert told(cluster.beat("m", 2)) == (3, STABLE, "bar:0 foo:0,1,2")
    del cluster.topics["foo"]
    assert told(cluster.beat("m", 3)) == (3, UNREVOKED, "bar:0")
    assert told(cluster.beat("m", 3, owned="bar:0")) == (4, STABLE, None)


def test_most_members_choose_the_assignor() -> None:
    cluster = Coordinator(foo=2, bar=2)
    assert told(cluster.beat("m1", 0, assignor="range")) == (1, STABLE, "bar:0,1 foo:0,1")
    cluster.beat("m2", 0, assignor="range")
    assert short(cluster.group.target["m1"]) == "bar:0 foo:0"
    assert short(cluster.group.target["m2"]) == "bar:1 foo:1"


def test_4_3_computes_at_most_one_target_assignment_in_an_interval() -> None:
    """A member that joins within group.consumer.assignment.interval.ms gets the former epoch and nothing. The first epoch is 2."""
    cluster = Coordinator("4.3", interval=1_000, foo=6, bar=0)
    assert told(cluster.beat("c1", 0)) == (2, STABLE, "foo:0,1,2,3,4,5")
    cluster.now = 300
    assert told(cluster.beat("c2", 0)) == (2, STABLE, "")
    assert (cluster.group.epoch, cluster.group.assignment_epoch, cluster.group.state()) == (3, 2, ConsumerGroupState.ASSIGNING)
    assert told(cluster.beat("c2", 2)) == (2, STABLE, None)
    cluster.now = 1_000
    assert told(cluster.beat("c2", 2)) == (3, UNRELEASED, None)
    assert told(cluster.beat("c1", 2)) == (2, UNREVOKED, "foo:0,1,2")


def test_off_commits_and_fetches_name_the_member_epoch() -> None:
    group = Coordinator(foo=6, bar=3)
    assert group.group.commit_error(GroupMembership()) == errors.NONE, "the group is empty"
    group.beat("m", 0)
    assert group.group.commit_error(GroupMembership("m", 1)) == errors.NONE
    assert group.group.commit_error(GroupMembership("m", 0)) == errors.STALE_MEMBER_EPOCH
    assert group.group.commit_error(GroupMembership("other", 1)) == errors.UNKNOWN_MEMBER_ID
    assert group.group.commit_error(GroupMembership()) == errors.UNKNOWN_MEMBER_ID
    assert group.group.fetch_error(GroupMembership()) == errors.NONE
    assert group.group.fetch_error(GroupMembership("other", 1)) == errors.UNKNOWN_MEMBER_ID
    assert group.group.fetch_error(GroupMembership("m", 10)) == errors.STALE_MEMBER_EPOCH


# --- CurrentAssignmentBuilder --------------------------------------------------------------------------------------


def step(before: ConsumerGroupMember, epoch: int, target: str, owned: str | None = None, taken: str = "") -> tuple[Any, ...]:
    """Return the member after a step: its epochs, its state, and its partitions. The partitions in `taken` have another owner at epoch 10."""
    held = frozenset(tps(taken))
    after = next_assignment(
        before, epoch, tuple(sorted(tps(target))), lambda tp: 10 if tp in held else -1, None if owned is None else tps(owned)
    )
    return after.epoch, after.previous_epoch, after.state, short(after.assigned), short(after.pending_revocation)


SIX = "t1:1,2,3 t2:4,5,6"
KEPT = "t1:2,3 t2:5,6"


def test_cgn_12_from_stable() -> None:
    """CGN-12."""
    stable = member("m", 10, SIX)
    more = "t1:1,2,3,4 t2:4,5,6,7"
    assert step(stable, 10, more) == (10, 10, STABLE, SIX, "")
    assert step(stable, 11, SIX) == (11, 10, STABLE, SIX, "")
    assert step(stable, 11, more) == (11, 10, STABLE, more, "")
    assert step(stable, 11, more, taken="t1:4 t2:7") == (11, 10, UNRELEASED, SIX, "")
    assert step(stable, 11, more, taken="t1:4") == (11, 10, UNRELEASED, "t1:1,2,3 t2:4,5,6,7", "")


def test_cgn_13_to_unrevoked() -> None:
    """CGN-13."""
    stable = member("m", 10, SIX)
    target = "t1:2,3,4 t2:5,6,7"
    assert step(stable, 11, target) == (10, 10, UNREVOKED, KEPT, "t1:1 t2:4")
    assert step(stable, 11, target, owned=KEPT, taken="t1:4 t2:7") == (11, 10, UNRELEASED, KEPT, "")


def test_cgn_14_from_unrevoked() -> None:
    """CGN-14."""
    unrevoked = member("m", 10, KEPT, state=UNREVOKED, pending_revocation=tps("t1:1 t2:4"))
    target = "t1:2,3 t2:5,6"
    same = (10, 10, UNREVOKED, KEPT, "t1:1 t2:4")
    assert step(unrevoked, 11, target) == same
    assert step(unrevoked, 11, target, owned="t1:1,2,3 t2:5,6") == same
    assert step(unrevoked, 11, target, owned="t1:2,3 t2:4,5,6") == same
    assert step(unrevoked, 11, target, owned=KEPT) == (11, 10, STABLE, KEPT, "")
    assert step(unrevoked, 11, "t1:2,3,4 t2:5,6,7", owned=KEPT, taken="t1:4 t2:7") == (11, 10, UNRELEASED, KEPT, "")
    assert step(unrevoked, 12, "t1:3 t2:6", owned=KEPT) == (11, 10, UNREVOKED, "t1:3 t2:6", "t1:2 t2:5")


def test_cgn_15_from_unreleased() -> None:
    """CGN-15: In Kafka, a downgraded coordinator can find a member in an unknown state. This does not occur here, because a coordinator knows all
    states.
    """
    unreleased = member("m", 11, KEPT, state=UNRELEASED)
    assert step(unreleased, 12, KEPT) == (12, 11, STABLE, KEPT, "")
    waits = step(unreleased, 11, "t1:2,3,4 t2:5,6,7", taken="t1:4 t2:7")
    assert waits == (11, 11, UNRELEASED, KEPT, "")
    assert step(unreleased, 12, "t1:3 t2:6") == (11, 11, UNREVOKED, "t1:3 t2:6", "t1:2 t2:5")


def test_cgn_16_waiting_for_unreleased_partitions() -> None:
    """CGN-16."""
    cluster = Coordinator(foo=4, zar=10)
    waiting = member("m1", 10, "foo:1,2,3", "foo zar", state=UNRELEASED)
    cluster.put(waiting, "foo:1,2,3 zar:7,8,9")
    cluster.at_epoch(10)
    assert not cluster.group.waits_for_unreleased_partition(waiting)
    cluster.put(member("m2", 10, "", "foo zar", pending_revocation=tps("zar:7"), state=UNREVOKED), "")
    assert cluster.group.waits_for_unreleased_partition(waiting), "it still counts as owned"
    assert not cluster.group.waits_for_unreleased_partition(cluster.group.members["m2"])


def test_the_size_of_metadata_grows_with_the_topics() -> None:
    """Each topic of the subscription metadata counts 8 bytes. A tombstone counts 6."""
    key = PartitionMetadataKey("g")
    sizes = [record_bytes((key, value)) for value in ((), (("a", 1),), (("a", 1), ("b", 2)), None)]
    assert [size - sizes[0] for size in sizes] == [0, 8, 16, 6]
