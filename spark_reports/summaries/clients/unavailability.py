"""Windows in which a partition was unavailable to clients, with the reasons.

During a window, consumers could not read from the partition, producers could not write to it with acks=all, or it took such writes without
acknowledging them.

Overlapping and adjacent intervals form one window.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from core.sim.units import US_PER_MS
from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.intermediate.partition_states import STATES_FROM, offline, under_min
from spark_reports.summaries.intermediate.stall_intervals import STALL_COLUMNS, STALL_KINDS
from spark_reports.summaries.intermediate.windows import number_windows
from spark_reports.summaries.summary import Summary, table_schema

_PARTITION: Final = ("session", "topic", "partition")

RESOLUTION_US: Final = 2 * US_PER_MS
"""Windows without reads or writes that last at most this long are left out. Brokers learn of a new leader or of a new topic from metadata,
which takes about this long even if nothing is wrong.
"""

START_US: Final = 200 * US_PER_MS
"""Windows without reads or writes that end before this time are left out, because the cluster is still starting."""


def _marks(condition: Column, reason: Column | str, what: tuple[str, ...]) -> Column:
    """Return an array that pairs each element of `what` with `reason`; null if `condition` is false."""
    why = F.lit(reason) if isinstance(reason, str) else reason
    return F.when(condition, F.array(*(F.struct(F.lit(one).alias("what"), why.alias("why")) for one in what)))


def _compute(inputs: SummaryInputs) -> DataFrame:
    states = inputs.states
    committed = states.select(
        *_PARTITION,
        F.col("t").alias("from_us"),
        F.col("until").alias("to_us"),
        F.coalesce(
            _marks(offline(), "no leader", ("reads", "writes")), _marks(under_min(), "ISR under min.insync.replicas", ("writes",))
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
    stalls = inputs.stalled.withColumn("what", F.lit("stalled"))
    return windows.unionByName(stalls).withColumn("lasts_us", F.col("to_us") - F.col("from_us"))


UNAVAILABILITY: Final = Summary(
    name="unavailability",
    title="Windows without reads, writes, or acknowledgments by partition",
    notes=(
        "If `what` is `reads`, clients cannot read, because the partition has no leader, or because its leader is down, paused, cut "
        "off from a client of the topic, or not leading yet (after a restart or an election). The window begins as soon as one of the "
        "reasons applies, even if the controller notices it later. If `what` is `writes`, clients cannot write with acks=all, either for "
        "a reason that also prevents reads, or because the ISR is under min.insync.replicas. If `what` is `stalled`, clients can write, "
        "but acks=all writes have to wait. A stall has "
        "one of three reasons. If an ISR member is down, paused, or cut off from the leader, no record can be committed; this stall counts "
        "even if no producer writes. If the high watermark stays below the log end for more than 1 s, the stall begins when the high "
        "watermark stops advancing. A stall also occurs if a write waits for the leader's slow disk for more than 1 s; logs from earlier "
        "isrlab versions do not contain stalls with this reason. Windows without reads or writes that last at most 2 ms, or that end in the "
        "first 200 ms of the session, are left out, because new metadata needs as long to reach the brokers. This "
        "table does not cover full request "
        "queues, or the failure of one of "
        "several log directories."
    ),
    kinds=STALL_KINDS,
    columns=STALL_COLUMNS,
    schema=table_schema(
        names=("session", "topic"), numbers=("partition",), more_names=("what", "why"), more_numbers=("from_us", "to_us", "lasts_us")
    ),
    keys=("session", "topic", "partition", "what", "from_us"),
    compute=_compute,
    worst=("lasts_us", "what"),
    rows_from=STATES_FROM,
)
