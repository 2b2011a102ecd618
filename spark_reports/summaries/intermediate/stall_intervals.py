"""Intervals in which a partition did not serve clients, and intervals in which acks=all writes stalled.

`core.kafka.health` defines a stall. This module derives stalls from the events of the log. Three conditions block a partition:

- A follower in the ISR cannot fetch: its process is down or paused, or its link to the leader is cut in either direction.
- The high watermark stays below the log end for longer than `STALL_BOUND`; such a stall starts when the high watermark stops advancing.
- The leader's disk is so slow that a write waits for longer than `STALL_BOUND`.

A blocked partition is stalled only while the leader serves all clients of the topic and the ISR is not under min.insync.replicas.
"""

from __future__ import annotations

from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.summaries.intermediate.fault_intervals import (
    DISK_COLUMNS,
    DISK_KINDS,
    DOWN_KINDS,
    LINK_COLUMNS,
    LINK_KINDS,
    ROLE_KINDS,
)
from spark_reports.summaries.intermediate.high_watermark_stalls import PROGRESS_COLUMNS, PROGRESS_KINDS
from spark_reports.summaries.intermediate.partition_states import PARTITION, STATE_COLUMNS, STATE_KINDS, offline, under_min
from spark_reports.summaries.intermediate.windows import number_windows

STALL_KINDS: Final = tuple(dict.fromkeys(STATE_KINDS + DOWN_KINDS + LINK_KINDS + PROGRESS_KINDS + ROLE_KINDS + DISK_KINDS))
"""The event kinds that `stalled_intervals` needs."""

STALL_COLUMNS: Final = tuple(dict.fromkeys((*STATE_COLUMNS, "broker", *LINK_COLUMNS, *PROGRESS_COLUMNS, *DISK_COLUMNS)))
"""The event columns that `stalled_intervals` needs."""

HIGH_WATERMARK_STUCK: Final = "the high watermark does not advance"

SLOW_DISK: Final = "the leader's disk is slow"

CUT_OFF: Final = "leader cut off from a client"

NOT_YET_LEADING: Final = "leader has not taken over yet"


def unserved_intervals(states: DataFrame, down: DataFrame, cuts: DataFrame, clients: DataFrame, leads: DataFrame) -> DataFrame:
    """Return rows `session, topic, partition, from_us, to_us, why` for the intervals in which the leader that the controller elected does
    not serve clients.

    `why` says why the leader does not serve clients.
    """
    led = states.where("leader >= 0 AND until > t")
    silent = led.join(
        down.withColumnRenamed("session", "in"),
        F.expr("session = in AND leader = broker AND down_from < until AND down_until > t"),
    ).selectExpr(*PARTITION, "greatest(t, down_from) AS from_us", "least(until, down_until) AS to_us", "how AS why")
    serving = led.join(
        leads,
        F.expr(
            "session = in AND topic = led_topic AND partition = led_partition AND leader = broker "
            "AND leads_from < until AND coalesce(leads_until > t, true)"
        ),
    ).selectExpr(*PARTITION, "greatest(t, leads_from) AS from_us", "least(until, leads_until) AS to_us")
    facts = {"led": led.withColumnsRenamed({"t": "from_us", "until": "to_us"}), "serving": serving, "silent": silent}
    not_yet = _intervals_where(facts, "led > 0 AND serving = 0 AND silent = 0").withColumn("why", F.lit(NOT_YET_LEADING))
    of_clients = cuts.join(clients.withColumnsRenamed({"session": "of", "topic": "used"}), F.expr("in = of AND other = client"))
    apart = led.join(
        of_clients,
        F.expr("session = in AND topic = used AND one = concat('b', leader) AND cut_from < until AND cut_until > t"),
    ).selectExpr(*PARTITION, "greatest(t, cut_from) AS from_us", "least(until, cut_until) AS to_us", f"'{CUT_OFF}' AS why")
    return silent.unionByName(not_yet).unionByName(apart)


def _slow_disk_of_leader(states: DataFrame, disks: DataFrame) -> DataFrame:
    """Return rows `session, topic, partition, from_us, to_us, why` for the intervals in which writes waited for the leader's disk."""
    return (
        states.where("until > t")
        .join(disks, F.expr("session = in AND leader = broker AND slow_from < until AND slow_until > t"))
        .selectExpr(*PARTITION, "greatest(t, slow_from) AS from_us", "least(until, slow_until) AS to_us", f'"{SLOW_DISK}" AS why')
    )


