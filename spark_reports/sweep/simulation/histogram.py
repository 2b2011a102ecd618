"""Counts values in buckets of a fixed relative width, so that runs' counts add up exactly, in any order.

Values below 64 have a bucket each; above, each power of two has 32. A value read back, the middle of its bucket, is at
most 1.6 % off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import attrs

_BITS: Final = 6

RELATIVE_ERROR: Final = 1 / 64
"""Bound of how far a percentile is off, as a share of it."""


def bucket_of(value: int) -> int:
    """The bucket a value falls into."""
    shift = value.bit_length() - _BITS
    return value if shift <= 0 else (shift << (_BITS - 1)) + (value >> shift)


def middle_of(bucket: int) -> float:
    """The middle of a bucket."""
    shift = (bucket >> (_BITS - 1)) - 1
    if shift <= 0:
        return float(bucket)
    low = (bucket - (shift << (_BITS - 1))) << shift
    return low + ((1 << shift) - 1) / 2


@attrs.frozen
class Percentile:
    """A percentile, or what it is at least because some values are not known yet."""

    value: float
    at_least: bool = False


@attrs.define
class Histogram:
    """Counts by bucket."""

    counts: dict[int, int] = attrs.field(factory=dict)

    def add(self, value: int, count: int = 1) -> None:
        """Count a value so many times."""
        bucket = bucket_of(value)
        self.counts[bucket] = self.counts.get(bucket, 0) + count

    def merge(self, counts: Mapping[int, int]) -> None:
        """Take another histogram's counts in."""
        for bucket, count in counts.items():
            self.counts[bucket] = self.counts.get(bucket, 0) + count

    def percentiles(self, shares: Iterable[float], waits: Histogram | None = None) -> list[Percentile | None]:
        """The value that a share of all counted values does not exceed; None when nothing was counted.

        `waits` count, too: values that are not known yet, with the least that each can be. Where one of those is not above the
        percentile, that is a lower bound itself.
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
