"""Merges overlapping and adjacent intervals into windows."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F


def number_windows(intervals: DataFrame, of: Sequence[str]) -> DataFrame:
    """Add the column `window`, which contains the number of the window to which an interval belongs.

    Args:
        intervals: rows with `from_us`, `to_us`, and the columns that `of` names.
        of: the columns that identify what an interval belongs to.
    """
    in_order = Window.partitionBy(*of).orderBy("from_us", "to_us")
    reached = F.max("to_us").over(in_order.rowsBetween(Window.unboundedPreceding, -1))
    begins = F.coalesce(F.col("from_us") > reached, F.lit(True)).cast("long")
    return intervals.withColumn("begins", begins).withColumn(
        "window", F.sum("begins").over(in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    )
