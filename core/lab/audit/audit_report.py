"""The report of a message audit: the numbers for each bucket and tier, the lost and skipped records, and a comparison with the durability
account.

The report classifies the records of each bucket as follows:

- A record is *lost* if it was acknowledged and is no longer in the log of its partition's newest leader. Records of aborted transactions
  and records that were deleted on purpose are not lost.
- A record is *unsure* if it was not acknowledged. An unsure record is *present* if the newest leader's log has it; otherwise, it is
  *absent*. An unsure record never counts as lost.
- A record is *uncommitted* if it is in the newest leader's log above the high watermark.
- `duplicated` is the number of additional copies of stored records. `foreign` is the number of stored records that no producer in the
  session created, such as records in a log that the session starts with.

For a consumer, a stored record that it has not read is *left out* if it is below the position at which the consumer began. Otherwise, it is
*skipped* if it is below the consumer's position or no longer in the log, and *pending* if it is not. For a group, the account of groups
decides which records are left out or skipped, and why (`core.lab.accounts.missed_records`); records that a truncation took from the group
are skipped although they are not stored. For a delay service, a record that it has neither forwarded nor sent to its dead-letter topic is
skipped if it is below the committed offset or no longer in the log, unless a running worker holds it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import attrs

from core.kafka.applications.processes.process import Process
from core.kafka.applications.services.delay_worker import DelayWorker
from core.kafka.clients.consumer.consumer import Consumer
from core.kafka.clients.producer.producer import Producer
from core.kafka.ids import TopicPartition
from core.kafka.log.leader_term import FetchedRange
from core.kafka.log.offset_set import OffsetSet
from core.lab.accounts.missed_records import DELETED, LATEST, Missed, RecordsInHand
from core.lab.audit.latencies import Latencies, LatencySummary
from core.lab.audit.message_audit import ACKED, PRODUCED, STORED, BucketKey, MessageAudit, Tier, dead_letter_tier, delayed_tier, group_tier
from core.lab.audit.produced_records import RecordRange
from core.lab.audit.record_sets import RecordSets, add, count, minus
from core.lab.audit.stored_records import StoredRecords

Counts = dict[BucketKey, int]
"""The number of records in each bucket."""

PASSED: Final = "passed"
"""The reason for records that are in the log, but below the position of a consumer without a group, or below the committed offset of a process
or a service."""

TOTAL: Final = None
"""The `start` of a row that contains the total of all buckets."""


class BucketRow(NamedTuple):
    """The numbers of records in one bucket of a topic. `start` is the start of the bucket, in µs, or TOTAL. `version` is 1 at first and
    increases each time that late records change the row; in a total, it is 0. All other columns contain numbers of records.
    """

    topic: str
    start: int | None
    produced: int
    acked: int
    stored: int
    lost: int
    unsure: int
    present: int
    absent: int
    uncommitted: int
    aborted: int
    duplicated: int
    foreign: int
    version: int


class TierRow(NamedTuple):
    """The record counts for one tier and one time bucket of a topic.

    Attributes:
        topic: the name of the topic.
        start: the start of the bucket, in µs, or TOTAL.
        tier: the name of the tier: `produced`, `acked`, `stored`, `group NAME`, or the name of a consumer.
        records: the number of records that reached the tier.
        duplicated: the number of additional copies or deliveries of the records that reached the tier.
        unread: the number of records that the consumer has not read; 0 for other tiers.
        pending: the unread records that the consumer will still reach.
        skipped: the unread records that the consumer will not reach.
        left_out: the unread records below the position at which the consumer began.
        late: the number of records that reached the tier after their bucket had closed.
        latency: the time from the timestamps of the records until the records first reached the tier.
    """

    topic: str
    start: int | None
    tier: str
    records: int
    duplicated: int
    unread: int
    pending: int
    skipped: int
    left_out: int
    late: int
    latency: LatencySummary


class LostRecords(NamedTuple):
    """The lost records [start, end) of a producer, by counter: `p1#120–121` stands for the counters 120 and 121 of producer p1.

    Attributes:
        producer: the name of the records' producer.
        start: the counter of the first record.
        end: the counter of the last record, plus 1.
        tp: the partition of the records.
        epoch: the leader epoch in which the records were written.
        node: the address of the broker that acknowledged the records.
    """

    producer: str
    start: int
    end: int
    tp: TopicPartition
    epoch: int
    node: str


class SkippedRecords(NamedTuple):
    """The offsets [start, end) of records that a consumer has skipped. `reason` is the reason in `core.lab.accounts.missed_records`; a
    consumer without a group, a process, or a service has the reason `deleted` or `passed`."""

    consumer: str
    tp: TopicPartition
    start: int
    end: int
    reason: str


class AccountComparison(NamedTuple):
    """The comparison of the records that the audit considers lost with those that the durability account considers lost. The account finds
    lost records by offset, not by identity.

    Attributes:
        lost_acknowledged: the number of lost acknowledged offsets in the account.
        copies: the number of lost acknowledged offsets whose record is still in the log at a different offset, because a retry appended the
            record again. Records that were appended again are not lost.
        equal: whether the audit and the account name the same lost records, apart from those that `copies` counts.
    """

    lost_acknowledged: int
    copies: int
    equal: bool


@attrs.frozen
class AuditReport:
    """The report.

    Attributes:
        now: the virtual time of the report, in µs.
        bucket, lateness: the length of a bucket and the allowed lateness, in µs.
        buckets: a row for each bucket, and a total for each topic after its buckets.
        tiers: a row for each bucket and tier, and the totals of each topic after its buckets.
        lost, skipped: the ranges of lost records, and the ranges of skipped records.
        account: the comparison with the durability account.
    """

    now: int
    bucket: int
    lateness: int
    buckets: tuple[BucketRow, ...]
    tiers: tuple[TierRow, ...]
    lost: tuple[LostRecords, ...]
    skipped: tuple[SkippedRecords, ...]
    account: AccountComparison

    def totals(self) -> tuple[BucketRow, ...]:
        """Return the total counts for each topic."""
        return tuple(row for row in self.buckets if row.start is TOTAL)

    def tier_totals(self) -> tuple[TierRow, ...]:
        """Return the total counts for each tier of each topic."""
        return tuple(row for row in self.tiers if row.start is TOTAL)


@attrs.frozen
class _Reader:
    """A consumer, process, or group. `unread` contains the records of the topic that it has not read; `skipped` and `left_out` contain those
    of the unread records that it has skipped or left out.
    """

    name: str
    topic: str
    unread: RecordSets
    skipped: RecordSets
    left_out: RecordSets


def audit_report(audit: MessageAudit) -> AuditReport:
    """Return the report of an audit at this moment."""
    return _Reporting(audit).report()


class _Reporting:
    """Computes the report of a message audit."""

    def __init__(self, audit: MessageAudit) -> None:
        self.audit = audit
        self.logs = StoredRecords(audit)
        self.acked = audit.tiers[ACKED].records
        self.produced = audit.tiers[PRODUCED].records
        self.lost = minus(self.acked, self.logs.stored, self.logs.uncommitted, self.logs.aborted)
        self.unsent = self._unsent_records()
        self.skipped: list[SkippedRecords] = []
        self.readers = self._all_readers()

    def report(self) -> AuditReport:
        """Return the report."""
        audit = self.audit
        return AuditReport(
            audit.cluster.now, audit.bucket, audit.lateness, tuple(self._bucket_rows()), tuple(self._tier_rows()), tuple(self._gaps()),
            tuple(self.skipped), self._held_against_account(),
        )  # fmt: skip

    # --- consumers -------------------------------------------------------------------------------------------------

    def _all_readers(self) -> list[_Reader]:
        """Return the consumers without groups, the processes, and the groups, each with its unread records."""
        cluster, found = self.audit.cluster, []
        for name, client in cluster.clients.items():
            if isinstance(client, Process):
                found.append(self._reader(name, client.consumer.topic, client.consumer.read_committed, self._committed(client.does.group)))
            elif isinstance(client, Consumer):
                found.append(self._reader(name, client.topic, client.read_committed, self._positions(client)))
        for worker in {each.does.source: each for each in cluster.clients.values() if isinstance(each, DelayWorker)}.values():
            found += self._service_readers(worker)
        for group, partitions in cluster.account.consumption.groups.items():
            missed = cluster.account.missed(group)
            found += [self._group_reader(group_tier(group), topic, missed) for topic in sorted({tp.topic for tp in partitions})]
        return found

    def _group_reader(self, name: str, topic: str, missed: tuple[Missed, ...]) -> _Reader:
        """Return the unread records of a group in a topic. `missed` contains the records that the group never gets."""
        read = self.audit.tiers.get(name, Tier()).records
        unread: RecordSets = {}
        skipped: RecordSets = {}
        left_out: RecordSets = {}
        for tp in self.logs.offsets:
            if tp.topic != topic:
                continue
            for found in self.logs.of_partition(tp):
                for left in _left(found, read, self.logs.aborted):
                    add(unread, left.producer, left.start, left.end)
            for each in sorted((each for each in missed if each.tp == tp), key=lambda each: each.start):
                records = minus(self._records_at(tp, each.epoch, each.start, each.end), read, self.logs.aborted)
                of = left_out if each.reason == LATEST else skipped
                for producer, counters in records.items():
                    for start, end in counters:
                        add(unread, producer, start, end)
                        add(of, producer, start, end)
                if records and of is skipped:
                    self._skip(name, tp, each.start, each.end, each.reason)
        return _Reader(name, topic, unread, skipped, left_out)

    def _records_at(self, tp: TopicPartition, epoch: int, start: int, end: int) -> RecordSets:
        """Return the records at some offsets of a leader epoch: the stored ones and the lost ones."""
        terms = {term: offsets for term, offsets in self.logs.offsets.get(tp, {}).items() if term.epoch == epoch}
        for term, offsets in self.audit.cluster.account.of(tp).lost.items():
            if term.epoch == epoch:
                terms[term] = terms.get(term, OffsetSet()).union(offsets)
        records: RecordSets = {}
        for term, offsets in terms.items():
            for low, high in offsets.within(start, end):
                for found in self.audit.produced.find(tp, FetchedRange(low, high, term, 0)):
                    if isinstance(found, RecordRange):
                        add(records, found.producer, found.start, found.end)
        return records

    def _service_readers(self, worker: DelayWorker) -> list[_Reader]:
        """Return the tiers of one level of a delay service: a tier of the records that the service has forwarded and, if the service has a
        dead-letter topic, a tier of its dead letters.
        """
        cluster, does, tiers = self.audit.cluster, worker.does, self.audit.tiers
        dead = tiers.get(dead_letter_tier(does.service), Tier()).records
        hands = tuple(
            RecordsInHand(each.tp, each.start, each.end, term.epoch)
            for each in cluster.clients.records_in_hand(does.group)
            for term in cluster.account.of(each.tp).read
        )
        committed = self._committed(does.group)
        name = delayed_tier(does.service)
        found = [self._reader(name, does.source, bool(does.transactional_id), committed, hands, dead)]
        return [*found, _Reader(dead_letter_tier(does.service), does.source, {}, {}, {})] if does.dead_letters else found

    def _committed(self, group: str) -> dict[TopicPartition, int]:
        """Return the committed offsets of a process."""
        return {tp: self.audit.cluster.account.processing.committed(group, tp) for tp in self.logs.offsets}

    def _positions(self, consumer: Consumer) -> dict[TopicPartition, int]:
        return {TopicPartition(consumer.topic, number): position for number, position in enumerate(consumer.positions)}

    def _reader(
        self,
        name: str,
        topic: str,
        read_committed: bool,
        positions: dict[TopicPartition, int],
        in_hand: tuple[RecordsInHand, ...] = (),
        dead: RecordSets | None = None,
    ) -> _Reader:
        """Compare a reader's records with the stored records of its topic. Unread records below the reader's positions, or below the start of
        the log, count as skipped, unless the reader began above them, or has polled them and is still processing them. Records that the
        reader has sent to a dead-letter topic count as read.
        """
        read = self.audit.tiers.get(name, Tier()).records
        ignored = [self.logs.aborted if read_committed else {}, dead or {}]
        unread: RecordSets = {}
        skipped: RecordSets = {}
        left_out: RecordSets = {}
        account = self.audit.cluster.account
        for tp in self.logs.offsets:
            if tp.topic != topic:
                continue
            began, log = account.consumption.beginnings.get((name, tp), 0), account.of(tp).log
            log_start = 0 if log is None else log.log_start
            for found in self.logs.of_partition(tp):
                hands = [(each.start, each.end) for each in in_hand if (each.tp, each.epoch) == (tp, found.epoch)]
                for each in _left(found, read, *ignored):
                    add(unread, each.producer, each.start, each.end)
                    end = each.offset + each.end - each.start
                    first = each.start - each.offset
                    below = min(end, max(positions.get(tp, -1), log_start))
                    add(left_out, each.producer, each.start, max(each.start, first + min(below, began)))
                    for low, high in OffsetSet.of([(max(each.offset, began), below)]).minus(OffsetSet.of(hands)):
                        add(skipped, each.producer, first + low, first + high)
                        for start, stop, reason in ((low, min(high, log_start), DELETED), (max(low, log_start), high, PASSED)):
                            if start < stop:
                                self._skip(name, tp, start, stop, reason)
        return _Reader(name, topic, unread, skipped, left_out)

    def _skip(self, consumer: str, tp: TopicPartition, start: int, end: int, reason: str) -> None:
        last = self.skipped[-1] if self.skipped else None
        if last is not None and (last.consumer, last.tp, last.end, last.reason) == (consumer, tp, start, reason):
            self.skipped[-1] = last._replace(end=end)
        else:
            self.skipped.append(SkippedRecords(consumer, tp, start, end, reason))

    def _unsent_records(self) -> Counts:
        """Return the number of records in batches that were never sent."""
        counts: Counts = {}
        for client in self.audit.cluster.clients.values():
            for batch in client.sender.incomplete_batches() if isinstance(client, Producer) else ():
                if not batch.attempt:
                    key = self.audit.key_of(batch.tp.topic, client.clock.read(batch.created))
                    counts[key] = counts.get(key, 0) + batch.count
        return counts

    # --- rows ------------------------------------------------------------------------------------------------------

    def _counts(self, records: RecordSets) -> Counts:
        """Return the number of records in each bucket."""
        counts: Counts = {}
        for producer, counters in records.items():
            for batch, here in self.audit.produced.of(producer).overlapping(counters):
                key = self.audit.key_of(batch.tp.topic, batch.timestamp)
                counts[key] = counts.get(key, 0) + here
        return counts

    def _keys(self) -> dict[str, list[BucketKey]]:
        """Return the buckets of each topic, in order."""
        found: dict[str, list[BucketKey]] = {}
        for key in sorted({**self.audit.buckets, **self.logs.foreign, **self.unsent}):
            found.setdefault(key.topic, []).append(key)
        return found

    def _bucket_rows(self) -> list[BucketRow]:
        logs = self.logs
        unsure = minus(self.produced, self.acked)
        absent = minus(unsure, logs.stored, logs.uncommitted)
        columns = [
            self._counts(each)
            for each in (
                self.produced,
                self.acked,
                logs.stored,
                self.lost,
                unsure,
                minus(unsure, absent),
                absent,
                logs.uncommitted,
                logs.aborted,
            )
        ]
        for each in (columns[0], columns[4], columns[6]):
            _add_counts(each, self.unsent)
        columns += [logs.copies, logs.foreign]
        rows: list[BucketRow] = []
        for topic, keys in self._keys().items():
            for key in keys:
                state = self.audit.buckets.get(key)
                version = 1 if state is None else state.version
                rows.append(BucketRow._make((topic, key.start, *(each.get(key, 0) for each in columns), version)))
            rows.append(BucketRow._make((topic, TOTAL, *(sum(each.get(key, 0) for key in keys) for each in columns), 0)))
        return rows

    def _tier_rows(self) -> list[TierRow]:
        audit = self.audit
        names = [PRODUCED, ACKED, STORED]
        passed = {name: self._counts(audit.tiers[name].records) for name in names}
        _add_counts(passed[PRODUCED], self.unsent)
        passed[STORED] = self._counts(self.logs.stored)
        nothing: Counts = {}
        behind: dict[tuple[str, str], tuple[Counts, Counts, Counts]] = {}
        for reader in self.readers:
            passed[reader.name] = self._counts(audit.tiers.get(reader.name, Tier()).records)
            behind[reader.name, reader.topic] = self._counts(reader.unread), self._counts(reader.skipped), self._counts(reader.left_out)
        rows: list[TierRow] = []
        for topic, keys in self._keys().items():
            tiers = [*names, *(reader.name for reader in self.readers if reader.topic == topic)]
            for name in tiers:
                tier = audit.tiers.get(name, Tier())
                repeated = self.logs.copies if name == STORED else tier.repeated
                unread, skipped, left_out = behind.get((name, topic), (nothing, nothing, nothing))
                parts = [
                    TierRow(
                        topic, key.start, name, passed[name].get(key, 0), repeated.get(key, 0), unread.get(key, 0),
                        unread.get(key, 0) - skipped.get(key, 0) - left_out.get(key, 0), skipped.get(key, 0), left_out.get(key, 0),
                        tier.late.get(key, 0),
                        tier.latencies.get(key, Latencies()).summary(),
                    )
                    for key in keys
                ]  # fmt: skip
                whole = Latencies.of(tier.latencies[key] for key in keys if key in tier.latencies)
                sums = [sum(column) for column in list(zip(*parts, strict=True))[3:10]]
                rows += [*parts, TierRow._make((topic, TOTAL, name, *sums, whole.summary()))]
        return sorted(rows, key=lambda row: (row.topic, row.start is TOTAL, row.start or 0))

    # --- gaps ------------------------------------------------------------------------------------------------------

    def _gaps(self) -> list[LostRecords]:
        gaps: list[LostRecords] = []
        for producer, counters in sorted(self.lost.items()):
            for start, end in counters:
                for batch, _ in self.audit.produced.of(producer).overlapping(OffsetSet.of([(start, end)])):
                    known = self.audit.acknowledgments[producer, batch.first]
                    gap = LostRecords(producer, max(start, batch.first), min(end, batch.end), batch.tp, known.epoch, known.node)
                    last = gaps[-1] if gaps else None
                    if last is not None and last.end == gap.start and last[3:] == gap[3:] and last.producer == producer:
                        gaps[-1] = last._replace(end=gap.end)
                    else:
                        gaps.append(gap)
        return gaps

    def _held_against_account(self) -> AccountComparison:
        """Compare the records that the audit considers lost with those that the durability account considers lost."""
        told: RecordSets = {}
        offsets = copies = 0
        present = self.logs.stored, self.logs.uncommitted
        for tp, account in self.audit.cluster.account.partitions.items():
            for term, lost in account.lost.items():
                for start, end in lost.common(account.acked.get(term, OffsetSet())):
                    offsets += end - start
                    for found in self.audit.produced.find(tp, FetchedRange(start, end, term, 0)):
                        if isinstance(found, RecordRange):
                            here: RecordSets = {found.producer: OffsetSet.of([(found.start, found.end)])}
                            gone = minus(here, *present)
                            copies += count(here) - count(gone)
                            for producer, counters in gone.items():
                                for low, high in counters:
                                    add(told, producer, low, high)
        return AccountComparison(offsets, copies, told == self.lost)


def _add_counts(counts: Counts, more: Counts) -> None:
    for key, number in more.items():
        counts[key] = counts.get(key, 0) + number


def _left(found: RecordRange, *others: RecordSets) -> list[RecordRange]:
    """Return the parts of a range of records that are not in any of the given sets."""
    left = minus({found.producer: OffsetSet.of([(found.start, found.end)])}, *others)
    return [
        found._replace(start=start, end=end, offset=found.offset + start - found.start)
        for counters in left.values()
        for start, end in counters
    ]
