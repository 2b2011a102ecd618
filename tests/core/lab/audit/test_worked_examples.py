"""Worked examples of a message audit, P-13 and P-15 to P-20, with all their numbers. Logs and acknowledgments are made by hand."""

from __future__ import annotations

from queue import Full, Queue
from types import SimpleNamespace
from typing import Any

from core.kafka.clients.client_context import ClientContext
from core.kafka.clients.consumer.consumer import Consumer
from core.kafka.ids import TopicPartition
from core.kafka.log.leader_term import Batch, FetchedRange, Term
from core.kafka.log.replica_log import ReplicaLog
from core.lab.accounts.durability_account import DurabilityAccount
from core.lab.audit.audit_report import AuditReport, BucketRow, LostRecords, TierRow, audit_report
from core.lab.audit.latencies import Latencies
from core.lab.audit.message_audit import MessageAudit
from core.lab.trace.record_life import Life, Span, SpanKind
from core.sim.journal import Journal
from core.sim.units import SECOND, US_PER_MS

TP = TopicPartition("orders", 0)


class Session:
    """A producer `p1` and a log by hand."""

    def __init__(self, bucket: int = 60 * SECOND) -> None:
        self.account = DurabilityAccount(Journal())
        self.log = ReplicaLog()
        self.term = Term(3, 2)
        self.sent = 0
        self.cluster: Any = SimpleNamespace(now=0, account=self.account, clients={})
        self.audit = MessageAudit(bucket)
        self.audit.attach(self.cluster)
        self.account.became_leader(TP, 2, 3, self.log)

    def produce(self, timestamp: int, records: int = 1, copies: int = 1, *, acked: bool = True) -> None:
        """Produce a batch that is appended `copies` times. If it is never appended, a former leader acknowledged it."""
        self.sent += 1
        self.account.batch_closed("p1", self.sent, TP, records, timestamp, timestamp)
        base, term = self.log.leo, self.term
        for _ in range(copies):
            self.log.append_as_leader(term, Batch(self.log.leo, records, 100 * records, "p1", self.sent, timestamp))
        if not copies:
            term, base = Term(2, 1), 0
            term.append(Batch(0, records, 100 * records, "p1", self.sent, timestamp))
        if acked:
            node = f"b{term.leader}"
            self.account.acknowledged(TP, term, base, records, "p1", self.sent, node)

    def commit(self) -> None:
        """Commit everything, and tell the audit."""
        old = self.log.high_watermark
        self.log.update_high_watermark(self.log.leo)
        self.audit((1, self.cluster.now, 0, "high-watermark", 2, "orders", 0, 3, old, self.log.leo, 2))

    def consume(self, start: int, end: int) -> None:
        """Let the consumer `c` read [start, end)."""
        if "c" not in self.cluster.clients:
            network: Any = SimpleNamespace(alive={})
            self.cluster.clients["c"] = Consumer(
                "c", "orders", "earliest", ClientContext((1,), network, self.account.journal, self.account)
            )
        self.cluster.clients["c"].positions[:] = [end]
        self.account.consumed(TP, (FetchedRange(start, end, self.term, 0),), "c")

    def report(self) -> AuditReport:
        """Return the report of the audit now."""
        return audit_report(self.audit)


def bucket(report: AuditReport, start: int = 0) -> BucketRow:
    """Return the row of a bucket."""
    return next(row for row in report.buckets if row.start == start)


def tier(report: AuditReport, name: str, start: int = 0) -> TierRow:
    """Return the row of a tier."""
    return next(row for row in report.tiers if (row.tier, row.start) == (name, start))


def test_p13_loss_and_duplication_do_not_cancel() -> None:
    session = Session()
    for number in range(1000):
        session.produce(number * 20 * US_PER_MS, copies=0 if number in (120, 121) else 4 if number == 500 else 1)
    for number in range(1000):
        session.produce(60 * SECOND + number * 20 * US_PER_MS, copies=0 if number < 3 else 4 if number == 500 else 1)
    session.commit()
    report = session.report()
    first, second = bucket(report), bucket(report, 60 * SECOND)
    assert (first.produced, first.acked, first.stored, first.lost, first.duplicated) == (1000, 1000, 998, 2, 3)
    assert first.stored + first.duplicated == 1001
    assert (second.produced, second.stored + second.duplicated) == (1000, 1000), "an audit of counts finds no fault"
    assert (second.lost, second.duplicated) == (3, 3)
    assert report.lost == (
        LostRecords("p1", 120, 122, TP, 2, "b1"),
        LostRecords("p1", 1000, 1003, TP, 2, "b1"),
    )
    assert report.account == (5, 0, True)
    total = report.totals()[0]
    for column in BucketRow._fields[2:-1]:
        assert getattr(total, column) == getattr(first, column) + getattr(second, column), column


