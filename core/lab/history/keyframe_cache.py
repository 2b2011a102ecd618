"""The keyframes of a session. To go back, the session restores the nearest keyframe and repeats only the steps after it."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

import attrs

from core.lab.cluster import Cluster
from core.lab.history.playable import ClusterLike, PlayableSnapshot
from core.lab.history.position import PlayedAct, Position
from core.lab.history.replay_run import EventTap, ReplayRun, StepIndex
from core.sim.repr_mixin import ReprMixin

STEPS_BETWEEN_KEYFRAMES: Final = 32
"""The minimum number of steps between two keyframes."""

CPU_SHARE_OF_DELTAS: Final = 0.055
"""The share of CPU time for keyframes that store only the changes since the last whole keyframe."""

MAX_SECONDS_BETWEEN_KEYFRAMES: Final = 0.016
"""The maximum CPU time, in seconds, between two keyframes that store only changes.

With this limit, a step back takes no longer than one frame of the screen.
"""

MAX_CPU_SHARE: Final = 0.055
"""The maximum share of CPU time for keyframes, which takes precedence over `MAX_SECONDS_BETWEEN_KEYFRAMES`."""

CPU_SHARE_OF_WHOLE_KEYFRAMES: Final = 0.03
"""The share of CPU time for whole keyframes: the first one, and those after a change other than replication."""

MAX_SECONDS_PER_OBJECT: Final = 10e-6
"""The upper bound on the CPU time that a keyframe takes for each object, in seconds, excluding one-time costs."""

MAX_KEYFRAMES: Final = 2_000
"""The maximum number of keyframes in the cache. Each lookup scans all keyframes."""

MAX_OBJECTS: Final = 150_000
"""The maximum number of objects in all keyframes together. Each object in a keyframe takes about 200 bytes."""

FINEST_GAP: Final = 1 / 256
"""When the cache is full, it drops keyframes such that a gap between two of them is at most this share of the steps since then. If the cache
is still full, the gaps become twice as large.
"""

LARGE_CLUSTER_REPLICAS: Final = 3_000
"""A cluster with more replicas than this number counts as large.

