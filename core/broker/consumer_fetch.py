"""A consumer's fetch on a leader: only what is below the high watermark, or a wait for it (Kafka: `DelayedFetch`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core import errors
from core.ids import NO_OFFSET, TopicPartition
from core.messages import ConsumerFetchRequest, ConsumerFetchResponse, FetchedPartition

if TYPE_CHECKING:
    from core.broker.broker import Broker


class DelayedConsumerFetch:
    """A consumer's fetch that waits on a broker until a high watermark moves past a position, or its time is over."""

    __slots__ = ("broker", "done", "request", "sender")

    def __init__(self, broker: Broker, sender: str, request: ConsumerFetchRequest) -> None:
        self.broker = broker
        self.sender = sender
        self.request = request
        self.done = False

    def read(self) -> tuple[FetchedPartition, ...]:
        """What there is to hand out now, partitions without news left out."""
        found = []
        for tp, position, leader_epoch in self.request.partitions:
            part = read_for_consumer(self.broker, tp, position, leader_epoch)
            if part.records or part.error != errors.NONE:
                found.append(part)
        return tuple(found)

    def park(self) -> None:
        """Wait at every partition of the fetch."""
        for tp, _, _ in self.request.partitions:
            self.broker.partitions[tp].consumers[self] = None

    def complete_if_enough(self) -> None:
        """A high watermark moved: answer if there is something."""
        if not self.done:
            found = self.read()
            if found:
                self._finish(found)

    def complete(self) -> None:
        """Answer with whatever there is."""
        if not self.done:
            self._finish(self.read())

    def _finish(self, found: tuple[FetchedPartition, ...]) -> None:
        self.done = True
        for tp, _, _ in self.request.partitions:
            partition = self.broker.partitions.get(tp)
            if partition is not None:
                partition.consumers.pop(self, None)
        self.broker.reply(self.sender, ConsumerFetchResponse(self.request.correlation, found))


def read_for_consumer(broker: Broker, tp: TopicPartition, position: int, leader_epoch: int) -> FetchedPartition:
    """One partition's part of a consumer's fetch (`UnifiedLog#read` bounded by `FetchIsolation`): nothing at or above the HW."""
    partition = broker.partitions.get(tp)
    if partition is None:
        return FetchedPartition(tp, broker.replicas.missing_error(tp), position, (), NO_OFFSET, NO_OFFSET, -1, -1, 0)
    log = partition.log
    error = partition.check_leader_epoch(leader_epoch if broker.release.fetch_epoch_fencing else -1)
    if error == errors.NONE and not log.log_start <= position <= log.leo:
        error = errors.OFFSET_OUT_OF_RANGE
    records: tuple = ()
    if error == errors.NONE and position < log.high_watermark:
        records = log.read(position, log.high_watermark, broker.consumer_fetch_bytes)
    return FetchedPartition(tp, error, position, records, log.high_watermark, log.log_start, -1, -1, partition.last_high_watermark)
