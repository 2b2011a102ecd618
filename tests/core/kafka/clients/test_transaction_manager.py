"""The state machine of a transactional producer, by Kafka's vectors TXP (`TransactionManagerTest`, `SenderTest`)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from core.kafka import errors
from core.kafka.clients.producer.producer_transaction_state import (
    INIT,
    SEND,
    VALID_SOURCES,
    IllegalStateError,
    ProducerTransactionState,
    impossible_call,
)
from core.kafka.clients.producer.transactional_load import TransactionalLoad
from core.kafka.clients.producer.transactional_requests import AddPartitions, EndTxn, FindCoordinator, InitProducerId
from core.kafka.messages import ProduceRequest
from core.kafka.transaction.transaction_messages import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    FindCoordinatorRequest,
    InitTransactionalIdRequest,
)
from core.sim.kernel_messages import Disconnected
from tests.core.kafka.clients.transaction_bench import EPOCH, PRODUCER_ID, TP0, TP1, TransactionBench

_S = ProducerTransactionState


# --- states (transactions.md, 4.1) -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("target", "former"), itertools.product(_S, _S))
def test_the_table_of_transitions(target: ProducerTransactionState, former: ProducerTransactionState) -> None:
    allowed = {
        _S.UNINITIALIZED: {_S.READY, _S.ABORTABLE_ERROR},
        _S.INITIALIZING: {_S.UNINITIALIZED, _S.ABORTING_TRANSACTION, _S.COMMITTING_TRANSACTION},
        _S.READY: {_S.INITIALIZING, _S.COMMITTING_TRANSACTION, _S.ABORTING_TRANSACTION},
        _S.IN_TRANSACTION: {_S.READY},
        _S.COMMITTING_TRANSACTION: {_S.IN_TRANSACTION},
        _S.ABORTING_TRANSACTION: {_S.IN_TRANSACTION, _S.ABORTABLE_ERROR},
        _S.ABORTABLE_ERROR: {_S.IN_TRANSACTION, _S.COMMITTING_TRANSACTION, _S.ABORTABLE_ERROR, _S.INITIALIZING},
        _S.FATAL_ERROR: set(_S),
    }
    assert target.can_follow(former) == (former in allowed[target])
    assert _S.FATAL_ERROR not in VALID_SOURCES


def test_a_possible_call_has_no_reason_against_it() -> None:
    assert impossible_call(INIT, _S.UNINITIALIZED, "tx", "") == ""
    assert impossible_call(SEND, _S.IN_TRANSACTION, "tx", "") == ""
    assert impossible_call(INIT, _S.READY, "tx", "") == (
        "TransactionalId tx: Invalid transition attempted from state READY to state INITIALIZING"
    )


# --- requests to the coordinator -------------------------------------------------------------------------------------


def test_waiting_requests_are_sent_in_the_order_of_their_priority() -> None:
    """`TransactionManager.Priority`: the coordinator, the producer ID, partitions, the end of the transaction, and another epoch."""
    queue = TransactionBench().manager.requests
    in_order = [
        FindCoordinator("tx"),
        InitProducerId(-1, -1),
        AddPartitions((TP0,)),
        EndTxn(commit=True, version=0),
        InitProducerId(PRODUCER_ID, EPOCH),
    ]
    for request in reversed(in_order):
        queue.enqueue(request)
    assert [*queue.waiting] == in_order


def test_a_coordinator_is_looked_up_once_at_a_time() -> None:
    queue = TransactionBench().manager.requests
    for key, group in (("tx", False), ("tx", False), ("g", True), ("g", True), ("tx", True)):
        queue.look_up_coordinator(key, group)
    lookups = [each for each in queue.waiting if isinstance(each, FindCoordinator)]
    assert [(each.key, bool(each.group)) for each in lookups] == [("tx", False), ("g", True), ("tx", True)]


@pytest.mark.parametrize(("left", "sent"), [(0, 1), (1, 0)])
def test_no_request_is_sent_before_the_reconnect_backoff_ends(left: int, sent: int) -> None:
    bench = TransactionBench()
    bench.producer.connection_failed("b2")
    bench.journal.now = bench.producer.reconnect_time("b2") - left
    bench.manager.requests.send(AddPartitions((TP0,)))
    assert len(bench.sent(AddPartitionsToTxnRequest)) == sent


# --- initialization --------------------------------------------------------------------------------------------------


def test_initialization_finds_the_coordinator_first() -> None:
    bench = TransactionBench(ready=False)
    bench.manager.init()
    assert (bench.state, bench.sent(InitTransactionalIdRequest)) == (_S.INITIALIZING, [])
    bench.find_coordinator()
    request = bench.answer_init(7, 3)
    assert (request.producer_id, request.producer_epoch, request.transactional_id) == (-1, -1, "tx")
    assert (bench.state, bench.manager.producer_id, bench.manager.producer_epoch) == (_S.READY, 7, 3)


def test_a_coordinator_that_is_not_available_is_asked_for_again_after_a_back_off() -> None:
    bench = TransactionBench(ready=False)
    bench.manager.init()
    bench.find_coordinator(errors.COORDINATOR_NOT_AVAILABLE)
    bench.run(99)
    assert bench.sent(FindCoordinatorRequest) == []
    bench.run(1)
    bench.find_coordinator()
    bench.answer_init()
    assert bench.state is _S.READY


@pytest.mark.parametrize("error", [errors.NOT_COORDINATOR, errors.COORDINATOR_NOT_AVAILABLE])
def test_a_coordinator_that_moved_is_looked_up_anew(error: str) -> None:
    bench = TransactionBench(ready=False)
    bench.manager.init()
    bench.find_coordinator()
    bench.answer_init(-1, -1, error)
    bench.find_coordinator(broker=1)
    bench.run(100)
    assert len(bench.sent(InitTransactionalIdRequest, "b1")) == 1


@pytest.mark.parametrize("error", [errors.COORDINATOR_LOAD_IN_PROGRESS, errors.CONCURRENT_TRANSACTIONS])
def test_a_coordinator_that_is_busy_is_asked_again(error: str) -> None:
    bench = TransactionBench(ready=False)
    bench.manager.init()
    bench.find_coordinator()
    bench.answer_init(-1, -1, error)
    bench.run(100)
    assert bench.sent(FindCoordinatorRequest) == []
    bench.answer_init()
    assert bench.state is _S.READY


def test_a_broken_connection_lets_it_look_up_the_coordinator() -> None:
    bench = TransactionBench(ready=False)
    bench.manager.init()
    bench.find_coordinator()
    assert len(bench.sent(InitTransactionalIdRequest)) == 1
    bench.producer.handle(Disconnected("b2"), "b2")
    bench.find_coordinator(broker=1)
    bench.run(100)
    bench.answer_init()
    assert bench.state is _S.READY


def test_a_silent_coordinator_is_given_up_after_request_timeout_ms() -> None:
    bench = TransactionBench(ready=False)
    bench.manager.init()
    bench.find_coordinator()
    assert len(bench.sent(InitTransactionalIdRequest)) == 1
    bench.run(30_000)
    assert bench.sent(FindCoordinatorRequest) == []
    bench.run(10)
    bench.find_coordinator()
    bench.run(100)
    bench.answer_init()
    assert bench.state is _S.READY


# --- a transaction ---------------------------------------------------------------------------------------------------


def test_a_partition_is_added_before_its_first_batch() -> None:
    bench = TransactionBench()
    bench.manager.begin()
    bench.producer.produce(1, 100, 0)
    assert bench.sent(ProduceRequest) == []
    request = bench.answer_add_partitions()
    assert (request.partitions, request.producer_id, request.producer_epoch) == ((TP0,), PRODUCER_ID, EPOCH)
    (batch,) = bench.sent(ProduceRequest)
    assert (batch.transactional_id, batch.adds_partition, batch.first_sequence) == ("tx", False, 0)
    bench.producer.produce(1, 100, 0)
    assert bench.sent(AddPartitionsToTxnRequest) == []
    assert len(bench.sent(ProduceRequest)) == 1


def test_sequences_go_on_across_transactions_before_version_2() -> None:
    bench = TransactionBench()
    bench.acked(*bench.begin(0))
    bench.manager.commit()
    bench.answer_end()
    (batch,) = bench.begin(0)
    assert (batch.first_sequence, batch.producer_epoch) == (1, EPOCH)


def test_txp_09_version_2_adopts_the_epoch_of_the_end() -> None:
    """TXP-09: no AddPartitionsToTxn; the response to EndTxn contains the next epoch, and sequences restart."""
    bench = TransactionBench("4.0", version=2)
    (batch,) = bench.begin(0)
    assert (batch.adds_partition, batch.first_sequence) == (True, 0)
    bench.acked(batch)
    bench.manager.commit()
    assert bench.answer_end(producer_id=PRODUCER_ID, epoch=EPOCH + 1).version == 2
    assert (bench.state, bench.manager.producer_epoch) == (_S.READY, EPOCH + 1)
    (batch,) = bench.begin(0)
    assert (batch.first_sequence, batch.producer_epoch) == (0, EPOCH + 1)
    assert bench.sent(AddPartitionsToTxnRequest) == []


@pytest.mark.parametrize(("release", "first"), [("0.11", 100), ("1.1", 20), ("3.3", 20)])
def test_txp_10_the_first_partition_is_retried_soon(release: str, first: int) -> None:
    """TXP-10: CONCURRENT_TRANSACTIONS for the first AddPartitionsToTxn waits 20 ms (1.0); for later ones, retry.backoff.ms."""
    bench = TransactionBench(release)
    bench.manager.begin()
    bench.producer.produce(1, 100, 0)
    bench.answer_add_partitions(errors.CONCURRENT_TRANSACTIONS)
    bench.run(first - 1)
    assert bench.sent(AddPartitionsToTxnRequest) == []
    bench.run(1)
    bench.answer_add_partitions(errors.COORDINATOR_LOAD_IN_PROGRESS)
    bench.run(99)
    assert bench.sent(AddPartitionsToTxnRequest) == []
    bench.run(1)
    bench.answer_add_partitions()
    bench.producer.produce(1, 100, 1)
    bench.answer_add_partitions(errors.CONCURRENT_TRANSACTIONS)
    bench.run(99)
    assert bench.sent(AddPartitionsToTxnRequest) == []
    bench.run(1)
    assert len(bench.sent(AddPartitionsToTxnRequest)) == 1


def test_txp_11_the_end_waits_for_the_batches() -> None:
    """TXP-11: EndTxn is held back while a batch is incomplete."""
    bench = TransactionBench()
    first, second = bench.begin(0, 1)
    bench.manager.commit()
    assert bench.sent(EndTxnRequest) == []
    bench.acked(first)
    assert bench.sent(EndTxnRequest) == []
    bench.acked(second)
    assert bench.answer_end().commit
    assert bench.state is _S.READY


def test_a_commit_of_nothing_sends_nothing() -> None:
    bench = TransactionBench()
    bench.manager.begin()
    bench.manager.commit()
    assert (bench.state, bench.sent(EndTxnRequest)) == (_S.READY, [])


def test_txp_12_a_transaction_that_never_started_is_aborted_without_a_request() -> None:
    """TXP-12: the only AddPartitionsToTxn failed. The abort completes immediately, and the next transaction works."""
    bench = TransactionBench()
    bench.manager.begin()
    bench.producer.produce(1, 100, 0)
    bench.answer_add_partitions(errors.TOPIC_AUTHORIZATION_FAILED)
    assert bench.state is _S.ABORTABLE_ERROR
    bench.manager.abort()
    assert (bench.state, bench.sent(EndTxnRequest)) == (_S.READY, [])
    assert len(bench.begin(0)) == 1


def test_txp_13_a_refused_partition_spoils_the_request() -> None:
    """TXP-13: neither partition counts as added, and the batches of both fail."""
    bench = TransactionBench()
    bench.manager.begin()
    bench.producer.produce(2, 100, None)
    request = bench.answer_add_partitions(errors.TOPIC_AUTHORIZATION_FAILED, errors.OPERATION_NOT_ATTEMPTED)
    assert request.partitions == (TP0, TP1)
    assert (bench.state, dict(bench.manager.partitions), bench.producer.metrics.failed) == (_S.ABORTABLE_ERROR, {}, 2)
    assert bench.manager.last_error == errors.TOPIC_AUTHORIZATION_FAILED


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["init", "add", "end"])
@pytest.mark.parametrize("error", [errors.PRODUCER_FENCED, errors.INVALID_PRODUCER_EPOCH])
@pytest.mark.parametrize(("release", "told"), [("2.4", errors.INVALID_PRODUCER_EPOCH), ("3.3", errors.PRODUCER_FENCED)])
def test_txp_15_fenced_by_the_coordinator(step: str, error: str, release: str, told: str) -> None:
    """TXP-15: the error is fatal in every request."""
    bench = TransactionBench(release, ready=step != "init")
    if step == "init":
        bench.manager.init()
        bench.find_coordinator()
        bench.answer_init(-1, -1, error)
    elif step == "add":
        bench.manager.begin()
        bench.producer.produce(1, 100, 0)
        bench.answer_add_partitions(error)
        assert bench.producer.metrics.failed == 1
    else:
        bench.acked(*bench.begin(0))
        bench.manager.commit()
        bench.answer_end(error)
    assert (bench.state, bench.manager.last_error) == (_S.FATAL_ERROR, told)
    with pytest.raises(IllegalStateError, match="in an error state"):
        bench.manager.abort()


def test_txp_16_an_invalid_epoch_from_a_leader_is_abortable() -> None:
    """TXP-16: abort sends EndTxn, then InitProducerId with producer ID and epoch."""
    bench = TransactionBench("2.7")
    bench.refused(*bench.begin(0), errors.INVALID_PRODUCER_EPOCH)
    assert bench.state is _S.ABORTABLE_ERROR
    bench.manager.abort()
    assert not bench.answer_end().commit
    assert bench.state is _S.INITIALIZING
    request = bench.answer_init(PRODUCER_ID, EPOCH + 1)
    assert (request.producer_id, request.producer_epoch) == (PRODUCER_ID, EPOCH)
    assert (bench.state, bench.manager.producer_epoch) == (_S.READY, EPOCH + 1)


@pytest.mark.parametrize("error", [errors.INVALID_PRODUCER_EPOCH, errors.OUT_OF_ORDER_SEQUENCE_NUMBER, errors.UNKNOWN_PRODUCER_ID])
def test_without_another_epoch_the_error_is_fatal(error: str) -> None:
    """TXP-16 and section 4.3, for releases up to 2.4."""
    bench = TransactionBench("2.4")
    bench.acked(*bench.begin(0), base=7)
    bench.refused(*bench.batches(0), error, 7)
    assert bench.state is _S.FATAL_ERROR


@pytest.mark.parametrize("error", [errors.OUT_OF_ORDER_SEQUENCE_NUMBER, errors.UNKNOWN_PRODUCER_ID, errors.MESSAGE_TOO_LARGE])
def test_txp_18_another_epoch_follows_an_abortable_error(error: str) -> None:
    """TXP-18: two batches are acknowledged, and the third fails. After an abort, the producer continues with epoch 2 and sequence 0."""
    bench = TransactionBench()
    bench.acked(*bench.begin(0), base=0)
    for number in (1, 2):
        (batch,) = bench.batches(0)
        assert batch.first_sequence == number
        if number == 1:
            bench.acked(batch, base=1)
        else:
            bench.refused(batch, error, 0)
    assert bench.state is _S.ABORTABLE_ERROR
    bench.manager.abort()
    assert bench.answer_end().producer_epoch == EPOCH
    bench.answer_init(PRODUCER_ID, EPOCH + 1)
    (batch,) = bench.begin(0)
    assert (batch.producer_epoch, batch.first_sequence) == (EPOCH + 1, 0)


def test_txp_18_timeout() -> None:
    """TXP-18 (…OnTimeout): a batch that was sent expires; its fate is unknown, so another epoch follows the abort."""
    bench = TransactionBench()
    bench.begin(0)
    bench.run(121_000)
    assert bench.state is _S.ABORTABLE_ERROR
    assert bench.manager.bump_required


def test_version_2_needs_no_epoch_from_init_producer_id() -> None:
    bench = TransactionBench("4.0", version=2)
    bench.refused(*bench.begin(0), errors.TRANSACTION_ABORTABLE)
    assert bench.state is _S.ABORTABLE_ERROR
    bench.manager.abort()
    bench.answer_end(producer_id=PRODUCER_ID, epoch=EPOCH + 1)
    assert (bench.state, bench.manager.producer_epoch, bench.sent(InitTransactionalIdRequest)) == (_S.READY, EPOCH + 1, [])


def test_txp_20_the_same_call_again_waits_for_the_same_result() -> None:
    """TXP-20: after a call has timed out in the application, the application can only repeat the same call."""
    bench = TransactionBench()
    bench.acked(*bench.begin(0))
    bench.manager.commit()
    for call in (bench.manager.abort, bench.manager.begin, bench.manager.init):
        with pytest.raises(IllegalStateError, match="still waiting for the result of commitTransaction"):
            call()
    bench.manager.commit()
    assert bench.answer_end().commit
    assert bench.state is _S.READY


def test_txp_21_an_error_during_an_abort_does_not_matter() -> None:
    """TXP-21: the state remains ABORTING_TRANSACTION, and becomes READY after EndTxn."""
    bench = TransactionBench()
    (batch,) = bench.begin(0)
    bench.manager.abort()
    assert bench.sent(EndTxnRequest) == []
    bench.refused(batch, errors.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert bench.state is _S.ABORTING_TRANSACTION
    bench.answer_end()
    assert bench.state is _S.READY


def test_txp_22_a_batch_that_expires_fails_the_transaction() -> None:
    """TXP-22: partitions are added, but the node is unreachable. All batches expire, and the state becomes ABORTABLE_ERROR."""
    bench = TransactionBench()
    bench.manager.begin()
    bench.network.alive["b1"] = False
    bench.producer.produce(2, 100, None)
    bench.answer_add_partitions()
    bench.run(121_000)
    assert (bench.state, bench.producer.metrics.failed) == (_S.ABORTABLE_ERROR, 2)


@pytest.mark.parametrize(("release", "fatal"), [("3.3", False), ("3.6", True)])
def test_txp_23_a_forbidden_transition_in_the_background(release: str, fatal: bool) -> None:
    """TXP-23: the transition is fatal since 3.6. An impossible call by the application changes nothing."""
    bench = TransactionBench(release)
    with pytest.raises(IllegalStateError, match="Invalid transition attempted from state READY to state COMMITTING_TRANSACTION"):
        bench.manager.commit()
    assert bench.state is _S.READY
    bench.begin(0)
    if fatal:
        bench.manager.initialized(1, 1, bumped=False)
        assert bench.state is _S.FATAL_ERROR
    else:
        with pytest.raises(IllegalStateError):
            bench.manager.initialized(1, 1, bumped=False)


@pytest.mark.parametrize("step", ["find", "init", "add", "end"])
def test_txp_24_transaction_abortable_is_abortable(step: str) -> None:
    """TXP-24: this applies to FindCoordinator, InitProducerId, AddPartitionsToTxn, and EndTxn."""
    bench = TransactionBench("3.9", ready=step in ("add", "end"))
    if step in ("find", "init"):
        bench.manager.init()
        bench.find_coordinator(errors.TRANSACTION_ABORTABLE if step == "find" else errors.NONE)
        if step == "init":
            bench.answer_init(-1, -1, errors.TRANSACTION_ABORTABLE)
    elif step == "add":
        bench.manager.begin()
        bench.producer.produce(1, 100, 0)
        bench.answer_add_partitions(errors.TRANSACTION_ABORTABLE)
    else:
        bench.acked(*bench.begin(0))
        bench.manager.commit()
        bench.answer_end(errors.TRANSACTION_ABORTABLE)
    assert (bench.state, bench.manager.last_error) == (_S.ABORTABLE_ERROR, errors.TRANSACTION_ABORTABLE)


@pytest.mark.parametrize("step", ["add", "end"])
@pytest.mark.parametrize(("release", "fatal"), [("2.4", True), ("2.7", False), ("4.0", False), ("4.1", True)])
def test_a_producer_id_that_the_coordinator_does_not_know(step: str, release: str, fatal: bool) -> None:
    """The error is abortable if the producer can get another epoch. In this case, EndTxn is skipped. Since 4.1, the error is fatal again
    (KIP-1050).
    """
    bench = TransactionBench(release, version=0)
    if step == "add":
        bench.manager.begin()
        bench.producer.produce(1, 100, 0)
        bench.answer_add_partitions(errors.INVALID_PRODUCER_ID_MAPPING)
    else:
        bench.acked(*bench.begin(0))
        bench.manager.commit()
        bench.answer_end(errors.INVALID_PRODUCER_ID_MAPPING)
    assert bench.state is (_S.FATAL_ERROR if fatal else _S.ABORTABLE_ERROR)
    if not fatal:
        bench.manager.abort()
        assert bench.sent(EndTxnRequest) == []
        bench.answer_init(PRODUCER_ID + 1, 0)
        assert (bench.state, bench.manager.producer_id) == (_S.READY, PRODUCER_ID + 1)


def test_sequences_restart_with_another_epoch_while_a_batch_of_the_former_one_is_in_flight() -> None:
    bench = TransactionBench()
    (former,) = bench.begin(0)
    bench.producer.produce(1, 100, 1)
    bench.answer_add_partitions(errors.INVALID_PRODUCER_ID_MAPPING)
    bench.manager.abort()
    bench.answer_init(PRODUCER_ID + 1, 0)
    (batch,) = bench.begin(0)
    assert (batch.producer_id, batch.producer_epoch, batch.first_sequence) == (PRODUCER_ID + 1, 0, 0)
    bench.acked(former)
    (batch,) = bench.batches(0)
    assert (batch.producer_id, batch.first_sequence) == (PRODUCER_ID + 1, 1)


def test_an_abort_drops_batches_that_were_never_sent() -> None:
    """4.2: unsent batches are dropped, those in flight are awaited."""
    bench = TransactionBench()
    (sent,) = bench.begin(0)
    bench.producer.produce(1, 100, 1)
    request = bench.one_sent(AddPartitionsToTxnRequest)
    bench.manager.abort()
    assert bench.producer.metrics.failed == 0  # a request is in flight
    bench.producer.handle(_added(request), "b2")
    assert bench.producer.metrics.failed == 1
    assert bench.sent(EndTxnRequest) == []
    bench.acked(sent)
    assert not bench.answer_end().commit
    assert bench.state is _S.READY


def test_a_failed_batch_turns_the_commit_into_an_error() -> None:
    """4.2: a failed send fails the commit, and the application must abort."""
    bench = TransactionBench()
    (batch,) = bench.begin(0)
    bench.manager.commit()
    bench.refused(batch, errors.MESSAGE_TOO_LARGE)
    assert (bench.state, bench.sent(EndTxnRequest)) == (_S.ABORTABLE_ERROR, [])
    bench.manager.abort()
    assert not bench.answer_end().commit
    assert bench.state is _S.READY


def test_a_commit_fails_only_when_all_batches_have_ended() -> None:
    """4.2: EndTxn waits for the batches, so the application hears of a failed commit, and can abort, only after the last batch."""
    bench = TransactionBench()
    first, second = bench.begin(0, 1)
    bench.manager.commit()
    bench.refused(first, errors.MESSAGE_TOO_LARGE)
    assert bench.state is _S.ABORTABLE_ERROR
    with pytest.raises(IllegalStateError, match="still waiting for the result of commitTransaction"):
        bench.manager.abort()
    bench.acked(second)
    assert bench.sent(EndTxnRequest) == []
    bench.manager.abort()
    assert not bench.answer_end().commit
    assert bench.state is _S.READY


def _added(request: AddPartitionsToTxnRequest) -> object:
    return AddPartitionsToTxnResponse(request.correlation, "tx", tuple((tp, errors.NONE) for tp in request.partitions))


class Calls:
    """A transaction manager that notes the application's calls.

    Attributes:
        state: the current state.
        call: the call that has no result yet; empty if there is none.
        made: the calls.
    """

    def __init__(self, state: ProducerTransactionState) -> None:
        self.state = state
        self.call = ""
        self.made: list[str] = []

    def __getattr__(self, name: str) -> Callable[[], None]:
        return lambda: self.made.append(name)


def test_a_load_makes_the_next_call_of_each_state() -> None:
    state = ProducerTransactionState
    for each, expected in (
        (state.UNINITIALIZED, ["init"]), (state.READY, ["begin"]), (state.ABORTABLE_ERROR, ["abort"]), (state.IN_TRANSACTION, ["commit"]),
        (state.FATAL_ERROR, []), (state.COMMITTING_TRANSACTION, []),
    ):  # fmt: skip
        manager: Any = Calls(each)
        load = TransactionalLoad(2, 0, records=2)
        assert load.may_send(manager, 0) is (each is state.IN_TRANSACTION)
        assert manager.made == expected
        manager.call = "commit"
        assert not load.may_send(manager, 0)
        assert manager.made == expected


def test_a_load_that_ends_commits_only_an_open_transaction() -> None:
    for state in ProducerTransactionState:
        for call in ("", "commit"):
            manager: Any = Calls(state)
            manager.call = call
            TransactionalLoad(2, 0).stop(manager)
            assert manager.made == (["commit"] if state is ProducerTransactionState.IN_TRANSACTION and not call else [])
