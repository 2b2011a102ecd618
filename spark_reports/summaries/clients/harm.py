"""Records that were exposed, lost, or duplicated, or that diverged, by offset, with the event that caused the harm."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.intermediate.event_counts import LOST
from spark_reports.summaries.summary import Summary, table_schema

_ENDS: Final = {"records-exposed": "records-safe", "records-lost": "records-recovered"}
"""For each kind of event that starts a harmful state, the kinds of events that end that state completely or in part."""

_WHAT: Final = {
    "records-exposed": "exposed",
    "records-lost": "lost",
    "lost-records-seen": "lost, seen",
    "records-duplicated": "duplicated",
    "records-diverged": "diverged",
}


def _compute(inputs: SummaryInputs) -> DataFrame:
    harm = inputs.events_of(_WHAT).selectExpr(
        "session",
        "seq AS event",
        "t AS at_us",
        f"CASE kind {' '.join(f'WHEN {kind!r} THEN {what!r}' for kind, what in _WHAT.items())} END AS what",
        "topic",
        "partition",
        "from_offset",
        "to_offset",
        "CASE WHEN kind = 'records-exposed' THEN records ELSE to_offset - from_offset END AS records",
        *LOST,
        "broker",
        "CASE WHEN kind = 'records-lost' THEN doomed_by ELSE 0 END AS doomed_by",
    )
    over = inputs.events_of(_ENDS.values()).selectExpr(
        "session AS in",
        "seq",
        "t",
        "CASE kind WHEN 'records-safe' THEN 'exposed' ELSE 'lost' END AS of",
        "topic AS of_topic",
        "partition AS of_partition",
        "broker AS of_broker",
        "from_offset AS back_from",
        "to_offset AS back_to",
    )
    ended = (
        (F.col("session") == F.col("in"))
        & (F.col("what") == F.col("of"))
        & (F.col("topic") == F.col("of_topic"))
        & (F.col("partition") == F.col("of_partition"))
        & (F.col("seq") > F.col("event"))
        & F.expr("CASE WHEN of = 'exposed' THEN broker = of_broker ELSE from_offset < back_to AND back_from < to_offset END")
    )
    doom = inputs.events_of(HARM.kinds).selectExpr("session AS at", "seq AS number", "kind AS doom")
    return (
        harm.join(over, ended, "left")
        .groupBy(*harm.columns)
        .agg(F.min("t").alias("until_us"))
        .join(doom, (F.col("session") == F.col("at")) & (F.col("doomed_by") == F.col("number")), "left")
        .withColumn("doom", F.coalesce("doom", F.lit("")))
    )


HARM: Final = Summary(
    name="harm",
    title="Exposed, lost, duplicated, and diverged records, with offsets",
    notes=(
        "`event` is the sequence number of the event in the log. `to_offset` is exclusive. If `what` is `exposed`, `broker` lacks "
        "committed records and "
        "can become leader. For `exposed`, `until_us` is the time from which the broker can no longer cause the loss of the "
        "exposed records. If `what` is "
        "`lost`, the records are missing from the log of the leader (`broker`). For `lost`, `until_us` is the time at which some of the "
        "records are in the log of the leader again. "
        "`doomed_by` is the number of the event that "
        "removed the records, and `doom` is the kind of this event. `lost_acknowledged` counts lost records that were acknowledged, "
        "and `lost_read` counts lost records that a consumer read. A record that was both acknowledged and read is counted in both columns. If `what` is `lost, seen`, the records were "
        "acknowledged or read after they were lost. An empty `until_us` means the end of the session."
    ),
    kinds=(*_WHAT, *_ENDS.values(), "truncated", "unflushed-lost", "broker-stopped", "leader-elected", "became-leader", "log-restarted"),
    columns=("topic", "partition", "broker", "from_offset", "to_offset", "records", "doomed_by", *LOST),
    schema=table_schema(
        names=("session",),
        numbers=("event", "at_us"),
        more_names=("what", "topic", "doom"),
        more_numbers=("partition", "from_offset", "to_offset", "records", *LOST, "broker", "until_us", "doomed_by"),
    ),
    keys=("session", "event"),
    compute=_compute,
    worst=("what", "records"),
    rows_from=tuple(_WHAT),
)
