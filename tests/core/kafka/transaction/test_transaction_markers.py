"""`TransactionMarkerChannelManager`, by Kafka's own vectors: TXK."""

from __future__ import annotations

import pytest

from core.kafka import errors, events
from core.kafka.broker.partition import Partition
from core.kafka.ids import TopicPartition, broker_address
from core.kafka.release import RELEASES
from core.kafka.transaction.transaction_log import TRANSACTION_STATE_TOPIC
from core.kafka.transaction.transaction_messages import TxnMarkerEntry, WriteTxnMarkersRequest, WriteTxnMarkersResponse
from core.sim.kernel_messages import Disconnected
from tests.core.kafka.transaction.coordinator_bench import CONCURRENT, FAR, ID, T0, CoordinatorBench

THIRD = TopicPartition("third", 0)
LOG_OF_A = TopicPartition(TRANSACTION_STATE_TOPIC, 1)


def bench_of(release: str = "4.3") -> CoordinatorBench:
    """Return a bench with one more partition, which broker 3 leads."""
    bench = CoordinatorBench(RELEASES[release])
    bench.partition_is((3,), (3,), leader=3, tp=THIRD, leader_epoch=0)
    return bench


def markers(bench: CoordinatorBench, broker: int) -> list[TxnMarkerEntry]:
    """Take the markers that were sent to a broker."""
    return [entry for request in bench.sent(WriteTxnMarkersRequest, broker_address(broker)) for entry in request.entries]


def test_txk_01_one_request_for_each_broker() -> None:
    """TXK-01: shouldGenerateRequestPerPartitionPerBroker: while a request is under way, the next markers wait for its answer."""
    bench = bench_of()
    first = bench.ongoing(0, FAR, THIRD)
    second = bench.ongoing(0, FAR, transactional_id="c")
    bench.end(first, 0)
    bench.end(second, 0, transactional_id="c")
    assert [(each.transactional_id, each.partitions) for each in markers(bench, 3)] == [(ID, (THIRD,))]
    assert [(each.transactional_id, each.partitions) for each in bench.far_markers()] == [(ID, (FAR,))]
    assert bench.far_markers() == []
    request = next(iter(bench.coordinator.markers.in_flight.values()))[0]
    results = ((first, FAR, "NONE"),)
    bench.broker.handle(WriteTxnMarkersResponse(request, results), broker_address(2))
    assert [(each.transactional_id, each.partitions) for each in bench.far_markers()] == [("c", (FAR,))]


def test_txk_02_a_partition_without_leader_at_all_is_skipped() -> None:
    """TXK-02: shouldSkipSendMarkersWhenLeaderNotFound: the topic is deleted; the other partition still gets its marker."""
    bench = bench_of()
    gone = TopicPartition("far", 5)
    pid = bench.ongoing(0, FAR)
    bench.metadata_of().partitions = (gone, FAR)
    bench.end(pid, 0)
    assert bench.told(events.MarkerSkipped) == [(1, "far", 5, ID, pid)]
    assert [each.partitions for each in bench.far_markers()] == [(FAR,)]
    assert bench.metadata_of().partitions == (FAR,)
    bench.answer_far()
    assert bench.state()[0] == "CompleteCommit"


@pytest.mark.parametrize(("release", "state", "skipped"), [("4.2", "PrepareCommit", 0), ("4.3", "CompleteCommit", 1)])
def test_txk_02_a_partition_that_is_offline_by_release(release: str, state: str, skipped: int) -> None:
    """TXK-02; d-leader-offline-at-commit: 4.1.1 and 4.2.0 wait, 4.3.1 takes it for deleted (KAFKA-20734)."""
    bench = bench_of(release)
    pid = bench.ongoing(0, FAR)
    bench.partition_is((2,), (2,), leader=-1, tp=FAR, leader_epoch=1)
    bench.end(pid, 0)
    assert (bench.state()[0], len(bench.told(events.MarkerSkipped))) == (state, skipped)
    bench.partition_is((2,), (2,), leader=2, tp=FAR, leader_epoch=2)
    bench.settle(200)
    assert len(bench.far_markers()) == 1 - skipped


def test_txk_03_a_leader_whose_broker_is_down_is_waited_for() -> None:
    """TXK-03: shouldSaveForLaterWhenLeaderUnknownButNotAvailable."""
    bench = bench_of()
    first = bench.ongoing(0, FAR, THIRD)
    second = bench.ongoing(0, FAR, transactional_id="c")
    bench.register(2, fenced=True, anew=False)
    bench.end(first, 0)
    bench.end(second, 0, transactional_id="c")
    bench.settle(500)
    assert bench.far_markers() == []
    assert len(markers(bench, 3)) == 1
    bench.register(2, anew=False)
    bench.settle(200)
    assert [each.transactional_id for each in bench.far_markers()] == [ID, "c"]


