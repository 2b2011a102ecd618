"""The transaction requests that were refused, by request and error."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.summary import Summary, table_schema


def _compute(inputs: SummaryInputs) -> DataFrame:
    request = (
        F.when(F.col("kind") == "marker-refused", "WriteTxnMarkers")
        .when(F.col("kind") == "verification-failed", "Produce")
        .otherwise(F.col("request"))
    )
    return (
        inputs.events_of(REFUSALS.kinds)
        .groupBy("session", request.alias("request"), "error")
        .agg(
            F.count(F.lit(1)).alias("refusals"),
            F.count_distinct("transactional_id").alias("transactional_ids"),
            F.min("t").alias("first_us"),
            F.max("t").alias("last_us"),
        )
    )


REFUSALS: Final = Summary(
    name="refusals",
    title="Refused transaction requests, by request and error",
    notes=(
        "`request` is the type of the refused request: a request to the transaction coordinator (such as InitProducerId, "
        "AddPartitionsToTxn, or EndTxn), a WriteTxnMarkers request from a coordinator, or a Produce request whose partition the "
        "coordinator did not confirm. `transactional_ids` counts the distinct transactional IDs; WriteTxnMarkers requests do not name "
        "any. Many errors only make the producer retry, such as CONCURRENT_TRANSACTIONS while "
        "the markers of the previous transaction are not yet written."
    ),
    kinds=("transaction-refused", "marker-refused", "verification-failed"),
    columns=("request", "error", "transactional_id"),
    schema=table_schema(names=("session", "request", "error"), numbers=("refusals", "transactional_ids", "first_us", "last_us")),
    keys=("session", "request", "error"),
    compute=_compute,
    worst=("refusals",),
)
