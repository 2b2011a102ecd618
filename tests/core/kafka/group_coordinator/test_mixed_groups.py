"""Members of both protocols in one group (KIP-848): upgrade, downgrade, and the responses to classic members."""

from __future__ import annotations

from typing import Any

import pytest

from core.kafka import errors, events
from core.kafka.group_coordinator.classic_group.classic_group_messages import Subscription
from core.kafka.group_coordinator.classic_group.group_records import GroupMetadataKey
from core.kafka.group_coordinator.consumer_group.consumer_group import ConsumerGroup
from core.kafka.group_coordinator.consumer_group.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from core.kafka.group_coordinator.group_requests import GroupMembership, OffsetCommitRequest, OffsetFetchRequest
from core.kafka.group_coordinator.offset_tombstones import is_unused
from core.kafka.ids import TopicPartition
from core.lab import acts
from core.sim.kernel_messages import Timer
from core.sim.units import SECOND, US_PER_MS
from tests.core.kafka.clients.test_consumer_protocol import join
from tests.core.kafka.clients.test_group_member import Run
from tests.core.kafka.group_coordinator.raw_members import GROUP, Group, Member


class Modern:
    """A client of the consumer protocol that sends single heartbeats."""

    def __init__(self, group: Group, member: Member, member_id: str) -> None:
        self.group = group
        self.raw = member.raw
        self.member_id = member_id

    def heartbeat(self, epoch: int, **fields: Any) -> Any:
        full = {"rebalance_timeout": 10 * SECOND, "topics": ("foo",), "owned": ()} if epoch == 0 else {}
        number = self.raw.number + 1
        self.raw.number = number
        request = ConsumerGroupHeartbeatRequest(number, self.raw.address, GROUP, self.member_id, epoch)
        self.raw.send(f"b{self.group.broker}", request._replace(**(full | fields)))
        self.group.cluster.run_until(self.group.cluster.now + 20 * US_PER_MS)
        return self.raw.responses[number]


def mixed(group: Group) -> tuple[Member, Member, Modern]:
    """Return a group of two classic members, whose leader has one partition, and one member of the consumer protocol that has just joined."""
    one, two = group.member("one"), group.member("two")
    group.form(one, two)
    modern = Modern(group, group.member("new"), "new-member")
    assert modern.heartbeat(0).error == errors.NONE
    return one, two, modern


def consumer(group: Group) -> ConsumerGroup:
    found = group.metadata.consumer
    assert found is not None
    return found


@pytest.fixture
def group() -> Group:
    return Group()


def test_the_epoch_continues_from_the_generation_and_members_keep_what_they_have(group: Group) -> None:
    one, _, _ = mixed(group)
    state = consumer(group)
    assert state.epoch == one.generation + 1
    assert {member.epoch for member in state.classic_members()} == {one.generation}
    assert [len(member.assigned) for member in state.classic_members()] in ([1, 0], [0, 1])
    assert not group.state.members


def test_a_heartbeat_tells_a_classic_member_to_join_again_and_it_gets_its_part(group: Group) -> None:
    one, two, modern = mixed(group)
    assert one.heartbeat() == errors.REBALANCE_IN_PROGRESS
    for member in (one, two):
        number = member.join()
        group.cluster.run_until(group.cluster.now + 20 * US_PER_MS)
        answer = member.answer(number)
        assert (answer.error, answer.generation, answer.leader, answer.members) == (errors.NONE, consumer(group).epoch, "", ())
        member.generation = answer.generation
        number = member.sync(False)
        group.cluster.run_until(group.cluster.now + 20 * US_PER_MS)
        assert member.answer(number).assignment == consumer(group).members[member.member_id].assigned
    owners = [tp for member in consumer(group).members.values() for tp in member.assigned]
    assert len(owners) == len(set(owners))
    assert modern.heartbeat(consumer(group).epoch).error == errors.NONE
    assert len([tp for member in consumer(group).members.values() for tp in member.assigned]) == 2


