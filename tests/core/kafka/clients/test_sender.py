"""A sender and an accumulator without a producer: they need a client that sends messages and knows the leaders, and nothing else."""

from __future__ import annotations

from core.kafka import errors
from core.kafka.clients.accumulator.record_accumulator import RecordAccumulator
from core.kafka.clients.client import Client
from core.kafka.clients.client_config import ACKS_ALL
from core.kafka.clients.client_context import ClientContext
from core.kafka.clients.producer.producer_metrics import ProducerMetrics
from core.kafka.clients.producer.producer_sequences import ProducerSequences
from core.kafka.clients.producer.send_calls import SendCalls
from core.kafka.clients.producer.sender import Sender
from core.kafka.log.leader_term import Term
from core.kafka.messages import InitProducerIdRequest, InitProducerIdResponse, ProduceRequest, ProduceResponse
from core.sim.kernel_messages import Timer
from tests.core.node_bench import TP, NodeBench


class BareClient(Client):
    """A client that only holds connections and metadata."""

    def metadata_updated(self) -> None:
        """Do nothing."""

    def connection_lost(self, node: str) -> None:
        """Do nothing."""


class SenderBench(NodeBench):
    """The parts of a producer around a bare client; broker 1 leads the partition."""

    def __init__(self) -> None:
        super().__init__()
        self.network.alive["b1"] = True
        self.node = client = BareClient("p", "t", ClientContext((1,), self.network, self.journal, self.account))
        client.leaders.append((1, 5))
        self.accumulator = RecordAccumulator(client, 1)
        self.metrics = ProducerMetrics()
        self.sender = Sender(client, self.accumulator, SendCalls(client), self.metrics)
        self.results: list[tuple[int, str]] = []
        self.sender.callback = self

    def batch_acknowledged(self, batch) -> None:
        """Note an acknowledged batch."""
        self.results.append((batch.id, errors.NONE))

    def batch_failed(self, batch, error: str, *, aborted: bool) -> None:
        """Note a batch that was given up on."""
        self.results.append((batch.id, error))


def test_a_sender_needs_no_producer() -> None:
    """`Sender` drains `RecordAccumulator`, and completes each batch through its callback."""
    bench = SenderBench()
    numbers = [bench.accumulator.add_batch(TP, 3, 100) for _ in range(2)]
    bench.sender.send_all()
    first, second = bench.sent(ProduceRequest)
    assert (first.batch_id, second.batch_id, bench.accumulator.has_unsent()) == (*numbers, False)
    bench.node.handle(ProduceResponse(first.correlation, TP, errors.MESSAGE_TOO_LARGE, -1, None), "b1")
    bench.node.handle(ProduceResponse(second.correlation, TP, errors.NOT_ENOUGH_REPLICAS, -1, None), "b1")
    assert bench.results == [(numbers[0], errors.MESSAGE_TOO_LARGE)]
    assert [batch.id for batch in bench.accumulator.unsent()] == [numbers[1]], "the retriable batch is in the accumulator again"
    assert (bench.metrics.failed, bench.sender.in_flight.count(TP)) == (3, 0)


def test_each_batch_expires_with_its_own_delivery_timeout_and_one_timer_checks_all() -> None:
    """`RecordAccumulator#expiredBatches` looks at the oldest batch of each partition first: delivery.timeout.ms is 120 s."""
    bench = SenderBench()

    def add() -> int:
        number = bench.accumulator.add_batch(TP, 3, 100)
        bench.sender.start_timeout_checks()
        return number

    def timers() -> int:
        return sum(type(entry.message) is Timer and entry.message.name == "watch" for entry in bench.agenda.entries)

    one = add()
    bench.sender.start_timeout_checks()
    assert timers() == 1
    bench.run(60_000)
    two, three = add(), add()
    assert timers() == 1
    bench.run(59_999)
    assert bench.results == []
    bench.run(1)
    assert bench.results == [(one, errors.REQUEST_TIMED_OUT)]
    bench.run(60_000)
    assert bench.results[1:] == [(each, errors.REQUEST_TIMED_OUT) for each in (two, three)]
    assert (bench.metrics.failed, bench.sender.incomplete_batches(), timers()) == (9, [], 0)


def test_as_many_requests_are_in_flight_as_the_setting_says() -> None:
    """max.in.flight.requests.per.connection is 5 (`InFlightRequests#canSendMore`); each response lets one more go."""
    bench = SenderBench()
    numbers = [bench.accumulator.add_batch(TP, 1, 100) for _ in range(7)]
    cause = bench.journal.cause = bench.journal.emit("act", "produce", "{}")
    for batch in bench.accumulator.unsent():
        batch.cause = cause + 1
    bench.sender.send_to(TP)
    sent = bench.sent(ProduceRequest)
    assert [request.batch_id for request in sent] == numbers[:5]
    assert bench.journal.cause == cause, "the batches have other causes"
    bench.node.handle(ProduceResponse(sent[0].correlation, TP, errors.NONE, 0, Term(0, 1)), "b1")
    assert [request.batch_id for request in bench.sent(ProduceRequest)] == numbers[5:6]


def test_an_idempotent_producer_asks_once_for_its_id_and_sends_nothing_before_it_has_one() -> None:
    """`TransactionManager#bumpIdempotentEpochAndResetIdIfNeeded`: the request is repeated only after request.timeout.ms."""
    bench = SenderBench()
    bench.sender.sequences, bench.accumulator.acks = ProducerSequences(transactional=False, bumps_epoch=True), ACKS_ALL
    bench.wait(1)
    bench.sender.start()
    asked = bench.one_sent(InitProducerIdRequest)
    bench.wait(29_999)
    number = bench.accumulator.add_batch(TP, 3, 100)
    bench.sender.sequences.of(TP)
    bench.sender.start()
    bench.sender.send_all()
    assert (bench.sent(InitProducerIdRequest), bench.sent(ProduceRequest)) == ([], [])
    bench.wait(1)
    bench.sender.start()
    assert len(bench.sent(InitProducerIdRequest)) == 1
    bench.node.handle(InitProducerIdResponse(asked.correlation, 77), "b1")
    produced = bench.one_sent(ProduceRequest)
    assert (produced.batch_id, produced.producer_id, produced.producer_epoch, produced.first_sequence) == (number, 77, 0, 0)
    bench.sender.start()
    assert bench.sent(InitProducerIdRequest) == []
