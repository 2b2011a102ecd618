"""A consumer's fetch: only what is below the high watermark, or a wait for it; on the leader, or on a follower (KIP-392).

Kafka: `DelayedFetch`.
"""

from __future__ import annotations

from core.kafka import errors
from core.kafka.broker.context import BrokerContext
from core.kafka.broker.hosted_partitions import HostedPartitions
from core.kafka.broker.partition import Partition
from core.kafka.broker.replica_selector import ReplicaView, select_rack_aware
from core.kafka.ids import NO_EPOCH, NO_LEADER, NO_OFFSET, TopicPartition
from core.kafka.log.term import Stretch, stretches
from core.kafka.messages import ConsumerFetchRequest, ConsumerFetchResponse, FetchedPartition


class DelayedConsumerFetch:
    """A consumer's fetch that waits on a broker until a high watermark moves past a position, or its time is over."""

    __slots__ = ("broker", "done", "hosted", "request", "sender")

    def __init__(self, broker: BrokerContext, hosted: HostedPartitions, sender: str, request: ConsumerFetchRequest) -> None:
        self.broker = broker
        self.hosted = hosted
        self.sender = sender
        self.request = request
        self.done = False

    def read(self) -> ConsumerFetchResponse:
        """What there is to say now, partitions without news left out. Of one that another replica is to serve nothing is read."""
        broker, hosted, rack = self.broker, self.hosted, self.request.rack
        found = []
        preferred = []
        for tp, position, leader_epoch in self.request.partitions:
            partition = hosted.online.get(tp)
            replica = NO_LEADER if partition is None else find_preferred_read_replica(broker, partition, rack, position, leader_epoch)
            if replica != NO_LEADER:
                preferred.append((tp, replica))
                continue
            part = read_for_consumer(broker, hosted, tp, position, leader_epoch, rack)
            if part.records or part.error != errors.NONE:
                found.append(part)
        return ConsumerFetchResponse(self.request.correlation, tuple(found), tuple(preferred))

    def park(self) -> None:
        """Wait at every partition of the fetch."""
        for tp, _, _ in self.request.partitions:
            self.hosted.online[tp].add_consumer(self)

    def complete_if_enough(self) -> None:
        """A high watermark moved: answer if there is something."""
        if not self.done:
            answer = self.read()
            if answer.partitions or answer.preferred:
                self._finish(answer)

    def complete(self) -> None:
        """Answer with whatever there is."""
        if not self.done:
            self._finish(self.read())

    def _finish(self, answer: ConsumerFetchResponse) -> None:
        self.done = True
        for tp, _, _ in self.request.partitions:
            partition = self.hosted.online.get(tp)
            if partition is not None:
                partition.remove_consumer(self)
        self.broker.reply(self.sender, answer)


def read_for_consumer(
    broker: BrokerContext, hosted: HostedPartitions, tp: TopicPartition, position: int, leader_epoch: int, rack: str | None
) -> FetchedPartition:
    """One partition's part of a consumer's fetch (`UnifiedLog#read` bounded by `FetchIsolation`): nothing at or above the HW of this replica.

    A follower serves clients that tell their rack, be it an empty one (fetch version 11, 2.4); others must find the leader.
    """
    partition = hosted.online.get(tp)
    if partition is None:
        return FetchedPartition(tp, hosted.missing_error(tp), position, (), NO_OFFSET, NO_OFFSET, -1, -1, 0)
    log = partition.log
    error = partition.check_leader_epoch(leader_epoch if broker.release.fetch_epoch_fencing else -1, requires_leader=rack is None)
    if error == errors.NONE and not log.log_start <= position <= log.leo:
        error = errors.OFFSET_OUT_OF_RANGE
    records: tuple[Stretch, ...] = ()
    if error == errors.NONE and position < log.high_watermark:
        records = tuple(stretches(log.read(position, log.high_watermark, broker.consumer_fetch_bytes)))
    cause = partition.last_high_watermark if partition.is_leader else 0
    return FetchedPartition(tp, error, position, records, log.high_watermark, log.log_start, -1, -1, cause)


def find_preferred_read_replica(broker: BrokerContext, partition: Partition, rack: str | None, position: int, leader_epoch: int) -> int:
    """The follower that a consumer is to fetch a position from, NO_LEADER if this broker serves it itself.

    Kafka: `ReplicaManager#findPreferredReadReplica`.

    Only members of the ISR that hold the position as far as the leader knows: one that lags would keep the consumer behind.
    `rack` is None for clients that do not tell theirs (before 2.4).
    """
    if not rack or not broker.selects_by_rack:
        return NO_LEADER
    if partition.check_leader_epoch(leader_epoch if broker.release.fetch_epoch_fencing else NO_EPOCH) != errors.NONE:
        return NO_LEADER
    now = broker.journal.now
    candidates = [
        ReplicaView(replica.broker, broker.rack_of(replica.broker), replica.leo, now - replica.caught_up_time())
        for replica in partition.remotes
        if replica.broker in partition.isr and replica.log_start <= position <= replica.leo
    ]
    leader = ReplicaView(broker.id, broker.rack, partition.log.leo, 0)
    chosen = select_rack_aware(rack, leader, candidates)
    return NO_LEADER if chosen is leader else chosen.broker
