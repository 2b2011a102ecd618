"""What the application of a group member does between two calls of poll(): processing, commits, exceptions, stalls, and its end."""

from __future__ import annotations

from typing import Any

import pytest

from core.kafka import events
from core.kafka.clients.group_member.group_member import GroupMember, Phase
from core.kafka.ids import TopicPartition
from core.lab import acts
from core.sim.units import SECOND, US_PER_MS
from tests.core.kafka.clients.test_group_member import Run

T = TopicPartition("orders", 0)


def started(records: int = 10, release: str = "4.1", **fields: Any) -> Run:
    """Return a run in which m1 joins as the only member of its group, and gets the only partition with its records after 3 s."""
    run = Run(release, partitions=1)
    if records:
        run.cluster.do(acts.Produce("orders", records))
    run.join("m1", **({"reset": "earliest"} | fields))
    return run


def member(run: Run) -> GroupMember:
    found = run.cluster.clients.member("m1")
    assert found is not None
    return found


def times(run: Run, kind: type[events.Event]) -> list[float]:
    return [time for time, _ in run.events(kind)]


def committed(run: Run) -> int | None:
    """Return the committed offset of the partition."""
    (group,) = run.cluster.view().groups
    return dict(group.offsets).get(T)


def processing(run: Run) -> float:
    """Run until m1 has begun to process records, and return the time."""
    while member(run).phase is not Phase.PROCESSING:
        assert run.cluster.now < run.began + 20 * SECOND
        run.cluster.step()
    return (run.cluster.now - run.began) / SECOND


# --- processing ----------------------------------------------------------------------------------------------------


def test_a_frozen_process_that_is_killed_has_processed_what_it_had_when_it_froze() -> None:
    """The batch takes 0.5 s for the poll and 0.1 s for each record."""
    run = started(poll_time=500 * US_PER_MS, record_time=100 * US_PER_MS)
    began = processing(run)
    run.at(began + 0.85).cluster.do(acts.FreezeConsumer("m1"))
    run.at(began + 5).cluster.do(acts.KillConsumer("m1"))
    assert member(run).processed == 3


def test_a_process_that_thaws_needs_the_rest_of_the_time() -> None:
    run = started(record_time=100 * US_PER_MS)
    began = processing(run)
    run.at(began + 0.3).cluster.do(acts.FreezeConsumer("m1"))
    run.at(began + 2.3).cluster.do(acts.ThawConsumer("m1"))
    run.at(began + 2.9)
    assert member(run).processed == 0, "without the pause it would have finished after 1 s"
    run.at(began + 3.1)
    assert member(run).processed == 10


def test_records_until_a_crash_are_counted_over_all_polls() -> None:
    run = started(crash_after_records=13)
    run.at(8)
    assert member(run).processed == 10
    run.cluster.do(acts.Produce("orders", 10))
    run.at(10)
    assert (member(run).processed, [event.how for _, event in run.events(events.MemberEnded)]) == (13, ["crashed"])  # type: ignore[attr-defined]


def test_without_a_heartbeat_thread_poll_reads_what_arrived_during_the_work() -> None:
    """`NetworkClient#poll`: the response to the fetch that poll() sent before it returned is there when the application calls it again."""
    run = started(release="0.9", commit="none", record_time=200 * US_PER_MS)
    began = processing(run)
    run.at(began + 0.1).cluster.do(acts.Produce("orders", 10))
    run.at(began + 2.05)
    assert (member(run).processed, member(run).phase) == (10, Phase.PROCESSING)
    run.at(began + 4.1)
    assert member(run).processed == 20


# --- commits -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("commit", "during", "after"), [("before", 10, 10), ("after", None, 10), ("async", None, 10)])
def test_when_the_application_commits(commit: str, during: int | None, after: int) -> None:
    """`KafkaConsumer#commitSync` before or after the records are processed, or `#commitAsync` after them."""
    run = started(commit=commit, record_time=100 * US_PER_MS)
    began = processing(run)
    run.at(began + 0.9)
    assert (committed(run), member(run).phase) == (during, Phase.PROCESSING)
    run.at(began + 1.5)
    assert committed(run) == after
    assert member(run).phase is Phase.POLLING


def test_a_requested_commit_happens_when_the_application_calls_poll_again() -> None:
    """`KafkaConsumer#commitSync`, in the thread of the application."""
    run = started(commit="none", record_time=100 * US_PER_MS)
    began = processing(run)
    run.at(began + 0.5).cluster.do(acts.CommitOffsets("m1"))
    run.at(began + 0.95)
    assert committed(run) is None
    run.at(began + 1.1)
    assert committed(run) == 10
    run.cluster.do(acts.Produce("orders", 5))
    run.at(began + 5)
    assert (committed(run), member(run).processed) == (10, 15), "the request is for one commit"


def test_automatic_commits_wait_for_poll() -> None:
    """`ConsumerCoordinator#maybeAutoCommitOffsetsAsync` runs in poll(), so the interval of 2 s that ends during the work counts after it."""
    run = started(commit="auto", record_time=500 * US_PER_MS, config=(("session.timeout.ms", "10000"), ("auto.commit.interval.ms", "2000")))
    began = processing(run)
    run.at(began + 4.9)
    assert committed(run) is None
    run.at(began + 5.2)
    assert committed(run) == 10


@pytest.mark.parametrize(("commit", "kept"), [("auto", 10), ("none", None)])
def test_a_consumer_that_closes_commits_only_if_it_commits_automatically(commit: str, kept: int | None) -> None:
    """`ConsumerCoordinator#close`: then it leaves the group."""
    run = started(commit=commit, config=(("auto.commit.interval.ms", "600000"),))
    run.at(8)
    assert committed(run) is None
    run.cluster.do(acts.CloseConsumer("m1"))
    run.at(9)
    assert [event.how for _, event in run.events(events.MemberEnded)] == ["closed"]  # type: ignore[attr-defined]
    assert [event.why for _, event in run.events(events.GroupMemberRemoved)] == ["left"]  # type: ignore[attr-defined]
    assert committed(run) == kept


