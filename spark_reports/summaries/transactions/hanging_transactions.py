"""The transactions that are open on a partition at the end of the log, and whether a coordinator will end them."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.intermediate.partition_states import PARTITION
from spark_reports.summaries.intermediate.partition_transactions import TRANSACTION_COLUMNS, TRANSACTION_KINDS, TRANSACTIONS_FROM
from spark_reports.summaries.summary import Summary, table_schema


def _compute(inputs: SummaryInputs) -> DataFrame:
    last = (
        inputs.events_of(("transaction-state",))
        .groupBy("session", "transactional_id")
        .agg(F.max(F.struct("seq", "producer_id", "transaction_state", "partitions_named")).alias("last"))
        .selectExpr("session", "last.seq AS changed", "last.producer_id", "last.transaction_state", "last.partitions_named")
        .where("transaction_state <> 'Dead'")
        .groupBy("session", "producer_id")
        .agg(F.max(F.struct("changed", "transaction_state", "partitions_named")).alias("owner"))
    )
    listed = F.array_contains(F.split(F.coalesce("owner.partitions_named", F.lit("")), ","), F.concat("topic", F.lit("-"), "partition"))
    return (
        inputs.partition_transactions.where("marker_offset IS NULL")
        .join(F.broadcast(inputs.sessions.select("session", "end_us")), "session")
        .join(last, ["session", "producer_id"], "left")
        .select(
            *PARTITION,
            "producer_id",
            "transactional_id",
            F.coalesce("owner.transaction_state", F.lit("")).alias("coordinator_state"),
            F.when(~listed, "hanging")
            .when(F.col("owner.transaction_state") == "Ongoing", "open")
            .otherwise("waits for marker")
            .alias("status"),
            "first_offset",
            "since_us",
            (F.greatest("end_us", "since_us") - F.col("since_us")).alias("open_us"),
        )
    )


HANGING_TRANSACTIONS: Final = Summary(
    name="hanging_transactions",
    title="Transactions that are open on a partition at the end, hanging ones first",
    notes=(
        "`status` is `hanging` if no coordinator will ever end the transaction: no transactional ID has its producer ID, or the last "
        "state of the ID at its coordinator does not name the partition. `status` is `waits for marker` if the transaction is decided but "
        "its marker for this partition is missing. Otherwise, `status` is `open`. `coordinator_state` is the last state of the "
        "transactional ID, and is empty if no transactional ID has the producer ID. `first_offset` is the offset of the first "
        "record of the transaction; the last stable offset stops there. `since_us` is the time of the first record, and `open_us` is the time from "
        "the first record to the end of the session. Records in `__consumer_offsets` and in deleted topics are not covered."
    ),
    kinds=(*TRANSACTION_KINDS, "transaction-state"),
    columns=(*TRANSACTION_COLUMNS, "transaction_state", "partitions_named"),
    schema=table_schema(
        names=("session", "topic"),
        numbers=("partition", "producer_id"),
        more_names=("transactional_id", "coordinator_state", "status"),
        more_numbers=("first_offset", "since_us", "open_us"),
    ),
    keys=(*PARTITION, "producer_id"),
    compute=_compute,
    worst=("status", "open_us"),
    rows_from=TRANSACTIONS_FROM,
)
