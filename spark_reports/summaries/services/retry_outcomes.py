"""What finally happened to records in retry services: dead letters, repeated successes, and dropped records."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.intermediate.intervals import union_length
from spark_reports.summaries.intermediate.partition_states import PARTITION
from spark_reports.summaries.summary import Summary, table_schema

_OUTCOMES: Final = {"dead-lettered": "dead letter", "succeeded-twice": "succeeded twice", "retry-dropped": "dropped"}
"""The outcome that each kind of event reports."""

_KEYS: Final = (*PARTITION, "outcome", "detail")


def _compute(inputs: SummaryInputs) -> DataFrame:
    outcome = F.coalesce(*(F.when(F.col("kind") == kind, F.lit(words)) for kind, words in _OUTCOMES.items()))
    detail = F.coalesce(F.when(F.col("kind") == "dead-lettered", F.col("reason")), "worker", "group")
    found = inputs.events_of(RETRY_OUTCOMES.kinds).withColumns({"outcome": outcome, "detail": detail})
    sums = found.groupBy(*_KEYS).agg(
        F.sum(F.col("to_offset") - F.col("from_offset")).alias("times"),
        F.min("t").alias("first_us"),
        F.max("t").alias("last_us"),
        F.max("tries").alias("tries"),
    )
    distinct = union_length(found, _KEYS, "from_offset", "to_offset", "records")
    return sums.join(distinct, list(_KEYS))


RETRY_OUTCOMES: Final = Summary(
    name="retry_outcomes",
    title="Dead letters, and records that retry services processed successfully twice or dropped",
    notes=(
        "`outcome` is dead letter (the record failed in all tries, or the destination topic of a delay service never accepts it, and the dead-letter topic has it), succeeded twice, or dropped (a committed offset is above "
        "the record, but the record neither succeeded nor reached another topic). `detail` is the reason for a dead letter, the worker "
        "that succeeded again, or the "
        "group that dropped the record. `topic` and `partition` name the partition to which the application produced the records or, for "
        "dropped records, the partition from which the worker read the records. `records` counts the distinct records, and `times` also "
        "counts "
        "repetitions, such as a record that is in the dead-letter topic twice. "
        "`tries` is the largest number of tries for any of the dead letters."
    ),
    kinds=tuple(_OUTCOMES),
    columns=("worker", "group", "topic", "partition", "from_offset", "to_offset", "reason", "tries"),
    schema=table_schema(
        names=("session", "topic"),
        numbers=("partition",),
        more_names=("outcome", "detail"),
        more_numbers=("records", "times", "tries", "first_us", "last_us"),
    ),
    keys=_KEYS,
    compute=_compute,
    worst=("outcome", "records"),
)
