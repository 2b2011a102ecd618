"""The interface through which nodes report to the durability account, which tracks every record. The durability account never affects the
protocol.

The implementation is `core.lab.accounts.durability_account`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from core.kafka.ids import TopicPartition

if TYPE_CHECKING:
    from core.kafka.log.leader_term import FetchedRange, Run, Term
    from core.kafka.log.replica_log import ReplicaLog
    from core.kafka.messages import ProduceRequest
    from core.kafka.partition_registration import PartitionRegistration


class ForwardTimes(NamedTuple):
    """The times of records that a delay service has forwarded, in µs.

    Attributes:
        lateness: the time from the due time of the records to their acknowledgment. The lateness is negative if the records were
            acknowledged too early.
        rounding: the time by which the delay of the level that the service chose exceeds the requested delay.
        total_error: the actual delay minus the requested delay. The actual delay begins when the records are first sent, and ends when they
            are acknowledged in the destination topic.
    """

    lateness: int
    rounding: int
    total_error: int


class Tried(NamedTuple):
    """Records that a worker of a retry service has attempted to process, and the outcome of that attempt.

    Attributes:
        worker, instance, group: the name of the worker, the number of its instance, and its group.
        source, start: the partition from which the worker read the records, and the offset of the first record there.
        original, first: the partition to which the application sent the records, and the offset of the first record there.
        records: the number of records that the worker tried to process.
        tries: the number of tries so far.
        outcome: `succeeded`, `retried` (the records are in the next retry topic), `dead` (they are in the dead-letter topic), `skipped`, or
            `handled` (they were in the dead-letter topic, and its handler succeeded).
        since_failure: the time since the records first failed, in µs; 0 if they never failed.
        event: the sequence number of the event that led to this outcome.
    """

    worker: str
    instance: int
    group: str
    source: TopicPartition
    start: int
    original: TopicPartition
    first: int
    records: int
    tries: int
    outcome: str
    since_failure: int
    event: int


class PartitionObserver(Protocol):
    """Observes what happens to the records of one partition. `accepted` is the number of records that the partition's leaders appended."""

    accepted: int


