"""When writes with acks=all were stalled: the leader served, the ISR was large enough, and yet nothing was acknowledged.

`core.kafka.health` defines the state; here it follows from the log's events alone. Three facts hold a partition up. An ISR member beside
the leader *cannot fetch*: its process is down or stands still, or the link between the two is cut, in whichever direction. The high
watermark *stands still* below the log end for longer than `STALL_BOUND`; that counts from its beginning. Or the leader's *disk* is so slow
that a write waits for longer than that. A spell of any of them is a stall as far as the leader that the controller names leads, the ISR is
not under min.insync.replicas, the leader's process runs, and no client of the topic is cut off from it.
"""

from __future__ import annotations

from functools import reduce
from typing import Final

import attrs
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from core.kafka.health import STALL_BOUND
from core.lab.acts import Act, Consume, Load, Produce
from spark_reports.summaries.partition_states import DOWN_KINDS, PARTITION, STATE_COLUMNS, STATE_KINDS, offline, under_min
from spark_reports.summaries.windows import sessionised

PROGRESS_KINDS: Final = ("append", "became-leader", "high-watermark")
"""Event kinds that `standing_still` looks at."""

PROGRESS_COLUMNS: Final = ("topic", "partition", "leader_epoch", "to_offset", "offset", "new_offset", "high_watermark")
"""Event columns that it looks at."""

LINK_KINDS: Final = ("link-cut", "link-healed", "act")
"""Event kinds that `cut_times` and `clients` look at."""

LINK_COLUMNS: Final = ("src", "dst", "act", "args")
"""Event columns that they look at."""

ROLE_KINDS: Final = ("became-leader", "became-follower", "broker-stopped")
"""Event kinds that `leading` looks at."""

DISK_KINDS: Final = ("disk-slowed", "disk-behind", "broker-stopped")
"""Event kinds that `behind_disks` looks at."""

DISK_COLUMNS: Final = ("delay_us", "write_wait_us")
"""Event columns that it looks at."""

STALL_KINDS: Final = tuple(dict.fromkeys(STATE_KINDS + DOWN_KINDS + LINK_KINDS + PROGRESS_KINDS + ROLE_KINDS + DISK_KINDS))
"""Event kinds that `stalled` is made from."""

STALL_COLUMNS: Final = tuple(dict.fromkeys((*STATE_COLUMNS, "broker", *LINK_COLUMNS, *PROGRESS_COLUMNS, *DISK_COLUMNS)))
"""Event columns that it is made from."""

STANDS_STILL: Final = "the high watermark stands still"
SLOW_DISK: Final = "the leader's disk is slow"
CUT_OFF: Final = "leader cut off from a client"
LEADS_NOT_YET: Final = "leader does not lead yet"

_CLIENTS: Final[dict[type[Act], str]] = {Load: "producer", Produce: "producer", Consume: "consumer"}
"""Acts that make clients, and the field that names them."""


def standing_still(events: DataFrame) -> DataFrame:
    """Rows `session, topic, partition, from_us, to_us`: for longer than `STALL_BOUND` the high watermark did not move although it was below the log end.

    `to_us` is null where it has not moved since, however long that is. A spell begins when the high watermark moves and stays below, or with the first append beyond it, and ends when it moves next, or a
    leader begins. What a leader does in an epoch that is over does not count.
    """
    # Many events are sorted for that: by a number instead of by names (`lag.behind`).
    history = Window.partitionBy("of_partition").orderBy("seq")
    so_far = history.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    before = history.rowsBetween(Window.unboundedPreceding, -1)
    waits = "coalesce(log_end > coalesce(committed, -1), false)"
    known = (
        events.where(F.col("kind").isin(*PROGRESS_KINDS))
        .selectExpr(
            *PARTITION,
            f"xxhash64({', '.join(PARTITION)}) AS of_partition",
            "seq",
            "t",
            "leader_epoch",
            "kind <> 'append' AS moves",
            "CASE kind WHEN 'append' THEN to_offset WHEN 'became-leader' THEN offset END AS log_end",
            "CASE kind WHEN 'high-watermark' THEN new_offset WHEN 'became-leader' THEN high_watermark END AS committed",
        )
        .withColumn("epoch", F.max("leader_epoch").over(so_far))
        .where("leader_epoch = epoch")
    )
    ends = ("log_end", "committed")
    told = known.withColumns(
        {name: F.last(name, ignorenulls=True).over(so_far) for name in ends}
        | {f"{name}_before": F.last(name, ignorenulls=True).over(before) for name in ends}
    )
    waited = "coalesce(log_end_before > coalesce(committed_before, -1), false)"
    return (
        told.selectExpr(*PARTITION, "of_partition", "seq", "t", "moves", f"{waits} AS waits", f"{waited} AS waited")
        .where("moves OR waits <> waited")
        .withColumn("next", F.lead("t").over(history))
        .where(f"waits AND coalesce(next - t > {STALL_BOUND}, true)")
        .selectExpr(*PARTITION, "t AS from_us", "next AS to_us")
    )


