"""The classic protocol, case by case: the vectors GRP, from Kafka's own tests. Times are in ms."""

from __future__ import annotations

import pytest

from core.kafka import errors, events
from core.kafka.group_coordinator.append_errors import APPEND_ERRORS
from core.kafka.group_coordinator.classic_group.classic_group import ClassicGroup
from core.kafka.group_coordinator.classic_group.classic_group_member import ClassicGroupMember
from core.kafka.group_coordinator.classic_group.classic_group_messages import Subscription
from core.kafka.group_coordinator.classic_group.group_state import GroupState
from core.kafka.transaction.transaction_log import java_hash, partition_for
from core.lab import acts
from core.sim.units import SECOND
from tests.core.kafka.group_coordinator.raw_members import Group, Member

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState


def test_grp_01_the_partition_of_a_group() -> None:
    """GRP-01."""
    assert java_hash("foo") == 101574
    assert [partition_for(name, 50) for name in ("foo", "g", "orders", "billing", "Aa", "BB")] == [24, 3, 31, 9, 12, 12]
    assert partition_for("foo", 10) == 4


def test_grp_02_a_new_member_first_gets_an_id() -> None:
    """GRP-02."""
    group = Group()
    response = group.member("m1").first_join()
    assert response.error == errors.MEMBER_ID_REQUIRED
    assert response.member_id.startswith("m1-")
    assert (group.state.state, len(group.state.members), len(group.state.pending_members)) == (EMPTY, 0, 1)
    old = Group("2.1")
    assert old.member("m1").first_join() is None
    assert old.state.state is PREPARING


def test_grp_04_a_newcomer_extends_the_initial_delay() -> None:
    """GRP-04."""
    group = Group()
    first, second = (group.member(name, rebalance=9000) for name in ("m1", "m2"))
    began = group.cluster.now
    one = first.join()
    group.cluster.run_until(began + 2_990_000)
    two = second.join()
    group.cluster.run_until(began + 4_502_000)
    assert first.answer(one) is second.answer(two) is None
    group.cluster.run_until(began + 6_030_000)
    assert first.joined(one).generation == second.joined(two).generation == 1


def test_grp_05_the_initial_delay_ends_with_the_rebalance_timeout() -> None:
    """GRP-05."""
    group = Group()
    members = [group.member(name, rebalance=6000) for name in ("m1", "m2", "m3")]
    began = group.cluster.now
    numbers = [members[0].join(), members[1].join()]
    group.cluster.run_until(began + 3_025_000)
    numbers.append(members[2].join())
    group.cluster.run_until(began + 6_000_000)
    assert all(member.answer(number) is None for member, number in zip(members, numbers, strict=True))
    group.cluster.run_until(began + 6_050_000)
    assert [member.joined(number).generation for member, number in zip(members, numbers, strict=True)] == [1, 1, 1]


def test_newcomers_extend_the_initial_delay_up_to_the_rebalance_timeout() -> None:
    """`#tryCompleteInitialRebalanceElseSchedule`: with 10 s, rounds of 3 s end at 3, 6, and 9 s, and the last one at 10 s."""
    group = Group()
    began, numbers, members = group.cluster.now, [], [group.member(f"m{number}", rebalance=10_000) for number in range(4)]
    for member, joins in zip(members, (0, 2_500_000, 5_500_000, 8_500_000), strict=True):
        group.cluster.run_until(began + joins)
        numbers.append(member.join())
    group.cluster.run_until(began + 10_000_000)
    assert all(member.answer(number) is None for member, number in zip(members, numbers, strict=True))
    group.cluster.run_until(began + 10_050_000)
    assert [member.joined(number).generation for member, number in zip(members, numbers, strict=True)] == [1] * 4


