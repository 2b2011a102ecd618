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

_SAMPLES: Final = """
    session,
    topic,
    CASE WHEN kind = 'append' THEN 'high watermark' ELSE concat('follower b', follower) END AS of,
    log_end - CASE WHEN kind = 'append' THEN committed ELSE new_offset END AS behind
"""


def _compute(events: DataFrame, inputs: Inputs) -> DataFrame:
    # With a new leader its own log end and high watermark count.
    known = events.selectExpr(
        "session",
        "topic",
        "kind",
        "follower",
        "new_offset",
        "CASE kind WHEN 'append' THEN to_offset WHEN 'became-leader' THEN offset END AS log_end",
        "CASE kind WHEN 'high-watermark' THEN new_offset WHEN 'became-leader' THEN high_watermark END AS committed",
        "seq",
        # To sort by one number takes half the time of sorting by names; of 10^5 partitions two share one once in 3·10^9 sessions.
        "xxhash64(session, topic, partition) AS of_partition",
    )
    history = Window.partitionBy("of_partition").orderBy("seq").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    known = known.withColumns({name: F.last(name, ignorenulls=True).over(history) for name in ("log_end", "committed")})
    group = ("session", "topic", "of")
    samples = (
        known.where("kind IN ('append', 'follower-fetched')").selectExpr(*_SAMPLES.strip().split(",\n    ")).where("behind IS NOT NULL")
    )
    return (
        ranked(samples.groupBy(*group, "behind").agg(F.count(F.lit(1)).alias("samples")), group, "behind", "samples")
        .groupBy(*group)
        .agg(F.sum("samples").alias("samples"), *percentiles("behind"), F.max("behind").alias("max"))
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
