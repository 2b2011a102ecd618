"""When each partition could not be read, could not be written with acks=all, or acknowledged no such writes: windows, with the reasons.

Overlapping and adjoining reasons make one window (sessionised: a window ends where nothing is wrong any more).
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.intermediate.partition_states import offline, under_min
from spark_reports.summaries.intermediate.stall_intervals import STALL_COLUMNS, STALL_KINDS
from spark_reports.summaries.intermediate.windows import number_windows
from spark_reports.summaries.summary import Summary, table_schema

_PARTITION: Final = ("session", "topic", "partition")


def _spell(condition: Column, reason: Column | str, what: tuple[str, ...]) -> Column:
    """A mark for each of `what` where a condition holds, with the reason."""
    why = F.lit(reason) if isinstance(reason, str) else reason
    return F.when(condition, F.array(*(F.struct(F.lit(one).alias("what"), why.alias("why")) for one in what)))


def _compute(inputs: SummaryInputs) -> DataFrame:
    states = inputs.states
    committed = states.select(
        *_PARTITION,
        F.col("t").alias("from_us"),
        F.col("until").alias("to_us"),
        F.coalesce(
            _spell(offline(), "no leader", ("reads", "writes")), _spell(under_min(), "ISR under min.insync.replicas", ("writes",))
        ).alias("marks"),
    )
    silent = inputs.unserved.select(*_PARTITION, "from_us", "to_us", _spell(F.lit(True), F.col("why"), ("reads", "writes")).alias("marks"))
    spells = (
        committed.unionByName(silent)
        .where(F.col("to_us") > F.col("from_us"))
        .select(*_PARTITION, "from_us", "to_us", F.explode("marks").alias("mark"))
        .select(*_PARTITION, "from_us", "to_us", "mark.*")
    )
    windows = (
        number_windows(spells, (*_PARTITION, "what"))
        .groupBy(*_PARTITION, "what", "window")
        .agg(F.min("from_us").alias("from_us"), F.max("to_us").alias("to_us"), F.collect_set("why").alias("reasons"))
        .withColumn("why", F.array_join(F.array_sort("reasons"), ", "))
        .drop("window", "reasons")
    )
    stalls = inputs.stalled.withColumn("what", F.lit("stalled"))
    return windows.unionByName(stalls).withColumn("lasts_us", F.col("to_us") - F.col("from_us"))


UNAVAILABILITY: Final = Summary(
    name="unavailability",
    title="Windows in which a partition could not be read or written, or acknowledged nothing",
    notes=(
        "Reads: nobody leads, or the leader's process is down, stands still, does not lead yet (it started again, or has just been elected), or is "
        "cut off from a client of the topic, from that moment on and not only since the controller noticed. Writes are those with acks=all: the same, and an ISR under min.insync.replicas. Stalled: none of that, "
        "and yet writes with acks=all wait, because an ISR member is down, paused or cut off from the leader, so that nothing can be committed (even "
        "if nobody writes), because the high watermark stands still below the log end for more than 1 s, then from its beginning, or because a write "
        "waits for the leader's slow disk for more than 1 s, which logs of an earlier isrlab do not tell. A failed log directory of several and full "
        "request queues are not looked at."
    ),
    kinds=STALL_KINDS,
    columns=STALL_COLUMNS,
    schema=table_schema(
        names=("session", "topic"), numbers=("partition",), more_names=("what", "why"), more_numbers=("from_us", "to_us", "lasts_us")
    ),
    keys=("session", "topic", "partition", "what", "from_us"),
    compute=_compute,
    worst=("lasts_us", "what"),
)
