"""A producer's batch (Kafka: `ProducerBatch`)."""

from __future__ import annotations

from typing import Final

from core.kafka.ids import TopicPartition


class ProducerBatch:
    """A batch of records for one partition.

    Attributes:
        id: the number of the batch among the producer's batches.
        tp: the partition.
        count: the number of records.
        bytes: the total size of the records.
        acks: the acknowledgments that the batch requires: 0, 1, or -1 for all.
        created: the time when the batch was created, in µs.
        queued_at: the time when the batch was last added to the queue, in µs.
        sent_at: the time when the batch was last sent, in µs.
        sent_to: the address of the broker to which the batch was last sent.
        attempt: the number of attempts so far.
        correlation: the correlation ID of the last request.
        connecting: whether the batch was sent before its connection was established.
        connection_failures: the number of attempts that failed because no connection could be established.
        producer_id: the producer ID that the sequence numbers belong to; -1 without idempotence.
        producer_epoch: the producer epoch that the sequence numbers belong to; -1 without idempotence.
        sequence: the first sequence number; -1 if the batch has none.
        renumbered: whether the batch got new sequence numbers after it was last sent (`ProducerBatch#sequenceHasBeenReset`).
        content: the keys and values of the records; None if the simulation does not need them.
        cause: the event that caused the batch or, after a failed attempt, the event that caused the last failure.
        created_by: the event that caused the batch.
        delays: the time that failed attempts took, in µs, by the event that made an attempt take so long or fail.
        overdue: whether a `produce-waiting` event has reported the batch.
    """

    __slots__ = (
        "acks", "attempt", "bytes", "cause", "connecting", "connection_failures", "content", "correlation", "count", "created", "created_by", "delays", "id", "overdue",
        "producer_epoch", "producer_id", "queued_at", "renumbered", "sent_at", "sent_to", "sequence", "tp",
    )  # fmt: skip

    id: Final[int]
    tp: Final[TopicPartition]
    acks: Final[int]
    created: Final[int]
    created_by: Final[int]
    delays: Final[dict[int, int]]

    def __init__(self, id: int, tp: TopicPartition, count: int, bytes: int, acks: int, created: int, cause: int) -> None:
        self.id = id
        self.tp = tp
        self.count = count
        self.bytes = bytes
        self.acks = acks
        self.created = created
        self.queued_at = created
        self.connecting = False
        self.connection_failures = 0
        self.cause = cause
        self.created_by = cause
        self.delays = {}
        self.attempt = 0
        self.correlation = 0
        self.sent_to = ""
        self.sent_at = 0
        self.producer_id = -1
        self.producer_epoch = -1
        self.sequence = -1
        self.renumbered = False
        self.overdue = False
        self.content: object = None
