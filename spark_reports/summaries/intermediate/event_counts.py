"""Counts the frequent events in one pass, grouped by everything that summaries distinguish.

A million events become some ten thousand rows, which stay in memory. All summaries that need only counts read these rows; otherwise
each of them would scan all events.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from core.kafka.health import STALL_BOUND
from core.lab.metrics.meter import TICK

REQUESTS: Final = ("append", "append-refused", "consumed", "fetch-failed", "follower-append", "follower-fetched")
"""Kinds that tell of a request to a broker."""

PRODUCED: Final = ("produce-acked", "produce-failed")
"""Kinds that tell what became of a batch that was sent."""

HARMED: Final = ("records-lost", "lost-records-seen", "records-recovered", "records-duplicated", "records-diverged")
"""Kinds that tell which records were harmed, or are again what they were."""

LOST: Final = ("lost_acknowledged", "lost_read")
"""Columns of lost records that logs of an earlier isrlab lack."""

SUMS: Final = ("records", "span", "bytes", *LOST)
"""What is added up."""

_KEYS: Final = ("session", "topic", "partition", "kind", "broker", "step", "late", "sent_us", "acks", "latency_us", "attempt", "retry")

_LATE: Final = f"kind = 'produce-acked' AND latency_us > {STALL_BOUND}"
"""It took so long that the log may say that the batch waited (`produce-waiting`)."""


def _in(kinds: tuple[str, ...]) -> str:
    return f"kind IN ({', '.join(map(repr, kinds))})"


def event_counts(events: DataFrame) -> DataFrame:
    """How many events of `REQUESTS`, `PRODUCED` and `HARMED` there are, and what they add up to.

    Rows `session, topic, partition, kind`; of requests the `broker` asked and the `step` (of `meter.TICK`) they came in; of batches that
    were acknowledged after more than `STALL_BOUND` the producer (`late`) and when each was first sent (`sent_us`); `acks`, `latency_us`, `attempt` and `retry` of those that have them; then `events`, and the sums of `records`, `span` (offsets),
    `bytes`, `lost_acknowledged` and `lost_read`; of the last two null where an earlier isrlab did not write them to the log.
    """
    request = _in(REQUESTS)
    return (
        events.where(_in(REQUESTS + PRODUCED + HARMED))
        .selectExpr(
            *_KEYS[:4],
            f"CASE WHEN kind IN ('follower-append', 'fetch-failed') THEN leader WHEN {request} THEN broker END AS broker",
            f"CASE WHEN {request} THEN t div {TICK} END AS step",
            f"CASE WHEN {_LATE} THEN producer END AS late",
            f"CASE WHEN {_LATE} THEN t - latency_us END AS sent_us",
            *_KEYS[8:],
            "records",
            "to_offset - from_offset AS span",
            "bytes",
            *LOST,
        )
        .groupBy(*_KEYS)
        .agg(F.count(F.lit(1)).alias("events"), *(F.sum(name).alias(name) for name in SUMS))
    )
