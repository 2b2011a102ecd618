"""What the first screen of a page and its time axis tell: acts, what happened to the cluster, and what led to each harm.

The events are few: in each session, the first ones of each kind, and the chains of causes of the first harm of each kind and partition.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from core.kafka.events import KINDS
from scenarios.running.client_summary import COUNTED
from scenarios.running.run_summary import TOLD
from spark_reports.rows.schema import FREQUENT_KINDS
from spark_reports.summaries.cluster.faults import FAULTS
from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.summary import Summary, table_schema

EACH: Final = 100
"""The maximum number of told events of each kind in each session."""

EVERY: Final = 600
"""The maximum number of told events of each session."""

CHAINS: Final = 20
"""The maximum number of chains of causes in each session."""

DEEPEST: Final = 40
"""The maximum number of causes in a chain."""

TRACED_EVENTS: Final = 3_000_000
"""The causes of later events of a session are not followed, because they do not fit into the memory of a small machine."""

HARMS: Final = (
    "records-lost", "records-diverged", "partition-offline", "produce-waiting", "produce-given-up", "append-refused", *COUNTED, "transaction-timed-out", "consumer-reset",
)  # fmt: skip
"""The kinds of events whose chains of causes are told, most important first."""

_TOLD: Final = tuple(dict.fromkeys(("act", *FAULTS.kinds, *TOLD, *HARMS)))

_ON_THE_WAY: Final = (
    "partition-changed", "became-leader", "became-follower", "isr-shrink-proposed", "isr-expand-proposed", "fetcher-disconnected", "broker-left", "broker-registered", "produce-failed",
    "records-exposed", "log-restarted", "unflushed-lost", "clock-set", "link-held",
)  # fmt: skip
"""Kinds of events that often are causes. In the sentence of another kind, columns can be missing; then the kind is told instead."""

_COLUMNS: Final = tuple(sorted({column for kind in (*_TOLD, *_ON_THE_WAY, *FREQUENT_KINDS) for column in KINDS[kind].columns}))

_OF_FREQUENT: Final = tuple(sorted({column for kind in FREQUENT_KINDS for column in KINDS[kind].columns}))

_LOW: Final = (1 << 31) - 1
"""An event's number and the number of its cause are packed into one number of 62 bits."""


def _chains(events: DataFrame, picked: DataFrame) -> DataFrame:
    """Return rows `in, of, chain` for the picked events: the numbers of their causes, each followed by what it caused, down to the event.

    In each session, one array has the first cause of every event (0 if there is none), and all chains are read from it in its own row. If
    the array were joined to the picked events, each of these rows would have a copy of it.
    """
    packed = F.expr(f"CASE WHEN seq <= {TRACED_EVENTS} THEN shiftleft(seq, 31) + if(cause < seq AND cause > 0, cause, 0) END")
    causes = events.groupBy(F.col("session").alias("in")).agg(F.sort_array(F.collect_list(packed)).alias("causes"))
    wanted = picked.groupBy("session").agg(F.collect_list("seq").alias("wanted"))
    cause = f"(coalesce(try_element_at(causes, int(found[0])), 0) & {_LOW})"
    chain = f"aggregate(sequence(1, {DEEPEST}), array(seq), (found, _) -> if({cause} = 0, found, concat(array({cause}), found)))"
    return causes.join(wanted, F.col("session") == F.col("in")).selectExpr(
        "in", f"inline(transform(wanted, seq -> struct(seq AS of, {chain} AS chain)))"
    )


def _compute(inputs: SummaryInputs) -> DataFrame:
    kind = F.col("kind")
    line = F.to_json(F.struct(*_COLUMNS))
    first = F.row_number().over(Window.partitionBy("session", "kind").orderBy("seq"))
    every = F.row_number().over(Window.partitionBy("session").orderBy("nth", "seq"))
    picked = (
        inputs.infrequent.where(kind.isin(*_TOLD))
        .withColumn("nth", first)
        .where(F.col("nth") <= EACH)
        .withColumn("nth", every)
        .where(F.col("nth") <= EVERY)
        .withColumn("line", line)
    )
    chains = _chains(inputs.events, picked)
    chained = picked.join(chains, (F.col("session") == F.col("in")) & (F.col("seq") == F.col("of")), "left").withColumn(
        "chain", F.coalesce("chain", F.array("seq"))
    )
    # A checkpoint, because these few rows are read three times, and all events are read for them.
    told = chained.selectExpr(
        "session", "0L AS of", "0L AS step", "seq AS event", "t AS at_us", "chain[0] AS root", "kind", "line", "chain"
    ).localCheckpoint()
    ranks = F.create_map(*(F.lit(each) for rank, harm in enumerate(HARMS) for each in (harm, rank)))
    where = F.row_number().over(
        Window.partitionBy("session", "kind", F.get_json_object("line", "$.topic"), F.get_json_object("line", "$.partition")).orderBy(
            "event"
        )
    )
    worst = F.row_number().over(Window.partitionBy("session").orderBy("rank", "event"))
    harms = (
        told.where(kind.isin(*HARMS) & (F.size("chain") > 1))
        .withColumns({"nth": where, "rank": ranks[kind]})
        .where(F.col("nth") == 1)
        .withColumn("nth", worst)
        .where(F.col("nth") <= CHAINS)
    )
    steps = F.broadcast(harms.selectExpr("session AS in", "event AS of", "root", "posexplode(chain) AS (place, the_cause)"))
    of_step = (F.col("session") == F.col("in")) & (F.col("seq") == F.col("the_cause"))
    seldom = inputs.infrequent.where(~kind.isin(*FREQUENT_KINDS)).join(steps, of_step).withColumn("line", line)
    # The numbers of frequent events are few (`CHAINS`, `DEEPEST`) or none. With them, Spark skips most parts of a dataset.
    known = inputs.infrequent.selectExpr("session AS in", "seq AS the_cause")
    numbers = [row[0] for row in steps.join(known, ["in", "the_cause"], "left_anti").select("the_cause").distinct().collect()]
    often = (
        inputs.events.where(kind.isin(*FREQUENT_KINDS) & F.col("seq").isin(numbers) if numbers else F.lit(False))
        .join(steps, of_step)
        .withColumn("line", F.to_json(F.struct(*_OF_FREQUENT)))
    )
    shape = ("session", "of", "place + 1L AS step", "seq AS event", "t AS at_us", "root", "kind", "line")
    return told.drop("chain").unionByName(seldom.selectExpr(*shape)).unionByName(often.selectExpr(*shape))


STORY: Final = Summary(
    name="story",
    title="What happened, and what led to it",
    notes="",
    kinds=tuple(KINDS),
    columns=_COLUMNS,
    schema=table_schema(names=("session",), numbers=("of", "step", "event", "at_us", "root"), more_names=("kind", "line")),
    keys=("session", "of", "step", "event"),
    compute=_compute,
    worst=("-event",),
    rows_from=_TOLD,
)
