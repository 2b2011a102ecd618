"""The lost records of a cluster, each with its producer and the event that caused the loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from core.kafka.ids import TopicPartition
from core.kafka.log.leader_term import Term
from core.kafka.log.offset_set import OffsetSet
from core.lab.accounts.partition_account import PartitionAccount


class Loss(NamedTuple):
    """The lost offsets [start, end) of one producer.

    Attributes:
        tp: the partition of the lost records.
        producer: the name of the producer of the lost records.
        epoch: the leader epoch in which the records were written.
        start: the first lost offset.
        end: the offset after the last lost offset.
        acknowledged: whether the records were acknowledged to the producer.
        read: whether a consumer has read the records.
        event: the sequence number of the event that caused the loss. This event is the truncation or power loss that removed the records
            from the newer leader's log or, if this log never contained the records, the election of the newer leader.
    """

    tp: TopicPartition
    producer: str
    epoch: int
    start: int
    end: int
    acknowledged: bool
    read: bool
    event: int


def current_losses(partitions: Mapping[TopicPartition, PartitionAccount]) -> list[Loss]:
    """Return the records that are lost now, by partition, offset, producer, and the event that caused the loss."""
    found: list[Loss] = []
    for tp, account in partitions.items():
        for term, lost in sorted(account.lost.items(), key=lambda each: (each[0].epoch, each[0].leader)):
            acked, read = account.acked.get(term, OffsetSet()), account.read.get(term, OffsetSet())
            unread = lost.minus(read)
            parts = ((True, False, unread), (True, True, lost.common(read).common(acked)), (False, True, lost.minus(acked)))
            for acknowledged, was_read, part in parts:
                for low, high in part:
                    found.extend(_by_producer(tp, account, term, low, high, acknowledged, was_read))
    return sorted(found, key=lambda loss: (loss.tp, loss.start, loss.epoch))


def _by_producer(
    tp: TopicPartition, account: PartitionAccount, term: Term, start: int, end: int, acknowledged: bool, read: bool
) -> list[Loss]:
    found: list[Loss] = []
    at, i = start, term.number_after(start)
    while at < end and i < term.count:
        batch = term.batch(i)
        stop = min(end, batch.base + batch.records)
        event, until = 0, stop
        for cause in () if account.losses is None else account.losses.loss_causes:
            if cause.term is term and cause.start <= at < cause.end:
                event, until = cause.event, min(stop, cause.end)
        last = found[-1] if found else None
        if last is not None and last.end == at and last.producer == batch.producer and last.event == event:
            found[-1] = last._replace(end=until)
        else:
            found.append(Loss(tp, batch.producer, term.epoch, at, until, acknowledged, read, event))
        at = until
        i += at >= batch.base + batch.records
    return found
