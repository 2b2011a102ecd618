"""The trace of the records at one offset: who wrote each of them, copied it, committed it, acknowledged it, read it, and removed it.

After a truncation, a different record can be written at the same offset. The trace keeps a separate history for each record. Because the
log model identifies a record by its term (`core.kafka.log.leader_term`), the trace compares the terms of all replicas at the offset after
each event of the partition. The trace therefore never confuses the histories of two records. The trace observes a session from its start,
as the sink of its events and as the observer of its durability account.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import attrs

from core.kafka import events
from core.kafka.events import PARTITION_OF, Event, EventTuple, decode
from core.kafka.ids import TopicPartition
from core.kafka.log.leader_term import Batch, FetchedRange, Run, Term
from core.kafka.log.replica_log import ReplicaLog
from core.lab.audit.produced_records import ProducedRecords
from core.lab.cluster_nodes import ClusterNodes
from core.lab.trace.record_life import Life, Span, SpanKind
from core.sim.events import first_cause, kind_of, seq_of, time_of

_REMOVED: Final = {
    events.Truncated.kind: SpanKind.TRUNCATED,
    events.UnflushedLost.kind: SpanKind.TRUNCATED,
    events.LogRestarted.kind: SpanKind.TRUNCATED,
    events.SegmentsDeleted.kind: SpanKind.DELETED,
    events.LogStartMoved.kind: SpanKind.DELETED,
}
"""For each kind of event that removes a record from a log, the kind of the corresponding span."""


@attrs.define(slots=True, eq=False)
class _Sending:
    """What a producer did with a batch, before and after a leader appended it."""

    created: int
    timestamp: int
    failures: Final[list[Span]] = attrs.field(factory=list)


class RecordTrace:
    """The histories of all records that are written at one offset of a partition. Call `attach`, and pass every event to the trace.

    Attributes:
        tp: the partition to trace.
        offset: the offset to trace.
        lives: the histories of the records at the offset, in the order in which the records were written.
    """

    __slots__ = ("_cluster", "_failed", "_handlers", "_holders", "_produced", "_reads", "_sendings", "lives", "offset", "tp")

    def __init__(self, tp: TopicPartition, offset: int) -> None:
        self.tp: Final = tp
        self.offset: Final = offset
        self.lives: Final[list[Life]] = []
        self._cluster: ClusterNodes | None = None
        self._produced: Final = ProducedRecords()
        self._sendings: Final[dict[tuple[str, int], _Sending]] = {}
        self._holders: Final[dict[int, Term]] = {}
        self._reads: Final[dict[str, Life]] = {}
        self._failed: events.ProduceFailed | None = None
        self._handlers: Final[dict[str, Callable[[Any], None]]] = {
            events.HighWatermarkAdvanced.kind: self._high_watermark,
            events.LastStableOffsetAdvanced.kind: self._stable,
            events.ProduceAcked.kind: self._acked,
            events.ProduceFailed.kind: self._attempt_failed,
            events.Consumed.kind: self._read,
            events.RecordsProcessed.kind: self._processed,
            events.OffsetCommitted.kind: self._offset_committed,
            events.OffsetMaterialized.kind: self._offset_committed,
            events.MarkerAppended.kind: self._marker,
            events.AbortedRecordsSkipped.kind: self._skipped,
            events.RecordsLost.kind: self._lost,
            events.RecordsRecovered.kind: self._recovered,
            events.RecordsDuplicated.kind: self._duplicated,
            events.DuplicateDropped.kind: self._duplicate_dropped,
            events.LogCleaned.kind: self._cleaned,
        }

    @property
    def cluster(self) -> ClusterNodes:
        """The cluster of the session."""
        assert self._cluster is not None, "the trace is attached"
        return self._cluster

    def attach(self, cluster: ClusterNodes) -> None:
        """Begin to observe a cluster that has just been built. When observation begins, the logs of the cluster can already contain
        records."""
        self._cluster = cluster
        cluster.account.record_observer = self
        self._compare_replicas(Event((0, cluster.now, 0, "")))

    # --- what the account reports ----------------------------------------------------------------------------------

    def batch_closed(self, producer: str, batch_id: int, tp: TopicPartition, records: int, created: int, timestamp: int) -> None:
        """Remember a batch that might contain the record."""
        self._produced.of(producer).add(batch_id, tp, records, timestamp)
        if tp == self.tp:
            self._sendings[producer, batch_id] = _Sending(created, timestamp)

    def batch_failed(self, producer: str, batch_id: int, sent_at: int, event: int) -> None:
        """Record that an attempt to send a batch failed. The event that reports the attempt precedes this call."""
        sending = self._sendings.get((producer, batch_id))
        failed = self._failed
        if sending is None or failed is None or seq_of(failed) != event:
            return
        words = f"attempt {failed.attempt} failed: {failed.error}" + ("" if failed.retry else "; the producer gave up")
        kind = SpanKind.FAILED if failed.retry else SpanKind.GIVEN_UP
        if sent_at < 0:
            words = f"was never sent: {failed.error}"
        span = Span(time_of(failed), event, first_cause(failed), kind, producer, words)
        sending.failures.append(span)
        for life in self.lives:
            if (life.batch.producer, life.batch.batch_id) == (producer, batch_id):
                life.spans.append(span)

    def batch_acknowledged(self, producer: str, batch_id: int, tp: TopicPartition, records: FetchedRange, node: str) -> None:
        """If the acknowledged batch contains one of the traced records, remember which broker acknowledged the record. The journal records
        the event of the acknowledgment after this call.
        """
        for life in self.lives:
            if tp == self.tp and (life.batch.producer, life.batch.batch_id) == (producer, batch_id):
                life.acknowledged_by = node

    def records_sent_on(self, service: str, tp: TopicPartition, records: FetchedRange, *, dead: bool) -> None:
        """Do nothing, because an event records this change."""

    def log_cut(self, tp: TopicPartition, broker: int, removed: tuple[Run, ...]) -> None:
        """Do nothing, because the truncation event precedes this call, and the trace has already handled that event."""

    def partition_deleted(self, tp: TopicPartition, log: ReplicaLog) -> None:
        """Do nothing, because the events of the deletion are part of the trace."""

    def leader_changed(self, tp: TopicPartition, log: ReplicaLog) -> None:
        """Do nothing, because the trace does not depend on which log is authoritative: it compares all replicas."""

    def records_consumed(self, consumer: str, tp: TopicPartition, records: tuple[FetchedRange, ...]) -> None:
        """If a consumer has read one of the traced records, remember which one. After this call, the journal records the event for this read."""
        if tp == self.tp:
            for part in records:
                life = self._life_of(part.term) if part.start <= self.offset < part.end else None
                if life is not None:
                    self._reads[consumer] = life

    def records_processed(self, group: str, tp: TopicPartition, records: FetchedRange) -> None:
        """Do nothing, because an event already reports this change."""

    # --- lives -----------------------------------------------------------------------------------------------------

    def _life_of(self, term: Term | None) -> Life | None:
        return next((life for life in self.lives if life.term is term), None)

    def _newest(self) -> Life | None:
        """Return the history of the record in the newest leader's log; None if the log has no record at the offset."""
        log = self.cluster.account.of(self.tp).log
        return None if log is None else self._life_of(log.term_at(self.offset))

    def _begin(self, term: Term) -> Life | None:
        """Begin the history of a record that has just been written, and return the history; None if log compaction had already removed the
        record.
        """
        written = term.batches_within(self.offset, self.offset + 1)
        if not written:
            return None
        batch: Batch = written[0]
        produced = self._produced.batch(batch.producer, batch.batch_id)
        counter = -1 if produced is None or produced.tp != self.tp else produced.first + self.offset - batch.base
        life = Life(term, batch, counter)
        sending = self._sendings.get((batch.producer, batch.batch_id)) if counter >= 0 else None
        if sending is not None:
            life.created = sending.created
            words = f"put the record in a batch of {batch.records}; timestamp {sending.timestamp} µs"
            life.spans.extend([Span(sending.created, 0, 0, SpanKind.CREATED, batch.producer, words), *sending.failures])
        self.lives.append(life)
        return life

    def _compare_replicas(self, event: Event) -> None:
        """Compare the record that each replica has at the offset with the record that it had before this event."""
        for broker, node in self.cluster.brokers.items():
            log = node.disk.logs.get(self.tp)
            term = None if log is None else log.term_at(self.offset)
            before = self._holders.get(broker)
            if term is before:
                continue
            if before is not None:
                del self._holders[broker]
                gone = self._life_of(before)
                if gone is not None:
                    self._add(gone, event, *self._removal(event, broker, log))
            if term is not None:
                life = self._life_of(term) or self._begin(term)
                if life is not None:
                    self._holders[broker] = term
                    self._add(life, event, *self._arrival(event, broker, life))

    def _arrival(self, event: Event, broker: int, life: Life) -> tuple[SpanKind, str, str]:
        node = f"b{broker}"
        if isinstance(event, events.Appended) and event.broker == broker:
            return SpanKind.APPENDED, node, f"appended it as the leader of epoch {life.term.epoch}, at offset {self.offset}"
        if isinstance(event, events.FollowerAppended) and event.broker == broker:
            return SpanKind.COPIED, node, f"copied it from b{event.leader}; its LEO is {event.to_offset}"
        return SpanKind.COPIED, node, "has it in its log" + ("" if kind_of(event) else " at the start")

    def _removal(self, event: Event, broker: int, log: ReplicaLog | None) -> tuple[SpanKind, str, str]:
        node = f"b{broker}"
        if log is None:
            return SpanKind.TRUNCATED, node, "does not have the log anymore"
        if log.log_start > self.offset:
            return SpanKind.DELETED, node, f"deleted it on purpose; the log starts at {log.log_start}"
        if isinstance(event, events.Truncated):
            how = f"truncated its log to {log.leo} ({event.rule})"
        elif isinstance(event, events.UnflushedLost):
            how = f"lost the unflushed end of its log, from {log.leo} on"
        else:
            how = "does not have it anymore"
        return _REMOVED.get(kind_of(event), SpanKind.TRUNCATED), node, how

    def _add(self, life: Life, event: Event, kind: SpanKind, node: str, words: str) -> None:
        life.spans.append(Span(time_of(event), seq_of(event), first_cause(event), kind, node, words))

    # --- what events report ----------------------------------------------------------------------------------------

    def __call__(self, event: EventTuple) -> None:
        """Process an event of the session."""
        partition_of = PARTITION_OF.get(kind_of(event))
        if partition_of is None or partition_of(event) != self.tp or self._cluster is None:
            return
        known = decode(event)
        self._compare_replicas(known)
        handler = self._handlers.get(known.kind)
        if handler is not None:
            handler(known)

    def _covers(self, start: int, end: int) -> bool:
        return start <= self.offset < end

    def _high_watermark(self, event: events.HighWatermarkAdvanced) -> None:
        life = self._life_of(self._holders.get(event.broker))
        if life is not None and self._covers(event.old_offset, event.new_offset):
            again = any(span.kind is SpanKind.COMMITTED for span in life.spans)
            words = f"raised its high watermark to {event.new_offset}" + (" again" if again else "")
            self._add(life, event, SpanKind.COMMITTED, f"b{event.broker}", words)

    def _stable(self, event: events.LastStableOffsetAdvanced) -> None:
        life = self._life_of(self._holders.get(event.broker))
        if life is not None and life.batch.transactional and self._covers(event.from_offset, event.to_offset):
            words = f"raised its last stable offset to {event.to_offset}: consumers with read_committed can pass the record"
            self._add(life, event, SpanKind.STABLE, f"b{event.broker}", words)

    def _acked(self, event: events.ProduceAcked) -> None:
        acks = "all" if event.acks < 0 else event.acks
        for life in self.lives:
            if life.batch.producer == event.producer and life.acknowledged_by and not life.is_acked:
                offset = event.from_offset + self.offset - life.batch.base
                where = "" if self._covers(event.from_offset, event.to_offset) else f" at offset {offset}"
                words = f"got the acknowledgment from {life.acknowledged_by}{where} (acks={acks}, attempt {event.attempt})"
                self._add(life, event, SpanKind.ACKED, event.producer, words)

    def _attempt_failed(self, event: events.ProduceFailed) -> None:
        self._failed = event

    def _read(self, event: events.Consumed) -> None:
        life = self._reads.get(event.consumer)
        if life is not None and self._covers(event.from_offset, event.to_offset):
            self._add(life, event, SpanKind.READ, event.consumer, f"read it from b{event.broker}")

    def _processed(self, event: events.RecordsProcessed) -> None:
        life = self._reads.get(event.client)
        if life is not None and self._covers(event.from_offset, event.to_offset):
            self._add(life, event, SpanKind.PROCESSED, event.client, f"processed it for group {event.group}")

    def _offset_committed(self, event: events.OffsetCommitted | events.OffsetMaterialized) -> None:
        life = self._newest()
        if life is not None and event.committed_offset > self.offset and event.group not in life.committed_by:
            life.committed_by[event.group] = None
            words = f"committed offset {event.committed_offset} for group {event.group}, which covers it"
            self._add(life, event, SpanKind.OFFSET_COMMITTED, f"b{event.broker}", words)

    def _marker(self, event: events.MarkerAppended) -> None:
        life = self._life_of(self._holders.get(event.broker))
        if life is None or not life.batch.transactional or life.batch.producer_id != event.producer_id:
            return
        covers = 0 <= event.first_offset <= self.offset < event.marker_offset
        if covers and not any(span.kind is SpanKind.MARKER for span in life.spans):
            words = (
                f"appended the {event.marker} marker of its transaction (producer ID {event.producer_id}, epoch {event.producer_epoch}) "
                f"at offset {event.marker_offset}"
            )
            self._add(life, event, SpanKind.MARKER, f"b{event.broker}", words)

    def _skipped(self, event: events.AbortedRecordsSkipped) -> None:
        life = self._newest()
        if life is not None and self._covers(event.from_offset, event.to_offset):
            self._add(life, event, SpanKind.SKIPPED, event.consumer, "skipped it, because its transaction was aborted")

    def _lost(self, event: events.RecordsLost) -> None:
        for life in self.lives:
            if life.term.epoch == event.epoch and self._covers(event.from_offset, event.to_offset):
                words = f"is the leader but lacks it: it is LOST (epoch {event.leader_epoch}; caused by event {event.doomed_by})"
                self._add(life, event, SpanKind.LOST, f"b{event.broker}", words)

    def _recovered(self, event: events.RecordsRecovered) -> None:
        for life in self.lives:
            if life.term.epoch == event.epoch and self._covers(event.from_offset, event.to_offset):
                self._add(life, event, SpanKind.RECOVERED, f"b{event.broker}", "is the leader and has it: it is no longer lost")

    def _duplicated(self, event: events.RecordsDuplicated) -> None:
        broker, producer, start = event.broker, event.producer, event.from_offset
        log = self.cluster.brokers[broker].disk.logs.get(self.tp)
        term = None if log is None else log.term_at(start)
        if term is None:
            return
        copy = term.batches_within(start, start + 1)[0]
        for life in self.lives:
            if (
                life.batch.producer == producer
                and life.batch.batch_id == copy.batch_id
                and start + self.offset - life.batch.base != self.offset
            ):
                words = f"appended a retry of its batch: a copy is at offset {start + self.offset - life.batch.base}"
                self._add(life, event, SpanKind.DUPLICATED, f"b{broker}", words)

    def _duplicate_dropped(self, event: events.DuplicateDropped) -> None:
        life = self._life_of(self._holders.get(event.broker))
        if life is not None and self._covers(event.from_offset, event.to_offset):
            self._add(life, event, SpanKind.DUPLICATED, f"b{event.broker}", "recognized a retry of its batch, and did not append it again")

    def _cleaned(self, event: events.LogCleaned) -> None:
        broker = event.broker
        life, log = self._life_of(self._holders.get(broker)), self.cluster.brokers[broker].disk.logs.get(self.tp)
        if (
            life is not None
            and log is not None
            and broker not in life.cleaned_by
            and log.records.next_record(self.offset, log.leo) != self.offset
        ):
            life.cleaned_by[broker] = None
            self._add(life, event, SpanKind.CLEANED, f"b{broker}", "removed it from its log by log compaction")

    # --- the present -----------------------------------------------------------------------------------------------

    def holders(self, life: Life) -> tuple[int, ...]:
        """Return the brokers whose logs now contain the record that this history describes."""
        return tuple(broker for broker, term in sorted(self._holders.items()) if term is life.term and broker not in life.cleaned_by)

    def log_end(self) -> int:
        """Return the largest log end offset of all replicas; -1 if there is no replica."""
        logs: list[Any] = [node.disk.logs.get(self.tp) for node in self.cluster.brokers.values()]
        return max((log.leo for log in logs if log is not None), default=-1)