def test_p15_percentiles_of_reports_are_bounds() -> None:
    """Merged reports give an exact mean, but only the larger of the two percentiles. The audit keeps the latencies, so it is exact."""
    one, other = Latencies(), Latencies()
    for latency, records in ((8, 46), (9, 48), (30, 5), (50, 1)):
        one.add(latency, records)
    for latency, records in ((19, 155), (20, 125), (25, 19), (80, 1)):
        other.add(latency, records)
    first, second, true = one.summary(), other.summary(), Latencies.of((one, other)).summary()
    assert (first.records, first.mean, first.p95, first.max) == (100, 10, 30, 50)
    assert (second.records, second.mean, second.p95, second.max) == (300, 20, 25, 80)
    assert (first.records * first.mean + second.records * second.mean) / 400 == 17.5
    assert (true.records, true.mean, true.max) == (400, 17, max(first.max, second.max)) == (400, 17, 80)
    assert 25 <= true.p95 <= 30, "nearest rank 380 of 400"


def test_p16_records_belong_to_the_bucket_of_their_own_time() -> None:
    session = Session(600 * SECOND)
    assert session.audit.key_of("orders", 1_700_000_399 * SECOND).start == 1_699_999_800 * SECOND
    assert session.audit.key_of("orders", 1_700_000_400 * SECOND).start == 1_700_000_400 * SECOND
    session.produce(0)
    session.commit()
    session.cluster.now = 601 * SECOND
    session.consume(0, 1)
    report = session.report()
    assert (bucket(report).stored, tier(report, "c").records, tier(report, "c").unread) == (1, 1, 0)
    assert tier(report, "c").latency.max == 601 * SECOND
    assert len(report.buckets) == 2, "one bucket and the total"


def test_p17_a_late_record_restates_its_bucket() -> None:
    session = Session()
    session.cluster.now = 50 * SECOND
    session.produce(50 * SECOND, records=100)
    session.commit()
    session.consume(0, 99)
    session.cluster.now = 119 * SECOND
    before = session.report()
    assert (tier(before, "c").records, tier(before, "c").unread, tier(before, "c").pending) == (99, 1, 1)
    assert bucket(before).version == 1
    session.cluster.now = 170 * SECOND
    session.consume(99, 100)
    after = session.report()
    assert (tier(after, "c").records, tier(after, "c").unread, tier(after, "c").late) == (100, 0, 1)
    assert bucket(after).version == 2
    assert tier(after, "c").latency.max == 120 * SECOND


def test_p18_the_durations_of_a_life() -> None:
    term = Term(3, 1)
    batch = Batch(42, 1, 100, "p1", 1, 0)
    term.append(batch)
    life = Life(term, batch, 0, created=0)
    times = {
        "created": 0, "appended": 1, "copied": 3, "committed": 5, "read": 5, "acked": 6, "processed": 9, "offset-committed": 12,
    }  # fmt: skip
    life.spans.extend(Span(time * SECOND, number, 0, SpanKind(kind), "n", "") for number, (kind, time) in enumerate(times.items()))
    assert life.durations() == (6 * SECOND, 4 * SECOND, 9 * SECOND)
    life.spans.append(Span(14 * SECOND, 9, 0, SpanKind.PROCESSED, "n", "again, after a crash at 10 s"))
    assert life.durations() == (6 * SECOND, 4 * SECOND, 9 * SECOND), "the first delivery counts"
    session = Session()
    session.produce(0)
    session.commit()
    session.consume(0, 1)
    session.consume(0, 1)
    consumed = tier(session.report(), "c")
    assert (consumed.records, consumed.duplicated) == (1, 1), "one ID, two deliveries"