def test_grp_06_a_new_member_waits_five_minutes_at_most() -> None:
    """GRP-06."""
    group = Group()
    first, second = group.member("m1", session=305_000, rebalance=600_000), group.member("m2", rebalance=5000)
    group.form(first)
    began = group.cluster.now
    number = second.join()
    group.cluster.run_until(began + 299_000_000)
    assert second.answer(number) is None, "its session does not matter"
    group.cluster.run_until(began + 300_100_000)
    assert second.answer(number).error == errors.UNKNOWN_MEMBER_ID
    assert list(group.state.members) == [first.member_id]


def test_grp_07_a_pending_member_expires() -> None:
    """GRP-07."""
    group = Group()
    group.member("m1", session=1000).first_join()
    group.cluster.run_until(group.cluster.now + 1_001_000)
    assert (group.state.pending_members, group.state.state) == ({}, EMPTY)


def test_grp_08_the_largest_size_of_a_group() -> None:
    """GRP-08 with a maximum of 2 members: of three pending members, one fails, and a stable group accepts no further members."""
    group = Group(group_max_size=2)
    members = [group.member(f"m{number}") for number in range(3)]
    for member in members:
        member.member_id = member.first_join().member_id
    assert len(group.state.pending_members) == 3
    numbers = [member.join() for member in members]
    group.cluster.run_until(group.cluster.now + 7 * SECOND)
    answers = [member.answer(number).error for member, number in zip(members, numbers, strict=True)]
    assert answers == [errors.NONE, errors.NONE, errors.GROUP_MAX_SIZE_REACHED]
    for member, number in zip(members[:2], numbers[:2], strict=True):
        member.joined(number)
    group.sync(*members[:2])
    assert group.member("m9").first_join().error == errors.GROUP_MAX_SIZE_REACHED


def loaded(session: int = 5000, count: int = 2, **settings: object) -> tuple[Group, list[Member]]:
    """Create a group with members, and let another broker load it."""
    group = Group(broker_session_timeout_ms=4000)
    members = [group.member(f"m{number}", session=60_000) for number in range(count)]
    for member in members:
        member.session = session + 60_000  # longer than the fail-over
    group.form(*members)
    for name, value in settings.items():
        group.cluster.do(acts.Set(name.replace("_", "."), str(value), force=True))
    leader = group.broker
    group.cluster.do(acts.Kill(leader))
    while group.broker == leader:
        group.cluster.run_until(group.cluster.now + 100_000)
        for broker in (1, 2, 3):
            if broker != leader and 0 in group.cluster.brokers[broker].groups.groups.caches:
                group.broker = broker
    return group, members


def test_grp_09_and_grp_10_a_loaded_group_that_is_too_large_rebalances() -> None:
    """GRP-09: the first members that rejoin stay. GRP-10: both stay until they rejoin."""
    group, members = loaded(count=3, group_max_size=2)
    assert (group.state.state, len(group.state.members)) == (PREPARING, 3)
    numbers = [member.join() for member in members]
    group.cluster.run_until(group.cluster.now + 100_000)
    answers = [member.answer(number).error for member, number in zip(members, numbers, strict=True)]
    assert answers == [errors.NONE, errors.NONE, errors.GROUP_MAX_SIZE_REACHED]


def test_grp_11_sessions_begin_anew_at_the_load() -> None:
    """GRP-11."""
    group, _ = loaded()
    now = group.cluster.now
    assert group.state.state is STABLE
    for member in group.state.members.values():
        assert now + 64_800_000 < member.deadline <= now + 65_000_000


def voter(name: str, *protocols: str) -> ClassicGroupMember:
    return ClassicGroupMember(name, "", name, 5000, 5000, tuple((protocol, Subscription(("foo",))) for protocol in protocols))


def test_grp_12_the_choice_of_the_assignor() -> None:
    """GRP-12."""
    group = ClassicGroup("g")
    with pytest.raises(ValueError, match="empty group"):
        group.select_protocol()
    group.add(voter("m1", "range", "roundrobin"))
    group.add(voter("m2", "roundrobin", "range"))
    assert group.select_protocol() in ("range", "roundrobin")
    group.add(voter("m3", "roundrobin", "range"))
    assert group.select_protocol() == "roundrobin"
    group.add(voter("m4", "range", "sticky"))
    assert group.select_protocol() == "range", "only what all support"