def test_txk_04_markers_leave_with_their_partition_of_the_log() -> None:
    """TXK-04: shouldRemoveMarkersForTxnPartitionWhenPartitionEmigrated."""
    bench = bench_of()
    for transactional_id in ("a", "b"):
        pid = bench.ongoing(0, FAR, transactional_id=transactional_id)
        bench.end(pid, 0, transactional_id=transactional_id)
    assert list(bench.coordinator.markers.pending) == ["a", "b"]
    bench.lead(LOG_OF_A, 1, leader=2)
    assert list(bench.coordinator.markers.pending) == ["b"]


def append_error(monkeypatch: pytest.MonkeyPatch, bench: CoordinatorBench, *results: str) -> list[str]:
    """Make the next writes to the transaction log end with an error. The list collects the states that are written."""
    real = type(bench.broker.replicas).append_internally
    written: list[str] = []
    left = list(results)

    def append(replicas, tp, make, deadline, completion) -> None:
        written.append(make(0)[-1][0][1].state.value)
        error = left.pop(0) if left else "NONE"
        if error == "NONE":
            real(replicas, tp, make, deadline, completion)
        else:
            completion.append_completed(error)

    monkeypatch.setattr(type(bench.broker.replicas), "append_internally", append)
    return written


def test_txk_05_another_coordinator_completes() -> None:
    """TXK-05: shouldAbortAppendToLogOnEndTxnWhenNotCoordinatorError: the new owner repeats everything."""
    bench = bench_of()
    with pytest.MonkeyPatch.context() as patched:
        written = append_error(patched, bench, "NONE", "NONE", "NONE", errors.NOT_LEADER_OR_FOLLOWER)
        bench.end(bench.ongoing(0), 0)
    assert written == ["Empty", "Ongoing", "PrepareCommit", "CompleteCommit"]
    assert bench.state()[0] == "PrepareCommit"
    assert not bench.coordinator.markers.pending
    bench.coordinator.elected(1, 1)
    bench.settle()
    assert bench.state()[0] == "CompleteCommit"


def test_txk_06_an_unavailable_log_is_written_again() -> None:
    """TXK-06: shouldRetryAppendToLogOnEndTxnWhenCoordinatorNotAvailableError; TXK-07: one completion under races."""
    bench = bench_of()
    with pytest.MonkeyPatch.context() as patched:
        written = append_error(patched, bench, "NONE", "NONE", "NONE", errors.NOT_ENOUGH_REPLICAS)
        pid = bench.ongoing(0)
        bench.end(pid, 0)
        assert bench.end(pid, 0)[0] == CONCURRENT, "the transition stays pending"
        bench.settle(200)
    assert written[2:] == ["PrepareCommit", "CompleteCommit", "CompleteCommit"]
    assert bench.state()[0] == "CompleteCommit"


def test_txk_07_the_completion_is_written_once() -> None:
    """TXK-07: shouldOnlyWriteTxnCompletionOnce: an answer that comes twice changes nothing."""
    bench = bench_of()
    bench.end(bench.ongoing(0, FAR), 0)
    bench.far_markers()
    bench.answer_far()
    bench.answer_far()
    assert [each.state.value for each in bench.records() if each] == ["Empty", "Ongoing", "PrepareCommit", "CompleteCommit"]


@pytest.mark.parametrize(("release", "complete"), [("3.7", False), ("3.9", True)])
def test_txk_08_a_late_answer_after_a_load(release: str, complete: bool) -> None:
    """TXK-08: shouldNotLoseTxnCompletionAfterLoad; before 3.8, the transaction could remain in Prepare* forever (KAFKA-16352, T12)."""
    bench = bench_of(release)
    pid = bench.ongoing(0, FAR)
    bench.end(pid, 0)
    (first,) = bench.far_markers()
    assert first.marker.coordinator_epoch == 0
    bench.coordinator.resigned(1)
    bench.coordinator.elected(1, 1)
    bench.answer_far()
    again = bench.far_markers()
    assert [each.marker.coordinator_epoch for each in again] == ([1] if complete else [])
    bench.answer_far()
    assert bench.state()[0] == ("CompleteCommit" if complete else "PrepareCommit")
    assert bench.init()[0] == ("NONE" if complete else CONCURRENT)


def test_txk_09_a_broken_connection_queues_everything_again() -> None:
    """TXK-09: shouldReEnqueuePartitionsWhenBrokerDisconnected."""
    bench = bench_of()
    for transactional_id in ("a", "c"):
        bench.ongoing(0, FAR, transactional_id=transactional_id)
    bench.end(1_000, 0)
    bench.end(1_001, 0, transactional_id="c")
    assert len(bench.far_markers()) == 1
    bench.broker.handle(Disconnected(broker_address(2)), broker_address(2))
    bench.settle(200)
    assert [each.transactional_id for each in bench.far_markers()] == ["a", "c"]


