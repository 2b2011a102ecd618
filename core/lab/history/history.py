"""A cluster that can be played, rewound, and branched.

The session can go back to any moment in its past. To go back, the session restores the nearest keyframe and repeats the steps after that
keyframe. When the session goes forward again, it repeats the acts that people performed. An act that is performed in the past starts a new
branch. The events that originally followed the moment of the act remain available as a separate branch.

    history = History.of(ClusterSpec(...))
    history.do(Kill(1))
    history.stop_when(BecomesTrue(lambda cluster: cluster.view().lost > 0))
    history.step_back()
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from core.kafka.events import DETAIL, NOTABLE, EventTuple
from core.kafka.release import CURRENT, Release
from core.lab.acts import Act
from core.lab.cluster import Cluster
from core.lab.history.branch import MAIN_BRANCH, Bookmark, Branch, BranchLogWriter, EventLogWriter
from core.lab.history.destination import Destination, RetainedEvents
from core.lab.history.event_buffer import EventBuffer
from core.lab.history.incremental_task import IncrementalTask, ShouldYield, TaskRunner, do_nothing, never_yield, run_to_completion
from core.lab.history.keyframe_cache import KeyframeCache, no_time
from core.lab.history.log_replay import LogReplayTask, RecordedSession
from core.lab.history.playable import ClusterLike, PlayableCluster, PlayableFactory
from core.lab.history.position import PlayedAct, Position
from core.lab.history.replay_run import EventTap, ReplayRun
from core.lab.history.search import STEPS_PER_KEYFRAME_OFFER, SearchTask
from core.lab.history.travel import TravelTask
from core.lab.history.watchpoints import Watchpoint
from core.lab.spec import ClusterSpec
from core.lab.views.cluster_view import ClusterView
from core.sim.events import seq_of, time_of
from core.sim.units import format_clock


class History(TaskRunner):
    """A session with its past.

    A method that can need many steps starts a task. The first slice of the task runs immediately. `continue_task` runs the remaining
    slices. With the default policy, the task has finished when the method returns.

    Attributes:
        start: the function that builds the `Playable` in its initial state.
        replay_run: the run of the cluster at the session's present moment.
        event_buffer: the events of the session that are in memory.
        branch: the current branch.
        branches: all branches of the session.
        bookmarks: the moments of the session that people have marked.
        keyframe_cache: the cache of the session's keyframes.
        limit: the virtual time beyond which the session does not run, in µs; None for no limit.
        notices: messages that have not been shown yet, each about a result that differs from what was requested.
        on_event: the function that receives every event; None after a move that sends no events.
        on_pause: the function to call when the history stops at the present moment.
    """

    def __init__(
        self,
        start: PlayableFactory,
        *,
        log: EventLogWriter | None = None,
        clock: Callable[[], float] = no_time,
        yield_policy: Callable[[IncrementalTask], ShouldYield] = run_to_completion,
    ) -> None:
        """Build the cluster.

        Args:
            start: the function that builds the `Playable`, given the sink of the cluster's journal.
            log: the writer of the event log.
            clock: a function that returns the CPU time of the process in seconds. The session uses the CPU time to determine how many
                keyframes are worth their cost.
            yield_policy: the function that returns the `should_yield` function for a task. A slice of the task ends when `should_yield`
                returns True.
        """
        super().__init__(yield_policy)
        self.start = start
        self.event_buffer = EventBuffer()
        self.branch = Branch(MAIN_BRANCH)
        self.branches = [self.branch]
        self.bookmarks: list[Bookmark] = []
        self.keyframe_cache = KeyframeCache(clock)
        self.limit: int | None = None
        self.notices: list[str] = []
        self.on_event: Callable[[EventTuple], object] | None = None
        self.on_pause: Callable[[], None] = do_nothing
        self._log = BranchLogWriter(log)
        self._pending_events: list[EventTuple] | None = None
        self._branch_end = Position(0, 0, 0)
        self._acts_not_to_undo: list[PlayedAct] = []
        event_tap = EventTap(self._on_event)
        self.replay_run = ReplayRun(start(event_tap), event_tap)
        self._retained = self._retained_events()

    @staticmethod
    def of(spec: ClusterSpec, release: Release = CURRENT, seed: int = 0, clock: Callable[[], float] = no_time) -> History:
        """Return the history of a cluster that does not follow a plan. For a large cluster, pass `time.process_time` as the clock."""
        return History(lambda sink: PlayableCluster(Cluster(spec, release, seed, sink)), clock=clock)

    def _retained_events(self) -> RetainedEvents:
        """Return the events in memory up to the present moment."""
        replay_run = self.replay_run
        return RetainedEvents(
            self.event_buffer, replay_run.acts, replay_run.position.place, replay_run.step_index.prefix(len(replay_run.step_index))
        )

    def _on_event(self, event: EventTuple) -> None:
        level = self.event_buffer.append(event)
        if self._pending_events is not None:
            self._pending_events.append(event)
        else:
            self._record(event)
        if self.on_event is not None:
            self.on_event(event)
        task = self.task
        if task is not None and isinstance(task, SearchTask):
            task.on_event(event, level)

    def _record(self, event: EventTuple) -> None:
        """Write a new event to the log and the branch. An event that the branch and the log already contain changes nothing."""
        self.branch.on_event(event)
        self._log.write(event)

    # --- the present -----------------------------------------------------------------------------------------------

    @property
    def cluster(self) -> ClusterLike:
        """The cluster at the present moment."""
        return self.replay_run.cluster

    def view(self) -> ClusterView:
        """Return a frozen view of the cluster at the present moment."""
        return self.cluster.view()

    def events(self) -> list[EventTuple]:
        """Return the events up to the present moment that are in memory."""
        return self.event_buffer.ring(DETAIL).since(0)

    @property
    def events_since(self) -> int:
        """The virtual time since which all events are in memory, in µs; 0 if no event was dropped."""
        ring = self.event_buffer.ring(DETAIL)
        return time_of(ring.at(ring.first)) if 0 < ring.first < ring.total else 0

    @property
    def longest_repetition(self) -> int:
        """The longest virtual time that a move to a moment of this branch must repeat, in µs."""
        times = [0, *(keyframe.position.time for keyframe in self.keyframe_cache.keyframes), self.cluster.now]
        return max(later - before for before, later in pairwise(times))

    @property
    def end(self) -> Position:
        """The last position that was played on this branch."""
        here = self.replay_run.position
        return here if here.place >= self._branch_end.place else self._branch_end

    @property
    def in_the_past(self) -> bool:
        """Whether the branch has already been played beyond the present moment."""
        return self.replay_run.position.place < self._branch_end.place

    def continue_task(self) -> None:
        """Run the next slice of the running task. A replay of a recorded session also takes keyframes."""
        super().continue_task()
        if isinstance(self.task, LogReplayTask):
            self.keyframe_cache.maybe_add(self.replay_run, seen=False)

    def pause(self) -> None:
        """Cancel the running task, and stay at the present moment."""
        self.cancel_task()
        self.on_pause()

    def record_branch_end(self) -> None:
        """Handle everything that is due at the end of the branch, so that a script can end there. The session calls `record_branch_end`
        before it leaves the end of the branch.
        """
        if not self.in_the_past:
            self.replay_run.finish_present_moment()
            self._branch_end = self.replay_run.position
            self._retained = self._retained_events()
        elif self.replay_run.position.place > self._retained.place:
            self._retained = self._retained_events()
        self.branch.acts, self.branch.end = list(self.replay_run.acts), self._branch_end

    # --- forward ---------------------------------------------------------------------------------------------------

    def run_until(self, time_us: int | None, should_yield: ShouldYield = never_yield) -> None:
        """Execute everything that is due up to a virtual time, in µs. If the time is None, run indefinitely.

        Stop early if `should_yield` returns True, the plan ends, or the cluster waits for acts in by-hand mode.
        """
        self.cancel_task()
        replay_run, cluster = self.replay_run, self.cluster
        planned = not replay_run.playable.finished
        network = cluster.network if isinstance(cluster, Cluster) else None
        count = 0
        if self.limit is not None:
            time_us = self.limit if time_us is None else min(time_us, self.limit)
        while (due := replay_run.next_due()) is not None and (time_us is None or due <= time_us):
            replay_run.step()
            count += 1
            if (planned and replay_run.playable.finished) or (network is not None and network.zero_latency and replay_run.is_idle):
                return
            if count % STEPS_PER_KEYFRAME_OFFER == 0:
                self.keyframe_cache.maybe_add(replay_run)
                if should_yield():
                    return
        if time_us is not None and time_us > cluster.now:
            replay_run.advance_to(time_us)

    def step(self) -> None:
        """Go forward to the next event."""
        self._look_for("the next event", DETAIL)

    def step_to_notable(self) -> None:
        """Go forward to the next election, ISR change, truncation, error, or loss."""
        self._look_for("the next notable event", NOTABLE)

    def _look_for(self, what: str, level: int) -> None:
        self.pause()
        self._begin_search(what, SearchTask(self.replay_run, self.keyframe_cache, level=level, limit=self.limit))

    def go_forward(self, destination: Destination) -> None:
        """Go forward to a destination. First replay the branch's events that follow the present moment, and then simulate new events."""
        self.pause()
        self._begin_search(destination.what, SearchTask(self.replay_run, self.keyframe_cache, destination=destination, limit=self.limit))

    def stop_when(self, watchpoint: Watchpoint, what: str = "that moment") -> SearchTask:
        """Go forward until a watchpoint is triggered. The returned search says whether the watchpoint was triggered."""
        self.pause()
        search = SearchTask(self.replay_run, self.keyframe_cache, watchpoint=watchpoint, limit=self.limit)
        self._begin_search(what, search)
        return search

    def _begin_search(self, what: str, search: SearchTask) -> None:
        def ended() -> None:
            if search.exhausted:
                self.notices.append(f"{what}: not found up to {format_clock(self.cluster.now)}")

        self.start_task(what, search, ended)

    def go_to_end(self) -> None:
        """Go forward to the end of this branch."""
        self.go_forward(Destination("the end of this branch", position=self._branch_end))

    # --- back ------------------------------------------------------------------------------------------------------

    def travel(self, destination: Destination, then: Callable[[], None] | None = None) -> None:
        """Go to a destination on this branch by the shorter route. When the session reaches the destination, `then` is called. If the
        session only moves forward, `then` is not called.
        """
        ahead = (
            not destination.reached(self.replay_run)
            if destination.position is None
            else destination.position.place >= self.replay_run.position.place
        )
        if ahead and not self.is_kept_ahead(destination):
            self.go_forward(destination)
        else:
            self.go_to(destination, then=then)

    def go_to(self, destination: Destination, branch: Branch | None = None, then: Callable[[], None] | None = None) -> None:
        """Go to a destination on this branch or another branch. When the session reaches the destination, call `then`."""
        self.pause()
        self.record_branch_end()
        acts = self.replay_run.acts if branch is None or branch is self.branch else branch.acts
        fresh: int | None = self.branch.seen
        if branch is not None and branch is not self.branch:
            fresh = None if self._log.log is None else self._last_common_seq(branch)
        replay = TravelTask(self.start, acts, destination, self.keyframe_cache, self._retained, new_after=fresh, shown=self.cluster)
        if replay.in_place:
            self.on_event = None
        self.start_task(destination.what, replay, lambda: self._adopt(replay, branch or self.branch, then))

    def is_kept_ahead(self, destination: Destination) -> bool:
        """Return whether a keyframe lies between the present moment and a future destination, so that `go_to` is faster than `go_forward`."""
        if not self.in_the_past:
            return False
        keyframe = destination.nearest(self.keyframe_cache, self.replay_run.acts, self._retained)
        return keyframe is not None and keyframe.position.place > self.replay_run.position.place

    def back_to_when(self, watchpoint: Watchpoint, what: str = "that moment", then: Callable[[bool], None] | None = None) -> TravelTask:
        """Go back to the last moment at which a watchpoint was triggered.

        `then` is called with True when the session has gone back, and with False if the watchpoint was never triggered before the present
        moment. When the task has finished, the task's `found` attribute contains the moment that was found.
        """
        self.pause()
        self.record_branch_end()
        replay = TravelTask(
            self.start,
            self.replay_run.acts,
            Destination(what, position=self.replay_run.position),
            self.keyframe_cache,
            self._retained,
            watchpoint,
        )
        tell = then or _nothing_of

        def arrived() -> None:
            if replay.found is None:
                tell(False)
            else:
                self.go_to(Destination(what, position=replay.found), then=lambda: tell(True))

        self.start_task(what, replay, arrived)
        return replay

    def preview(self, destination: Destination, then: Callable[[ClusterView], None]) -> None:
        """Pass a view of the cluster at another moment of this branch to `then`. The session stays at the present moment."""
        self.pause()
        self.record_branch_end()
        replay = TravelTask(self.start, self.branch.acts, destination, self.keyframe_cache, self._retained)
        self.start_task(destination.what, replay, lambda: then(replay.replay_run.cluster.view()))

    def _adopt(self, replay: TravelTask, branch: Branch, then: Callable[[], None] | None) -> None:
        if branch is not self.branch:
            self._log.cut(self._last_common_seq(branch))
            self.branch, self._branch_end = branch, branch.end
            self._retained = RetainedEvents(
                replay.event_buffer,
                replay.replay_run.acts,
                replay.replay_run.position.place,
                replay.replay_run.step_index.prefix(len(replay.replay_run.step_index)),
            )
        self.replay_run, self.event_buffer = replay.replay_run, replay.event_buffer
        self.replay_run.event_tap.sink = self._on_event
        for event in replay.new_events:
            self._record(event)
        if then is not None:
            then()

    def _last_common_seq(self, branch: Branch) -> int:
        """Return the sequence number of the last event that another branch shares with this one.

        If the acts of the branches do not differ, the result is the last event in the log.
        """
        parting = self.branch.last_common_seq(branch)
        return self._log.last if parting is None else parting

    def step_back(self, then: Callable[[], None] | None = None) -> bool:
        """Go back to the moment before the last event, or undo the last act. Return False if there is no further event."""
        last = self.replay_run.event_tap.seq
        if last == 0:
            return False
        undone = self.act_undone_by_step_back()
        if undone is not None:
            before = Position(undone.steps, self.replay_run.acts_done - 1, undone.time)
            self.go_to(Destination("the moment before the act", position=before), then=then)
            return True
        self.go_to(Destination("the previous event", seq=self.replay_run.step_index.seq_before_step_of(last)), then=then)
        return True

    def step_back_notable(self, then: Callable[[], None] | None = None) -> bool:
        """Go back to the previous notable event. Return False if no earlier notable event is in memory."""
        before = self.replay_run.step_index.seq_before_step_of(self.replay_run.event_tap.seq)
        earlier = [mark.seq for mark in self.branch.marks if mark.seq <= before and self._is_notable(mark.seq)]
        if not earlier:
            return False
        self.go_to(Destination("the previous notable event", seq=earlier[-1]), then=then)
        return True

    def _is_notable(self, seq: int) -> bool:
        ring = self.event_buffer.ring(NOTABLE)
        return ring.index_of(seq) is not None or (ring.total > ring.first and seq < seq_of(ring.at(ring.first)))

    # --- acts, done and undone -------------------------------------------------------------------------------------

    def do(self, act: Act, *, joined: bool = False) -> int:
        """Perform an act now, and return the sequence number of its event. If the present moment is in the past, the act starts a new
        branch.

        Args:
            act: the act to perform.
            joined: whether the act belongs to the same group as the previous act.

        Raises:
            ActRefused: the current state does not allow the act.
        """
        replay_run = self.replay_run
        self.cancel_task()
        replay_run.finish_present_moment()
        if not self.in_the_past:
            return replay_run.do(act, joined=joined)
        if (again := replay_run.repeat_if_next(act)) is not None:
            return again
        self.branch.acts, self.branch.end = list(replay_run.acts), self._branch_end
        here = replay_run.position
        held: list[EventTuple] = []
        self._pending_events = held
        try:
            seq = replay_run.do(act, joined=joined)
        finally:
            self._pending_events = None
        self.branch = self.branch.fork(f"branch {len(self.branches) + 1}", here)
        self.branches.append(self.branch)
        self._branch_end = replay_run.position
        self._log.cut(here.seq)
        for event in held:
            self._record(event)
        return seq

    def start_branch(self) -> None:
        """Start a new branch at the present moment if the present moment is in the past, so that the old future does not happen again. The old
        branch is kept."""
        if self.in_the_past:
            self.branch.acts, self.branch.end = list(self.replay_run.acts), self._branch_end
            here = self._branch_end = self.replay_run.position
            self.replay_run.acts = self.replay_run.acts[: self.replay_run.acts_done]
            self.branch = self.branch.fork(f"branch {len(self.branches) + 1}", here)
            self.branches.append(self.branch)
            self._log.cut(here.seq)

    def act_undone_by_step_back(self) -> PlayedAct | None:
        """Return the act that a step back would undo; None if a step back would only go back by one event."""
        replay_run = self.replay_run
        act = replay_run.acts[replay_run.acts_done - 1] if replay_run.acts_done else None
        return act if act is not None and act.seq > replay_run.step_index.seq_before_step_of(replay_run.event_tap.seq) else None

    def act_to_undo(self) -> PlayedAct | None:
        """Return the first act of the group of acts that was performed last; None if there is no act to undo."""
        replay_run = self.replay_run
        given, at = len(self._acts_not_to_undo), replay_run.acts_done - 1
        if at < given and replay_run.acts[: replay_run.acts_done] == self._acts_not_to_undo[: replay_run.acts_done]:
            return None
        while at > 0 and replay_run.acts[at].joined:
            at -= 1
        return replay_run.acts[at] if at >= 0 else None

    def act_to_redo(self) -> PlayedAct | None:
        """Return the next act of this branch; None if there is none."""
        replay_run = self.replay_run
        return replay_run.acts[replay_run.acts_done] if self.in_the_past and replay_run.acts_done < len(replay_run.acts) else None

    def undo(self, then: Callable[[], None] | None = None) -> None:
        """Go back to just before the last act."""
        undone = self.act_to_undo()
        if undone is not None:
            count = self.replay_run.acts.index(undone)
            self.go_to(Destination("the moment before the act", position=Position(undone.steps, count, undone.time)), then=then)

    def redo(self) -> None:
        """Go forward to just after the next act."""
        replay_run = self.replay_run
        if self.act_to_redo() is None:
            return
        last = replay_run.acts_done
        while last + 1 < len(replay_run.acts) and replay_run.acts[last + 1].joined:
            last += 1
        act = replay_run.acts[last]
        self.go_forward(Destination("the moment after the act", position=Position(act.steps, last + 1, act.time, act.seq)))

    def forbid_undo_before(self) -> None:
        """Make the acts so far part of the start of the session, so that `undo` cannot undo them."""
        self._acts_not_to_undo = list(self.replay_run.acts)

    # --- branches, bookmarks, old sessions -------------------------------------------------------------------------

    def go_to_branch(self, branch: Branch, then: Callable[[], None] | None = None) -> None:
        """Go to the end of another branch."""
        self.go_to(Destination(f"branch {branch.name}", position=branch.end), branch, then)

    def bookmark(self, note: str) -> Bookmark:
        """Mark the present moment."""
        mark = Bookmark(self.branch.name, self.replay_run.position, note)
        self.bookmarks.append(mark)
        return mark

    def open_recording(self, old: RecordedSession, *, read_only: bool = False, at: int = -1) -> None:
        """Start to replay a recorded session. Each call of `continue_task` runs a slice of the replay.

        Args:
            old: the recorded session to replay.
            read_only: whether the session stays within the recording.
            at: the virtual time to go to after the replay, in µs; negative to stay at the end.
        """
        self.pause()
        opening = LogReplayTask(old, self.replay_run, self.events())

        def arrived() -> None:
            self._branch_end = self.replay_run.position
            self.branch.acts, self.branch.end = list(self.replay_run.acts), self._branch_end
            self.forbid_undo_before()
            if read_only:
                self.limit = self._branch_end.time
            if opening.differs:
                self.notices.append(opening.differs)
            if 0 <= at < self.cluster.now:
                self.go_to(Destination("that moment", time=at))

        self.prepare_task(f"the end of {old.source}", opening, arrived)

    def close(self) -> None:
        """End the session at the end of its branch, even if the present moment is in the past. Complete the event log."""
        self.cancel_task()
        self.record_branch_end()
        if self._log.log is not None and self.in_the_past:
            lived, replay_run = self._branch_end, self.replay_run
            while (replay_run.steps, replay_run.acts_done) < (lived.steps, lived.acts) and replay_run.step():
                pass
            replay_run.move_clock(lived.time)
        self._log.close(self._branch_end.time)

    def dispose(self) -> None:
        """Release all large objects after the session has ended."""
        del self.replay_run
        self.event_buffer, self.keyframe_cache, self.on_event = EventBuffer(), KeyframeCache(), None
        self._retained = RetainedEvents(self.event_buffer, [], (0, 0, 0))
        self.branch = Branch(MAIN_BRANCH)
        self.branches, self.bookmarks = [self.branch], []


def _nothing_of(found: bool) -> None:
    """Ignore the result of a search. This function is the default callback."""
