"""Compares Spark's tables with the core's own durability account, for sessions with faults that the core runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.kafka.clients.producer.producer import Producer
from core.kafka.health import STALL_BOUND
from core.kafka.ids import TopicPartition
from core.kafka.log.leader_term import FetchedRange
from core.kafka.release import Release
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.audit.audit_report import audit_report
from core.lab.audit.message_audit import MessageAudit
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from scenarios.logs.log_header import make_header
from scenarios.logs.log_writer import LogWriter
from tests.spark_reports.summaries.looks import STEP, Looks
from tests.spark_reports.together import Writer, summarized_together

pytestmark = pytest.mark.spark

Table = list[dict[str, Any]]


class TimedAudit(MessageAudit):
    """An audit that also measures how long each acknowledged batch took, in µs, by producer."""

    def __init__(self) -> None:
        super().__init__()
        self.latencies: dict[str, list[int]] = {}
        self._created: dict[tuple[str, int], int] = {}

    def batch_closed(self, producer: str, batch_id: int, tp: TopicPartition, records: int, created: int, timestamp: int) -> None:
        super().batch_closed(producer, batch_id, tp, records, created, timestamp)
        self._created[producer, batch_id] = created

    def batch_acknowledged(self, producer: str, batch_id: int, tp: TopicPartition, records: FetchedRange, node: str) -> None:
        super().batch_acknowledged(producer, batch_id, tp, records, node)
        self.latencies.setdefault(producer, []).append(self._cluster.now - self._created[producer, batch_id])


Session = tuple[Cluster, dict[str, Table], Looks, TimedAudit]

SPEC = ClusterSpec(
    brokers=tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
    topics=(TopicSpec("orders", partitions=4), TopicSpec("log", partitions=2, replication_factor=2)),
    settings=(("unclean.leader.election.enable", True),),
)

TIMELINE: tuple[tuple[int, acts.Act], ...] = (
    (0, acts.Load("orders", rate=100, every=SECOND // 5, acks="all", producer="safe")),
    (0, acts.Load("log", rate=100, every=SECOND // 5, acks="1", producer="fast")),
    (0, acts.Consume("log")),
    (2, acts.Kill(2)),
    (14, acts.Start(2)),
    (17, acts.SlowDisk(1, 400_000)),
    (22, acts.SlowDisk(1, 1_200_000)),
    (24, acts.SlowDisk(1, 0)),
    (25, acts.Cut(("b1", "b3"))),
    (65, acts.Heal()),
    (70, acts.Isolate("b1")),
    (95, acts.Heal()),
    (105, acts.Kill(3)),
    (106, acts.Kill(2)),
    (117, acts.Cut(("b1", "b2"))),
    (117, acts.Start(2)),
    (122, acts.Kill(1)),
    (140, acts.Heal()),
    (140, acts.Start(1)),
    (141, acts.Start(3)),
    (155, acts.Elect("preferred")),
    (156, acts.Pause(3)),
    (160, acts.Kill(1)),
    (165, acts.StopLoad("safe")),
)
"""The acts with their times in seconds: a crash, followers that are cut off from leaders for longer than the lag time, an isolated leader,
the loss of the last in-sync replica, and a slow disk.
"""

END = 170 * SECOND


RELEASES = ("0.10.2", "4.1")


@summarized_together
def write_sessions(folder: Path) -> tuple[list[Path], dict[str, tuple[Cluster, Looks, TimedAudit]]]:
    """Write the log of a session under each release. Return the clusters at the end, and the samples taken meanwhile."""
    found: dict[str, tuple[Cluster, Looks, TimedAudit]] = {}
    for name in RELEASES:
        release = Release.named(name)
        looks = Looks()
        with LogWriter(folder / f"account-{name}.jsonl", make_header(SPEC, release, 3, None)) as log:
            audit = TimedAudit()
            cluster = Cluster(SPEC, release, seed=3, sink=_each_of(log, audit))
            audit.attach(cluster)
            for second, act in TIMELINE:
                looks.run_until(cluster, second * SECOND)
                cluster.do(act)
            looks.run_until(cluster, END)
            log.close(cluster.now)
        found[name] = cluster, looks, audit
    return [folder / f"account-{name}.jsonl" for name in RELEASES], found


@pytest.fixture(scope="module")
def sessions(summarized: Callable[[Writer], tuple[dict[str, tuple[Cluster, Looks, TimedAudit]], dict[str, Table]]]) -> dict[str, Session]:
    """Return, for each release, the cluster at the end of its session, Spark's tables of its log, and the samples taken meanwhile."""
    found, tables = summarized(write_sessions)
    return {
        name: (
            cluster,
            {table: [row for row in rows if row["session"] == f"account-{name}"] for table, rows in tables.items()},
            looks,
            audit,
        )
        for name, (cluster, looks, audit) in found.items()
    }


