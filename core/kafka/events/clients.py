"""What producers and consumers are told."""

from __future__ import annotations

from core.kafka.events.base import DETAIL, NOTABLE, Event, leader_name, offsets, records
from core.sim.units import format_duration


class ProduceAcked(Event, kind="produce-acked", source="DelayedProduce#onComplete"):
    """A producer was told that its batch is in; `latency_us` from first send. With acks=0 it tells itself: offsets are -1."""

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
            return f"{self.producer} sent {records(self.records)} to {self.tp} and takes them for written (acks=0)"
        return (
            f"{self.producer} was acknowledged {offsets(self.from_offset, self.to_offset)} of {self.tp} "
            f"after {format_duration(self.latency_us)} (acks={acks}, attempt {self.attempt})"
        )


class ProduceFailed(Event, kind="produce-failed", source="Sender#failBatch, Sender#canRetry"):
    """A produce attempt failed; `retry` tells whether the producer tries again or gives up."""

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
        return what + (": it tries again" if self.retry else ": it gives up")


class ProduceWaiting(Event, kind="produce-waiting", source="ProducerBatch#createdMs"):
    """A batch has had no answer for longer than a second; told once. `waited_us` is from first send, as `latency_us` of what is acknowledged."""

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
            f"{self.tp} (acks={acks}, attempt {self.attempt})"
        )


class ProduceGivenUp(Event, kind="produce-given-up", source="Sender#failBatch", level=NOTABLE):
    """A producer gave a batch up, which it had first sent `waited_us` before; whether its records are in a log, it does not know."""

    producer: str
    topic: str
    partition: int
    records: int
    acks: int
    error: str
    waited_us: int

    def sentence(self) -> str:
        return f"{self.producer} gives up {records(self.records)} of {self.tp} after {format_duration(self.waited_us)}: {self.error}"


class ProducerIdGiven(Event, kind="producer-id-given", source="RPCProducerIdManager#generateProducerId"):
    """A broker gave an idempotent producer its id; its epoch begins with 0."""

    broker: int
    producer: str
    producer_id: int

    def sentence(self) -> str:
        return f"b{self.broker} gave {self.producer} the producer id {self.producer_id}: each of its batches now carries a sequence number"


class DuplicateDropped(Event, kind="duplicate-dropped", source="ProducerStateEntry#findDuplicateBatch", level=NOTABLE):
    """A leader recognised an idempotent producer's retry: nothing is appended, the offsets of the first time are the answer."""

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
            f"of {self.tp}, and is not appended again"
        )


class ProducerEpochBumped(
    Event, kind="producer-epoch-bumped", source="TransactionManager#requestIdempotentEpochBumpForPartition", level=NOTABLE
):
    """An idempotent producer cannot tell what became of a batch, and begins a new epoch with sequence 0 in that partition."""

    producer: str
    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    error: str

    def sentence(self) -> str:
        return f"{self.producer} gave a batch of {self.tp} up ({self.error}) and goes on in producer epoch {self.producer_epoch} from sequence 0"


class Consumed(Event, kind="consumed", source="UnifiedLog#read, FetchIsolation", level=DETAIL):
    """A consumer was given records: always below the high watermark it was told."""

    consumer: str
    topic: str
    partition: int
    broker: int
    from_offset: int
    to_offset: int
    high_watermark: int

    def sentence(self) -> str:
        return f"{self.consumer} read {offsets(self.from_offset, self.to_offset)} of {self.tp} from b{self.broker}, below the high watermark {self.high_watermark}"


class ReadReplica(Event, kind="read-replica", source="ReplicaManager#findPreferredReadReplica, RackAwareReplicaSelector, KIP-392"):
    """A consumer reads a partition from another broker: its leader named a follower in the consumer's rack, or (`reason`) it goes back to the leader."""

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
            return f"{self.consumer} goes back to the leader of {name}, {leader_name(self.broker)}: {self.reason}"
        return f"{leader_name(self.leader)} sent {self.consumer} to b{self.broker} for {name}: that replica is in its rack {self.rack}"


class ConsumerReset(Event, kind="consumer-reset", source="auto.offset.reset", level=NOTABLE):
    """A consumer's position was not in the log any more and was reset."""

    consumer: str
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    error: str
    policy: str

    def sentence(self) -> str:
        return f"{self.consumer} stood at {self.from_offset} of {self.tp} ({self.error}) and was reset to {self.policy}: {self.to_offset}"


class ConsumerTruncated(Event, kind="consumer-truncated", source="SubscriptionState#maybeCompleteValidation, KIP-320", level=NOTABLE):
    """A consumer found that what it read last is not in the new leader's log any more, and goes back to where that diverges."""

    consumer: str
    topic: str
    partition: int
    from_offset: int
    to_offset: int
    read_epoch: int
    leader_epoch: int

    def sentence(self) -> str:
        return (
            f"{self.consumer} had read {self.tp} up to {self.from_offset} in epoch {self.read_epoch}; by its new leader the log diverges "
            f"at {self.to_offset} (epoch {self.leader_epoch}): it goes back there"
        )
