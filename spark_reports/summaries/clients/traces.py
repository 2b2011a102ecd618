"""What happened, step by step, to a selection of harmed records. `isrlab trace` shows the same steps for any record."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs, only_if_found
from spark_reports.summaries.intermediate.partition_states import PARTITION
from spark_reports.summaries.summary import Summary, table_schema

MOST: Final = 8
"""The maximum number of records that are traced in each session."""

MOST_EACH: Final = 3
"""The maximum number of records that are traced for each kind of harm in each session."""

HARMS: Final = {
    "records-lost": "lost",
    "records-skipped": "skipped",
    "never-processed": "never processed",
    "retry-dropped": "dropped",
    "half-visible": "half visible",
    "processed-again": "processed again",
    "processed-twice": "processed twice",
    "succeeded-twice": "succeeded twice",
    "dead-lettered": "dead letter",
}
"""A description of each kind of harm, with the most important kind first."""

_STEPS: Final = {
    "append": "appended",
    "follower-append": "copied",
    "high-watermark": "committed",
    "produce-acked": "acked",
    "consumed": "read",
    "records-processed": "processed",
    "offset-committed": "offset committed",
    "offset-materialized": "offset committed",
    "records-recovered": "recovered",
}
"""The descriptions of a record's steps, except for the steps in `HARMS`, keyed by event kind."""

_RECORD: Final = (*PARTITION, "offset")


_MOVES: Final = {
    "append": "written",
    "follower-append": "copied",
    "truncated": "removed",
    "unflushed-lost": "removed",
    "log-restarted": "removed",
    "became-leader": "leads",
}
"""What an event kind says about the record that a broker has at an offset."""

_BY_EPOCH: Final = ("records-lost", "records-recovered", "records-skipped", "processed-again")
"""The event kinds that contain the leader epoch of their records."""

_NEWEST: Final = "newest leader"
"""The place of the record in the log of the newest leader."""


def chosen_records(inputs: SummaryInputs) -> DataFrame:
    """Return the records to trace: `session, topic, partition, offset, why, harm`. Each row is the first record in the offset range of the
    event `harm`, whose kind is in `HARMS`.
    """
    ranks = F.create_map(*(F.lit(each) for rank, kind in enumerate(HARMS) for each in (kind, rank)))
    words = F.create_map(*(F.lit(each) for pair in HARMS.items() for each in pair))
    found = inputs.events_of(HARMS).select(
        *PARTITION,
        F.col("from_offset").alias("offset"),
        F.struct(ranks[F.col("kind")].alias("rank"), "seq", words[F.col("kind")].alias("why")).alias("harm"),
    )
    worst = found.groupBy(*_RECORD).agg(F.min("harm").alias("harm")).select(*_RECORD, "harm.rank", "harm.seq", "harm.why")
    order = ("seq", "topic", "partition", "offset")
    each = F.row_number().over(Window.partitionBy("session", "why").orderBy(*order))
    every = F.row_number().over(Window.partitionBy("session").orderBy("rank", *order))
    few = worst.withColumn("each", each).where(F.col("each") <= MOST_EACH).withColumn("every", every).where(F.col("every") <= MOST)
    return few.select(*_RECORD, "why", F.col("seq").alias("harm"))


def _lives(moves: DataFrame) -> DataFrame:
    """Return rows `session, topic, partition, offset, seq, place, life`: which record is at a place from event `seq` on.

    After a truncation, a leader can write another record at the same offset. `life` is the number of the event that reports the append of
    the record; it is null if there is no record, or if it was in the log at the start. A place is the log of a broker, the log of the newest
    leader, what a leader wrote in an epoch, or a batch of a producer.

    Args:
        moves: the events of `_MOVES` that concern the offset.
    """
    words = F.create_map(*(F.lit(each) for pair in _MOVES.items() for each in pair))
    move = F.struct("seq", "broker", F.col("leader").alias("from"), words[F.col("kind")].alias("what"))
    in_order = moves.groupBy(*_RECORD).agg(F.sort_array(F.collect_list(move)).alias("moves"))
    has = "try_element_at(filter(acc.found, x -> x.broker = {}), -1).life"
    life = f"CASE move.what WHEN 'written' THEN move.seq WHEN 'copied' THEN {has.format('move.`from`')} "
    life += f"WHEN 'leads' THEN {has.format('move.broker')} END"
    found = (
        "aggregate(moves, CAST(named_struct('found', array(), 'leader', -1) AS "
        "STRUCT<found: ARRAY<STRUCT<seq: BIGINT, broker: BIGINT, life: BIGINT, newest: BOOLEAN>>, leader: BIGINT>), (acc, move) -> named_struct("
        f"'found', concat(acc.found, array(named_struct('seq', move.seq, 'broker', move.broker, 'life', {life}, 'newest', "
        "move.what = 'leads' OR acc.leader = move.broker))), "
        "'leader', if(move.what = 'leads', move.broker, acc.leader)), acc -> acc.found)"
    )
    logs = in_order.selectExpr(*_RECORD, f"explode({found}) AS one").select(*_RECORD, "one.*")
    written = moves.where("kind = 'append'")
    return (
        logs.select(*_RECORD, "seq", F.concat(F.lit("b"), "broker").alias("place"), "life")
        .unionByName(logs.where("newest").select(*_RECORD, "seq", F.lit(_NEWEST).alias("place"), "life"))
        .unionByName(written.select(*_RECORD, "seq", _epoch_place("leader_epoch"), F.col("seq").alias("life")))
        .unionByName(written.select(*_RECORD, "seq", _batch_place(), F.col("seq").alias("life")))
    )


