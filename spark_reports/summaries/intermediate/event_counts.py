"""Counts the frequent events in one pass, grouped by all columns whose values summaries distinguish.

A million events become about ten thousand rows of counts, which stay in memory. All summaries that need only counts read the rows of counts
instead of scanning all events.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from core.kafka.health import STALL_BOUND
from core.lab.audit.buckets import DEFAULT_BUCKET
from core.lab.metrics.meter import TICK
from spark_reports.rows.schema import FREQUENT_KINDS

REQUESTS: Final = ("append", "append-refused", "consumed", "fetch-failed", "follower-append", "follower-fetched")
"""The event kinds that record a request to a broker."""

PRODUCED: Final = ("produce-acked", "produce-failed")
"""The event kinds that record the result of sending a batch."""

HARMED: Final = ("records-lost", "lost-records-seen", "records-recovered", "records-duplicated", "records-diverged", "records-out-of-order")
"""The event kinds that report harm to records, or the recovery of harmed records."""

LOST: Final = ("lost_acknowledged", "lost_read")
"""The columns that count lost records, which logs from earlier isrlab versions lack."""

SUMS: Final = ("records", "span", "bytes", *LOST)
"""The columns whose values are summed."""

COUNTED: Final = tuple(sorted({*REQUESTS, *PRODUCED, *HARMED, *FREQUENT_KINDS}))
"""The event kinds that are counted."""

BUCKET: Final = f"({{}}) div {DEFAULT_BUCKET} * {DEFAULT_BUCKET}"
"""An SQL template for the bucket of the message audit to which a time belongs, in µs."""

_KEYS: Final = (
    "session",
    "topic",
    "partition",
    "kind",
    "broker",
    "step",
    "late",
    "sent_us",
    "bucket_us",
    "acks",
    "latency_us",
    "attempt",
    "retry",
)

_LATE: Final = f"kind = 'produce-acked' AND latency_us > {STALL_BOUND}"
"""An SQL condition that is true if the log may contain a `produce-waiting` event for the acknowledged batch."""


def _in(kinds: tuple[str, ...]) -> str:
    return f"kind IN ({', '.join(map(repr, kinds))})"


def event_counts(events: DataFrame) -> DataFrame:
    """Return counts and sums of the events of `COUNTED`.

    All rows have the columns `session, topic, partition, kind`. Rows of requests also have the `broker` that received the requests and the
    `step` (the time in units of `meter.TICK`). Rows for batches whose acknowledgment took longer than `STALL_BOUND` also have the producer
    (`late`) and the time of the first send (`sent_us`). Rows for acknowledged batches also have the bucket in which the batches were created
    (`bucket_us`). `acks`, `latency_us`, `attempt`, and `retry` are set if the event has them. The other columns are the count `events`, the
    times of the first and the last event (`first_us`, `last_us`), and the sums of `records`, `span` (offsets), `bytes`,
    `lost_acknowledged`, and `lost_read`. If an earlier isrlab version wrote the log, `lost_acknowledged` and `lost_read` are null.
    """
    request = _in(REQUESTS)
    return (
        events.where(_in(COUNTED))
        .selectExpr(
            *_KEYS[:4],
            f"CASE WHEN kind IN ('follower-append', 'fetch-failed') THEN leader WHEN {request} THEN broker END AS broker",
            f"CASE WHEN {request} THEN t div {TICK} END AS step",
            f"CASE WHEN {_LATE} THEN producer END AS late",
            f"CASE WHEN {_LATE} THEN t - latency_us END AS sent_us",
            f"CASE WHEN kind = 'produce-acked' THEN {BUCKET.format('t - latency_us')} END AS bucket_us",
            *_KEYS[9:],
            "t",
            "records",
            "to_offset - from_offset AS span",
            "bytes",
            *LOST,
        )
        .groupBy(*_KEYS)
        .agg(
            F.count(F.lit(1)).alias("events"),
            F.min("t").alias("first_us"),
            F.max("t").alias("last_us"),
            *(F.sum(name).alias(name) for name in SUMS),
        )
    )
