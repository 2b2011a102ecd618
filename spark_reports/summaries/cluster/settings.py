"""Settings that were changed during the session, and the events within a minute after each change."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from core.sim.units import SECOND
from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.intermediate.event_counts import LOST
from spark_reports.summaries.summary import Summary, count_if, sum_if, table_schema

AFTER_US: Final = 60 * SECOND
"""The time after a change during which events are counted, in µs."""


def _compute(inputs: SummaryInputs) -> DataFrame:
    changed = inputs.events_of(("setting-changed",)).select(
        "session", F.col("seq").alias("change"), F.col("t").alias("at_us"), F.col("name").alias("setting"), "subject", "old", "new"
    )
    later = inputs.events_of(set(SETTINGS.kinds) - {"setting-changed"}).select(
        F.col("session").alias("in"), "seq", "t", "kind", "from_offset", "to_offset", *LOST
    )
    followed = changed.hint("broadcast").join(
        later,
        (F.col("session") == F.col("in")) & (F.col("seq") > F.col("change")) & (F.col("t") <= F.col("at_us") + AFTER_US),
        "left",
    )
    kind = F.col("kind")
    return followed.groupBy("session", "change", "at_us", "setting", "subject", "old", "new").agg(
        count_if(kind == "leader-elected").alias("elections"),
        count_if(kind == "isr-shrunk").alias("isr_shrinks"),
        count_if(kind == "isr-expanded").alias("isr_expands"),
        count_if(kind == "partition-offline").alias("offline"),
        count_if(kind == "produce-failed").alias("produce_errors"),
        sum_if(kind == "records-lost", F.col("to_offset") - F.col("from_offset")).alias("lost"),
        *(
            F.when(
                count_if((kind == "records-lost") & F.col(name).isNull()) == 0,
                sum_if(kind.isin("records-lost", "lost-records-seen"), F.col(name)),
            ).alias(name)
            for name in LOST
        ),
    )


SETTINGS: Final = Summary(
    name="settings",
    title="Changed settings, and what followed within a minute",
    notes=(
        "`change` is the sequence number of the change in the log. The columns after `new` count what happened in the whole cluster in "
        "the 60 s of virtual time after the change. The counted events are not necessarily consequences of the change. To find the "
        "consequences of a change, follow the field `cause` of the events in the log. `lost`, `lost_acknowledged`, and `lost_read` count records as in "
        "the table `records`, but do not subtract recovered records. All other columns after `new` count events. An empty `subject` means "
        "the whole cluster."
    ),
    kinds=(
        "setting-changed",
        "leader-elected",
        "isr-shrunk",
        "isr-expanded",
        "partition-offline",
        "produce-failed",
        "records-lost",
        "lost-records-seen",
    ),
    columns=("name", "subject", "old", "new", "from_offset", "to_offset", *LOST),
    schema=table_schema(
        names=("session",),
        numbers=("change", "at_us"),
        more_names=("setting", "subject", "old", "new"),
        more_numbers=("elections", "isr_shrinks", "isr_expands", "offline", "produce_errors", "lost", *LOST),
    ),
    keys=("session", "change"),
    compute=_compute,
    worst=("lost", "offline", "produce_errors", "elections", "isr_shrinks"),
    rows_from=("setting-changed",),
)
