"""What producers and consumers are told."""

from __future__ import annotations

from typing import ClassVar

from core.journal.events.base import DETAIL, NOTABLE, Event, name_of, offsets, records
from core.units import format_duration


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