def test_grp_13_transitions() -> None:
    """GRP-13."""
    legal = {
        (STABLE, PREPARING), (STABLE, DEAD), (COMPLETING, PREPARING), (COMPLETING, STABLE), (COMPLETING, DEAD), (PREPARING, EMPTY),
        (PREPARING, COMPLETING), (PREPARING, DEAD), (EMPTY, PREPARING), (EMPTY, DEAD), (DEAD, DEAD),
    }  # fmt: skip
    for source in GroupState:
        for target in GroupState:
            group = ClassicGroup("g")
            group.state = source
            assert group.can_transition_to(target) is ((source, target) in legal), (source, target)
    group = ClassicGroup("g")
    with pytest.raises(ValueError, match="Empty"):
        group.transition_to(STABLE, 0)


def test_grp_14_who_can_rejoin_without_a_rebalance() -> None:
    """GRP-14."""
    told: list[tuple] = []
    group = Group(sink=told.append)
    members = [group.member("m1"), group.member("m2")]
    group.form(*members)
    leader = next(member for member in members if member.member_id == group.state.leader)
    follower = next(member for member in members if member is not leader)
    number = follower.join()
    group.cluster.run_until(group.cluster.now + 10_000)
    assert (follower.joined(number).generation, group.state.state) == (1, STABLE)
    number, _ = leader.join(), follower.join()
    group.cluster.run_until(group.cluster.now + 10_000)
    assert leader.joined(number).generation == 2
    members[0].generation = members[1].generation = 2
    group.sync(*members)
    follower.topics = ("foo", "bar")
    follower.join()
    group.cluster.run_until(group.cluster.now + 10_000)
    assert group.state.state is PREPARING
    reasons = [event[8] for event in told if event[3] == events.GroupRebalancing.kind]
    assert reasons[-2:] == [f"{leader.member_id} is the leader and joined again", f"{follower.member_id} has another subscription"]


def test_grp_15_answers_to_heartbeats() -> None:
    """GRP-15."""
    group = Group()
    first, second = group.member("m1"), group.member("m2")
    first.member_id, first.generation = "nobody", 1
    assert first.heartbeat() == errors.UNKNOWN_MEMBER_ID, "no such group"
    first.member_id = ""
    group.form(first)
    assert first.heartbeat() == errors.NONE
    assert first.heartbeat(2) == errors.ILLEGAL_GENERATION
    number = second.join()
    group.cluster.run_until(group.cluster.now + 10_000)
    assert (group.state.state, first.heartbeat()) == (PREPARING, errors.REBALANCE_IN_PROGRESS)
    again = first.join()
    group.cluster.run_until(group.cluster.now + 10_000)
    first.joined(again)
    second.joined(number)
    assert (group.state.state, first.heartbeat()) == (COMPLETING, errors.NONE)
    group.sync(first, second)
    assert group.state.state is STABLE
    assert {first.leave().error, second.leave().error} == {errors.NONE}
    assert (group.state.state, first.heartbeat()) == (EMPTY, errors.UNKNOWN_MEMBER_ID)
    group.state.state = DEAD
    assert first.heartbeat() == errors.COORDINATOR_NOT_AVAILABLE


def test_grp_15_older_brokers_refuse_heartbeats_before_the_sync() -> None:
    """GRP-15."""
    group = Group("2.4")
    member = group.member("m1")
    number = member.join()
    group.cluster.run_until(group.cluster.now + 3_100_000)
    member.joined(number)
    assert member.heartbeat() == errors.REBALANCE_IN_PROGRESS


