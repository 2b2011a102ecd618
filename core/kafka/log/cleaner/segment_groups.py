"""The segments that a cleaning pass joins into one (Kafka: `Cleaner#groupSegmentsBySize`)."""

from __future__ import annotations

from bisect import bisect_left

from core.kafka.log.replica_log import ReplicaLog
from core.kafka.settings.setting import MAX_INT

Segments = tuple[tuple[int, int], ...]
"""Segments, each as an offset range [base, end)."""


def grouped_by_size(log: ReplicaLog, end: int) -> list[Segments]:
    """Return the segments that have offsets below `end`, in groups. The segments of each group fit into one new segment."""
    bases = log.roll()
    segments = [*zip(bases, (*bases[1:], log.leo), strict=True)][: bisect_left(bases, end)]
    groups: list[list[tuple[int, int]]] = []
    size = 0
    for base, stop in segments:
        added = log.records.bytes_between(base, stop)
        if groups and size + added <= log.config.segment_bytes and stop - 1 - groups[-1][0][0] <= MAX_INT:
            groups[-1].append((base, stop))
            size += added
        else:
            groups.append([(base, stop)])
            size = added
    return [tuple(group) for group in groups]


def last_modified(log: ReplicaLog, start: int, end: int, now: int) -> int:
    """Return the modification time of a segment, in µs.

    Cleaning preserves the modification time, so this is the time of the last append to the segment. The result is the timestamp of the
    segment's last batch, even if that batch was removed. If a producer's clock is wrong, the result can be wrong, but it is never later
    than now.
    """
    for run in reversed(log.records.runs_from(start, log.leo)):
        if max(run.start, start) < min(run.end, end):
            origin = run.term.origin
            return min(now, origin.batch(origin.number_after(min(run.end, end) - 1)).timestamp)
    return 0
