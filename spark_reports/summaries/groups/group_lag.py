"""The lag of each group by partition: at the end, at its worst, and on average."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.intermediate.group_offsets import COMMIT_KINDS, LAG_COLUMNS, LAG_KINDS, NO_OFFSET, OF_GROUP
from spark_reports.summaries.summary import Summary, count_if, table_schema


def _compute(inputs: SummaryInputs) -> DataFrame:
    # The product of a lag and a time can exceed 64 bits.
    lasts = "CAST(CASE WHEN lag IS NOT NULL THEN until - t END AS DECIMAL(20, 0))"
    return (
        inputs.group_lags.groupBy(*OF_GROUP)
        .agg(
            count_if(F.col("changed")).alias("commits"),
            F.expr("max_by(committed, seq)").alias("last_committed"),
            F.expr("max_by(log_end, seq)").alias("high_watermark"),
            F.expr("max_by(struct(lag), seq).lag").alias("lag"),
            F.expr("max(lag)").alias("max_lag"),
            F.expr("min_by(t, struct(-lag, seq)) FILTER (WHERE lag IS NOT NULL)").alias("max_at_us"),
            F.expr(f"CASE WHEN sum({lasts}) > 0 THEN sum(lag * {lasts}) div sum({lasts}) END").alias("mean_lag"),
        )
        .withColumn("committed_offset", F.when(F.col("last_committed") != NO_OFFSET, F.col("last_committed")))
    )


GROUP_LAG: Final = Summary(
    name="group_lag",
    title="Consumer lag by group and partition",
    notes=(
        "`lag` is the high watermark of the leader minus the committed offset of the group, at the end of the session. The lag is negative if the "
        "log ends before the committed offset, and empty if the group has no committed offset. `max_lag` is the greatest lag since "
        "the first commit, and `max_at_us` is the time at which this lag began. `mean_lag` is the average over time, rounded toward 0. "
        "`commits` counts the changes in the committed offset, including expirations and deletions. A commit of the same offset again "
        "is not a change."
    ),
    kinds=LAG_KINDS,
    columns=LAG_COLUMNS,
    schema=table_schema(
        names=("session", "group", "topic"),
        numbers=("partition", "commits", "committed_offset", "high_watermark", "lag", "max_lag", "max_at_us", "mean_lag"),
    ),
    keys=("session", "group", "topic", "partition"),
    compute=_compute,
    worst=("lag", "max_lag", "mean_lag"),
    rows_from=COMMIT_KINDS,
)