def _epoch_place(column: str) -> Column:
    """Return the place of what a leader wrote in the epoch of a column."""
    return F.concat(F.lit("epoch "), column).alias("place")


def _batch_place() -> Column:
    """Return the place of a batch of a producer, as far as an event identifies it."""
    return F.concat_ws(" ", F.lit("batch"), "from_offset", "to_offset", "producer").alias("place")


def _compute(inputs: SummaryInputs) -> DataFrame:
    kind = F.col("kind")
    commits = kind.isin("offset-committed", "offset-materialized")
    events = only_if_found(inputs.events_of(TRACES.kinds), inputs.found, HARMS).select(
        *PARTITION,
        *("seq", "t", "cause", "kind", "broker", "leader", "producer", "from_offset", "to_offset", "leader_epoch"),
        F.when(commits, F.lit(0)).when(kind == "high-watermark", F.col("old_offset")).otherwise(F.col("from_offset")).alias("low"),
        F.when(commits, F.col("committed_offset"))
        .when(kind == "high-watermark", F.col("new_offset"))
        .otherwise(F.col("to_offset"))
        .alias("high"),
        F.when(kind.isin(*_BY_EPOCH), _epoch_place("epoch"))
        .when(kind == "produce-acked", _batch_place())
        .when(kind.isin("append", "follower-append", "high-watermark", "consumed"), F.concat(F.lit("b"), "broker"))
        .otherwise(F.lit(_NEWEST))
        .alias("place"),
        F.when(commits, F.col("group")).alias("of_group"),
        F.coalesce(
            F.when(kind == "produce-acked", F.col("producer")),
            "consumer",
            "client",
            "worker",
            F.concat(F.lit("b"), F.col("broker")),
            "group",
        ).alias("node"),
    )
    chosen = chosen_records(inputs)
    whole_log = kind.isin("became-leader", "log-restarted")
    events = events.join(F.broadcast(chosen), list(PARTITION)).where(whole_log | F.expr("low <= offset AND offset < high"))
    steps = _with_lives(events.where(kind.isin(*HARMS, *_STEPS)), _lives(events.where(kind.isin(*_MOVES))))
    harmed = steps.where("seq = harm").select(*_RECORD, F.col("life").alias("harmed"))
    steps = steps.join(F.broadcast(harmed), list(_RECORD)).where(F.col("life").eqNullSafe(F.col("harmed")))
    first = F.row_number().over(Window.partitionBy(*_RECORD, "of_group").orderBy("seq"))
    steps = steps.withColumn("nth", first).where("of_group IS NULL OR nth = 1")
    words = F.create_map(*(F.lit(each) for pair in (HARMS | _STEPS).items() for each in pair))
    in_order = Window.partitionBy(*_RECORD).orderBy("seq")
    return steps.select(
        *_RECORD,
        F.row_number().over(in_order).alias("number"),
        "why",
        words[F.col("kind")].alias("step"),
        "node",
        F.col("t").alias("at_us"),
        F.col("seq").alias("event"),
        "cause",
    )


def _with_lives(steps: DataFrame, lives: DataFrame) -> DataFrame:
    """Add the column `life`: the record at the place of each step. A client processes the record that it read last."""
    at_place = Window.partitionBy(*_RECORD, "place").orderBy("seq", "kind").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    known = F.when(F.col("kind").isNull(), F.struct("life"))  # null values come first
    found = steps.unionByName(lives, allowMissingColumns=True).withColumn("life", F.last(known, ignorenulls=True).over(at_place)["life"])
    of_node = Window.partitionBy(*_RECORD, "node").orderBy("seq").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    has_read = F.last(F.when(F.col("kind") == "consumed", F.struct("life")), ignorenulls=True).over(of_node)
    return (
        found.where("kind IS NOT NULL")
        .withColumn("read", has_read)
        .withColumn(
            "life", F.when((F.col("kind") == "records-processed") & F.col("read").isNotNull(), F.col("read.life")).otherwise(F.col("life"))
        )
    )


TRACES: Final = Summary(
    name="traces",
    title="What happened to harmed records, step by step",
    notes=(
        f"The table covers at most {MOST} records of each session, and at most {MOST_EACH} for each kind of harm (`why`): the first record of each interval of lost, skipped, repeated, "
        "or dead-lettered records. Each row is a step of a record: a leader appended it, a follower copied it, a leader's high watermark passed it, its producer got the acknowledgment, a consumer "
        "read or processed it, or a group committed an offset above it for the first time. `event` is the number of the event, and `cause` is the number of its cause. The "
        "steps of another record, which was written at the same offset before or after a truncation, are not part of the table."
    ),
    kinds=tuple(dict.fromkeys((*HARMS, *_STEPS, *_MOVES))),
    columns=(
        "topic", "partition", "from_offset", "to_offset", "old_offset", "new_offset", "committed_offset", "broker", "producer", "consumer", "client", "worker", "group", "leader",
        "leader_epoch", "epoch",
    ),
    schema=table_schema(
        names=("session", "topic"), numbers=("partition", "offset", "number"), more_names=("why", "step", "node"), more_numbers=("at_us", "event", "cause")
    ),
    keys=("session", "topic", "partition", "offset", "number"),
    compute=_compute,
    rows_from=tuple(HARMS),
)  # fmt: skip
