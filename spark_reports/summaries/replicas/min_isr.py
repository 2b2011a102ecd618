"""How long each partition had just enough in-sync replicas for acks=all writes, or too few."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.intermediate.partition_states import STATE_COLUMNS, STATE_KINDS, STATES_FROM, at_min, under_min
from spark_reports.summaries.summary import Summary, count_if, sum_if, table_schema


def _compute(inputs: SummaryInputs) -> DataFrame:
    history = Window.partitionBy("session", "topic", "partition", "topic_number").orderBy("seq")
    lasts = F.col("until") - F.col("t")
    states = inputs.states.withColumns({"at_min": at_min(), "under_min": under_min()})
    states = states.withColumns({f"was_{name}": F.lag(name, 1, False).over(history) for name in ("at_min", "under_min")})
    return states.groupBy("session", "topic", "partition").agg(
        F.max_by("min_isr", "seq").alias("min_isr"),
        sum_if(F.col("at_min"), lasts).alias("at_min_us"),
        count_if(F.col("at_min") & ~F.col("was_at_min")).alias("at_min_times"),
        sum_if(F.col("under_min"), lasts).alias("under_min_us"),
        count_if(F.col("under_min") & ~F.col("was_under_min")).alias("under_min_times"),
        F.min(F.size("isr")).alias("smallest_isr"),
    )


MIN_ISR: Final = Summary(
    name="min_isr",
    title="At and under min.insync.replicas by partition",
    notes=(
        "`min_isr` is the effective min.insync.replicas at the end. A partition is at min if it is under-replicated and has exactly "
        "`min_isr` in-sync replicas. If a partition is at min, one more failure blocks acks=all writes. A partition is under min if it "
        "has fewer than `min_isr` in-sync replicas. The leader of a partition that is under min refuses acks=all writes. An offline partition is "
        "neither at min nor under min."
    ),
    kinds=STATE_KINDS,
    columns=STATE_COLUMNS,
    schema=table_schema(
        names=("session", "topic"),
        numbers=("partition", "min_isr", "smallest_isr", "at_min_us", "at_min_times", "under_min_us", "under_min_times"),
    ),
    keys=("session", "topic", "partition"),
    compute=_compute,
    worst=("under_min_us", "at_min_us"),
    rows_from=STATES_FROM,
)
