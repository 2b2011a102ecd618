"""Aligns the clocks of two logs at something that happened in both."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import attrs

from scenarios.comparison.log_history import Change, Changes, Leadership, LogHistory


@attrs.frozen
class Alignment:
    """The moments of two logs, A and B, that are taken as the same one.

    Attributes:
        at: what happened at these moments.
        a, b: when it happened: after the first time and not after the second one, in µs.
    """

    at: str
    a: tuple[int, int]
    b: tuple[int, int]

    @property
    def shift(self) -> int:
        """The time in µs that B's clock is ahead of A's."""
        return self.b[1] - self.a[1]

    def difference(self, a: Change, b: Change) -> int:
        """Return by how many µs a change is later in B than in A; less than 0 if it is earlier."""
        return b.time - a.time - self.shift

    def unexplained(self, a: Change, b: Change) -> int:
        """Return how many µs of the difference do not follow from the resolution of the logs.

        The times since the aligned moments are between two limits in each log. The result is the distance between them, or 0 if they overlap.
        """
        least_a, most_a = a.since - self.a[1], a.time - self.a[0]
        least_b, most_b = b.since - self.b[1], b.time - self.b[0]
        return max(0, least_b - most_a, least_a - most_b)


def align(a: LogHistory, b: LogHistory) -> Alignment:
    """Return where the logs are aligned: at the first act on a broker that both have, at the first broker that comes or goes in both, at the
    first change to a leader that both have, or at their beginnings.
    """
    for found in (_acts, _broker_changes, _leader_changes):
        in_b: dict[Any, tuple[str, tuple[int, int]]] = {}
        for key, at, window in found(b):
            in_b.setdefault(key, (at, window))
        for key, at, window in found(a):
            if key in in_b:
                return Alignment(at, window, in_b[key][1])
    return Alignment("their beginnings", (0, 0), (0, 0))


Found = Iterator[tuple[Any, str, tuple[int, int]]]


def _acts(history: LogHistory) -> Found:
    for time, what in history.acts:
        yield what, what, (time, time)


def _broker_changes(history: LogHistory) -> Found:
    for change, _, broker in _in_order(history.brokers):
        yield (broker, change.state), f"b{broker} {'comes' if change.state else 'goes'}", (change.since, change.time)


def _leader_changes(history: LogHistory) -> Found:
    for change, before, tp in _in_order(history.partitions):
        new, old = change.state, before.state
        if isinstance(new, Leadership) and isinstance(old, Leadership) and new.leader != old.leader:
            says = f"{tp} gets the leader b{new.leader}" if new.leader >= 0 else f"{tp} loses its leader"
            yield (tp, new.leader), says, (change.since, change.time)


def _in_order(subjects: dict[Any, Changes]) -> list[tuple[Change, Change, Any]]:
    """Return all changes in the order of their times, each with the change before it and with what changed."""
    every = [(new, old, subject) for subject, changes in subjects.items() for old, new in pairwise(changes)]
    return sorted(every, key=lambda each: (each[0].time, each[2]))
