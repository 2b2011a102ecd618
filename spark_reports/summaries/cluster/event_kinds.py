"""How many events of each kind a session has, and when they occurred. No kind of event is left out."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from core.kafka.events import KINDS
from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.summary import Summary, table_schema


def _compute(inputs: SummaryInputs) -> DataFrame:
    return inputs.events.groupBy("session", "kind").agg(
        F.count(F.lit(1)).alias("events"), F.min("t").alias("first_us"), F.max("t").alias("last_us")
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