def _each_of(*sinks: Callable[[tuple[Any, ...]], object]) -> Callable[[tuple[Any, ...]], None]:
    """Return a sink that passes each event to several sinks."""

    def sink(event: tuple[Any, ...]) -> None:
        for each in sinks:
            each(event)

    return sink


@pytest.fixture(params=RELEASES)
def session(request: pytest.FixtureRequest, sessions: dict[str, Session]) -> Session:
    return sessions[request.param]


def producers_of(cluster: Cluster) -> list[Producer]:
    return [client for client in cluster.clients.values() if isinstance(client, Producer)]


def test_elections(session: Session) -> None:
    cluster, tables, *_ = session
    outcomes = ("clean", "preferred", "eligible", "unclean", "last-known")
    counted = {outcome: sum(row[outcome.replace("-", "_")] for row in tables["elections"]) for outcome in outcomes}
    assert {outcome: count for outcome, count in counted.items() if count} == cluster.account.elections
    assert counted["clean"] > 0
    assert counted["unclean"] > 0


def test_isr_changes(session: Session) -> None:
    cluster, tables, *_ = session
    for column, account in (("shrinks", cluster.account.shrinks), ("expands", cluster.account.expands)):
        assert {row["broker"]: row[column] for row in tables["isr_churn"] if row[column]} == account
        # Where a shrink raises the leader epoch, its leader hears of it as a new leadership, not as an answer.
        assert account or (column == "shrinks" and cluster.release.bump_epoch_on_shrink)


def test_under_replicated_and_offline_time(session: Session) -> None:
    cluster, tables, *_ = session
    assert {(row["topic"], row["partition"]): (row["under_replicated_us"], row["offline_us"]) for row in tables["availability"]} == {
        tuple(tp): (cluster.account.under_replicated_us(tp), cluster.account.offline_us(tp)) for tp in cluster.account.partitions
    }
    assert sum(row["under_replicated_us"] for row in tables["availability"]) > 0
    assert sum(row["offline_us"] for row in tables["availability"]) > 0


def test_what_clients_experienced(session: Session) -> None:
    """The windows without reads, without writes, and with stalled writes add up to the core's statuses, which are sampled every 20 ms.

    Nobody writes to `log` with acks=all, so no client of `log` feels that its ISR is too small or that its high watermark stands still.
    """
    _, tables, looks, _ = session
    measured: dict[tuple[TopicPartition, str], int] = dict.fromkeys(looks.times, 0)
    names = {"reads": "read_down", "writes": "write_down", "stalled": "stalled"}
    for row in tables["unavailability"]:
        measured[TopicPartition(row["topic"], row["partition"]), names[row["what"]]] += row["lasts_us"]
    for name in names.values():
        assert sum(time for (_, what), time in measured.items() if what == name) > 20 * SECOND
    for (tp, name), time in measured.items():
        unfelt = 0 if name == "stalled" else looks.times[tp, "read_down"]
        assert time == pytest.approx(looks.times[tp, name] if tp.topic == "orders" else unfelt, abs=4 * STEP), (tp, name)
    assert looks.slow_disk > 5 * SECOND
    reasons = {row["why"] for row in tables["unavailability"]}
    assert all(any(word in why for why in reasons) for word in ("the leader's disk is slow", "leader has not taken over yet"))
    for row in tables["availability"]:
        tp = TopicPartition(row["topic"], row["partition"])
        assert row["stalled_us"] > 4 * STEP
        assert row["stalled_us"] == pytest.approx(looks.times[tp, "stalled"], abs=4 * STEP)
        assert row["stalled_us"] == measured[tp, "stalled"] or tp.topic == "log"