def ended(still: DataFrame, sessions: DataFrame) -> DataFrame:
    """The rows of `standing_still` with those that have no end ended by the session's."""
    return (
        still.join(F.broadcast(sessions.select("session", "end_us")), "session")
        .selectExpr(*PARTITION, "from_us", "coalesce(to_us, end_us) AS to_us")
        .where(f"to_us - from_us > {STALL_BOUND}")
    )


def cut_times(events: DataFrame, sessions: DataFrame) -> DataFrame:
    """Rows `in, one, other, cut_from, cut_until`: a link was cut in one direction, given in both orders of its ends; `in` is the session."""
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


def clients(events: DataFrame) -> DataFrame:
    """Rows `session, topic, client`: who writes to or reads from a topic, as far as somebody asked for it."""
    asked = F.from_json("args", "topic STRING, producer STRING, consumer STRING")
    name = F.lit(None).cast("string")
    for act, field in _CLIENTS.items():
        default = getattr(attrs.fields(act), field).default
        name = F.when(F.col("act") == act.word, F.coalesce(F.col(f"asked.{field}"), F.lit(default))).otherwise(name)
    return (
        events.where((F.col("kind") == "act") & F.col("act").isin(*(act.word for act in _CLIENTS)))
        .select("session", "act", asked.alias("asked"))
        .select("session", F.col("asked.topic").alias("topic"), name.alias("client"))
        .where("topic IS NOT NULL")
        .distinct()
    )


def leading(events: DataFrame) -> DataFrame:
    """Rows `in, led_topic, led_partition, broker, leads_from, leads_until`: a broker's process led; null where it led on; `in` is the session."""
    # Backwards, since Spark goes through all rows that follow each row anew.
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


def behind_disks(events: DataFrame, sessions: DataFrame) -> DataFrame:
    """Rows `in, broker, slow_from, slow_until`: a write at a broker waited for its disk for longer than `STALL_BOUND`; `in` is the session.

    A wait passes with time until the next write is given to the disk; one that a single write takes does not.
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


def unserved(states: DataFrame, down: DataFrame, cuts: DataFrame, clients: DataFrame, leads: DataFrame) -> DataFrame:
    """Rows `session, topic, partition, from_us, to_us, why`: the controller names a leader, and clients are not served by it; `why` says what ails it."""
    led = states.where("leader >= 0 AND until > t")
    silent = led.join(
        F.broadcast(down.withColumnRenamed("session", "in")),
        F.expr("session = in AND leader = broker AND down_from < until AND down_until > t"),
    ).selectExpr(*PARTITION, "greatest(t, down_from) AS from_us", "least(until, down_until) AS to_us", "how AS why")
    serving = led.join(
        F.broadcast(leads),
        F.expr(
            "session = in AND topic = led_topic AND partition = led_partition AND leader = broker "
            "AND leads_from < until AND coalesce(leads_until > t, true)"
        ),
    ).selectExpr(*PARTITION, "greatest(t, leads_from) AS from_us", "least(until, leads_until) AS to_us")
    facts = {"led": led.withColumnsRenamed({"t": "from_us", "until": "to_us"}), "serving": serving, "silent": silent}
    not_yet = _pieces(facts, "led > 0 AND serving = 0 AND silent = 0").withColumn("why", F.lit(LEADS_NOT_YET))
    of_clients = cuts.join(clients.withColumnsRenamed({"session": "of", "topic": "used"}), F.expr("in = of AND other = client"))
    apart = led.join(
        F.broadcast(of_clients),
        F.expr("session = in AND topic = used AND one = concat('b', leader) AND cut_from < until AND cut_until > t"),
    ).selectExpr(*PARTITION, "greatest(t, cut_from) AS from_us", "least(until, cut_until) AS to_us", f"'{CUT_OFF}' AS why")
    return silent.unionByName(not_yet).unionByName(apart)


def _slowed(states: DataFrame, disks: DataFrame) -> DataFrame:
    """Rows `session, topic, partition, from_us, to_us, why`: writes waited for the leader's disk."""
    return (
        states.where("until > t")
        .join(F.broadcast(disks), F.expr("session = in AND leader = broker AND slow_from < until AND slow_until > t"))
        .selectExpr(*PARTITION, "greatest(t, slow_from) AS from_us", "least(until, slow_until) AS to_us", f'"{SLOW_DISK}" AS why')
    )


