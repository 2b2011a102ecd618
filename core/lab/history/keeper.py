"""Keeps keyframes of a session as it goes, so that a way back repeats only what followed the nearest one."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from typing import Final

import attrs

from core.lab.cluster import Cluster
from core.lab.history.course import ClusterLike, KeptCourse
from core.lab.history.position import Played, Position
from core.lab.history.step_ends import StepEnds
from core.lab.history.tape import Outlet, Tape
from core.sim.repr_mixin import ReprMixin

KEEP_EVERY: Final = 32
"""Steps between two keyframes at least; it doubles whenever there are too many."""

KEEP_SHARE: Final = 0.055
"""The share of its time that a session may spend on keyframes that share what the last whole one was made of."""

KEEP_AWAY: Final = 0.016
"""Seconds that they are apart at most, so that no way back is longer than a frame, ..."""

KEEP_SHARE_MOST: Final = 0.055
"""... as long as that takes no more than this share."""

KEEP_SHARE_WHOLE: Final = 0.03
"""The same of whole ones: the first, and those after something else than plain replication."""

KEEP_COST: Final = 10e-6
"""Seconds that each object in a keyframe takes at most, but for what happens once."""

KEEP_MOST: Final = 2_000
"""Keyframes, at most: whoever wants to go somewhere looks through them."""

KEEP_OBJECTS: Final = 500_000
"""Objects in all keyframes together, at most; some 150 bytes each."""

KEEP_REPLICAS: Final = 3_000
"""A cluster with more replicas is large: a whole keyframe takes longer than a few frames, so one is taken once, when the first screen
stands, and else only where nobody sees the cluster move, on a way through time. Those that share with it are taken everywhere."""

KEEP_REPLICAS_AT_ONCE: Final = 20_000
"""Of a cluster with more replicas the first one is too large, some 60 MB, to be taken before somebody wants it."""

KEEP_SHARE_SEEN: Final = 0.003
"""The share of its time that a session may spend on keeping a large cluster that somebody sees move: that is longer than a frame."""

KEEP_LARGE: Final = 4
"""Keyframes of a large cluster, at most; of 30,000 replicas one takes some 40 MB."""

KEEP_SHARE_ON_WAYS: Final = 0.2
"""The share of a way through time that may be spent on keeping: the next one there is the shorter for it."""


@attrs.frozen(repr=False)
class Kept(ReprMixin):
    """A course that is kept, and where it stands in its session: the `acts` before it, and where its steps ended."""

    position: Position
    acts: tuple[Played, ...]
    course: KeptCourse
    ends: StepEnds
    acted: tuple[int, int]

    def leads_to(self, acts: Sequence[Played]) -> bool:
        """Whether a session with these acts came by here."""
        done = self.position.acts
        if tuple(acts[:done]) != self.acts:
            return False
        return done >= len(acts) or (acts[done].steps, acts[done].time) >= (self.position.steps, self.position.time)


def no_time() -> float:
    """A clock that stands still: nothing takes any time."""
    return 0.0


class Keeper:
    """Keeps keyframes of a cluster, cheap ones: going back then repeats only what followed the nearest one.

    The next one is taken when so much has been done since the last that keeping costs a small share of it; keyframes are thinned
    out, and kept half as often, whenever they are too many, or hold too many objects together.

    Attributes:
        kept: by how many steps led to them.
    """

    def __init__(self, clock: Callable[[], float] = no_time) -> None:
        """Keep none yet. `clock`: seconds of CPU that the process has taken; without it keyframes cost nothing, and are apart by steps alone."""
        self._clock = clock
        self.kept: list[Kept] = []
        self._every = KEEP_EVERY
        self._of: ClusterLike | None = None  # what the next is of
        self._large = False
        self._objects = 0
        self._due = [0.0, 0.0]  # of the process's CPU time: for a whole one, and for one that shares
        self._charged = [math.inf, math.inf]  # what the last one was taken to cost
        self._off = False

    def offer(self, tape: Tape, *, seen: bool = True) -> None:
        """Keep the cluster if the nearest keyframe is far enough. `seen`: somebody sees it move, so it must be quick."""
        if self._off or self._has_near(tape.steps):
            return
        started = self._clock()
        shares = type(tape.cluster) is Cluster and tape.cluster.snapshots.shares
        if started < self._due[shares]:
            return
        if self._of is not tape.cluster:
            self._of, self._large = tape.cluster, _replicas(tape.cluster) > KEEP_REPLICAS
        large = self._large
        if large and seen and not shares:
            return
        course = tape.course.keep()
        if course is None:
            self._off = True
            return
        kept = Kept(tape.position, tuple(tape.acts[: tape.done]), course, tape.ends.first(len(tape.ends)), tape.acted)
        if not self.kept or tape.steps >= self.kept[-1].position.steps:
            self.kept.append(kept)
        else:
            insort(self.kept, kept, key=_steps)
        ended = self._clock()
        if seen:
            share = KEEP_SHARE_SEEN if large else KEEP_SHARE if shares else KEEP_SHARE_WHOLE
        else:
            share = KEEP_SHARE_ON_WAYS
        size = course.keyframe.weight if shares else len(course.keyframe)
        cost = min(ended - started, KEEP_COST * size, 2 * self._charged[shares])  # the first takes longer, and some in between
        self._charged[shares] = cost
        self._due[shares] = ended + (max(cost / KEEP_SHARE_MOST, min(cost / share, KEEP_AWAY)) if share == KEEP_SHARE else cost / share)
        self._objects += size
        if large:
            self._thin_out_far_ones()
        elif (self._objects > KEEP_OBJECTS or len(self.kept) > KEEP_MOST) and len(self.kept) > 1:
            self._every *= 2
            self.kept = self.kept[::2]
            self._objects = self._weigh()

    def begin(self, tape: Tape) -> None:
        """Where the first screen stands: the whole keyframe of a large cluster that those after it share with."""
        if KEEP_REPLICAS < _replicas(tape.cluster) <= KEEP_REPLICAS_AT_ONCE:
            self.offer(tape, seen=False)

    def _has_near(self, steps: int) -> bool:
        """Whether a keyframe was taken fewer steps away than they are kept apart."""
        kept = self.kept
        if not kept or steps >= kept[-1].position.steps + self._every:
            return False
        at = bisect_left(kept, steps, key=_steps)
        return any(abs(steps - each.position.steps) < self._every for each in kept[max(at - 1, 0) : at + 1])

    def _weigh(self) -> int:
        wholes = {id(kept.course.keyframe.objects): len(kept.course.keyframe) for kept in self.kept}
        return sum(wholes.values()) + sum(kept.course.keyframe.weight for kept in self.kept)

    def _thin_out_far_ones(self) -> None:
        """Of a large cluster those go that matter least: the further back, the further apart they may be."""
        while len(self.kept) > KEEP_LARGE:
            at = [kept.position.steps for kept in self.kept]
            inner = range(1, len(at) - 1)
            self.kept.pop(min(inner, key=lambda n: (at[n + 1] - at[n - 1]) / (at[-1] - at[n - 1])))


def _replicas(cluster: ClusterLike) -> int:
    """About how many replicas a cluster was built with; 0 for one that is only like one."""
    if not isinstance(cluster, Cluster):
        return 0
    return sum(len(topic.assignment) or topic.partitions * topic.replication_factor for topic in cluster.spec.topics)


def _steps(kept: Kept) -> int:
    return kept.position.steps


def bring_back(kept: Kept, acts: Sequence[Played], outlet: Outlet, *, in_place: bool = False) -> Tape:
    """A tape that stands where a keyframe was taken; `in_place`: with the very cluster that it was taken of."""
    tape = Tape(kept.course.bring_back(outlet, in_place=in_place), outlet, acts)
    tape.resume(kept.position, kept.ends.first(len(kept.ends)), kept.acted)
    return tape
