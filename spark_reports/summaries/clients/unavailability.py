"""Windows in which a partition was unavailable to clients, with the reasons.

During a window, consumers could not read from the partition, producers could not write to it, or it took their writes with acks=all without
acknowledging them. An ISR that is too small and a stall are windows only if somebody writes to the topic with acks=all; other clients do not
notice them.

Overlapping and adjacent intervals form one window.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from core.sim.units import US_PER_MS
from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.intermediate.event_counts import PRODUCED
from spark_reports.summaries.intermediate.partition_states import STATES_FROM, offline, under_min
from spark_reports.summaries.intermediate.stall_intervals import STALL_COLUMNS, STALL_KINDS
from spark_reports.summaries.intermediate.windows import number_windows
from spark_reports.summaries.summary import Summary, table_schema

_PARTITION: Final = ("session", "topic", "partition")

RESOLUTION_US: Final = 2 * US_PER_MS
"""Windows without reads or writes that last at most this long are left out. Brokers learn of a new leader or of a new topic from metadata,
which takes about this long even if nothing is wrong.
"""

_UNANSWERED: Final = ("produce-waiting", "produce-given-up")

START_US: Final = 200 * US_PER_MS
"""Windows without reads or writes that end before this time are left out, because the cluster is still starting."""


def _marks(condition: Column, reason: Column | str, what: tuple[str, ...]) -> Column:
    """Return an array that pairs each element of `what` with `reason`; null if `condition` is false."""
    why = F.lit(reason) if isinstance(reason, str) else reason
    return F.when(condition, F.array(*(F.struct(F.lit(one).alias("what"), why.alias("why")) for one in what)))


def _written_with_all(inputs: SummaryInputs) -> DataFrame:
    """Return rows `session, topic, all_acks` for the topics to which producers or coordinators write with acks=all; `all_acks` is true.

    A batch without a response for less than 1 s at the end of a session is not known.
    """
    columns = ("session", "topic", "acks")
    told = inputs.event_counts.where(F.col("kind").isin(*PRODUCED)).select(*columns)
    told = told.unionByName(inputs.events_of(_UNANSWERED).select(*columns)).where("acks < 0")
    internal = inputs.states.where(F.col("topic").isin(GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC))
    return told.select(*columns[:2]).unionByName(internal.select(*columns[:2])).distinct().withColumn("all_acks", F.lit(True))


def _compute(inputs: SummaryInputs) -> DataFrame:
    writers = F.broadcast(_written_with_all(inputs))
    committed = inputs.states.join(writers, ["session", "topic"], "left").select(
        *_PARTITION,
        F.col("t").alias("from_us"),
        F.col("until").alias("to_us"),
        F.coalesce(
            _marks(offline(), "no leader", ("reads", "writes")),
            _marks(under_min() & F.col("all_acks"), "ISR under min.insync.replicas", ("writes",)),
        ).alias("marks"),
    )
    silent = inputs.unserved.select(*_PARTITION, "from_us", "to_us", _marks(F.lit(True), F.col("why"), ("reads", "writes")).alias("marks"))
    intervals = (
        committed.unionByName(silent)
        .where(F.col("to_us") > F.col("from_us"))
        .select(*_PARTITION, "from_us", "to_us", F.explode("marks").alias("mark"))
        .select(*_PARTITION, "from_us", "to_us", "mark.*")
    )
    windows = (
        number_windows(intervals, (*_PARTITION, "what"))
        .groupBy(*_PARTITION, "what", "window")
        .agg(F.min("from_us").alias("from_us"), F.max("to_us").alias("to_us"), F.collect_set("why").alias("reasons"))
        .withColumn("why", F.array_join(F.array_sort("reasons"), ", "))
        .where((F.col("to_us") - F.col("from_us") > RESOLUTION_US) & (F.col("to_us") > START_US))
        .drop("window", "reasons")
    )
    stalls = inputs.stalled.join(writers, ["session", "topic"], "left_semi").withColumn("what", F.lit("stalled"))
    return windows.unionByName(stalls).withColumn("lasts_us", F.col("to_us") - F.col("from_us"))


UNAVAILABILITY: Final = Summary(
    name="unavailability",
    title="Windows without reads, writes, or acknowledgments by partition",
    notes=(
        "If `what` is `reads`, clients cannot read, because the partition has no leader, or because its leader is down, paused, cut "
        "off from a client of the topic, or not leading yet (after a restart or an election). The window begins as soon as one of the "
        "reasons applies, even if the controller notices it later. If `what` is `writes`, clients cannot write, either for "
        "a reason that also prevents reads, or because the ISR is under min.insync.replicas, so that leaders refuse acks=all writes. If "
        "`what` is `stalled`, clients can write, "
        "but acks=all writes have to wait. A small ISR and a stall count only in topics to which somebody writes with acks=all: a "
        "producer with an acknowledged, failed, or waiting batch, or, in internal topics, a coordinator. For states that no client "
        "notices, see the tables `min_isr` and `availability`. A stall has "
        "one of three reasons. If an ISR member is down, paused, or cut off from the leader, no record can be committed; this stall counts "
        "even while no producer writes. If the high watermark stays below the log end for more than 1 s, the stall begins when the high "
        "watermark stops advancing. A stall also occurs if a write waits for the leader's slow disk for more than 1 s; logs from earlier "
        "isrlab versions do not contain stalls with this reason. Windows without reads or writes that last at most 2 ms, or that end in the "
        "first 200 ms of the session, are left out, because new metadata needs as long to reach the brokers. This "
        "table does not cover full request "
        "queues, or the failure of one of "
        "several log directories."
    ),
    kinds=tuple(dict.fromkeys((*STALL_KINDS, *PRODUCED, *_UNANSWERED))),
    columns=tuple(dict.fromkeys((*STALL_COLUMNS, "acks"))),
    schema=table_schema(
        names=("session", "topic"), numbers=("partition",), more_names=("what", "why"), more_numbers=("from_us", "to_us", "lasts_us")
    ),
    keys=("session", "topic", "partition", "what", "from_us"),
    compute=_compute,
    worst=("lasts_us", "what"),
    rows_from=STATES_FROM,
)
