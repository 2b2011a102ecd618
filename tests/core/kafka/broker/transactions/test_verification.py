"""A leader asks the coordinator before it opens a transaction (KIP-890): TXC-17, TXN-07, and the errors of this request."""

from __future__ import annotations

import pytest

from core.kafka import errors, events
from core.kafka.ids import TopicPartition, broker_address
from core.kafka.messages import ProduceRequest, ProduceResponse
from core.kafka.release import CURRENT, RELEASES
from core.kafka.transaction.transaction_log import TRANSACTION_STATE_TOPIC, partition_for
from core.kafka.transaction.transaction_messages import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from core.sim.units import US_PER_MS
from tests.core.node_bench import CLIENT, BrokerBench

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


class LeaderBench(BrokerBench):
    """Broker 1 leads two data partitions; brokers 2 and 3, which the test plays, coordinate the IDs of one partition each."""

    def __init__(self, release: str = CURRENT.name, **settings: object) -> None:
        super().__init__(RELEASES[release], settings=settings)
        for number, coordinator in enumerate((2, 3)):
            tp = TopicPartition(TRANSACTION_STATE_TOPIC, number)
            self.partition_is((coordinator,), (coordinator,), leader=coordinator, tp=tp, leader_epoch=0)
        for tp in (A, B):
            self.partition_is((1,), (1,), tp=tp)

    def send_batch(
        self, transactional_id: str = "a", epoch: int = 0, sequence: int = 0, *, tp: TopicPartition = A, adds: bool = False
    ) -> None:
        """Deliver a transactional batch."""
        self._correlation += 1
        self.broker.handle(
            ProduceRequest(
                self._correlation, CLIENT, tp, 1, 100, 1, 30_000 * US_PER_MS, self._correlation, 1, 7, epoch, sequence, -1, transactional_id, adds
            ),
            CLIENT,
        )  # fmt: skip

    def asked(self, coordinator: int) -> list[AddPartitionsToTxnRequest]:
        """Take the requests to a coordinator."""
        return self.sent(AddPartitionsToTxnRequest, broker_address(coordinator))

    def answer(self, request: AddPartitionsToTxnRequest, error: str = "NONE", *, coordinator: int = 3) -> None:
        """Let a coordinator answer."""
        results = tuple((tp, error) for tp in request.partitions)
        self.broker.handle(AddPartitionsToTxnResponse(request.correlation, request.transactional_id, results), broker_address(coordinator))

    def answers(self) -> list[str]:
        """Take the responses to the producer."""
        return [each.error for each in self.sent(ProduceResponse, CLIENT)]


def test_txc_17_questions_are_queued_by_coordinator_and_id() -> None:
    """TXC-17: AddPartitionsToTxnManagerTest.testAddTxnData."""
    bench = LeaderBench()
    assert [partition_for(each, 2) for each in ("a", "c", "b")] == [1, 1, 0]
    bench.send_batch("e")
    bench.send_batch("a")
    bench.send_batch("b", tp=B)
    assert [each.transactional_id for each in bench.asked(2)] == ["b"]
    (first,) = bench.asked(3)
    assert first.transactional_id == "e"
    bench.send_batch("c", tp=B)
    assert bench.answers() == []
    bench.send_batch("a", sequence=1)
    assert bench.answers() == [errors.NOT_ENOUGH_REPLICAS], "the first question failed with NETWORK_EXCEPTION"
    bench.send_batch("a", 1)
    assert bench.answers() == [errors.INVALID_PRODUCER_EPOCH]
    bench.send_batch("a", 0)
    assert bench.answers() == [errors.INVALID_PRODUCER_EPOCH]
    bench.send_batch("a", 0, tp=B)
    assert bench.answers() == [errors.INVALID_PRODUCER_EPOCH], "also for another partition"
    bench.answer(first)
    assert [(each.transactional_id, each.producer_epoch) for each in bench.asked(3)] == [("c", 0), ("a", 1)]


@pytest.mark.parametrize(
    ("error", "seen"),
    [
        ("NONE", "NONE"),
        (errors.CONCURRENT_TRANSACTIONS, errors.NOT_ENOUGH_REPLICAS),
        (errors.COORDINATOR_LOAD_IN_PROGRESS, errors.NOT_ENOUGH_REPLICAS),
        (errors.COORDINATOR_NOT_AVAILABLE, errors.NOT_ENOUGH_REPLICAS),
        (errors.NOT_COORDINATOR, errors.NOT_ENOUGH_REPLICAS),
        (errors.PRODUCER_FENCED, errors.INVALID_PRODUCER_EPOCH),
        (errors.INVALID_PRODUCER_ID_MAPPING, errors.INVALID_PRODUCER_ID_MAPPING),
        (errors.TRANSACTION_ABORTABLE, errors.TRANSACTION_ABORTABLE),
    ],
)
def test_txn_07_what_the_producer_sees(error: str, seen: str) -> None:
    """TXN-07: errors that the leader can retry become NOT_ENOUGH_REPLICAS, and nothing is appended."""
    bench = LeaderBench()
    bench.send_batch()
    (request,) = bench.asked(3)
    assert request.verify_only
    bench.answer(request, error)
    assert bench.answers() == [seen]
    assert bench.partition(A).log.leo == (1 if seen == "NONE" else 0)
    assert len(bench.told(events.VerificationFailed)) == (seen != "NONE")


