"""The number of records that groups processed once, more than once, only partly, or never."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.intermediate.group_offsets import OF_GROUP
from spark_reports.summaries.intermediate.intervals import union_length
from spark_reports.summaries.summary import Summary, table_schema

_CONSUMERS: Final = ("records-processed", "processed-again", "records-skipped", "records-left-out", "processed-out-of-order")
"""The event kinds that report how consumers in groups processed or skipped records."""

_ROW: Final = (*OF_GROUP, "does")
_REASONS: Final = ("committed", "reset", "deleted", "truncated")
"""The reasons of skipped records (`core.lab.accounts.missed_records`)."""

_COUNTS: Final = ("times", "repeats", "twice", "half", "never", *_REASONS, "left_out", "out_of_order")


def _compute(inputs: SummaryInputs) -> DataFrame:
    events = inputs.events_of(DELIVERIES.kinds).withColumn("does", F.when(F.col("kind").isin(*_CONSUMERS), "consume").otherwise("forward"))
    kind, span = F.col("kind"), F.col("to_offset") - F.col("from_offset")
    sums = events.where(kind.isin("records-processed", "processed-again")).select(
        *_ROW, F.when(kind == "records-processed", span).alias("times"), F.when(kind == "processed-again", span).alias("repeats")
    )
    found = sums.unionByName(_distinct(events), allowMissingColumns=True).groupBy(*_ROW).agg(*(F.sum(name).alias(name) for name in _COUNTS))
    consumes = F.col("does") == "consume"
    return found.fillna(0).select(
        *_ROW,
        F.when(consumes, F.col("times") - F.col("repeats")).alias("processed"),
        F.when(consumes, F.col("times") - F.col("repeats") - F.col("twice")).alias("once"),
        F.when(consumes, F.col("repeats")).alias("repeats"),
        *("twice", "half", "never"),
        *(F.when(consumes, F.col(name)).alias(name) for name in (*_REASONS, "left_out", "out_of_order")),
    )


def _distinct(events: DataFrame) -> DataFrame:
    """Return the numbers of distinct harmed records. A skipped record does not count if a member processed it later."""
    kind = F.col("kind")
    harmed = events.where(kind != "records-processed").select(
        *_ROW, "kind", "seq", F.coalesce("epoch", F.lit(-1)).alias("epoch"), F.coalesce("reason", F.lit("")).alias("reason"),
        "from_offset", "to_offset",
    )  # fmt: skip
    skipped = harmed.where("kind = 'records-skipped'").drop("kind").alias("s")
    processed = events.where("kind = 'records-processed'").select(*_ROW, "seq", "from_offset", "to_offset").alias("p")
    same = " AND ".join(f"s.`{name}` = p.`{name}`" for name in _ROW)
    later = skipped.join(processed, F.expr(f"{same} AND p.seq > s.seq AND p.from_offset < s.to_offset AND p.to_offset > s.from_offset"))
    later = later.selectExpr(
        *(f"s.`{name}`" for name in _ROW), "'processed-later' AS kind", "s.epoch", "s.reason", "greatest(p.from_offset, s.from_offset) AS from_offset",
        "least(p.to_offset, s.to_offset) AS to_offset",
    )  # fmt: skip
    counted = union_length(harmed.drop("seq").unionByName(later), (*_ROW, "kind", "epoch", "reason"), "from_offset", "to_offset", "records")
    never = F.when(kind.isin("records-skipped", "never-processed"), F.col("records")).when(kind == "processed-later", -F.col("records"))
    return counted.select(
        *_ROW,
        F.when(kind.isin("processed-again", "processed-twice"), F.col("records")).alias("twice"),
        F.when(kind == "half-visible", F.col("records")).alias("half"),
        never.alias("never"),
        *(F.when(F.col("reason") == reason, never).alias(reason) for reason in _REASONS),
        F.when(kind == "records-left-out", F.col("records")).alias("left_out"),
        F.when(kind == "processed-out-of-order", F.col("records")).alias("out_of_order"),
    )


DELIVERIES: Final = Summary(
    name="deliveries",
    title="Records that groups processed once, twice, or never",
    notes=(
        "`does` is `consume` for consumers in a group, and `forward` for processes and delay services, which write each input record to "
        "another topic. `processed` counts the records that members processed at least once. `once` counts the records that were "
        "processed exactly once, and `twice` counts the records that were processed more than once. `repeats` counts every time that a "
        "record was processed again. `never` counts the records that the group never got, and that no member processed later. They are "
        "counted by reason in the next four columns: the group `committed` a higher offset before a member processed them, auto.offset.reset gave "
        "a higher position to a group that had already begun (`reset`), they were `deleted` before a member processed them, or a truncation of "
        "the log took them from the group (`truncated`). Logs from earlier isrlab versions have no reasons. `left_out` counts the records below the position at which "
        "the group began, which it left out on purpose. `out_of_order` counts the records that a member first processed after later records of the same partition. For `forward`, `twice` counts the input records whose output is "
        "seen twice by consumers with read_committed, `half` counts the input records that have only part of their output, and `never` counts the input "
        "records below the committed offset that have no output. The counts include everything that events reported, even if a later "
        "truncation removed the records."
    ),
    kinds=(*_CONSUMERS, "processed-twice", "half-visible", "never-processed"),
    columns=("group", "topic", "partition", "from_offset", "to_offset", "epoch", "reason"),
    schema=table_schema(
        names=("session", "group", "does", "topic"),
        numbers=("partition", "processed", "once", "twice", "repeats", "half", "never", *_REASONS, "left_out", "out_of_order"),
    ),
    keys=("session", "group", "does", "topic", "partition"),
    compute=_compute,
    worst=("never", "half", "twice", "repeats"),
)
