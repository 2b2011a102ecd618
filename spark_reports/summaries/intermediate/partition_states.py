"""The committed states of each partition, from one `partition-changed` event to the next.

The last state of a partition ends when its topic is deleted. A state also ends when min.insync.replicas changes, because that setting decides whether the partition accepts acks=all writes. A topic's
min.insync.replicas takes precedence over the cluster's value, which is 1 by default. Values that are set for single brokers are ignored.
Since 3.7, the effective min.insync.replicas is at most the number of replicas.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from core.kafka.health import PartitionStatus
from spark_reports.severity import STATE_WORDS

STATE_KINDS: Final = ("partition-changed", "setting-changed", "act", "topic-deleted")
"""The event kinds that `partition_states` needs."""

STATES_FROM: Final = ("partition-changed",)
"""The event kinds that create partition states; a log without such events has no partition states."""

STATE_COLUMNS: Final = ("topic", "partition", "leader", "replicas", "isr", "adding", "name", "subject", "new", "act", "args")
"""The event columns that `partition_states` needs."""

PARTITION: Final = ("session", "topic", "partition")
"""The columns that identify a partition."""

MIN_ISR: Final = "min.insync.replicas"

_DELETED: Final = -2
"""The leader of a partition whose topic is deleted."""

_UNSET: Final = -1
"""The min.insync.replicas of a topic that does not have its own value anymore, because the topic was deleted."""


def offline() -> Column:
    """Return a condition that is true if no broker leads the partition (`core.kafka.health.is_offline`)."""
    return F.col("leader") < 0


def under_replicated() -> Column:
    """Return a condition that is true if a partition with a leader has fewer in-sync replicas than replicas.

    Replicas that a reassignment is adding do not count toward the number of replicas. The simulation uses the equivalent
    `core.kafka.health.is_under_replicated`.
    """
    return ~offline() & (F.size("isr") < F.size("replicas") - F.size("adding"))


def under_min() -> Column:
    """Return a condition that is true if a partition with a leader has fewer in-sync replicas than the effective min.insync.replicas.

    The simulation uses the equivalent `core.kafka.health.is_under_min_isr`.
    """
    return ~offline() & (F.size("isr") < F.col("min_isr"))


def at_min() -> Column:
    """Return a condition that is true if an under-replicated partition has exactly as many in-sync replicas as the effective
    min.insync.replicas.

    The simulation uses the equivalent `PartitionStatus.AT_MIN_ISR`.
    """
    return under_replicated() & (F.size("isr") == F.col("min_isr"))


CONDITIONS: Final = {
    PartitionStatus.OFFLINE: offline,
    PartitionStatus.UNDER_MIN_ISR: under_min,
    PartitionStatus.AT_MIN_ISR: at_min,
    PartitionStatus.UNDER_REPLICATED: under_replicated,
}
"""The conditions for the partition states that depend only on metadata."""


def worst_state() -> Column:
    """Return the name of the worst state of a partition, as in `core.kafka.health.status_of`."""
    found = (F.when(CONDITIONS[status](), STATE_WORDS[status]) for status in sorted(CONDITIONS))
    return F.coalesce(*found, F.lit(STATE_WORDS[PartitionStatus.HEALTHY]))


def effective_min_isr(asked: Column) -> Column:
    """Return the effective min.insync.replicas under the session's release (`core.kafka.health.effective_min_isr`)."""
    return F.when(F.col("capped_min_isr"), F.least(asked, F.size("replicas"))).otherwise(asked)


def partition_states(events: DataFrame, sessions: DataFrame) -> DataFrame:
    """Return rows `session, topic, partition, topic_number, seq, t, until, leader, replicas, isr, adding, min_isr`.

    `until` is the time at which the next state begins, or at which the topic is deleted. `topic_number` tells apart topics that
    successively had the same name.
    """
    changed = events.where(F.col("kind") == "partition-changed").select(
        "session", "topic", "partition", "seq", "t", "leader", "replicas", "isr", "adding"
    )
    partitions = changed.select(*PARTITION).distinct()
    deleted = deletions(events, partitions).withColumns({"leader": F.lit(_DELETED), "topic_min": F.lit(_UNSET).cast("long")})
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
    known = changed.unionByName(deleted, allowMissingColumns=True).unionByName(set_for, allowMissingColumns=True)
    carried = ("leader", "replicas", "isr", "adding", "cluster_min", "topic_min")
    known = known.withColumn("topic_number", F.count(F.when(F.col("leader") == _DELETED, 1)).over(history))
    known = known.withColumns({name: F.last(name, ignorenulls=True).over(history) for name in carried})
    asked = F.coalesce(F.when(F.col("topic_min") != _UNSET, F.col("topic_min")), "cluster_min", F.lit(1))
    return (
        known.where(F.col("leader").isNotNull())
        .join(F.broadcast(sessions.select("session", "end_us", "capped_min_isr")), "session")
        .select(
            *("session", "topic", "partition", "topic_number", "seq", "t"),
            F.coalesce(F.lead("t").over(history), F.greatest("end_us", "t")).alias("until"),
            *("leader", "replicas", "isr", "adding"),
            effective_min_isr(asked).alias("min_isr"),
        )
        .where(F.col("leader") != _DELETED)
    )


def deletions(events: DataFrame, partitions: DataFrame) -> DataFrame:
    """Return rows `session, topic, partition, seq, t`: when which of the given partitions were deleted with their topic."""
    deleted = events.where(F.col("kind") == "topic-deleted").select("session", "topic", "seq", "t")
    return partitions.join(deleted, ["session", "topic"]).select(*PARTITION, "seq", "t")


def _min_isr_values(events: DataFrame, sessions: DataFrame) -> DataFrame:
    """Return rows `session, seq, t, subject, value` for all values to which min.insync.replicas was set.

    `subject` is the name of a topic, or empty for the cluster-wide value.
    """
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