def test_a_coordinator_that_is_unknown_or_gone_is_not_available() -> None:
    bench = LeaderBench()
    bench.register(3, fenced=True, anew=False)
    bench.send_batch()
    assert bench.answers() == [errors.NOT_ENOUGH_REPLICAS]
    assert bench.sent(AddPartitionsToTxnRequest) == [], "there is nobody to ask"
    assert bench.broker.replicas.add_partitions_manager.in_flight == {}
    bench.register(3, anew=False)
    bench.send_batch(sequence=1)
    assert len(bench.asked(3)) == 1


def test_a_broken_connection_fails_the_question() -> None:
    bench = LeaderBench()
    bench.send_batch()
    bench.asked(3)
    bench.broker.replicas.add_partitions_manager.disconnected(3)
    assert bench.answers() == [errors.NOT_ENOUGH_REPLICAS]


def test_a_coordinator_that_does_not_answer_in_time_is_given_up() -> None:
    """The question has a timeout of 30 s; then the next question is sent."""
    bench = LeaderBench()
    bench.send_batch("a")
    assert len(bench.asked(3)) == 1
    bench.send_batch("e", tp=B)
    bench.run(29_000)
    assert (bench.answers(), bench.asked(3)) == ([], [])
    bench.run(1_200)
    assert bench.answers() == [errors.NOT_ENOUGH_REPLICAS]
    assert [each.transactional_id for each in bench.asked(3)] == ["e"]


@pytest.mark.parametrize(("release", "setting", "asks"), [("3.3", True, 0), ("3.6", True, 1), ("3.6", False, 0), ("4.3", False, 0)])
def test_verification_by_release_and_setting(release: str, setting: bool, asks: int) -> None:
    """transaction.partition.verification.enable: without it, a batch is appended immediately."""
    bench = LeaderBench(release, **{"transaction.partition.verification.enable": setting})
    bench.send_batch()
    assert len(bench.asked(3)) == asks
    assert bench.answers() == ([] if asks else ["NONE"])


def test_only_the_first_batch_of_a_transaction_is_verified() -> None:
    bench = LeaderBench()
    bench.send_batch(sequence=0)
    bench.send_batch(sequence=1)
    (request,) = bench.asked(3)
    bench.answer(request)
    assert bench.answers() == ["NONE"]
    (second,) = bench.asked(3)
    bench.answer(second)
    bench.send_batch(sequence=2)
    assert bench.answers() == ["NONE", "NONE"]
    assert bench.asked(3) == []


@pytest.mark.parametrize(("release", "asks"), [("4.0", 1), ("4.1", 0)])
def test_an_old_epoch_is_refused_without_a_question(release: str, asks: int) -> None:
    """KAFKA-18042, 4.1."""
    bench = LeaderBench(release)
    bench.send_batch(epoch=2)
    bench.answer(bench.asked(3)[0])
    bench.answers()
    bench.send_batch(epoch=1)
    assert len(bench.asked(3)) == asks
    assert bench.answers() == ([] if asks else [errors.INVALID_PRODUCER_EPOCH])


def test_version_2_adds_the_partition_and_asks_again_for_a_while() -> None:
    """The leader retries CONCURRENT_TRANSACTIONS every 20 ms for 100 ms. Then the producer gets the error."""
    bench = LeaderBench()
    bench.send_batch(adds=True)
    count = 0
    while not (answers := bench.answers()):
        (request,) = bench.asked(3)
        assert not request.verify_only
        assert request.version == 2
        count += 1
        bench.answer(request, errors.CONCURRENT_TRANSACTIONS)
        bench.run(20)
    assert (answers, count) == ([errors.CONCURRENT_TRANSACTIONS], 6)


def test_an_unknown_producer_of_version_2_begins_with_0() -> None:
    bench = LeaderBench()
    bench.send_batch(sequence=3, adds=True)
    bench.answer(bench.asked(3)[0])
    assert bench.answers() == [errors.OUT_OF_ORDER_SEQUENCE_NUMBER]
