"""What became of the records, by partition: the durability account added up."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.summaries.summary import Inputs, Summary, sum_if, table


def _compute(inputs: Inputs) -> DataFrame:
    kind, span = F.col("kind"), F.col("span")
    return (
        inputs.counted.where(kind.isin(*RECORDS.kinds))
        .groupBy("session", "topic", "partition")
        .agg(
            sum_if(kind == "append", span).alias("accepted"),
            sum_if((kind == "produce-acked") & (F.col("acks") != 0), F.col("records")).alias("acknowledged"),
            sum_if((kind == "produce-acked") & (F.col("acks") == 0), F.col("records")).alias("unconfirmed"),
            (sum_if(kind == "records-lost", span) - sum_if(kind == "records-recovered", span)).alias("lost"),
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
        "promises nothing. `lost`: acknowledged and not in the log that counts at the end; `recovered` were lost for a while. "
        "`duplicated`: a retry appended again. `diverged`: offsets at which replicas hold different records unnoticed."
    ),
    kinds=("append", "produce-acked", "records-lost", "records-recovered", "records-duplicated", "records-diverged"),
    columns=("topic", "partition", "from_offset", "to_offset", "records", "acks"),
    schema=table(
        names=("session", "topic"),
        numbers=("partition", "accepted", "acknowledged", "unconfirmed", "lost", "recovered", "duplicated", "diverged"),
    ),
    keys=("session", "topic", "partition"),
    compute=_compute,
)
