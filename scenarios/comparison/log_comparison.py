"""Compares what two logs, A and B, tell about each partition and broker in the time that both logs have.

The changes of A and B are matched in their order. A change agrees if its new state is the same and the times can be the same moment, given how
exactly each log knows its times. A state that lasted so short that a watch can have missed it between two readings is not a difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Final, TypeVar

import attrs

from core.kafka.ids import NO_EPOCH, TopicPartition
from core.sim.units import format_duration
from scenarios.comparison.alignment import Alignment, align
from scenarios.comparison.log_history import Change, Changes, Leadership, LogHistory, State
from scenarios.errors import InputError

S = TypeVar("S")

LOOK_AHEAD: Final = 16
"""The number of changes that one log can have more than the other before the next one that both have."""


class Verdict(IntEnum):
    """How two logs differ about a partition or broker, worst first."""

    OTHER_LEADER = 0
    OTHER_END = 1
    ONLY_ONE = 2
    OTHER_CHANGES = 3
    OTHER_EPOCH = 4
    OTHER_TIMES = 5
    AGREES = 6


@attrs.frozen
class Difference:
    """A change that differs.

    Attributes:
        a, b: the change in each log; None if the log does not have it.
        later: by how many µs it is later in B; 0 if only one log has it.
        unexplained: how many µs of `later` do not follow from the resolution of the logs.
    """

    a: Change | None
    b: Change | None
    later: int = 0
    unexplained: int = 0


@attrs.frozen
class Compared:
    """What both logs tell about a partition or broker.

    Attributes:
        verdict: the worst difference.
        matched: the number of changes that both have, at the same time or not.
        unseen: the number of changes of one log that the other one can have missed between two readings.
        differences: the changes that differ, in their order.
        ends: the last state in each log.
        rises: by how much the leader epoch rose in each log; None if it is unknown.
    """

    verdict: Verdict
    matched: int
    unseen: int
    differences: tuple[Difference, ...]
    ends: tuple[Change, Change]
    rises: tuple[int | None, int | None]

    @property
    def apart(self) -> int:
        """The largest distance in µs of a change that both logs have, without what their resolution explains."""
        return max((each.unexplained for each in self.differences), default=0)


@attrs.frozen
class LogComparison:
    """The result of a comparison.

    Attributes:
        a, b: the logs.
        alignment: where their clocks are aligned.
        start, end: the time that both logs have, in µs of A's clock.
        within: the distance in µs that times of the same change can have besides their resolution.
        outside: the number of changes in each log that are not compared, because they are outside of that time.
        partitions, brokers: what is compared.
    """

    a: LogHistory
    b: LogHistory
    alignment: Alignment
    start: int
    end: int
    within: int
    outside: tuple[int, int]
    partitions: Mapping[TopicPartition, Compared]
    brokers: Mapping[int, Compared]

    @property
    def agree(self) -> bool:
        """Whether nothing differs."""
        return all(each.verdict is Verdict.AGREES for each in (*self.partitions.values(), *self.brokers.values()))


def compare_logs(a: LogHistory, b: LogHistory, within: int = 0, by_hand: tuple[int, int] | None = None) -> LogComparison:
    """Compare two logs.

    Args:
        a, b: the logs.
        within: the distance in µs that times of the same change can have besides their resolution.
        by_hand: the times in A and B, in µs, that are the same moment; by default, `align` finds them.

    Raises:
        InputError: the logs have no time in common.
    """
    alignment = align(a, b) if by_hand is None else Alignment("--align", (by_hand[0],) * 2, (by_hand[1],) * 2)
    shift = alignment.shift
    start, end = max(0, -shift), min(a.end, b.end - shift)
    if start > end:
        raise InputError(
            f"--align: {a.source} at {format_duration(alignment.a[1])} and {b.source} at {format_duration(alignment.b[1])} are one moment, so "
            "the logs have no time in common; name two moments inside the logs"
        )
    comparer = _Comparer(a, b, alignment, within, start, end)
    partitions = comparer.compare_all(a.partitions, b.partitions)
    brokers = comparer.compare_all(a.brokers, b.brokers)
    return LogComparison(a, b, alignment, start, end, within, (comparer.outside_a, comparer.outside_b), partitions, brokers)


@attrs.define
class _Comparer:
    a: LogHistory
    b: LogHistory
    alignment: Alignment
    within: int
    start: int
    end: int
    outside_a: int = 0
    outside_b: int = 0

    def compare_all(self, a: Mapping[S, Changes], b: Mapping[S, Changes]) -> dict[S, Compared]:
        """Compare all partitions or brokers that a log has in the time that both logs have."""
        nothing: Changes = [Change(0, 0, None, first=True)]
        found: dict[S, Compared] = {}
        for subject in dict.fromkeys((*a, *b)):
            of_a, of_b = a.get(subject, nothing), b.get(subject, nothing)
            shift = self.alignment.shift
            inside_a, outside_a = _cut(of_a, self.start, self.end)
            inside_b, outside_b = _cut(of_b, self.start + shift, self.end + shift)
            self.outside_a += outside_a
            self.outside_b += outside_b
            compared = self._compare(inside_a, inside_b)
            if compared.verdict is not Verdict.AGREES:  # The end of a log can be between the times of a change in A and in B.
                longer = self._compare(_cut(of_a, self.start, self.a.end)[0], _cut(of_b, self.start + shift, self.b.end)[0])
                compared = max(compared, longer, key=lambda each: each.verdict)
            if compared.matched or compared.differences:
                found[subject] = compared
        return found

    def _compare(self, a: Changes, b: Changes) -> Compared:
        matched = unseen = 0
        differences: list[Difference] = []
        before: State = None
        for run_a, run_b, after_a, after_b in _runs(a, b):
            if run_a and not run_b and _missed(before, run_a, after_a, self.b, after_b):
                unseen += len(run_a)
            elif run_b and not run_a and _missed(before, run_b, after_b, self.a, after_a):
                unseen += len(run_b)
            else:
                pairs = min(len(run_a), len(run_b))
                differences += [Difference(x, y) for x, y in zip(run_a, run_b, strict=False)]
                differences += [Difference(x, None) for x in run_a[pairs:]]
                differences += [Difference(None, y) for y in run_b[pairs:]]
            if after_a is not None and after_b is not None:
                before = after_a.state
                matched += after_a.state is not None or not after_a.first
                if not (after_a.first or after_b.first):
                    unexplained = self.alignment.unexplained(after_a, after_b)
                    if unexplained > self.within:
                        differences.append(Difference(after_a, after_b, self.alignment.difference(after_a, after_b), unexplained))
        rises = _rise(a), _rise(b)
        return Compared(_verdict(a, b, differences, rises), matched, unseen, tuple(differences), (a[-1], b[-1]), rises)


def _missed(before: State, run: Sequence[Change], after: Change | None, other: LogHistory, next_of_other: Change | None) -> bool:
    """Return whether the other log can have missed changes, because its cluster was read too seldom.

    Args:
        before: the state before them, which both logs have.
        run: the changes.
        after, next_of_other: the change after them in each log, which both have; None at the end.
    """
    if run[-1].state == before and len(run) > 1:
        return run[-1].since - run[0].time <= other.resolution
    if after is None or next_of_other is None:
        return False
    return after.since - run[0].time <= max(other.resolution, next_of_other.time - next_of_other.since)


def _cut(changes: Changes, start: int, end: int) -> tuple[Changes, int]:
    """Return the state at the start and the changes until the end, and the number of the other changes."""
    before = 0
    while before + 1 < len(changes) and changes[before + 1].since <= start:
        before += 1
    inside = [each for each in changes[before + 1 :] if each.time <= end]
    folded = sum(1 for each in changes[1 : before + 1] if each.since > 0 and each.time < start)
    return [attrs.evolve(changes[before], first=True), *inside], folded + len(changes) - before - 1 - len(inside)


Run = tuple[Sequence[Change], Sequence[Change], Change | None, Change | None]
"""Changes of A and of B that differ, and the change after them that both have; None at the end."""


def _runs(a: Changes, b: Changes) -> Iterator[Run]:
    at_a = at_b = 0
    while True:
        skip_a, skip_b = _skip(a, at_a, b, at_b)
        next_a, next_b = at_a + skip_a, at_b + skip_b
        both = next_a < len(a) and next_b < len(b)
        yield a[at_a:next_a], b[at_b:next_b], a[next_a] if both else None, b[next_b] if both else None
        if not both:
            return
        at_a, at_b = next_a + 1, next_b + 1


def _skip(a: Changes, at_a: int, b: Changes, at_b: int) -> tuple[int, int]:
    """Return how many changes of A and of B come before the next state that both have."""
    near_a, near_b = a[at_a : at_a + LOOK_AHEAD], b[at_b : at_b + LOOK_AHEAD]
    for total in range(len(near_a) + len(near_b)):
        for skip_a in range(max(0, total - len(near_b) + 1), min(total + 1, len(near_a))):
            if near_a[skip_a].state == near_b[total - skip_a].state:
                return skip_a, total - skip_a
    return len(a) - at_a, len(b) - at_b


def _rise(changes: Changes) -> int | None:
    """Return by how much the leader epoch rose, or None if it is unknown."""
    known = [each.epoch for each in changes if isinstance(each.state, Leadership)]
    return None if not known or NO_EPOCH in known else known[-1] - known[0]


def _verdict(a: Changes, b: Changes, differences: Sequence[Difference], rises: tuple[int | None, int | None]) -> Verdict:
    one, two = a[-1].state, b[-1].state
    if (a[0].state is None and len(a) == 1) is not (b[0].state is None and len(b) == 1):
        return Verdict.ONLY_ONE
    if one != two:
        other = isinstance(one, Leadership) and isinstance(two, Leadership) and one.leader != two.leader
        return Verdict.OTHER_LEADER if other else Verdict.OTHER_END
    if any(each.a is None or each.b is None or each.a.state != each.b.state for each in differences):
        return Verdict.OTHER_CHANGES
    if None not in rises and rises[0] != rises[1]:
        return Verdict.OTHER_EPOCH
    return Verdict.OTHER_TIMES if differences else Verdict.AGREES
