"""Leadership by broker: how many partitions the broker led, how long it led them in total, and how long it led them as the preferred
leader.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.intermediate.partition_states import STATE_COLUMNS, STATE_KINDS, STATES_FROM
from spark_reports.summaries.summary import Summary, count_if, sum_if, table_schema


def _compute(inputs: SummaryInputs) -> DataFrame:
    before = F.lag("leader").over(Window.partitionBy("session", "topic", "partition", "topic_number").orderBy("seq"))
    lasts = F.col("until") - F.col("t")
    led = (
        inputs.states.withColumn("before", before)
        .where(F.col("leader") >= 0)
        .groupBy("session", F.col("leader").alias("broker"))
        .agg(
            F.count_distinct("topic", "partition").alias("partitions"),
            F.sum(lasts).alias("led_us"),
            sum_if(F.get("replicas", F.lit(0)) == F.col("leader"), lasts).alias("preferred_us"),
            count_if(F.col("before").isNotNull() & (F.col("before") != F.col("leader"))).alias("taken_over"),
        )
    )
    everything = F.greatest(F.sum("led_us").over(Window.partitionBy("session")), F.lit(1))
    return led.withColumn("everything", everything).withColumn("share_percent", F.expr("led_us * 100 div everything"))


LEADERSHIP: Final = Summary(
    name="leadership",
    title="Leadership by broker",
    notes=(
        "`partitions` counts the partitions that the broker led at any time during the session. `led_us` is the time during which "
        "the broker led a partition, summed over the partitions that it led. "
        "`share_percent` is the broker's share of all leadership time, rounded down. "
        "`preferred_us` is the "
        "part of `led_us` in which the broker was the preferred leader. `taken_over` counts the times that the broker became leader of a "
        "partition that had a different leader or no leader before. `taken_over` does not count the first leader of a partition."
    ),
    kinds=STATE_KINDS,
    columns=STATE_COLUMNS,
    schema=table_schema(names=("session",), numbers=("broker", "partitions", "led_us", "share_percent", "preferred_us", "taken_over")),
    keys=("session", "broker"),
    compute=_compute,
    worst=("taken_over", "led_us"),
    rows_from=STATES_FROM,
)
