"""Computes exact percentiles with the nearest-rank method, from counts of distinct values.

For example, the p50 of n values is the ceil(50 n / 100)-th smallest value. A percentile is therefore always a value that occurred. All
arithmetic is in integers, and nothing is rounded or sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

PERCENTILES: Final = (50, 95, 99)
"""The percentiles that tables show."""


def with_ranks(counted: DataFrame, group: Sequence[str], value: str, count: str) -> DataFrame:
    """Add the columns `rank` and `total` to rows that contain distinct values and their counts.

    `rank` is the number of values in the group that are not greater than this value, and `total` is the number of all values in the group.
    """
    whole = Window.partitionBy(*group)
    upwards = whole.orderBy(value).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return counted.withColumns({"rank": F.sum(count).over(upwards), "total": F.sum(count).over(whole)})


def percentiles(value: str, suffix: str = "") -> list[Column]:
    """Return expressions for the percentiles of a group in the result of `with_ranks`. The columns are named `p50`, `p95`, and `p99`, each
    followed by `suffix`.
    """
    return [F.expr(f"min(CASE WHEN rank * 100 >= total * {p} THEN {value} END) AS p{p}{suffix}") for p in PERCENTILES]
