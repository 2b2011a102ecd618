"""Counts the frequent events in one pass, grouped by all columns that summaries distinguish.

A million events become some ten thousand rows, which stay in memory. All summaries that need only counts read these rows instead
of scanning all events.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from core.kafka.health import STALL_BOUND
from core.lab.metrics.meter import TICK

REQUESTS: Final = ("append", "append-refused", "consumed", "fetch-failed", "follower-append", "follower-fetched")
"""The event kinds that record a request to a broker."""

PRODUCED: Final = ("produce-acked", "produce-failed")
"""The event kinds that record the result of sending a batch."""

HARMED: Final = ("records-lost", "lost-records-seen", "records-recovered", "records-duplicated", "records-diverged")
"""The event kinds that record the harmed or recovered records."""

LOST: Final = ("lost_acknowledged", "lost_read")
"""The columns of lost records, which logs of an earlier isrlab version lack."""

SUMS: Final = ("records", "span", "bytes", *LOST)
"""The columns that are summed."""

_KEYS: Final = ("session", "topic", "partition", "kind", "broker", "step", "late", "sent_us", "acks", "latency_us", "attempt", "retry")

_LATE: Final = f"kind = 'produce-acked' AND latency_us > {STALL_BOUND}"
"""A condition that is true if the log can contain a `produce-waiting` event for the acknowledged batch."""


def _in(kinds: tuple[str, ...]) -> str:
    return f"kind IN ({', '.join(map(repr, kinds))})"


def event_counts(events: DataFrame) -> DataFrame:
    """Return counts and sums of the events of `REQUESTS`, `PRODUCED`, and `HARMED`.

    The rows are `session, topic, partition, kind`. Requests have the `broker` that received them and their `step` (in units of
    `meter.TICK`). Batches that were acknowledged after more than `STALL_BOUND` have their producer (`late`) and the time of the first
    send (`sent_us`). `acks`, `latency_us`, `attempt`, and `retry` are set if the event has them. The other columns are the count `events`
    and the sums of `records`, `span` (offsets), `bytes`, `lost_acknowledged`, and `lost_read`. `lost_acknowledged` and `lost_read` are
    null if an earlier isrlab version wrote the log.
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
