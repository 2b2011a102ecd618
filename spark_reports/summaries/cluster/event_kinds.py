"""How many events of each kind a session has, and when they occurred. No kind of event is left out."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from core.kafka.events import KINDS
from spark_reports.rows.schema import DATASET_HEADER, DATASET_TAIL, FREQUENT_KINDS
from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.summary import Summary, table_schema


def _compute(inputs: SummaryInputs) -> DataFrame:
    columns = ("session", "kind", "events", "first_us", "last_us")
    frequent = inputs.event_counts.where(F.col("kind").isin(*FREQUENT_KINDS)).select(*columns)
    others = inputs.infrequent.where(~F.col("kind").isin(*FREQUENT_KINDS, DATASET_HEADER, DATASET_TAIL))
    every = frequent.unionByName(others.selectExpr("session", "kind", "1 AS events", "t AS first_us", "t AS last_us"))
    return every.groupBy("session", "kind").agg(
        F.sum("events").alias("events"), F.min("first_us").alias("first_us"), F.max("last_us").alias("last_us")
    )


EVENT_KINDS: Final = Summary(
    name="event_kinds",
    title="Events of each kind",
    notes="The other tables read the kinds that they name. This table counts all of them, also kinds that only a newer isrlab knows, so that nothing that happened is missing from a report. EVENTLOG.md describes each kind.",
    kinds=tuple(KINDS),
    columns=(),
    schema=table_schema(names=("session", "kind"), numbers=("events", "first_us", "last_us")),
    keys=("session", "kind"),
    compute=_compute,
    worst=("events",),
)
