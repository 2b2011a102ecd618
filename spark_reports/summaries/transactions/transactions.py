"""Transactions by transactional ID and outcome, with the time until they were decided and the time until they were complete."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.intermediate.percentiles import PERCENTILES, percentiles, with_ranks
from spark_reports.summaries.summary import Summary, table_schema

_ID: Final = ("session", "transactional_id")
_OUTCOME: Final = (*_ID, "outcome")
_TIMES: Final = ("decided", "complete")


def transactions_of(inputs: SummaryInputs) -> DataFrame:
    """Return a row for each transaction that its coordinator knew: `session, transactional_id, outcome, decided_us, complete_us`.

    A transaction starts when its coordinator adds the first partitions to it (Ongoing after another state), and ends when the coordinator
    decides to commit or abort it (PrepareCommit or PrepareAbort). It ends without a decision if the next transaction of the same ID starts,
    because a new coordinator does not know it. The producer that has the producer ID and epoch of the start began the transaction; another
    producer can begin one in vain.
    """
    events = inputs.events_of(("transaction-begun", "transaction-state"))
    state = F.when(F.col("kind") == "transaction-state", F.col("transaction_state"))
    order = Window.partitionBy(*_ID).orderBy("seq")
    until_now = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    decides = state.isin("PrepareCommit", "PrepareAbort")
    starts = ((state == "Ongoing") | decides) & (F.col("former_state") != "Ongoing")
    epoch = F.struct("producer_id", "producer_epoch")
    numbered = (
        events.select(
            *_ID, "seq", "t", "kind", epoch.alias("epoch"), state.alias("state"), decides.alias("decides"), starts.alias("starts")
        )
        .withColumn(
            "number",
            F.count(F.when(F.col("starts"), 1)).over(until_now)
            + F.count(F.when(F.col("decides"), 1)).over(until_now)
            - F.when(F.col("decides"), 1).otherwise(0),
        )
        .withColumns(
            {
                "last_decided": F.last(F.when(F.col("decides"), F.col("number")), ignorenulls=True).over(until_now),
                # The order is descending, because in ascending order Spark rescans all following rows for each row.
                "next_start": F.last(F.when(F.col("starts"), F.struct("number", "epoch")), ignorenulls=True).over(
                    Window.partitionBy(*_ID).orderBy(F.desc("seq")).rowsBetween(Window.unboundedPreceding, Window.currentRow)
                ),
            }
        )
        .withColumn(
            "number",
            F.when(F.col("state").isin("CompleteCommit", "CompleteAbort"), F.col("last_decided"))
            .when(F.col("kind") == "transaction-begun", F.when(F.col("next_start.epoch") == F.col("epoch"), F.col("next_start.number")))
            .otherwise(F.col("number")),
        )
        .where(F.col("number").isNotNull())
    )

    def time_of(condition: Column, pick: str) -> Column:
        return (F.max if pick == "last" else F.min)(F.when(condition, F.col("t")))

    return (
        numbered.groupBy(*_ID, "number")
        .agg(
            time_of(F.col("kind") == "transaction-begun", "last").alias("begun"),
            F.count(F.when(F.col("state") == "Ongoing", 1)).alias("ongoing"),
            F.max(F.when(F.col("decides"), F.col("state"))).alias("decision"),
            time_of(F.col("decides"), "first").alias("decided"),
            time_of(F.col("state").isin("CompleteCommit", "CompleteAbort"), "first").alias("completed"),
        )
        .where("decision IS NOT NULL OR ongoing > 0")
        .selectExpr(
            *_ID,
            "CASE decision WHEN 'PrepareCommit' THEN 'committed' WHEN 'PrepareAbort' THEN 'aborted' ELSE 'open' END AS outcome",
            "decided - begun AS decided_us",
            "completed - decided AS complete_us",
        )
    )


def _compute(inputs: SummaryInputs) -> DataFrame:
    every = transactions_of(inputs)
    whole = every.groupBy(*_OUTCOME).agg(
        F.count(F.lit(1)).alias("transactions"),
        F.count(F.when((F.col("outcome") != "open") & F.col("complete_us").isNull(), 1)).alias("incomplete"),
    )
    for name in _TIMES:
        value = f"{name}_us"
        counted = every.where(F.col(value).isNotNull()).groupBy(*_OUTCOME, value).agg(F.count(F.lit(1)).alias("times"))
        measured = (
            with_ranks(counted, _OUTCOME, value, "times")
            .groupBy(*_OUTCOME)
            .agg(*percentiles(value, f"_{value}"), F.max(value).alias(f"max_{value}"))
        )
        whole = whole.join(measured, list(_OUTCOME), "left")
    return whole


TRANSACTIONS: Final = Summary(
    name="transactions",
    title="Transactions by transactional ID and outcome",
    notes=(
        "`outcome` is the decision of the coordinator: committed or aborted. `outcome` is open if the coordinator has not decided by the "
        "end of the log, or by the start of the next transaction of the same ID. Columns that end in `_decided_us` contain the time from the moment when the producer begins a "
        "transaction until the decision is in `__transaction_state`. Columns that end in `_decided_us` do not cover decisions without a start in the log, for example an abort when no transaction was open. Columns that end in `_complete_us` contain the time from the decision until all markers are written. `incomplete` counts the decided "
        "transactions that lack a marker at the end. Percentiles use the nearest-rank method."
    ),
    kinds=("transaction-begun", "transaction-state"),
    columns=("transactional_id", "transaction_state", "former_state", "producer_id", "producer_epoch"),
    schema=table_schema(
        names=("session", "transactional_id", "outcome"),
        numbers=(
            "transactions", "incomplete", *(f"{mark}_{name}_us" for name in _TIMES for mark in (*(f"p{p}" for p in PERCENTILES), "max")),
        ),
    ),
    keys=("session", "transactional_id", "outcome"),
    compute=_compute,
    worst=("incomplete", "max_complete_us", "max_decided_us", "transactions"),
    rows_from=("transaction-state",),
)  # fmt: skip
