"""What clients and partitions of a session felt over time, in equal pieces of time."""

from __future__ import annotations

from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from core.kafka.health import STALL_BOUND
from spark_reports.summaries.chart_data import POINTS
from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.intermediate.partition_states import STATE_COLUMNS, STATE_KINDS, under_replicated
from spark_reports.summaries.intermediate.percentiles import percentiles, with_ranks
from spark_reports.summaries.summary import Summary, table_schema

_SUMS: Final = ("produced", "acknowledged", "refused", "given_up", "waiting", "under_replicated")


def _piece(time: str) -> Column:
    return F.expr(f"greatest({time}, 0) * {POINTS} div (greatest(end_us, {time}) + 1)").alias("piece")


def _compute(inputs: SummaryInputs) -> DataFrame:
    ends = F.broadcast(inputs.sessions.select("session", "end_us"))
    kinds = ("append", "produce-acked", "append-refused", "produce-given-up")
    events = inputs.events_of(kinds).join(ends, "session")
    counted = events.select(
        "session",
        _piece("t"),
        F.expr("CASE kind WHEN 'append' THEN to_offset - from_offset END AS produced"),
        F.expr("CASE kind WHEN 'produce-acked' THEN records END AS acknowledged"),
        F.expr("CASE kind WHEN 'append-refused' THEN records END AS refused"),
        F.expr("CASE kind WHEN 'produce-given-up' THEN records END AS given_up"),
    )
    # A batch waits from its first send until its answer. Only long waits are counted, because only they have events while they last.
    answered = events.where(f"kind = 'produce-acked' AND latency_us > {STALL_BOUND} OR kind = 'produce-given-up'").selectExpr(
        "session", "end_us", "topic", "partition", "producer", "acks", "t", "t - coalesce(latency_us, waited_us) AS sent", "1 AS ended"
    )
    told = (
        inputs.events_of(("produce-waiting",))
        .join(ends, "session")
        .selectExpr("session", "end_us", "topic", "partition", "producer", "acks", "t", "t - waited_us AS sent", "0 AS ended")
    )
    batch = ("session", "end_us", "topic", "partition", "producer", "acks", "sent")
    batches = (
        answered.unionByName(told)
        .groupBy(*batch)
        .agg(
            F.sum("ended").alias("ended"),
            F.sum(F.expr("1 - ended")).alias("told"),
            F.max(F.expr("CASE ended WHEN 1 THEN t END")).alias("until"),
        )
    )
    waits = batches.selectExpr(
        "session",
        "end_us",
        "inline(array(struct(sent AS at, greatest(ended, told) AS waiting), struct(until AS at, -ended AS waiting)))",
    ).where("at IS NOT NULL")
    states = (
        inputs.states.where(under_replicated())
        .where("until > t")
        .join(ends, "session")
        .selectExpr(
            "session",
            "end_us",
            "inline(array(struct(t AS at, 1 AS under_replicated), struct(if(until < end_us, until, NULL) AS at, -1 AS under_replicated)))",
        )
        .where("at IS NOT NULL")
    )
    parts = [counted, waits.select("session", _piece("at"), "waiting"), states.select("session", _piece("at"), "under_replicated")]
    every = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
    sums = every.groupBy("session", "piece").agg(*(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in _SUMS))
    latencies = events.where("kind = 'produce-acked'").groupBy("session", _piece("t"), "latency_us").agg(F.count(F.lit(1)).alias("batches"))
    ranked = (
        with_ranks(latencies, ("session", "piece"), "latency_us", "batches")
        .groupBy("session", "piece")
        .agg(*percentiles("latency_us", "_us"), F.max("latency_us").alias("max_us"))
    )
    so_far = Window.partitionBy("session").orderBy("piece").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return sums.join(ranked, ["session", "piece"], "left").withColumns({name: F.sum(name).over(so_far) for name in _SUMS[-2:]})


SERIES: Final = Summary(
    name="series",
    title="Writes over time",
    notes="",
    kinds=tuple(dict.fromkeys(("append", "produce-acked", "append-refused", "produce-given-up", "produce-waiting", *STATE_KINDS))),
    columns=tuple(dict.fromkeys(("from_offset", "to_offset", "records", "latency_us", "waited_us", "producer", "acks", *STATE_COLUMNS))),
    schema=table_schema(names=("session",), numbers=("piece", *_SUMS, "p50_us", "p95_us", "p99_us", "max_us")),
    keys=("session", "piece"),
    compute=_compute,
)
