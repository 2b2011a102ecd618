"""Intervals during which a fault was active: a broker process was down, a link was cut, or a disk was slow.

The module also computes the intervals in which each broker was a leader, and the clients of each topic.
"""

from __future__ import annotations

from typing import Final

import attrs
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from core.kafka.health import STALL_BOUND
from core.lab.acts import Act, Consume, Load, Produce
from spark_reports.summaries.intermediate.partition_states import PARTITION

DOWN_KINDS: Final = ("broker-stopped", "broker-started", "broker-paused", "broker-resumed")
"""The event kinds that `broker_down_intervals` needs."""

LINK_KINDS: Final = ("link-cut", "link-healed", "act")
"""The event kinds that `link_cut_intervals` and `topic_clients` need."""

LINK_COLUMNS: Final = ("src", "dst", "act", "args")
"""The event columns that `link_cut_intervals` and `topic_clients` need."""

ROLE_KINDS: Final = ("became-leader", "became-follower", "broker-stopped")
"""The event kinds that `leadership_intervals` needs."""

DISK_KINDS: Final = ("disk-slowed", "disk-behind", "broker-stopped")
"""The event kinds that `slow_disk_intervals` needs."""

DISK_COLUMNS: Final = ("delay_us", "write_wait_us")
"""The event columns that `slow_disk_intervals` needs."""

_CLIENT_ACTS: Final[dict[type[Act], str]] = {Load: "producer", Produce: "producer", Consume: "consumer"}
"""The acts that create clients, each with the field that contains the client's name."""


def broker_down_intervals(events: DataFrame, sessions: DataFrame) -> DataFrame:
    """Return rows `session, broker, down_from, down_until, how` for the intervals in which a broker's process was not running.

    `how` is `leader down` if the process was stopped, and `leader paused` if it was paused.
    """
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


def link_cut_intervals(events: DataFrame, sessions: DataFrame) -> DataFrame:
    """Return rows `in, one, other, cut_from, cut_until` for the intervals in which one direction of a link was cut.

    Each cut has two rows: in one row, `one` is the sender, and in the other row, `one` is the receiver. The column `in` contains the session.
    """
    life = Window.partitionBy("session", "src", "dst").orderBy("seq")
    cut = (
        events.where(F.col("kind").isin("link-cut", "link-healed"))
        .join(F.broadcast(sessions.select("session", "end_us")), "session")
        .withColumn("cut_until", F.coalesce(F.lead("t").over(life), F.greatest("end_us", "t")))
        .where("kind = 'link-cut' AND cut_until > t")
    )
    return cut.selectExpr(
        "session AS in", "t AS cut_from", "cut_until", "inline(array(struct(src AS one, dst AS other), struct(dst AS one, src AS other)))"
    )


def topic_clients(events: DataFrame) -> DataFrame:
    """Return rows `session, topic, client`: the clients that write to each topic or read from it, according to the acts."""
    asked = F.from_json("args", "topic STRING, producer STRING, consumer STRING")
    name = F.lit(None).cast("string")
    for act, field in _CLIENT_ACTS.items():
        default = getattr(attrs.fields(act), field).default
        name = F.when(F.col("act") == act.word, F.coalesce(F.col(f"asked.{field}"), F.lit(default))).otherwise(name)
    return (
        events.where((F.col("kind") == "act") & F.col("act").isin(*(act.word for act in _CLIENT_ACTS)))
        .select("session", "act", asked.alias("asked"))
        .select("session", F.col("asked.topic").alias("topic"), name.alias("client"))
        .where("topic IS NOT NULL")
        .distinct()
    )


def leadership_intervals(events: DataFrame) -> DataFrame:
    """Return rows `in, led_topic, led_partition, broker, leads_from, leads_until` for the intervals in which a broker's process led a
    partition.

    If the process led until the end, `leads_until` is null. The column `in` contains the session.
    """
    # The order is descending, because in ascending order Spark rescans all following rows for each row.
    process = Window.partitionBy("session", "broker").orderBy(F.desc("seq")).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    role = Window.partitionBy(*PARTITION, "broker").orderBy("seq")
    return (
        events.where(F.col("kind").isin(*ROLE_KINDS))
        .withColumn("stops", F.last(F.expr("CASE WHEN kind = 'broker-stopped' THEN t END"), ignorenulls=True).over(process))
        .where("kind <> 'broker-stopped'")
        .withColumn("leads_until", F.least(F.lead("t").over(role), "stops"))
        .where("kind = 'became-leader'")
        .selectExpr("session AS in", "topic AS led_topic", "partition AS led_partition", "broker", "t AS leads_from", "leads_until")
    )


def slow_disk_intervals(events: DataFrame, sessions: DataFrame) -> DataFrame:
    """Return rows `in, broker, slow_from, slow_until` for the intervals in which writes waited longer than `STALL_BOUND` for a disk.

    The column `in` contains the session. While nothing is written, the wait for a busy disk becomes shorter, but the duration of each write
    stays the same.
    """
    life = Window.partitionBy("session", "broker").orderBy("seq")
    slowed = F.last(F.expr("CASE WHEN kind = 'disk-slowed' THEN delay_us END"), ignorenulls=True).over(
        life.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    return (
        events.where(F.col("kind").isin(*DISK_KINDS))
        .join(F.broadcast(sessions.select("session", "end_us")), "session")
        .withColumns({"next": F.coalesce(F.lead("t").over(life), F.greatest("end_us", "t")), "each_us": F.coalesce(slowed, F.lit(0))})
        .withColumn("waits_us", F.expr("CASE WHEN kind = 'disk-behind' THEN write_wait_us ELSE 0 END"))
        .selectExpr(
            "session AS in",
            "broker",
            "t AS slow_from",
            f"CASE WHEN each_us > {STALL_BOUND} THEN next ELSE least(next, t + waits_us - {STALL_BOUND}) END AS slow_until",
        )
        .where("slow_until > slow_from")
    )
