"""Events about producers and consumers."""

from __future__ import annotations

from typing import Final

from core.kafka.events.base import DETAIL, NOTABLE, NOTHING, OFFSETS, Event, ReplicaEvent, leader_name, offsets, records
from core.sim.units import format_duration


class ProduceAcked(Event, kind="produce-acked", source="DelayedProduce#onComplete", changes=OFFSETS):
    """A producer's batch was acknowledged, `latency_us` after it was created. With acks=0, no broker responds, and the offsets are -1."""

    producer: str
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    records: int
    acks: int
    latency_us: int
    attempt: int

    def sentence(self) -> str:
        acks = "all" if self.acks < 0 else str(self.acks)
        if self.acks == 0:
            return f"{self.producer} sent {records(self.records)} to {self.tp} and expects no response (acks=0)"
        return (
            f"{self.producer} received the acknowledgment for {offsets(self.from_offset, self.to_offset)} of {self.tp} "
            f"after {format_duration(self.latency_us)} (acks={acks}, attempt {self.attempt})"
        )


class ProduceFailed(Event, kind="produce-failed", source="Sender#failBatch, Sender#canRetry"):
    """An attempt to produce a batch failed. `retry` is true if the producer will retry, and false if it gives up."""

    producer: str
    topic: str
    partition: int
    records: int
    acks: int
    attempt: int
    error: str
    retry: bool

    def sentence(self) -> str:
        what = f"{self.producer} got {self.error} for {records(self.records)} to {self.tp} (attempt {self.attempt})"
        return what + (" and will retry" if self.retry else " and gave up")


class ProduceWaiting(Event, kind="produce-waiting", source="ProducerBatch#createdMs"):
    """A batch has had no response for more than a second. This event is recorded once for each batch. `waited_us` is measured in the same
    way as `latency_us` in `produce-acked`."""

    producer: str
    topic: str
    partition: int
    records: int
    acks: int
    attempt: int
    waited_us: int

    def sentence(self) -> str:
        acks = "all" if self.acks < 0 else str(self.acks)
        if self.attempt == 0:
            return (
                f"{self.producer} has waited {format_duration(self.waited_us)} to send {records(self.records)} to {self.tp} (acks={acks})"
            )
        return (
            f"{self.producer} has waited {format_duration(self.waited_us)} for a response to {records(self.records)} for "
            f"{self.tp} (acks={acks}, attempt {self.attempt})"
        )


class ProduceGivenUp(Event, kind="produce-given-up", source="Sender#failBatch", level=NOTABLE):
    """A producer gave up on a batch after `waited_us`. The producer does not know whether a log contains the batch's records."""

    producer: str
    topic: str
    partition: int
    records: int
    acks: int
    error: str
    waited_us: int

    template = "{producer} gave up on {records:count record} for {tp} after {waited_us:duration}: {error}"


class BatchCompleted(Event, kind="batch-completed", source="RecordAccumulator#drain", level=DETAIL):
    """A producer that collects records in batches made its first attempt to send a batch. After this event, no record is added to the
    batch.

    `wire_bytes` is the size of the batch on the network. `waited_us` is the time since the first record was added to the batch. `full` is
    true if the next record did not fit. `full` is false if the batch was sent because linger.ms had elapsed, the memory was full, or the
    transaction was ending.
    """

    producer: str
    topic: str
    partition: int
    records: int
    wire_bytes: int
    waited_us: int
    full: bool

    def sentence(self) -> str:
        why = "because it was full" if self.full else f"{format_duration(self.waited_us)} after its first record"
        return f"{self.producer} completed a batch of {records(self.records)} ({self.wire_bytes:,} bytes) for {self.tp} {why}"


class ProducerBlocked(Event, kind="producer-blocked", source="BufferPool#allocate", level=NOTABLE, changes=NOTHING):
    """The unacknowledged batches of a producer occupy its whole buffer.memory, so send() blocks the application."""

    producer: str
    topic: str
    memory: int
    records: int

    def sentence(self) -> str:
        return (
            f"send() blocks the application of {self.producer}: unacknowledged batches for {self.topic} occupy its buffer.memory of "
            f"{self.memory:,} bytes, and {records(self.records)} {'is' if self.records == 1 else 'are'} waiting"
        )


