"""The number of duplicate batches that leaders did not append, by producer. Only idempotent and transactional producers are covered."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.summary import Summary, table_schema


def _compute(inputs: SummaryInputs) -> DataFrame:
    return (
        inputs.events_of(DUPLICATES.kinds)
        .groupBy("session", "producer")
        .agg(
            F.count(F.lit(1)).alias("batches"),
            F.sum(F.col("to_offset") - F.col("from_offset")).alias("records"),
            F.count_distinct("topic", "partition").alias("partitions"),
            F.min("t").alias("first_us"),
            F.max("t").alias("last_us"),
        )
    )


DUPLICATES: Final = Summary(
    name="duplicates",
    title="Prevented duplicates, by producer",
    notes=(
        "A leader recognizes the retry of a batch by its producer ID and its sequence number, and does not append the batch again. "
        "`batches` counts the retries that leaders recognized, and `records` counts the records in these retries. `partitions` is the "
        "number of distinct partitions. Records that a retry appended again are counted in the column `duplicated` of the table `records`."
    ),
    kinds=("duplicate-dropped",),
    columns=("producer", "topic", "partition", "from_offset", "to_offset"),
    schema=table_schema(names=("session", "producer"), numbers=("batches", "records", "partitions", "first_us", "last_us")),
    keys=("session", "producer"),
    compute=_compute,
    worst=("records", "batches"),
)
