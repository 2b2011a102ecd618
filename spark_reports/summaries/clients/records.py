"""What became of the records, by partition: the durability account added up.

`lost` counts records once that were acknowledged or read; `lost_acknowledged` and `lost_read` say for whom, and overlap.
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
    """Lost records as one of the columns that logs of an earlier isrlab lack counts them; null for such a log."""
    kind, value = F.col("kind"), F.col(name)
    unknown = count_if(kind.isin(*_LOST) & value.isNull())
    count = sum_if(kind.isin(*_LOST), F.when(kind == "records-recovered", -value).otherwise(value))
    return F.when(unknown == 0, count).alias(name)


def _compute(inputs: SummaryInputs) -> DataFrame:
    kind, span = F.col("kind"), F.col("span")
    return (
        inputs.counted.where(kind.isin(*RECORDS.kinds))
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
        )
    )


RECORDS: Final = Summary(
    name="records",
    title="Records by partition",
    notes=(
        "`accepted`: appended by a leader. `acknowledged`: a producer was told so (acks 1 or all); `unconfirmed`: sent with acks=0, which "
        "promises nothing. `lost`: acknowledged or read by a consumer, and not in the log that counts at the end; each record counts once. "
        "`lost_acknowledged` of them were acknowledged, `lost_read` a consumer had read, acknowledged or not: a record can be in both. "
        "Both are empty for a log of an earlier isrlab, which did not tell them apart. `recovered` were lost for a while. "
        "`duplicated`: a retry appended again. `diverged`: offsets at which replicas hold different records unnoticed."
    ),
    kinds=("append", "produce-acked", *_LOST, "records-duplicated", "records-diverged"),
    columns=("topic", "partition", "from_offset", "to_offset", "records", "acks", *LOST),
    schema=table_schema(
        names=("session", "topic"),
        numbers=("partition", "accepted", "acknowledged", "unconfirmed", "lost", *LOST, "recovered", "duplicated", "diverged"),
    ),
    keys=("session", "topic", "partition"),
    compute=_compute,
    worst=("lost", "lost_acknowledged", "diverged", "duplicated", "recovered"),
)
