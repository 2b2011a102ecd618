"""A cluster that can be played, gone back on and branched.

Every moment of the past can be gone back to: what was done is repeated up to there, from the nearest keyframe. Going forward again
repeats what people did; acting there instead begins a new branch, and the old future stays under its name.

    history = History.of(ClusterSpec(...))
    history.do(Kill(1))
    history.stop_when(BecomesTrue(lambda cluster: cluster.view().lost > 0))
    history.step_back()
"""

from __future__ import annotations

from collections.abc import Callable

from core.kafka.events import DETAIL, NOTABLE, EventTuple
from core.kafka.release import CURRENT, Release
from core.lab.acts import Act
from core.lab.cluster import Cluster
from core.lab.history.branch import MAIN_BRANCH, Bookmark, Branch, BranchLogWriter, EventLogWriter
from core.lab.history.destination import Destination, RetainedEvents
from core.lab.history.event_buffer import EventBuffer
from core.lab.history.incremental_task import IncrementalTask, ShouldYield, never_yield
from core.lab.history.keyframe_cache import KeyframeCache, no_time
from core.lab.history.log_replay import LogReplayTask, RecordedSession
from core.lab.history.playable import ClusterLike, PlayableCluster, PlayableFactory
from core.lab.history.position import PlayedAct, Position
from core.lab.history.replay_run import EventTap, ReplayRun
from core.lab.history.search import STEPS_PER_KEYFRAME_OFFER, SearchTask
from core.lab.history.travel import TravelTask
from core.lab.history.watchpoints import Watchpoint
from core.lab.spec import ClusterSpec
from core.lab.views.view import ClusterView
from core.sim.units import format_clock


def run_to_completion(task: IncrementalTask) -> ShouldYield:
    """Every way is gone to its end at once."""
    return never_yield


