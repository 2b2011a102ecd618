"""Produce requests with acks=all that wait until their records are committed or their timeout expires (Kafka: `DelayedProduce`)."""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from core.kafka import errors
from core.kafka.broker.partition_context import PartitionContext
from core.kafka.broker.purgatory.produce_response import send_produce_response
from core.kafka.ids import NO_OFFSET, TopicPartition
from core.kafka.log.leader_term import Term
from core.kafka.messages import ProduceRequest


class DelayedProduce(NamedTuple):
    """An acks=all write that waits for the high watermark (Kafka: `DelayedProduce`).

    Attributes:
        required_offset: the high watermark that the write waits for.
        deadline: the time when the write times out, virtual µs.
        base, term: the offset and the term of the write's first record.
    """

    required_offset: int
    deadline: int
    sender: str
    request: ProduceRequest
    base: int
    term: Term


class DelayedProduces:
    """The delayed writes of one partition.

    Attributes:
        waiting: the delayed writes, in order of the required offset.
        timer_due: the time when the armed expiry timer fires; -1 if none was armed.
    """

    __slots__ = ("broker", "timer_due", "tp", "waiting")

    broker: Final[PartitionContext]
    tp: Final[TopicPartition]
    waiting: Final[deque[DelayedProduce]]

    def __init__(self, broker: PartitionContext, tp: TopicPartition) -> None:
        self.broker = broker
        self.tp = tp
        self.waiting = deque()
        self.timer_due = -1

    def add(self, write: DelayedProduce) -> None:
        """Delay a write. Except for repeated writes, each write waits for a higher offset than the writes before it."""
        waiting = self.waiting
        at = len(waiting)
        while at and waiting[at - 1].required_offset > write.required_offset:
            at -= 1
        if at == len(waiting):
            waiting.append(write)
        else:
            waiting.insert(at, write)
        self._expire_at(write.deadline)

    def refuse(self, error: str) -> None:
        """Refuse all delayed writes, because this broker's role in the partition changed."""
        refused = list(self.waiting)
        self.waiting.clear()
        for write in refused:
            send_produce_response(self.broker, write.sender, write.request, error, NO_OFFSET, None)

    def complete(self, high_watermark: int, error: str) -> None:
        """Respond to the writes that the high watermark has reached (`DelayedProduce#tryComplete`)."""
        waiting = self.waiting
        while waiting and waiting[0].required_offset <= high_watermark:
            write = waiting.popleft()
            send_produce_response(self.broker, write.sender, write.request, error, write.base, write.term)

    def expire(self) -> None:
        """Respond with a timeout error to the writes whose deadline has passed (`DelayedProduce#onExpiration`)."""
        if not self.waiting:
            return
        now, writes = self.broker.journal.now, list(self.waiting)
        self.waiting.clear()
        self.waiting.extend(write for write in writes if write.deadline > now)
        for write in writes:
            if write.deadline <= now:
                send_produce_response(self.broker, write.sender, write.request, errors.REQUEST_TIMED_OUT, NO_OFFSET, None)
        if self.waiting:
            self._expire_at(min(write.deadline for write in self.waiting))

    def _expire_at(self, deadline: int) -> None:
        """Arm the expiry timer for a deadline, unless the timer fires earlier."""
        now = self.broker.journal.now
        if not now < self.timer_due <= deadline:
            self.timer_due = deadline
            self.broker.timer(deadline - now, "produce-expiry", self.tp)
