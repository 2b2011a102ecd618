"""The totals of the durability account for each partition, for example the numbers of accepted, acknowledged, lost, and recovered records.

`lost` counts each lost record once if it was acknowledged or read. `lost_acknowledged` and `lost_read` count acknowledged records and read
records separately, and a record can be in both counts.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.intermediate.event_counts import LOST
from spark_reports.summaries.summary import Summary, count_if, sum_if, table_schema

_LOST: Final = ("records-lost", "records-recovered", "lost-records-seen")


def _of_lost(name: str) -> Column:
    """Return the number of lost records from a column, or null for a log from an earlier isrlab version, which lacks the column."""
    kind, value = F.col("kind"), F.col(name)
    unknown = count_if(kind.isin(*_LOST) & value.isNull())
    count = sum_if(kind.isin(*_LOST), F.when(kind == "records-recovered", -value).otherwise(value))
    return F.when(unknown == 0, count).alias(name)


def _compute(inputs: SummaryInputs) -> DataFrame:
    kind, span = F.col("kind"), F.col("span")
    return (
        inputs.event_counts.where(kind.isin(*RECORDS.kinds))
        .groupBy("session", "topic", "partition")
        .agg(
            sum_if(kind == "append", span).alias("accepted"),
            sum_if((kind == "produce-acked") & (F.col("acks") != 0), F.col("records")).alias("acknowledged"),
            sum_if((kind == "produce-acked") & (F.col("acks") == 0), F.col("records")).alias("unconfirmed"),
            (sum_if(kind == "records-lost", span) - sum_if(kind == "records-recovered", span)).alias("lost"),
            *map(_of_lost, LOST),
            sum_if(kind == "records-recovered", span).alias("recovered"),
            sum_if(kind == "records-duplicated", span).alias("duplicated"),
            sum_if(kind == "records-diverged", span).alias("diverged"),
            sum_if(kind == "records-out-of-order", span).alias("out_of_order"),
        )
    )


RECORDS: Final = Summary(
    name="records",
    title="Records by partition",
    notes=(
        "`accepted` counts records that a leader appended, including the markers of transactions. `acknowledged` counts records whose producer received an acknowledgment "
        "(acks 1 or all). `unconfirmed` counts records that the producer sent with acks=0, which are never acknowledged. `lost` counts "
        "records that were acknowledged or read, and that the leader's log lacks at the end. Each record counts once. "
        "`lost_acknowledged` counts lost records that were acknowledged, and `lost_read` counts lost records that a consumer read; a "
        "record can be counted in both columns. `lost_acknowledged` and `lost_read` are empty for logs from earlier isrlab versions, which did "
        "not distinguish acknowledged records from records that were read. `recovered` counts records that were temporarily lost. "
        "`duplicated` counts records that a retry "
        "appended again. `diverged` counts offsets at which replicas have different records and replication does not detect the difference. "
        "`out_of_order` counts records that were appended after records that the same producer sent later."
    ),
    kinds=("append", "produce-acked", *_LOST, "records-duplicated", "records-diverged", "records-out-of-order"),
    columns=("topic", "partition", "from_offset", "to_offset", "records", "acks", *LOST),
    schema=table_schema(
        names=("session", "topic"),
        numbers=(
            "partition",
            "accepted",
            "acknowledged",
            "unconfirmed",
            "lost",
            *LOST,
            "recovered",
            "duplicated",
            "diverged",
            "out_of_order",
        ),
    ),
    keys=("session", "topic", "partition"),
    compute=_compute,
    worst=("lost", "lost_acknowledged", "diverged", "out_of_order", "duplicated", "recovered"),
)
