"""Travel to any moment of a branch. The task restores a keyframe or starts the session again, and then repeats the session in slices.

The session stays at its present moment until the task finishes, so the screen can show progress and a person can cancel.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.kafka.events import EventTuple
from core.lab.history.destination import Destination, RetainedEvents
from core.lab.history.event_buffer import EventBuffer
from core.lab.history.incremental_task import STEPS_PER_CHECK, ShouldYield, never_yield
from core.lab.history.keyframe_cache import KeyframeCache, restore_run
from core.lab.history.playable import ClusterLike, PlayableFactory
from core.lab.history.position import PlayedAct, Position
from core.lab.history.replay_run import EventTap, ReplayRun
from core.lab.history.watchpoints import Watchpoint
from core.sim.agenda import END
from core.sim.events import seq_of


class TravelTask:
    """A task that moves a run to a destination.

    Attributes:
        destination: the moment to reach.
        replay_run: the run that the session adopts on arrival.
        event_buffer: the events that the session adopts on arrival.
        events_known: whether the events up to the destination are already in memory, so that the run does not send them again.
        in_place: whether the task changes the cluster that the screen shows.
        found: the last moment at which `watchpoint` was triggered; None if there is none.
        new_events: the events that the log does not have yet.
    """

    def __init__(
        self,
        start: PlayableFactory,
        acts: Sequence[PlayedAct],
        destination: Destination,
        keyframe_cache: KeyframeCache,
        known: RetainedEvents,
        watchpoint: Watchpoint | None = None,
        new_after: int | None = None,
        shown: ClusterLike | None = None,
    ) -> None:
        """Prepare the task.

        Args:
            start: the function that builds the `Playable` in its initial state.
            acts: the acts that were performed on the branch, which the task performs again.
            destination: the moment to reach.
            keyframe_cache: the cache of the session's keyframes.
            known: the events of the branch that are in memory.
            watchpoint: the watchpoint, which receives every event and is checked after every step that recorded events.
            new_after: the sequence number after which events are collected in `new_events`; None to collect none.
            shown: the cluster on the screen. If the destination is near, the task moves this cluster to it without pausing. If the
                destination is far, the task reuses a cluster that was shown earlier. If `shown` is None, the task always builds a new
                cluster.
        """
        self.destination = destination
        self._keyframe_cache = keyframe_cache
        self._watchpoint = watchpoint
        self._checked_seq = -1
        self.found: Position | None = None
        self.new_events: list[EventTuple] = []
        self._new_after = new_after
        event_tap = EventTap(self._on_event)
        self.in_place = False
        self.events_known = False
        keyframe = destination.nearest(keyframe_cache, acts, known) if watchpoint is None else None
        if keyframe is None:
            self.event_buffer = EventBuffer()
            self.replay_run = ReplayRun(start(event_tap), event_tap, acts)
        else:
            self._retained = known
            self.events_known = (
                list(acts) == list(known.acts)
                and destination.is_known(known)
                and known.event_buffer.retains_after(keyframe.position.seq + 1)
                and known.step_index is not None
                and known.step_index.reaches_back_to(keyframe.position.seq)
            )
            self.event_buffer = known.event_buffer if self.events_known else known.event_buffer.prefix(keyframe.position.seq)
            is_shown = keyframe.playable.cluster_snapshot.is_of(shown)
            self.in_place = is_shown and destination.is_near(keyframe, keyframe_cache, known)
            self.replay_run = restore_run(keyframe, acts, event_tap, in_place=self.in_place or (shown is not None and not is_shown))

    def _on_event(self, event: EventTuple) -> None:
        if self.events_known:
            return
        self.event_buffer.append(event)
        if self._watchpoint is not None:
            self._watchpoint.on_event(event)
        if self._new_after is not None and seq_of(event) > self._new_after:
            self.new_events.append(event)

    @property
    def progress(self) -> float:
        """The completed share of the task, from 0 to 1."""
        return self.destination.progress(self.replay_run)

    def advance(self, should_yield: ShouldYield = never_yield) -> bool:
        """Run until `should_yield` returns True, or to the end if the task moves the displayed cluster through time. Return whether the run
        has reached the destination.
        """
        replay_run, destination = self.replay_run, self.destination
        if self.events_known:
            return self._advance_silently(should_yield)
        count = 0
        while not destination.reached(replay_run):
            if self._watchpoint is not None:
                self._check_watchpoint()
            if not replay_run.step():
                break
            count += 1
            if count % STEPS_PER_CHECK == 0 and not self.in_place:
                self._keyframe_cache.maybe_add(replay_run, seen=False)
                if should_yield():
                    return False
        self._arrive()
        return True

    def _advance_silently(self, should_yield: ShouldYield) -> bool:
        """Run like `advance`, but do not report events, because the session already knows all of them."""
        replay_run, destination, known = self.replay_run, self.destination, self._retained
        ends = known.step_index
        assert ends is not None
        last = END if destination.position is None else destination.position.steps
        seq, until = destination.seq if destination.seq >= 0 else END, destination.time if destination.time >= 0 else END
        look = END if self.in_place else replay_run.steps + STEPS_PER_CHECK
        while not destination.reached(replay_run) and replay_run.repeat_steps(min(look, last) - replay_run.steps, seq, until, ends):
            if replay_run.steps >= look:
                look = replay_run.steps + STEPS_PER_CHECK
                self._keyframe_cache.maybe_add(replay_run, seen=False)
                if should_yield():
                    return False
        self._arrive()
        replay_run.step_index = ends.prefix_to(replay_run.event_tap.seq)
        self.event_buffer = known.event_buffer.prefix(replay_run.event_tap.seq)
        return True

    def _arrive(self) -> None:
        """Move the clock to the exact time of the destination after the last step."""
        replay_run, destination = self.replay_run, self.destination
        if destination.position is not None:
            replay_run.move_clock(destination.position.time)
        elif destination.time >= 0:
            replay_run.move_clock(destination.time)

    def _check_watchpoint(self) -> None:
        assert self._watchpoint is not None
        if self.replay_run.event_tap.seq == self._checked_seq:
            return
        self._checked_seq = self.replay_run.event_tap.seq
        if self._watchpoint.came_true(self.replay_run.cluster):
            self.found = self.replay_run.position

    def cancel(self) -> bool:
        """Stop the task without changing the session."""
        return False
