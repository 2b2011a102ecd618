"""The message audit by bucket and tier: what happened to the records that producers created in each minute."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs, only_if_found
from spark_reports.summaries.intermediate.event_counts import BUCKET
from spark_reports.summaries.intermediate.percentiles import percentiles, with_ranks
from spark_reports.summaries.summary import Summary, table_schema

_LOSSES: Final = ("records-lost", "records-recovered")

_PLACE: Final = ("session", "topic", "partition")


def _lost_records(inputs: SummaryInputs) -> DataFrame:
    """Return rows `session, topic, tier, bucket_us, records` for the acknowledged records that are lost at the end.

    A lost record belongs to the batch that a leader appended at the same offset in the leader epoch of the lost record. The event that
    records the acknowledgment of a lost record's batch shows when the batch was created. A record can be lost and recovered several times.
    The number of records that are lost at the end is therefore the number of losses minus the number of recoveries.
    """
    harmed = inputs.events_of(_LOSSES).selectExpr(
        *_PLACE, "epoch", "from_offset AS low", "to_offset AS high", "if(kind = 'records-lost', 1, -1) AS sign"
    )
    batch = (*_PLACE, "producer", "from_offset", "to_offset")
    batches = only_if_found(inputs.events_of(("append", "produce-acked")), inputs.found, _LOSSES)
    appends = batches.where("kind = 'append'").select(*batch, F.col("leader_epoch").alias("epoch"), F.col("seq").alias("appended"))
    overlap = (F.col("from_offset") < F.col("high")) & (F.col("to_offset") > F.col("low"))
    net = (
        appends.join(harmed, [*_PLACE, "epoch"])
        .where(overlap)
        .groupBy(*batch, "appended")
        .agg(F.expr("sum(sign * (least(to_offset, high) - greatest(from_offset, low)))").alias("records"))
        .where("records > 0")
    )
    acked = batches.where("kind = 'produce-acked' AND acks != 0").selectExpr(*batch, "seq AS acked", "t - latency_us AS created_us")
    return (
        acked.join(net, list(batch))
        .where("acked > appended")
        .groupBy(*batch, "appended", "records")
        .agg(F.expr("min_by(created_us, acked)").alias("created_us"))
        .selectExpr("session", "topic", "'lost' AS tier", f"{BUCKET.format('created_us')} AS bucket_us", "records")
    )


def _compute(inputs: SummaryInputs) -> DataFrame:
    group = ("session", "topic", "tier", "bucket_us")
    acked = inputs.event_counts.where("kind = 'produce-acked'").selectExpr(
        *group[:2], "if(acks = 0, 'unconfirmed', 'acked') AS tier", "bucket_us", "records", "latency_us AS wait_us"
    )
    given_up = inputs.events_of(("produce-given-up",)).selectExpr(
        *group[:2], "'given-up' AS tier", f"{BUCKET.format('t - waited_us')} AS bucket_us", "records", "waited_us AS wait_us"
    )
    every = acked.unionByName(given_up).unionByName(_lost_records(inputs), allowMissingColumns=True)
    distinct = every.groupBy(*group, "wait_us").agg(F.sum("records").alias("records"))
    return (
        with_ranks(distinct, group, "wait_us", "records")
        .groupBy(*group)
        .agg(F.sum("records").alias("records"), *percentiles("wait_us", "_us"), F.max("wait_us").alias("max_us"))
    )


AUDIT: Final = Summary(
    name="audit",
    title="Message audit by minute and tier",
    notes=(
        "A record belongs to the minute in which its producer created its batch; `bucket_us` is the start of that minute. The tiers are: "
        "`acked` (acknowledged with acks 1 or all), `unconfirmed` (sent with acks=0), `given-up` (the producer gave up, and does not know "
        "whether a log contains the record), and `lost` (acknowledged, and missing from the leader's log at the end; if a retry appended "
        "a record twice, a lost copy counts although the other copy remains). For `acked`, the times run from the creation of the batch "
        "to its acknowledgment. For `given-up`, the times run from the creation of the batch to the end of the attempts. The percentiles "
        "cover all records and use the nearest-rank method. In rows of the tier `lost`, the times are empty. Records that had no result "
        "when the session ended are in no tier. `isrlab audit` also shows records without a result, and records that were stored and read."
    ),
    kinds=("produce-acked", "produce-given-up", "append", *_LOSSES),
    columns=(
        "topic", "partition", "producer", "acks", "latency_us", "records", "waited_us", "from_offset", "to_offset", "leader_epoch", "epoch",
    ),
    schema=table_schema(names=("session", "topic", "tier"), numbers=("bucket_us", "records", "p50_us", "p95_us", "p99_us", "max_us")),
    keys=("session", "topic", "bucket_us", "tier"),
    compute=_compute,
    worst=("max_us", "records"),
)  # fmt: skip
