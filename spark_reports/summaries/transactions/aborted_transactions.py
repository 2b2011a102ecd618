"""The share of aborted transactions by transactional ID, and how many of them the coordinator aborted because of their timeout."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.summary import Summary, count_if, table_schema

_PER_MILLION: Final = 1_000_000


def _compute(inputs: SummaryInputs) -> DataFrame:
    decided = F.col("transaction_state").isin("PrepareCommit", "PrepareAbort")
    aborted = F.col("transaction_state") == "PrepareAbort"
    return (
        inputs.events_of(ABORTED_TRANSACTIONS.kinds)
        .groupBy("session", "transactional_id")
        .agg(
            count_if((F.col("kind") == "transaction-state") & decided).alias("decided"),
            count_if((F.col("kind") == "transaction-state") & aborted).alias("aborted"),
            count_if(F.col("kind") == "transaction-timed-out").alias("timed_out"),
        )
        .where("decided > 0 OR timed_out > 0")
        .withColumn("aborted_per_million", F.expr(f"aborted * {_PER_MILLION} div nullif(decided, 0)"))
    )


ABORTED_TRANSACTIONS: Final = Summary(
    name="aborted_transactions",
    title="Share of aborted transactions by transactional ID",
    notes=(
        "`decided` counts the transactions that the coordinator committed or aborted, and `aborted` counts the aborted ones. "
        "`aborted_per_million` is the number of aborted transactions per million decided ones, rounded down, and is empty if no "
        "transaction was decided. `timed_out` counts the times that the "
        "coordinator began to abort a transaction because the transaction exceeded transaction.timeout.ms. All other aborted transactions were "
        "aborted by their producers, or because a new producer with the same ID fenced the old one."
    ),
    kinds=("transaction-state", "transaction-timed-out"),
    columns=("transactional_id", "transaction_state"),
    schema=table_schema(names=("session", "transactional_id"), numbers=("decided", "aborted", "aborted_per_million", "timed_out")),
    keys=("session", "transactional_id"),
    compute=_compute,
    worst=("aborted_per_million", "timed_out", "aborted"),
)
