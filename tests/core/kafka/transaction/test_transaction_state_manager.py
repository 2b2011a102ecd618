"""Metadata, state manager, transaction log, and producer IDs, by Kafka's own vectors: TXM."""

from __future__ import annotations

from typing import Any

import pytest

from core.kafka import errors
from core.kafka.ids import TopicPartition
from core.kafka.release import RELEASES
from core.kafka.transaction.transaction_log import TRANSACTION_STATE_TOPIC, check_transit, partition_for, record_bytes, tombstone_batches
from core.kafka.transaction.transaction_metadata import TransactionMetadata
from tests.core.kafka.transaction.coordinator_bench import FAR, ID, T0, CoordinatorBench, State

DAY = 86_400_000


def metadata(state: State = State.EMPTY, now: int = 1_000) -> TransactionMetadata:
    made = TransactionMetadata(ID, 10, 60_000_000, now)
    made.producer_epoch = 1
    made.state = state
    return made


def test_txm_02_a_clock_that_goes_back_is_tolerated() -> None:
    """TXM-02: testTolerateTimeShift…: every transition uses the smaller time."""
    each = metadata(now=1_000)
    bumped = each.prepare_increment_epoch(60_000_000, -1, 900)
    assert bumped is not None
    each.complete_transition(bumped)
    each.complete_transition(each.prepare_add_partitions((T0,), 800, version=0))
    assert (each.start_time, each.update_time) == (800, 800)
    each.complete_transition(each.prepare_end(State.PREPARE_COMMIT, 700, version=0))
    assert (each.start_time, each.update_time) == (800, 700)
    each.complete_transition(each.prepare_complete(600))
    assert (each.start_time, each.update_time) == (800, 600)
    each.complete_transition(each.prepare_new_producer_id(11, 60_000_000, 500, record_last_epoch=True))
    assert (each.start_time, each.update_time) == (-1, 500)


def test_only_the_prepared_transition_completes() -> None:
    each = metadata()
    prepared = each.prepare_add_partitions((T0,), 5, version=0)
    with pytest.raises(ValueError):
        each.prepare_add_partitions((FAR,), 6, version=0)
    with pytest.raises(ValueError):
        each.complete_transition(prepared._replace(state=State.PREPARE_COMMIT))
    with pytest.raises(ValueError):
        each.complete_transition(prepared._replace(producer_epoch=5))
    each.complete_transition(prepared)
    assert each.state is State.ONGOING


def test_txm_04_a_second_load_without_unload() -> None:
    """TXM-04: testSuccessfulReimmigration: the entries exist with the new coordinator epoch."""
    bench = CoordinatorBench()
    bench.init()
    bench.coordinator.elected(1, 1)
    assert bench.coordinator.states.caches[1].coordinator_epoch == 1
    assert bench.state() == ("Empty", 1_000, 0)