def test_grp_16_heartbeats_keep_a_session() -> None:
    """GRP-16."""
    group = Group()
    member = group.member("m1")
    group.form(member)
    for _ in range(2):
        group.cluster.run_until(group.cluster.now + 2_500_000)
        assert member.heartbeat() == errors.NONE
    group.cluster.run_until(group.cluster.now + 4_990_000)
    assert len(group.state.members) == 1
    group.cluster.run_until(group.cluster.now + 20_000)
    assert (group.state.state, len(group.state.members)) == (EMPTY, 0)
    assert member.heartbeat() == errors.UNKNOWN_MEMBER_ID


def test_grp_17_a_session_ends_during_a_rebalance() -> None:
    """GRP-17."""
    group = Group()
    first, second = group.member("m1"), group.member("m2")
    group.form(first)
    began = group.cluster.now
    number = second.join()
    group.cluster.run_until(began + 2_500_000)
    assert first.heartbeat() == errors.REBALANCE_IN_PROGRESS
    group.cluster.run_until(began + 7_450_000)
    assert second.answer(number) is None
    group.cluster.run_until(began + 7_550_000)
    assert second.joined(number).generation == 2
    assert second.answer(number).leader == second.member_id
    assert list(group.state.members) == [second.member_id]


def test_grp_18_a_leader_that_does_not_sync() -> None:
    """GRP-18: the follower's SyncGroup fails when the leader expires, and the group rebalances."""
    group = Group()
    members = [group.member("m1"), group.member("m2")]
    numbers = [member.join() for member in members]
    group.cluster.run_until(group.cluster.now + 7 * SECOND)
    for member, number in zip(members, numbers, strict=True):
        member.joined(number)
    follower = next(member for member in members if member.member_id != group.state.leader)
    number = follower.sync()
    group.cluster.run_until(group.cluster.now + 5_100_000)
    assert follower.answer(number).error == errors.REBALANCE_IN_PROGRESS
    assert group.state.state is PREPARING


def test_grp_19_members_that_do_not_sync_are_removed() -> None:
    """GRP-19."""
    group = Group()
    members = [group.member(f"m{number}", session=9000, rebalance=5000) for number in range(3)]
    numbers = [member.join() for member in members]
    group.cluster.run_until(group.cluster.now + 5_500_000)
    for member, number in zip(members, numbers, strict=True):
        member.joined(number)
    leader = next(member for member in members if member.member_id == group.state.leader)
    leader.sync(leads=True)
    began = group.state.state_timestamp
    group.cluster.run_until(began + 4_900_000)
    assert len(group.state.members) == 3
    group.cluster.run_until(began + 5_600_000)
    assert list(group.state.members) == [leader.member_id]
    assert (group.state.state, leader.heartbeat()) == (PREPARING, errors.REBALANCE_IN_PROGRESS)


def test_grp_20_and_grp_22_a_static_member_that_does_not_rejoin_stays() -> None:
    """GRP-20: it stays until its session ends. GRP-22: if it was the leader, another member leads."""
    group = Group()
    static, other = group.member("m1", instance="host-1", session=20_000, rebalance=5000), group.member("m2", rebalance=5000)
    group.form(static)
    number = other.join()
    group.cluster.run_until(group.cluster.now + 5_100_000)
    assert other.joined(number).generation == 2
    assert group.state.leader == other.member_id
    assert set(group.state.members) == {static.member_id, other.member_id}
    assert static.heartbeat() == errors.ILLEGAL_GENERATION
    other.sync(leads=True)
    for _ in range(6):
        group.cluster.run_until(group.cluster.now + 3_000_000)
        if other.heartbeat() == errors.REBALANCE_IN_PROGRESS:
            break
    group.cluster.run_until(group.cluster.now + 500_000)
    assert static.member_id not in group.state.members


