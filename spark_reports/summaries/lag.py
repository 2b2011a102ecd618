"""How far high watermarks and followers were behind the leader's log end, in records, in exact percentiles by topic.

Percentiles are nearest ranks, as in `produce_latency`. A sample is taken at each event that tells one: an append (records
appended and not committed, those just appended among them), and a follower's fetch (records it does not have yet).
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.summaries.produce_latency import PERCENTILES
from spark_reports.summaries.summary import Summary, table


def _compute(events: DataFrame, sessions: DataFrame) -> DataFrame:
    kind = F.col("kind")
    history = Window.partitionBy("session", "topic", "partition").orderBy("seq").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    # With a new leader its own log end and high watermark count.
    log_end = F.when(kind == "append", F.col("to_offset")).when(kind == "became-leader", F.col("offset"))
    committed = F.when(kind == "high-watermark", F.col("new_offset")).when(kind == "became-leader", F.col("high_watermark"))
    group = ("session", "topic", "of")
    samples = (
        events.withColumn("log_end", F.last(log_end, ignorenulls=True).over(history))
        .withColumn("committed", F.last(committed, ignorenulls=True).over(history))
        .where(kind.isin("append", "follower-fetched"))
        .select(
            "session",
            "topic",
            F.when(kind == "append", F.lit("high watermark")).otherwise(F.concat(F.lit("follower b"), F.col("follower"))).alias("of"),
            (F.col("log_end") - F.when(kind == "append", F.col("committed")).otherwise(F.col("new_offset"))).alias("behind"),
        )
        .where(F.col("behind").isNotNull())
    )
    whole = Window.partitionBy(*group)
    upwards = whole.orderBy("behind").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    counted = samples.groupBy(*group, "behind").agg(F.count(F.lit(1)).alias("samples"))
    ranked = counted.withColumn("rank", F.sum("samples").over(upwards)).withColumn("total", F.sum("samples").over(whole))
    return ranked.groupBy(*group).agg(
        F.sum("samples").alias("samples"),
        *(F.min(F.when(F.col("rank") * 100 >= F.col("total") * p, F.col("behind"))).alias(f"p{p}") for p in PERCENTILES),
        F.max("behind").alias("max"),
    )


LAG: Final = Summary(
    name="lag",
    title="High watermark and follower lag by topic, in records",
    notes=(
        "Behind the leader's log end as last seen. `high watermark`: at each append, records appended and not committed, those just appended "
        "among them. A follower: at each fetch that told the leader something new, records it did not have. Percentiles are nearest ranks over "
        "these samples; samples before the first append or election in the log are left out."
    ),
    kinds=("append", "became-leader", "high-watermark", "follower-fetched"),
    columns=("topic", "partition", "to_offset", "offset", "new_offset", "high_watermark", "follower"),
    schema=table(names=("session", "topic", "of"), numbers=("samples", "p50", "p95", "p99", "max")),
    keys=("session", "topic", "of"),
    compute=_compute,
)
