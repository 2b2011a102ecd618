"""The errors that occurred, by error code and by kind of event."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from core.kafka.events import EVENTS, column_types
from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.summary import Summary, count_if, table_schema


def _compute(inputs: SummaryInputs) -> DataFrame:
    # Some kinds of events also report successes, with an empty error code.
    events = inputs.events_of(ERRORS.kinds).where("error <> ''")
    given_up = (F.col("kind") == "produce-failed") & ~F.col("retry")
    return events.groupBy("session", "error", "kind").agg(
        F.count(F.lit(1)).alias("count"),
        count_if(given_up).alias("given_up"),
        F.min("t").alias("first_us"),
        F.max("t").alias("last_us"),
    )


ERRORS: Final = Summary(
    name="errors",
    title="Errors by code",
    notes=(
        "`kind` is the kind of the event that contains the error. `given_up` counts failed attempts to produce a batch that were not followed by a retry."
    ),
    kinds=tuple(event.kind for event in EVENTS if "error" in column_types(event)),
    columns=("error", "retry"),
    schema=table_schema(names=("session", "error", "kind"), numbers=("count", "given_up", "first_us", "last_us")),
    keys=("session", "error", "kind"),
    compute=_compute,
    worst=("given_up", "count"),
)
