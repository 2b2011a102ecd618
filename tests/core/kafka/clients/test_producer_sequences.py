"""Sequence numbers, epochs, and producer IDs of idempotent producers, by Kafka's vectors TXP (`TransactionManagerTest`, `SenderTest`)."""

from __future__ import annotations

import attrs
import pytest

from core.kafka import errors, events
from core.kafka.clients.client_config import client_config
from core.kafka.clients.client_settings import PRODUCER
from core.kafka.clients.producer.producer_sequences import MAX_EPOCH
from core.kafka.ids import TopicPartition
from core.kafka.log.producer_state_entry import increment_sequence
from core.kafka.messages import ProduceRequest
from core.kafka.release import RELEASES
from tests.core.kafka.clients.transaction_bench import SenderBench, TransactionBench

ON = (("enable.idempotence", "true"),)

MAX = 2**31 - 1


def test_txp_01_sequence_numbers_overflow() -> None:
    """TXP-01."""
    sequence, found = 0, []
    for count in (MAX, 100, MAX):
        sequence = increment_sequence(sequence, count)
        found.append(sequence)
    assert found == [MAX, 99, 98]


def test_txp_02_exhausted_epochs_need_another_producer_id() -> None:
    """TXP-02: only the partition that asked restarts."""
    bench = SenderBench(producer_id=15, epoch=MAX_EPOCH)
    for partition in (0, 1):
        for request in bench.batches(partition, 3):
            bench.acked(request)
    assert [bench.of(partition).next_sequence for partition in (0, 1)] == [3, 3]
    bench.sequences.request_restart(TopicPartition("t", 0), errors.UNKNOWN_PRODUCER_ID)
    bench.sequences.bump()
    assert bench.sequences.producer_id == -1
    assert [bench.of(partition).next_sequence for partition in (0, 1)] == [0, 3]
    assert bench.batches(0) == []
    bench.answer_producer_id(16)
    (request,) = bench.sent(ProduceRequest)
    assert (request.producer_id, request.producer_epoch, request.first_sequence) == (16, 0, 0)


def test_txp_03_batches_in_flight_are_numbered_anew() -> None:
    """TXP-03: UNKNOWN_PRODUCER_ID with log start 500, after an acknowledgment at 500: another epoch, and sequences from 0."""
    bench = SenderBench()
    requests = bench.batches(0, 5)
    assert [request.first_sequence for request in requests] == [0, 1, 2, 3, 4]
    bench.acked(requests[0], base=500)
    bench.refused(requests[1], errors.UNKNOWN_PRODUCER_ID, 500)
    assert (bench.sequences.producer_epoch, bench.producer.metrics.failed) == (2, 0)
    assert [(batch.sequence, batch.producer_epoch) for batch in bench.of(0).in_flight] == [(0, 2), (1, 2), (2, 2), (3, 2)]


def test_txp_04_a_failed_batch_after_another_producer_id() -> None:
    """TXP-04: the second batch of tp0 becomes its first batch. tp1 keeps its sequence numbers."""
    bench = SenderBench(epoch=MAX_EPOCH)
    first, _ = bench.batches(0, 2)
    other, _ = bench.batches(1, 2)
    bench.acked(other, base=7)
    bench.producer.config = attrs.evolve(bench.producer.config, retries=0)
    bench.refused(first, errors.UNKNOWN_PRODUCER_ID, 500)
    bench.answer_producer_id(14)
    assert bench.producer.metrics.failed == 1
    assert [batch.sequence for batch in bench.of(0).in_flight] == [0]
    assert [bench.of(partition).next_sequence for partition in (0, 1)] == [1, 2]


