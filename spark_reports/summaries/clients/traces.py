"""What happened, step by step, to a selection of harmed records. `isrlab trace` shows the same steps for any record."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
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


def chosen_records(inputs: SummaryInputs) -> DataFrame:
    """Return the records to trace: `session, topic, partition, offset, why`. Each row is the first record in the offset range of an event
    in `HARMS`."""
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
    return few.select(*_RECORD, "why")


def _compute(inputs: SummaryInputs) -> DataFrame:
    kind = F.col("kind")
    commits = kind.isin("offset-committed", "offset-materialized")
    events = only_if_found(inputs.events_of(TRACES.kinds), inputs.found, HARMS).select(
        *PARTITION,
        "seq",
        "t",
        "cause",
        "kind",
        F.when(commits, F.lit(0)).when(kind == "high-watermark", F.col("old_offset")).otherwise(F.col("from_offset")).alias("low"),
        F.when(commits, F.col("committed_offset"))
        .when(kind == "high-watermark", F.col("new_offset"))
        .otherwise(F.col("to_offset"))
        .alias("high"),
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
    steps = events.join(F.broadcast(chosen_records(inputs)), list(PARTITION)).where("low <= offset AND offset < high")
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


TRACES: Final = Summary(
    name="traces",
    title="What happened to harmed records, step by step",
    notes=(
        f"The table covers at most {MOST} records of each session, and at most {MOST_EACH} for each kind of harm (`why`): the first record of each interval of lost, skipped, repeated, "
        "or dead-lettered records. Each row is a step of a record: a leader appended it, a follower copied it, a leader's high watermark passed it, its producer got the acknowledgment, a consumer "
        "read or processed it, or a group committed an offset above it for the first time. `event` is the number of the event, and `cause` is the number of its cause. If a "
        "log was truncated, another record can have the same offset; `isrlab trace` tells the records apart."
    ),
    kinds=(*HARMS, *_STEPS),
    columns=(
        "topic", "partition", "from_offset", "to_offset", "old_offset", "new_offset", "committed_offset", "broker", "producer", "consumer", "client", "worker", "group",
    ),
    schema=table_schema(
        names=("session", "topic"), numbers=("partition", "offset", "number"), more_names=("why", "step", "node"), more_numbers=("at_us", "event", "cause")
    ),
    keys=("session", "topic", "partition", "offset", "number"),
    compute=_compute,
    rows_from=tuple(HARMS),
)  # fmt: skip
