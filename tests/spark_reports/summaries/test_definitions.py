"""The partition states in reports agree with those in `core.kafka.health`, for every possible small partition."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from core.kafka import health
from core.kafka.health import PartitionStatus
from core.kafka.ids import NO_LEADER
from core.kafka.partition_registration import PartitionRegistration
from spark_reports.severity import RANKS, STATE_WORDS
from spark_reports.summaries.intermediate import partition_states

pytestmark = pytest.mark.spark

MIN_ISRS = (1, 2, 3, 4)


def partitions() -> list[PartitionRegistration]:
    """Return all partitions with one to three replicas. Any of the replicas can be in sync or being added, with and without a leader."""
    found = []
    for count in (1, 2, 3):
        replicas = (1, 2, 3)[:count]
        some = [each for size in range(count + 1) for each in itertools.combinations(replicas, size)]
        for isr, adding, leader in itertools.product(some, some[:-1], (NO_LEADER, 1)):
            found.append(PartitionRegistration(replicas, isr, leader, 1, 1, adding=adding))
    return found


def test_what_reports_count_is_what_core_says(spark: Any) -> None:
    every = [(p, asked, capped) for p in partitions() for asked in MIN_ISRS for capped in (True, False)]
    rows = [(n, p.leader, list(p.replicas), list(p.isr), list(p.adding), asked, capped) for n, (p, asked, capped) in enumerate(every)]
    schema = "n INT, leader INT, replicas ARRAY<INT>, isr ARRAY<INT>, adding ARRAY<INT>, asked INT, capped_min_isr BOOLEAN"
    frame = spark.createDataFrame(rows, schema)
    frame = frame.withColumn("min_isr", partition_states.effective_min_isr(frame["asked"])).select(
        "n",
        "min_isr",
        partition_states.offline().alias("offline"),
        partition_states.under_replicated().alias("under_replicated"),
        partition_states.under_min().alias("under_min"),
        partition_states.at_min().alias("at_min"),
        partition_states.worst_state().alias("worst"),
    )
    seen = set()
    for row in frame.orderBy("n").collect():
        p, asked, capped = every[row["n"]]
        min_isr = health.effective_min_isr(asked, len(p.replicas), capped=capped)
        status = health.status_of(p, min_isr, leader_serves=True)
        assert row["min_isr"] == min_isr, (p, asked, capped)
        assert row["offline"] is health.is_offline(p), p
        assert row["under_replicated"] is health.is_under_replicated(p), p
        assert row["under_min"] is health.is_under_min_isr(p, min_isr), (p, min_isr)
        assert row["at_min"] is (health.is_under_replicated(p) and health.is_at_min_isr(p, min_isr)), (p, min_isr)
        assert row["worst"] == STATE_WORDS[status], (p, min_isr)
        seen.add(status)
    running = {PartitionStatus.STALLED, PartitionStatus.LEADER_UNAVAILABLE, PartitionStatus.READS_HELD}
    assert seen == set(PartitionStatus) - running, "the others take a running cluster"


def test_the_worst_is_the_same_as_on_screens() -> None:
    order = [STATE_WORDS[status] for status in sorted(PartitionStatus, reverse=True) if status in STATE_WORDS]
    assert list(RANKS["state"]) == order == ["in sync", "under-replicated", "at min", "stalled", "under min", "offline"]
