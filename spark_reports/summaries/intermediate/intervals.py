"""Counts the offsets that are in at least one of several intervals."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F


def union_length(frame: DataFrame, by: Sequence[str], low: str, high: str, name: str) -> DataFrame:
    """Return a row for each group of intervals [low, high), with the number of offsets in at least one of its intervals.

    Args:
        frame: the intervals, one per row.
        by: the columns that identify a group of rows.
        low, high: the columns with the two ends of an interval.
        name: the name of the result's column.
    """
    before = Window.partitionBy(*by).orderBy(low, high).rowsBetween(Window.unboundedPreceding, -1)
    fresh = F.greatest(F.col(high) - F.greatest(F.col(low), F.coalesce(F.max(high).over(before), F.col(low))), F.lit(0))
    return frame.withColumn("fresh", fresh).groupBy(*by).agg(F.sum("fresh").alias(name))
