"""What several summaries build on: each partition's committed states with the time they lasted, and when broker processes were down.

A state is one row from the event that made it to the next one of the same partition, or to the session's end. It changes
with `partition-changed`, and with min.insync.replicas, which decides whether acks=all writes are taken: the topic's
own value, else the cluster's, else 1; values of single brokers are not looked at. Since 3.7 it counts as at most the
number of replicas.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from core.kafka.health import PartitionStatus
from spark_reports.severity import STATE_WORDS

STATE_KINDS: Final = ("partition-changed", "setting-changed", "act")
"""Event kinds that `partition_states` looks at."""

STATE_COLUMNS: Final = ("topic", "partition", "leader", "replicas", "isr", "adding", "name", "subject", "new", "act", "args")
"""Event columns that it looks at."""

DOWN_KINDS: Final = ("broker-stopped", "broker-started", "broker-paused", "broker-resumed")
"""Event kinds that `down_times` looks at."""

PARTITION: Final = ("session", "topic", "partition")
"""What tells partitions apart."""

MIN_ISR: Final = "min.insync.replicas"


def offline() -> Column:
    """Nobody leads (`core.kafka.health.is_offline`)."""
    return F.col("leader") < 0


def under_replicated() -> Column:
    """Led, and fewer in-sync replicas than replicas, those being added not counted (`core.kafka.health.is_under_replicated`)."""
    return ~offline() & (F.size("isr") < F.size("replicas") - F.size("adding"))


def under_min() -> Column:
    """Led, and fewer in-sync replicas than the effective min.insync.replicas (`core.kafka.health.is_under_min_isr`)."""
    return ~offline() & (F.size("isr") < F.col("min_isr"))


def at_min() -> Column:
    """Under-replicated, with just as many in-sync replicas as the effective min.insync.replicas (`PartitionStatus.AT_MIN_ISR`)."""
    return under_replicated() & (F.size("isr") == F.col("min_isr"))


HOLDS: Final = {
    PartitionStatus.OFFLINE: offline,
    PartitionStatus.UNDER_MIN_ISR: under_min,
    PartitionStatus.AT_MIN_ISR: at_min,
    PartitionStatus.UNDER_REPLICATED: under_replicated,
}
"""The states that follow from the metadata alone."""


def worst() -> Column:
    """The worst of those states, in words, as `core.kafka.health.status_of` has it."""
    found = (F.when(HOLDS[status](), STATE_WORDS[status]) for status in sorted(HOLDS))
    return F.coalesce(*found, F.lit(STATE_WORDS[PartitionStatus.HEALTHY]))


def effective_min_isr(asked: Column) -> Column:
    """What min.insync.replicas comes to under the session's release (`core.kafka.health.effective_min_isr`)."""
    return F.when(F.col("capped_min_isr"), F.least(asked, F.size("replicas"))).otherwise(asked)


def partition_states(events: DataFrame, sessions: DataFrame) -> DataFrame:
    """Rows `session, topic, partition, seq, t, until, leader, replicas, isr, adding, min_isr`; `until` is where the next one begins."""
    changed = events.where(F.col("kind") == "partition-changed").select(
        "session", "topic", "partition", "seq", "t", "leader", "replicas", "isr", "adding"
    )
    partitions = changed.groupBy("session", "topic", "partition").agg(F.min("seq").alias("first"))
    values = _min_isr_values(events, sessions)
    set_for = (
        partitions.join(F.broadcast(values), "session")
        .where((F.col("subject") == "") | (F.col("subject") == F.col("topic")))
        .select(
            "session",
            "topic",
            "partition",
            "seq",
            "t",
            F.when(F.col("subject") == "", F.col("value")).alias("cluster_min"),
            F.when(F.col("subject") != "", F.col("value")).alias("topic_min"),
        )
    )
    history = Window.partitionBy("session", "topic", "partition").orderBy("seq")
    known = changed.unionByName(set_for, allowMissingColumns=True)
    carried = ("leader", "replicas", "isr", "adding", "cluster_min", "topic_min")
    known = known.withColumns({name: F.last(name, ignorenulls=True).over(history) for name in carried})
    asked = F.coalesce("topic_min", "cluster_min", F.lit(1))
    return (
        known.where(F.col("leader").isNotNull())
        .join(F.broadcast(sessions.select("session", "end_us", "capped_min_isr")), "session")
        .select(
            *("session", "topic", "partition", "seq", "t"),
            F.coalesce(F.lead("t").over(history), F.greatest("end_us", "t")).alias("until"),
            *("leader", "replicas", "isr", "adding"),
            effective_min_isr(asked).alias("min_isr"),
        )
    )


def _min_isr_values(events: DataFrame, sessions: DataFrame) -> DataFrame:
    """Every value min.insync.replicas was given: `session, seq, t, subject (a topic, or empty for the cluster), value`."""
    at_start = sessions.select(
        "session", F.lit(0).cast("long").alias("seq"), F.lit(0).cast("long").alias("t"), F.explode("min_isr").alias("subject", "value")
    )
    changed = events.where((F.col("kind") == "setting-changed") & (F.col("name") == MIN_ISR)).select(
        "session", "seq", "t", "subject", F.expr("try_cast(new AS BIGINT)").alias("value")
    )
    asked = F.from_json("args", "topic STRING, config ARRAY<ARRAY<STRING>>")
    created = (
        events.where((F.col("kind") == "act") & (F.col("act") == "create-topic"))
        .select("session", "seq", "t", asked.alias("asked"))
        .select("session", "seq", "t", F.col("asked.topic").alias("subject"), F.explode("asked.config").alias("pair"))
        .where(F.get("pair", F.lit(0)) == MIN_ISR)
        .select("session", "seq", "t", "subject", F.expr("try_cast(get(pair, 1) AS BIGINT)").alias("value"))
    )
    return at_start.unionByName(changed).unionByName(created)


def down_times(events: DataFrame, sessions: DataFrame) -> DataFrame:
    """Rows `session, broker, down_from, down_until, how`: a broker's process had ended (`how`: leader down) or stood still (leader paused)."""
    life = Window.partitionBy("session", "broker").orderBy("seq")
    return (
        events.where(F.col("kind").isin(*DOWN_KINDS))
        .join(F.broadcast(sessions.select("session", "end_us")), "session")
        .withColumn("down_until", F.coalesce(F.lead("t").over(life), F.greatest("end_us", "t")))
        .where(F.col("kind").isin("broker-stopped", "broker-paused"))
        .select(
            "session",
            "broker",
            F.col("t").alias("down_from"),
            "down_until",
            F.when(F.col("kind") == "broker-paused", "leader paused").otherwise("leader down").alias("how"),
        )
    )