def test_grp_23_a_static_member_gets_its_place_back() -> None:
    """GRP-23."""
    group = Group()
    old = group.member("m1", instance="host-1")
    group.form(old)
    new = group.member("m2", instance="host-1")
    number = new.join()
    group.cluster.run_until(group.cluster.now + 50_000)
    response = new.joined(number)
    assert (response.generation, response.skip_assignment, group.state.state) == (1, True, STABLE)
    assert new.member_id != old.member_id
    assert list(group.state.members) == [new.member_id]
    number = new.sync()
    group.cluster.run_until(group.cluster.now + 10_000)
    assert [str(tp) for tp in new.answer(number).assignment] == ["foo-0"]
    changed = group.member("m3", instance="host-1", protocols=("roundrobin", "range"))
    number = changed.join()
    group.cluster.run_until(group.cluster.now + 50_000)
    assert changed.joined(number).generation == 2, "another assignor means a rebalance"
    third = group.member("m4", instance="host-1", protocols=("roundrobin", "range"))
    assert group.state.state is COMPLETING
    number = third.join()
    group.cluster.run_until(group.cluster.now + 50_000)
    assert third.joined(number).generation == 3


def test_grp_23_before_kip_814_a_returning_leader_becomes_a_follower() -> None:
    """GRP-23."""
    group = Group("2.8")
    old = group.member("m1", instance="host-1")
    group.form(old)
    number = (new := group.member("m2", instance="host-1")).join()
    group.cluster.run_until(group.cluster.now + 50_000)
    response = new.joined(number)
    assert (response.leader, response.skip_assignment) == (old.member_id, False)


def test_grp_24_the_old_process_of_a_static_member_is_fenced() -> None:
    """GRP-24."""
    group = Group()
    old = group.member("m1", instance="host-1")
    group.form(old)
    group.member("m2", instance="host-1").join()
    group.cluster.run_until(group.cluster.now + 50_000)
    answers = [old.heartbeat(), old.commit(), old.leave().members[0]]
    number, sync = old.join(), old.sync()
    group.cluster.run_until(group.cluster.now + 50_000)
    answers += [old.answer(number).error, old.answer(sync).error]
    assert set(answers) == {errors.FENCED_INSTANCE_ID}
    old.instance = "host-9"
    assert old.heartbeat() == errors.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("comes", [False, True])
def test_grp_26_a_pending_member_keeps_the_join_phase_open(comes: bool) -> None:
    """GRP-26."""
    group = Group()
    members = [group.member("m1", session=30_000), group.member("m2", session=30_000)]
    group.form(*members)
    began = group.cluster.now
    third = group.member("m3", session=2500)
    third.member_id = third.first_join().member_id
    leader = next(member for member in members if member.member_id == group.state.leader)
    follower = next(member for member in members if member is not leader)
    numbers = [leader.join(), follower.join()]
    group.cluster.run_until(began + 2_000_000)
    assert leader.answer(numbers[0]) is None
    if comes:
        third.join()
    group.cluster.run_until(began + 3_000_000)
    assert leader.joined(numbers[0]).generation == 2
    assert len(group.state.members) == 2 + comes


def test_grp_27_leaving() -> None:
    """GRP-27."""
    told: list[tuple] = []
    group = Group(sink=told.append)
    dynamic, static = group.member("m1"), group.member("m2", instance="host-1")
    assert dynamic.leave(("nobody", "")).error == errors.UNKNOWN_MEMBER_ID, "no such group"
    group.form(dynamic, static)
    pending = group.member("m3").first_join().member_id
    response = dynamic.leave(("", "host-9"), ("wrong", "host-1"), (pending, ""))
    assert response.members == (errors.UNKNOWN_MEMBER_ID, errors.FENCED_INSTANCE_ID, errors.NONE)
    assert (group.state.pending_members, group.state.generation) == ({}, 1)
    assert dynamic.leave(("", "host-1"), (dynamic.member_id, "")).members == (errors.NONE, errors.NONE)
    removed = [event[6:] for event in told if event[3] == events.GroupMemberRemoved.kind]
    assert removed == [(pending, "left", 2), (static.member_id, "removed", 1), (dynamic.member_id, "left", 0)]
    group.cluster.run_until(group.cluster.now + 50_000)
    assert (group.state.state, group.state.generation) == (EMPTY, 2)