@pytest.mark.parametrize(("retries", "pending"), [(True, State.ONGOING), (False, None)])
def test_txm_06_a_pending_state_survives_a_retry(retries: bool, pending: State | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """TXM-06: testPendingStateNotResetOnRetryAppend."""
    bench = CoordinatorBench()
    bench.init()
    states, each = bench.coordinator.states, bench.metadata_of()
    monkeypatch.setattr(
        type(bench.broker.replicas),
        "append_internally",
        lambda _, tp, make, deadline, completion: completion.append_completed(errors.NOT_ENOUGH_REPLICAS),
    )
    monkeypatch.setattr(type(bench.coordinator), "continue_with", lambda *_: None)
    states.append(ID, 0, each.prepare_add_partitions((T0,), 0, version=0), "partitions-added", None, retries=retries)
    assert each.pending_state is pending


def test_txm_07_a_write_under_another_coordinator_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """TXM-07: testAppendTransactionToLogWhileProducerFenced: the answer is NOT_COORDINATOR, and the entry does not change."""
    bench = CoordinatorBench()
    bench.init()
    before = bench.records()
    told: list[str] = []
    monkeypatch.setattr(type(bench.coordinator), "continue_with", lambda _, step, about, error: told.append(error))
    bench.coordinator.states.append(ID, 10, bench.metadata_of().prepare_add_partitions((T0,), 0, version=0), "partitions-added", None)
    assert told == [errors.NOT_COORDINATOR]
    assert bench.records() == before
    assert bench.state() == ("Empty", 1_000, 0)


def test_the_result_of_an_abort_under_another_coordinator_epoch_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """`TransactionCoordinator#abortTimedOutTransactions`: the new coordinator epoch has loaded the state, and its epoch is not bumped yet."""
    bench = CoordinatorBench()
    bench.ongoing(1, T0)
    writes: list[Any] = []
    with monkeypatch.context() as patched:
        patched.setattr(
            type(bench.broker.replicas), "append_internally", lambda _, tp, make, deadline, completion: writes.append(completion)
        )
        bench.coordinator.abort_timed_out(bench.metadata_of())
    bench.coordinator.resigned(1)
    bench.coordinator.elected(1, 1)
    loaded = bench.metadata_of()
    before = loaded.current()
    writes[0].append_completed(errors.NOT_ENOUGH_REPLICAS)
    assert not loaded.has_failed_epoch_fence
    assert (loaded.current(), loaded.state) == (before, State.ONGOING)


@pytest.mark.parametrize(("release", "left"), [("3.3", ["a"]), ("3.6", [])])
def test_txm_09_an_id_without_epoch_expires(release: str, left: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """TXM-09: testTransactionExpirationShouldNotFailWithUninitializedTransactionMetadata, KAFKA-14880."""
    bench = CoordinatorBench(RELEASES[release], settings={"transactional.id.expiration.ms": 1_000})
    with monkeypatch.context() as patched:
        patched.setattr(
            type(bench.broker.replicas),
            "append_internally",
            lambda _, tp, make, deadline, completion: completion.append_completed(errors.NOT_ENOUGH_REPLICAS),
        )
        assert bench.init()[0] == errors.COORDINATOR_NOT_AVAILABLE
    assert bench.metadata_of().producer_epoch == -1
    bench.settle(3_600_000 + 1)
    assert list(bench.coordinator.states.caches[1].entries) == left


@pytest.mark.parametrize(("key", "partitions", "partition"), [("b", 2, 0), ("a", 2, 1), ("a", 50, 47), ("b", 50, 48), ("", 50, 0)])
def test_txm_10_the_partition_of_an_id(key: str, partitions: int, partition: int) -> None:
    """TXM-10: partitionFor."""
    assert partition_for(key, partitions) == partition


def test_the_hash_is_that_of_java() -> None:
    assert partition_for("polygenelubricants", 50) == 0, "the hash is the least integer: only its sign bit is set"


def test_txm_12_an_empty_state_has_no_partitions() -> None:
    """TXM-12: shouldThrowExceptionWriteInvalidTxn."""
    each = metadata()
    with pytest.raises(ValueError, match="not expected to have any partitions"):
        check_transit(each.current()._replace(partitions=(T0,)))
    check_transit(each.current())


def test_tombstones_share_batches_of_16_kib() -> None:
    ids = [f"{number:0100}" for number in range(200)]
    batches = tombstone_batches(ids)
    assert [each for ids_of, _ in batches for each in ids_of] == ids
    assert len(batches) == 2
    assert all(size <= 16_384 for _, size in batches)
    assert batches[0][1] == 61 + len(batches[0][0]) * (record_bytes(ids[0], None) - 61)


def test_the_log_holds_the_last_state_of_each_id() -> None:
    """A new coordinator knows the whole log, including the records above the high watermark, but no removed IDs."""
    bench = CoordinatorBench()
    pid = bench.ongoing(1, FAR)
    bench.init(transactional_id="c")
    bench.end(pid, 1)
    log = bench.broker.disk.logs[TopicPartition(TRANSACTION_STATE_TOPIC, 1)]
    batches = [batch for term in log.records.terms for batch in term.batches]
    assert [batch.records for batch in batches] == [len(batch.content) for batch in batches] == [1] * log.leo
    log.high_watermark = 0
    stored = bench.metadata_of().current()
    bench.coordinator.resigned(1)
    bench.coordinator.elected(1, 1)
    assert list(bench.coordinator.states.caches[1].entries) == ["c", "a"]
    loaded = bench.metadata_of()
    assert loaded.current() == stored._replace(last_producer_epoch=-1)
    assert loaded.pending_state is State.COMPLETE_COMMIT