def test_requests_that_wait_when_the_group_is_upgraded_tell_their_members_to_join_again(group: Group) -> None:
    """`GroupMetadataManager#convertToConsumerGroup` completes the waiting JoinGroups and SyncGroups with REBALANCE_IN_PROGRESS."""
    one, two = group.member("one"), group.member("two")
    joins = [member.join() for member in (one, two)]
    group.cluster.run_until(group.cluster.now + 7 * SECOND)
    for member, number in zip((one, two), joins, strict=True):
        member.joined(number)
    follower = next(member for member in (one, two) if member.member_id != group.state.leader)
    number = follower.sync()
    group.cluster.run_until(group.cluster.now + 20 * US_PER_MS)
    assert follower.answer(number) is None, "it waits for the assignment of the leader"
    assert Modern(group, group.member("new"), "new-member").heartbeat(0).error == errors.NONE
    assert (follower.answer(number).error, follower.answer(number).assignment) == (errors.REBALANCE_IN_PROGRESS, ())


def test_a_classic_member_that_does_not_join_again_is_removed_after_its_rebalance_timeout(group: Group) -> None:
    one, two, modern = mixed(group)
    end = group.cluster.now + 11 * SECOND
    while group.cluster.now < end:
        told = [member.heartbeat() for member in (one, two)]
        group.cluster.run_until(group.cluster.now + 2 * SECOND)
    assert told == [errors.UNKNOWN_MEMBER_ID] * 2
    assert list(consumer(group).members) == [modern.member_id]


def test_the_session_of_a_classic_member_is_its_own(group: Group) -> None:
    """It asked for 5 s. Members of the consumer protocol have 45 s."""
    _, _, modern = mixed(group)
    (report,) = group.cluster.group_report()
    assert (report.waits, report.until) == ("", -1)
    group.cluster.run_until(group.cluster.now + 6 * SECOND)
    assert list(consumer(group).members) == [modern.member_id]


def test_when_the_last_consumer_member_leaves_the_group_is_classic_again_and_rebalances(group: Group) -> None:
    one, _, modern = mixed(group)
    epoch = consumer(group).epoch
    assert modern.heartbeat(-1).error == errors.NONE
    assert group.metadata.consumer is None
    assert (group.state.generation, group.state.state.value) == (epoch, "PreparingRebalance")
    assert one.member_id in group.state.members


def test_a_static_classic_member_replaces_the_last_consumer_member_without_a_rebalance(group: Group) -> None:
    modern = Modern(group, group.member("new"), "new-member")
    assert modern.heartbeat(0, instance_id="i1").error == errors.NONE
    static = group.member("old", instance="i1")
    number = static.join()
    group.cluster.run_until(group.cluster.now + 20 * US_PER_MS)
    assert static.answer(number).error == errors.NONE
    assert group.metadata.consumer is None
    assert (group.state.state.value, [len(each.assignment) for each in group.state.members.values()]) == ("Stable", [2])


def test_the_sessions_of_classic_members_begin_anew_when_the_group_is_classic_again(group: Group) -> None:
    """`GroupMetadataManager#convertToClassicGroup` schedules a heartbeat for each member: a member that is silent from then on is removed
    after its own session timeout of 5 s, without help of the timers that the consumer group had set."""
    one, two, modern = mixed(group)
    group.cluster.run_until(group.cluster.now + 4 * SECOND)
    assert modern.heartbeat(-1).error == errors.NONE
    converted = group.cluster.now - 20 * US_PER_MS
    number = two.join()
    group.cluster.run_until(converted + 5 * SECOND - 50 * US_PER_MS)
    assert sorted(group.state.members) == sorted([one.member_id, two.member_id]), "9 s after the last sign of life of the first one"
    group.cluster.run_until(converted + 5 * SECOND + 50 * US_PER_MS)
    assert list(group.state.members) == [two.member_id]
    assert two.joined(number).members == ((two.member_id, "", Subscription(("foo",))),)


@pytest.mark.parametrize("silent", [False, True])
def test_after_a_downgrade_without_a_rebalance_heartbeats_keep_the_session(group: Group, silent: bool) -> None:
    """`GroupMetadataManager#convertToClassicGroup`: the group is stable, so only the session tells whether the member is alive."""
    modern = Modern(group, group.member("new"), "new-member")
    assert modern.heartbeat(0, instance_id="i1").error == errors.NONE
    static = group.member("old", instance="i1")
    number = static.join()
    group.cluster.run_until(group.cluster.now + 20 * US_PER_MS)
    static.joined(number)
    assert group.metadata.consumer is None
    converted = group.cluster.now
    for second in (3, 6, 9):
        group.cluster.run_until(converted + second * SECOND)
        if not silent:
            assert static.heartbeat() == errors.NONE
    assert list(group.state.members) == ([] if silent else [static.member_id])
    group.cluster.run_until(converted + 15 * SECOND)
    assert not group.state.members