def test_grp_28_errors_of_the_log() -> None:
    """GRP-28: RECORD_LIST_TOO_LARGE and INVALID_FETCH_SIZE do not occur here."""
    assert APPEND_ERRORS[errors.UNKNOWN_TOPIC_OR_PARTITION] == errors.COORDINATOR_NOT_AVAILABLE
    assert APPEND_ERRORS[errors.NOT_ENOUGH_REPLICAS] == errors.COORDINATOR_NOT_AVAILABLE
    assert APPEND_ERRORS[errors.REQUEST_TIMED_OUT] == errors.COORDINATOR_NOT_AVAILABLE
    assert APPEND_ERRORS[errors.NOT_LEADER_OR_FOLLOWER] == errors.NOT_COORDINATOR
    assert APPEND_ERRORS[errors.KAFKA_STORAGE_ERROR] == errors.NOT_COORDINATOR
    assert APPEND_ERRORS[errors.MESSAGE_TOO_LARGE] == errors.UNKNOWN_SERVER_ERROR
    group = Group("3.9")
    group.cluster.do(acts.Set("min.insync.replicas", "3", topic="__consumer_offsets"))
    broker = next(each for each in (1, 2, 3) if each != group.broker)
    group.cluster.do(acts.Kill(broker))
    group.cluster.run_until(group.cluster.now + 20 * SECOND)
    member = group.member("m1", session=30_000)
    number = member.join()
    group.cluster.run_until(group.cluster.now + 3_100_000)
    member.joined(number)
    number = member.sync(leads=True)
    group.cluster.run_until(group.cluster.now + 100_000)
    assert member.answer(number).error == errors.COORDINATOR_NOT_AVAILABLE
    assert group.state.state is PREPARING


# --- commits -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("release", "error"), [("3.9", errors.ILLEGAL_GENERATION), ("4.0", errors.GROUP_ID_NOT_FOUND)])
def test_off_01_a_commit_to_an_unknown_group(release: str, error: str) -> None:
    """OFF-01."""
    group = Group(release)
    member = group.member("m1")
    member.member_id, member.generation = "m1", 10
    assert member.commit() == error
    member.member_id, member.generation = "", -1
    assert member.commit() == errors.NONE, "a simple group"
    assert group.state.protocol_type == ""


def test_off_03_a_commit_keeps_a_session() -> None:
    """OFF-03."""
    group = Group()
    member = group.member("m1")
    group.form(member)
    began = group.state.state_timestamp
    group.cluster.run_until(began + 2_500_000)
    assert member.commit() == errors.NONE
    group.cluster.run_until(began + 7_490_000)
    assert len(group.state.members) == 1
    group.cluster.run_until(began + 7_520_000)
    assert not group.state.members


def test_a_member_that_waits_for_its_assignment_outlives_its_session() -> None:
    """`ClassicGroupMember#hasSatisfiedHeartbeat`: it cannot send a heartbeat while the coordinator holds back its response."""
    group = Group()
    one, two = group.member("one"), group.member("two")
    numbers = [member.join() for member in (one, two)]
    group.cluster.run_until(group.cluster.now + 7 * SECOND)
    for member, number in zip((one, two), numbers, strict=True):
        member.joined(number)
    leader, follower = (one, two) if one.member_id == group.state.leader else (two, one)
    waiting = follower.sync()
    for _ in range(4):
        group.cluster.run_until(group.cluster.now + 2 * SECOND)
        assert leader.heartbeat() == errors.NONE
    assert sorted(group.state.members) == sorted([one.member_id, two.member_id])
    assert follower.answer(waiting) is None
    number = leader.sync(True)
    group.cluster.run_until(group.cluster.now + SECOND)
    assert [leader.answer(number).error, follower.answer(waiting).error] == [errors.NONE] * 2