class SendTimedOut(Event, kind="send-timed-out", source="KafkaProducer#doSend", level=NOTABLE, changes=NOTHING):
    """A call to send() failed because it blocked for max.block.ms. `metadata` is false if the leaders of the topic are unknown."""

    producer: str
    topic: str
    waited_us: int
    metadata: bool
    records: int

    def sentence(self) -> str:
        what = "its memory was full" if self.metadata else f"the leaders of {self.topic} were unknown"
        return (
            f"send() of {self.producer} failed with a TimeoutException, because {what} for {format_duration(self.waited_us)}; "
            f"{records(self.records)} {'is' if self.records == 1 else 'are'} still waiting"
        )


class ProducerIdGiven(Event, kind="producer-id-given", source="RPCProducerIdManager#generateProducerId", changes=NOTHING):
    """A broker assigned an ID to an idempotent producer. The producer epoch starts at 0."""

    broker: int
    producer: str
    producer_id: int

    template = "b{broker} assigned producer ID {producer_id} to {producer}: each of its batches now carries a sequence number"


class ClientRebootstrapped(Event, kind="client-rebootstrapped", source="Metadata#rebootstrap, KIP-899", level=NOTABLE, changes=NOTHING):
    """A client asks its bootstrap servers for metadata again, because it gets none from the brokers of its last metadata."""

    client: str
    known: str
    reason: str

    template = "{client} asks its bootstrap servers again, because {reason}; its last metadata named {known}"


class DuplicateDropped(ReplicaEvent, kind="duplicate-dropped", source="ProducerStateEntry#findDuplicateBatch", level=NOTABLE):
    """A leader recognized a retry by an idempotent producer. The leader appends nothing, and returns the offsets of the first attempt."""

    producer: str
    from_offset: int
    to_offset: int
    sequence: int

    template = "b{broker} already has sequence {sequence} from {producer} at {offset_range} of {tp}, and does not append the batch again"


class ProducerEpochBumped(
    Event, kind="producer-epoch-bumped", source="TransactionManager#requestIdempotentEpochBumpForPartition", level=NOTABLE
):
    """An idempotent producer started a new epoch with sequence 0 in a partition, because it did not know whether a batch had been appended."""

    producer: str
    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    error: str

    template = "{producer} gave up on a batch for {tp} ({error}) and continues in producer epoch {producer_epoch} at sequence 0"


class Consumed(Event, kind="consumed", source="UnifiedLog#read, FetchIsolation", level=DETAIL, changes=OFFSETS):
    """A consumer received records. The records are always below the high watermark in the response."""

    consumer: str
    topic: str
    partition: int
    broker: int
    from_offset: int
    to_offset: int
    high_watermark: int

    template = "consumer {consumer} read {offset_range} of {tp} from b{broker}, below the high watermark {high_watermark}"


_REPHRASED: Final = {
    "another leader epoch": "the leader epoch has changed",
    "metadata.max.age.ms is over": "metadata.max.age.ms has elapsed",
}
"""The wordings that sentences use for the reasons in the log."""


class ReadReplica(Event, kind="read-replica", source="ReplicaManager#findPreferredReadReplica, RackAwareReplicaSelector, KIP-392"):
    """A consumer now reads a partition from a follower that the leader chose or, because of `reason`, from the leader again."""

    consumer: str
    topic: str
    partition: int
    leader: int
    broker: int
    rack: str
    reason: str

    def sentence(self) -> str:
        name = self.tp
        if self.reason:
            reason = _REPHRASED.get(self.reason, self.reason)
            return f"consumer {self.consumer} reads {name} from its leader ({leader_name(self.broker)}) again: {reason}"
        return (
            f"{leader_name(self.leader)} redirected consumer {self.consumer} to b{self.broker} for {name}: "
            f"b{self.broker} is in the consumer's rack ({self.rack})"
        )


class ConsumerReset(Event, kind="consumer-reset", source="auto.offset.reset", level=NOTABLE):
    """A consumer reset its position, because its offset is not in the log."""

    consumer: str
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    error: str
    policy: str

    template = "consumer {consumer} reset its position in {tp} from {from_offset} to {to_offset} ({policy}) after {error}"


class ConsumerTruncated(Event, kind="consumer-truncated", source="SubscriptionState#maybeCompleteValidation, KIP-320", level=NOTABLE):
    """A consumer found that the new leader's log lacks records that the consumer has read.

    The consumer goes back to the offset at which the logs diverge.
    """

    consumer: str
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    read_epoch: int
    leader_epoch: int

    template = (
        "consumer {consumer} went back from offset {from_offset} to {to_offset} in {tp}: "
        "it had read records of epoch {read_epoch}, but on the new leader, epoch {leader_epoch} ends at {to_offset}"
    )