def test_classic_members_that_leave_or_are_removed(group: Group) -> None:
    """An administrator removes a static member by its group.instance.id alone. A member that is named twice leaves once."""
    one, two, modern = mixed(group)
    told: list[tuple] = []
    group.cluster.journal.sink = told.append
    static = group.member("static", instance="i1")
    number = static.join()
    group.cluster.run_until(group.cluster.now + 20 * US_PER_MS)
    static.joined(number)
    joined = [event[4:] for event in told if event[3] == events.GroupMemberJoined.kind]
    assert joined == [(group.broker, GROUP, static.member_id, "static", "i1", 4)]
    response = two.leave((two.member_id, ""), ("", "i1"), (two.member_id, ""), ("nobody", ""))
    assert (response.error, response.members) == (errors.NONE, (*[errors.NONE] * 3, errors.UNKNOWN_MEMBER_ID))
    removed = [event[4:] for event in told if event[3] == events.GroupMemberRemoved.kind]
    assert removed == [(group.broker, GROUP, two.member_id, "left", 3), (group.broker, GROUP, static.member_id, "removed", 2)]
    assert sorted(consumer(group).members) == sorted([one.member_id, modern.member_id])
    assert two.heartbeat() == errors.UNKNOWN_MEMBER_ID
    refused = [event[4:] for event in told if event[3] == events.GroupRequestRefused.kind]
    assert refused == [(group.broker, GROUP, "Heartbeat", errors.UNKNOWN_MEMBER_ID)]


def test_a_classic_member_gets_the_error_if_the_log_refuses_the_write(group: Group) -> None:
    """The broker no longer leads the partition of `__consumer_offsets`, and its coordinator does not know this yet."""
    one, two, _ = mixed(group)
    del group.cluster.brokers[group.broker].partitions[TopicPartition("__consumer_offsets", 0)]
    assert (one.leave().error, one.leave().members) == (errors.NOT_COORDINATOR, ())
    told: list[tuple] = []
    group.cluster.journal.sink = told.append
    number = two.join()
    group.cluster.run_until(group.cluster.now + 20 * US_PER_MS)
    assert two.answer(number).error == errors.NOT_COORDINATOR
    refused = [event[4:] for event in told if event[3] == events.GroupRequestRefused.kind]
    assert refused == [(group.broker, GROUP, "JoinGroup", errors.NOT_COORDINATOR)]


@pytest.mark.parametrize(
    ("policy", "upgrades", "downgrades"), [("upgrade", True, False), ("downgrade", False, True), ("disabled", False, False)]
)
def test_migration_policy(policy: str, upgrades: bool, downgrades: bool) -> None:
    group = Group(group_consumer_migration_policy=policy)
    one = group.member("one")
    if not upgrades:
        group.form(one)
        refused = Modern(group, group.member("new"), "new-member").heartbeat(0)
        assert refused.error == errors.GROUP_ID_NOT_FOUND
        one.leave()
        group.cluster.run_until(group.cluster.now + SECOND)
    modern = Modern(group, group.member("newer"), "other-member")
    assert modern.heartbeat(0).error == errors.NONE
    two = group.member("two")
    number = two.join()
    group.cluster.run_until(group.cluster.now + 20 * US_PER_MS)
    assert two.answer(number).error == errors.NONE
    assert modern.heartbeat(-1).error == errors.NONE
    assert (group.metadata.consumer is None) == downgrades


def test_off_10_commits_name_the_member_epoch_or_the_generation(group: Group) -> None:
    """OFF-10: A member of the consumer protocol is told STALE_MEMBER_EPOCH, and a classic member ILLEGAL_GENERATION."""
    one, _, modern = mixed(group)
    offsets = ((TopicPartition("foo", 0), 5, -1),)

    def commit(member_id: str, epoch: int) -> str:
        membership = GroupMembership(member_id, epoch)
        return modern.raw.ask(group.broker, OffsetCommitRequest, modern.raw.address, GROUP, membership, offsets).error

    epoch = consumer(group).epoch
    assert commit(modern.member_id, epoch + 10) == errors.STALE_MEMBER_EPOCH
    assert commit(modern.member_id, epoch) == errors.NONE
    assert commit(one.member_id, one.generation + 1) == errors.ILLEGAL_GENERATION
    assert commit(one.member_id, one.generation) == errors.NONE
    assert commit("unknown", 1) == errors.UNKNOWN_MEMBER_ID
    assert commit("", -1) == errors.UNKNOWN_MEMBER_ID
    group.cluster.run_until(group.cluster.now + 46 * SECOND)
    assert not consumer(group).members
    assert commit("", -1) == errors.NONE


