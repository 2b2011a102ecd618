"""`TransactionCoordinator`, by Kafka's own vectors: TXC, and TXN-02 to TXN-10 if they concern the coordinator."""

from __future__ import annotations

import pytest

from core.kafka import errors, events
from core.kafka.broker.partition import Partition
from core.kafka.ids import TopicPartition
from core.kafka.release import RELEASES, Release
from core.kafka.transaction.transaction_log import TRANSACTION_STATE_TOPIC
from core.sim.units import US_PER_MS
from tests.core.kafka.transaction.coordinator_bench import CONCURRENT, FAR, FENCED, ID, INVALID, MINUTE, T0, CoordinatorBench, State

UNAVAILABLE = errors.COORDINATOR_NOT_AVAILABLE
MAPPING = errors.INVALID_PRODUCER_ID_MAPPING
LOG_OF_A = TopicPartition(TRANSACTION_STATE_TOPIC, 1)
"""The partition that holds `a`: its hash is 97."""
MAX = 32_767


def at_epoch(epoch: int, release: str = "4.3", version: int = 0) -> CoordinatorBench:
    """Return a bench whose coordinator has an ID in state Empty at an epoch."""
    bench = CoordinatorBench(RELEASES[release], version)
    bench.init()
    bench.metadata_of().producer_epoch = epoch
    return bench


