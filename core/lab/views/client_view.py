"""The frozen state of producers, consumers, and processes."""

from __future__ import annotations

import attrs

from core.kafka.ids import TopicPartition
from core.sim.repr_mixin import ReprMixin


@attrs.frozen(repr=False)
class BatchingView(ReprMixin):
    """The batches of a producer that collects records.

    Attributes:
        batches: the number of batches that were sent, not counting retries.
        records: the number of records in the sent batches.
        wire_bytes: the size of the sent batches on the network, in bytes.
        queue_time_us: the average time from send() to the sending of the batch; -1 if no batch was sent.
        record_latency_us: the average time from send() to the acknowledgment; -1 if no record was acknowledged.
        available: the part of buffer.memory that no batch occupies, in bytes.
        waiting: the number of records that the application wants to send while send() blocks.
    """

    batches: int
    records: int
    wire_bytes: int
    queue_time_us: int
    record_latency_us: int
    available: int
    waiting: int


@attrs.frozen(repr=False)
class ProducerView(ReprMixin):
    """A producer.

    Attributes:
        name, topic, acks: the name, the topic, and the acks of the producer.
        rate: the number of records per second of the producer's load; 0 if the producer has no load.
        sent, acked, failed: the numbers of records that were sent, that were acknowledged, and that the producer gave up on.
        in_flight: the number of batches that have been sent but not answered.
        retries: the number of attempts after the first attempt to send a batch.
        last_latency_us: the latency of the batch that was acknowledged last.
        waits_us: for each batch that has not been answered, the time since its creation, longest first.
        batching: the batches of the producer; None if the producer does not collect records.
    """

    name: str
    topic: str
    acks: int
    rate: int
    sent: int
    acked: int
    failed: int
    in_flight: int
    retries: int
    last_latency_us: int
    waits_us: tuple[int, ...] = ()
    batching: BatchingView | None = None


@attrs.frozen(repr=False)
class ConsumerView(ReprMixin):
    """A consumer.

    Attributes:
        name, topic: the name and the topic of the consumer.
        read: the number of records that the consumer has read.
        positions: the next offset to read, by partition.
        reads_from: the followers that the consumer reads from, by partition. Partitions that the consumer reads from the leader are
            omitted.
    """

    name: str
    topic: str
    read: int
    positions: tuple[tuple[TopicPartition, int], ...]
    reads_from: tuple[tuple[TopicPartition, int], ...] = ()


@attrs.frozen(repr=False)
class ProcessView(ReprMixin):
    """One process that reads from one topic, writes to another, and commits its offsets.

    Attributes:
        name: the name of the process.
        source, output: the input topic and the output topic.
        group: the group for which the process commits offsets.
        delivery: the delivery guarantee: `exactly-once`, `at-least-once`, or `at-most-once`.
        instance: the number of the current or last instance.
        running: whether the instance is running.
        step: the current step, or the last one of an instance that has ended.
        input: the number of visible input records. `input` and the following counts include the other processes of the group.
        processed: the number of input records whose output records are all visible.
        processed_twice, half_visible, never_processed: the numbers of input records that were processed twice, are half visible, or were
            never processed.
    """

    name: str
    source: str
    output: str
    group: str
    delivery: str
    instance: int
    running: bool
    step: str
    input: int
    processed: int
    processed_twice: int
    half_visible: int
    never_processed: int