def test_off_11_fetches_of_offsets_name_the_member_epoch_or_nobody(group: Group) -> None:
    """OFF-11."""
    modern = Modern(group, group.member("new"), "new-member")
    assert modern.heartbeat(0).error == errors.NONE

    def fetch(member_id: str, epoch: int) -> str:
        membership = GroupMembership(member_id, epoch)
        return modern.raw.ask(group.broker, OffsetFetchRequest, GROUP, (TopicPartition("foo", 0),), False, membership).error

    assert fetch("", -1) == errors.NONE
    assert fetch("unknown", 1) == errors.UNKNOWN_MEMBER_ID
    assert fetch(modern.member_id, consumer(group).epoch) == errors.NONE
    assert fetch(modern.member_id, consumer(group).epoch + 10) == errors.STALE_MEMBER_EPOCH


def test_a_new_coordinator_knows_an_upgraded_group_and_a_downgraded_one() -> None:
    """The records of the other protocol are removed, so the log tells which one the group has."""
    run = Run()
    run.join("m1", assignors=("range",))
    run.at(5)
    join(run, "m2")
    run.at(20)
    coordinator = run.events(events.CoordinatorFound)[0][1].broker  # type: ignore[attr-defined]
    run.cluster.do(acts.Kill(coordinator))
    run.at(50)
    assert sorted(map(len, run.owned("m1") + run.owned("m2"))) == [3, 3]
    (view,) = run.cluster.view().groups
    assert (view.state, len(view.members)) == ("Stable", 2)
    run.cluster.do(acts.CloseConsumer("m2"))
    run.at(70)
    other = view.coordinator
    run.cluster.do(acts.Start(coordinator))
    run.at(80)
    run.cluster.do(acts.Kill(other))
    run.at(110)
    assert run.owned("m1") == [[0, 1, 2, 3, 4, 5]]
    assert [event.protocol for _, event in run.events(events.GroupConverted)] == ["consumer", "classic"]  # type: ignore[attr-defined]


def test_a_classic_member_that_joins_again_and_does_not_sync_is_removed_after_its_rebalance_timeout(group: Group) -> None:
    one, two, modern = mixed(group)
    numbers = [member.join() for member in (one, two)]
    group.cluster.run_until(group.cluster.now + 20 * US_PER_MS)
    for member, number in zip((one, two), numbers, strict=True):
        member.joined(number)
    number = one.sync()
    end = group.cluster.now + 11 * SECOND
    while group.cluster.now < end:
        told = [member.heartbeat() for member in (one, two)]
        group.cluster.run_until(group.cluster.now + SECOND)
    assert one.answer(number).error == errors.NONE
    assert told == [errors.REBALANCE_IN_PROGRESS, errors.UNKNOWN_MEMBER_ID]
    assert list(consumer(group).members) == [one.member_id, modern.member_id]


def test_a_group_is_in_use_while_it_has_members_of_the_consumer_protocol(group: Group) -> None:
    modern = Modern(group, group.member("new"), "new-member")
    assert modern.heartbeat(0).error == errors.NONE
    assert not is_unused(group.metadata)
    assert modern.heartbeat(-1).error == errors.NONE
    assert is_unused(group.metadata)


def test_every_refusal_of_a_classic_members_request_is_an_event() -> None:
    told: list[Any] = []
    group = Group(sink=told.append)
    one, _, _ = mixed(group)
    one.generation += 5
    number = one.sync()
    group.cluster.run_until(group.cluster.now + 20 * US_PER_MS)
    assert one.answer(number).error == one.heartbeat() == errors.ILLEGAL_GENERATION
    refused = [event[4:] for event in told if event[3] == events.GroupRequestRefused.kind]
    assert refused[-2:] == [(group.broker, GROUP, request, errors.ILLEGAL_GENERATION) for request in ("SyncGroup", "Heartbeat")]


