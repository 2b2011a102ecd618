"""How long transactions held back the last stable offset of each partition, and the largest gap to the high watermark."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.summaries.inputs import SummaryInputs
from spark_reports.summaries.intermediate.held_intervals import HELD_COLUMNS, HELD_KINDS
from spark_reports.summaries.intermediate.partition_states import PARTITION
from spark_reports.summaries.intermediate.partition_transactions import TRANSACTION_COLUMNS, TRANSACTION_KINDS, TRANSACTIONS_FROM
from spark_reports.summaries.intermediate.windows import number_windows
from spark_reports.summaries.summary import Summary, table_schema

STABLE_KINDS: Final = tuple(dict.fromkeys(TRANSACTION_KINDS + HELD_KINDS))
"""The event kinds from which the intervals are derived."""

STABLE_COLUMNS: Final = tuple(dict.fromkeys(TRANSACTION_COLUMNS + HELD_COLUMNS))
"""The event columns from which the intervals are derived."""


def _compute(inputs: SummaryInputs) -> DataFrame:
    windows = (
        number_windows(inputs.held, PARTITION)
        .groupBy(*PARTITION, "window")
        .agg(
            (F.max("to_us") - F.min("from_us")).alias("lasts"),
            F.max("gap").alias("gap"),
            F.max(F.col("at_end").cast("long")).alias("at_end"),
        )
    )
    return windows.groupBy(*PARTITION).agg(
        F.sum("lasts").alias("held_us"),
        F.count(F.lit(1)).alias("windows"),
        F.max("lasts").alias("longest_us"),
        F.max("gap").alias("largest_gap"),
        F.max("at_end").alias("held_at_end"),
    )


STABLE_OFFSETS: Final = Summary(
    name="stable_offsets",
    title="Time during which transactions held back the last stable offset, by partition",
    notes=(
        "Consumers with isolation.level=read_committed read up to the last stable offset (LSO). A transaction holds back the LSO from the "
        "time at which the high watermark passes the first record of the transaction until the high watermark passes the "
        "transaction's marker. "
        "`held_us` is the time during which the LSO was below the high watermark. Overlapping and adjacent intervals form one window, and "
        "`longest_us` is the length of the longest window. `largest_gap` is the largest number of offsets between the LSO and the high "
        "watermark. `held_at_end` is 1 if the LSO is held back at the end of the log. The table covers neither time without a "
        "leader nor transactions that are still open on `__consumer_offsets` at the end of the session."
    ),
    kinds=STABLE_KINDS,
    columns=STABLE_COLUMNS,
    schema=table_schema(
        names=("session", "topic"), numbers=("partition", "held_us", "windows", "longest_us", "largest_gap", "held_at_end")
    ),
    keys=PARTITION,
    compute=_compute,
    worst=("longest_us", "held_us", "largest_gap"),
    rows_from=TRANSACTIONS_FROM,
)
