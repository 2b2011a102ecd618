"""How long each topic and each broker had at least one partition in a degraded state.

A degraded partition is under-replicated, at min ISR, under min ISR, stalled, or offline. The partitions of a broker are those that have a
replica on the broker.

If partitions are in the same state at the same time, or immediately after each other, they share one window, as they would in an operator's
alarm.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.severity import STATE_WORDS
from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.intermediate.partition_states import CONDITIONS, PARTITION, STATES_FROM
from spark_reports.summaries.intermediate.stall_intervals import STALL_COLUMNS, STALL_KINDS
from spark_reports.summaries.intermediate.windows import number_windows
from spark_reports.summaries.summary import Summary, table_schema


def _compute(inputs: SummaryInputs) -> DataFrame:
    marks = F.array_compact(F.array(*(F.when(holds(), F.lit(STATE_WORDS[status])) for status, holds in CONDITIONS.items())))
    topic = F.struct(F.lit("topic").alias("by"), F.col("topic").alias("name"))
    brokers = F.transform("replicas", lambda broker: F.struct(F.lit("broker").alias("by"), F.concat(F.lit("b"), broker).alias("name")))
    states = inputs.states.where(F.col("until") > F.col("t")).select(*PARTITION, "t", "until", "replicas", marks.alias("marks"))
    marked = states.selectExpr(*PARTITION, "t AS from_us", "until AS to_us", "replicas", "explode(marks) AS state")
    stalls = (
        states.join(inputs.stalled, list(PARTITION))
        .where("from_us < until AND to_us > t")
        .selectExpr(*PARTITION, "greatest(t, from_us) AS from_us", "least(until, to_us) AS to_us", "replicas", "'stalled' AS state")
    )
    intervals = (
        marked.unionByName(stalls)
        .withColumn("whose", F.explode(F.concat(F.array(topic), F.array_distinct(brokers))))
        .selectExpr("session", "whose.by AS by", "whose.name AS name", "state", "topic", "partition", "from_us", "to_us")
    )
    group = ("session", "by", "name", "state")
    windows = (
        number_windows(intervals, group)
        .groupBy(*group, "window")
        .agg(
            (F.max("to_us") - F.min("from_us")).alias("lasts"),
            F.sum(F.col("to_us") - F.col("from_us")).alias("of_partitions"),
            F.collect_set(F.struct("topic", "partition")).alias("partitions"),
        )
    )
    return windows.groupBy(*group).agg(
        F.count(F.lit(1)).alias("windows"),
        F.sum("lasts").alias("some_us"),
        F.max("lasts").alias("longest_us"),
        F.sum("of_partitions").alias("partitions_us"),
        F.size(F.array_distinct(F.flatten(F.collect_list("partitions")))).alias("partitions"),
    )


DEGRADED: Final = Summary(
    name="degraded",
    title="Time in each degraded state, by topic and by broker",
    notes=(
        "`by` says whether `name` is a topic or a broker. The partitions of a broker are those that have a replica on this broker. "
        "`some_us` is "
        "the time during which at least one partition was in `state`, and `windows` is the number of separate windows that make up this "
        "time. "
        "Overlapping and "
        "adjacent "
        "intervals form one window. `longest_us` is the length of the longest window. `partitions_us` is the time in `state`, summed "
        "over all partitions, and `partitions` is the number of distinct partitions. The tables `availability` and `min_isr` define the "
        "states. A partition that is at min is also under-replicated."
    ),
    kinds=STALL_KINDS,
    columns=STALL_COLUMNS,
    schema=table_schema(
        names=("session", "by", "name", "state"), numbers=("windows", "some_us", "longest_us", "partitions_us", "partitions")
    ),
    keys=("session", "by", "name", "state"),
    compute=_compute,
    worst=("state", "some_us", "partitions_us"),
    rows_from=STATES_FROM,
)
