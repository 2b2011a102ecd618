"""Makes a finding as simple as it can be: without acts that are not needed, and at round times."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from core.kafka.errors import KafkaError
from core.lab.cluster import Cluster
from core.sim.errors import ActRefused
from core.sim.state.snapshot import Snapshot
from core.sim.units import SECOND, US_PER_MS
from scenarios.exploration.goal import Goal, Timed
from scenarios.exploration.menu import is_fault
from scenarios.exploration.search import Finding

UNITS: Final = (10 * SECOND, 5 * SECOND, SECOND, SECOND // 2, SECOND // 10, SECOND // 100, US_PER_MS)
"""The units to which the times of acts are rounded, from the coarsest."""


class Shrinker:
    """Tries simpler forms of findings, from the moment at which the search began.

    Attributes:
        tried: the number of forms that were run.
    """

    def __init__(self, cluster: Cluster, start: Snapshot[Cluster], goal: Goal, end: int) -> None:
        """Prepare for findings of a search that began at the snapshot `start` of the cluster, and ended at the virtual time `end`, in µs."""
        self._cluster = cluster
        self._start = start
        self._goal = goal
        self._end = end
        self.tried = 0

    def shrunk(self, found: Finding) -> Finding:
        """Return the simplest form of a finding that still makes the goal true."""
        acts, time = found.acts, found.time
        for fewer in _fewer(acts):
            if (at := self._reaches(fewer)) is not None:
                acts, time = fewer, at
                break
        for unit in UNITS:
            rounded = _in_order([(_round(when, unit), act) for when, act in acts])
            if rounded != acts and (at := self._reaches(rounded)) is not None:
                acts, time = rounded, at
                break
        for number in range(len(acts)):
            for unit in UNITS:
                moved = (*acts[:number], (_round(acts[number][0], unit), acts[number][1]), *acts[number + 1 :])
                if moved == acts:
                    break
                if _in_order(list(moved)) == moved and (at := self._reaches(moved)) is not None:
                    acts, time = moved, at
                    break
        return Finding(acts, time, tuple(sorted(act.word for _, act in acts if is_fault(act))))

    def _reaches(self, acts: tuple[Timed, ...]) -> int | None:
        """Return the virtual time at which the goal becomes true after some acts; None if it does not, or if an act is impossible."""
        self.tried += 1
        self._start.restore()
        cluster = self._cluster
        if acts and acts[0][0] < cluster.now:
            return None
        try:
            for time, act in acts:
                cluster.run_until(max(time, cluster.now))
                cluster.do(act)
        except (ActRefused, KafkaError, ValueError):
            return None
        return next((cluster.now for _, reached in self._goal.watch(cluster, self._end) if reached), None)


def _fewer(acts: tuple[Timed, ...]) -> Iterator[tuple[Timed, ...]]:
    """Yield all parts of a sequence of acts, the shortest first."""
    for size in range(len(acts)):
        yield from combinations(acts, size)


def _round(time: int, unit: int) -> int:
    return (time + unit // 2) // unit * unit


def _in_order(acts: list[Timed]) -> tuple[Timed, ...]:
    return tuple(sorted(acts, key=lambda each: each[0]))
