"""Goes to any moment of a branch: repeats the session from a keyframe cluster, or from the start, some steps at a time.

Until it has arrived the session stays where it was; so a long way can be shown and given up.
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


class TravelTask:
    """On the way to a destination.

    Attributes:
        destination: where to.
        replay_run, event_buffer: what the session gets when it has arrived.
        again: the events on the way are known: nobody has to be told of them again.
        in_place: it moves the cluster that is shown.
        found: with a `watchpoint`, the last moment at which what it watches for came.
        fresh: events that the log does not have.
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
        """Make ready to go.

        Args:
            start: makes a playable in its initial state.
            acts: of the branch.
            destination: where to.
            keyframe_cache: has the keyframe clusters.
            known: the events that the session has.
            watchpoint: is shown every event, and asked after every step that recorded some.
            new_after: the events after that one are collected in `new_events`; None: none are.
            shown: the cluster that somebody sees. It is moved itself if the way is short, which then has to be gone to the end; clusters
                that it has taken the place of move there, however long it is. None: a new one does.
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
        if self._new_after is not None and event[0] > self._new_after:
            self.new_events.append(event)

    @property
    def progress(self) -> float:
        """How much of the way is done, 0 to 1."""
        return self.destination.progress(self.replay_run)

    def advance(self, should_yield: ShouldYield = never_yield) -> bool:
        """Go on until it is enough, on the spot to the end; True when it has arrived."""
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
        """Likewise where all events are known."""
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
        self.event_buffer = known.event_buffer.prefix(replay_run.event_tap.seq)
        return True

    def _arrive(self) -> None:
        """The last step is gone: the clock goes on to the moment that was meant."""
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
        """Nothing has changed."""
        return False
