"""Failed produce attempts by topic and acks, and the number of attempts for each batch, which latency alone does not show."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.intermediate.event_counts import PRODUCED
from spark_reports.summaries.intermediate.percentiles import percentiles, with_ranks
from spark_reports.summaries.summary import Summary, sum_if, table_schema

_GROUP: Final = ("session", "topic", "acks")
_COUNTS: Final = ("acked", "failed", "given_up", "given_up_records")


def _compute(inputs: SummaryInputs) -> DataFrame:
    failed = F.col("kind") == "produce-failed"
    given_up = failed & ~F.col("retry")
    batches = F.col("events")
    counted = (
        inputs.event_counts.where(F.col("kind").isin(*PRODUCED))
        .groupBy(*_GROUP, "attempt")
        .agg(
            sum_if(~failed, batches).alias("acked"),
            sum_if(failed, batches).alias("failed"),
            sum_if(given_up, batches).alias("given_up"),
            sum_if(given_up, F.col("records")).alias("given_up_records"),
        )
    )
    # The value is null for an attempt that was not the last attempt of any batch.
    finished = counted.selectExpr("*", "acked + given_up AS batches", "CASE WHEN acked + given_up > 0 THEN attempt END AS attempts")
    return (
        with_ranks(finished, _GROUP, "attempt", "batches")
        .groupBy(*_GROUP)
        .agg(*(F.sum(name).alias(name) for name in _COUNTS), *percentiles("attempts", "_attempts"), F.max("attempts").alias("max_attempts"))
        .withColumn("failed_per_million", F.expr("failed * 1000000 div (acked + failed)"))
    )


PRODUCE_ERRORS: Final = Summary(
    name="produce_errors",
    title="Produce errors by topic and acks",
    notes=(
        "`acked` counts batches. `failed` counts attempts that received an error or timed out. `failed_per_million` is the number of "
        "failed attempts per million acknowledged and failed attempts, rounded down. `given_up` counts batches that failed and were not "
        "retried "
        "again. Percentiles of the number of attempts until a batch was acknowledged or the producer gave up on it use the nearest-rank "
        "method. If no batch was acknowledged and the producers gave up on none, the percentiles are empty. An `acks` of -1 means all. "
        "For the error codes, see the table `errors`."
    ),
    kinds=PRODUCED,
    columns=("topic", "acks", "attempt", "retry", "records"),
    schema=table_schema(
        names=("session", "topic"),
        numbers=(
            "acks", "acked", "failed", "failed_per_million", "given_up", "given_up_records",
            "p50_attempts", "p95_attempts", "p99_attempts", "max_attempts",
        ),
    ),
    keys=_GROUP,
    compute=_compute,
    worst=("given_up", "failed"),
)  # fmt: skip
