"""Audits of random timelines: the audit, which knows records by their identities, and the durability account, which knows them by their
offsets, name the same lost records.

`python -m tests.core.properties.audits 300 0.10.2 4.3` audits that many seeds of each release.
"""

from __future__ import annotations

import sys

from core.kafka.ids import TopicPartition
from core.kafka.log.offset_set import OffsetSet
from core.kafka.release import Release
from core.lab.audit.audit_report import AuditReport, audit_report
from core.lab.audit.message_audit import ACKED, PRODUCED, MessageAudit
from core.lab.cluster import Cluster
from core.lab.trace.record_life import SpanKind
from core.lab.trace.record_trace import RecordTrace
from core.sim.units import SECOND
from scenarios.releases import release_named
from tests.core.properties.swarm import swarm
from tests.core.properties.timelines import Timeline, attempt


def observed(timeline: Timeline, release: Release, observer: MessageAudit | RecordTrace) -> Cluster:
    """Play a timeline with an observer, and return the cluster."""
    cluster = Cluster(timeline.spec(), release, timeline.seed, observer)
    observer.attach(cluster)
    for act in timeline.opening():
        cluster.do(act)
    cluster.run_until(cluster.now + SECOND)
    for wait, act in timeline.steps:
        cluster.run_until(cluster.now + wait)
        attempt(cluster, act)
    return cluster


def traced(timeline: Timeline, release: Release, tp: TopicPartition, offset: int) -> RecordTrace:
    """Play a timeline with a trace of an offset, check each life against the durability account, and return the trace."""
    trace = RecordTrace(tp, offset)
    account = observed(timeline, release, trace).account.of(tp)
    for life in trace.lives:
        kinds = {span.kind for span in life.spans}
        for kind, offsets in ((SpanKind.ACKED, account.acked), (SpanKind.READ, account.read)):
            assert (kind in kinds) == bool(offsets.get(life.term, OffsetSet()).count_within(offset, offset + 1)), (kind, offset)
        assert life.is_lost == bool(account.lost.get(life.term, OffsetSet()).count_within(offset, offset + 1))
        assert [span.time for span in life.spans] == sorted(span.time for span in life.spans)
    return trace


def audited(timeline: Timeline, release: Release) -> tuple[AuditReport, MessageAudit]:
    """Play a timeline with an audit, check the report, and return both."""
    audit = MessageAudit()
    cluster = observed(timeline, release, audit)
    report = audit_report(audit)
    check(report, cluster)
    return report, audit


def check(report: AuditReport, cluster: Cluster) -> None:
    """Check that the report agrees with the durability account, the clients, and itself."""
    account = report.account
    assert account.equal, (account, report.lost)
    assert account.lost_acknowledged == cluster.account.lost_acknowledged
    total = {row.topic: row for row in report.totals()}
    assert (
        sum(row.lost for row in total.values())
        == sum(gap.end - gap.start for gap in report.lost)
        == account.lost_acknowledged - account.copies
    )
    assert sum(row.acked for row in total.values()) == cluster.account.acked
    for row in report.buckets:
        assert row.produced == row.acked + row.unsure
        assert row.unsure == row.present + row.absent
        assert row.foreign == 0
        assert row.acked + row.present <= row.stored + row.lost + row.uncommitted + row.aborted
    for tier in report.tiers:
        assert tier.unread == tier.pending + tier.skipped
        assert min(tier.records, tier.duplicated, tier.pending, tier.skipped, tier.left_out, tier.late) >= 0
        assert tier.tier not in (PRODUCED, ACKED) or tier.unread == tier.left_out == 0
        assert tier.latency.p50 <= tier.latency.p95 <= tier.latency.p99 <= tier.latency.max
    skipped = sum(tier.skipped for tier in report.tier_totals())
    assert skipped <= sum(gap.end - gap.start for gap in report.skipped)
    for consumer in [name for name in cluster.clients if name.startswith("reader")]:
        reader = cluster.clients.consumer(consumer)
        assert reader is not None
        whole = next((tier for tier in report.tier_totals() if tier.tier == consumer), None)
        assert whole is None or whole.records + whole.duplicated == reader.read


def main(seeds: int, releases: list[str]) -> None:
    """Audit seeds of releases, half of them with harsh faults, and print how many of them lost records."""
    for name in releases:
        reports = [audited(swarm(seed, harsh=seed % 2 == 0), release_named(name))[0] for seed in range(seeds)]
        lost, copies = sum(bool(each.lost) for each in reports), sum(each.account.copies for each in reports)
        print(f"{name}: {seeds} seeds, {lost} with losses, {copies} lost copies of records that remain; audit and account agree")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