class DurabilityObserver(Protocol):
    """Observes what happens to the records of a cluster."""

    @property
    def exposed(self) -> Container[TopicPartition]:
        """The partitions for which the controller could now elect a broker that lacks committed records."""

    @property
    def requests_may_repeat(self) -> bool:
        """Whether a proxy can repeat requests. If a proxy can repeat requests, nodes report every append, even if no producer is waiting
        for the response.
        """

    def of(self, tp: TopicPartition) -> PartitionObserver:
        """Return the observer of one partition."""

    def check_exposure(self, tp: TopicPartition, /) -> None:
        """Check whether a partition's committed records have become exposed to loss or are safe again."""

    def electable_brokers_changed(self) -> None:
        """Record that the set of brokers that can be elected leader might have changed."""

    def appended(self, tp: TopicPartition, broker: int, term: Term, base: int, request: ProduceRequest, log: ReplicaLog) -> None:
        """Record that a leader appended a batch whose producer is waiting for a response."""

    def batch_closed(self, producer: str, batch_id: int, tp: TopicPartition, records: int, created: int, timestamp: int) -> None:
        """Record that a producer sends a batch for the first time, or gives up on the batch without sending it. After this call, no record
        is added to the batch.

        `created` is the time when the batch was created, in µs, and `timestamp` is that time by the producer's clock.
        """

    def acknowledged(self, tp: TopicPartition, term: Term, base: int, count: int, producer: str, batch_id: int, node: str) -> None:
        """Record that a producer received the acknowledgment of a batch from a broker. `node` is the broker's address."""

    def batch_failed(self, producer: str, batch_id: int, sent_at: int, event: int) -> None:
        """Record that an attempt to produce a batch failed. `event` is the sequence number of the `produce-failed` event for this
        attempt."""

    def batch_completed(self, producer: str, batch_id: int) -> None:
        """Record that a producer will not send a batch again."""

    def consumed(self, tp: TopicPartition, records: tuple[FetchedRange, ...], consumer: str) -> None:
        """Record that a consumer received records."""

    def transaction_aborted(self, tp: TopicPartition, records: tuple[FetchedRange, ...], /) -> None:
        """Record that a leader appended the marker that aborts some records."""

    def log_truncated(self, tp: TopicPartition, broker: int, before: tuple[Run, ...], old: int, leo: int, event: int) -> None:
        """Record that a truncation or a power loss moved a log's end from `old` to `leo`. `before` is the content of the log before that."""

    def log_unavailable(self, tp: TopicPartition, broker: int, log: ReplicaLog) -> None:
        """Record that a broker's log is no longer available, because its directory failed or the replica was deleted."""

    def became_leader(self, tp: TopicPartition, broker: int, leader_epoch: int, log: ReplicaLog) -> None:
        """Record that a broker became leader."""

    def log_start_moved(self, tp: TopicPartition, log: ReplicaLog, before: tuple[Run, ...], old: int, event: int) -> None:
        """Record that retention or DeleteRecords moved the start of a log from `old`. `before` is the content of the log before that, and
        `event` is the sequence number of the event that records the deletion."""

    def leadership_ended(self, tp: TopicPartition, log: ReplicaLog) -> None:
        """Record that a leader resigned or stopped."""

    def started_following(self, tp: TopicPartition, broker: int, log: ReplicaLog, leader: int) -> None:
        """Record that a follower received its first response from a leader."""

    def leader_elected(self, election: str) -> None:
        """Record that the controller elected a leader."""

    def isr_changed(self, broker: int, old: tuple[int, ...], new: tuple[int, ...]) -> None:
        """Record that an ISR change that a leader proposed was committed."""

    def partition_changed(self, tp: TopicPartition, registration: PartitionRegistration) -> None:
        """Record that the controller committed a new state of a partition."""

    def replicas_of(self, tp: TopicPartition, /) -> tuple[int, ...]:
        """Return the brokers that have a replica of a partition. Only causes depend on the result."""

    def creation(self, tp: TopicPartition, /) -> int:
        """Return the event that created a partition; 0 if there is none. Only causes depend on the result."""

    def last_election(self, tp: TopicPartition, /) -> tuple[int, int, int]:
        """Return the leader that the controller registered last, the event of its election, and the time of the election, in µs. Only
        causes depend on the result."""

    def last_shrink(self, tp: TopicPartition, /) -> int:
        """Return the event that last removed a replica from the ISR of a partition; 0 if there is none. Only causes depend on the result."""

    def last_move(self, tp: TopicPartition, /) -> int:
        """Return the act that last asked for a reassignment of a partition; 0 if there is none. Only causes depend on the result."""

    def holding_back(self, tp: TopicPartition, /) -> tuple[int, ...]:
        """Return the followers whose fetches the high watermark of a partition waits for. Only causes depend on the result."""

    def partition_deleted(self, tp: TopicPartition, /) -> None:
        """Record that a partition's topic was deleted together with the partition's records, which do not count as lost."""

    def offset_committed(self, group: str, tp: TopicPartition, offset: int, event: int) -> None:
        """Record that a group coordinator committed or loaded an offset. `event` is the sequence number of the event that records the
        offset.
        """

    def process_checked(self, group: str, source: str, output: str, copies: int, other_outputs: tuple[str, ...] = ()) -> None:
        """Record that a process in a group is beginning another iteration of its loop. The durability account then checks which input
        records of the group were processed twice, only in part, or never.
        """

    def records_processed(self, group: str, client: str, tp: TopicPartition, start: int, end: int, epoch: int, /) -> None:
        """Record that a member's application processed the records in [start, end), which belong to one leader epoch."""

    def records_forwarded(self, service: str, worker: str, tp: TopicPartition, end: int, records: int, times: ForwardTimes, /) -> None:
        """Record that a worker of a delay service sent records below `end`, and that a broker acknowledged them."""

    def records_dead_lettered(self, service: str, tp: TopicPartition, start: int, end: int, /) -> None:
        """Record that a worker of a delay service sent the records in [start, end) to the dead-letter topic, and that a broker acknowledged
        them."""

    def records_tried(self, service: str, number: int, records: int, failed: bool, /) -> None:
        """Record that a worker of a retry service tried to process records for the `number`th time."""

    def records_done(self, service: str, tried: Tried, /) -> None:
        """Record that a worker of a retry service has finished an attempt to process records, and the outcome of that attempt."""

    def retries_checked(self, service: str, group: str, source: str, /) -> None:
        """Record that a worker of a retry service started or committed offsets. The durability account then checks which records the worker
        has dropped."""

    def position_set(self, group: str, tp: TopicPartition, position: int, event: int, /, *, committed: bool) -> None:
        """Record that a member got a position in a partition. The position is the committed offset, or a different offset because of
        auto.offset.reset or a truncation.
        """

    def reading_began(self, consumer: str, tp: TopicPartition, position: int, /) -> None:
        """Record that auto.offset.reset gave a consumer a position in a partition. The first such position is where the consumer begins."""

    def group_checked(self, group: str, tps: Iterable[TopicPartition], below: int | None = None, /) -> None:
        """Record that a group member has settled on its first position in the given partitions, or that the member's process has ended.

        The durability account then checks which records the group has skipped. If `below` is given, it is the member's position, and the
        durability account checks only records below this position.
        """