def test_a_member_commits_before_it_gives_up_its_partitions_in_a_rebalance() -> None:
    """`ConsumerCoordinator#onJoinPrepare`: with automatic commits, whoever gets a partition begins where its former owner ended."""
    run = started(commit="auto", config=(("auto.commit.interval.ms", "600000"),))
    run.at(8)
    assert (committed(run), member(run).processed) == (None, 10)
    run.join("m2", config=(("auto.commit.interval.ms", "600000"),), commit="auto")
    run.at(15)
    assert committed(run) == 10
    assert sorted(run.owned("m1", "m2")) == [[], [0]]
    (view,) = run.cluster.view().groups
    assert (view.state, len(view.members)) == ("Stable", 2)


def test_a_member_that_cannot_commit_before_a_rebalance_joins_after_max_poll_interval_ms() -> None:
    """`ConsumerCoordinator#onJoinPrepare` waits for the commit for the rebalance timeout, and not for default.api.timeout.ms."""
    config = (("auto.commit.interval.ms", "600000"), ("max.poll.interval.ms", "12000"))
    run = started(commit="auto", config=config)
    run.at(8).join("m2")
    while not run.events(events.RejoinNeeded):
        run.cluster.step()
    ((notices, _),) = run.events(events.RejoinNeeded)
    (coordinator,) = {event.broker for _, event in run.events(events.GroupRebalancing)}  # type: ignore[attr-defined]
    run.cluster.do(acts.Pause(coordinator))
    run.at(notices + 11.9)
    assert (run.events(events.CommitFailed), member(run).phase, run.owned("m1")) == ([], Phase.PREPARING, [[0]])
    run.at(notices + 12.1)
    assert [event.error for _, event in run.events(events.CommitFailed)] == ["TimeoutException"]  # type: ignore[attr-defined]
    assert run.owned("m1") == [[]]


def test_a_member_of_the_consumer_protocol_commits_once_before_it_gives_up_partitions() -> None:
    """`AbstractMembershipManager#maybeReconcile` commits, and then it revokes."""
    config = (("auto.commit.interval.ms", "600000"),)
    run = Run(partitions=2)
    for partition in (0, 1):
        run.cluster.do(acts.Produce("orders", 10, partition=partition))
    run.join("m1", reset="earliest", protocol="consumer", commit="auto", config=config)
    run.at(8)
    assert (member(run).processed, run.events(events.OffsetCommitted)) == (20, [])
    run.join("m2", protocol="consumer", commit="auto", config=config)
    run.at(25)
    assert run.owned("m1", "m2") == [[0], [1]]
    assert sorted((event.partition, event.committed_offset) for _, event in run.events(events.OffsetCommitted)) == [(0, 10), (1, 10)]  # type: ignore[attr-defined]


# --- without poll() ------------------------------------------------------------------------------------------------

IMPATIENT = (("session.timeout.ms", "6000"), ("max.poll.interval.ms", "8000"))


def test_an_application_that_stops_polling_after_an_exception_leaves_the_group_after_the_poll_interval() -> None:
    """`AbstractCoordinator.HeartbeatThread#run`: the heartbeats go on, until max.poll.interval.ms has passed since the last poll."""
    run = started(reset="none", on_error="stop", config=IMPATIENT)
    run.at(20)
    (failed,) = times(run, events.PollFailed)
    (removed,) = times(run, events.GroupMemberRemoved)
    assert failed + 7.9 < removed < failed + 9
    assert times(run, events.MemberEnded) == []
    assert member(run).phase is Phase.FAILED
    run.cluster.do(acts.CloseConsumer("m1"))
    run.at(21)
    assert [event.how for _, event in run.events(events.MemberEnded)] == ["failed"]  # type: ignore[attr-defined]


def test_an_application_that_closes_after_an_exception_leaves_at_once() -> None:
    run = started(reset="none", config=IMPATIENT)
    run.at(20)
    (ended,) = times(run, events.MemberEnded)
    (removed,) = times(run, events.GroupMemberRemoved)
    assert removed == pytest.approx(ended, abs=0.1)
    assert times(run, events.PollFailed) == []


def test_a_stalled_application_reads_nothing_and_leaves_the_group_after_the_poll_interval() -> None:
    run = started(records=0, config=IMPATIENT)
    run.at(5).cluster.do(acts.StallConsumer(15 * SECOND, "m1"))
    run.at(6).cluster.do(acts.Produce("orders", 5))
    run.at(12)
    assert len(times(run, events.GroupMemberRemoved)) == 0
    run.at(14)
    assert len(times(run, events.GroupMemberRemoved)) == 1
    assert member(run).processed == 0
    assert not member(run).readers["orders"].buffer, "only poll() sends fetches (`KafkaConsumer#pollForFetches`)"
    run.at(25)
    assert member(run).processed == 5, "it joins again when it polls"
    assert run.owned("m1") == [[0]]


def test_paused_partitions_that_are_resumed_are_read_at_once() -> None:
    """`KafkaConsumer#pause`, `#resume`."""
    run = started(records=0)
    run.at(5).cluster.do(acts.PausePartitions("m1"))
    run.at(6).cluster.do(acts.Produce("orders", 5))
    run.at(9)
    assert member(run).processed == 0
    run.cluster.do(acts.ResumePartitions("m1"))
    run.at(9.2)
    assert member(run).processed == 5
