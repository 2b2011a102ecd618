"""A consumer's fetch from the leader or from a follower (KIP-392). The fetch returns records below the high watermark or waits for them.

Kafka: `DelayedFetch`.
"""

from __future__ import annotations

from core.kafka import errors
from core.kafka.broker.context import BrokerContext
from core.kafka.broker.hosted_partitions import HostedPartitions
from core.kafka.broker.partition import Partition
from core.kafka.broker.replica_selector import ReplicaView, select_rack_aware
from core.kafka.ids import NO_EPOCH, NO_LEADER, NO_OFFSET, TopicPartition
from core.kafka.log.leader_term import FetchedRange, fetched_ranges
from core.kafka.messages import ConsumerFetchRequest, ConsumerFetchResponse, FetchedPartition


class DelayedConsumerFetch:
    """A consumer's fetch that is waiting until a high watermark moves past the consumer's position or the maximum wait time expires."""

    __slots__ = ("broker", "done", "hosted", "request", "sender")

    def __init__(self, broker: BrokerContext, hosted: HostedPartitions, sender: str, request: ConsumerFetchRequest) -> None:
        self.broker = broker
        self.hosted = hosted
        self.sender = sender
        self.request = request
        self.done = False

    def read(self) -> ConsumerFetchResponse:
        """Return the response that contains the currently available records. The response omits partitions that have nothing new and
        partitions that another replica should serve.
        """
        broker, hosted, rack = self.broker, self.hosted, self.request.rack
        found = []
        preferred = []
        for tp, position, leader_epoch in self.request.partitions:
            partition = hosted.online.get(tp)
            replica = NO_LEADER if partition is None else find_preferred_read_replica(broker, partition, rack, position, leader_epoch)
            if replica != NO_LEADER:
                preferred.append((tp, replica))
                continue
            part = read_for_consumer(
                broker,
                hosted,
                tp,
                position,
                leader_epoch,
                rack,
                self.request.partition_max_bytes,
                read_committed=self.request.read_committed,
            )
            if part.records or part.error != errors.NONE:
                found.append(part)
        return ConsumerFetchResponse(self.request.correlation, tuple(found), tuple(preferred))

    def is_enough(self, answer: ConsumerFetchResponse) -> bool:
        """Return whether to respond now: the response has at least fetch.min.bytes, an error, or another replica to read from
        (`DelayedFetch#tryComplete`)."""
        size = sum(each.bytes for part in answer.partitions for each in part.records)
        return bool(answer.preferred) or any(part.error != errors.NONE for part in answer.partitions) or size >= self.request.min_bytes

    def park(self) -> None:
        """Register the waiting fetch with each of its partitions."""
        for tp, _, _ in self.request.partitions:
            self.hosted.online[tp].add_consumer(self)

    def complete_if_enough(self) -> None:
        """Respond if a high watermark has advanced far enough that there is something to send."""
        if not self.done:
            answer = self.read()
            if self.is_enough(answer):
                self._finish(answer)

    def complete(self) -> None:
        """Respond with the records that are available now."""
        if not self.done:
            self._finish(self.read())

    def _finish(self, answer: ConsumerFetchResponse) -> None:
        self.done = True
        for tp, _, _ in self.request.partitions:
            partition = self.hosted.online.get(tp)
            if partition is not None:
                partition.remove_consumer(self)
        self.broker.node.reply(self.sender, answer)


def read_for_consumer(
    broker: BrokerContext,
    hosted: HostedPartitions,
    tp: TopicPartition,
    position: int,
    leader_epoch: int,
    rack: str | None,
    max_bytes: int,
    *,
    read_committed: bool = False,
) -> FetchedPartition:
    """Return one partition's part of the response to a consumer's fetch: records below this replica's high watermark.

    With `read_committed`, the records end at the last stable offset, and the response lists the aborted transactions among them. The
    consumer itself must skip the records of aborted transactions.

    Kafka: `UnifiedLog#read` with `FetchIsolation`. A follower serves only clients that send their rack, even if the rack is empty (fetch
    version 11, since 2.4). Other clients must fetch from the leader.
    """
    partition = hosted.online.get(tp)
    if partition is None:
        return FetchedPartition(tp, hosted.missing_error(tp), position, (), NO_OFFSET, NO_OFFSET, -1, -1, 0)
    log = partition.log
    error = partition.check_leader_epoch(leader_epoch if broker.release.fetch_epoch_fencing else -1, requires_leader=rack is None)
    if error == errors.NONE and not log.log_start <= position <= log.leo:
        error = errors.OFFSET_OUT_OF_RANGE
    records: tuple[FetchedRange, ...] = ()
    bound = log.last_stable_offset() if read_committed else log.high_watermark
    if error == errors.NONE and position < bound:
        records = tuple(fetched_ranges(log.records.read(position, bound, max_bytes)))
    aborted: tuple[tuple[int, int], ...] = ()
    if read_committed and records and log.producers is not None:
        found = log.producers.aborted_between(position, records[-1].end)
        aborted = tuple((each.producer_id, each.first_offset) for each in found)
    cause = partition.high_watermark_event if partition.is_leader else 0
    return FetchedPartition(tp, error, position, records, log.high_watermark, log.log_start, -1, -1, cause, aborted)


def find_preferred_read_replica(broker: BrokerContext, partition: Partition, rack: str | None, position: int, leader_epoch: int) -> int:
    """Return the follower from which a consumer should fetch, or NO_LEADER if this broker serves the consumer.

    Kafka: `ReplicaManager#findPreferredReadReplica`.

    A consumer is sent only to an ISR member, and only if the leader knows that the member's log contains the consumer's position, because a
    lagging replica would delay the consumer. `rack` is None for clients that do not send their rack (before 2.4).
    """
    if not rack or not broker.config.selects_by_rack:
        return NO_LEADER
    if partition.check_leader_epoch(leader_epoch if broker.release.fetch_epoch_fencing else NO_EPOCH) != errors.NONE:
        return NO_LEADER
    now = broker.journal.now
    candidates = [
        ReplicaView(replica.broker, broker.metadata_cache.rack_of(replica.broker), replica.leo, now - replica.caught_up_time())
        for replica in partition.remotes
        if replica.broker in partition.isr and replica.log_start <= position <= replica.leo
    ]
    leader = ReplicaView(broker.id, broker.rack, partition.log.leo, 0)
    chosen = select_rack_aware(rack, leader, candidates)
    return NO_LEADER if chosen is leader else chosen.broker
