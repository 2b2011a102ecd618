"""Resets and deletions of committed offsets, and deletions of groups, as an administrator's commands (OFF-12, OFF-14)."""

from __future__ import annotations

import pytest

from core.kafka import errors, events
from core.kafka.clients.client_context import ClientContext
from core.kafka.clients.group_member import group_command
from core.kafka.clients.group_member.member_removal import MemberRemoval
from core.kafka.clients.group_member.offset_reset import BY_DURATION, FROM_FILE, LogBounds, Target, moment, moment_before, new_offset
from core.kafka.group_coordinator import group_metadata_manager
from core.kafka.group_coordinator.classic_group.classic_group_messages import LeaveGroupRequest, LeaveGroupResponse
from core.kafka.group_coordinator.group_requests import DeleteGroupsRequest, OffsetDeleteRequest
from core.kafka.ids import TopicPartition
from core.kafka.transaction.transaction_messages import FindCoordinatorRequest, FindCoordinatorResponse
from core.lab import acts
from core.sim.errors import ActRefused
from core.sim.kernel_messages import Disconnected
from core.sim.units import SECOND, US_PER_MS
from tests.core.kafka.clients.test_group_member import Run
from tests.core.kafka.group_coordinator.raw_members import GROUP, Group
from tests.core.node_bench import NodeBench

FOO = TopicPartition("foo", 0)
BAR = TopicPartition("bar", 0)


def ended(run: Run) -> list[tuple[str, str]]:
    return [(event.operation, event.error) for _, event in run.events(events.GroupAdministered)]  # type: ignore[attr-defined]


def test_off_12_only_offsets_of_topics_without_subscribers_are_deleted() -> None:
    """OFF-12: A partition without a commit gets NONE, and nothing is written."""
    told: list[tuple] = []
    group = Group(sink=told.append)
    member = group.member("m1")
    group.form(member)
    assert member.commit(offsets=((FOO, 5, -1), (BAR, 6, -1))) == errors.NONE
    log = group.cluster.brokers[group.broker].partitions[TopicPartition("__consumer_offsets", 0)].log
    answer = member.raw.ask(group.broker, OffsetDeleteRequest, GROUP, (FOO, BAR, TopicPartition("bar", 1)))
    assert [error for _, error in answer.partitions] == [errors.GROUP_SUBSCRIBED_TO_TOPIC, errors.NONE, errors.NONE]
    assert list(group.metadata.offsets) == [FOO]
    before = log.leo
    answer = member.raw.ask(group.broker, OffsetDeleteRequest, GROUP, (BAR,))
    assert (answer.error, log.leo) == (errors.NONE, before)
    refused = [event[4:] for event in told if event[3] == events.GroupRequestRefused.kind]
    assert refused == [(group.broker, GROUP, "OffsetDelete", errors.GROUP_SUBSCRIBED_TO_TOPIC)], "the first request, in part"
    assert member.raw.ask(group.broker, DeleteGroupsRequest, GROUP).error == errors.NON_EMPTY_GROUP
    member.leave()
    answer = member.raw.ask(group.broker, OffsetDeleteRequest, GROUP, (FOO,))
    assert ([error for _, error in answer.partitions], dict(group.metadata.offsets)) == ([errors.NONE], {})
    assert GROUP in group.cluster.brokers[group.broker].groups.groups.caches[0].groups, "without its offsets, the group is still there"
    assert member.raw.ask(group.broker, DeleteGroupsRequest, GROUP).error == errors.NONE
    assert GROUP not in group.cluster.brokers[group.broker].groups.groups.caches[0].groups
    for kind, fields in ((OffsetDeleteRequest, (GROUP, (FOO,))), (DeleteGroupsRequest, (GROUP,))):
        assert member.raw.ask(group.broker, kind, *fields).error == errors.GROUP_ID_NOT_FOUND


def test_off_14_by_time() -> None:
    """OFF-14: There are 50 records at 0 s and 50 at 10 s. The resets go to a time before all records, between them, and after all records."""
    run = Run(partitions=1)
    run.join("m1")
    run.cluster.do(acts.Produce("orders", 50))
    run.at(10).cluster.do(acts.Produce("orders", 50))
    run.at(20).cluster.do(acts.CloseConsumer("m1"))
    run.at(21)

    def reset(**fields: str) -> int:
        run.cluster.do(acts.ResetOffsets("g", topics=("orders",), **fields))
        run.cluster.run_until(run.cluster.now + SECOND)
        (view,) = run.cluster.view().groups
        return dict(view.offsets)[TopicPartition("orders", 0)]

    assert reset(by_duration="P1D") == 0
    assert reset(to_datetime="1970-01-01T00:00:06.000") == 50
    assert reset(by_duration="PT1M") == 0
    assert reset(by_duration="PT0.1S") == 100
    assert reset(shift_by="-30") == 70
    assert reset(offset="1000") == 100
    assert ended(run) == [("reset-offsets", "")] * 6


