"""How long each partition was under-replicated, stalled, or offline."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.intermediate.partition_states import PARTITION, STATES_FROM, offline, under_replicated
from spark_reports.summaries.intermediate.stall_intervals import STALL_COLUMNS, STALL_KINDS
from spark_reports.summaries.summary import Summary, count_if, sum_if, table_schema


def _compute(inputs: SummaryInputs) -> DataFrame:
    history = Window.partitionBy(*PARTITION, "topic_number").orderBy("seq")
    lasts = F.col("until") - F.col("t")
    states = inputs.states.withColumns({"offline": offline(), "under_replicated": under_replicated()})
    states = states.withColumns({f"was_{name}": F.lag(name, 1, False).over(history) for name in ("offline", "under_replicated")})
    stalls = inputs.stalled.groupBy(*PARTITION).agg(
        F.sum(F.expr("to_us - from_us")).alias("stalled_us"), F.count(F.lit(1)).alias("stalled_times")
    )
    committed = states.groupBy(*PARTITION).agg(
        F.sum(lasts).alias("observed_us"),
        sum_if(F.col("under_replicated"), lasts).alias("under_replicated_us"),
        count_if(F.col("under_replicated") & ~F.col("was_under_replicated")).alias("under_replicated_times"),
        sum_if(F.col("offline"), lasts).alias("offline_us"),
        count_if(F.col("offline") & ~F.col("was_offline")).alias("offline_times"),
    )
    return committed.join(stalls, list(PARTITION), "left").na.fill(0, ["stalled_us", "stalled_times"])


AVAILABILITY: Final = Summary(
    name="availability",
    title="Time under-replicated, stalled, and offline by partition",
    notes=(
        "The observed time (`observed_us`) runs from the first state of the partition in the log to the deletion of its topic or the end of "
        "the session. A partition is under-replicated if it has a leader and fewer in-sync replicas than replicas. Replicas that a reassignment is "
        "adding do not count. A partition is offline if it has no leader. `under_replicated_us` and `offline_us` use the states that "
        "the controller knows, which do not change until the controller notices that a broker has failed. A partition is stalled if "
        "acks=all writes wait although the leader serves clients (see the table `unavailability`). Columns that end in `_times` count "
        "how often the partition entered the state."
    ),
    kinds=STALL_KINDS,
    columns=STALL_COLUMNS,
    schema=table_schema(
        names=("session", "topic"),
        numbers=(
            "partition",
            "observed_us",
            "under_replicated_us",
            "under_replicated_times",
            "stalled_us",
            "stalled_times",
            "offline_us",
            "offline_times",
        ),
    ),
    keys=("session", "topic", "partition"),
    compute=_compute,
    worst=("offline_us", "stalled_us", "under_replicated_us"),
    rows_from=STATES_FROM,
)