def test_every_refusal_is_an_event() -> None:
    told: list[tuple] = []
    group = Group(sink=told.append)
    one = group.member("m1")
    group.form(one)
    one.generation += 1
    number = one.sync()
    group.cluster.run_until(group.cluster.now + SECOND // 10)
    assert (one.answer(number).error, one.answer(number).assignment) == (errors.ILLEGAL_GENERATION, ())
    assert one.heartbeat() == errors.ILLEGAL_GENERATION
    one.member_id = "nobody"
    number = one.join()
    answer = one.leave()
    assert (one.answer(number).error, answer.error, answer.members) == (errors.UNKNOWN_MEMBER_ID, errors.NONE, (errors.UNKNOWN_MEMBER_ID,))
    one.session = 1_800_001
    assert one.first_join().error == errors.INVALID_SESSION_TIMEOUT, "more than group.max.session.timeout.ms"
    other = next(broker for broker in (1, 2, 3) if broker != group.broker)
    group.broker, coordinator = other, group.broker
    answer = one.leave()
    assert (answer.error, answer.members) == (errors.NOT_COORDINATOR, ())
    refused = [event[4:] for event in told if event[3] == events.GroupRequestRefused.kind]
    assert refused == [
        (coordinator, "g", "SyncGroup", errors.ILLEGAL_GENERATION),
        (coordinator, "g", "Heartbeat", errors.ILLEGAL_GENERATION),
        (coordinator, "g", "JoinGroup", errors.UNKNOWN_MEMBER_ID),
        (coordinator, "g", "JoinGroup", errors.INVALID_SESSION_TIMEOUT),
        (other, "g", "LeaveGroup", errors.NOT_COORDINATOR),
    ]


@pytest.mark.parametrize("phase", ["join", "sync"])
def test_a_coordinator_that_resigns_answers_what_waits(phase: str) -> None:
    """`GroupMetadataManager#onUnloaded` completes the waiting JoinGroups and SyncGroups with NOT_COORDINATOR, so that members look for the
    new coordinator at once."""
    group = Group()
    one, two = group.member("m1"), group.member("m2")
    numbers = [one.join(), two.join()]
    if phase == "sync":
        group.cluster.run_until(group.cluster.now + 7 * SECOND)
        for member, number in zip((one, two), numbers, strict=True):
            member.joined(number)
        numbers = [member.sync() for member in (one, two) if member.member_id != group.state.leader]
    group.cluster.run_until(group.cluster.now + SECOND // 10)
    state = group.state
    waited = [member for member in (one, two) if phase == "join" or member.member_id != state.leader]
    assert [member.answer(number) for member, number in zip(waited, numbers, strict=True)] == [None] * len(waited)
    group.cluster.do(acts.Shutdown(group.broker))
    group.cluster.run_until(group.cluster.now + SECOND)
    assert [member.answer(number).error for member, number in zip(waited, numbers, strict=True)] == [errors.NOT_COORDINATOR] * len(waited)
    assert state.state is DEAD


def test_a_dead_group_refers_its_members_to_another_coordinator() -> None:
    """`ClassicGroupState.DEAD`: every request gets COORDINATOR_NOT_AVAILABLE, so that the member looks for the coordinator again."""
    group = Group()
    one = group.member("m1")
    group.form(one)
    group.state.transition_to(DEAD, group.cluster.now)
    numbers = one.join(), one.sync()
    group.cluster.run_until(group.cluster.now + SECOND // 10)
    answers = [*map(one.answer, numbers), one.leave()]
    assert [answer.error for answer in answers] == [errors.COORDINATOR_NOT_AVAILABLE] * 3
    assert one.heartbeat() == errors.COORDINATOR_NOT_AVAILABLE