def test_a_reset_needs_a_group_without_members_or_no_group_at_all() -> None:
    run = Run()
    run.join("m1")
    run.at(5)
    with pytest.raises(ActRefused, match="Assignments can only be reset if the group 'g' is inactive, but the current state is Stable"):
        run.cluster.do(acts.ResetOffsets("g", "earliest", topics=("orders",)))
    run.cluster.do(acts.ResetOffsets("simple", "latest", ("orders",), partition=3))
    run.at(6)
    assert [dict(view.offsets) for view in run.cluster.view().groups if view.name == "simple"] == [{TopicPartition("orders", 3): 0}]
    for wrong, message in (
        (acts.ResetOffsets("simple"), "give one of"),
        (acts.ResetOffsets("simple", "soon"), "earliest, latest, current"),
        (acts.ResetOffsets("simple", to_datetime="yesterday"), "does not contain a 'T'"),
        (acts.ResetOffsets("simple", by_duration="1h"), "cannot be parsed to a Duration"),
        (acts.ResetOffsets("simple", shift_by="1", topics=("orders",)), "Cannot shift offset for partition orders-"),
        (acts.ResetOffsets("other", "latest"), "no committed offset"),
    ):
        with pytest.raises(ActRefused, match=message):
            run.cluster.do(wrong)


def test_a_new_coordinator_knows_that_a_group_was_deleted() -> None:
    run = Run()
    run.join("m1", commit="after")
    run.cluster.do(acts.Produce("orders", 60))
    run.at(5).cluster.do(acts.CloseConsumer("m1"))
    run.at(6).cluster.do(acts.DeleteGroup("g"))
    run.at(7)
    coordinator = run.events(events.CoordinatorFound)[0][1].broker  # type: ignore[attr-defined]
    run.cluster.do(acts.Kill(coordinator))
    run.at(40)
    assert not run.cluster.view().groups
    assert ended(run) == [("delete-group", "")]


def test_a_command_is_retried_while_the_coordinator_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command ends once, with the result of the last attempt."""
    run = Run()
    run.join("m1", commit="after")
    run.cluster.do(acts.Produce("orders", 60))
    run.at(5).cluster.do(acts.CloseConsumer("m1"))
    run.at(6)
    monkeypatch.setattr(group_metadata_manager, "LOAD_DELAY", SECOND)
    coordinator = run.events(events.CoordinatorFound)[0][1].broker  # type: ignore[attr-defined]
    groups = run.cluster.brokers[coordinator].groups
    (partition,) = groups.groups.caches
    groups.elected(partition, 1)
    run.cluster.do(acts.DeleteGroup("g"))
    run.at(6.5)
    assert not ended(run)
    run.at(8)
    assert ended(run) == [("delete-group", "")]


def test_a_deletion_of_offsets_fails_with_the_error_of_a_partition() -> None:
    run = Run()
    run.join("m1", commit="after")
    run.cluster.do(acts.Produce("orders", 60))
    run.at(5).cluster.do(acts.DeleteOffsets(("orders",), "g"))
    run.at(6)
    assert ended(run) == [("delete-offsets", errors.GROUP_SUBSCRIBED_TO_TOPIC)]


def test_a_command_without_a_coordinator_gives_up_after_its_timeout() -> None:
    run = Run()
    run.join("m1", commit="after")
    run.at(5).cluster.do(acts.CloseConsumer("m1"))
    run.at(6).cluster.do(acts.DeleteOffsets(("orders",), "g"))
    for broker in (1, 2, 3):
        run.cluster.do(acts.Kill(broker))
    run.at(6 + group_command.TIMEOUT / SECOND - 1)
    assert not ended(run)
    run.at(6 + group_command.TIMEOUT / SECOND + 1)
    assert ended(run) == [("delete-offsets", "TimeoutException")]


def test_moments_and_files() -> None:
    tp, told = TopicPartition("t", 0), list[str]()
    assert moment("1970-01-01T00:00:01.500Z") == moment("1970-01-01T01:00:01.500+01:00") == moment("1970-01-01T00:00:01.500") == 1_500_000
    assert moment_before(90 * SECOND, "PT1M") == 30 * SECOND
    assert new_offset(Target(BY_DURATION, 5), tp, LogBounds(2, 9), None, told.append) == 9
    assert new_offset(Target(FROM_FILE, 0, ((tp, 99),)), tp, LogBounds(2, 9), None, told.append) == 9
    assert new_offset(Target(FROM_FILE, 0, ((tp, 1),)), tp, LogBounds(2, 9), None, told.append) == 2
    assert [line.partition(" offset for")[0] for line in told] == [
        "New offset (99) is higher than latest",
        "New offset (1) is lower than earliest",
    ]
    with pytest.raises(ValueError, match="Unparseable"):
        moment("1970-13-01T00:00:00.000")


def test_an_administrator_waits_for_the_backoff_and_ignores_answers_that_it_no_longer_expects() -> None:
    """`ClusterConnectionStates#canConnect` holds from the end of the backoff on. A response without a request in flight is dropped."""
    bench = NodeBench()
    bench.network.alive["b1"] = True
    client = MemberRemoval("admin", "g", "i1", ClientContext((1,), bench.network, bench.journal, bench.account))
    bench.node = client
    client.handle(Disconnected("b1"), "b1")
    bench.wait(client.reconnect_time("b1") // US_PER_MS - 1)
    client.start()
    assert not bench.sent(FindCoordinatorRequest)
    client.calls.searching = False
    bench.wait(1)
    assert bench.journal.now == client.reconnect_time("b1")
    client.start()
    asked = bench.one_sent(FindCoordinatorRequest)
    client.handle(FindCoordinatorResponse(asked.correlation, "g", errors.NONE, 1), "b1")
    left = bench.one_sent(LeaveGroupRequest)
    client.handle(LeaveGroupResponse(left.correlation + 1, errors.NOT_COORDINATOR, ()), "b1")
    assert (client.calls.coordinator, client.done) == ("b1", False)
    client.handle(LeaveGroupResponse(left.correlation, errors.NONE, (errors.NONE,)), "b1")
    assert (client.done, client.error) == (True, errors.NONE)
