"""The time that producers waited for acknowledgments, by topic and acks."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.intermediate.percentiles import PERCENTILES, percentiles, with_ranks
from spark_reports.summaries.summary import Summary, table_schema


def _unanswered(inputs: SummaryInputs) -> DataFrame:
    """Return rows `session, topic, acks, wait_us, batches, sent_us` for batches that have received no answer by the end of the session.

    Only batches that waited for a long time are included, because other batches have no `produce-waiting` event.
    """
    batch = ("session", "topic", "partition", "producer", "acks", "sent_us")
    infrequent = inputs.events_of(("produce-waiting", "produce-given-up"))
    told = infrequent.selectExpr(*batch[:5], "t - waited_us AS sent_us", "if(kind = 'produce-waiting', 1, -1) AS waiting")
    late = inputs.event_counts.where("late IS NOT NULL").selectExpr(*batch[:3], "late AS producer", *batch[4:], "-events AS waiting")
    left = told.unionByName(late).groupBy(*batch).agg(F.sum("waiting").alias("batches"))
    return (
        left.where("batches > 0")
        .join(F.broadcast(inputs.sessions.select("session", "end_us")), "session")
        .selectExpr("session", "topic", "acks", "greatest(end_us - sent_us, 0) AS wait_us", "batches", "sent_us")
    )


def _compute(inputs: SummaryInputs) -> DataFrame:
    group = ("session", "topic", "acks")
    acked = inputs.event_counts.where(F.col("kind") == "produce-acked").selectExpr(
        *group, "latency_us AS wait_us", "events AS acknowledged", "events AS batches", "records"
    )
    given_up = inputs.events_of(("produce-given-up",)).selectExpr(
        *group, "waited_us AS wait_us", "1 AS given_up", "1 AS batches", "waited_us AS unknown_us"
    )
    open_end = _unanswered(inputs).selectExpr(*group, "wait_us", "batches AS unanswered", "batches", "wait_us AS unknown_us", "sent_us")
    every = acked.unionByName(given_up, allowMissingColumns=True).unionByName(open_end, allowMissingColumns=True)
    sums = ("batches", "acknowledged", "records", "given_up", "unanswered")
    distinct = every.groupBy(*group, "wait_us").agg(
        *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in sums),
        F.min("unknown_us").alias("unknown_us"),
        F.min("sent_us").alias("sent_us"),
    )
    found = (
        with_ranks(distinct, group, "wait_us", "batches")
        .groupBy(*group)
        .agg(
            *(F.sum(name).alias(name) for name in sums[1:]),
            *percentiles("wait_us", "_us"),
            F.max("wait_us").alias("max_us"),
            F.min("unknown_us").alias("unknown_us"),
            F.min("sent_us").alias("unanswered_since_us"),
        )
    )
    bounds = ", ".join(f"if({name}_us >= unknown_us, '{name}', NULL)" for name in (*(f"p{percent}" for percent in PERCENTILES), "max"))
    return found.withColumn("at_least", F.expr(f"concat_ws(', ', {bounds})"))


PRODUCE_LATENCY: Final = Summary(
    name="produce_latency",
    title="Produce latency by topic and acks",
    notes=(
        "Latency is the time from the first send of a batch to its acknowledgment, including retries. `acknowledged` counts batches, "
        "and `records` counts their records. `given_up` counts batches that the producer gave up on; their latency is the time until the "
        "producer gave up. "
        "`unanswered` counts batches that had waited for more than 1 s and had no answer when the session ended; their latency is the "
        "time that they had waited. A batch that had waited for only 1 to 2 s can be missing from `unanswered`. `unanswered_since_us` is "
        "the time at which the first unanswered batch was sent. Percentiles over acknowledged, given-up, and "
        "unanswered batches use the nearest-rank method: "
        "the p-th percentile of n values is the ceil(p n / 100)-th smallest. `at_least` names the figures that can be higher (≥), because "
        "the waiting time of a batch without an answer "
        "is only a lower bound. An `acks` of -1 means all. With acks=0, the producer does not wait. Logs from earlier isrlab versions do "
        "not record batches that the producer gave up on or that got no answer."
    ),
    kinds=("produce-acked", "produce-given-up", "produce-waiting"),
    columns=("topic", "partition", "producer", "acks", "latency_us", "records", "waited_us"),
    schema=table_schema(
        names=("session", "topic"),
        numbers=("acks", "acknowledged", "records", "given_up", "unanswered", "p50_us", "p95_us", "p99_us", "max_us"),
        more_names=("at_least",),
        more_numbers=("unanswered_since_us",),
    ),
    keys=("session", "topic", "acks"),
    compute=_compute,
    worst=("p99_us", "max_us"),
)
