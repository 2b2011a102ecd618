"""How far high watermarks and followers were behind the leader's log end, in records, in exact percentiles by topic.

Percentiles are nearest ranks, as in `produce_latency`. A sample is taken at each event that tells one: an append (records
appended and not committed, those just appended among them), and a follower's fetch (records it does not have yet).
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.summaries.produce_latency import percentiles, ranked
from spark_reports.summaries.summary import Inputs, Summary, table

_OF_TOPIC: Final = "xxhash64(session, topic)"

KINDS: Final = ("append", "became-leader", "high-watermark", "follower-fetched")
"""Event kinds that `behind` looks at."""


def behind(events: DataFrame) -> DataFrame:
    """How often (`samples`) a `follower`, or a high watermark (follower -1), was so many records `behind`, by topic.

    Half of all events have to be sorted for that. So they go without names: topics are told apart by `of_topic`, a hash of session and
    topic, and partitions by another. Of 10^5 partitions two share one once in 3·10^9 sessions.
    """
    # With a new leader its own log end and high watermark count.
    known = events.where(F.col("kind").isin(*KINDS)).selectExpr(
        "xxhash64(session, topic, partition) AS of_partition",
        "seq",
        f"{_OF_TOPIC} AS of_topic",
        "CASE kind WHEN 'append' THEN -1 WHEN 'follower-fetched' THEN follower END AS follower",
        "CASE kind WHEN 'follower-fetched' THEN new_offset END AS fetched",
        "CASE kind WHEN 'append' THEN to_offset WHEN 'became-leader' THEN offset END AS log_end",
        "CASE kind WHEN 'high-watermark' THEN new_offset WHEN 'became-leader' THEN high_watermark END AS committed",
    )
    history = Window.partitionBy("of_partition").orderBy("seq").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return (
        known.withColumns({name: F.last(name, ignorenulls=True).over(history) for name in ("log_end", "committed")})
        .where("follower IS NOT NULL")
        .selectExpr("of_topic", "follower", "log_end - if(follower < 0, committed, fetched) AS behind")
        .where("behind IS NOT NULL")
        .groupBy("of_topic", "follower", "behind")
        .agg(F.count(F.lit(1)).alias("samples"))
    )


def _compute(inputs: Inputs) -> DataFrame:
    group = ("of_topic", "follower")
    # Every sample is of an event that was counted, too.
    topics = inputs.counted.select("session", "topic").distinct().withColumn("of_topic", F.expr(_OF_TOPIC))
    return (
        ranked(inputs.behind, group, "behind", "samples")
        .groupBy(*group)
        .agg(F.sum("samples").alias("samples"), *percentiles("behind"), F.max("behind").alias("max"))
        .join(F.broadcast(topics), "of_topic")
        .withColumn("of", F.expr("if(follower < 0, 'high watermark', concat('follower b', follower))"))
    )


LAG: Final = Summary(
    name="lag",
    title="High watermark and follower lag by topic, in records",
    notes=(
        "Behind the leader's log end as last seen. `high watermark`: at each append, records appended and not committed, those just appended "
        "among them. A follower: at each fetch that told the leader something new, records it did not have. Percentiles are nearest ranks over "
        "these samples; samples before the first append or election in the log are left out."
    ),
    kinds=KINDS,
    columns=("topic", "partition", "to_offset", "offset", "new_offset", "high_watermark", "follower"),
    schema=table(names=("session", "topic", "of"), numbers=("samples", "p50", "p95", "p99", "max")),
    keys=("session", "topic", "of"),
    compute=_compute,
    worst=("max", "p99"),
)
