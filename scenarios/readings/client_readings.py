"""Readings of producers and consumers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from core.kafka import events
from core.kafka.health import STALL_BOUND
from core.kafka.ids import TopicPartition
from scenarios.readings.reading import BROKER, DURATION, NUMBER, WORD, Moment, Reading


def client_value(moment: Moment, client: str, name: str) -> Any:
    clients: list[Any] = [*moment.view().producers, *moment.view().consumers]
    for view in clients:
        if view.name == client:
            return getattr(view, name, None)
    return None


def _of_client(name: str) -> Callable[..., Any]:
    return lambda moment, client: client_value(moment, client, name)


def _position(moment: Moment, client: str, tp: TopicPartition) -> Any:
    consumers: list[Any] = [*moment.view().consumers, *moment.view().members]
    for view in consumers:
        if view.name == client:
            return dict(view.positions).get(tp)
    return None


def _reads_from(moment: Moment, client: str, tp: TopicPartition) -> Any:
    for view in moment.view().consumers:
        if view.name == client:
            led = moment.partition(tp)
            return dict(view.reads_from).get(tp, None if led is None else led.leader)
    return None


_acked: Final = events.ProduceAcked.reader("producer", "latency_us")
_given_up: Final = events.ProduceGivenUp.reader("producer", "waited_us")


def _latency(share: float) -> Callable[..., Any]:
    """Return a function that reads a percentile (by the nearest-rank method) of the time in µs that a producer's batches waited for a
    response.

    For a batch that the producer gave up on, the time until the producer gave up is used. For a batch that is still waiting after
    `STALL_BOUND`, the time that it has waited so far is used. A percentile over acknowledged batches alone would be too low.
    """

    def read(moment: Moment, client: str) -> Any:
        taken = [latency for producer, latency in map(_acked, moment.events(events.ProduceAcked.kind)) if producer == client]
        taken += [waited for producer, waited in map(_given_up, moment.events(events.ProduceGivenUp.kind)) if producer == client]
        taken += [wait for wait in client_value(moment, client, "waits_us") or () if wait > STALL_BOUND]
        taken.sort()
        if not taken:
            return None
        rank = -(-len(taken) * int(share * 100) // 10_000)
        return taken[max(rank, 1) - 1]

    return read


def _longest_wait(moment: Moment, client: str) -> Any:
    waits = client_value(moment, client, "waits_us")
    return None if waits is None else max(waits, default=0)


def _of_batching(name: str) -> Callable[..., Any]:
    def value(moment: Moment, client: str) -> Any:
        batching = client_value(moment, client, "batching")
        found = None if batching is None else getattr(batching, name)
        return None if found == -1 else found

    return value


def _records_per_batch(moment: Moment, client: str) -> Any:
    batching = client_value(moment, client, "batching")
    return None if batching is None or not batching.batches else batching.records // batching.batches


TRANSACTION_STATES: Final = {
    "Empty": "empty", "Ongoing": "ongoing", "PrepareCommit": "prepare-commit", "PrepareAbort": "prepare-abort",
    "CompleteCommit": "complete-commit", "CompleteAbort": "complete-abort", "PrepareEpochFence": "prepare-epoch-fence", "Dead": "dead",
}  # fmt: skip
"""The words that conditions use for the states of a transactional.id."""


def _transaction_state(moment: Moment, transactional_id: str) -> Any:
    """Return the last state that a coordinator has written for a transactional.id."""
    for changed in map(events.TransactionStateChanged, reversed(moment.events(events.TransactionStateChanged.kind))):
        if changed.transactional_id == transactional_id:
            return TRANSACTION_STATES[changed.transaction_state]
    return None


CLIENT_READINGS: Final = (
    Reading("sent", ("client",), NUMBER, "the number of records that a producer has sent", _of_client("sent")),
    Reading("failed", ("client",), NUMBER, "the number of records that a producer has given up on", _of_client("failed")),
    Reading("retries", ("client",), NUMBER, "the number of batches that a producer has retried", _of_client("retries")),
    Reading("batches", ("client",), NUMBER, "the number of batches that a producer with batching has sent, not counting retries", _of_batching("batches")),
    Reading("records-per-batch", ("client",), NUMBER, "the average number of records in the batches that a producer with batching has sent, rounded down", _records_per_batch),
    Reading("wire-bytes", ("client",), NUMBER, "the size on the network of the batches that a producer with batching has sent, in bytes", _of_batching("wire_bytes")),
    Reading(
        "queue-time", ("client",), DURATION,
        "the average time that records waited in a producer with batching, from send() until their batch was sent", _of_batching("queue_time_us"),
    ),
    Reading(
        "record-latency", ("client",), DURATION,
        "the average time from send() to the acknowledgment of a record, for a producer with batching", _of_batching("record_latency_us"),
    ),
    Reading("buffer-available", ("client",), NUMBER, "the part of a producer's buffer.memory that is free, in bytes", _of_batching("available")),
    Reading("blocked", ("client",), NUMBER, "the number of records that an application wants to send while send() blocks", _of_batching("waiting")),
    Reading("in-flight", ("client",), NUMBER, "the number of batches whose responses a producer is waiting for", _of_client("in_flight")),
    Reading(
        "p50-latency", ("client",), DURATION,
        "the median time from the first send of a producer's batch until its acknowledgment or failure, or until now if the "
        "batch has waited for more than 1 s", _latency(50),
        ages=True,
    ),
    Reading("p99-latency", ("client",), DURATION, "the 99th percentile of the times that p50-latency measures", _latency(99), ages=True),
    Reading("max-latency", ("client",), DURATION, "the maximum of the times that p50-latency measures", _latency(100), ages=True),
    Reading("longest-wait", ("client",), DURATION, "the time that a producer's oldest batch has waited for an "
        "answer", _longest_wait, ages=True),
    Reading(
        "txn", ("transactional-id",), WORD, "the last state that the coordinator has written for a transactional.id",
        _transaction_state, tuple(TRANSACTION_STATES.values()), kinds=(events.TransactionStateChanged.kind,),
    ),
    Reading("read", ("client",), NUMBER, "the number of records that a consumer has read", _of_client("read")),
    Reading("position", ("client", "partition"), NUMBER, "the offset of the next record that a consumer will read", _position),
    Reading("reads-from", ("client", "partition"), BROKER, "the broker that a consumer fetches from, which is the leader or "
        "the replica that the leader chose", _reads_from),
)  # fmt: skip