class RecordObserver(Protocol):
    """The interface through which the durability account forwards reports from nodes to an audit or a trace, if there is one.

    A batch is identified by its producer and by its number among that producer's batches.
    """

    def batch_closed(self, producer: str, batch_id: int, tp: TopicPartition, records: int, created: int, timestamp: int) -> None:
        """Record that a producer sends a batch for the first time, or gives up on the batch without sending it. After this call, no record
        is added to the batch.

        `created` is the time when the batch was created, in µs, and `timestamp` is that time by the producer's clock.
        """

    def batch_failed(self, producer: str, batch_id: int, sent_at: int, event: int) -> None:
        """Record that an attempt to produce a batch failed.

        Args:
            producer: the name of the producer.
            batch_id: the number of the batch among the producer's batches.
            sent_at: the time when the attempt was sent, in µs; -1 if the batch was never sent.
            event: the sequence number of the `produce-failed` event.
        """

    def batch_acknowledged(self, producer: str, batch_id: int, tp: TopicPartition, records: FetchedRange, node: str) -> None:
        """Record that a producer received the acknowledgment of a batch.

        Args:
            producer: the name of the producer.
            batch_id: the number of the batch among the producer's batches.
            tp: the partition.
            records: the acknowledged offsets, and the term that they belong to.
            node: the address of the broker that sent the acknowledgment.
        """

    def log_cut(self, tp: TopicPartition, broker: int, removed: tuple[Run, ...]) -> None:
        """Record that records were removed from the end of a broker's log."""

    def leader_changed(self, tp: TopicPartition, log: ReplicaLog) -> None:
        """Record that `log` is now the authoritative log of a partition, because the broker that has this log became leader."""

    def partition_deleted(self, tp: TopicPartition, log: ReplicaLog) -> None:
        """Record that a partition's topic was deleted together with the records in its log."""

    def records_consumed(self, consumer: str, tp: TopicPartition, records: tuple[FetchedRange, ...]) -> None:
        """Record that a consumer received records. If the consumer is a member of a group, its application has not polled these records
        yet.
        """

    def records_processed(self, group: str, tp: TopicPartition, records: FetchedRange) -> None:
        """Record that the application of a group's member processed records."""

    def records_sent_on(self, service: str, tp: TopicPartition, records: FetchedRange, *, dead: bool) -> None:
        """Record that a delay service sent records to their destination topic or, if `dead` is true, to the dead-letter topic."""