def test_p19_a_trace_drops_spans_and_an_audit_does_not() -> None:
    """RocketMQ's trace dispatcher drops spans when its queue is full. No act exists, because isrlab's own trace reads all events.

    A report that counts the spans instead of the records shows a loss that did not happen (also the last failure case of services).
    """
    session, spans, discarded = Session(), Queue[int](2048), 0
    for number in range(5000):
        session.produce(0)
        try:
            spans.put_nowait(number)
        except Full:
            discarded += 1
    session.commit()
    assert (spans.qsize(), discarded) == (2048, 2952)
    report = session.report()
    assert (bucket(report).produced, bucket(report).acked, bucket(report).stored) == (5000, 5000, 5000)
    assert (bucket(report).lost, bucket(report).duplicated, report.lost) == (0, 0, ())
    assert bucket(report).produced - spans.qsize() == 2952, "what a report by spans would call lost"


def test_p20_records_out_of_order_are_neither_lost_nor_duplicated() -> None:
    """A monitor that expects ascending numbers counts 2 losses and 2 duplicates for 0, 1, 2, 5, 3, 4, 6."""
    session = Session()
    expected = lost = duplicated = 0
    for number in (0, 1, 2, 5, 3, 4, 6):
        duplicated += number < expected
        lost += max(0, number - expected)
        expected = max(expected, number + 1)
    assert (lost, duplicated) == (2, 2)
    for number in range(7):
        session.produce(number)
    session.commit()
    for number in (0, 1, 2, 5, 3, 4, 6):
        session.consume(number, number + 1)
    session.cluster.clients["c"].positions[:] = [7]
    report = session.report()
    assert (bucket(report).lost, bucket(report).duplicated) == (0, 0)
    assert (tier(report, "c").records, tier(report, "c").duplicated, tier(report, "c").unread) == (7, 0, 0)


def test_unsure_records_are_present_or_absent_and_skipped_ones_are_named() -> None:
    session = Session()
    session.produce(0, records=10)
    session.produce(0, records=5, acked=False)
    session.produce(0, records=2, copies=0, acked=False)
    session.commit()
    session.produce(0, records=3, acked=False)
    session.consume(0, 4)
    session.consume(2, 6)
    session.consume(8, 12)
    report = session.report()
    row = bucket(report)
    assert (row.produced, row.acked, row.stored, row.lost) == (20, 10, 15, 0)
    assert (row.unsure, row.present, row.absent, row.uncommitted) == (10, 8, 2, 3)
    reader = tier(report, "c")
    assert (reader.records, reader.duplicated, reader.unread, reader.skipped, reader.pending) == (10, 2, 5, 2, 3)
    assert [(each.consumer, each.start, each.end) for each in report.skipped] == [("c", 6, 8)]


def test_a_lost_copy_of_a_record_that_remains_is_no_loss() -> None:
    """The durability account loses the offset that was acknowledged. The audit still finds the record at the offset of the first attempt."""
    session = Session()
    session.produce(0, records=2, copies=2, acked=False)
    session.account.acknowledged(TP, session.term, 2, 2, "p1", 1, "b2")
    session.log.truncate_to(2)
    session.account.became_leader(TP, 2, 4, session.log)
    session.commit()
    report = session.report()
    assert session.account.lost_acknowledged == 2
    assert report.account == (2, 2, True)
    assert (bucket(report).lost, bucket(report).stored, bucket(report).duplicated) == (0, 2, 0)


def test_nearest_ranks() -> None:
    latencies = Latencies()
    for latency in range(1, 11):
        latencies.add(latency, 1)
    assert latencies.summary() == (10, 5, 5, 10, 10, 10)
    latencies.add(100, 90)
    assert latencies.summary()[2:] == (100, 100, 100, 100)
    assert Latencies().summary() == (0, 0, 0, 0, 0, 0)


def test_the_records_of_a_deleted_topic_are_not_lost() -> None:
    """The leader learns of the deletion later, and acknowledges another batch meanwhile. A record that was lost before stays lost."""
    session = Session()
    session.produce(0, copies=0)
    session.produce(1_000, records=5)
    session.commit()
    session.produce(2_000, records=2)
    session.account.partition_deleted(TP)
    session.produce(3_000, records=3)
    report = audit_report(session.audit)
    assert [(lost.producer, lost.start, lost.end) for lost in report.lost] == [("p1", 0, 1)]
