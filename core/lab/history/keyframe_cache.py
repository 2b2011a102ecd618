"""Keeps keyframes of a session as it goes, so that a way back repeats only what followed the nearest one."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from typing import Final

import attrs

from core.lab.cluster import Cluster
from core.lab.history.playable import ClusterLike, PlayableSnapshot
from core.lab.history.position import PlayedAct, Position
from core.lab.history.replay_run import EventTap, ReplayRun, StepIndex
from core.sim.repr_mixin import ReprMixin

STEPS_BETWEEN_KEYFRAMES: Final = 32
"""Steps between two keyframes at least; it doubles whenever there are too many."""

CPU_SHARE_OF_DELTAS: Final = 0.055
"""The share of its time that a session may spend on keyframes that share what the last whole one was made of."""

MAX_SECONDS_BETWEEN_KEYFRAMES: Final = 0.016
"""Seconds that they are apart at most, so that no way back is longer than a frame, ..."""

MAX_CPU_SHARE: Final = 0.055
"""... as long as that takes no more than this share."""

CPU_SHARE_OF_WHOLE_KEYFRAMES: Final = 0.03
"""The same of whole ones: the first, and those after something else than plain replication."""

MAX_SECONDS_PER_OBJECT: Final = 10e-6
"""Seconds that each object in a keyframe takes at most, but for what happens once."""

MAX_KEYFRAMES: Final = 2_000
"""Keyframes, at most: whoever wants to go somewhere looks through them."""

MAX_OBJECTS: Final = 500_000
"""Objects in all keyframes together, at most; some 150 bytes each."""

LARGE_CLUSTER_REPLICAS: Final = 3_000
"""A cluster with more replicas is large: a whole keyframe takes longer than a few frames, so one is taken once, when the first screen
stands, and else only where nobody sees the cluster move, on a way through time. Those that share with it are taken everywhere."""

MAX_REPLICAS_OF_FIRST_KEYFRAME: Final = 20_000
"""Of a cluster with more replicas the first one is too large, some 60 MB, to be taken before somebody wants it."""

CPU_SHARE_OF_LARGE_CLUSTER: Final = 0.003
"""The share of its time that a session may spend on keeping a large cluster that somebody sees move: that is longer than a frame."""

MAX_KEYFRAMES_OF_LARGE_CLUSTER: Final = 4
"""Keyframes of a large cluster, at most; of 30,000 replicas one takes some 40 MB."""

CPU_SHARE_WHILE_TRAVELLING: Final = 0.2
"""The share of a way through time that may be spent on keeping: the next one there is the shorter for it."""


@attrs.frozen(repr=False)
class Keyframe(ReprMixin):
    """A playable that is keyframe, and where it stands in its session: the `acts` before it, and where its steps ended."""

    position: Position
    acts: tuple[PlayedAct, ...]
    playable: PlayableSnapshot
    step_index: StepIndex
    acted: tuple[int, int]

    def is_on_path_of(self, acts: Sequence[PlayedAct]) -> bool:
        """Whether a session with these acts came by here."""
        done = self.position.acts
        if tuple(acts[:done]) != self.acts:
            return False
        return done >= len(acts) or (acts[done].steps, acts[done].time) >= (self.position.steps, self.position.time)


def no_time() -> float:
    """A clock that stands still: nothing takes any time."""
    return 0.0


class KeyframeCache:
    """Keeps keyframes of a cluster, cheap ones: going back then repeats only what followed the nearest one.

    The next one is taken when so much has been done since the last that keeping costs a small share of it; keyframes are thinned
    out, and keyframe half as often, whenever they are too many, or hold too many objects together.

    Attributes:
        keyframe: by how many steps led to them.
    """

    def __init__(self, clock: Callable[[], float] = no_time) -> None:
        """Keep none yet. `clock`: seconds of CPU that the process has taken; without it keyframes cost nothing, and are apart by steps alone."""
        self._clock = clock
        self.keyframes: list[Keyframe] = []
        self._every = STEPS_BETWEEN_KEYFRAMES
        self._of: ClusterLike | None = None  # what the next is of
        self._large = False
        self._objects = 0
        self._due = [0.0, 0.0]  # of the process's CPU time: for a whole one, and for one that shares
        self._charged = [math.inf, math.inf]  # what the last one was taken to cost
        self._off = False

    def maybe_add(self, replay_run: ReplayRun, *, seen: bool = True) -> None:
        """Keep the cluster if the nearest keyframe is far enough. `seen`: somebody sees it move, so it must be quick."""
        if self._off or self._has_near(replay_run.steps):
            return
        started = self._clock()
        shares = type(replay_run.cluster) is Cluster and replay_run.cluster.snapshots.shares
        if started < self._due[shares]:
            return
        if self._of is not replay_run.cluster:
            self._of, self._large = replay_run.cluster, _replicas(replay_run.cluster) > LARGE_CLUSTER_REPLICAS
        large = self._large
        if large and seen and not shares:
            return
        playable = replay_run.playable.snapshot()
        if playable is None:
            self._off = True
            return
        keyframe = Keyframe(
            replay_run.position,
            tuple(replay_run.acts[: replay_run.acts_done]),
            playable,
            replay_run.step_index.prefix(len(replay_run.step_index)),
            replay_run.acted,
        )
        if not self.keyframes or replay_run.steps >= self.keyframes[-1].position.steps:
            self.keyframes.append(keyframe)
        else:
            insort(self.keyframes, keyframe, key=_steps)
        ended = self._clock()
        if seen:
            share = CPU_SHARE_OF_LARGE_CLUSTER if large else CPU_SHARE_OF_DELTAS if shares else CPU_SHARE_OF_WHOLE_KEYFRAMES
        else:
            share = CPU_SHARE_WHILE_TRAVELLING
        size = playable.cluster_snapshot.weight if shares else len(playable.cluster_snapshot)
        cost = min(ended - started, MAX_SECONDS_PER_OBJECT * size, 2 * self._charged[shares])  # the first takes longer, and some in between
        self._charged[shares] = cost
        self._due[shares] = ended + (
            max(cost / MAX_CPU_SHARE, min(cost / share, MAX_SECONDS_BETWEEN_KEYFRAMES)) if share == CPU_SHARE_OF_DELTAS else cost / share
        )
        self._objects += size
        if large:
            self._thin_out_far_ones()
        elif (self._objects > MAX_OBJECTS or len(self.keyframes) > MAX_KEYFRAMES) and len(self.keyframes) > 1:
            self._every *= 2
            self.keyframes = self.keyframes[::2]
            self._objects = self._weigh()

    def add_first(self, replay_run: ReplayRun) -> None:
        """Where the first screen stands: the whole keyframe of a large cluster that those after it share with."""
        if LARGE_CLUSTER_REPLICAS < _replicas(replay_run.cluster) <= MAX_REPLICAS_OF_FIRST_KEYFRAME:
            self.maybe_add(replay_run, seen=False)

    def _has_near(self, steps: int) -> bool:
        """Whether a keyframe was taken fewer steps away than they are keyframe apart."""
        keyframe = self.keyframes
        if not keyframe or steps >= keyframe[-1].position.steps + self._every:
            return False
        at = bisect_left(keyframe, steps, key=_steps)
        return any(abs(steps - each.position.steps) < self._every for each in keyframe[max(at - 1, 0) : at + 1])

    def _weigh(self) -> int:
        wholes = {id(keyframe.playable.cluster_snapshot.objects): len(keyframe.playable.cluster_snapshot) for keyframe in self.keyframes}
        return sum(wholes.values()) + sum(keyframe.playable.cluster_snapshot.weight for keyframe in self.keyframes)

    def _thin_out_far_ones(self) -> None:
        """Of a large cluster those go that matter least: the further back, the further apart they may be."""
        while len(self.keyframes) > MAX_KEYFRAMES_OF_LARGE_CLUSTER:
            at = [keyframe.position.steps for keyframe in self.keyframes]
            inner = range(1, len(at) - 1)
            self.keyframes.pop(min(inner, key=lambda n: (at[n + 1] - at[n - 1]) / (at[-1] - at[n - 1])))


def _replicas(cluster: ClusterLike) -> int:
    """About how many replicas a cluster was built with; 0 for one that is only like one."""
    if not isinstance(cluster, Cluster):
        return 0
    return sum(len(topic.assignment) or topic.partitions * topic.replication_factor for topic in cluster.spec.topics)


def _steps(keyframe: Keyframe) -> int:
    return keyframe.position.steps


def restore_run(keyframe: Keyframe, acts: Sequence[PlayedAct], event_tap: EventTap, *, in_place: bool = False) -> ReplayRun:
    """A replay_run that stands where a keyframe was taken; `in_place`: with the very cluster that it was taken of."""
    replay_run = ReplayRun(keyframe.playable.restore(event_tap, in_place=in_place), event_tap, acts)
    replay_run.restore_position(keyframe.position, keyframe.step_index.prefix(len(keyframe.step_index)), keyframe.acted)
    return replay_run
