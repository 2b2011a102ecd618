"""How many times retry services tried to process records, by worker and by the number of the attempt."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.summary import Summary, table_schema


def _compute(inputs: SummaryInputs) -> DataFrame:
    records = F.col("to_offset") - F.col("from_offset")
    return (
        inputs.events_of(("records-tried",))
        .groupBy("session", "worker", "topic", "number")
        .agg(
            F.sum(records).alias("tried"),
            F.sum(F.when(F.col("reason") == "", records).otherwise(0)).alias("succeeded"),
            F.sum(F.when(F.col("reason") != "", records).otherwise(0)).alias("failed"),
            F.min("t").alias("first_us"),
            F.max("t").alias("last_us"),
        )
    )


RETRIES: Final = Summary(
    name="retries",
    title="Tries of retry services, by worker and try number",
    notes=(
        "`topic` is the topic that the worker reads: the original topic or one of the retry topics. `number` is 1 for the first try of a "
        "record. With blocking retries, one worker makes all tries. A try that covers several records counts once for each of them."
    ),
    kinds=("records-tried",),
    columns=("worker", "topic", "number", "from_offset", "to_offset", "reason"),
    schema=table_schema(names=("session", "worker", "topic"), numbers=("number", "tried", "succeeded", "failed", "first_us", "last_us")),
    keys=("session", "worker", "topic", "number"),
    compute=_compute,
    worst=("failed", "tried"),
)
