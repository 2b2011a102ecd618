"""Histograms that count values in buckets of a fixed relative width. The counts of several runs can be added exactly, in any order.

Each value below 64 has its own bucket. From 64 on, each power of two has 32 buckets. A value is read back as the middle of its bucket, with
an error of at most 1.6%.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import attrs

_BITS: Final = 6

RELATIVE_ERROR: Final = 1 / 64
"""The maximum relative error of a percentile."""


def bucket_of(value: int) -> int:
    """Return the bucket of a value."""
    shift = value.bit_length() - _BITS
    return value if shift <= 0 else (shift << (_BITS - 1)) + (value >> shift)


def middle_of(bucket: int) -> float:
    """Return the middle of a bucket."""
    shift = (bucket >> (_BITS - 1)) - 1
    if shift <= 0:
        return float(bucket)
    low = (bucket - (shift << (_BITS - 1))) << shift
    return low + ((1 << shift) - 1) / 2


@attrs.frozen
class Percentile:
    """A percentile, or its lower bound if some values are unknown."""

    value: float
    at_least: bool = False


@attrs.define
class Histogram:
    """Counts of values, by bucket."""

    counts: dict[int, int] = attrs.field(factory=dict)

    def add(self, value: int, count: int = 1) -> None:
        """Count a value `count` times."""
        bucket = bucket_of(value)
        self.counts[bucket] = self.counts.get(bucket, 0) + count

    def merge(self, counts: Mapping[int, int]) -> None:
        """Add the counts of another histogram."""
        for bucket, count in counts.items():
            self.counts[bucket] = self.counts.get(bucket, 0) + count

    def percentiles(self, shares: Iterable[float], waits: Histogram | None = None) -> list[Percentile | None]:
        """For each given share, return the smallest value such that at least this share of all values is less than or equal to it. Return
        None if the histogram is empty.

        `waits` contains lower bounds for values that are not known exactly. If any bound in `waits` is at or below a percentile, the
        percentile is also only a lower bound.
        """
        unknown = {} if waits is None else waits.counts
        both = Histogram(dict(self.counts))
        both.merge(unknown)
        total = sum(both.counts.values())
        ordered = sorted(both.counts.items())
        first_unknown = min(unknown, default=None)
        found: list[Percentile | None] = []
        for share in shares:
            rank, seen = share * total, 0
            value = None
            for bucket, count in ordered:
                seen += count
                value = Percentile(middle_of(bucket), at_least=first_unknown is not None and first_unknown <= bucket)
                if seen >= rank:
                    break
            found.append(value)
        return found