def test_txp_07_another_epoch_resolves_a_timeout() -> None:
    """TXP-07: an acknowledged batch leaves nothing unresolved. A batch that times out alone is resolved by another epoch."""
    bench = SenderBench(producer_id=15, epoch=5)
    (request,) = bench.batches(0)
    batch = bench.producer.sender.in_flight.batches[request.correlation]
    bench.acked(request, base=0)
    bench.sequences.mark_unresolved(batch)
    assert bench.sequences.resolve(errors.REQUEST_TIMED_OUT) == []
    bench.sequences.bump()
    assert bench.sequences.producer_epoch == 5
    bench.batches(0)
    bench.run(121_000)
    assert (bench.sequences.producer_epoch, bench.of(0).next_sequence) == (6, 0)


def test_nothing_is_sent_after_a_batch_of_unknown_fate_until_the_others_are_answered() -> None:
    """1.9: the first batch expires while the second is in flight."""
    bench = SenderBench()
    (first,) = bench.batches(0)
    batch = bench.producer.sender.in_flight.batches[first.correlation]
    bench.run(20_000)
    (second,) = bench.batches(0)
    bench.producer.sender.in_flight.remove(first.correlation)
    bench.producer.sender._expire(batch, in_retry=True)
    assert bench.batches(0) == []
    bench.acked(second, base=1)
    assert bench.sequences.producer_epoch == 1  # the acknowledgment of the second batch shows that the first one arrived
    (third,) = bench.sent(ProduceRequest)
    assert (third.producer_epoch, third.first_sequence) == (1, 2)


def test_a_batch_that_expires_during_its_first_attempt_does_not_stop_the_partition() -> None:
    """`Sender#sendProducerData` asks `ProducerBatch#inRetry`: only a batch that was sent again leaves its partition unresolved."""
    bench = SenderBench()
    (first,) = bench.batches(0)
    bench.producer.sender._expire(bench.producer.sender.in_flight.remove(first.correlation), in_retry=False)
    (second,) = bench.batches(0)
    assert (second.producer_epoch, second.first_sequence) == (1, 1)


def test_a_batch_without_retries_left_does_not_stop_the_partition() -> None:
    """`Sender#failBatch` after an answer: the sequence numbers are not used again, and nothing is unresolved."""
    bench = SenderBench()
    bench.producer.config = attrs.evolve(bench.producer.config, retries=0)
    (first,) = bench.batches(0)
    bench.refused(first, errors.NOT_ENOUGH_REPLICAS)
    (second,) = bench.batches(0)
    assert (second.producer_epoch, second.first_sequence, bench.sequences.unresolved) == (1, 1, {})


def test_only_the_first_batch_is_retried() -> None:
    """1.9: while a batch is in retry, only the batch with the lowest sequence number in flight is sent."""
    bench = SenderBench()
    first, second, third = bench.batches(0, 3)
    bench.refused(second, errors.OUT_OF_ORDER_SEQUENCE_NUMBER)
    bench.refused(third, errors.OUT_OF_ORDER_SEQUENCE_NUMBER)
    bench.run(200)
    assert bench.sent(ProduceRequest) == []
    bench.acked(first)
    (request,) = bench.sent(ProduceRequest)
    assert request.first_sequence == 1
    bench.acked(request)
    (request,) = bench.sent(ProduceRequest)
    assert request.first_sequence == 2