@pytest.mark.parametrize(
    "error",
    [
        errors.UNKNOWN_TOPIC_OR_PARTITION,
        errors.NOT_LEADER_OR_FOLLOWER,
        errors.NOT_ENOUGH_REPLICAS,
        errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        errors.REQUEST_TIMED_OUT,
        errors.KAFKA_STORAGE_ERROR,
    ],
)
def test_txk_10_these_errors_queue_the_partition_again(error: str) -> None:
    """TXK-10: shouldRetryPartitionWhen…: the wait set is unchanged."""
    bench = bench_of()
    pid = bench.ongoing(0, FAR)
    bench.end(pid, 0)
    bench.far_markers()
    bench.answer_far(error)
    assert bench.metadata_of().partitions == (FAR,)
    bench.settle(200)
    assert len(bench.far_markers()) == 1
    bench.answer_far()
    assert bench.state()[0] == "CompleteCommit"


@pytest.mark.parametrize("error", [errors.INVALID_PRODUCER_EPOCH, errors.TRANSACTION_COORDINATOR_FENCED])
def test_a_newer_epoch_or_coordinator_ends_the_sending(error: str) -> None:
    bench = bench_of()
    pid = bench.ongoing(0, FAR)
    bench.end(pid, 0)
    bench.far_markers()
    bench.answer_far(error)
    bench.settle(500)
    assert bench.far_markers() == []
    assert bench.state()[0] == "PrepareCommit"


@pytest.mark.parametrize("error", [errors.UNKNOWN_SERVER_ERROR, errors.MESSAGE_TOO_LARGE, errors.INVALID_REQUIRED_ACKS])
def test_txk_12_any_other_error_is_an_illegal_state(error: str) -> None:
    """TXK-12: shouldThrowIllegalState…"""
    bench = bench_of()
    bench.end(bench.ongoing(0, FAR), 0)
    bench.far_markers()
    with pytest.raises(ValueError):
        bench.answer_far(error)


def test_txk_13_a_new_coordinator_writes_all_markers_again() -> None:
    """TXK-13: the partition that already has a marker gets a second, empty marker under the new coordinator epoch."""
    bench = bench_of()
    pid = bench.ongoing(0, T0, FAR)
    assert bench.send(pid, 0, 0) == ("NONE", 0)
    bench.end(pid, 0)
    bench.far_markers()
    bench.coordinator.resigned(1)
    bench.coordinator.elected(1, 1)
    bench.settle()
    log = bench.data().log
    found = [(batch.base, batch.marker) for batch in log.records.terms[-1].batches_within(0, log.leo) if batch.marker]
    assert found == [(1, (1, 0)), (2, (1, 1))]
    assert log.last_stable_offset() == 3
    bench.answer_far()
    bench.far_markers()
    bench.answer_far()
    assert bench.state()[0] == "CompleteCommit"


def test_markers_wait_for_the_isr_of_their_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition below min.insync.replicas holds the transaction in Prepare*."""
    bench = bench_of()
    pid = bench.ongoing(0)
    bench.send(pid, 0, 0)
    monkeypatch.setattr(Partition, "under_min_isr", property(lambda each: each.tp == T0))
    bench.end(pid, 0)
    bench.settle(1_000)
    assert bench.state()[0] == "PrepareCommit"
    monkeypatch.undo()
    bench.settle(1_000)
    assert bench.state()[0] == "CompleteCommit"


def test_a_leader_that_does_not_answer_in_time_gets_the_markers_again() -> None:
    """A request for markers has a timeout of 30 s. A late answer to the former request has no effect."""
    bench = bench_of()
    bench.end(bench.ongoing(0, FAR), 0)
    (lost,) = bench.sent(WriteTxnMarkersRequest, broker_address(2))
    bench.settle(29_000)
    assert bench.far_markers() == []
    bench.settle(1_200)
    (again,) = bench.sent(WriteTxnMarkersRequest, broker_address(2))
    assert again.entries == lost.entries
    results = tuple((entry.producer_id, tp, "NONE") for entry in lost.entries for tp in entry.partitions)
    bench.broker.handle(WriteTxnMarkersResponse(lost.correlation, results), broker_address(2))
    bench.settle(100)
    assert bench.state()[0] == "PrepareCommit"
    bench.broker.handle(WriteTxnMarkersResponse(again.correlation, results), broker_address(2))
    bench.settle(100)
    assert bench.state()[0] == "CompleteCommit"
