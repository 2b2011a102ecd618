"""The data of the charts in the HTML report.

The charts show the states of each partition over time, a limited number of points of its high watermark and its log end, and the intervals
in which transactions held back its last stable offset. For groups, the charts show the lag of each partition, and which consumer owns the
partition.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.intermediate.group_offsets import COMMIT_KINDS, LAG_COLUMNS, LAG_KINDS, OF_GROUP
from spark_reports.summaries.intermediate.held_intervals import HELD_COLUMNS, HELD_KINDS
from spark_reports.summaries.intermediate.partition_owners import OWNER_COLUMNS, OWNER_KINDS
from spark_reports.summaries.intermediate.partition_states import STATE_COLUMNS, STATE_KINDS, STATES_FROM, worst_state
from spark_reports.summaries.intermediate.partition_transactions import TRANSACTION_COLUMNS, TRANSACTION_KINDS, TRANSACTIONS_FROM
from spark_reports.summaries.summary import Summary, table_schema

POINTS: Final = 120
"""The maximum number of points in a curve.

The session is divided into this number of intervals, and each point is the last value in an interval.
"""


def _timeline(inputs: SummaryInputs) -> DataFrame:
    return (
        inputs.states.where(F.col("until") > F.col("t"))
        .withColumns({"state": worst_state(), "isr": F.array_join("isr", ",")})
        .withColumnsRenamed({"t": "from_us", "until": "to_us"})
        .withColumn("lasts_us", F.expr("to_us - from_us"))
    )


TIMELINE: Final = Summary(
    name="timeline",
    title="Leader and ISR of each partition over time",
    notes="`state` is in sync, under-replicated, at min, under min, or offline, as in the other tables.",
    kinds=STATE_KINDS,
    columns=STATE_COLUMNS,
    schema=table_schema(
        names=("session", "topic"),
        numbers=("partition",),
        more_names=("isr", "state"),
        more_numbers=("leader", "from_us", "to_us", "min_isr", "lasts_us"),
    ),
    keys=("session", "topic", "partition", "from_us"),
    compute=_timeline,
    worst=("state", "lasts_us"),
    rows_from=STATES_FROM,
)


def _curves(inputs: SummaryInputs) -> DataFrame:
    kind = F.col("kind")
    log_end = F.when(kind == "append", F.col("to_offset")).when(kind == "became-leader", F.col("offset"))
    committed = F.when(kind == "high-watermark", F.col("new_offset")).when(kind == "became-leader", F.col("high_watermark"))
    return (
        inputs.events_of(CURVES.kinds)
        .join(F.broadcast(inputs.sessions.select("session", "end_us")), "session")
        .withColumn("piece", F.floor(F.col("t") * POINTS / (F.greatest("end_us", "t") + 1)))
        .groupBy("session", "topic", "partition", "piece")
        .agg(
            F.max("t").alias("at_us"),
            F.max_by(log_end, F.when(log_end.isNotNull(), F.col("seq"))).alias("log_end"),
            F.max_by(committed, F.when(committed.isNotNull(), F.col("seq"))).alias("high_watermark"),
        )
    )


CURVES: Final = Summary(
    name="curves",
    title="High watermark and log end of each partition's leader",
    notes=f"The session is divided into {POINTS} equal parts, and each row contains the last values in its part. If a value did not change "
    "within a part, its cell is empty.",
    kinds=("append", "became-leader", "high-watermark"),
    columns=("topic", "partition", "to_offset", "offset", "new_offset", "high_watermark"),
    schema=table_schema(names=("session", "topic"), numbers=("partition", "at_us", "log_end", "high_watermark")),
    keys=("session", "topic", "partition", "at_us"),
    compute=_curves,
)


def _held(inputs: SummaryInputs) -> DataFrame:
    return inputs.held.withColumn("lasts_us", F.col("to_us") - F.col("from_us"))


HELD: Final = Summary(
    name="held",
    title="Last stable offset of each partition while transactions held it back",
    notes="`offset` is the last stable offset of the leader `broker` in this interval. At other times, the last stable offset equals the high watermark.",
    kinds=tuple(dict.fromkeys(TRANSACTION_KINDS + HELD_KINDS)),
    columns=tuple(dict.fromkeys(TRANSACTION_COLUMNS + HELD_COLUMNS)),
    schema=table_schema(names=("session", "topic"), numbers=("partition", "broker", "from_us", "to_us", "offset", "lasts_us")),
    keys=("session", "topic", "partition", "broker", "from_us"),
    compute=_held,
    worst=("lasts_us",),
    rows_from=TRANSACTIONS_FROM,
)


def _lag_curves(inputs: SummaryInputs) -> DataFrame:
    return (
        inputs.group_lags.where("lag IS NOT NULL")
        .join(F.broadcast(inputs.sessions.select("session", "end_us")), "session")
        .withColumn("piece", F.floor(F.col("t") * POINTS / (F.greatest("end_us", "t") + 1)))
        .groupBy(*OF_GROUP, "piece")
        .agg(F.max("t").alias("at_us"), F.max_by("lag", "seq").alias("lag"), F.max("lag").alias("max_lag"))
    )


LAG_CURVES: Final = Summary(
    name="lag_curves",
    title="Lag of each group by partition over time",
    notes=f"The session is divided into {POINTS} equal parts, and each part during which the lag changed has a row. In a row, `lag` is "
    f"the last lag of the part, and `max_lag` is the greatest lag.",
    kinds=LAG_KINDS,
    columns=LAG_COLUMNS,
    schema=table_schema(names=("session", "group", "topic"), numbers=("partition", "at_us", "lag", "max_lag")),
    keys=("session", "group", "topic", "partition", "at_us"),
    compute=_lag_curves,
    worst=("max_lag",),
    rows_from=COMMIT_KINDS,
)


def _owners(inputs: SummaryInputs) -> DataFrame:
    nobody = inputs.unowned_partitions.withColumn("client", F.lit(""))
    return inputs.owned_partitions.unionByName(nobody).where("to_us > from_us").withColumn("lasts_us", F.col("to_us") - F.col("from_us"))


OWNERS: Final = Summary(
    name="owners",
    title="Consumer that owns each partition of a group, over time",
    notes="`client` is empty while no running consumer in the group owns the partition.",
    kinds=OWNER_KINDS,
    columns=OWNER_COLUMNS,
    schema=table_schema(names=("session", "group", "topic", "client"), numbers=("partition", "from_us", "to_us", "lasts_us")),
    keys=("session", "group", "topic", "partition", "from_us", "client"),
    compute=_owners,
    worst=("lasts_us",),
    rows_from=("member-started", "partitions-assigned"),
)
