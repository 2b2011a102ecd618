"""Finds which consumer in a group owns each partition, and when no running consumer owns it.

A consumer has a partition from the moment when it is assigned the partition (`onPartitionsAssigned`) until it gives the partition up, loses
it, or ends. A frozen or slow consumer still has its partitions. The partitions of a group are all partitions of the topics to which its
consumers subscribe. A partition has no owner while at least one consumer in the group is running but no running consumer owns the partition.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.summaries.intermediate.group_offsets import OF_GROUP

OWNER_KINDS: Final = ("partitions-assigned", "partitions-revoked", "partitions-lost", "member-started", "member-ended", "partition-changed")
"""The event kinds that `owned_intervals` and `unowned_intervals` need."""

OWNER_COLUMNS: Final = ("group", "client", "partition_names", "topics", "topic", "partition")
"""The event columns that `owned_intervals` and `unowned_intervals` need."""

_GROUP: Final = ("session", "group")
_MEMBER: Final = ("session", "group", "client")


def owned_intervals(events: DataFrame, sessions: DataFrame) -> DataFrame:
    """Return rows `session, group, topic, partition, client, from_us, to_us`."""
    kind = F.col("kind")
    named = (
        events.where(kind.isin("partitions-assigned", "partitions-revoked", "partitions-lost"))
        .select(*_MEMBER, "seq", "t", "kind", F.explode(F.split("partition_names", ", ")).alias("name"))
        .where("name != ''")
    )
    ended = events.where("kind = 'member-ended'").select(*_MEMBER, "seq", "t", "kind")
    ended = ended.join(named.select(*_MEMBER, "name").distinct(), list(_MEMBER))
    history = Window.partitionBy(*_MEMBER, "name").orderBy("seq")
    return (
        named.unionByName(ended)
        .withColumn("until", F.lead("t").over(history))
        .where("kind = 'partitions-assigned'")
        .join(F.broadcast(sessions.select("session", "end_us")), "session")
        .select(
            *_GROUP,
            F.expr("left(name, length(name) - length(substring_index(name, '-', -1)) - 1)").alias("topic"),
            F.expr("try_cast(substring_index(name, '-', -1) AS BIGINT)").alias("partition"),
            "client",
            F.col("t").alias("from_us"),
            F.coalesce("until", F.greatest("end_us", "t")).alias("to_us"),
        )
    )


def unowned_intervals(owned: DataFrame, events: DataFrame, sessions: DataFrame) -> DataFrame:
    """Return rows `session, group, topic, partition, from_us, to_us` for the periods during which a partition has no consumer.

    Args:
        owned: the result of `owned_intervals`.
        events: the infrequent events.
        sessions: the sessions, each with the time at which it ended.
    """
    started = events.where("kind = 'member-started'")
    topics = (
        started.select(*_GROUP, F.explode(F.split("topics", ", ")).alias("topic"), "t")
        .groupBy(*_GROUP, "topic")
        .agg(F.min("t").alias("since"))
    )
    known = events.where("kind = 'partition-changed'").groupBy("session", "topic", "partition").agg(F.min("t").alias("created"))
    partitions = topics.join(known, ["session", "topic"]).select(*OF_GROUP, F.greatest("since", "created").alias("exists"))
    running = _running(events, sessions)
    # For each partition, the changes in `owners` and `open`. `open` says whether the partition exists and a consumer of the group is
    # running.
    opened = partitions.join(running, list(_GROUP)).where("to_us > exists")
    opened = opened.withColumn("from_us", F.greatest("from_us", "exists"))
    both = _changes(owned, 1, 0).unionByName(_changes(opened, 0, 1)).groupBy(*OF_GROUP, "t")
    changes = both.agg(F.sum("owners").alias("owners"), F.sum("open").alias("open")).where("owners != 0 OR open != 0")
    history = Window.partitionBy(*OF_GROUP).orderBy("t")
    up_to_now = history.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return (
        changes.withColumns(
            {"owners": F.sum("owners").over(up_to_now), "open": F.sum("open").over(up_to_now), "to_us": F.lead("t").over(history)}
        )
        .where("open > 0 AND owners = 0 AND to_us > t")
        .select(*OF_GROUP, F.col("t").alias("from_us"), "to_us")
    )


def _changes(intervals: DataFrame, owners: int, opens: int) -> DataFrame:
    """Return the change in the counts `owners` and `open` at the start and at the end of each interval."""
    starts, ends = (
        F.struct(F.col("from_us").alias("t"), F.lit(1).alias("sign")),
        F.struct(F.col("to_us").alias("t"), F.lit(-1).alias("sign")),
    )
    return intervals.select(*OF_GROUP, F.explode(F.array(starts, ends)).alias("change")).selectExpr(
        "session", "`group`", "topic", "partition", "change.t AS t", f"change.sign * {owners} AS owners", f"change.sign * {opens} AS open"
    )


def _running(events: DataFrame, sessions: DataFrame) -> DataFrame:
    """Return rows `session, group, from_us, to_us` for the periods during which at least one consumer of a group is running."""
    changes = (
        events.where("kind IN ('member-started', 'member-ended')")
        .groupBy(*_GROUP, "t")
        .agg(F.sum(F.when(F.col("kind") == "member-started", 1).otherwise(-1)).alias("change"))
    )
    history = Window.partitionBy(*_GROUP).orderBy("t")
    return (
        changes.withColumns(
            {
                "members": F.sum("change").over(history.rowsBetween(Window.unboundedPreceding, Window.currentRow)),
                "next": F.lead("t").over(history),
            }
        )
        .where("members > 0")
        .join(F.broadcast(sessions.select("session", "end_us")), "session")
        .select(*_GROUP, F.col("t").alias("from_us"), F.coalesce("next", F.greatest("end_us", "t")).alias("to_us"))
    )
