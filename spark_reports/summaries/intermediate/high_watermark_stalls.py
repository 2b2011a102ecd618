"""Intervals in which the high watermark stayed below the log end for too long."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from core.kafka.health import STALL_BOUND
from spark_reports.summaries.intermediate.partition_states import PARTITION

PROGRESS_KINDS: Final = ("append", "became-leader", "high-watermark")
"""The event kinds that `high_watermark_stalls` needs."""

PROGRESS_COLUMNS: Final = ("topic", "partition", "leader_epoch", "to_offset", "offset", "new_offset", "high_watermark")
"""The event columns that `high_watermark_stalls` needs."""


def high_watermark_stalls(events: DataFrame) -> DataFrame:
    """Return rows `session, topic, partition, from_us, to_us` for the intervals in which the high watermark did not advance.

    A row means that the high watermark stayed below the log end without advancing for longer than `STALL_BOUND`.

    If the high watermark has not advanced by the end of the log, `to_us` is null. An interval that lasts until the end of the log has a row
    even if the interval is short. An interval begins when an append moves the log end above the high watermark. An interval also begins
    when the high watermark advances or a new leader takes over, if the high watermark is then still below the log end. An interval ends
    when the high watermark advances, or when a new leader takes over. Events from a leader with an outdated epoch are ignored.
    """
    # This query sorts many events. It therefore uses a hash instead of names (`lag_counts`).
    history = Window.partitionBy("of_partition").orderBy("seq")
    so_far = history.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    before = history.rowsBetween(Window.unboundedPreceding, -1)
    waits = "coalesce(log_end > coalesce(committed, -1), false)"
    known = (
        events.where(F.col("kind").isin(*PROGRESS_KINDS))
        .selectExpr(
            *PARTITION,
            f"xxhash64({', '.join(PARTITION)}) AS of_partition",
            "seq",
            "t",
            "leader_epoch",
            "kind <> 'append' AS moves",
            "CASE kind WHEN 'append' THEN to_offset WHEN 'became-leader' THEN offset END AS log_end",
            "CASE kind WHEN 'high-watermark' THEN new_offset WHEN 'became-leader' THEN high_watermark END AS committed",
        )
        .withColumn("epoch", F.max("leader_epoch").over(so_far))
        .where("leader_epoch = epoch")
    )
    ends = ("log_end", "committed")
    told = known.withColumns(
        {name: F.last(name, ignorenulls=True).over(so_far) for name in ends}
        | {f"{name}_before": F.last(name, ignorenulls=True).over(before) for name in ends}
    )
    waited = "coalesce(log_end_before > coalesce(committed_before, -1), false)"
    return (
        told.selectExpr(*PARTITION, "of_partition", "seq", "t", "moves", f"{waits} AS waits", f"{waited} AS waited")
        .where("moves OR waits <> waited")
        .withColumn("next", F.lead("t").over(history))
        .where(f"waits AND coalesce(next - t > {STALL_BOUND}, true)")
        .selectExpr(*PARTITION, "t AS from_us", "next AS to_us")
    )


def end_with_session(still: DataFrame, sessions: DataFrame) -> DataFrame:
    """Return the rows of `high_watermark_stalls`. An interval without an end lasts until the end of the session."""
    return (
        still.join(F.broadcast(sessions.select("session", "end_us")), "session")
        .selectExpr(*PARTITION, "from_us", "coalesce(to_us, end_us) AS to_us")
        .where(f"to_us - from_us > {STALL_BOUND}")
    )
