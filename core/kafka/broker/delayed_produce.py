"""Writes with acks=all that wait at their leader until they are committed, or their time is over.

Kafka: `DelayedProduce` and its purgatory.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from core.kafka import errors
from core.kafka.ids import NO_OFFSET
from core.kafka.log.term import Term
from core.kafka.messages import ProduceRequest

if TYPE_CHECKING:
    from core.kafka.broker.partition import Partition


class DelayedProduce(NamedTuple):
    """An acks=all write that waits for the high watermark (Kafka: `DelayedProduce`)."""

    required_offset: int
    deadline: int
    sender: str
    request: ProduceRequest
    base: int
    term: Term


def delay_produce(partition: Partition, waiting: DelayedProduce) -> None:
    """Let a write wait, in order of what it waits for; all but repeated ones wait for more than those before them."""
    delayed = partition.delayed
    if delayed is None:
        delayed = partition.delayed = deque()
    at = len(delayed)
    while at and delayed[at - 1].required_offset > waiting.required_offset:
        at -= 1
    if at == len(delayed):
        delayed.append(waiting)
    else:
        delayed.insert(at, waiting)
    _expire_produce_at(partition, waiting.deadline)


def refuse_delayed_produce(partition: Partition, error: str) -> None:
    """This broker's part in the partition changed: none of them is waited for any longer."""
    delayed, partition.delayed = partition.delayed, None
    for waiting in delayed or ():
        partition.broker.answer_produce(waiting.sender, waiting.request, error, NO_OFFSET, None)


def complete_delayed_produce(partition: Partition) -> None:
    """Answer the writes that the high watermark has reached (`Partition#checkEnoughReplicasReachOffset`)."""
    high_watermark, delayed = partition.log.high_watermark, partition.delayed
    while delayed and delayed[0].required_offset <= high_watermark:
        waiting = delayed.popleft()
        if partition.effective_min_isr() <= len(partition.maximal_isr):
            partition.broker.answer_produce(waiting.sender, waiting.request, errors.NONE, waiting.base, waiting.term)
        else:
            partition.broker.answer_produce(
                waiting.sender, waiting.request, errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND, waiting.base, waiting.term
            )


def expire_delayed_produce(partition: Partition) -> None:
    """Time out the writes whose request timeout is over (`DelayedProduce#onExpiration`), each by its own."""
    journal, delayed = partition.broker.journal, partition.delayed
    if not delayed:
        return
    now = journal.now
    partition.delayed = left = deque(waiting for waiting in delayed if waiting.deadline > now)
    for waiting in delayed:
        if waiting.deadline <= now:
            partition.broker.answer_produce(waiting.sender, waiting.request, errors.REQUEST_TIMED_OUT, NO_OFFSET, None)
    if left:
        _expire_produce_at(partition, min(waiting.deadline for waiting in left))


def _expire_produce_at(partition: Partition, deadline: int) -> None:
    """Have writes that wait timed out at a deadline, unless that is arranged for earlier already."""
    now = partition.broker.journal.now
    if not now < partition.produce_timer_due <= deadline:
        partition.produce_timer_due = deadline
        partition.broker.timer(deadline - now, "produce-expiry", partition.tp)
