"""A sender and an accumulator without a producer: they need a client that sends messages and knows the leaders, and nothing else."""

from __future__ import annotations

from core.kafka import errors
from core.kafka.clients.accumulator.record_accumulator import RecordAccumulator
from core.kafka.clients.client import Client
from core.kafka.clients.client_context import ClientContext
from core.kafka.clients.producer.producer_metrics import ProducerMetrics
from core.kafka.clients.producer.send_calls import SendCalls
from core.kafka.clients.producer.sender import Sender
from core.kafka.messages import ProduceRequest, ProduceResponse
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
