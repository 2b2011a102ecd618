"""How long producers waited to be told that a batch is in, by topic and acks, in exact percentiles.

A percentile is the nearest rank: p50 of n batches is the ceil(50 n / 100)-th smallest latency, always one that occurred.
It is found in whole numbers from the counts of each distinct latency, so there is neither rounding nor sampling.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.summaries.summary import Summary, table

PERCENTILES: Final = (50, 95, 99)
"""Which percentiles are given."""


def _compute(events: DataFrame, sessions: DataFrame) -> DataFrame:
    group = ("session", "topic", "acks")
    whole = Window.partitionBy(*group)
    upwards = whole.orderBy("latency_us").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    distinct = events.groupBy(*group, "latency_us").agg(F.count(F.lit(1)).alias("batches"), F.sum("records").alias("records"))
    ranked = distinct.withColumn("rank", F.sum("batches").over(upwards)).withColumn("total", F.sum("batches").over(whole))
    return ranked.groupBy(*group).agg(
        F.sum("batches").alias("batches"),
        F.sum("records").alias("records"),
        *(F.min(F.when(F.col("rank") * 100 >= F.col("total") * p, F.col("latency_us"))).alias(f"p{p}_us") for p in PERCENTILES),
        F.max("latency_us").alias("max_us"),
    )


PRODUCE_LATENCY: Final = Summary(
    name="produce_latency",
    title="Produce latency by topic and acks",
    notes=(
        "From the first send of a batch to its acknowledgement, retries included; batches that were given up are under errors. acks -1 is "
        "all; with acks=0 nothing is waited for. Percentiles are exact: the nearest rank, the ceil(p n / 100)-th smallest of n batches."
    ),
    kinds=("produce-acked",),
    columns=("topic", "acks", "latency_us", "records"),
    schema=table(names=("session", "topic"), numbers=("acks", "batches", "records", "p50_us", "p95_us", "p99_us", "max_us")),
    keys=("session", "topic", "acks"),
    compute=_compute,
)
