"""The rebalances of groups. A rebalance starts when a coordinator asks the members to join or computes a new assignment."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

STARTS: Final = ("group-rebalancing", "group-epoch")
"""The event kinds that start a rebalance: the first for classic groups, and the second for groups with the consumer protocol (KIP-848)."""

REBALANCE_KINDS: Final = (*STARTS, "group-stable", "group-emptied", "group-state")
"""The event kinds that `group_rebalances` needs."""

REBALANCE_COLUMNS: Final = ("group", "broker", "reason", "members", "generation", "group_epoch", "new_state")
"""The event columns that `group_rebalances` needs."""


def group_rebalances(events: DataFrame, sessions: DataFrame) -> DataFrame:
    """Return rows `session, group, number, broker, reason, members, from_us, to_us, outcome, generation`.

    The outcome is `stable`, `empty` (all members left), `repeated` (another rebalance began before the group was stable), or `open` (the
    session ended first). `generation` is the generation or the epoch of the group after the rebalance; it is null if the outcome is
    `repeated` or `open`.
    """
    starts = F.col("kind").isin(*STARTS)
    history = Window.partitionBy("session", "group").orderBy("seq")
    changed = events.where(F.col("kind").isin(*REBALANCE_KINDS)).where("kind != 'group-state' OR new_state IN ('Stable', 'Empty')")
    result = (
        F.when(starts, "repeated").when((F.col("kind") == "group-emptied") | (F.col("new_state") == "Empty"), "empty").otherwise("stable")
    )
    return (
        changed.withColumn("result", result)
        .withColumns(
            {
                "to_us": F.lead("t").over(history),
                "outcome": F.lead("result").over(history),
                "after": F.lead(F.when(~starts, F.coalesce("group_epoch", "generation"))).over(history),
            }
        )
        .where(starts)
        .join(F.broadcast(sessions.select("session", "end_us")), "session")
        .select(
            "session",
            "group",
            F.row_number().over(history).alias("number"),
            "broker",
            "reason",
            "members",
            F.col("t").alias("from_us"),
            F.coalesce("to_us", F.greatest("end_us", "t")).alias("to_us"),
            F.coalesce("outcome", F.lit("open")).alias("outcome"),
            F.col("after").alias("generation"),
        )
    )


def unowned_counts(unowned: DataFrame) -> DataFrame:
    """Return rows `session, group, from_us, to_us, unowned`: the number of partitions without an owner, from one change to the next.

    Args:
        unowned: the result of `partition_owners.unowned_intervals`.
    """
    changes = unowned.select(
        "session",
        "group",
        F.explode(
            F.array(
                F.struct(F.col("from_us").alias("t"), F.lit(1).alias("sign")), F.struct(F.col("to_us").alias("t"), F.lit(-1).alias("sign"))
            )
        ).alias("change"),
    )
    history = Window.partitionBy("session", "group").orderBy("t")
    return (
        changes.select("session", "group", "change.t", "change.sign")
        .groupBy("session", "group", "t")
        .agg(F.sum("sign").alias("sign"))
        .select(
            "session",
            "group",
            F.col("t").alias("from_us"),
            F.lead("t").over(history).alias("to_us"),
            F.sum("sign").over(history.rowsBetween(Window.unboundedPreceding, Window.currentRow)).alias("unowned"),
        )
        .where("unowned > 0")
    )