Taking a whole keyframe of a large cluster delays the screen by several frames. The first keyframe is taken when the first screen is shown.
More keyframes are taken only while the session travels through time and no screen shows the states in between. Keyframes that store only
changes can be taken at any time.
"""

MAX_REPLICAS_OF_FIRST_KEYFRAME: Final = 20_000
"""The number of replicas above which the first keyframe needs more than 60 MB and is taken only when a move through time needs it."""

CPU_SHARE_OF_LARGE_CLUSTER: Final = 0.003
"""The share of CPU time that a session can spend on keyframes while a screen shows a large cluster. Taking a keyframe of a large cluster
takes longer than one frame of the screen.
"""

MAX_KEYFRAMES_OF_LARGE_CLUSTER: Final = 4
"""The maximum number of keyframes of a large cluster. In a cluster with 30,000 replicas, each keyframe needs about 40 MB."""

CPU_SHARE_WHILE_TRAVELLING: Final = 0.2
"""The share of CPU time that a session can spend on keyframes while it travels through time. Keyframes that are taken during a move through
time make the next move faster.
"""


@attrs.frozen(repr=False)
class Keyframe(ReprMixin):
    """A snapshot of a session and its position.

    Attributes:
        position: the position at which the snapshot was taken.
        acts: the acts that were performed before the keyframe.
        playable: the snapshot of the `Playable` at this position.
        step_index: the sequence numbers of the last events of the last steps before the keyframe.
        acted: the virtual time, in µs, and the number of steps at the last act.
        weight: the approximate number of objects whose states the keyframe does not share with the one before it.
    """

    position: Position
    acts: tuple[PlayedAct, ...]
    playable: PlayableSnapshot
    step_index: StepIndex
    acted: tuple[int, int]
    weight: int

    def is_on_path_of(self, acts: Sequence[PlayedAct]) -> bool:
        """Return whether a session that performs the given acts passes through the moment of this keyframe."""
        done = self.position.acts
        if tuple(acts[:done]) != self.acts:
            return False
        return done >= len(acts) or (acts[done].steps, acts[done].time) >= (self.position.steps, self.position.time)


def no_time() -> float:
    """Return 0, like a clock that stands still, so that every operation seems to take no time."""
    return 0.0


class KeyframeCache:
    """A cache that takes and keeps keyframes.

    A keyframe is due when its cost is a small share of the work since the last one. If the cache holds too many keyframes or objects, it drops
    some. The gaps between the remaining keyframes are larger further back in time, so the memory of a session does not grow with its length:
    going back a minute repeats a second, and going back a day repeats some minutes.

    Attributes:
        keyframes: the keyframes, in the order of their steps.
    """

    def __init__(self, clock: Callable[[], float] = no_time) -> None:
        """Create an empty cache.

        `clock` returns the CPU time that the process has used, in seconds. Without a clock, only the number of steps determines when a
        keyframe is due.
        """
        self._clock = clock
        self.keyframes: list[Keyframe] = []
        self._every = STEPS_BETWEEN_KEYFRAMES
        self._of: ClusterLike | None = None  # the cluster of the next keyframe
        self._large = False
        self._objects = 0
        self._due = [0.0, 0.0]  # CPU time of the process at which the next one is due: a whole one, and one that shares
        self._charged = [math.inf, math.inf]  # the assumed cost of the last one of each kind
        self._off = False
        self._taken, self._taken_at = 0.0, 0  # CPU time and step of the last keyframe
        self._looked_at = self._look_at = 0  # between these steps, no keyframe can be due

    def maybe_add(self, replay_run: ReplayRun, *, seen: bool = True) -> None:
        """Add a keyframe if one is due. If `seen` is set, a user is watching the cluster advance, so the keyframe must be cheap."""
        if self._off or self._has_near(replay_run.steps):
            return
        steps = replay_run.steps
        if self._looked_at <= steps < self._look_at:
            return
        started = self._clock()
        shares = type(replay_run.cluster) is Cluster and replay_run.cluster.snapshots.shares
        if started < self._due[shares]:
            self._look_later(steps, started, self._due[shares] - started)
            return
        if self._of is not replay_run.cluster:
            self._of, self._large = replay_run.cluster, replicas_of(replay_run.cluster) > LARGE_CLUSTER_REPLICAS
        large = self._large
        if large and seen and not shares:
            return
        playable = replay_run.playable.snapshot()
        if playable is None:
            self._off = True
            return
        size = playable.cluster_snapshot.weight if shares else len(playable.cluster_snapshot)
        keyframe = Keyframe(
            replay_run.position,
            tuple(replay_run.acts[: replay_run.acts_done]),
            playable,
            replay_run.step_index.tail(),
            replay_run.acted,
            size,
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
        cost = min(
            ended - started, MAX_SECONDS_PER_OBJECT * size, 2 * self._charged[shares]
        )  # the first one and some later ones take longer
        self._charged[shares] = cost
        self._due[shares] = ended + (
            max(cost / MAX_CPU_SHARE, min(cost / share, MAX_SECONDS_BETWEEN_KEYFRAMES)) if share == CPU_SHARE_OF_DELTAS else cost / share
        )
        self._looked_at = self._look_at = self._taken_at = steps
        self._taken = ended
        self._objects += size
        if large:
            self._thin_out_far_ones()
        elif (self._objects > MAX_OBJECTS or len(self.keyframes) > MAX_KEYFRAMES) and len(self.keyframes) > 1:
            self._thin_out()

    def _look_later(self, steps: int, now: float, left: float) -> None:
        """Estimate, from the pace since the last keyframe, when half of the time to the next keyframe has passed, and read the clock again
        only then. Reading the CPU time takes as long as a step.
        """
        pace = (now - self._taken) / (steps - self._taken_at) if steps > self._taken_at else math.inf
        self._looked_at, self._look_at = steps, steps + int(left / pace / 2) if pace > 0 else steps

    def add_first(self, replay_run: ReplayRun) -> None:
        """Add the first whole keyframe of a large cluster. Later keyframes store only the changes since the first keyframe."""
        if LARGE_CLUSTER_REPLICAS < replicas_of(replay_run.cluster) <= MAX_REPLICAS_OF_FIRST_KEYFRAME:
            self.maybe_add(replay_run, seen=False)

    def _has_near(self, steps: int) -> bool:
        """Return whether a keyframe is closer than the minimum distance."""
        keyframe = self.keyframes
        if not keyframe or steps >= keyframe[-1].position.steps + self._every:
            return False
        at = bisect_left(keyframe, steps, key=_steps)
        return any(abs(steps - each.position.steps) < self._every for each in keyframe[max(at - 1, 0) : at + 1])

    def _thin_out(self) -> None:
        """Drop keyframes until a quarter of the cache is free."""
        gap = FINEST_GAP
        while len(self.keyframes) > 2 and (self._objects > MAX_OBJECTS * 3 // 4 or len(self.keyframes) > MAX_KEYFRAMES * 3 // 4):
            self._drop_between(gap)
            gap *= 2

    def _drop_between(self, gap: float) -> None:
        """Drop keyframes such that the gaps between the remaining ones are at most the given share of the steps since then, if possible. The
        newest and the oldest keyframe remain.
        """
        keyframes = self.keyframes
        kept = [len(keyframes) - 1]
        newest = keyframes[-1].position.steps
        for number in range(len(keyframes) - 2, -1, -1):
            before = keyframes[number - 1].position.steps
            if not number or keyframes[kept[-1]].position.steps - before > gap * (newest - before):
                kept.append(number)
        kept.reverse()
        self.keyframes = [keyframes[0]]
        for before, number in pairwise(kept):
            each = keyframes[number]
            if before != number - 1:  # states that it shared with a dropped keyframe are now its own
                each = attrs.evolve(each, weight=each.playable.cluster_snapshot.differs_in(keyframes[before].playable.cluster_snapshot))
            self.keyframes.append(each)
        self._objects = sum(each.weight for each in self.keyframes)

    def _thin_out_far_ones(self) -> None:
        """If there are more keyframes than a large cluster can have, drop some of them. The gaps between the remaining keyframes are larger
        further back in time."""
        while len(self.keyframes) > MAX_KEYFRAMES_OF_LARGE_CLUSTER:
            at = [keyframe.position.steps for keyframe in self.keyframes]
            inner = range(1, len(at) - 1)
            self.keyframes.pop(min(inner, key=lambda n: (at[n + 1] - at[n - 1]) / (at[-1] - at[n - 1])))


def replicas_of(cluster: ClusterLike) -> int:
    """Return the approximate number of replicas of a cluster at the start; 0 if the simulated system is not a Kafka cluster (`Cluster`)."""
    if not isinstance(cluster, Cluster):
        return 0
    return sum(len(topic.assignment) or topic.partitions * topic.replication_factor for topic in cluster.spec.topics)


def _steps(keyframe: Keyframe) -> int:
    return keyframe.position.steps


def restore_run(keyframe: Keyframe, acts: Sequence[PlayedAct], event_tap: EventTap, *, in_place: bool = False) -> ReplayRun:
    """Return a run that starts at the position of a keyframe. With `in_place`, restore the cluster object that the keyframe was taken from."""
    replay_run = ReplayRun(keyframe.playable.restore(event_tap, in_place=in_place), event_tap, acts)
    replay_run.restore_position(keyframe.position, keyframe.step_index.tail(), keyframe.acted)
    return replay_run