def _cannot_fetch(states: DataFrame, down: DataFrame, cuts: DataFrame) -> DataFrame:
    """Return the intervals in which a follower in the ISR cannot fetch, with the reason."""
    members = states.where("leader >= 0 AND until > t").select(*PARTITION, "t", "until", "leader", F.explode("isr").alias("member"))
    members = members.where("member <> leader")
    gone = members.join(
        down.withColumnRenamed("session", "in"),
        F.expr("session = in AND member = broker AND down_from < until AND down_until > t"),
    ).selectExpr(
        *PARTITION,
        "greatest(t, down_from) AS from_us",
        "least(until, down_until) AS to_us",
        "concat('b', member, if(how = 'leader paused', ' is paused', ' is down')) AS why",
    )
    apart = members.join(
        cuts,
        F.expr("session = in AND one = concat('b', leader) AND other = concat('b', member) AND cut_from < until AND cut_until > t"),
    ).selectExpr(
        *PARTITION,
        "greatest(t, cut_from) AS from_us",
        "least(until, cut_until) AS to_us",
        "concat('b', member, ' is cut off from the leader') AS why",
    )
    return gone.unionByName(apart)


def _count(intervals: DataFrame, name: str) -> DataFrame:
    """Return two rows for each interval: one at its start, which increases the count `name` by one, and one at its end, which decreases the
    count by one.
    """
    return intervals.selectExpr(*PARTITION, f"inline(array(struct(from_us AS at, 1 AS {name}), struct(to_us AS at, -1 AS {name})))")


def _intervals_where(facts: dict[str, DataFrame], condition: str) -> DataFrame:
    """Return rows `session, topic, partition, from_us, to_us` for the intervals in which a condition is true.

    The condition is an SQL expression over the counts of open intervals. Each row covers the time between two successive changes of the
    counts.
    """
    ends = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), (_count(*fact[::-1]) for fact in facts.items()))
    order = Window.partitionBy(*PARTITION).orderBy("at")
    now = ends.groupBy(*PARTITION, "at").agg(*(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in facts))
    now = now.withColumns({name: F.sum(name).over(order) for name in facts} | {"to_us": F.lead("at").over(order)})
    return now.where(condition).select(*PARTITION, F.col("at").alias("from_us"), "to_us")


def blocked_intervals(states: DataFrame, down: DataFrame, cuts: DataFrame, still: DataFrame, disks: DataFrame) -> DataFrame:
    """Return rows `session, topic, partition, from_us, to_us, why` for the intervals in which a partition is blocked.

    A partition can be blocked whether or not its leader serves clients.

    Args:
        still: the stalls of high watermarks, as returned by `end_with_session`.
        disks: the intervals with slow disks, as returned by `slow_disk_intervals`.
    """
    return (
        _cannot_fetch(states, down, cuts)
        .unionByName(still.withColumn("why", F.lit(HIGH_WATERMARK_STUCK)))
        .unionByName(_slow_disk_of_leader(states, disks))
    )


def stalled_intervals(states: DataFrame, unserved: DataFrame, blocked: DataFrame) -> DataFrame:
    """Return rows `session, topic, partition, from_us, to_us, why` for the stalls. The stalls of a partition do not overlap, and there is a
    gap between any two of them.

    Args:
        unserved: the result of `unserved_intervals`.
        blocked: the result of `blocked_intervals`, which must be cached because it is read twice.
    """
    served: Column = ~offline() & ~under_min()
    facts = {
        "open": states.where(served & (F.col("until") > F.col("t"))).withColumnsRenamed({"t": "from_us", "until": "to_us"}),
        "unserved": unserved,
        "blocked": blocked,
    }
    pieces = _intervals_where(facts, "open > 0 AND unserved = 0 AND blocked > 0")
    whole = (
        number_windows(pieces, PARTITION)
        .groupBy(*PARTITION, "window")
        .agg(F.min("from_us").alias("from_us"), F.max("to_us").alias("to_us"))
    )
    reasons = blocked.withColumnsRenamed({"from_us": "blocked_from", "to_us": "blocked_until"})
    return (
        whole.join(reasons, list(PARTITION))
        .where("blocked_from < to_us AND blocked_until > from_us")
        .groupBy(*PARTITION, "from_us", "to_us")
        .agg(F.array_join(F.array_sort(F.collect_set("why")), ", ").alias("why"))
    )
