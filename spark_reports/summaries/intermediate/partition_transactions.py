"""The transactions of each partition: those that a marker ended, and those that are open at the end of the log.

An event log does not record when a transaction opens on a partition. The start of a transaction is derived from three kinds of events:

- `transaction-begun` says which producer ID a producer has. Every batch of a transactional producer belongs to a transaction.
- `marker-appended` says where a transaction began and where it ended.
- `became-leader` gives the offset at which the new leader's log ends; batches and markers at or above this offset are lost.

Batches and markers from a broker that is no longer the newest leader are ignored, because the newest leader's log decides.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.summaries.intermediate.partition_states import PARTITION

TRANSACTION_KINDS: Final = ("append", "became-leader", "marker-appended", "topic-deleted", "transaction-begun")
"""The event kinds that `partition_transactions` needs."""

TRANSACTIONS_FROM: Final = ("transaction-begun", "marker-appended")
"""The event kinds that transactions are derived from; a log without such events has no transactions."""

TRANSACTION_COLUMNS: Final = (
    "topic", "partition", "broker", "producer", "from_offset", "offset", "marker_offset", "first_offset", "producer_id", "transactional_id",
    "partitions",
)  # fmt: skip
"""The event columns that `partition_transactions` needs."""

_OF: Final = (*PARTITION, "producer_id")
_END: Final = 2**62
"""An offset that is larger than any offset in a log."""


def partition_transactions(events: DataFrame, infrequent: DataFrame) -> DataFrame:
    """Return a row for each transaction in each partition.

    The rows are `session, topic, partition, producer_id, transactional_id, first_offset, marker_offset, seq, since_us, valid_from,
    valid_to`. `marker_offset` is null for a transaction that is open at the end. Only an open transaction has `transactional_id` and
    `since_us`, which is the time of its first batch. `seq` is the sequence number of the event that records the marker or, for an open
    transaction, the first batch. A transaction is in the log of each leader that was elected at or after the event `valid_from` and before
    the event `valid_to`. If `valid_to` is null, the transaction is also in the logs of all later leaders.

    Args:
        events: all events; only their `append` events are used.
        infrequent: the infrequent events.
    """
    # The deletion of a topic counts as the election of a leader without records.
    deleted = infrequent.where("kind = 'topic-deleted' AND partitions > 0").selectExpr(
        *PARTITION[:2], "explode(sequence(0L, partitions - 1)) AS partition", "seq", "-1L AS broker", "0L AS offset"
    )
    leaders = infrequent.where("kind = 'became-leader'").select(*PARTITION, "seq", "broker", "offset").unionByName(deleted)
    markers = infrequent.where("kind = 'marker-appended'").select(
        *_OF, "seq", "t", "broker", F.col("marker_offset").alias("at"), "first_offset", F.lit(True).alias("is_marker")
    )
    batches = _transactional_batches(events, infrequent).withColumns({"at": F.col("from_offset"), "is_marker": F.lit(False)})
    both = _of_newest_leader(markers.unionByName(batches, allowMissingColumns=True), leaders).cache()
    ended = both.where("is_marker AND first_offset >= 0").select(*_OF, "seq", "first_offset", F.col("at").alias("marker_offset"))
    ended = _with_elections(ended, leaders)
    # If a marker was lost, the next marker of the same transaction counts only from then on.
    earlier = Window.partitionBy(*_OF, "first_offset").orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    ended = ended.withColumn("valid_from", F.greatest("valid_from", F.coalesce(F.max("valid_to").over(earlier), F.lit(0))))
    lost = ended.groupBy(*_OF, "first_offset").agg(F.max("valid_to").alias("lost"))
    still_open = _with_elections(_open_transactions(both), leaders).join(lost, [*_OF, "first_offset"], "left")
    still_open = still_open.withColumn("valid_from", F.greatest("valid_from", F.coalesce("lost", F.lit(0)))).drop("lost", "valid_to")
    return ended.unionByName(still_open, allowMissingColumns=True)


def _transactional_batches(events: DataFrame, infrequent: DataFrame) -> DataFrame:
    """Return the batches of transactional producers, each with the producer ID that its producer had when the batch was appended."""
    begun = infrequent.where("kind = 'transaction-begun'").select("session", "producer", "seq", "producer_id", "transactional_id")
    producers = F.broadcast(begun.select("session", "producer").distinct())
    # A marker is appended like a batch, and its event is the cause of the append.
    markers = infrequent.where("kind = 'marker-appended'").select("session", F.col("seq").alias("cause"))
    appended = (
        events.where("kind = 'append'")
        .select(*PARTITION, "producer", "seq", "t", "cause", "broker", "from_offset")
        .join(producers, ["session", "producer"], "left_semi")
        .join(markers, ["session", "cause"], "left_anti")
        .drop("cause")
    )
    before = Window.partitionBy("session", "producer").orderBy("seq").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    known = appended.unionByName(begun, allowMissingColumns=True).withColumns(
        {name: F.last(name, ignorenulls=True).over(before) for name in ("producer_id", "transactional_id")}
    )
    return known.where("from_offset IS NOT NULL AND producer_id IS NOT NULL").drop("producer")


def _of_newest_leader(rows: DataFrame, leaders: DataFrame) -> DataFrame:
    """Return those rows whose broker was the newest leader at the time of the row. Add the column `kept`, which says whether all later
    leaders have the offset `at`.
    """
    in_order = Window.partitionBy(*PARTITION).orderBy("seq").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    # The order is descending, because in ascending order Spark rescans all following rows for each row.
    later = Window.partitionBy(*PARTITION).orderBy(F.desc("seq")).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    elected = leaders.select(*PARTITION, "seq", F.col("broker").alias("elected"), F.col("offset").alias("log_end"))
    return (
        rows.unionByName(elected, allowMissingColumns=True)
        .withColumns({"newest": F.last("elected", ignorenulls=True).over(in_order), "least": F.min("log_end").over(later)})
        .where("at IS NOT NULL AND broker = newest")
        .withColumn("kept", F.expr(f"at < coalesce(least, {_END})"))
        .drop("elected", "log_end", "newest", "least")
    )


def _open_transactions(rows: DataFrame) -> DataFrame:
    """Return the transactions that are open at the end. An open transaction begins with the first batch after the last marker. Batches and
    markers that a later leader lacks do not count."""
    kept = rows.where("kept")
    ended = kept.where("is_marker").groupBy(*_OF).agg(F.max("seq").alias("ended"))
    return (
        kept.where("NOT is_marker")
        .join(ended, list(_OF), "left")
        .where("seq > coalesce(ended, 0)")
        .groupBy(*_OF)
        .agg(F.min(F.struct("seq", "t", "at", "transactional_id")).alias("first"))
        .selectExpr(
            *_OF, "first.seq", "first.t AS since_us", "first.at AS first_offset", "CAST(NULL AS BIGINT) AS marker_offset",
            "first.transactional_id AS transactional_id",
        )
    )  # fmt: skip


def _with_elections(rows: DataFrame, leaders: DataFrame) -> DataFrame:
    """Add the columns `valid_from` and `valid_to`. `valid_from` is the sequence number of the last earlier election of a leader whose log
    lacks the first offset of the transaction, or 0 if there is none. `valid_to` is the sequence number of the first later election of a
    leader whose log lacks the marker of the transaction, or null if there is none.
    """
    others = leaders.select(*PARTITION, F.col("seq").alias("election"), F.col("offset").alias("log_end"))
    columns = rows.columns
    return (
        rows.join(others, list(PARTITION), "left")
        .groupBy(*columns)
        .agg(
            F.coalesce(F.max(F.expr("CASE WHEN election < seq AND log_end <= first_offset THEN election END")), F.lit(0)).alias(
                "valid_from"
            ),
            F.min(F.expr("CASE WHEN election > seq AND log_end <= marker_offset THEN election END")).alias("valid_to"),
        )
    )