class History:
    """A session with its past.

    What may take many steps is gone in pieces: the first at once, each further one by `continue_task`. As long as nobody limits pieces, every
    way has come to its end when the method that began it returns.

    Attributes:
        start: makes a playable in its initial state.
        replay_run: what is played, where it stands.
        event_buffer: the events still in memory.
        branch, branches: the line of events it is on, and all of them.
        bookmarks: moments somebody marked.
        keyframe_cache: has the keyframes.
        task: the way that is being gone; None when it stands still or plays.
        task_target: what that way leads to, in words; else None.
        limit: virtual µs that it does not go past; None: it goes on for ever.
        notices: what went otherwise than was wished, until somebody has told it.
        on_event: is told of every event; forgotten when the cluster is moved without telling.
    """

    def __init__(
        self,
        start: PlayableFactory,
        *,
        log: EventLogWriter | None = None,
        clock: Callable[[], float] = no_time,
        yield_policy: Callable[[IncrementalTask], ShouldYield] = run_to_completion,
    ) -> None:
        """Start at the beginning.

        Args:
            start: makes what is played; is handed the sink that the cluster's journal must call.
            log: writes the event log.
            clock: seconds of CPU that the process has taken; it tells how many keyframes are worth their cost.
            yield_policy: how much of a way is gone at a time.
        """
        self.start = start
        self.event_buffer = EventBuffer()
        self.branch = Branch(MAIN_BRANCH)
        self.branches = [self.branch]
        self.bookmarks: list[Bookmark] = []
        self.keyframe_cache = KeyframeCache(clock)
        self.task: IncrementalTask | None = None
        self.task_target: str | None = None
        self.limit: int | None = None
        self.notices: list[str] = []
        self.on_event: Callable[[EventTuple], object] | None = None
        self._yield_policy = yield_policy
        self._on_done: Callable[[], None] = _nothing
        self._search: SearchTask | None = None
        self._log = BranchLogWriter(log)
        self._pending_events: list[EventTuple] | None = None
        self._branch_end = Position(0, 0, 0)
        self._acts_not_to_undo: list[PlayedAct] = []
        event_tap = EventTap(self._on_event)
        self.replay_run = ReplayRun(start(event_tap), event_tap)
        self._retained = self._retained_events()

    @staticmethod
    def of(spec: ClusterSpec, release: Release = CURRENT, seed: int = 0, clock: Callable[[], float] = no_time) -> History:
        """Of a cluster that nobody has planned anything for; for a large one, hand over `time.process_time`."""
        return History(lambda sink: PlayableCluster(Cluster(spec, release, seed, sink)), clock=clock)

    def _retained_events(self) -> RetainedEvents:
        """The events up to here."""
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
        if self._search is not None:
            self._search.on_event(event, level)

    def _record(self, event: EventTuple) -> None:
        """What happens for the first time goes to the log and the branch; going over it again writes nothing."""
        self.branch.on_event(event)
        self._log.write(event)

    # --- what there is ---------------------------------------------------------------------------------------------

    @property
    def cluster(self) -> ClusterLike:
        """The cluster as it is now."""
        return self.replay_run.cluster

    def view(self) -> ClusterView:
        """The frozen state."""
        return self.cluster.view()

    def events(self) -> list[EventTuple]:
        """The events up to here that are still in memory."""
        return self.event_buffer.ring(DETAIL).since(0)

    @property
    def end(self) -> Position:
        """How far the branch was lived."""
        here = self.replay_run.position
        return here if here.place >= self._branch_end.place else self._branch_end

    @property
    def in_the_past(self) -> bool:
        """Whether there is a future that was lived already."""
        return self.replay_run.position.place < self._branch_end.place

    @property
    def progress(self) -> float | None:
        """How much of the way is done, 0 to 1; None when none is under way, or nobody can tell."""
        return None if self.task is None else self.task.progress

    # --- ways ------------------------------------------------------------------------------------------------------

    def start_task(self, what: str, task: IncrementalTask, arrived: Callable[[], None]) -> None:
        """Begin to go a way; `arrived` is called at its end. `what`: where it leads, in words."""
        self.task_target, self.task, self._on_done = what, task, arrived
        self._search = task if isinstance(task, SearchTask) else None
        self.continue_task()

    def continue_task(self) -> None:
        """Go the next slice of the task that is under task."""
        task = self.task
        if task is None:
            return
        if task.advance(self._yield_policy(task)):
            self._end_task()()
        elif isinstance(task, LogReplayTask):
            self.keyframe_cache.maybe_add(self.replay_run, seen=False)

    def _end_task(self) -> Callable[[], None]:
        arrived = self._on_done
        self.task = self.task_target = self._search = None
        self._on_done = _nothing
        return arrived

    def cancel_task(self) -> None:
        """Go no further; on a way into the past that has not arrived nothing has changed."""
        task = self.task
        if task is not None:
            arrived = self._end_task()
            if task.cancel():
                arrived()

    def pause(self) -> None:
        """Stand still."""
        self.cancel_task()

    def record_branch_end(self) -> None:
        """Before one leaves it, the end of what was lived becomes a moment that a script can end at."""
        if not self.in_the_past:
            self.replay_run.finish_present_moment()
            self._branch_end = self.replay_run.position
            self._retained = self._retained_events()
        elif self.replay_run.position.place > self._retained.place:
            self._retained = self._retained_events()
        self.branch.acts, self.branch.end = list(self.replay_run.acts), self._branch_end

    # --- forward ---------------------------------------------------------------------------------------------------

    def run_until(self, time_us: int | None, should_yield: ShouldYield = never_yield) -> None:
        """Let everything happen that is due up to a virtual time, or without end; less if it is enough, or when what was planned is over."""
        self.cancel_task()
        replay_run, cluster = self.replay_run, self.cluster
        planned = not replay_run.finished
        network = cluster.network if isinstance(cluster, Cluster) else None
        count = 0
        if self.limit is not None:
            time_us = self.limit if time_us is None else min(time_us, self.limit)
        while (due := replay_run.next_due()) is not None and (time_us is None or due <= time_us):
            replay_run.step()
            count += 1
            if (planned and replay_run.finished) or (network is not None and network.at_once and replay_run.is_idle):
                return
            if count % STEPS_PER_KEYFRAME_OFFER == 0:
                self.keyframe_cache.maybe_add(replay_run)
                if should_yield():
                    return
        if time_us is not None and time_us > cluster.now:
            replay_run.advance_to(time_us)

    def step(self) -> None:
        """Go on to the next event of any kind."""
        self._look_for("the next event", DETAIL)

    def step_to_notable(self) -> None:
        """Go on to the next election, ISR change, truncation, error or loss."""
        self._look_for("the next notable event", NOTABLE)

    def _look_for(self, what: str, level: int) -> None:
        self.pause()
        self._begin_search(what, SearchTask(self.replay_run, self.keyframe_cache, level=level, limit=self.limit))

    def go_forward(self, destination: Destination) -> None:
        """Go on to a moment to come: what was done already is done again, what was not happens for the first time."""
        self.pause()
        self._begin_search(destination.what, SearchTask(self.replay_run, self.keyframe_cache, destination=destination, limit=self.limit))

    def stop_when(self, watchpoint: Watchpoint, what: str = "that moment") -> SearchTask:
        """Go on until what is watched for comes; the search tells whether it was found."""
        self.pause()
        search = SearchTask(self.replay_run, self.keyframe_cache, watchpoint=watchpoint, limit=self.limit)
        self._begin_search(what, search)
        return search

    def _begin_search(self, what: str, search: SearchTask) -> None:
        def ended() -> None:
            if search.exhausted:
                self.notices.append(f"{what}: there is none up to {format_clock(self.cluster.now)}")

        self.start_task(what, search, ended)

    def go_to_end(self) -> None:
        """Go forward to where this branch has been lived up to."""
        self.go_forward(Destination("the end of this branch", position=self._branch_end))

    # --- back ------------------------------------------------------------------------------------------------------

    def travel(self, destination: Destination, then: Callable[[], None] | None = None) -> None:
        """Go to a moment of this branch, past or to come, by the shorter way; `then` is called on arrival where events came from memory."""
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
        """Go to a moment of this branch or of another; `then` is called on arrival."""
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
        """Whether there is a keyframe between here and a moment to come that was lived already: `go_to` is the shorter way then."""
        if not self.in_the_past:
            return False
        keyframe = destination.nearest(self.keyframe_cache, self.replay_run.acts, self._retained)
        return keyframe is not None and keyframe.position.place > self.replay_run.position.place

    def back_to_when(self, watchpoint: Watchpoint, what: str = "that moment", then: Callable[[bool], None] | None = None) -> TravelTask:
        """Look through the past for the last moment at which what is watched for came, and go there.

        `then` is told whether there is one; so does the `found` of what is returned, once it has arrived.
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
        """Look at another moment of this branch, past or lived already, and stay at this one; `then` gets its view."""
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
        """The last event that another branch has in common with this one; the last that is written when neither knows."""
        parting = self.branch.last_common_seq(branch)
        return self._log.last if parting is None else parting

    def step_back(self, then: Callable[[], None] | None = None) -> bool:
        """Go back to before the last event, or the last act, which is undone by that; False when nothing was before."""
        last = self.replay_run.event_tap.seq
        if last == 0:
            return False
        undone = self.act_undone_by_step_back()
        if undone is not None:
            before = Position(undone.steps, self.replay_run.acts_done - 1, undone.time)
            self.go_to(Destination("the moment before the act", position=before), then=then)
            return True
        self.go_to(Destination("the previous event", seq=self.replay_run.seq_before_step_of(last)), then=then)
        return True

    def step_back_notable(self, then: Callable[[], None] | None = None) -> bool:
        """Go back to the last notable event before the present one; False when there is none in memory."""
        before = self.replay_run.seq_before_step_of(self.replay_run.event_tap.seq)
        earlier = [mark.seq for mark in self.branch.marks if mark.seq <= before and self._is_notable(mark.seq)]
        if not earlier:
            return False
        self.go_to(Destination("the previous notable event", seq=earlier[-1]), then=then)
        return True

    def _is_notable(self, seq: int) -> bool:
        ring = self.event_buffer.ring(NOTABLE)
        return ring.index_of(seq) is not None or (ring.total > ring.first and seq < ring.at(ring.first)[0])

    # --- acts, done and undone -------------------------------------------------------------------------------------

    def do(self, act: Act, *, joined: bool = False) -> int:
        """Carry out an act now; returns the seq of its event. In the past it begins a new branch. `joined`: together with the one before it.

        Raises:
            ActRefused: impossible in the present state.
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

    def act_undone_by_step_back(self) -> PlayedAct | None:
        """The act that a step back undoes; None if a step back goes over an event."""
        replay_run = self.replay_run
        act = replay_run.acts[replay_run.acts_done - 1] if replay_run.acts_done else None
        return act if act is not None and act.seq > replay_run.seq_before_step_of(replay_run.event_tap.seq) else None

    def act_to_undo(self) -> PlayedAct | None:
        """The first of the acts that were done together last before this moment; None if people have done none."""
        replay_run = self.replay_run
        given, at = len(self._acts_not_to_undo), replay_run.acts_done - 1
        if at < given and replay_run.acts[: replay_run.acts_done] == self._acts_not_to_undo[: replay_run.acts_done]:
            return None
        while at > 0 and replay_run.acts[at].joined:
            at -= 1
        return replay_run.acts[at] if at >= 0 else None

    def act_to_redo(self) -> PlayedAct | None:
        """The act that comes next on this branch; None if there is none."""
        replay_run = self.replay_run
        return replay_run.acts[replay_run.acts_done] if self.in_the_past and replay_run.acts_done < len(replay_run.acts) else None

    def undo(self, then: Callable[[], None] | None = None) -> None:
        """Go back to just before what was done last."""
        undone = self.act_to_undo()
        if undone is not None:
            count = self.replay_run.acts.index(undone)
            self.go_to(Destination("the moment before the act", position=Position(undone.steps, count, undone.time)), then=then)

    def redo(self) -> None:
        """Go forward to just after what was done next."""
        replay_run = self.replay_run
        if self.act_to_redo() is None:
            return
        last = replay_run.acts_done
        while last + 1 < len(replay_run.acts) and replay_run.acts[last + 1].joined:
            last += 1
        act = replay_run.acts[last]
        self.go_forward(Destination("the moment after the act", position=Position(act.steps, last + 1, act.time, act.seq)))

    def forbid_undo_before(self) -> None:
        """What was done so far is the start of the session, and not to be undone."""
        self._acts_not_to_undo = list(self.replay_run.acts)

    # --- branches, bookmarks, old sessions -------------------------------------------------------------------------

    def go_to_branch(self, branch: Branch, then: Callable[[], None] | None = None) -> None:
        """Go to the end of another branch."""
        self.go_to(Destination(f"branch {branch.name}", position=branch.end), branch, then)

    def bookmark(self, note: str) -> Bookmark:
        """Mark this moment."""
        mark = Bookmark(self.branch.name, self.replay_run.position, note)
        self.bookmarks.append(mark)
        return mark

    def open_recording(self, old: RecordedSession, *, read_only: bool = False, at: int = -1) -> None:
        """Begin to play an old session up to its end, and then go to virtual µs `at`, if that is not negative; `continue_task` carries it on."""
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

        self.task_target, self.task, self._on_done = f"the end of {old.source}", opening, arrived

    def close(self) -> None:
        """End the session; the event log, if there is one, gets its last line: it ends where the branch ends, also when one leaves in the past."""
        self.cancel_task()
        self.record_branch_end()
        if self._log.log is not None and self.in_the_past:
            lived, replay_run = self._branch_end, self.replay_run
            while (replay_run.steps, replay_run.acts_done) < (lived.steps, lived.acts) and replay_run.step():
                pass
            replay_run.move_clock(lived.time)
        self._log.close(self._branch_end.time)

    def dispose(self) -> None:
        """Let go of everything that is large: the session is closed, and nobody looks at it any more."""
        del self.replay_run
        self.event_buffer, self.keyframe_cache, self.on_event = EventBuffer(), KeyframeCache(), None
        self._retained = RetainedEvents(self.event_buffer, [], (0, 0, 0))
        self.branch = Branch(MAIN_BRANCH)
        self.branches, self.bookmarks = [self.branch], []


def _nothing() -> None:
    """Nobody waits for the arrival."""


def _nothing_of(found: bool) -> None:
    """Likewise."""
