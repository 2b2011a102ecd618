"""The records in the logs of a cluster, as the audit finds them now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from core.kafka.ids import TopicPartition
from core.kafka.log.leader_term import FetchedRange, Term
from core.kafka.log.offset_set import OffsetSet
from core.kafka.transaction.transaction_log import INTERNAL_TOPICS
from core.lab.accounts.partition_account import PartitionAccount
from core.lab.audit.message_audit import BucketKey, MessageAudit
from core.lab.audit.produced_records import ForeignRange, RecordRange
from core.lab.audit.record_sets import RecordSets, add


class StoredRecords:
    """The records in the newest leaders' logs.

    Attributes:
        offsets: the stored offsets by partition and term: those that are committed, and those that were deleted on purpose after they were
            committed.
        stored: the counters of the stored records, by producer.
        copies: the number of additional copies of stored records, by bucket.
        uncommitted: the records above the high watermark.
        aborted: the records of aborted transactions.
        foreign: the number of stored records that no producer in the session created, by bucket.
    """

    __slots__ = ("_audit", "aborted", "copies", "foreign", "offsets", "stored", "uncommitted")

    def __init__(self, audit: MessageAudit) -> None:
        self._audit: Final = audit
        self.offsets: Final[dict[TopicPartition, dict[Term, OffsetSet]]] = {}
        self.stored: Final[RecordSets] = {}
        self.copies: Final[dict[BucketKey, int]] = {}
        self.uncommitted: Final[RecordSets] = {}
        self.aborted: Final[RecordSets] = {}
        self.foreign: Final[dict[BucketKey, int]] = {}
        for tp, account in audit.cluster.account.partitions.items():
            if tp.topic not in INTERNAL_TOPICS and (account.log is not None or tp in audit.deleted):
                self._read(tp, account)

    def _read(self, tp: TopicPartition, account: PartitionAccount) -> None:
        log = account.log
        runs, high_watermark = ((), 0) if log is None else (log.runs(), log.high_watermark)
        stored = self.offsets[tp] = {term: OffsetSet.of(known) for term, known in self._audit.committed.get(tp, {}).items()}
        for run in self._audit.deleted.get(tp, ()):
            if run.start < (end := min(run.end, run.term.end_of(run.term.count - 1))):
                stored.setdefault(run.term, OffsetSet()).add(run.start, end)
        for run in runs:
            stored.setdefault(run.term, OffsetSet()).add(run.start, min(run.end, high_watermark))
        rest: dict[Term, OffsetSet] = {}
        for run in (*runs, *self._audit.cut.get(tp, ())):
            rest.setdefault(run.term, OffsetSet()).add(run.start, run.end)
        for found in self._records(tp, stored):
            if isinstance(found, ForeignRange):
                key = self._audit.key_of(tp.topic, found.timestamp)
                self.foreign[key] = self.foreign.get(key, 0) + found.end - found.start
            elif again := add(self.stored, found.producer, found.start, found.end):
                key = self._audit.key_of(tp.topic, found.batch.timestamp)
                self.copies[key] = self.copies.get(key, 0) + again
        left = {term: offsets.minus(stored.get(term, OffsetSet())) for term, offsets in rest.items()}
        for records, offsets in ((self.uncommitted, left), (self.aborted, account.aborted)):
            for found in self._records(tp, offsets):
                if isinstance(found, RecordRange):
                    add(records, found.producer, found.start, found.end)

    def _records(self, tp: TopicPartition, offsets: dict[Term, OffsetSet]) -> Iterator[RecordRange | ForeignRange]:
        for term, intervals in offsets.items():
            for start, end in intervals:
                yield from self._audit.produced.find(tp, FetchedRange(start, end, term, 0))

    def of_partition(self, tp: TopicPartition) -> list[RecordRange]:
        """Return the stored records of a partition in offset order, without foreign records."""
        found = [each for each in self._records(tp, self.offsets.get(tp, {})) if isinstance(each, RecordRange)]
        return sorted(found, key=_offset)


def _offset(found: RecordRange) -> int:
    return found.offset
