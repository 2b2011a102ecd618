"""The status that Burrow gives to a consumer group. The status comes from a sliding window of the group's commits, and needs no threshold
for the lag.

LinkedIn's Burrow evaluates each partition by its last commits (`core/internal/evaluator/caching.go`). The function `evaluate` checks the
rules in Burrow's order.
"""

from __future__ import annotations

import bisect
import enum
import itertools
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from core.kafka.events import EventTuple, HighWatermarkAdvanced, OffsetCommitted
from core.kafka.ids import TopicPartition
from core.sim.events import seq_of, time_of
from core.sim.units import SECOND

INTERVALS: Final = 10
"""The number of commits in Burrow's evaluation window."""


REFRESH: Final = 10 * SECOND
"""The time between two reads of the log end offsets, in µs (`offset-refresh`)."""


class Verdict(enum.IntEnum):
    """The status of a partition or a group. A status with a larger number is worse."""

    OK = 1
    WARN = 2
    """The lag never shrinks although the consumer commits."""
    ERR = 3
    """The status of a group with a partition that is stopped, stalled, or rewound."""
    STOP = 4
    """The consumer has stopped committing."""
    STALL = 5
    """The consumer repeatedly commits the same offset."""
    REWIND = 6
    """The consumer has committed a lower offset than before."""


class Commit(NamedTuple):
    """A commit: the offset, its time in µs, and the lag at that time; None if the lag is unknown."""

    offset: int
    time: int
    lag: int | None


def evaluate(window: Sequence[Commit], lag: int, now: int, recent_ends: Iterable[int] = (), allowed_lag: int = 0) -> Verdict:
    """Return the status of a partition (`#evaluatePartitionStatus`).

    Args:
        window: the last commits of the group for this partition, oldest first.
        lag: the current lag of the group in this partition.
        now: the current time, in µs.
        recent_ends: the log end offsets that Burrow has seen recently.
        allowed_lag: the setting `allowed-lag`.
    """
    if lag <= allowed_lag or not window:
        return Verdict.OK
    if _has_stopped(window, now, recent_ends):
        return Verdict.STOP
    if _has_rewound(window):
        return Verdict.REWIND
    lags = [commit.lag for commit in window if commit.lag is not None]
    if lags and all(each > allowed_lag for each in lags):
        if all(commit.offset == window[0].offset for commit in window):
            return Verdict.STALL
        if all(later >= earlier for earlier, later in itertools.pairwise(lags)):
            return Verdict.WARN
    return Verdict.OK


def group_verdict(partitions: Iterable[Verdict]) -> Verdict:
    """Return the status of a group: the worst status of its partitions, or ERR if the worst status is any error status."""
    return min(max(partitions, default=Verdict.OK), Verdict.ERR)


def _has_stopped(window: Sequence[Commit], now: int, recent_ends: Iterable[int]) -> bool:
    """Return whether the last commit is older than the window's length, and the consumer was not caught up recently
    (`#checkIfOffsetsStopped`).
    """
    first, last = window[0], window[-1]
    return now - last.time > last.time - first.time and all(end > last.offset for end in recent_ends)


def _has_rewound(window: Sequence[Commit]) -> bool:
    """Return whether a commit lowered the committed offset, and no later commit has reached the earlier offset again
    (`#checkIfOffsetsRewind`).
    """
    return any(
        later.offset < earlier.offset and all(commit.offset < earlier.offset for commit in window[number + 1 :])
        for number, (earlier, later) in enumerate(itertools.pairwise(window))
    )


class LogEnds:
    """The high watermarks of partitions over time, from `high-watermark` events."""

    __slots__ = ("_first", "_offsets", "_seqs", "_times")

    def __init__(self, watermarks: Iterable[EventTuple]) -> None:
        self._seqs: dict[TopicPartition, list[int]] = {}
        self._times: dict[TopicPartition, list[int]] = {}
        self._offsets: dict[TopicPartition, list[int]] = {}
        self._first: dict[TopicPartition, int] = {}
        for event in watermarks:
            self.add(event)

    def add(self, event: EventTuple) -> None:
        """Record a `high-watermark` event."""
        advanced = HighWatermarkAdvanced(event)
        tp = TopicPartition(advanced.topic, advanced.partition)
        self._first.setdefault(tp, advanced.old_offset)
        self._seqs.setdefault(tp, []).append(seq_of(event))
        self._times.setdefault(tp, []).append(time_of(event))
        self._offsets.setdefault(tp, []).append(advanced.new_offset)

    def before(self, tp: TopicPartition, seq: int) -> int | None:
        """Return the high watermark of a partition just before an event; None if it is not known."""
        at = bisect.bisect_left(self._seqs.get(tp, ()), seq)
        return self._offsets[tp][at - 1] if at else None

    def passed(self, tp: TopicPartition, offset: int) -> int | None:
        """Return the time at which the high watermark last rose above an offset, in µs; None if it is not above that offset."""
        times, ends = self._times.get(tp, ()), self._offsets.get(tp, ())
        at = len(ends)
        while at and ends[at - 1] > offset:
            at -= 1
        return times[at] if at < len(ends) else None

    def passed_before(self, tp: TopicPartition, offset: int) -> bool:
        """Return whether the high watermark was already above the given offset before the first known event. If the result is True,
        `passed` can return a time that is too late.
        """
        return self._first.get(tp, offset) > offset and all(end > offset for end in self._offsets[tp])

    def recent(self, tp: TopicPartition, now: int) -> list[int]:
        """Return the last INTERVALS high watermarks that Burrow has read. Burrow reads the high watermark at intervals of `REFRESH`."""
        times = self._times.get(tp, ())
        found = [bisect.bisect_right(times, now - REFRESH * number) for number in range(INTERVALS)]
        return [self._offsets[tp][at - 1] for at in found if at]


def windows(group: str, committed: Iterable[EventTuple], ends: LogEnds) -> dict[TopicPartition, list[Commit]]:
    """Return the last commits of a group by partition, from `offset-committed` events."""
    found: dict[TopicPartition, list[Commit]] = {}
    for event in committed:
        commit = OffsetCommitted(event)
        if commit.group == group:
            tp, offset = TopicPartition(commit.topic, commit.partition), commit.committed_offset
            end = ends.before(tp, seq_of(event))
            found.setdefault(tp, []).append(Commit(offset, time_of(event), None if end is None else max(end - offset, 0)))
    return {tp: commits[-INTERVALS:] for tp, commits in found.items()}
