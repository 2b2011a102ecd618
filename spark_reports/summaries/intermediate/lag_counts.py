"""Counts the samples in which a follower or the high watermark was a given number of records behind the leader's log end."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

OF_TOPIC: Final = "xxhash64(session, topic)"

LAG_KINDS: Final = (
    "append", "became-leader", "high-watermark", "partition-changed",
    "became-follower", "follower-append", "log-restarted", "truncated", "unflushed-lost",
)  # fmt: skip
"""The event kinds that `lag_counts` needs."""

_OWN_END: Final = (
    "CASE WHEN kind IN ('append', 'follower-append') THEN to_offset WHEN kind IN ('truncated', 'unflushed-lost') THEN from_offset "
    "WHEN kind = 'log-restarted' THEN new_offset ELSE offset END"
)
"""The log end offset of the event's broker after the event."""


def lag_counts(events: DataFrame) -> DataFrame:
    """For each topic and each `follower` (-1 for the high watermark), return the number of `samples` in which the follower was `behind` by
    a given number of records.

    Computing the lag requires sorting about half of all events. To save time, events are shuffled only once, and hashes replace names:
    `of_topic` is a hash of session and topic, and another hash identifies the partition. With 10^5 partitions, two partitions have the same
    hash in about one session out of 3·10^9.
    """
    known = events.where(F.col("kind").isin(*LAG_KINDS)).selectExpr(
        "xxhash64(session, topic, partition) AS of_partition",
        f"{OF_TOPIC} AS of_topic",
        "seq",
        "kind = 'append' AS appended",
        "CAST(broker AS INT) AS broker",
        f"CASE WHEN kind NOT IN ('high-watermark', 'partition-changed') THEN {_OWN_END} END AS own_end",
        "CASE kind WHEN 'high-watermark' THEN new_offset WHEN 'became-leader' THEN high_watermark END AS committed",
        "CASE WHEN kind = 'partition-changed' THEN replicas END AS replicas",
    )
    history = Window.partitionBy("of_partition").orderBy("seq")
    so_far = history.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    told = known.withColumns({name: F.last(name, ignorenulls=True).over(so_far) for name in ("committed", "replicas")}).withColumn(
        "next_leader", F.expr("lead(CASE WHEN appended THEN broker END) IGNORE NULLS OVER (PARTITION BY of_partition ORDER BY seq)")
    )
    # The log end of a leader itself counts only after another leader appends.
    followers = "array_distinct(array_remove(coalesce(replicas, CAST(array() AS ARRAY<INT>)), broker))"
    whose = (
        f"CASE WHEN NOT appended THEN array(broker) ELSE concat(if(size({followers}) = 0, array(-1), {followers}), "
        "if(coalesce(next_leader <> broker, false), array(broker), CAST(array() AS ARRAY<INT>))) END"
    )
    of_replica = Window.partitionBy("of_partition", "follower").orderBy("seq").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    own_end = F.expr("CASE WHEN follower = broker THEN own_end END")
    # To avoid sorting the high watermark's samples, each is attached to the first follower's sample.
    samples = (
        "inline(concat(array(struct(follower, own_end - reached AS behind)), if(place = 0, array(struct(-1 AS follower, "
        "own_end - committed AS behind)), CAST(array() AS ARRAY<STRUCT<follower: INT, behind: BIGINT>>))))"
    )
    return (
        told.where("own_end IS NOT NULL")
        .selectExpr(
            "of_partition", "of_topic", "seq", "appended", "broker", "own_end", "committed", f"posexplode({whose}) AS (place, follower)"
        )
        .withColumn("reached", F.last(own_end, ignorenulls=True).over(of_replica))
        .where("appended AND follower <> broker")
        .selectExpr("of_topic", samples)
        .where("behind IS NOT NULL")
        .withColumn("behind", F.greatest("behind", F.lit(0).cast("long")))
        .groupBy("of_topic", "follower", "behind")
        .agg(F.count(F.lit(1)).alias("samples"))
    )