def failing(bench: CoordinatorBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the transaction log below min.insync.replicas from now on."""
    monkeypatch.setattr(Partition, "under_min_isr", property(lambda each: each.tp.topic == TRANSACTION_STATE_TOPIC))


# --- InitProducerId ----------------------------------------------------------------------------------------------------


def test_txc_01_an_empty_id_is_invalid() -> None:
    """TXC-01: shouldReturnInvalidRequestWhenTransactionalIdIsEmpty."""
    assert CoordinatorBench().init(transactional_id="") == (errors.INVALID_REQUEST, -1, -1)


def test_txm_01_the_timeout_is_checked() -> None:
    """TXM-01: testValidateTransactionTimeout."""
    bench = CoordinatorBench()
    answers = [bench.init(timeout_ms=ms)[0] for ms in (1, 900_000, 900_001, 0, -1)]
    assert answers == ["NONE", "NONE", *[errors.INVALID_TRANSACTION_TIMEOUT] * 3]


def test_only_one_of_producer_id_and_epoch_is_invalid() -> None:
    bench = CoordinatorBench()
    assert bench.init(5, -1)[0] == bench.init(-1, 5)[0] == errors.INVALID_REQUEST


def test_txc_03_an_unknown_id_gets_a_fresh_producer_id() -> None:
    """TXC-03: shouldGenerateNewProducerIdIfNoStateAndProducerIdAndEpochProvided."""
    bench = CoordinatorBench()
    assert bench.init(10, 1) == ("NONE", 1_000, 0)


@pytest.mark.parametrize(("release", "version"), [("1.1", 0), ("2.4", 0), ("4.3", 0), ("4.0", 2), ("4.3", 2)])
def test_txc_05_a_take_over_of_an_open_transaction_takes_two_epochs(release: str, version: int) -> None:
    """TXC-05: one epoch fences the old instance, and the next one is for the new instance."""
    bench = CoordinatorBench(RELEASES[release], version)
    pid = bench.ongoing(1)
    assert bench.init() == (CONCURRENT, -1, -1)
    assert bench.state() == ("CompleteAbort", pid, 2)
    assert bench.init() == ("NONE", pid, 3)


@pytest.mark.parametrize(("release", "epochs"), [("2.4", [2, 3, 4]), ("2.7", [2, 2, 2]), ("4.3", [2, 2, 2])])
def test_txc_07_failed_fences_do_not_burn_epochs(release: str, epochs: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """TXC-07: shouldNotRepeatedlyBumpEpochDueToInitPidDuringOngoingTxnIfAppendToLogFails. The log's error is mapped (TXN-09)."""
    bench = CoordinatorBench(RELEASES[release])
    bench.ongoing(1)
    failing(bench, monkeypatch)
    found = []
    for number in range(3):
        if number == 2:
            monkeypatch.undo()
        answer = bench.init()
        found.append((answer, bench.metadata_of().producer_epoch, bench.metadata_of().has_failed_epoch_fence))
    assert [answer for answer, _, _ in found] == [(UNAVAILABLE, -1, -1)] * 2 + [(CONCURRENT, -1, -1)]
    assert [epoch for _, epoch, _ in found] == epochs
    assert [failed for _, _, failed in found] == [True, True, False]


def test_txc_07_with_transaction_version_2_nothing_is_bumped_before_the_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """TXC-07 in 4.1: the epoch is bumped at the end of the transaction (KAFKA-19367)."""
    bench = CoordinatorBench(version=2)
    pid = bench.ongoing(1)
    failing(bench, monkeypatch)
    assert [bench.init()[0] for _ in range(2)] == [UNAVAILABLE] * 2
    assert bench.state() == ("Ongoing", pid, 1)
    monkeypatch.undo()
    assert bench.init()[0] == CONCURRENT
    assert bench.state() == ("CompleteAbort", pid, 2)


def test_txc_09_a_plain_init_forgets_the_last_epoch() -> None:
    """TXC-09: testInitProducerIdStaleCurrentEpochProvided."""
    bench = at_epoch(10)
    assert bench.init() == ("NONE", 1_000, 11)
    assert bench.init(1_000, 10) == (FENCED, -1, -1)


def test_a_retry_of_an_init_gets_the_same_epoch_until_the_state_is_loaded_again() -> None:
    """The last epoch is not in the log, so after a change of the coordinator the same retry is fenced."""
    bench = at_epoch(10)
    assert bench.init(1_000, 10) == bench.init(1_000, 10) == ("NONE", 1_000, 11)
    bench.coordinator.elected(1, 1)
    assert bench.init(1_000, 10) == (FENCED, -1, -1)


def test_txn_04_exhausted_epochs_get_a_new_producer_id() -> None:
    """TXN-04: shouldGenerateNewProducerIdIfEpochsExhausted, testRotateProducerId."""
    bench = at_epoch(MAX - 1)
    assert bench.init(1_000, 7) == (FENCED, -1, -1), "only the current epoch, or none, gets the new ID"
    assert bench.init(1_000, MAX - 1) == ("NONE", 1_001, 0)
    metadata = bench.metadata_of()
    assert (metadata.previous_producer_id, metadata.last_producer_epoch) == (1_000, MAX - 1)
    assert bench.init(1_000, MAX - 1) == ("NONE", 1_001, 0), "the retry"
    assert bench.init(1_000, MAX - 2) == (FENCED, -1, -1)


@pytest.mark.parametrize("version", [0, 2])
def test_txn_04_the_last_epoch_fences(version: int) -> None:
    """TXN-04: shouldUseLastEpochToFenceWhenEpochsAreExhausted; then the next instance gets a new producer ID."""
    bench = at_epoch(MAX - 1, version=version)
    bench.add(1_000, MAX - 1)
    assert bench.init() == (CONCURRENT, -1, -1)
    assert bench.state() == ("CompleteAbort", 1_000, MAX)
    assert bench.init() == ("NONE", 1_001, 0)


def test_txn_04_no_fence_above_the_last_epoch() -> None:
    """TXN-04: testFenceProducerNotAllowedIfItWouldOverflow."""
    bench = at_epoch(MAX)
    bench.add(1_000, MAX)
    assert bench.init() == (errors.UNKNOWN_SERVER_ERROR, -1, -1)
    with pytest.raises(ValueError):
        bench.metadata_of().prepare_fence(0)
    bench.settle(2 * MINUTE)
    assert bench.state() == ("Ongoing", 1_000, MAX)


@pytest.mark.parametrize(("release", "error"), [("2.4", errors.INVALID_PRODUCER_EPOCH), ("2.7", FENCED)])
def test_the_answer_to_a_fenced_producer_by_release(release: str, error: str) -> None:
    """KIP-588: PRODUCER_FENCED exists since 2.7."""
    bench = CoordinatorBench(RELEASES[release])
    pid = bench.ongoing(1)
    assert bench.add(pid, 0) == [error]
    assert bench.end(pid, 0)[0] == error
    assert bench.told(events.TransactionRefused)[-2:] == [(1, ID, "AddPartitionsToTxn", error), (1, ID, "EndTxn", error)]


# --- AddPartitionsToTxn ------------------------------------------------------------------------------------------------


def test_txn_02_partitions_are_added() -> None:
    """TXN-02: missing metadata, another producer ID, another epoch, an empty ID, and partitions that the transaction already has."""
    bench = CoordinatorBench()
    assert bench.add(1_000, 0) == [MAPPING]
    assert bench.add(1_000, 0, transactional_id="") == [errors.INVALID_REQUEST]
    pid = bench.ongoing(1)
    assert bench.add(pid + 1, 1) == [MAPPING]
    assert bench.add(pid, 0) == bench.add(pid, 2) == [FENCED]
    written = len(bench.records())
    assert bench.add(pid, 1) == ["NONE"]
    assert len(bench.records()) == written
    assert bench.add(pid, 1, T0, FAR) == ["NONE", "NONE"]
    assert bench.metadata_of().partitions == (T0, FAR)


@pytest.mark.parametrize(("release", "error"), [("3.9", MAPPING), ("4.0", CONCURRENT)])
def test_txn_02_while_a_transition_is_pending(release: str, error: str) -> None:
    """TXN-02; KAFKA-18660: since 4.0 the pending transition is checked first."""
    bench = CoordinatorBench(RELEASES[release])
    pid = bench.ongoing(0, FAR)
    bench.end(pid, 0)
    assert bench.add(pid, 0) == [CONCURRENT]
    assert bench.add(pid + 1, 0) == [error]


def test_an_unknown_partition_spoils_the_request() -> None:
    bench = CoordinatorBench()
    pid = bench.init()[1]
    assert bench.add(pid, 0, T0, TopicPartition("nope", 0)) == [errors.OPERATION_NOT_ATTEMPTED, errors.UNKNOWN_TOPIC_OR_PARTITION]
    assert bench.state()[0] == "Empty"


def test_the_timeout_counts_from_the_first_partition() -> None:
    bench = CoordinatorBench()
    pid = bench.ongoing()
    start = bench.metadata_of().start_time
    bench.wait(5)
    bench.add(pid, 0, FAR)
    assert bench.metadata_of().start_time == start
    assert bench.metadata_of().update_time == start + 5 * US_PER_MS


def test_txn_07_verification() -> None:
    """TXN-07: testVerifyPartitionHandling."""
    bench = CoordinatorBench()
    pid = bench.ongoing(1)

    def verify(pid: int, epoch: int, *partitions: TopicPartition) -> list[str]:
        return bench.add(pid, epoch, *partitions, verify_only=True)

    assert verify(pid + 1, 1) == [MAPPING]
    assert verify(pid, 0) == [FENCED]
    assert verify(pid, 1) == ["NONE"]
    assert verify(pid, 1, FAR) == [errors.TRANSACTION_ABORTABLE]
    bench.metadata_of().pending_state = State.PREPARE_COMMIT
    assert verify(pid, 1) == ["NONE"]
    assert verify(pid, 1, FAR) == [errors.TRANSACTION_ABORTABLE]
    bench.metadata_of().pending_state = None
    bench.add(pid, 1, FAR)
    bench.end(pid, 1)
    assert verify(pid, 1) == [CONCURRENT]


# --- EndTxn ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("release", "larger"), [("2.4", "NONE"), ("2.7", FENCED), ("4.3", FENCED)])
def test_txc_10_the_epoch_of_an_end(release: str, larger: str) -> None:
    """TXC-10: verifyEndTxnEpoch: a larger epoch passed before 2.6."""
    bench = CoordinatorBench(RELEASES[release])
    pid = bench.ongoing(1)
    assert bench.end(pid, 0)[0] == (FENCED if release != "2.4" else errors.INVALID_PRODUCER_EPOCH)
    assert bench.end(pid, 2)[0] == larger


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize(("version", "epoch"), [(0, 1), (2, 2)])
def test_txc_11_the_end_is_written_with_its_epoch(version: int, epoch: int, commit: bool) -> None:
    """TXC-11: shouldAppendPrepareCommit/AbortToLogOnEndTxn: transaction.version 2 bumps the epoch."""
    bench = CoordinatorBench(version=version)
    pid = bench.ongoing(1)
    assert bench.end(pid, 1, commit=commit) == ("NONE", *((pid, epoch) if version else (-1, -1)))
    prepared, completed = bench.records()[-2:]
    assert prepared is not None
    assert completed is not None
    names = ("PrepareCommit", "CompleteCommit") if commit else ("PrepareAbort", "CompleteAbort")
    assert (prepared.state.value, completed.state.value) == names
    assert (prepared.producer_epoch, completed.producer_epoch) == (epoch, epoch)
    assert (prepared.partitions, completed.partitions) == ((T0,), ())


def test_txc_12_an_end_at_the_same_epoch_is_the_next_one() -> None:
    """TXC-12: the stored state is CompleteCommit at epoch 1, and the request has epoch 1. The answer is INVALID_TXN_STATE, as in 4.0
    (PRODUCER_FENCED was never released).
    """
    bench = CoordinatorBench(version=2)
    pid = bench.ongoing(0)
    bench.end(pid, 0)
    assert bench.state() == ("CompleteCommit", pid, 1)
    assert bench.end(pid, 1) == (INVALID, -1, -1)


def test_txn_08_retries_and_overflow() -> None:
    """TXN-08: after epoch 32766, PrepareCommit has epoch 32767 with the same producer ID, and CompleteCommit has epoch 0 with the next
    producer ID. A retry gets an answer.
    """
    bench = at_epoch(MAX - 1, version=2)
    pid = 1_000
    bench.add(pid, MAX - 1, FAR)
    assert bench.end(pid, MAX - 1) == ("NONE", 1_001, 0)
    (marker,) = bench.far_markers()
    assert (marker.producer_id, marker.producer_epoch) == (pid, MAX)
    assert bench.end(pid, MAX - 1) == (CONCURRENT, -1, -1)
    assert bench.state() == ("PrepareCommit", pid, MAX)
    bench.answer_far()
    assert bench.state() == ("CompleteCommit", 1_001, 0)
    assert bench.end(pid, MAX - 1) == ("NONE", 1_001, 0)
    assert bench.end(pid, MAX - 1, commit=False) == (INVALID, -1, -1)
    assert bench.end(pid, MAX - 2) == (MAPPING, -1, -1)
    assert bench.add(1_001, 0) == ["NONE"]


def test_txn_08_recorded_epochs_at_the_end() -> None:
    """x-epoch-exhausted: the epochs 32763 to 32766, and then the new producer ID, transaction by transaction."""
    bench = at_epoch(MAX - 4, version=2)
    pid, epoch, answers = 1_000, MAX - 4, []
    for commit in (True, False, True, True, False, True):
        assert bench.send(pid, epoch, 0) is not None
        _, pid, epoch = bench.end(pid, epoch, commit=commit)
        answers.append((pid, epoch))
    assert answers == [(1_000, MAX - 3), (1_000, MAX - 2), (1_000, MAX - 1), (1_001, 0), (1_001, 1), (1_001, 2)]
    rows = {
        each.producer_id: (each.producer_epoch, each.last_sequence) for each in bench.data().log.ensure_producer_state().active_producers()
    }
    assert rows == {1_000: (MAX, -1), 1_001: (2, -1)}


@pytest.mark.parametrize(("first", "then"), [(2, 0), (0, 2)], ids=["downgrade", "upgrade"])
def test_txn_08_the_version_changes_between_two_requests(first: int, then: int) -> None:
    """TXN-08: the first answer is CONCURRENT_TRANSACTIONS. The next one is NONE, with the epoch of the version that ends the transaction."""
    bench = CoordinatorBench(version=first)
    pid = bench.ongoing(0, FAR)
    bench.end(pid, 0)
    ended = 1 if first == 2 else 0
    bench.version = then
    assert bench.end(pid, ended)[0] == CONCURRENT
    bench.far_markers()
    bench.answer_far()
    assert bench.state() == ("CompleteCommit", pid, ended)
    assert bench.end(pid, ended)[0] == ("NONE" if then == 0 else INVALID)


# --- timeouts and expiry -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("release", "epoch"), [("0.11", 1), ("1.1", 2), ("2.7", 2), ("4.3", 2)])
def test_txc_13_a_timed_out_transaction_is_aborted(release: str, epoch: int) -> None:
    """TXC-13: shouldAbortExpiredTransactionsInOngoingStateAndBumpEpoch; T7: 0.11.0.0 did not fence."""
    bench = CoordinatorBench(Release.named(release))
    bench.init(timeout_ms=1)
    bench.init(timeout_ms=1)
    bench.wait(500)
    bench.add(1_000, 1, FAR)
    start = bench.metadata_of().start_time
    bench.settle(MINUTE + 10_000)
    (timed_out,) = bench.told(events.TransactionTimedOut)
    prepared = bench.records()[-1]
    assert prepared is not None
    assert (prepared.state, prepared.producer_epoch, prepared.last_producer_epoch) == (State.PREPARE_ABORT, epoch, -1)
    assert prepared.start_time == start
    assert prepared.update_time == start + timed_out[-1]
    assert prepared.update_time % (10_000 * US_PER_MS) == 0


def test_txc_13_a_producer_of_version_2_can_end_the_abort_as_its_own() -> None:
    """TXC-13 and c-timeout-tv2: EndTxn(abort) with the old epoch is a retry of the server's abort, and the producer is ready again."""
    bench = CoordinatorBench(version=2)
    pid = bench.ongoing(1)
    bench.settle(2 * MINUTE)
    assert bench.state() == ("CompleteAbort", pid, 2)
    assert bench.end(pid, 1, commit=True) == (INVALID, -1, -1)
    assert bench.end(pid, 1, commit=False) == ("NONE", pid, 2)


def test_txc_15_a_failed_abort_does_not_bump_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """TXC-15: shouldNotBumpEpochWhenAbortingExpiredTransactionIfAppendToLogFails."""
    bench = CoordinatorBench()
    pid = bench.ongoing(1)
    failing(bench, monkeypatch)
    bench.settle(MINUTE + 10_000)
    assert bench.state() == ("Ongoing", pid, 2)
    assert bench.metadata_of().has_failed_epoch_fence
    monkeypatch.undo()
    bench.settle(10_000)
    assert bench.state() == ("CompleteAbort", pid, 2)
    assert not bench.metadata_of().has_failed_epoch_fence


def test_txn_06_what_the_scan_leaves_alone() -> None:
    """TXN-06: no abort while a transition is pending, and none before the timeout is exceeded."""
    bench = CoordinatorBench()
    pid = bench.ongoing(1)
    metadata = bench.metadata_of()
    limit = metadata.start_time + metadata.timeout_us
    states = bench.coordinator.states
    assert states.timed_out(limit) == []
    assert states.timed_out(limit + 1) == [metadata]
    metadata.pending_state = State.PREPARE_COMMIT
    assert states.timed_out(limit + 1) == []
    assert bench.state() == ("Ongoing", pid, 1)


def test_txn_06_idle_ids_expire_with_tombstones_in_one_batch() -> None:
    """TXN-06: IDs that have been Empty or Complete and idle for transactional.id.expiration.ms expire. An ID with an open transaction
    remains.
    """
    bench = CoordinatorBench(settings={"transactional.id.expiration.ms": 3_000_000, "transaction.max.timeout.ms": 10_000_000})
    for transactional_id in ("a", "c", "e"):
        bench.init(transactional_id=transactional_id)
    open_id = bench.init(transactional_id="g", timeout_ms=10_000_000)
    bench.add(open_id[1], 0, transactional_id="g")
    log = bench.broker.disk.logs[LOG_OF_A]
    end = log.leo
    bench.settle(3_600_000 + 1)
    assert list(bench.coordinator.states.caches[1].entries) == ["g"]
    (batch,) = log.records.terms[-1].batches_within(end, log.leo)
    assert batch.content == (("a", None), ("c", None), ("e", None))
    assert bench.add(1_000, 0) == [MAPPING]
    assert bench.init() == ("NONE", 1_004, 0), "a new producer ID"


def test_txn_06_tombstones_that_fail_are_left_for_the_next_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """TXN-06: the ID stays usable, and the next check removes it."""
    bench = CoordinatorBench(settings={"transactional.id.expiration.ms": 1_000})
    bench.init()
    failing(bench, monkeypatch)
    bench.settle(3_600_000 + 1)
    assert bench.metadata_of().pending_state is None
    monkeypatch.undo()
    bench.settle(3_600_000)
    assert not bench.coordinator.states.caches[1].entries


# --- ownership ---------------------------------------------------------------------------------------------------------


def test_txn_10_only_the_owner_answers() -> None:
    """TXN-10: the answer is NOT_COORDINATOR if the broker does not own the partition, or if the epoch changed between read and write."""
    bench = CoordinatorBench()
    pid = bench.ongoing()
    bench.lead(LOG_OF_A, 1, leader=2)
    answers = [bench.init()[0], *bench.add(pid, 0), bench.end(pid, 0)[0]]
    assert answers == [errors.NOT_COORDINATOR] * 3


@pytest.mark.parametrize(
    ("log_error", "answer"),
    [
        (errors.UNKNOWN_TOPIC_OR_PARTITION, UNAVAILABLE),
        (errors.NOT_ENOUGH_REPLICAS, UNAVAILABLE),
        (errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND, UNAVAILABLE),
        (errors.REQUEST_TIMED_OUT, UNAVAILABLE),
        (errors.NOT_LEADER_OR_FOLLOWER, errors.NOT_COORDINATOR),
        (errors.KAFKA_STORAGE_ERROR, errors.NOT_COORDINATOR),
        (errors.MESSAGE_TOO_LARGE, errors.UNKNOWN_SERVER_ERROR),
    ],
)
def test_txn_09_errors_of_the_log(log_error: str, answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """TXN-09: the error that a client gets if the transaction log has an error. The transition is abandoned."""
    bench = CoordinatorBench()
    bench.init()
    monkeypatch.setattr(
        type(bench.broker.replicas), "append_internally", lambda _, tp, make, deadline, completion: completion.append_completed(log_error)
    )
    assert bench.init() == (answer, -1, -1)
    assert bench.metadata_of().pending_state is None
    assert bench.state() == ("Empty", 1_000, 0)