def test_records(session: Session) -> None:
    cluster, tables, *_ = session
    got = {
        (row["topic"], row["partition"]): tuple(
            row[name] for name in ("accepted", "acknowledged", "lost", "lost_acknowledged", "lost_read", "duplicated")
        )
        for row in tables["records"]
    }
    assert got == {
        tuple(tp): (
            account.accepted,
            account.acked_count,
            account.lost_count,
            account.lost_acknowledged,
            account.lost_read,
            account.duplicated,
        )
        for tp, account in cluster.account.partitions.items()
    }
    assert sum(lost for _, _, lost, _, _, _ in got.values()) > sum(read for _, _, _, _, read, _ in got.values()) > 0


def test_audit(session: Session) -> None:
    """The tiers in the table agree with those of the core's audit, bucket by bucket. No clock is wrong in these sessions."""
    cluster, tables, *_ = session
    audit = cluster.account.record_observer
    assert isinstance(audit, MessageAudit)
    report = audit_report(audit)
    table = {(row["topic"], row["bucket_us"], row["tier"]): row for row in tables["audit"]}
    assert report.account.equal
    for tier in report.tiers:
        if tier.tier == "acked" and tier.records and tier.start is not None:
            row = table[tier.topic, tier.start, "acked"]
            latency = tier.latency
            assert (row["records"], row["p50_us"], row["p95_us"], row["p99_us"], row["max_us"]) == (
                tier.records, latency.p50, latency.p95, latency.p99, latency.max,
            )  # fmt: skip
    copies = 0  # the table counts a lost copy of a record even if another copy of it remains
    for bucket in report.buckets:
        if bucket.start is not None:
            place = bucket.topic, bucket.start
            copies += table.get((*place, "lost"), {"records": 0})["records"] - bucket.lost
            assert copies >= 0
            assert table.get((*place, "given-up"), {"records": 0})["records"] <= bucket.unsure
            assert ((*place, "acked") in table) == (bucket.acked > 0)
    assert copies == report.account.copies
    assert sum(row["records"] for row in tables["audit"] if row["tier"] == "lost") == cluster.account.lost_acknowledged > 0


def test_produce_latency(session: Session) -> None:
    cluster, tables, _, audit = session
    waiting = {
        producer.name: [cluster.now - one.created for one in producer.sender.incomplete_batches() if one.overdue]
        for producer in producers_of(cluster)
    }
    given_up = sum(producer.metrics.failed > 0 for producer in producers_of(cluster))
    for row in tables["produce_latency"]:
        (name,) = [producer.name for producer in producers_of(cluster) if producer.topic == row["topic"]]
        answered = sorted(audit.latencies[name])
        unanswered = waiting[name]
        assert all(wait > STALL_BOUND for wait in unanswered)
        assert (row["acknowledged"], row["unanswered"]) == (len(answered), len(unanswered))
        assert row["unanswered_since_us"] == (cluster.now - max(unanswered) if unanswered else None)
        if not row["given_up"]:
            waits = sorted(answered + unanswered)
            assert row["max_us"] == waits[-1]
            for percent in (50, 95, 99):
                assert row[f"p{percent}_us"] == waits[-(-percent * len(waits) // 100) - 1]
    assert sum(row["given_up"] > 0 for row in tables["produce_latency"]) == given_up
    assert any(row["unanswered"] or row["given_up"] for row in tables["produce_latency"])
    assert {(row["topic"], row["acks"]) for row in tables["produce_latency"]} == {
        (producer.topic, producer.accumulator.acks) for producer in producers_of(cluster)
    }
