"""Compares each summary with small examples that were worked out by hand. Spark reads all logs together, and each test checks one session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from core.kafka.events import KINDS
from tests.spark_reports.event_logs import event, write_log
from tests.spark_reports.together import Writer, summarized_together

pytestmark = pytest.mark.spark

Table = list[dict[str, Any]]

A = {"topic": "a", "partition": 0}
A1 = {"topic": "a", "partition": 1}
B = {"topic": "b", "partition": 3}


def changed(
    t: int, leader: int, isr: Sequence[int], replicas: Sequence[int] = (1, 2, 3), adding: Sequence[int] = (), **where: Any
) -> dict[str, Any]:
    return event(t, "partition-changed", **(where or A), leader=leader, isr=list(isr), replicas=list(replicas), adding=list(adding))


def leads(t: int, broker: int, **where: Any) -> dict[str, Any]:
    return event(t, "became-leader", **(where or A), broker=broker)


def acked(latency: int, acks: int = -1, records: int = 10, **where: Any) -> dict[str, Any]:
    return event(latency, "produce-acked", **(where or A), records=records, acks=acks, latency_us=latency)


def span(t: int, kind: str, start: int, end: int, where: dict[str, Any] = A, **columns: Any) -> dict[str, Any]:
    return event(t, kind, **where, from_offset=start, to_offset=end, **columns)


def begun(t: int, epoch: int = 0) -> dict[str, Any]:
    return event(t, "transaction-begun", producer="app", transactional_id="tx", producer_id=7, producer_epoch=epoch)


def state(t: int, new: str, named: str = "", epoch: int = 0) -> dict[str, Any]:
    return event(
        t, "transaction-state", transactional_id="tx", producer_id=7, producer_epoch=epoch,
        former_state="Ongoing" if new in ("PrepareCommit", "PrepareAbort") else "Empty", transaction_state=new, partitions_named=named,
    )  # fmt: skip


def committed(t: int, high_watermark: int) -> dict[str, Any]:
    return event(t, "high-watermark", **A, broker=1, new_offset=high_watermark)


def old(event: dict[str, Any]) -> dict[str, Any]:
    """Return an event as an earlier isrlab version wrote it."""
    return {name: value for name, value in event.items() if name not in KINDS[event["kind"]].defaults}


CREATED = event(0, "topic-created", topic="a", partitions=2, replication_factor=3)
"""The first event of each of the following sessions, whose own events start with `seq` 2."""

SESSIONS: dict[str, tuple[list[dict[str, Any]], int | None]] = {
    "elections": (
        [
            event(1, "leader-elected", **A, leader=2, election="clean"),
            event(2, "leader-elected", **A, leader=3, election="unclean"),
            event(3, "leader-elected", **A, leader=1, election="preferred"),
            event(4, "leader-elected", **A, leader=1, election="clean"),
            event(5, "partition-offline", **B),
            event(6, "leader-elected", **B, leader=2, election="eligible"),
            event(7, "leader-elected", **B, leader=2, election="last-known"),
            event(8, "election-refused", **B, election="preferred", error="PREFERRED_LEADER_NOT_AVAILABLE"),
        ],
        10,
    ),
    "churn": (
        [
            changed(0, 1, [1, 2, 3]),
            changed(0, 2, [2, 3, 1], **B),
            event(5, "isr-shrunk", broker=1, **A, isr=[1], out=[2, 3]),
            changed(5, 1, [1]),
            event(6, "isr-expanded", broker=1, **A, isr=[1, 3], joined=[3]),
            changed(6, 1, [1, 3]),
            # The controller fences broker 3: it leaves both ISRs and no leader proposed it.
            changed(8, 1, [1]),
            changed(8, 2, [2, 1], **B),
            # A new order of the same members is no change.
            changed(9, 2, [1, 2], **B),
        ],
        10,
    ),
    "availability": (
        [
            changed(1_000, 1, [1, 2, 3]),
            changed(2_000, 1, [1, 2]),
            changed(2_500, 1, [1]),
            changed(3_000, -1, [1]),
            changed(7_000, 2, [2]),
            changed(8_000, 2, [2, 3, 1]),
            changed(8_500, 2, [2, 3, 1], replicas=[1, 2, 3, 4], adding=[4]),
            changed(9_000, 2, [2, 3], replicas=[1, 2, 3, 4], adding=[4]),
            changed(4_000, 1, [1, 2, 3], **B),
        ],
        10_000,
    ),
    # Killed: the session ends with its last event, at 900.
    "killed": ([changed(100, 1, [1]), changed(300, 1, [1, 2, 3]), changed(400, -1, []), event(900, "broker-paused", broker=2)], None),
    "records": (
        [
            span(1, "append", 0, 100),
            span(1, "append", 100, 150),
            acked(2, records=100),
            acked(2, acks=1, records=50),
            acked(3, acks=0, records=7),
            span(4, "records-lost", 60, 150, lost_acknowledged=30, lost_read=80),
            span(5, "records-recovered", 140, 150, lost_acknowledged=0, lost_read=10),
            span(5, "lost-records-seen", 60, 64, lost_acknowledged=4),
            span(6, "records-duplicated", 20, 25),
            span(7, "records-diverged", 60, 63),
            span(8, "append", 0, 1, B),
        ],
        10,
    ),
    "old-records": (
        [
            event(0, "setting-changed", name="unclean.leader.election.enable", subject="a", old="false", new="true"),
            old(span(4, "records-lost", 60, 150)),
            old(span(5, "records-recovered", 140, 150)),
            span(8, "append", 0, 1, B),
        ],
        10,
    ),
    "latency": (
        [acked(latency) for latency in range(100, 0, -1)] + [acked(7, acks=1), acked(3, acks=1, records=5)] + [acked(5, **B)] * 19 + [acked(900, **B)],
        1_000,
    ),
    # Fifty are answered, then no more: the first two that wait are told, one of them is given up, one answered late; two are left.
    "unanswered": (
        [
            *(event(n * 100_000, "produce-acked", **A, records=10, acks=-1, producer="app", latency_us=2_000) for n in range(50)),
            *(event(8_000_000, "produce-waiting", **A, records=10, acks=-1, producer="app", waited_us=wait) for wait in (2_500_000, 2_000_000)),
            event(9_000_000, "produce-given-up", **A, records=10, acks=-1, producer="app", waited_us=3_500_000),
            event(10_000_000, "produce-waiting", **A, records=10, acks=-1, producer="app", waited_us=3_000_000),
            event(10_000_000, "produce-waiting", **A, records=10, acks=-1, producer="other", waited_us=4_000_000),
            event(11_000_000, "produce-acked", **A, records=10, acks=-1, producer="app", latency_us=4_000_000),
        ],
        60_000_000,
    ),
    # Broker 3 is down from 5 s on and outside the ISR at 12 s; broker 2 is cut off from 20 s to 25 s, but the leader is paused from 22 s
    # on, and from 23 s on nobody leads. Beside that the high watermark stands still from 2 s to 6 s; 0.9 s at 14 s are too short.
    "stall": (
        [
            changed(0, 1, [1, 2, 3]),
            leads(0, 1),
            event(0, "produce-given-up", **A, acks=-1),
            span(2_000_000, "append", 0, 5, broker=1),
            event(5_000_000, "broker-stopped", broker=3),
            event(6_000_000, "high-watermark", **A, broker=1, new_offset=5),
            changed(12_000_000, 1, [1, 2]),
            span(14_000_000, "append", 5, 9, broker=1),
            event(14_900_000, "high-watermark", **A, broker=1, new_offset=9),
            event(20_000_000, "link-cut", src="b2", dst="b1"),
            event(22_000_000, "broker-paused", broker=1),
            changed(23_000_000, -1, [1, 2]),
            event(25_000_000, "link-healed", src="b2", dst="b1"),
        ],
        30_000_000,
    ),
    # Each write takes 0.5 s from 1 s on; of those at 2 s the last is done 3 s later, and one that arrives at 7 s has 2 s to wait. The disk is well
    # at 7.5 s, what it was given is done at 9.1 s. From 20 s on each takes 2 s, and at 23 s the process ends; it starts at 24 s, leads at 26 s.
    # Meanwhile broker 2, elected at 25 s, never leads.
    "slow-disk": (
        [
            changed(0, 1, [1, 2]),
            changed(0, 1, [1, 2], **B),
            leads(0, 1),
            leads(0, 1, **B),
            acked(0),
            acked(0, **B),
            event(1_000_000, "disk-slowed", broker=1, delay_us=500_000),
            event(2_000_000, "disk-behind", broker=1, write_wait_us=1_500_000),
            event(2_000_000, "disk-behind", broker=1, write_wait_us=3_500_000),
            event(7_000_000, "disk-behind", broker=1, write_wait_us=2_000_000),
            event(7_500_000, "disk-slowed", broker=1, delay_us=0),
            event(7_500_000, "disk-behind", broker=1, write_wait_us=1_600_000),
            event(20_000_000, "disk-slowed", broker=1, delay_us=2_000_000),
            event(20_000_000, "disk-behind", broker=1, write_wait_us=2_000_000),
            event(23_000_000, "broker-stopped", broker=1),
            event(24_000_000, "broker-started", broker=1),
            changed(25_000_000, 2, [1, 2], **B),
            leads(26_000_000, 1),
            event(27_000_000, "disk-slowed", broker=1, delay_us=0),
        ],
        30_000_000,
    ),
    "errors": (
        [
            event(3, "produce-failed", **A, error="NOT_ENOUGH_REPLICAS", retry=True),
            event(4, "produce-failed", **A, error="NOT_ENOUGH_REPLICAS", retry=True),
            event(9, "produce-failed", **A, error="NOT_ENOUGH_REPLICAS", retry=False),
            event(5, "append-refused", **A, error="NOT_ENOUGH_REPLICAS"),
            event(6, "fetch-failed", **A, error="UNKNOWN_LEADER_EPOCH"),
            event(7, "member-ended", client="c", group="g", how="closed", error=""),
            event(7, "group-administered", group="g", error=""),
        ],
        10,
    ),
    # The header sets min.insync.replicas 2 for the cluster.
    "min-isr": (
        [
            changed(0, 1, [1, 2, 3]),
            changed(1_000, 1, [1, 2]),
            changed(3_000, 1, [1]),
            event(4_000, "setting-changed", name="min.insync.replicas", subject="a", old="2", new="1"),
            changed(6_000, 3, [3]),
            event(7_000, "setting-changed", name="min.insync.replicas", subject="", old="2", new="9"),
            event(7_500, "setting-changed", name="min.insync.replicas", subject="a", old="1", new="9"),
            event(8_000, "setting-changed", name="replica.lag.time.max.ms", subject="a", old="30000", new="1"),
            changed(9_000, 2, [2, 3, 1]),
            changed(0, 2, [2, 1], replicas=(2, 1), **B),
        ],
        10_000,
    ),
    "windows": (
        [
            changed(0, 1, [1, 2, 3]),
            changed(0, 2, [2, 3, 1], **B),
            leads(0, 1),
            leads(0, 2, **B),
            event(0, "produce-failed", **A, acks=-1, error="NOT_ENOUGH_REPLICAS", retry=True),
            event(0, "produce-waiting", **B, acks=-1),
            event(1_000_000, "broker-stopped", broker=1, how="killed"),
            changed(2_000_000, -1, [1]),
            changed(3_000_000, 2, [2]),
            leads(3_000_000, 2),
            changed(5_000_000, 2, [2, 3]),
            event(6_000_000, "broker-paused", broker=2),
            event(6_500_000, "broker-resumed", broker=2),
            event(9_000_000, "broker-stopped", broker=2, how="killed"),
        ],
        10_000_000,
    ),
    "lag": (
        [
            changed(0, 1, [1, 2, 3]),
            span(0, "append", 0, 3, broker=1),
            event(0, "became-leader", **A, broker=1, offset=3, high_watermark=1),
            event(0, "became-follower", **A, broker=2, leader=1, offset=0),
            event(0, "became-follower", **A, broker=3, leader=1, offset=2),
            span(1, "append", 3, 10, broker=1),
            span(2, "follower-append", 0, 8, broker=2),
            event(3, "high-watermark", **A, broker=1, old_offset=1, new_offset=8),
            span(4, "append", 10, 11, broker=1),
            span(5, "follower-append", 8, 11, broker=2),
        ],
        10,
    ),
    "settings": (
        [
            event(0, "leader-elected", **A, leader=2, election="clean"),
            event(1_000_000, "setting-changed", name="unclean.leader.election.enable", subject="a", old="false", new="true"),
            event(2_000_000, "leader-elected", **A, leader=2, election="unclean"),
            span(2_000_000, "records-lost", 5, 12, lost_acknowledged=7, lost_read=2),
            event(61_000_000, "isr-expanded", broker=1, **A, isr=[1, 2], joined=[2]),
            event(61_000_001, "setting-changed", name="replica.lag.time.max.ms", subject="", old="30000", new="10000"),
            event(61_000_001, "isr-shrunk", broker=1, **A, isr=[1], out=[2]),
        ],
        90_000_000,
    ),
    "controllers": (
        [
            event(100, "controller-elected", controller="c1", controller_epoch=1, voters=3, majority=2),
            event(200, "controller-paused", controller="c2"),
            event(400, "controller-stopped", controller="c1"),
            event(450, "controller-started", controller="c1"),
            event(460, "controller-stopped", controller="c1"),
            event(900, "controller-elected", controller="b2", controller_epoch=2),
            event(950, "broker-stopped", broker=2, how="killed"),
            event(1_000, "controller-elected", controller="b3", controller_epoch=3),
            event(1_200, "controller-elected", controller="b1", controller_epoch=4),
        ],
        2_000,
    ),
    "harm": (
        [
            event(1, "records-exposed", **A, broker=3, from_offset=10, to_offset=20, records=8),
            event(2, "records-safe", **A, broker=2, why="it caught up"),
            event(3, "truncated", **A, broker=3, from_offset=10, to_offset=20),
            event(4, "records-lost", **A, broker=2, from_offset=10, to_offset=15, doomed_by=4, lost_acknowledged=4, lost_read=5),
            event(5, "records-safe", **A, broker=3, why="it leads"),
            event(6, "records-recovered", **A, broker=3, from_offset=15, to_offset=20),
            event(7, "records-recovered", **A, broker=3, from_offset=12, to_offset=15),
            event(8, "records-duplicated", **B, broker=1, from_offset=5, to_offset=7),
            event(9, "records-diverged", **B, broker=1, from_offset=0, to_offset=1),
        ],
        10,
    ),
    # A flap takes 60 s at most; replica 2 is away for one minute, then for a µs more; that 3 is new is no flap.
    "flapping": (
        [
            changed(0, 1, [1, 2]),
            changed(1, 1, [1]),
            changed(60_000_001, 1, [1, 2, 3]),
            changed(60_000_002, 1, [1, 3]),
            changed(120_000_003, 1, [1, 2, 3]),
            changed(0, 1, [1], **B),
        ],
        200_000_000,
    ),
    # Of broker 1: 10^9 bytes written at 1 s take 8.00004·10^9 ns of network threads' time in steps of 15·10^9, 12.00012·10^9 of handlers' 40·10^9;
    # of broker 2: 2.5·10^9 bytes take 20·10^9 ns, 5·10^9 of it in the second step. Replicated: 10 records of 10^8 bytes.
    "idle": (
        [
            event(1_000_000, "append", **A, broker=1, from_offset=0, to_offset=10, bytes=1_000_000_000),
            event(1_000_000, "append", **B, broker=2, from_offset=0, to_offset=1, bytes=2_500_000_000),
            event(11_000_000, "follower-append", **A, broker=3, leader=1, from_offset=0, to_offset=10),
            event(11_000_000, "follower-fetched", **A, broker=1, follower=3, new_offset=10),
        ],
        19_999_999,
    ),
    "produce-errors": (
        [
            event(1, "produce-failed", **A, acks=-1, records=10, attempt=1, error="REQUEST_TIMED_OUT", retry=True),
            event(2, "produce-acked", **A, acks=-1, records=10, attempt=2),
            *[event(3, "produce-acked", **A, acks=-1, records=10, attempt=1)] * 3,
            event(4, "produce-failed", **A, acks=-1, records=4, attempt=1, error="MESSAGE_TOO_LARGE", retry=False),
            event(5, "produce-failed", **B, acks=1, records=1, attempt=1, error="NOT_LEADER_OR_FOLLOWER", retry=True),
        ],
        10,
    ),
    "degraded": (
        [
            changed(0, 1, [1, 2, 3]),
            changed(0, 2, [2, 3], replicas=(2, 3), **A1),
            changed(1_000, 1, [1, 2]),
            changed(2_000, 1, [1]),
            changed(4_000, -1, [1]),
            changed(4_000, 2, [2], replicas=(2, 3), **A1),
            changed(5_000, 1, [1, 2, 3]),
            changed(6_000, 2, [2, 3], replicas=(2, 3), **A1),
            changed(8_000, 2, [2], replicas=(2, 3), **A1),
            changed(10_000, 2, [2, 3], replicas=(2, 3), **A1),
        ],
        10_000,
    ),
    "transactions": (
        [
            event(0, "became-leader", **A, broker=1),
            begun(1_000),
            state(1_500, "Ongoing", "a-0"),
            span(2_000, "append", 0, 4, broker=1, producer="app"),
            committed(2_500, 4),
            span(3_000, "append", 4, 10, broker=1, producer="load"),
            committed(3_500, 10),
            state(4_000, "PrepareCommit", "a-0"),
            event(4_200, "marker-appended", **A, broker=1, marker_offset=10, producer_id=7, first_offset=0),
            span(4_200, "append", 10, 11, broker=1, producer="app") | {"cause": 10},
            committed(4_500, 11),
            state(4_700, "CompleteCommit"),
            begun(5_000),
            state(5_100, "Ongoing", "a-0,b-3"),
            span(5_200, "append", 11, 12, broker=1, producer="app"),
            committed(5_300, 12),
            event(6_000, "transaction-refused", transactional_id="tx", request="InitProducerId", error="CONCURRENT_TRANSACTIONS"),
            event(6_100, "transaction-refused", transactional_id="ty", request="InitProducerId", error="CONCURRENT_TRANSACTIONS"),
            event(6_200, "marker-refused", **A, error="TRANSACTION_COORDINATOR_FENCED"),
            event(6_300, "verification-failed", **A, transactional_id="tx", error="INVALID_TXN_STATE"),
            span(7_000, "duplicate-dropped", 0, 4, producer="app"),
            span(7_100, "duplicate-dropped", 0, 3, B, producer="app"),
            event(8_000, "transaction-timed-out", transactional_id="tx"),
            state(8_100, "PrepareAbort", "a-0,b-3"),
        ],
        9_000,
    ),
    "lost-marker": (
        [
            event(0, "became-leader", **A, broker=1),
            begun(500),
            state(800, "Ongoing", "a-0"),
            span(1_000, "append", 0, 4, broker=1, producer="app"),
            committed(2_000, 4),
            state(2_400, "PrepareAbort", "a-0"),
            event(2_500, "marker-appended", **A, broker=1, marker_offset=4, producer_id=7, first_offset=0),
            committed(3_000, 5),
            state(3_500, "CompleteAbort"),
            event(5_000, "broker-stopped", broker=1),
            event(6_000, "became-leader", **A, broker=2, offset=4, high_watermark=4),
        ],
        9_000,
    ),
    # Broker 2 is out of the ISR when the topic is deleted, and the new topic of the same name begins with another leader.
    "deleted": (
        [
            changed(0, 1, [1, 2, 3]),
            leads(0, 1),
            acked(0),
            event(500_000, "setting-changed", name="min.insync.replicas", subject="a", old="2", new="3"),
            changed(1_000_000, 1, [1, 3]),
            event(2_000_000, "topic-deleted", topic="a", partitions=1),
            event(3_000_000, "setting-changed", name="min.insync.replicas", subject="", old="2", new="2"),
            changed(6_000_000, 2, [2, 1, 3]),
            leads(6_000_000, 2),
            changed(7_000_000, 2, [2, 3]),
        ],
        10_000_000,
    ),
    # A new coordinator does not know the first transaction; the successor of its producer begins again, and the old producer in vain.
    "begun-again": (
        [
            begun(1_000),
            state(1_500, "Ongoing", "a-0"),
            begun(4_000, epoch=1),
            begun(4_200),
            state(5_000, "Ongoing", "a-0", epoch=1),
            begun(5_500),
            state(6_000, "PrepareCommit", "a-0", epoch=1),
            state(6_300, "CompleteCommit", epoch=1),
        ],
        9_000,
    ),
    # Record 5 is lost when broker 2 leads; broker 2 writes another one there, which broker 1 copies and a group reads.
    "offset-reused": (
        [
            leads(0, 1),
            span(1_000, "append", 5, 7, broker=1, producer="app", leader_epoch=0),
            span(2_000, "produce-acked", 5, 7, producer="app", acks=1, records=2),
            span(2_500, "consumed", 5, 7, consumer="c", broker=1),
            event(3_000, "became-leader", **A, broker=2, offset=5),
            span(3_000, "records-lost", 5, 7, broker=2, epoch=0, lost_acknowledged=2, lost_read=2),
            span(4_000, "append", 5, 8, broker=2, producer="app", leader_epoch=1),
            span(4_100, "records-processed", 5, 7, client="c", group="g"),
            span(4_500, "truncated", 5, 7, broker=1),
            span(5_000, "follower-append", 5, 8, broker=1, leader=2),
            event(5_100, "high-watermark", **A, broker=2, old_offset=0, new_offset=8),
            span(5_200, "produce-acked", 5, 8, producer="app", acks=1, records=3),
            span(5_300, "consumed", 5, 8, consumer="c", broker=1),
            span(5_400, "records-processed", 5, 8, client="c", group="g"),
            event(5_500, "offset-committed", **A, group="g", committed_offset=8),
        ],
        9_000,
    ),
    # A new cluster needs 150 ms until its leaders lead, and a broker 2 ms until it has learned that it leads; 3 ms are more.
    "resolution": (
        [
            changed(0, 1, [1, 2]),
            leads(150_000, 1),
            changed(1_000_000, 2, [1, 2]),
            event(1_001_000, "became-follower", **A, broker=1, leader=2),
            leads(1_002_000, 2),
            changed(2_000_000, 1, [1, 2]),
            leads(2_003_000, 1),
        ],
        3_000_000,
    ),
    # The group commits 5 twice; its offset expires twice, the second time without having been committed again.
    "commits": (
        [
            leads(0, 1),
            committed(100, 9),
            event(200, "offset-committed", **A, group="g", committed_offset=5),
            event(300, "offset-committed", **A, group="g", committed_offset=5),
            event(400, "offset-materialized", **A, group="g", committed_offset=7),
            event(500, "offset-expired", **A, group="g", committed_offset=7),
            event(600, "offset-removed", **A, group="g", committed_offset=7),
            event(700, "offset-committed", **A, group="g", committed_offset=8),
        ],
        1_000,
    ),
    # Records 5 and 6 reach the destination after record 7, and 7 reaches it again.
    "delays": (
        [
            event(0, "service-started", worker="w", delay_us=500),
            span(1, "delayed-forwarded", 0, 8, worker="w", real_topic="b", late_us=3),
            span(2, "delayed-forwarded", 5, 12, worker="w", real_topic="b", late_us=9),
            span(3, "delayed-forwarded", 0, 1, A1, worker="w", real_topic="b", late_us=1),
        ],
        10,
    ),
    "nothing": ([], 0),
}  # fmt: skip


@summarized_together
def write_sessions(directory: Path) -> tuple[list[Path], None]:
    return [
        write_log(directory / f"{name}.jsonl", [CREATED, *events] if events else [], end) for name, (events, end) in SESSIONS.items()
    ], None


@pytest.fixture(scope="module")
def tables(summarized: Callable[[Writer], tuple[None, dict[str, Table]]]) -> dict[str, Table]:
    return summarized(write_sessions)[1]


def of(table: Table, session: str) -> list[tuple[Any, ...]]:
    """Return the rows of a session in order, without the name of the session."""
    return [tuple(row.values())[1:] for row in table if row["session"] == session]


def test_elections(tables: dict[str, Table]) -> None:
    # topic, elections, clean, preferred, eligible, unclean, last-known, offline, refused
    assert of(tables["elections"], "elections") == [("a", 4, 2, 1, 0, 1, 0, 0, 0), ("b", 2, 0, 0, 1, 0, 1, 1, 1)]


def test_isr_churn(tables: dict[str, Table]) -> None:
    # broker, shrinks, expands, dropped, readmitted, left, entered
    assert of(tables["isr_churn"], "churn") == [(1, 1, 1, 0, 0, 0, 0), (2, 0, 0, 1, 0, 1, 0), (3, 0, 0, 1, 1, 3, 1)]


def test_availability(tables: dict[str, Table]) -> None:
    # a-0: under-replicated 2,000–3,000, 7,000–8,000 and 9,000–10,000 (replica 4, being added, does not count); offline 3,000–7,000.
    assert of(tables["availability"], "availability") == [("a", 0, 9_000, 3_000, 3, 0, 0, 4_000, 1), ("b", 3, 6_000, 0, 0, 0, 0, 0, 0)]


def test_availability_of_a_killed_session_ends_with_its_last_event(tables: dict[str, Table]) -> None:
    assert of(tables["availability"], "killed") == [("a", 0, 800, 200, 1, 0, 0, 500, 1)]


def test_records(tables: dict[str, Table]) -> None:
    # accepted, acknowledged, unconfirmed, lost, lost acknowledged, lost read, recovered, duplicated, diverged, out of order
    assert of(tables["records"], "records") == [("a", 0, 150, 150, 7, 80, 34, 70, 10, 5, 3, 0), ("b", 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)]


def test_a_log_of_an_earlier_isrlab_does_not_say_who_had_the_lost_records(tables: dict[str, Table]) -> None:
    assert of(tables["records"], "old-records") == [("a", 0, 0, 0, 0, 80, None, None, 10, 0, 0, 0), ("b", 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)]
    assert [row[8:11] for row in of(tables["harm"], "old-records")] == [(90, None, None)]
    assert [row[-3:] for row in of(tables["settings"], "old-records")] == [(90, None, None)]


def test_produce_latency(tables: dict[str, Table]) -> None:
    # topic, acks, acknowledged, records, given up, unanswered, p50, p95, p99, max. Of 1…100 the nearest ranks are the numbers themselves; of 3 and 7 the first
    # is the median; of nineteen 5s and one 900 the 95th percentile is still a 5.
    assert of(tables["produce_latency"], "latency") == [
        ("a", -1, 100, 1_000, 0, 0, 50, 95, 99, 100, "", None),
        ("a", 1, 2, 15, 0, 0, 3, 7, 7, 7, "", None),
        ("b", -1, 20, 200, 0, 0, 5, 5, 900, 900, "", None),
    ]


def test_what_was_never_answered_counts_with_its_wait(tables: dict[str, Table]) -> None:
    # Acknowledged 51, given up 1 after 3.5 s, unanswered 2: sent at 6 s by both producers, waiting for 54 s at the end; those sent at
    # 5.5 s and 7 s are settled. Of 54 the 27th is 2 ms, the 52nd 4 s (the one given up after 3.5 s may be above it), the 54th 54 s.
    assert of(tables["produce_latency"], "unanswered") == [
        ("a", -1, 51, 510, 1, 2, 2_000, 4_000_000, 54_000_000, 54_000_000, "p95, p99, max", 6_000_000),
    ]


def test_stalls(tables: dict[str, Table]) -> None:
    rows = [row for row in tables["unavailability"] if row["session"] == "stall" and row["what"] == "stalled"]
    assert [(row["from_us"], row["to_us"], row["why"]) for row in rows] == [
        (2_000_000, 12_000_000, "b3 is down, the high watermark does not advance"),
        (20_000_000, 22_000_000, "b2 is cut off from the leader"),
    ]
    (row,) = [row for row in tables["availability"] if row["session"] == "stall"]
    assert (row["stalled_us"], row["stalled_times"], row["offline_us"]) == (12_000_000, 2, 7_000_000)
    stalled = [row for row in tables["degraded"] if row["session"] == "stall" and row["state"] == "stalled"]
    assert [(row["name"], row["windows"], row["some_us"], row["longest_us"]) for row in stalled] == [
        (name, 2, 12_000_000, 10_000_000) for name in ("b1", "b2", "b3", "a")
    ]


def test_a_slow_disk_of_the_leader_and_a_leader_that_does_not_lead_yet(tables: dict[str, Table]) -> None:
    def windows(topic: str, what: str) -> list[tuple[Any, ...]]:
        rows = [row for row in tables["unavailability"] if (row["session"], row["topic"], row["what"]) == ("slow-disk", topic, what)]
        return [(row["from_us"] / 1e6, row["to_us"] / 1e6, row["why"]) for row in rows]

    slow = [(start, end, "the leader's disk is slow") for start, end in ((2, 4.5), (7, 8.1), (20, 23), (26, 27))]
    assert windows("a", "stalled") == slow
    assert windows("b", "stalled") == slow[:3]
    for what in ("reads", "writes"):
        assert windows("a", what) == [(23, 26, "leader down, leader has not taken over yet")]
        assert windows("b", what) == [(23, 30, "leader down, leader has not taken over yet")]


def test_leadership(tables: dict[str, Table]) -> None:
    # broker, partitions, led, share in percent, led as preferred, taken over. Led in all: 9,000 of a-0, 10,000 of b-3.
    assert of(tables["leadership"], "windows") == [(1, 1, 2_000_000, 10, 2_000_000, 0), (2, 2, 17_000_000, 89, 0, 1)]


def test_the_states_of_a_partition_end_with_its_topic(tables: dict[str, Table]) -> None:
    # broker, partitions, led, share, preferred, taken over
    assert of(tables["leadership"], "deleted") == [(1, 1, 2_000_000, 33, 2_000_000, 0), (2, 1, 4_000_000, 66, 0, 0)]
    # topic, partition, observed, under-replicated, times, stalled, times, offline, times
    assert of(tables["availability"], "deleted") == [("a", 0, 6_000_000, 4_000_000, 2, 0, 0, 0, 0)]
    # min ISR, smallest ISR, at min, times, under min, times: 3 applied to the deleted topic only
    assert of(tables["min_isr"], "deleted") == [("a", 0, 2, 2, 3_000_000, 1, 1_000_000, 1)]
    assert [(row["from_us"], row["to_us"]) for row in tables["timeline"] if row["session"] == "deleted"] == [
        (0, 500_000), (500_000, 1_000_000), (1_000_000, 2_000_000), (6_000_000, 7_000_000), (7_000_000, 10_000_000),
    ]  # fmt: skip
    assert [(row["what"], row["from_us"], row["to_us"]) for row in tables["unavailability"] if row["session"] == "deleted"] == [
        ("writes", 1_000_000, 2_000_000)
    ]
    # broker, shrinks, expands, dropped, readmitted, left, entered: the new topic begins with all three
    assert of(tables["isr_churn"], "deleted") == [(1, 0, 0, 0, 0, 1, 0), (2, 0, 0, 0, 0, 1, 0)]
    assert of(tables["isr_flapping"], "deleted") == [("a", 0, 2, 0, 0, 2, None)]


def test_min_isr(tables: dict[str, Table]) -> None:
    # a-0: at min 2 1,000–3,000, under it until 4,000, when the topic's own 1 makes it at min again, until 7,500. Then 9 counts as 3 (4.1
    # caps it at the number of replicas): under min until 9,000. b-3 has two replicas, both in sync: never under-replicated.
    assert of(tables["min_isr"], "min-isr") == [("a", 0, 3, 1, 5_500, 2, 2_500, 2), ("b", 3, 2, 2, 0, 0, 0, 0)]


def test_degraded(tables: dict[str, Table]) -> None:
    # state, windows, some, longest, partitions' time, partitions. Topic a is under-replicated 1,000–4,000 (a-0), 4,000–6,000 and
    # 8,000–10,000 (a-1): two windows. At min 1,000–2,000, under min 2,000–6,000 and 8,000–10,000; a-0 is offline 4,000–5,000.
    both = [
        ("at min", 1, 1_000, 1_000, 1_000, 1),
        ("offline", 1, 1_000, 1_000, 1_000, 1),
        ("under min", 2, 6_000, 4_000, 6_000, 2),
        ("under-replicated", 2, 7_000, 5_000, 7_000, 2),
    ]
    # Broker 1 has a replica of a-0 only.
    one = [
        ("at min", 1, 1_000, 1_000, 1_000, 1),
        ("offline", 1, 1_000, 1_000, 1_000, 1),
        ("under min", 1, 2_000, 2_000, 2_000, 1),
        ("under-replicated", 1, 3_000, 3_000, 3_000, 1),
    ]
    rows = {("broker", "b1"): one, ("broker", "b2"): both, ("broker", "b3"): both, ("topic", "a"): both}
    assert of(tables["degraded"], "degraded") == [(*whose, *row) for whose, several in rows.items() for row in several]


def test_produce_errors(tables: dict[str, Table]) -> None:
    # topic, acks, acked, failed, per million, given up, its records, attempts: p50, p95, p99, max (of 1 1 1 1 2; of none)
    assert of(tables["produce_errors"], "produce-errors") == [
        ("a", -1, 4, 2, 333_333, 1, 4, 1, 2, 2, 2),
        ("b", 1, 0, 1, 1_000_000, 0, 0, None, None, None, None),
    ]


def test_unavailability(tables: dict[str, Table]) -> None:
    # From the leader's death at 1 s, which the controller notices at 2 s, to the election at 3 s, whose ISR is too small to write to.
    rows = [tuple(row.values()) for row in tables["unavailability"] if row["session"] == "windows"]
    both = [(6_000_000, 6_500_000, 500_000, "leader paused"), (9_000_000, 10_000_000, 1_000_000, "leader down")]
    assert [(topic, what, start, end, lasts, why) for _, topic, _, what, why, start, end, lasts in rows] == [
        ("a", "reads", 1_000_000, 3_000_000, 2_000_000, "leader down, no leader"),
        *(("a", "reads", *window) for window in both),
        ("a", "writes", 1_000_000, 5_000_000, 4_000_000, "ISR under min.insync.replicas, leader down, no leader"),
        *(("a", "writes", *window) for window in both),
        *(("b", "reads", *window) for window in both),
        # Led by broker 2, and yet nothing is acknowledged: broker 1 is in the ISR and never comes back.
        *(("b", "stalled", start, end, end - start, "b1 is down") for start, end in ((1_000_000, 6_000_000), (6_500_000, 9_000_000))),
        *(("b", "writes", *window) for window in both),
    ]


def test_what_only_the_delay_of_metadata_causes_is_left_out(tables: dict[str, Table]) -> None:
    rows = [row for row in tables["unavailability"] if row["session"] == "resolution"]
    assert [(row["what"], row["from_us"], row["lasts_us"]) for row in rows] == [("reads", 2_000_000, 3_000), ("writes", 2_000_000, 3_000)]
    overview = next(row for row in tables["overview"] if row["session"] == "resolution")
    assert (overview["no_reads_us"], overview["longest_no_writes_us"]) == (3_000, 3_000)


def test_lag(tables: dict[str, Table]) -> None:
    # topic, of, samples, p50, p95, p99, max. Behind at the appends: 10 − 1 and 11 − 8; the first append came before any high watermark.
    # Broker 2 has 0 and 8 of them then, broker 3, which does nothing, 2 both times.
    assert of(tables["lag"], "lag") == [
        ("a", "follower b2", 2, 3, 10, 10, 10),
        ("a", "follower b3", 2, 8, 9, 9, 9),
        ("a", "high watermark", 2, 3, 9, 9, 9),
    ]


def test_settings(tables: dict[str, Table]) -> None:
    # The minute after 1 s ends at 61 s, that moment included; elections, shrinks, expands, offline, produce errors; records lost,
    # of them acknowledged, read.
    assert of(tables["settings"], "settings") == [
        (3, 1_000_000, "unclean.leader.election.enable", "a", "false", "true", 1, 0, 1, 0, 0, 7, 7, 2),
        (7, 61_000_001, "replica.lag.time.max.ms", "", "30000", "10000", 0, 1, 0, 0, 0, 0, 0, 0),
    ]


def test_controllers(tables: dict[str, Table]) -> None:
    # event, at, controller, before, epoch, without
    assert of(tables["controllers"], "controllers") == [
        (2, 100, "c1", "", 1, 0),
        (7, 900, "b2", "c1", 2, 500),
        (9, 1_000, "b3", "b2", 3, 50),
        (10, 1_200, "b1", "b3", 4, 0),
    ]


def test_harm(tables: dict[str, Table]) -> None:
    # event, at, what, topic, doom, partition, from, to, records, of them acknowledged, read, broker, until, doomed by
    assert of(tables["harm"], "harm") == [
        (2, 1, "exposed", "a", "", 0, 10, 20, 8, None, None, 3, 5, 0),
        (5, 4, "lost", "a", "truncated", 0, 10, 15, 5, 4, 5, 2, 7, 4),
        (9, 8, "duplicated", "b", "", 3, 5, 7, 2, None, None, 1, None, 0),
        (10, 9, "diverged", "b", "", 3, 0, 1, 1, None, None, 1, None, 0),
    ]


def test_isr_flapping(tables: dict[str, Table]) -> None:
    # left, entered, flaps, replicas, longest away
    assert of(tables["isr_flapping"], "flapping") == [("a", 0, 2, 3, 1, 2, 60_000_001)]


def test_idle(tables: dict[str, Table]) -> None:
    # broker, requests, network idle, least, handlers idle, least; of four steps in all. Broker 1 worked 16 of 60 and 24 of 160 s of threads.
    assert of(tables["idle"], "idle") == [(1, 3, 74, 47, 85, 70), (2, 1, 67, 0, 82, 25)]


def test_timeline_and_curves(tables: dict[str, Table]) -> None:
    assert [row[5:8] + row[2:5] for row in of(tables["timeline"], "windows") if row[0] == "a"] == [
        (0, 2_000_000, 2, "1,2,3", "in sync", 1),
        (2_000_000, 3_000_000, 2, "1", "offline", -1),
        (3_000_000, 5_000_000, 2, "2", "under min", 2),
        (5_000_000, 10_000_000, 2, "2,3", "at min", 2),
    ]
    # Of 120 pieces of 10 µs each is shorter than one µs: every time is a point, with the last value at that time.
    assert of(tables["curves"], "lag") == [("a", 0, 0, 3, 1), ("a", 0, 1, 10, None), ("a", 0, 3, None, 8), ("a", 0, 4, 11, None)]


def test_a_trace_ends_with_its_record_if_the_offset_is_used_again(tables: dict[str, Table]) -> None:
    rows = [row for row in tables["traces"] if row["session"] == "offset-reused"]
    assert [(row["offset"], row["number"], row["step"], row["node"], row["at_us"]) for row in rows] == [
        (5, 1, "appended", "b1", 1_000),
        (5, 2, "acked", "app", 2_000),
        (5, 3, "read", "c", 2_500),
        (5, 4, "lost", "b2", 3_000),
        (5, 5, "processed", "c", 4_100),
    ]


def test_transactions(tables: dict[str, Table]) -> None:
    # id, outcome, transactions, incomplete; until decided: p50, p95, p99, max; until complete.
    assert of(tables["transactions"], "transactions") == [
        ("tx", "aborted", 1, 1, *[3_100] * 4, *[None] * 4),
        ("tx", "committed", 1, 0, *[3_000] * 4, *[700] * 4),
    ]
    # id, decided, aborted, per million, timed out
    assert of(tables["aborted_transactions"], "transactions") == [("tx", 2, 1, 500_000, 1)]
    assert of(tables["aborted_transactions"], "lost-marker") == [("tx", 1, 1, 1_000_000, 0)]


def test_a_transaction_that_its_successor_begins_again_keeps_its_row(tables: dict[str, Table]) -> None:
    # transactional ID, outcome, transactions, incomplete, p50, p95, p99, and most until decided, p50, p95, p99, and most until complete
    assert of(tables["transactions"], "begun-again") == [
        ("tx", "committed", 1, 0, *[2_000] * 4, *[300] * 4),
        ("tx", "open", 1, 0, *[None] * 8),
    ]


def test_stable_offsets(tables: dict[str, Table]) -> None:
    # held, windows, longest, largest gap, at the end. First 2,500 to 4,500 at offset 0, when the high watermark was 10; then from 5,300 on.
    assert of(tables["stable_offsets"], "transactions") == [("a", 0, 2_000 + 3_700, 2, 3_700, 10, 1)]
    # 2,000 to 3,000 on broker 1; broker 2 lacks the marker and leads from 6,000 on.
    assert of(tables["stable_offsets"], "lost-marker") == [("a", 0, 1_000 + 3_000, 2, 3_000, 4, 1)]
    # broker, from, to, LSO, time
    assert [row[2:] for row in of(tables["held"], "lost-marker")] == [(1, 2_000, 3_000, 0, 1_000), (2, 6_000, 9_000, 0, 3_000)]


def test_hanging_transactions(tables: dict[str, Table]) -> None:
    # producer ID, transactional ID, coordinator, status, first offset, since, open for
    assert of(tables["hanging_transactions"], "transactions") == [
        ("a", 0, 7, "tx", "PrepareAbort", "waits for marker", 11, 5_200, 3_800),
    ]
    assert of(tables["hanging_transactions"], "lost-marker") == [("a", 0, 7, "tx", "CompleteAbort", "hanging", 0, 1_000, 8_000)]


def test_duplicates_and_refusals(tables: dict[str, Table]) -> None:
    # producer, batches, records, partitions, first, last
    assert of(tables["duplicates"], "transactions") == [("app", 2, 7, 2, 7_000, 7_100)]
    # request, error, refusals, transactional IDs, first, last
    assert of(tables["refusals"], "transactions") == [
        ("InitProducerId", "CONCURRENT_TRANSACTIONS", 2, 2, 6_000, 6_100),
        ("Produce", "INVALID_TXN_STATE", 1, 1, 6_300, 6_300),
        ("WriteTxnMarkers", "TRANSACTION_COORDINATOR_FENCED", 1, 0, 6_200, 6_200),
    ]


def test_only_changes_of_the_committed_offset_count(tables: dict[str, Table]) -> None:
    # group, topic, partition, commits, committed offset, high watermark, lag, most, since when, mean
    assert of(tables["group_lag"], "commits") == [("g", "a", 0, 4, 8, 9, 1, 4, 200, 2)]


def test_delays_count_each_overtaken_record(tables: dict[str, Table]) -> None:
    (row,) = (row for row in tables["delays"] if row["session"] == "delays")
    assert (row["worker"], row["real_topic"], row["records"], row["inversions"]) == ("w", "b", 16, 2)


def test_errors(tables: dict[str, Table]) -> None:
    assert of(tables["errors"], "errors") == [
        ("NOT_ENOUGH_REPLICAS", "append-refused", 1, 0, 5, 5),
        ("NOT_ENOUGH_REPLICAS", "produce-failed", 3, 1, 3, 9),
        ("UNKNOWN_LEADER_EPOCH", "fetch-failed", 1, 0, 6, 6),
    ]


def test_a_session_without_events_has_no_rows(tables: dict[str, Table]) -> None:
    assert all(of(table, "nothing") == [] for name, table in tables.items() if name != "overview")
    assert set(of(tables["overview"], "nothing")[0]) == {0}


def test_rows_are_sorted_by_session_first(tables: dict[str, Table]) -> None:
    for name, table in tables.items():
        sessions = [row["session"] for row in table if name != "overview"]
        assert sessions == sorted(sessions)
    assert len({row["session"] for row in tables["availability"]}) == 12


def test_overview(tables: dict[str, Table], tables_together: dict[str, Table]) -> None:
    rows = {row["session"]: row for row in tables["overview"]}
    assert rows.keys() == SESSIONS.keys(), "a row for each session"
    assert {name: value for name, value in rows["records"].items() if value} == {
        "session": "records", "end_us": 10, "events": 12, "records_acknowledged": 150, "records_lost": 80, "records_lost_acknowledged": 34,
        "records_lost_read": 70, "records_recovered": 10, "records_duplicated": 5, "records_diverged": 3, "produce_p50_us": 3,
        "produce_p99_us": 3,
    }  # fmt: skip
    old_rows = rows["old-records"]
    assert (old_rows["records_lost"], old_rows["records_lost_acknowledged"], old_rows["records_lost_read"]) == (80, None, None)
    windows = rows["windows"]
    assert (windows["no_reads_us"], windows["longest_no_reads_us"]) == (5_000_000, 2_000_000), "a-0: 2 s, 0.5 s and 1 s; b-3: 0.5 s and 1 s"
    assert (windows["no_writes_us"], windows["longest_no_writes_us"]) == (7_000_000, 4_000_000)
    assert (rows["controllers"]["controllers_elected"], rows["harm"]["times_exposed"], rows["harm"]["records_lost"]) == (4, 1, 5 - 5 - 3)
    assert (rows["lost-marker"]["transactions_hanging"], rows["transactions"]["transactions_hanging"]) == (1, 0)
    assert (rows["transactions"]["held_us"], rows["transactions"]["longest_held_us"]) == (5_700, 3_700)
    every, *others = sorted(tables_together["overview"], key=lambda row: row["session"] is not None)
    assert every["session"] is None, "a row for all, also those of other modules"
    assert every["records_lost"] == sum(row["records_lost"] for row in others)
    assert every["longest_no_writes_us"] == max(row["longest_no_writes_us"] for row in others)
    assert every["records_lost_acknowledged"] is None, "one of them is not known"
