"""The lag of high watermarks and followers behind the leader's log end, in records, by topic."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.intermediate.lag_counts import LAG_KINDS, OF_TOPIC
from spark_reports.summaries.intermediate.percentiles import percentiles, with_ranks
from spark_reports.summaries.summary import Summary, table_schema


def _compute(inputs: SummaryInputs) -> DataFrame:
    group = ("of_topic", "follower")
    # Every sample belongs to an event that was also counted.
    topics = inputs.event_counts.select("session", "topic").distinct().withColumn("of_topic", F.expr(OF_TOPIC))
    return (
        with_ranks(inputs.lag_counts, group, "behind", "samples")
        .groupBy(*group)
        .agg(F.sum("samples").alias("samples"), *percentiles("behind"), F.max("behind").alias("max"))
        .join(F.broadcast(topics), "of_topic")
        .withColumn("of", F.expr("if(follower < 0, 'high watermark', concat('follower b', follower))"))
    )


LAG: Final = Summary(
    name="lag",
    title="Lag of high watermark and followers by topic, in records",
    notes=(
        "Each append by a leader is a sample, which is taken after the append. If `of` is the high watermark, the lag is the "
        "number of records that are not committed. If `of` is a follower, the lag is the number of records by which the follower's log "
        "is shorter than the leader's log. Every assigned replica except the leader counts, even if it is down or has never fetched. "
        "Percentiles of the samples use the nearest-rank method. The lag of a log that is longer than the leader's log is 0. If nothing is "
        "appended, there are no samples."
    ),
    kinds=LAG_KINDS,
    columns=("topic", "partition", "broker", "from_offset", "to_offset", "offset", "new_offset", "high_watermark", "replicas"),
    schema=table_schema(names=("session", "topic", "of"), numbers=("samples", "p50", "p95", "p99", "max")),
    keys=("session", "topic", "of"),
    compute=_compute,
    worst=("max", "p99"),
)
