"""What producers and consumers are told."""

from __future__ import annotations

from typing import ClassVar

from core.kafka.events.base import DETAIL, NOTABLE, Event, leader_name, name_of, offsets, records
from core.sim.units import format_duration


class ProduceAcked(Event):
    """A producer was told that its batch is in; `latency_us` from first send. With acks=0 it tells itself: offsets are -1."""

    kind: ClassVar[str] = "produce-acked"
    source: ClassVar[str] = "DelayedProduce#onComplete"
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
            return (
                f"{self.producer} sent {records(self.records)} to {name_of(self.topic, self.partition)} and takes them for written (acks=0)"
            )
        return (
            f"{self.producer} was acknowledged {offsets(self.from_offset, self.to_offset)} of {name_of(self.topic, self.partition)} "
            f"after {format_duration(self.latency_us)} (acks={acks}, attempt {self.attempt})"
        )


class ProduceFailed(Event):
    """A produce attempt failed; `retry` tells whether the producer tries again or gives up."""

    kind: ClassVar[str] = "produce-failed"
    source: ClassVar[str] = "Sender#failBatch, Sender#canRetry"
    producer: str
    topic: str
    partition: int
    records: int
    acks: int
    attempt: int
    error: str
    retry: bool

    def sentence(self) -> str:
        what = f"{self.producer} got {self.error} for {records(self.records)} to {name_of(self.topic, self.partition)} (attempt {self.attempt})"
        return what + (": it tries again" if self.retry else ": it gives up")


class ProduceWaiting(Event):
    """A batch has had no answer for longer than a second; told once. `waited_us` is from first send, as `latency_us` of what is acknowledged."""

    kind: ClassVar[str] = "produce-waiting"
    source: ClassVar[str] = "ProducerBatch#createdMs"
    producer: str
    topic: str
    partition: int
    records: int
    acks: int
    attempt: int
    waited_us: int

    def sentence(self) -> str:
        acks = "all" if self.acks < 0 else str(self.acks)
        return (
            f"{self.producer} has waited {format_duration(self.waited_us)} for an answer to {records(self.records)} of "
            f"{name_of(self.topic, self.partition)} (acks={acks}, attempt {self.attempt})"
        )


class ProduceGivenUp(Event):
    """A producer gave a batch up, which it had first sent `waited_us` before; whether its records are in a log, it does not know."""

    kind: ClassVar[str] = "produce-given-up"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "Sender#failBatch"
    producer: str
    topic: str
    partition: int
    records: int
    acks: int
    error: str
    waited_us: int

    def sentence(self) -> str:
        return (
            f"{self.producer} gives up {records(self.records)} of {name_of(self.topic, self.partition)} after "
            f"{format_duration(self.waited_us)}: {self.error}"
        )


class ProducerIdGiven(Event):
    """A broker gave an idempotent producer its id; its epoch begins with 0."""

    kind: ClassVar[str] = "producer-id-given"
    source: ClassVar[str] = "RPCProducerIdManager#generateProducerId"
    broker: int
    producer: str
    producer_id: int

    def sentence(self) -> str:
        return f"b{self.broker} gave {self.producer} the producer id {self.producer_id}: each of its batches now carries a sequence number"


class DuplicateDropped(Event):
    """A leader recognised an idempotent producer's retry: nothing is appended, the offsets of the first time are the answer."""

    kind: ClassVar[str] = "duplicate-dropped"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "ProducerStateEntry#findDuplicateBatch"
    broker: int
    topic: str
    partition: int
    producer: str
    from_offset: int
    to_offset: int
    sequence: int

    def sentence(self) -> str:
        return (
            f"b{self.broker} knows sequence {self.sequence} of {self.producer} already: it is at {offsets(self.from_offset, self.to_offset)} "
            f"of {name_of(self.topic, self.partition)}, and is not appended again"
        )


class ProducerEpochBumped(Event):
    """An idempotent producer cannot tell what became of a batch, and begins a new epoch with sequence 0 in that partition."""

    kind: ClassVar[str] = "producer-epoch-bumped"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "TransactionManager#requestIdempotentEpochBumpForPartition"
    producer: str
    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    error: str

    def sentence(self) -> str:
        return f"{self.producer} gave a batch of {name_of(self.topic, self.partition)} up ({self.error}) and goes on in producer epoch {self.producer_epoch} from sequence 0"


class Consumed(Event):
    """A consumer was given records: always below the high watermark it was told."""

    kind: ClassVar[str] = "consumed"
    level: ClassVar[int] = DETAIL
    source: ClassVar[str] = "UnifiedLog#read, FetchIsolation"
    consumer: str
    topic: str
    partition: int
    broker: int
    from_offset: int
    to_offset: int
    high_watermark: int

    def sentence(self) -> str:
        return f"{self.consumer} read {offsets(self.from_offset, self.to_offset)} of {name_of(self.topic, self.partition)} from b{self.broker}, below the high watermark {self.high_watermark}"


class ReadReplica(Event):
    """A consumer reads a partition from another broker: its leader named a follower in the consumer's rack, or (`reason`) it goes back to the leader."""

    kind: ClassVar[str] = "read-replica"
    source: ClassVar[str] = "ReplicaManager#findPreferredReadReplica, RackAwareReplicaSelector, KIP-392"
    consumer: str
    topic: str
    partition: int
    leader: int
    broker: int
    rack: str
    reason: str

    def sentence(self) -> str:
        name = name_of(self.topic, self.partition)
        if self.reason:
            return f"{self.consumer} goes back to the leader of {name}, {leader_name(self.broker)}: {self.reason}"
        return f"{leader_name(self.leader)} sent {self.consumer} to b{self.broker} for {name}: that replica is in its rack {self.rack}"


class ConsumerReset(Event):
    """A consumer's position was not in the log any more and was reset."""

    kind: ClassVar[str] = "consumer-reset"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "auto.offset.reset"
    consumer: str
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    error: str
    policy: str

    def sentence(self) -> str:
        return f"{self.consumer} stood at {self.from_offset} of {name_of(self.topic, self.partition)} ({self.error}) and was reset to {self.policy}: {self.to_offset}"


class ConsumerTruncated(Event):
    """A consumer found that what it read last is not in the new leader's log any more, and goes back to where that diverges."""

    kind: ClassVar[str] = "consumer-truncated"
    level: ClassVar[int] = NOTABLE
    source: ClassVar[str] = "SubscriptionState#maybeCompleteValidation, KIP-320"
    consumer: str
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    read_epoch: int
    leader_epoch: int

    def sentence(self) -> str:
        return (
            f"{self.consumer} had read {name_of(self.topic, self.partition)} up to {self.from_offset} in epoch {self.read_epoch}; by its new leader the log diverges "
            f"at {self.to_offset} (epoch {self.leader_epoch}): it goes back there"
        )
