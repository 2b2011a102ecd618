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
from core.lab.history.branch import FIRST_NAME, Bookmark, Branch
from core.lab.history.course import ClusterLike, FreeCourse, Start
from core.lab.history.event_log import BranchEvents, EventLog
from core.lab.history.goal import Goal, Known
from core.lab.history.keeper import Keeper, no_time
from core.lab.history.log_replay import LogReplay, OldSession
from core.lab.history.position import Played, Position
from core.lab.history.replay import Replay
from core.lab.history.rings import Rings
from core.lab.history.search import STEPS, Search
from core.lab.history.tape import Outlet, Tape
from core.lab.history.watch import Watch
from core.lab.history.way import Enough, Way, never
from core.lab.spec import ClusterSpec
from core.lab.views.view import ClusterView
from core.sim.units import format_clock


def to_the_end(way: Way) -> Enough:
    """Every way is gone to its end at once."""
    return never


class History:
    """A course with its past.

    What may take many steps is gone in pieces: the first at once, each further one by `go_on`. As long as nobody limits pieces, every
    way has come to its end when the method that began it returns.

    Attributes:
        start: makes the course anew.
        tape: the course, where it stands.
        rings: the events still in memory.
        branch, branches: the course of events it is on, and all of them.
        bookmarks: moments somebody marked.
        keeper: has the keyframes.
        under_way: the way that is being gone; None when it stands still or plays.
        seeking: what that way leads to, in words; else None.
        limit: virtual µs that it does not go past; None: it goes on for ever.
        notices: what went otherwise than was wished, until somebody has told it.
        on_event: is told of every event; forgotten when the cluster is moved without telling.
    """

    def __init__(
        self,
        start: Start,
        *,
        log: EventLog | None = None,
        clock: Callable[[], float] = no_time,
        piece: Callable[[Way], Enough] = to_the_end,
    ) -> None:
        """Start at the beginning.

        Args:
            start: makes the course; is handed the sink that the cluster's journal must call.
            log: writes the event log.
            clock: seconds of CPU that the process has taken; it tells how many keyframes are worth their cost.
            piece: how much of a way is gone at a time.
        """
        self.start = start
        self.rings = Rings()
        self.branch = Branch(FIRST_NAME)
        self.branches = [self.branch]
        self.bookmarks: list[Bookmark] = []
        self.keeper = Keeper(clock)
        self.under_way: Way | None = None
        self.seeking: str | None = None
        self.limit: int | None = None
        self.notices: list[str] = []
        self.on_event: Callable[[EventTuple], object] | None = None
        self._piece = piece
        self._arrived: Callable[[], None] = _nothing
        self._search: Search | None = None
        self._log = BranchEvents(log)
        self._held: list[EventTuple] | None = None
        self._lived = Position(0, 0, 0)
        self._given: list[Played] = []
        outlet = Outlet(self._take)
        self.tape = Tape(start(outlet), outlet)
        self._known = self._know()

    @staticmethod
    def of(spec: ClusterSpec, release: Release = CURRENT, seed: int = 0, clock: Callable[[], float] = no_time) -> History:
        """Of a cluster that nobody has planned anything for; for a large one, hand over `time.process_time`."""
        return History(lambda sink: FreeCourse(Cluster(spec, release, seed, sink)), clock=clock)

    def _know(self) -> Known:
        """The events up to here."""
        tape = self.tape
        return Known(self.rings, tape.acts, tape.position.place, tape.ends.first(len(tape.ends)))

    def _take(self, event: EventTuple) -> None:
        level = self.rings.take(event)
        if self._held is not None:
            self._held.append(event)
        else:
            self._remember(event)
        if self.on_event is not None:
            self.on_event(event)
        if self._search is not None:
            self._search.see(event, level)

    def _remember(self, event: EventTuple) -> None:
        """What happens for the first time goes to the log and the branch; going over it again writes nothing."""
        self.branch.take(event)
        self._log.take(event)

    # --- what there is ---------------------------------------------------------------------------------------------

    @property
    def cluster(self) -> ClusterLike:
        """The cluster as it is now."""
        return self.tape.cluster

    def view(self) -> ClusterView:
        """The frozen state."""
        return self.cluster.view()

    def events(self) -> list[EventTuple]:
        """The events up to here that are still in memory."""
        return self.rings.of(DETAIL).since(0)

    @property
    def end(self) -> Position:
        """How far the branch was lived."""
        here = self.tape.position
        return here if here.place >= self._lived.place else self._lived

    @property
    def in_the_past(self) -> bool:
        """Whether there is a future that was lived already."""
        return self.tape.position.place < self._lived.place

    @property
    def progress(self) -> float | None:
        """How much of the way is done, 0 to 1; None when none is under way, or nobody can tell."""
        return None if self.under_way is None else self.under_way.progress

    # --- ways ------------------------------------------------------------------------------------------------------

    def begin(self, what: str, way: Way, arrived: Callable[[], None]) -> None:
        """Begin to go a way; `arrived` is called at its end. `what`: where it leads, in words."""
        self.seeking, self.under_way, self._arrived = what, way, arrived
        self._search = way if isinstance(way, Search) else None
        self.go_on()

    def go_on(self) -> None:
        """Go the next piece of the way that is under way."""
        way = self.under_way
        if way is None:
            return
        if way.work(self._piece(way)):
            self._end_way()()
        elif isinstance(way, LogReplay):
            self.keeper.offer(self.tape, seen=False)

    def _end_way(self) -> Callable[[], None]:
        arrived = self._arrived
        self.under_way = self.seeking = self._search = None
        self._arrived = _nothing
        return arrived

    def give_up(self) -> None:
        """Go no further; on a way into the past that has not arrived nothing has changed."""
        way = self.under_way
        if way is not None:
            arrived = self._end_way()
            if way.give_up():
                arrived()

    def pause(self) -> None:
        """Stand still."""
        self.give_up()

    def mark_end(self) -> None:
        """Before one leaves it, the end of what was lived becomes a moment that a script can end at."""
        if not self.in_the_past:
            self.tape.close_moment()
            self._lived = self.tape.position
            self._known = self._know()
        elif self.tape.position.place > self._known.place:
            self._known = self._know()
        self.branch.acts, self.branch.end = list(self.tape.acts), self._lived

    # --- forward ---------------------------------------------------------------------------------------------------

    def run_until(self, time_us: int | None, enough: Enough = never) -> None:
        """Let everything happen that is due up to a virtual time, or without end; less if it is enough, or when what was planned is over."""
        self.give_up()
        tape, cluster = self.tape, self.cluster
        planned = not tape.finished
        network = cluster.network if isinstance(cluster, Cluster) else None
        count = 0
        if self.limit is not None:
            time_us = self.limit if time_us is None else min(time_us, self.limit)
        while (due := tape.next_due()) is not None and (time_us is None or due <= time_us):
            tape.step()
            count += 1
            if (planned and tape.finished) or (network is not None and network.at_once and tape.stands):
                return
            if count % STEPS == 0:
                self.keeper.offer(tape)
                if enough():
                    return
        if time_us is not None and time_us > cluster.now:
            tape.advance_to(time_us)

    def step(self) -> None:
        """Go on to the next event of any kind."""
        self._look_for("the next event", DETAIL)

    def step_to_notable(self) -> None:
        """Go on to the next election, ISR change, truncation, error or loss."""
        self._look_for("the next notable event", NOTABLE)

    def _look_for(self, what: str, level: int) -> None:
        self.pause()
        self._begin_search(what, Search(self.tape, self.keeper, level=level, limit=self.limit))

    def go_forward(self, goal: Goal) -> None:
        """Go on to a moment to come: what was done already is done again, what was not happens for the first time."""
        self.pause()
        self._begin_search(goal.what, Search(self.tape, self.keeper, goal=goal, limit=self.limit))

    def stop_when(self, watch: Watch, what: str = "that moment") -> Search:
        """Go on until what is watched for comes; the search tells whether it was found."""
        self.pause()
        search = Search(self.tape, self.keeper, watch=watch, limit=self.limit)
        self._begin_search(what, search)
        return search

    def _begin_search(self, what: str, search: Search) -> None:
        def ended() -> None:
            if search.fruitless:
                self.notices.append(f"{what}: nothing of the kind up to {format_clock(self.cluster.now)}")

        self.begin(what, search, ended)

    def go_to_end(self) -> None:
        """Go forward to where this branch has been lived up to."""
        self.go_forward(Goal("the end of this branch", position=self._lived))

    # --- back ------------------------------------------------------------------------------------------------------

    def travel(self, goal: Goal, then: Callable[[], None] | None = None) -> None:
        """Go to a moment of this branch, past or to come, by the shorter way; `then` is called on arrival where events came from memory."""
        ahead = not goal.reached(self.tape) if goal.position is None else goal.position.place >= self.tape.position.place
        if ahead and not self.is_kept_ahead(goal):
            self.go_forward(goal)
        else:
            self.go_to(goal, then=then)

    def go_to(self, goal: Goal, branch: Branch | None = None, then: Callable[[], None] | None = None) -> None:
        """Go to a moment of this branch or of another; `then` is called on arrival."""
        self.pause()
        self.mark_end()
        acts = self.tape.acts if branch is None or branch is self.branch else branch.acts
        fresh: int | None = self.branch.seen
        if branch is not None and branch is not self.branch:
            fresh = None if self._log.log is None else self._parting(branch)
        replay = Replay(self.start, acts, goal, self.keeper, self._known, fresh_after=fresh, shown=self.cluster)
        if replay.on_the_spot:
            self.on_event = None
        self.begin(goal.what, replay, lambda: self._take_over(replay, branch or self.branch, then))

    def is_kept_ahead(self, goal: Goal) -> bool:
        """Whether there is a keyframe between here and a moment to come that was lived already: `go_to` is the shorter way then."""
        if not self.in_the_past:
            return False
        kept = goal.nearest(self.keeper, self.tape.acts, self._known)
        return kept is not None and kept.position.place > self.tape.position.place

    def back_to_when(self, watch: Watch, what: str = "that moment", then: Callable[[bool], None] | None = None) -> Replay:
        """Look through the past for the last moment at which what is watched for came, and go there.

        `then` is told whether there is one; so does the `found` of what is returned, once it has arrived.
        """
        self.pause()
        self.mark_end()
        replay = Replay(self.start, self.tape.acts, Goal(what, position=self.tape.position), self.keeper, self._known, watch)
        tell = then or _nothing_of

        def arrived() -> None:
            if replay.found is None:
                tell(False)
            else:
                self.go_to(Goal(what, position=replay.found), then=lambda: tell(True))

        self.begin(what, replay, arrived)
        return replay

    def look_at(self, goal: Goal, then: Callable[[ClusterView], None]) -> None:
        """Look at another moment of this branch, past or lived already, and stay at this one; `then` gets its view."""
        self.pause()
        self.mark_end()
        replay = Replay(self.start, self.branch.acts, goal, self.keeper, self._known)
        self.begin(goal.what, replay, lambda: then(replay.tape.cluster.view()))

    def _take_over(self, replay: Replay, branch: Branch, then: Callable[[], None] | None) -> None:
        if branch is not self.branch:
            self._log.cut(self._parting(branch))
            self.branch, self._lived = branch, branch.end
            self._known = Known(replay.rings, replay.tape.acts, replay.tape.position.place, replay.tape.ends.first(len(replay.tape.ends)))
        self.tape, self.rings = replay.tape, replay.rings
        self.tape.outlet.to = self._take
        for event in replay.fresh:
            self._remember(event)
        if then is not None:
            then()

    def _parting(self, branch: Branch) -> int:
        """The last event that another branch has in common with this one; the last that is written when neither knows."""
        parting = self.branch.parting(branch)
        return self._log.last if parting is None else parting

    def step_back(self, then: Callable[[], None] | None = None) -> bool:
        """Go back to before the last event, or the last act, which is undone by that; False when nothing was before."""
        last = self.tape.outlet.seq
        if last == 0:
            return False
        undone = self.just_done()
        if undone is not None:
            before = Position(undone.steps, self.tape.done - 1, undone.time)
            self.go_to(Goal("the moment before the act", position=before), then=then)
            return True
        self.go_to(Goal("the event before", seq=self.tape.end_before(last)), then=then)
        return True

    def step_back_notable(self, then: Callable[[], None] | None = None) -> bool:
        """Go back to the last notable event before the present one; False when there is none in memory."""
        before = self.tape.end_before(self.tape.outlet.seq)
        earlier = [mark.seq for mark in self.branch.marks if mark.seq <= before and self._is_notable(mark.seq)]
        if not earlier:
            return False
        self.go_to(Goal("the notable event before", seq=earlier[-1]), then=then)
        return True

    def _is_notable(self, seq: int) -> bool:
        ring = self.rings.of(NOTABLE)
        return ring.index_of(seq) is not None or (ring.total > ring.first and seq < ring.at(ring.first)[0])

    # --- acts, done and undone -------------------------------------------------------------------------------------

    def do(self, act: Act, *, joined: bool = False) -> int:
        """Carry out an act now; returns the seq of its event. In the past it begins a new branch. `joined`: together with the one before it.

        Raises:
            ActRefused: impossible in the present state.
        """
        tape = self.tape
        self.give_up()
        tape.close_moment()
        if not self.in_the_past:
            return tape.do(act, joined=joined)
        if (again := tape.repeats(act)) is not None:
            return again
        self.branch.acts, self.branch.end = list(tape.acts), self._lived
        here = tape.position
        held: list[EventTuple] = []
        self._held = held
        try:
            seq = tape.do(act, joined=joined)
        finally:
            self._held = None
        self.branch = self.branch.fork(f"branch {len(self.branches) + 1}", here)
        self.branches.append(self.branch)
        self._lived = tape.position
        self._log.cut(here.seq)
        for event in held:
            self._remember(event)
        return seq

    def just_done(self) -> Played | None:
        """The act that a step back undoes; None if a step back goes over an event."""
        tape = self.tape
        act = tape.acts[tape.done - 1] if tape.done else None
        return act if act is not None and act.seq > tape.end_before(tape.outlet.seq) else None

    def last_done(self) -> Played | None:
        """The first of the acts that were done together last before this moment; None if people have done none."""
        tape = self.tape
        given, at = len(self._given), tape.done - 1
        if at < given and tape.acts[: tape.done] == self._given[: tape.done]:
            return None
        while at > 0 and tape.acts[at].joined:
            at -= 1
        return tape.acts[at] if at >= 0 else None

    def next_done(self) -> Played | None:
        """The act that comes next on this branch; None if there is none."""
        tape = self.tape
        return tape.acts[tape.done] if self.in_the_past and tape.done < len(tape.acts) else None

    def undo(self, then: Callable[[], None] | None = None) -> None:
        """Go back to just before what was done last."""
        undone = self.last_done()
        if undone is not None:
            count = self.tape.acts.index(undone)
            self.go_to(Goal("the moment before the act", position=Position(undone.steps, count, undone.time)), then=then)

    def redo(self) -> None:
        """Go forward to just after what was done next."""
        tape = self.tape
        if self.next_done() is None:
            return
        last = tape.done
        while last + 1 < len(tape.acts) and tape.acts[last + 1].joined:
            last += 1
        act = tape.acts[last]
        self.go_forward(Goal("the moment after the act", position=Position(act.steps, last + 1, act.time, act.seq)))

    def given(self) -> None:
        """What was done so far is the start of the session, and not to be undone."""
        self._given = list(self.tape.acts)

    # --- branches, bookmarks, old sessions -------------------------------------------------------------------------

    def go_to_branch(self, branch: Branch, then: Callable[[], None] | None = None) -> None:
        """Go to the end of another branch."""
        self.go_to(Goal(f"branch {branch.name}", position=branch.end), branch, then)

    def bookmark(self, note: str) -> Bookmark:
        """Mark this moment."""
        mark = Bookmark(self.branch.name, self.tape.position, note)
        self.bookmarks.append(mark)
        return mark

    def open_old(self, old: OldSession, *, read_only: bool = False, at: int = -1) -> None:
        """Begin to play an old session up to its end, and then go to virtual µs `at`, if that is not negative; `go_on` carries it on."""
        self.pause()
        opening = LogReplay(old, self.tape, self.events())

        def arrived() -> None:
            self._lived = self.tape.position
            self.branch.acts, self.branch.end = list(self.tape.acts), self._lived
            self.given()
            if read_only:
                self.limit = self._lived.time
            if opening.differs:
                self.notices.append(opening.differs)
            if 0 <= at < self.cluster.now:
                self.go_to(Goal("that moment", time=at))

        self.seeking, self.under_way, self._arrived = f"the end of {old.source}", opening, arrived

    def close(self) -> None:
        """End the session; the event log, if there is one, gets its last line: it ends where the branch ends, also when one leaves in the past."""
        self.give_up()
        self.mark_end()
        if self._log.log is not None and self.in_the_past:
            lived, tape = self._lived, self.tape
            while (tape.steps, tape.done) < (lived.steps, lived.acts) and tape.step():
                pass
            tape.move_clock(lived.time)
        self._log.close(self._lived.time)

    def forget(self) -> None:
        """Let go of everything that is large: the session is closed, and nobody looks at it any more."""
        del self.tape
        self.rings, self.keeper, self.on_event = Rings(), Keeper(), None
        self._known = Known(self.rings, [], (0, 0, 0))
        self.branch = Branch(FIRST_NAME)
        self.branches, self.bookmarks = [self.branch], []


def _nothing() -> None:
    """Nobody waits for the arrival."""


def _nothing_of(found: bool) -> None:
    """Likewise."""
