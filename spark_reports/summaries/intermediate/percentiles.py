"""Exact percentiles by nearest rank, from counts of distinct values.

The p50 of n values is the ceil(50 n / 100)-th smallest value, so a percentile is always a value that occurred. All arithmetic is in
integers, and nothing is rounded or sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

PERCENTILES: Final = (50, 95, 99)
"""The percentiles."""


def with_ranks(counted: DataFrame, group: Sequence[str], value: str, count: str) -> DataFrame:
    """Add `rank` and `total` to distinct values that have their counts.

    `rank` is the number of values that are not greater, and `total` is the number of values in the group.
    """
    whole = Window.partitionBy(*group)
    upwards = whole.orderBy(value).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return counted.withColumns({"rank": F.sum(count).over(upwards), "total": F.sum(count).over(whole)})


def percentiles(value: str, suffix: str = "") -> list[Column]:
    """Return the percentiles of a group of `with_ranks`: `p50`, `p95`, and `p99`, each with a suffix."""
    return [F.expr(f"min(CASE WHEN rank * 100 >= total * {p} THEN {value} END) AS p{p}{suffix}") for p in PERCENTILES]
