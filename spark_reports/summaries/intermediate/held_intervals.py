"""Intervals in which a transaction held back the last stable offset (LSO) of a leader.

A transaction holds back the LSO from the moment at which the high watermark passes the transaction's first offset until the high watermark
passes the transaction's marker. While several transactions hold the LSO back, the LSO is the lowest of their first offsets.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.summaries.intermediate.partition_states import PARTITION

HELD_KINDS: Final = ("became-follower", "became-leader", "broker-stopped", "high-watermark")
"""The event kinds that `held_intervals` needs, apart from those of `partition_transactions`."""

HELD_COLUMNS: Final = ("topic", "partition", "broker", "new_offset", "high_watermark")
"""The event columns that `held_intervals` needs, apart from those of `partition_transactions`."""

_TERM: Final = (*PARTITION, "broker", "term")


def held_intervals(transactions: DataFrame, events: DataFrame, infrequent: DataFrame, sessions: DataFrame) -> DataFrame:
    """Return rows `session, topic, partition, broker, from_us, to_us, offset, gap, at_end`.

    `offset` is the LSO in this interval, and `gap` is the largest number of offsets between the LSO and the high watermark. `at_end` says
    whether the interval lasts until the end of the log. The intervals of a leader do not overlap and are not empty.

    Args:
        transactions: the result of `partition_transactions`, which must be cached because it is read several times.
        events: all events; only their `high-watermark` events are used.
        infrequent: the infrequent events.
        sessions: a row for each session.
    """
    partitions = F.broadcast(transactions.select(*PARTITION).distinct())
    terms = _terms(infrequent, sessions).join(partitions, list(PARTITION), "left_semi")
    steps = _steps(terms, events.where("kind = 'high-watermark'").join(partitions, list(PARTITION), "left_semi")).cache()
    pairs = transactions.join(terms, list(PARTITION)).where("term >= valid_from AND coalesce(term < valid_to, true)")
    points = pairs.selectExpr(*_TERM, "inline(array(struct(first_offset AS at), struct(marker_offset AS at)))").where("at IS NOT NULL")
    passed = _passed(points.distinct(), steps).cache()
    first = passed.withColumnsRenamed({"at": "first_offset", "passed_us": "from_us"}).drop("before")
    last = passed.withColumnsRenamed({"at": "marker_offset", "passed_us": "ends_us"})
    highest = steps.groupBy(*_TERM).agg(F.max("reached").alias("highest"))
    whole = (
        pairs.join(first, [*_TERM, "first_offset"])
        .join(last, [*_TERM, "marker_offset"], "left")
        .join(highest, list(_TERM))
        .selectExpr(
            *_TERM, "first_offset AS offset", "seq", "from_us", "least(coalesce(ends_us, term_ends_us), term_ends_us) AS to_us",
            "coalesce(before, highest) - first_offset AS gap", "ends_us IS NULL AND lasts AS at_end",
        )
        .where("from_us < to_us")
    )  # fmt: skip
    # Within a term, the high watermark passes lower offsets first. A transaction determines the LSO when those before it have ended.
    lower = Window.partitionBy(*_TERM).orderBy("offset", "seq").rowsBetween(Window.unboundedPreceding, -1)
    return (
        whole.withColumn("from_us", F.greatest("from_us", F.coalesce(F.max("to_us").over(lower), F.lit(0))))
        .where("from_us < to_us")
        .drop("term", "seq")
    )


def _terms(infrequent: DataFrame, sessions: DataFrame) -> DataFrame:
    """Return the terms during which brokers led partitions: rows `session, topic, partition, broker, term, from_us, term_ends_us, lasts,
    start`.

    `term` is the number of the event with which the term began, and `start` is the high watermark at that time. `lasts` says whether the
    leader's term lasts until the end of the log.
    """
    process = Window.partitionBy("session", "broker").orderBy(F.desc("seq")).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    role = Window.partitionBy(*PARTITION, "broker").orderBy("seq")
    return (
        infrequent.where(F.col("kind").isin("became-leader", "became-follower", "broker-stopped"))
        .withColumn("stops", F.last(F.expr("CASE WHEN kind = 'broker-stopped' THEN t END"), ignorenulls=True).over(process))
        .where("kind <> 'broker-stopped'")
        .withColumn("ends", F.least(F.lead("t").over(role), "stops"))
        .where("kind = 'became-leader'")
        .join(F.broadcast(sessions.select("session", "end_us")), "session")
        .selectExpr(
            *PARTITION, "broker", "seq AS term", "t AS starts_us", "coalesce(ends, greatest(end_us, t)) AS term_ends_us",
            "ends IS NULL AS lasts", "high_watermark AS start",
        )
    )  # fmt: skip


def _steps(terms: DataFrame, advanced: DataFrame) -> DataFrame:
    """Return each advance of the high watermark during a term: the columns of the term, and `t`, `reached`, and `before`."""
    starts = terms.selectExpr(*_TERM, "term AS seq", "starts_us AS t", "start AS reached")
    rises = advanced.selectExpr(*PARTITION, "broker", "CAST(NULL AS BIGINT) AS term", "seq", "t", "new_offset AS reached")
    leader = Window.partitionBy(*PARTITION, "broker").orderBy("seq").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    so_far = Window.partitionBy(*_TERM).orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    return (
        starts.unionByName(rises)
        .withColumn("term", F.last("term", ignorenulls=True).over(leader))
        .where("term IS NOT NULL")
        .withColumn("before", F.max("reached").over(so_far))
        .where("before IS NULL OR reached > before")
    )


def _passed(points: DataFrame, steps: DataFrame) -> DataFrame:
    """For each offset `at`, return the time at which the high watermark passed the offset during the leader's term, and the previous high
    watermark."""
    rows = points.withColumn("step", F.lit(None).cast("struct<passed_us: bigint, before: bigint>")).unionByName(
        steps.select(*_TERM, F.col("reached").alias("at"), F.struct(F.col("t").alias("passed_us"), "before").alias("step"))
    )
    # From the highest offset down, the last step above an offset is the one that passed it.
    downwards = Window.partitionBy(*_TERM).orderBy(F.desc("at"), F.asc_nulls_first("step")).rowsBetween(Window.unboundedPreceding, -1)
    found = rows.withColumns({"is_point": F.col("step").isNull(), "found": F.last("step", ignorenulls=True).over(downwards)})
    return found.where("is_point AND found IS NOT NULL").select(*_TERM, "at", "found.passed_us", "found.before")
