"""ISR changes by partition, and flapping: a replica leaves the ISR and returns within a minute."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from core.sim.units import SECOND
from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.intermediate.partition_states import PARTITION
from spark_reports.summaries.replicas.isr_changes import ISR_COLUMNS, ISR_KINDS, isr_changes
from spark_reports.summaries.summary import Summary, count_if, table_schema

FLAP_US: Final = 60 * SECOND
"""The maximum time outside the ISR that counts as flapping, in µs."""


def _compute(inputs: SummaryInputs) -> DataFrame:
    events = inputs.events_of(ISR_FLAPPING.kinds)
    changes = (
        isr_changes(events)
        .where("before IS NOT NULL")
        .selectExpr(
            *PARTITION,
            "topic_number",
            "seq",
            "t",
            "explode(concat(transform(array_except(before, isr), b -> struct(b AS broker, false AS entered)), "
            "transform(array_except(isr, before), b -> struct(b AS broker, true AS entered)))) AS change",
        )
        .select(*PARTITION, "topic_number", "seq", "t", "change.*")
    )
    of_replica = Window.partitionBy(*PARTITION, "topic_number", "broker").orderBy("seq")
    told = changes.withColumn("away", F.col("t") - F.lag("t").over(of_replica))
    return told.groupBy(*PARTITION).agg(
        count_if(~F.col("entered")).alias("left"),
        count_if(F.col("entered")).alias("entered"),
        count_if(F.col("entered") & (F.col("away") <= FLAP_US)).alias("flaps"),
        F.count_distinct("broker").alias("replicas"),
        F.max(F.when(F.col("entered"), F.col("away"))).alias("longest_away_us"),
    )


ISR_FLAPPING: Final = Summary(
    name="isr_flapping",
    title="ISR changes and flapping by partition",
    notes=(
        "This table counts all committed ISR changes, regardless of their cause. Partitions without changes are omitted. `left` and `entered` "
        "count the times that replicas left and entered the ISR, and `replicas` counts the distinct replicas that did so. `flaps` counts the "
        "times that a replica entered the ISR again within 60 s after it left. `longest_away_us` is the longest time that a replica spent "
        "outside the ISR before it entered the ISR again."
    ),
    kinds=ISR_KINDS,
    columns=ISR_COLUMNS,
    schema=table_schema(
        names=("session", "topic"),
        numbers=("partition", "left", "entered", "flaps", "replicas", "longest_away_us"),
    ),
    keys=("session", "topic", "partition"),
    compute=_compute,
    worst=("flaps", "left", "longest_away_us"),
    rows_from=("partition-changed",),
)