def _cannot_fetch(states: DataFrame, down: DataFrame, cuts: DataFrame) -> DataFrame:
    """Spells in which an ISR member beside the leader cannot fetch, with the reason."""
    members = states.where("leader >= 0 AND until > t").select(*PARTITION, "t", "until", "leader", F.explode("isr").alias("member"))
    members = members.where("member <> leader")
    gone = members.join(
        F.broadcast(down.withColumnRenamed("session", "in")),
        F.expr("session = in AND member = broker AND down_from < until AND down_until > t"),
    ).selectExpr(
        *PARTITION,
        "greatest(t, down_from) AS from_us",
        "least(until, down_until) AS to_us",
        "concat('b', member, if(how = 'leader paused', ' is paused', ' is down')) AS why",
    )
    apart = members.join(
        F.broadcast(cuts),
        F.expr("session = in AND one = concat('b', leader) AND other = concat('b', member) AND cut_from < until AND cut_until > t"),
    ).selectExpr(
        *PARTITION,
        "greatest(t, cut_from) AS from_us",
        "least(until, cut_until) AS to_us",
        "concat('b', member, ' is cut off from the leader') AS why",
    )
    return gone.unionByName(apart)


def _count(spells: DataFrame, name: str) -> DataFrame:
    """Two rows for each spell: where it begins there is one more of `name`, where it ends one less."""
    return spells.selectExpr(*PARTITION, f"inline(array(struct(from_us AS at, 1 AS {name}), struct(to_us AS at, -1 AS {name})))")


def _pieces(facts: dict[str, DataFrame], condition: str) -> DataFrame:
    """Rows `session, topic, partition, from_us, to_us`: from one change to the next, where so many spells of each fact make a condition true."""
    ends = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), (_count(*fact[::-1]) for fact in facts.items()))
    order = Window.partitionBy(*PARTITION).orderBy("at")
    now = ends.groupBy(*PARTITION, "at").agg(*(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in facts))
    now = now.withColumns({name: F.sum(name).over(order) for name in facts} | {"to_us": F.lead("at").over(order)})
    return now.where(condition).select(*PARTITION, F.col("at").alias("from_us"), "to_us")


def held_up(states: DataFrame, down: DataFrame, cuts: DataFrame, still: DataFrame, disks: DataFrame) -> DataFrame:
    """Rows `session, topic, partition, from_us, to_us, why`: something holds a partition up, whether or not its leader serves.

    Args:
        still: from `ended`.
        disks: from `behind_disks`.
    """
    return _cannot_fetch(states, down, cuts).unionByName(still.withColumn("why", F.lit(STANDS_STILL))).unionByName(_slowed(states, disks))


def stalled(states: DataFrame, closed: DataFrame, held: DataFrame) -> DataFrame:
    """The stalls: rows `session, topic, partition, from_us, to_us, why`; stalls of a partition neither overlap nor adjoin.

    Args:
        closed: from `unserved`.
        held: from `held_up`, kept, as it is gone through twice.
    """
    served: Column = ~offline() & ~under_min()
    facts = {
        "open": states.where(served & (F.col("until") > F.col("t"))).withColumnsRenamed({"t": "from_us", "until": "to_us"}),
        "closed": closed,
        "held": held,
    }
    pieces = _pieces(facts, "open > 0 AND closed = 0 AND held > 0")
    whole = (
        sessionised(pieces, PARTITION).groupBy(*PARTITION, "window").agg(F.min("from_us").alias("from_us"), F.max("to_us").alias("to_us"))
    )
    reasons = held.withColumnsRenamed({"from_us": "held_from", "to_us": "held_until"})
    return (
        whole.join(reasons, list(PARTITION))
        .where("held_from < to_us AND held_until > from_us")
        .groupBy(*PARTITION, "from_us", "to_us")
        .agg(F.array_join(F.array_sort(F.collect_set("why")), ", ").alias("why"))
    )
