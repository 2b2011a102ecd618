"""How accurately delay services kept to the requested delays, by worker."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.intermediate.percentiles import percentiles, with_ranks
from spark_reports.summaries.summary import Summary, table_schema

_WORKER: Final = ("session", "worker")
_OF: Final = (*_WORKER, "real_topic")

_ERRORS: Final = ("rounding", "total_error")
"""The event columns that contain the timing errors of each record, other than its lateness."""


def _compute(inputs: SummaryInputs) -> DataFrame:
    records = F.col("to_offset") - F.col("from_offset")
    forwarded = inputs.events_of(("delayed-forwarded",)).withColumn("records", records)
    before = Window.partitionBy(*_WORKER, "topic", "partition").orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    ordered = forwarded.withColumn("highest", F.coalesce(F.max("to_offset").over(before) - 1, F.lit(-1)))
    sums = ordered.groupBy(*_OF).agg(
        F.sum("records").alias("records"),
        F.sum(F.when(F.col("late_us") < 0, F.col("records")).otherwise(0)).alias("early"),
        F.sum(F.expr("greatest(least(to_offset, highest) - from_offset, 0)")).alias("inversions"),
        # A sum of times can exceed 64 bits.
        F.expr("sum(CAST(late_us AS DECIMAL(20, 0)) * records)").alias("all_late"),
        F.max("late_us").alias("max_late_us"),
        *(F.expr(f"sum(CAST({name}_us AS DECIMAL(20, 0)) * records)").alias(f"all_{name}") for name in _ERRORS),
        *(F.max(f"{name}_us").alias(f"max_{name}_us") for name in _ERRORS),
    )
    counted = forwarded.groupBy(*_OF, "late_us").agg(F.sum("records").alias("records"))
    ranked = with_ranks(counted, _OF, "late_us", "records").groupBy(*_OF).agg(*percentiles("late_us", "_late_us"))
    started = inputs.events_of(("service-started",))
    delays = started.groupBy(*_WORKER).agg(F.expr("max_by(delay_us, seq) AS delay_us"), F.count(F.lit(1)).alias("instances"))
    held = inputs.events_of(("service-ended",)).where("how != 'stopped'").groupBy(*_WORKER).agg(F.sum("held").alias("forgotten"))
    for name in ("late", *_ERRORS):
        sums = sums.withColumn(f"mean_{name}_us", F.expr(f"(all_{name} - pmod(all_{name}, records)) div records"))
    whole = sums.join(ranked, list(_OF)).join(delays, list(_WORKER), "left").join(held, list(_WORKER), "left")
    return whole.fillna(0, ["forgotten"])


DELAYS: Final = Summary(
    name="delays",
    title="Accuracy of delay services by worker",
    notes=(
        "`delay_us` is the delay of the worker's level. The lateness of a record is the time from when the record is due until it is in its "
        "destination topic. Percentiles of the lateness cover all records and use the nearest-rank method, and the mean is rounded down. `early` "
        "counts the records that arrived before they were due. `rounding` is the delay of the level minus the requested delay, and "
        "`total_error` is the time from the sending of a record until the record is in its destination topic, minus the requested delay. `rounding` and `total_error` are empty for logs from earlier "
        "isrlab versions. "
        "`inversions` counts the records that arrived after a record of the same partition with a higher offset. `instances` counts the starts of the "
        "worker, and `forgotten` counts the records in the memory of instances that were killed, crashed, or failed; the next instance reads them again, unless their "
        "offsets were committed. The table `deliveries` counts the records that were forwarded twice or never. In a transactional service, the counts also include records in transactions that are aborted later."
    ),
    kinds=("delayed-forwarded", "service-started", "service-ended"),
    columns=("worker", "topic", "partition", "from_offset", "to_offset", "late_us", "real_topic", "delay_us", "held", "how", "rounding_us",
             "total_error_us"),
    schema=table_schema(
        names=("session", "worker", "real_topic"),
        numbers=(
            "delay_us", "records", "early", "mean_late_us", "p50_late_us", "p95_late_us", "p99_late_us", "max_late_us", "inversions", "instances", "forgotten",
            "mean_rounding_us", "max_rounding_us", "mean_total_error_us", "max_total_error_us",
        ),
    ),
    keys=_OF,
    compute=_compute,
    worst=("early", "max_late_us", "forgotten", "inversions"),
    rows_from=("delayed-forwarded",),
)  # fmt: skip
