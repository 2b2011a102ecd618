"""Computes the lag of each group in each partition. Each row covers the time from one change to the next.

The lag is the high watermark of the partition's leader minus the committed offset of the group. An event log contains every change to the
high watermark and to the committed offset, so the lag is exact at every moment. The lag is negative if the leader's log ends before the
committed offset, for example after an unclean election. Before a group's first commit, the group has no lag.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.summaries.intermediate.partition_states import PARTITION

REMOVAL_KINDS: Final = ("offset-deleted", "offset-expired", "offset-removed")
"""The event kinds that remove committed offsets."""

COMMIT_KINDS: Final = ("offset-committed", "offset-materialized", *REMOVAL_KINDS)
"""The event kinds that change committed offsets."""

LAG_KINDS: Final = (*COMMIT_KINDS, "became-leader", "high-watermark")
"""The event kinds that `group_lags` needs."""

LAG_COLUMNS: Final = ("group", "topic", "partition", "committed_offset", "broker", "new_offset", "high_watermark")
"""The event columns that `group_lags` needs."""

OF_GROUP: Final = ("session", "group", "topic", "partition")
"""The columns that identify a partition that a group reads."""

NO_OFFSET: Final = -1
"""The value that is used as the committed offset of a group that has not committed an offset."""


def group_lags(events: DataFrame, sessions: DataFrame) -> DataFrame:
    """Return rows `session, group, topic, partition, seq, t, until, changed, committed, log_end, lag`.

    Each row is a commit, a removal of the committed offset, or a change of the high watermark. `changed` is true if the committed offset
    has changed. `log_end` is the high watermark. `lag` is null if the group has
    no committed offset or the high watermark is not known. `until` is the time of the next change.

    Args:
        events: all events; only those of `LAG_KINDS` are used.
        sessions: the sessions, each with the time at which it ended.
    """
    commits = events.where(F.col("kind").isin(*COMMIT_KINDS)).select(
        *OF_GROUP,
        "seq",
        "t",
        F.when(F.col("kind").isin(*REMOVAL_KINDS), F.lit(NO_OFFSET)).otherwise(F.col("committed_offset")).alias("committed"),
    )
    pairs = commits.select(*OF_GROUP).distinct()
    marks = _high_watermarks(events).join(F.broadcast(pairs), list(PARTITION))
    history = Window.partitionBy(*OF_GROUP).orderBy("seq")
    return (
        commits.unionByName(marks, allowMissingColumns=True)
        .withColumns({name: F.last(name, ignorenulls=True).over(history) for name in ("committed", "log_end")})
        .withColumn("former", F.lag("committed").over(history))
        .withColumn("following", F.lead("t").over(history))
        .join(F.broadcast(sessions.select("session", "end_us")), "session")
        .select(
            *OF_GROUP,
            "seq",
            "t",
            F.coalesce("following", F.greatest("end_us", "t")).alias("until"),
            (F.coalesce("committed", F.lit(NO_OFFSET)) != F.coalesce("former", F.lit(NO_OFFSET))).alias("changed"),
            "committed",
            "log_end",
            F.when(F.col("committed") != NO_OFFSET, F.col("log_end") - F.col("committed")).alias("lag"),
        )
    )


def _high_watermarks(events: DataFrame) -> DataFrame:
    """Return the high watermarks of the newest leaders: `session, topic, partition, seq, t, log_end`."""
    kind = F.col("kind")
    in_order = Window.partitionBy(*PARTITION).orderBy("seq")
    return (
        events.where(kind.isin("became-leader", "high-watermark"))
        .select(
            *PARTITION,
            "seq",
            "t",
            "broker",
            F.when(kind == "became-leader", F.col("broker")).alias("elected"),
            F.when(kind == "became-leader", F.col("high_watermark")).otherwise(F.col("new_offset")).alias("log_end"),
        )
        .withColumn("newest", F.last("elected", ignorenulls=True).over(in_order))
        .where("broker = newest")
        .select(*PARTITION, "seq", "t", "log_end")
    )
