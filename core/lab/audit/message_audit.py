"""The message audit: which records reached each tier of a session, and when.

The tiers are: *produced* (passed to send()), *acked* (acknowledged to the producer by a broker), *stored* (committed), and one tier for
each group (processed by a member), for each consumer without a group (received), and for each delay service (*delayed*: forwarded to the
destination topic; *dead-lettered*: sent to the dead-letter topic). The audit observes a session from its start, as the sink of its events
and as the observer of its durability account. The audit knows each record by its identity (`core.lab.audit.produced_records`), so a loss
and a duplicate never cancel each other out, as they would in counts.

A record belongs to the bucket of its event time, which is its timestamp according to the producer's clock. A bucket closes when the allowed
lateness has elapsed after its end. A record that reaches a tier after its bucket has closed is late. A late record reopens the bucket,
which closes again after the allowed lateness. `core.lab.audit.audit_report` compares the tiers.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import attrs

from core.kafka import events
from core.kafka.applications.services.service_worker import ServiceWorker
from core.kafka.clients.group_member.group_member import GroupMember
from core.kafka.events import EventTuple
from core.kafka.ids import TopicPartition
from core.kafka.log.leader_term import FetchedRange, Run, Term
from core.kafka.log.offset_set import OffsetSet
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.settings.setting import MAX_LONG
from core.kafka.transaction.transaction_log import INTERNAL_TOPICS
from core.lab.audit.buckets import DEFAULT_BUCKET
from core.lab.audit.latencies import Latencies
from core.lab.audit.produced_records import ForeignRange, ProducedBatch, ProducedRecords
from core.lab.audit.record_sets import RecordSets, add
from core.lab.cluster_nodes import ClusterNodes
from core.sim.events import kind_of

PRODUCED: Final = "produced"
ACKED: Final = "acked"
STORED: Final = "stored"

_HIGH_WATERMARK: Final = events.HighWatermarkAdvanced.kind


class BucketKey(NamedTuple):
    """A bucket of a topic: the records with timestamps in [start, start + bucket), in µs."""

    topic: str
    start: int


class Acknowledgment(NamedTuple):
    """An acknowledged batch: the leader epoch in which it was written, and the broker that acknowledged it."""

    epoch: int
    node: str


@attrs.define(slots=True, eq=False)
class Tier:
    """The records that reached one tier.

    Attributes:
        records: the records that reached the tier.
        repeated: the number of additional deliveries of records that had already reached the tier, by bucket.
        latencies: the time from the timestamp of each record until the record first reached the tier, by bucket.
        late: the number of records that reached the tier after their bucket had closed, by bucket.
    """

    records: Final[RecordSets] = attrs.field(factory=dict)
    repeated: Final[dict[BucketKey, int]] = attrs.field(factory=dict)
    latencies: Final[dict[BucketKey, Latencies]] = attrs.field(factory=dict)
    late: Final[dict[BucketKey, int]] = attrs.field(factory=dict)


@attrs.define(slots=True, eq=False)
class BucketState:
    """The time at which a bucket closes or last closed, in µs, and the version of the bucket's row, which starts at 1 and rises with each
    change."""

    closes: int
    version: int = 1


class MessageAudit:
    """The audit of a session. Call `attach` to make the audit the observer of the durability account, and pass every event to the audit.

    Attributes:
        bucket: the period of event time that a bucket covers, in µs.
        lateness: how long a bucket stays open after its end, in µs.
        produced: the records that producers passed to send().
        tiers: the tiers by name; those of groups are `group NAME`, those of delay services `delayed by NAME` and `dead-lettered by NAME`, and those of
            consumers have the names of the consumers.
        buckets: the state of each bucket of each topic.
        acknowledgments: the acknowledgment of each batch, by producer and first counter.
        committed: the offsets that were committed, by partition and term. Offsets that a later leader's log lacks are left out.
        deleted: the records of deleted topics, by partition and term. Records of deleted topics count as stored.
        cut: the parts of the newest leader's log that a power loss removed, by partition; kept until a broker leads again.
    """

    __slots__ = ("_cluster", "acknowledgments", "bucket", "buckets", "committed", "cut", "deleted", "lateness", "produced", "tiers")

    def __init__(self, bucket: int = DEFAULT_BUCKET, lateness: int | None = None) -> None:
        """Start an audit. By default, the allowed lateness is the length of one bucket."""
        self.bucket: Final = bucket
        self.lateness: Final = bucket if lateness is None else lateness
        self.produced: Final = ProducedRecords()
        self.tiers: Final[dict[str, Tier]] = {PRODUCED: Tier(), ACKED: Tier(), STORED: Tier()}
        self.buckets: Final[dict[BucketKey, BucketState]] = {}
        self.acknowledgments: Final[dict[tuple[str, int], Acknowledgment]] = {}
        self.committed: Final[dict[TopicPartition, dict[Term, OffsetSet]]] = {}
        self.deleted: Final[dict[TopicPartition, list[Run]]] = {}
        self.cut: Final[dict[TopicPartition, list[Run]]] = {}
        self._cluster: ClusterNodes | None = None

    @property
    def cluster(self) -> ClusterNodes:
        """The cluster of the session."""
        assert self._cluster is not None, "the audit is attached"
        return self._cluster

    def attach(self, cluster: ClusterNodes) -> None:
        """Begin to observe a cluster that has just been built."""
        self._cluster = cluster
        cluster.account.record_observer = self

    # --- what the account reports ----------------------------------------------------------------------------------

    def batch_closed(self, producer: str, batch_id: int, tp: TopicPartition, records: int, created: int, timestamp: int) -> None:
        """Record that a producer created a batch. A batch already contains records when it is created."""
        batch = self.produced.of(producer).add(batch_id, tp, records, timestamp)
        self._pass(PRODUCED, producer, batch, batch.first, batch.end, now=created)

    def batch_failed(self, producer: str, batch_id: int, sent_at: int, event: int) -> None:
        """Do nothing, because the records of a failed attempt reach no tier."""

    def batch_acknowledged(self, producer: str, batch_id: int, tp: TopicPartition, records: FetchedRange, node: str) -> None:
        """Record that a broker acknowledged a batch to its producer."""
        batch = self.produced.batch(producer, batch_id)
        assert batch is not None, "a producer creates a batch before it sends it"
        self.acknowledgments[producer, batch.first] = Acknowledgment(records.term.epoch, node)
        self._pass(ACKED, producer, batch, batch.first, batch.end)

    def records_consumed(self, consumer: str, tp: TopicPartition, records: tuple[FetchedRange, ...]) -> None:
        """Record that a consumer received records. For a group member, records count only when its application has processed them. For a
        service, records count only when the service has sent them to another topic.
        """
        if not isinstance(self.cluster.clients.get(consumer), GroupMember | ServiceWorker):
            for part in records:
                self._deliver(consumer, tp, part)

    def records_processed(self, group: str, tp: TopicPartition, records: FetchedRange) -> None:
        """Record that a member of a group processed records."""
        self._deliver(group_tier(group), tp, records)

    def records_sent_on(self, service: str, tp: TopicPartition, records: FetchedRange, *, dead: bool) -> None:
        """Record that a delay service sent records to the destination topic or to the dead-letter topic."""
        self._deliver(dead_letter_tier(service) if dead else delayed_tier(service), tp, records)

    def _deliver(self, name: str, tp: TopicPartition, records: FetchedRange) -> None:
        for found in self.produced.find(tp, records):
            if not isinstance(found, ForeignRange):
                self._pass(name, found.producer, found.batch, found.start, found.end)

    def log_cut(self, tp: TopicPartition, broker: int, removed: tuple[Run, ...]) -> None:
        """Record that records were removed from the end of a log. If the log belongs to the newest leader, the next leader's log determines
        whether the removed records are lost.
        """
        if self.cluster.account.of(tp).leader == broker:
            self.cut.setdefault(tp, []).extend(removed)

    # --- what events report ----------------------------------------------------------------------------------------

    def __call__(self, event: EventTuple) -> None:
        """Process an event of the session."""
        if kind_of(event) == _HIGH_WATERMARK:
            advanced = events.HighWatermarkAdvanced(event)
            tp = TopicPartition(advanced.topic, advanced.partition)
            account = self.cluster.account.of(tp)
            if account.leader == advanced.broker and account.log is not None:
                self._commit(tp, account.log, advanced.old_offset, advanced.new_offset)

    def _commit(self, tp: TopicPartition, log: ReplicaLog, start: int, end: int) -> None:
        """Record that the high watermark of a leader rose."""
        if tp.topic in INTERNAL_TOPICS:
            return
        terms = self.committed.setdefault(tp, {})
        for run in within(log.runs(), start, end):
            terms.setdefault(run.term, OffsetSet()).add(run.start, run.end)
            for found in self.produced.find(tp, FetchedRange(run.start, run.end, run.term, 0)):
                if not isinstance(found, ForeignRange):
                    self._pass(STORED, found.producer, found.batch, found.start, found.end, again=False)

    def partition_deleted(self, tp: TopicPartition, log: ReplicaLog) -> None:
        """Record that the topic of a partition was deleted. Records that the leader of the deleted partition appends later also count as
        deleted.
        """
        self.cut.pop(tp, None)
        runs = self.deleted.setdefault(tp, [])
        for term, offsets in self.committed.pop(tp, {}).items():
            runs += [Run(start, end, term) for start, end in offsets]
        runs += log.runs()
        if runs:
            runs.append(Run(log.leo, MAX_LONG, runs[-1].term))

    def leader_changed(self, tp: TopicPartition, log: ReplicaLog) -> None:
        """Remove from `committed` the records that a new leader's log lacks. Records below the start of the new leader's log were deleted
        on purpose.
        """
        self.cut.pop(tp, None)
        present: dict[Term, OffsetSet] = {}
        for run in log.runs():
            present.setdefault(run.term, OffsetSet()).add(run.start, run.end)
        terms = self.committed.get(tp, {})
        for term, offsets in list(terms.items()):
            terms[term] = offsets.common(present.get(term, OffsetSet()).union(OffsetSet.of([(0, log.log_start)])))

    # --- passing a tier --------------------------------------------------------------------------------------------

    def key_of(self, topic: str, timestamp: int) -> BucketKey:
        """Return the bucket that a timestamp belongs to."""
        return BucketKey(topic, timestamp - timestamp % self.bucket)

    def _pass(self, name: str, producer: str, batch: ProducedBatch, start: int, end: int, *, again: bool = True, now: int = -1) -> None:
        """Record that records of a batch reached a tier at time `now`; by default, at the current time. If `again` is set, records that
        have already reached the tier count as repeated.
        """
        tier = self.tiers.get(name)
        if tier is None:
            tier = self.tiers[name] = Tier()
        key = self.key_of(batch.tp.topic, batch.timestamp)
        before = add(tier.records, producer, start, end)
        if again and before:
            tier.repeated[key] = tier.repeated.get(key, 0) + before
        fresh = end - start - before
        if not fresh:
            return
        now = self.cluster.now if now < 0 else now
        latencies = tier.latencies.get(key)
        if latencies is None:
            latencies = tier.latencies[key] = Latencies()
        latencies.add(now - batch.timestamp, fresh)
        closes = key.start + self.bucket + self.lateness
        state = self.buckets.get(key)
        if state is None:
            state = self.buckets[key] = BucketState(closes)
        if now >= closes:
            tier.late[key] = tier.late.get(key, 0) + fresh
            if now >= state.closes:
                state.version += 1
                state.closes = now + self.lateness


def group_tier(group: str) -> str:
    """Return the name of a group's tier."""
    return f"group {group}"


def delayed_tier(service: str) -> str:
    """Return the name of the tier of the records that a delay service has forwarded to the destination topic."""
    return f"delayed by {service}"


def dead_letter_tier(service: str) -> str:
    """Return the name of the tier of the records that a delay service has sent to its dead-letter topic."""
    return f"dead-lettered by {service}"


def within(runs: tuple[Run, ...], start: int, end: int) -> list[Run]:
    """Return the parts of the given runs whose offsets are in [start, end)."""
    return [Run(max(run.start, start), min(run.end, end), run.term) for run in runs if run.start < end and run.end > start]