def test_a_gap_that_no_batch_fills_needs_another_epoch() -> None:
    bench = SenderBench()
    first, second = bench.batches(0, 2)
    bench.refused(first, errors.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert bench.told(events.ProducerEpochBumped) == [("p", "t", 0, 13131, 2, errors.OUT_OF_ORDER_SEQUENCE_NUMBER)]
    bench.refused(second, errors.OUT_OF_ORDER_SEQUENCE_NUMBER)
    bench.run(200)
    (request,) = bench.sent(ProduceRequest)
    assert (request.producer_epoch, request.first_sequence) == (2, 0)


@pytest.mark.parametrize("release", ["0.11", "1.1", "2.4"])
def test_t9_before_2_5_the_producer_gets_another_id(release: str) -> None:
    """T9: the producer gives up a sequence number and takes another producer ID."""
    bench = SenderBench(release)
    (request,) = bench.batches(0)
    bench.refused(request, errors.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert (bench.producer.metrics.failed, bench.sequences.producer_id) == (1, -1)
    assert bench.told(events.ProducerEpochBumped) == []
    assert bench.batches(0) == []
    bench.answer_producer_id(20)
    (request,) = bench.sent(ProduceRequest)
    assert (request.producer_id, request.producer_epoch, request.first_sequence) == (20, 0, 0)


def test_before_2_5_batches_of_the_former_producer_id_fail() -> None:
    bench = SenderBench("2.4")
    first, second = bench.batches(0, 2)
    bench.refused(first, errors.OUT_OF_ORDER_SEQUENCE_NUMBER)
    bench.answer_producer_id(20)
    bench.refused(second, errors.NOT_LEADER_OR_FOLLOWER)
    assert bench.producer.metrics.failed == 2


def test_retention_makes_a_producer_unknown_before_2_5() -> None:
    """After retention, the error is UNKNOWN_PRODUCER_ID. The sequence numbers of this partition restart under the same ID, and the batch is
    sent again.
    """
    bench = SenderBench("1.1")
    (request,) = bench.batches(0)
    bench.acked(request, base=0)
    (request,) = bench.batches(0)
    assert request.first_sequence == 1
    bench.refused(request, errors.UNKNOWN_PRODUCER_ID, 10)
    bench.run(100)
    (request,) = bench.sent(ProduceRequest)
    assert (request.producer_id, request.producer_epoch, request.first_sequence) == (13131, 1, 0)


def test_a_duplicate_counts_as_acknowledged() -> None:
    """1.0: DUPLICATE_SEQUENCE_NUMBER is a success without an offset."""
    bench = SenderBench("1.1")
    (request,) = bench.batches(0)
    bench.refused(request, errors.DUPLICATE_SEQUENCE_NUMBER)
    assert (bench.producer.metrics.acked, bench.producer.metrics.failed, bench.of(0).last_acked) == (1, 0, 0)


def test_no_new_batch_is_sent_while_batches_of_the_former_epoch_are_in_flight() -> None:
    """`RecordAccumulator#shouldStopDrainBatchesForPartition`, `TransactionManager#hasStaleProducerIdAndEpoch`: a batch of the new epoch with
    sequence 0 could overtake them."""
    bench = SenderBench()
    (failing,) = bench.batches(0)
    (former,) = bench.batches(1)
    bench.refused(failing, errors.UNKNOWN_PRODUCER_ID, 500)
    assert bench.sequences.producer_epoch == 2
    assert (former.producer_epoch, bench.batches(1)) == (1, [])
    bench.acked(former, base=7)
    (later,) = (request for request in bench.sent(ProduceRequest) if request.tp.partition == 1)
    assert (later.producer_epoch, later.first_sequence) == (2, 0)


def test_txp_17_sequence_numbers_of_a_refused_batch_are_used_again() -> None:
    """TXP-17, the rule for transactional producers: the batches behind a batch that was certainly not appended close the gap."""
    bench = TransactionBench()
    bench.acked(*bench.begin(0))
    second, third = bench.batches(0, 2)
    assert [second.first_sequence, third.first_sequence] == [1, 2]
    bench.refused(second, errors.TOPIC_AUTHORIZATION_FAILED)
    assert [batch.sequence for batch in bench.of(0).in_flight] == [1]
    assert bench.of(0).next_sequence == 2


def test_0_11_has_one_batch_in_flight() -> None:
    assert client_config(PRODUCER, ON, RELEASES["0.11"]).max_in_flight == 1
    assert client_config(PRODUCER, ON, RELEASES["1.1"]).max_in_flight == 5
    setting = (("max.in.flight.requests.per.connection", "2"),)
    with pytest.raises(ValueError, match=r"Must set max\.in\.flight\.requests\.per\.connection to 1 to use the idempotent producer"):
        client_config(PRODUCER, (*ON, *setting), RELEASES["0.11"])
