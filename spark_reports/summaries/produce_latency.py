"""How long producers waited to be told that a batch is in, by topic and acks, in exact percentiles.

A percentile is the nearest rank: p50 of n batches is the ceil(50 n / 100)-th smallest latency, always one that occurred.
It is found in whole numbers from the counts of each distinct latency, so there is neither rounding nor sampling.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.summaries.summary import Inputs, Summary, table

PERCENTILES: Final = (50, 95, 99)
"""Which percentiles are given."""


def ranked(counted: DataFrame, group: Sequence[str], value: str, count: str) -> DataFrame:
    """Distinct values with how often each occurred, and with `rank`, how many are not greater, and `total` of its group."""
    whole = Window.partitionBy(*group)
    upwards = whole.orderBy(value).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return counted.withColumns({"rank": F.sum(count).over(upwards), "total": F.sum(count).over(whole)})


def percentiles(value: str, suffix: str = "") -> list[Column]:
    """The percentiles of a group of `ranked` values: `p50`, `p95`, `p99`, each with a suffix."""
    return [F.expr(f"min(CASE WHEN rank * 100 >= total * {p} THEN {value} END) AS p{p}{suffix}") for p in PERCENTILES]


def _compute(inputs: Inputs) -> DataFrame:
    group = ("session", "topic", "acks")
    acked = inputs.counted.where(F.col("kind") == "produce-acked")
    distinct = acked.groupBy(*group, "latency_us").agg(F.sum("events").alias("batches"), F.sum("records").alias("records"))
    return (
        ranked(distinct, group, "latency_us", "batches")
        .groupBy(*group)
        .agg(
            F.sum("batches").alias("batches"),
            F.sum("records").alias("records"),
            *percentiles("latency_us", "_us"),
            F.max("latency_us").alias("max_us"),
        )
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
    worst=("p99_us", "max_us"),
)