def test_batches_of_a_coordinator_are_of_no_producer_id_and_of_no_transaction(group: Group) -> None:
    """The coordinator writes them itself, so they are no batches of a client, either (`batch_id`)."""
    mixed(group)
    log = group.cluster.brokers[group.broker].disk.logs[TopicPartition("__consumer_offsets", 0)]
    batches = [batch for term in log.records.terms for batch in term.batches]
    records = [record for batch in batches for record in batch.content]
    assert {isinstance(record[0], GroupMetadataKey) for record in records} == {True, False}, "both protocols have written"
    fields = {(each.batch_id, each.producer_id, each.producer_epoch, each.first_sequence, each.transactional) for each in batches}
    assert fields == {(0, -1, -1, -1, False)}


def test_an_assignment_for_a_classic_member_begins_the_interval_before_the_next_one() -> None:
    """group.consumer.assignment.interval.ms (4.3) is 1 s: within it, the group has a new epoch, and the target assignment is the former one."""
    group = Group("4.3")
    modern = Modern(group, group.member("new"), "new-member")
    modern.heartbeat(0)
    group.cluster.run_until(group.cluster.now + 2 * SECOND)
    classic = group.member("old")
    classic.join()
    group.cluster.run_until(group.cluster.now + 20 * US_PER_MS)
    state = consumer(group)
    assert state.assignment_epoch == state.epoch
    other = Modern(group, group.member("other"), "other-member")
    other.heartbeat(0)
    assert state.assignment_epoch == state.epoch - 1
    group.cluster.run_until(group.cluster.now + SECOND)
    other.heartbeat(state.members["other-member"].epoch)
    assert state.assignment_epoch == state.epoch


def test_a_member_has_one_session_timer_after_a_shorter_session(group: Group) -> None:
    """The later timer ends without another one, and the session ends 5 s after the last heartbeat."""
    modern = Modern(group, group.member("new"), "new-member")
    modern.heartbeat(0)
    epoch = modern.heartbeat(1).member_epoch
    group.cluster.do(acts.Set("group.consumer.session.timeout.ms", "5000", force=True))
    ends = group.cluster.now + 60 * SECOND
    while group.cluster.now < ends:
        assert modern.heartbeat(epoch).error == errors.NONE
        group.cluster.run_until(group.cluster.now + 2 * SECOND)
    timers = [each.message for each in group.cluster.agenda.entries if type(each.message) is Timer]
    assert [timer.name for timer in timers].count("consumer-session") == 1
    group.cluster.run_until(group.cluster.now + 2900 * US_PER_MS)
    assert list(consumer(group).members) == [modern.member_id]
    group.cluster.run_until(group.cluster.now + 200 * US_PER_MS)
    assert not group.metadata.consumer or not consumer(group).members


@pytest.mark.parametrize("moves", [False, True])
def test_a_member_that_does_not_revoke_in_time_is_removed_also_by_a_new_coordinator(moves: bool) -> None:
    """`GroupMetadataManager#scheduleConsumerGroupRebalanceTimeout`; `#onLoaded` starts the timeout again."""
    told: list[tuple[Any, ...]] = []
    group = Group(sink=told.append)
    first, second = (Modern(group, group.member(name), name) for name in ("m1", "m2"))
    owned = first.heartbeat(0).assignment
    assert len(owned) == 2
    assert second.heartbeat(0).error == errors.NONE
    assert len(first.heartbeat(1, owned=owned).assignment) == 1
    begins = group.cluster.now
    (report,) = group.cluster.group_report()
    assert (report.waits, report.until) == (
        "is waiting for m1 to give up partitions",
        pytest.approx(begins + 10 * SECOND, abs=SECOND // 50),
    )
    if moves:
        group.cluster.do(acts.Kill(group.broker))
    group.cluster.run_until(begins + 30 * SECOND)
    if moves:
        begins = next(event[1] for event in told if event[3] == events.GroupsLoaded.kind and event[1] > begins)
    removed = [(event[1], events.decode(event)) for event in told if event[3] == events.GroupMemberRemoved.kind]
    ((time, event),) = removed
    assert time == pytest.approx(begins + 10 * SECOND, abs=SECOND // 50)
    assert (event.member_id, event.why, event.members) == ("m1", "revocation-timeout", 1)  # type: ignore[attr-defined]
