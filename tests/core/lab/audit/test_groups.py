"""The tiers of groups and services agree with the accounts of groups and services."""

from __future__ import annotations

import pytest

from core.kafka.ids import TopicPartition
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.audit.audit_report import TOTAL, audit_report
from core.lab.audit.message_audit import MessageAudit
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND


@pytest.mark.parametrize("commit", ["before", "none"])
def test_records_processed_again_or_skipped_after_a_crash(commit: str) -> None:
    """A member that commits before it processes skips records when it crashes. One that never commits processes records again."""
    audit = MessageAudit(10 * SECOND)
    cluster = Cluster(ClusterSpec(tuple(map(BrokerSpec, (1, 2, 3))), (TopicSpec("orders", 1, 3),)), seed=1, sink=audit)
    audit.attach(cluster)
    cluster.do(acts.Load("orders", 20, producer="app"))
    join = acts.JoinGroup(("orders",), consumer="c", group="g", reset="earliest", commit=commit, record_time=20_000, crash_after_records=55)
    cluster.do(join)
    cluster.run_until(20 * SECOND)
    cluster.do(acts.StopLoad("app"))
    cluster.do(acts.JoinGroup(("orders",), consumer="c", group="g", reset="earliest", commit=commit, record_time=20_000))
    cluster.run_until(100 * SECOND)
    report = audit_report(audit)
    group = next(row for row in report.tier_totals() if row.tier == "group g")
    account = cluster.account
    counts = account.consumption_counts("g")[TopicPartition("orders", 0)]
    assert (group.records, group.duplicated, group.skipped) == (counts.processed, counts.repeats, counts.skipped)
    assert (group.duplicated > 0, group.skipped > 0) == (commit == "none", commit == "before")
    assert sum(each.end - each.start for each in report.skipped) == counts.skipped
    for name in ("records", "duplicated", "unread", "pending", "skipped", "late"):
        assert getattr(group, name) == sum(getattr(row, name) for row in report.tiers if row.tier == "group g" and row.start is not TOTAL)
    assert "c" not in audit.tiers


def test_a_consumer_skips_what_was_deleted_before_it_came_back() -> None:
    """Records that were deleted on purpose are stored, not lost. A consumer that resets its position to the earliest offset skips them."""
    audit = MessageAudit(10 * SECOND)
    cluster = Cluster(ClusterSpec((BrokerSpec(1),), (TopicSpec("orders", 1, 1),)), seed=1, sink=audit)
    audit.attach(cluster)
    cluster.do(acts.Consume("orders", consumer="reader", reset="earliest"))
    cluster.do(acts.Load("orders", 20, producer="app"))
    cluster.run_until(10 * SECOND)
    cluster.do(acts.Cut(("reader", "b1")))
    cluster.run_until(20 * SECOND)
    cluster.do(acts.StopLoad("app"))
    cluster.do(acts.DeleteRecords(TopicPartition("orders", 0), 300))
    cluster.run_until(21 * SECOND)
    cluster.do(acts.Heal())
    cluster.run_until(60 * SECOND)
    report = audit_report(audit)
    assert [(each.consumer, each.start, each.end) for each in report.skipped] == [("reader", 200, 300)]
    total = report.totals()[0]
    assert (total.produced, total.stored, total.lost) == (400, 400, 0)
    reader = next(row for row in report.tier_totals() if row.tier == "reader")
    assert (reader.records, reader.unread, reader.pending, reader.skipped) == (300, 100, 0, 100)


def test_the_tiers_of_a_delay_service() -> None:
    """Of 12 delayed records, the service forwards 4, sends 3 to the dead-letter topic, and still holds 5."""
    settings = (("offsets.topic.num.partitions", "1"), ("offsets.topic.replication.factor", "1"))
    topics = (TopicSpec("orders", 1, 1, config=(("max.message.bytes", "200"),)),)
    audit = MessageAudit(10 * SECOND)
    cluster = Cluster(ClusterSpec((BrokerSpec(1),), topics, settings), seed=1, sink=audit)
    audit.attach(cluster)
    cluster.do(acts.StartDelayService("orders", ("5s",), commit_every=SECOND, dead_letters="orders-dlt"))
    for at, records, size in ((1, 4, 100), (2, 3, 300), (4, 3, 100), (7, 2, 100)):
        cluster.run_until(at * SECOND)
        cluster.do(acts.ProduceDelayed(5 * SECOND, records, bytes=size))
    cluster.run_until(8_500_000)
    report = audit_report(audit)
    rows = {row.tier: row for row in report.tier_totals() if row.topic == "delay_topic_5s"}
    forwarded, dead = rows["delayed by delay"], rows["dead-lettered by delay"]
    assert (rows["stored"].records, forwarded.records, dead.records) == (12, 4, 3)
    assert (forwarded.unread, forwarded.pending, forwarded.skipped, report.skipped) == (5, 5, 0, ())
    assert 5 * SECOND <= forwarded.latency.max < 5_100_000
    view = cluster.view().services[0]
    assert (view.forwarded, view.dead, view.held) == (4, 3, 5)
