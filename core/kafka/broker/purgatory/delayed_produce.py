"""Produce requests with acks=all that wait until their records are committed or their timeout expires (Kafka: `DelayedProduce`)."""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple, Protocol

from core.kafka import errors
from core.kafka.broker.context import BrokerContext
from core.kafka.broker.purgatory.produce_response import send_produce_response
from core.kafka.ids import NO_OFFSET, TopicPartition, is_broker
from core.kafka.log.leader_term import Term
from core.kafka.messages import ProduceRequest


class DelayedWrite(Protocol):
    """A write that is waiting for the high watermark."""

    @property
    def writer(self) -> str:
        """The producer or the part of the broker that sent the write."""

    @property
    def base(self) -> int:
        """The offset of the first record."""

    @property
    def required_offset(self) -> int:
        """The high watermark that the write waits for."""

    @property
    def deadline(self) -> int:
        """The time at which the write times out, in µs."""

    def respond(self, broker: BrokerContext, error: str, /) -> None:
        """Report the result to the sender of the write."""


class DelayedProduce(NamedTuple):
    """A client's write with acks=all (Kafka: `DelayedProduce`).

    Attributes:
        required_offset: the high watermark that the write waits for.
        deadline: the virtual time when the write times out, in µs.
        base, term: the offset of the write's first record, and the leader's term in which it was written.
    """

    required_offset: int
    deadline: int
    sender: str
    request: ProduceRequest
    base: int
    term: Term

    @property
    def writer(self) -> str:
        """The producer."""
        return self.request.producer

    def respond(self, broker: BrokerContext, error: str) -> None:
        """Send the response."""
        if error == errors.NONE or error == errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND:
            send_produce_response(broker, self.sender, self.request, error, self.base, self.term)
        else:
            send_produce_response(broker, self.sender, self.request, error, NO_OFFSET, None)


class AppendCompletion(Protocol):
    """A callback for the result of an append by a part of the broker, such as a transaction coordinator."""

    def append_completed(self, error: str, /) -> None:
        """Handle the result; NONE means that the records are committed."""


class DelayedAppend(NamedTuple):
    """A write by the broker itself: a record of an internal topic, or a marker."""

    writer: str
    base: int
    required_offset: int
    deadline: int
    completion: AppendCompletion

    def respond(self, _: BrokerContext, error: str) -> None:
        """Pass the result to the part of the broker that requested the write."""
        self.completion.append_completed(error)


class DelayedProduces:
    """The delayed writes of one partition.

    Attributes:
        waiting: the delayed writes, ordered by required offset.
        timer_due: the time when the armed expiry timer fires; -1 if none is armed.
    """

    __slots__ = ("broker", "timer_due", "tp", "waiting")

    broker: Final[BrokerContext]
    tp: Final[TopicPartition]
    waiting: Final[deque[DelayedWrite]]

    def __init__(self, broker: BrokerContext, tp: TopicPartition) -> None:
        self.broker = broker
        self.tp = tp
        self.waiting = deque()
        self.timer_due = -1

    def add(self, write: DelayedWrite) -> None:
        """Add a write to the purgatory. Each write waits for a higher offset than the writes before it, unless it repeats an earlier
        write."""
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
        """Fail all delayed writes, because this broker's role in the partition changed."""
        refused = list(self.waiting)
        self.waiting.clear()
        for write in refused:
            write.respond(self.broker, error)

    def complete(self, high_watermark: int, error: str) -> None:
        """Respond to the writes that the high watermark has reached (`DelayedProduce#tryComplete`)."""
        waiting = self.waiting
        while waiting and waiting[0].required_offset <= high_watermark:
            write = waiting.popleft()
            write.respond(self.broker, error)

    def expire(self) -> None:
        """Respond with a timeout error to the writes whose deadline has passed (`DelayedProduce#onExpiration`)."""
        if not self.waiting:
            return
        broker = self.broker
        now, writes = broker.journal.now, list(self.waiting)
        broker.journal.blame(broker.network.disturbances.anywhere(now - broker.config.lag_max, now, (broker.node.address,), is_broker))
        self.waiting.clear()
        self.waiting.extend(write for write in writes if write.deadline > now)
        for write in writes:
            if write.deadline <= now:
                write.respond(self.broker, errors.REQUEST_TIMED_OUT)
        if self.waiting:
            self._expire_at(min(write.deadline for write in self.waiting))

    def _expire_at(self, deadline: int) -> None:
        """Arm the expiry timer for a deadline, unless the timer is already armed and fires earlier."""
        now = self.broker.journal.now
        if not now < self.timer_due <= deadline:
            self.timer_due = deadline
            self.broker.node.timer(deadline - now, "produce-expiry", self.tp)
