"""Latencies of records, and their mean and percentiles by the nearest-rank method."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

PERCENTILES: Final = (50, 95, 99)
"""The percentiles of a summary."""


class LatencySummary(NamedTuple):
    """A summary of the latencies of `records` records, in µs. If there are no records, all values are 0. The mean is rounded down."""

    records: int = 0
    mean: int = 0
    p50: int = 0
    p95: int = 0
    p99: int = 0
    max: int = 0


class Latencies:
    """A collection of latencies, in µs, each with the number of its records. A wrong clock can make a latency negative."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def add(self, latency: int, records: int) -> None:
        """Add a latency that several records share."""
        self._counts[latency] = self._counts.get(latency, 0) + records

    @classmethod
    def of(cls, parts: Iterable[Latencies]) -> Latencies:
        """Return one collection with the latencies of all given collections. The percentiles of the result cannot be derived from the
        percentiles of the given collections."""
        union = cls()
        for part in parts:
            for latency, records in part._counts.items():
                union.add(latency, records)
        return union

    def summary(self) -> LatencySummary:
        """Return the mean, the percentiles, and the maximum. The p-th percentile of n latencies is the ⌈p·n/100⌉-th smallest."""
        total = sum(self._counts.values())
        if not total:
            return LatencySummary()
        ranks = [-(-each * total // 100) for each in PERCENTILES]
        found: list[int] = []
        below = 0
        for latency in sorted(self._counts):
            below += self._counts[latency]
            while len(found) < len(ranks) and below >= ranks[len(found)]:
                found.append(latency)
        mean = sum(latency * records for latency, records in self._counts.items()) // total
        return LatencySummary(total, mean, found[0], found[1], found[2], max(self._counts))
