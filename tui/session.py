"""Drives a cluster for somebody who watches it: forward (`tui.motion`), back, and acts. Knows no widget.

A scenario moves through its own `Run`, exactly as it does headless: the session only chooses how far to go at a time.

Every moment of the past can be gone back to: the session is repeated up to there (`tui.replay`). Going forward again
repeats what people did; acting there instead begins a new branch, and the old future stays under its name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from core.kafka.events import DETAIL, NOTABLE, EventTuple
from core.kafka.ids import TopicPartition
from core.lab.acts import Act
from core.lab.cluster import Cluster
from core.lab.views.glance import Glance
from core.lab.views.observe import lags
from core.lab.views.view import ClusterView
from tui.branches import FIRST_NAME, Bookmark, Branch, Keeper
from tui.course import Outlet, Played, Position, Start, Tape
from tui.motion import FRAME_BUDGET, MAX_FRAME, Motion
from tui.opening import Opening
from tui.replay import Goal, Known, Replay
from tui.rewriting import Rewriting
from tui.ring import Rings, sentence
from tui.watching import Watch

if TYPE_CHECKING:
    from scenarios.eventlog import Header
    from scenarios.recording import OldSession


class LogLike(Protocol):
    """What the session needs of `scenarios.eventlog.LogWriter`."""

    def __call__(self, event: EventTuple) -> None: ...
    def cut(self, seq: int) -> None: ...
    def close(self, now: int | None = None) -> None: ...


class Session(Motion):
    """A cluster being watched. What `Motion` has, and:

    Attributes:
        rings: the events still in memory.
        branch, branches: the course of events it is on, and all of them.
        bookmarks: moments somebody marked.
    """

    def __init__(self, start: Start, *, log: LogLike | None = None, budget: float = FRAME_BUDGET) -> None:
        """Start a session.

        Args:
            start: makes the course; is handed the sink that the cluster's journal must call.
            log: writes the event log.
            budget: seconds of CPU per frame.
        """
        super().__init__(budget)
        self.rings = Rings()
        self._log = log
        self._logged = 0
        self._held: list[EventTuple] | None = None
        self._start = start
        self.branch = Branch(FIRST_NAME)
        self.branches = [self.branch]
        self.bookmarks: list[Bookmark] = []
        self._lived = Position(0, 0, 0)
        self._given: list[Played] = []
        self._replay: Replay | Opening | Rewriting | None = None
        self._arrived: Callable[[Any], None] | None = None
        self._eye: Glance | None = None
        self.keeper = Keeper()
        outlet = Outlet(self._take)
        self.course = Tape(start(outlet), outlet)
        self._known = self._know()

    def _know(self) -> Known:
        """The events up to here."""
        tape = self.course
        return Known(self.rings, tape.acts, tape.position.place, tape.ends.first(len(tape.ends)))

    def _take(self, event: EventTuple) -> None:
        level = self.rings.take(event)
        if self._held is not None:
            self._held.append(event)
        else:
            self._remember(event)
        if self._eye is not None:
            self._eye.touch(event)
        if self._wanted is not None and not self._found and self._wanted(level):
            self._found = True
        if self._watch is not None:
            self._watch.see(event)

    def _remember(self, event: EventTuple) -> None:
        """What happens for the first time goes to the log and the timeline; going over it again writes nothing."""
        self.branch.take(event)
        if self._log is not None and event[0] > self._logged:
            self._logged = event[0]
            self._log(event)

    def _on_the_way(self) -> None:
        self.keeper.offer(self.course)

    def frame(self, wall: float) -> None:
        """Move on by one frame that lasted `wall` seconds; nothing when paused."""
        if self._replay is not None:
            self._go_on()
        elif self.seeking is not None:
            self._seek()
        elif self.playing:
            self._play(min(wall, MAX_FRAME))
        if self._replay is None:
            self.keeper.offer(self.course)

    def settle(self) -> None:
        """The first screen stands: what takes a moment once is done now."""
        if self._replay is None:
            self.keeper.begin(self.course)

    def _stop_seeking(self) -> None:
        """Look no further; a way into the past that has not arrived is given up, and nothing has changed."""
        super()._stop_seeking()
        under_way, arrived = self._replay, self._arrived
        self._replay = self._arrived = None
        if isinstance(under_way, (Opening, Rewriting)) and arrived is not None:
            under_way.give_up()
            arrived(under_way)

    # --- the past ----------------------------------------------------------------------------------------------

    @property
    def start(self) -> Start:
        """Starts the same session anew."""
        return self._start

    @property
    def end(self) -> Position:
        """How far the branch was lived."""
        here = self.course.position
        return here if here.place >= self._lived.place else self._lived

    @property
    def in_the_past(self) -> bool:
        """Whether there is a future that was lived already."""
        return self.course.position.place < self._lived.place

    def go_to(self, goal: Goal, branch: Branch | None = None, then: Callable[[Replay], None] | None = None) -> None:
        """Begin to go to a moment of this branch or of another; frames carry it on, `then` is called on arrival."""
        self.pause()
        self.mark_end()
        acts = self.course.acts if branch is None or branch is self.branch else branch.acts
        self.seeking = goal.what
        fresh: int | None = self.branch.seen
        if branch is not None and branch is not self.branch:
            fresh = None if self._log is None else self._parting(branch)
        self._replay = Replay(self._start, acts, goal, self.keeper, self._known, fresh_after=fresh, at_hand=self.cluster)
        if self._replay.on_the_spot:
            self._eye = None
        self._arrived = lambda replay: self._take_over(replay, branch or self.branch, then)
        self._go_on()

    def is_kept_ahead(self, goal: Goal) -> bool:
        """Whether there is a kept cluster between here and a moment to come that was lived already: `go_to` is the shorter way then."""
        if not self.in_the_past:
            return False
        kept = goal.nearest(self.keeper, self.course.acts, self._known)
        return kept is not None and kept.position.place > self.course.position.place

    def back_to_when(self, what: str, watch: Watch, then: Callable[[bool], None]) -> None:
        """Look through the past for the last moment at which what is watched for came, and go there; `then` is told whether there is one."""
        self.pause()
        self.mark_end()
        self.seeking = what
        here = self.course.position
        goal = Goal(what, position=here)
        self._replay = Replay(self._start, self.course.acts, goal, self.keeper, self._known, watch)

        def arrived(replay: Replay) -> None:
            if replay.found is None:
                then(False)
            else:
                self.go_to(Goal(what, position=replay.found), then=lambda _: then(True))

        self._arrived = arrived
        self._go_on()

    def look_at(self, goal: Goal, then: Callable[[ClusterView], None]) -> None:
        """Begin to look at another moment of this branch, past or lived already, and stay at this one; `then` gets its view."""
        self.pause()
        self.mark_end()
        self.seeking = goal.what
        self._replay = Replay(self._start, self.branch.acts, goal, self.keeper, self._known)
        self._arrived = lambda replay: then(replay.tape.cluster.view())
        self._go_on()

    def write_log(self, path: Path, header: Header, then: Callable[[str], None]) -> None:
        """Begin to write this branch, up to its end, as an event log; `then` is told what went wrong, '' for nothing.

        Raises:
            InputError: the file cannot be written.
        """
        self.pause()
        self.mark_end()
        writing = Rewriting(self._start, self.branch, path, header)
        self.seeking, self._replay = path.name, writing
        self._arrived = lambda _: then(writing.failed)
        self._go_on()

    @property
    def progress(self) -> float | None:
        """How much of the way back is done, 0 to 1; None when none is under way."""
        return None if self._replay is None else self._replay.progress

    @property
    def doing(self) -> str:
        """What it is about while `seeking` says with what."""
        if self._replay is None:
            return "looking for"
        return "writing" if isinstance(self._replay, Rewriting) else "going to"

    def _go_on(self) -> None:
        replay, arrived = self._replay, self._arrived
        assert replay is not None
        if replay.work(2 * self._budget):
            self._replay = self._arrived = self.seeking = None
            if arrived is not None:
                arrived(replay)
        elif isinstance(replay, Opening):
            self.keeper.offer(self.course, seen=False)

    def open_old(self, old: OldSession, *, read_only: bool = False, at: int = -1) -> None:
        """Begin to play an old session up to its end, and then go to virtual µs `at`, if that is not negative; frames carry it on."""
        self.pause()
        self.seeking = f"the end of {old.source}"
        opening = Opening(old, self.course)
        built = self.rings.of(DETAIL)
        for index in range(built.first, built.total):
            opening.hold(built.at(index))

        def take(event: EventTuple) -> None:
            self._take(event)
            opening.hold(event)

        def arrived(_: Opening) -> None:
            self.course.outlet.to = self._take
            self._lived = self.course.position
            self.branch.acts, self.branch.end = list(self.course.acts), self._lived
            self.given()
            if read_only:
                self.limit = self._lived.time
            if opening.differs:
                self.notices.append(opening.differs)
            if 0 <= at < self.cluster.now:
                self.go_to(Goal("that moment", time=at))

        self.course.outlet.to = take
        self._replay, self._arrived = opening, arrived

    def mark_end(self) -> None:
        """Before one leaves it, the end of what was lived becomes a moment that a script can end at."""
        if not self.in_the_past:
            self.course.close_moment()
            self._lived = self.course.position
            self._known = self._know()
        elif self.course.position.place > self._known.place:
            self._known = self._know()
        self.branch.acts, self.branch.end = list(self.course.acts), self._lived

    def _take_over(self, replay: Replay, branch: Branch, then: Callable[[Replay], None] | None) -> None:
        if branch is not self.branch:
            self._cut_log(self._parting(branch))
            self.branch, self._lived = branch, branch.end
            self._known = Known(replay.rings, replay.tape.acts, replay.tape.position.place, replay.tape.ends.first(len(replay.tape.ends)))
        self.course, self.rings = replay.tape, replay.rings
        self.course.outlet.to = self._take
        for event in replay.fresh:
            self._remember(event)
        if then is not None:
            then(replay)

    def _parting(self, branch: Branch) -> int:
        """The last event that another branch has in common with this one."""
        shared = self.branch.shared(branch)
        parting = [played.seq for played in (*self.branch.acts[shared : shared + 1], *branch.acts[shared : shared + 1])]
        return min(parting) - 1 if parting else self._logged

    def _cut_log(self, seq: int) -> None:
        if self._log is not None and seq < self._logged:
            self._log.cut(seq)
            self._logged = seq

    def go_to_branch(self, branch: Branch, then: Callable[[Replay], None] | None = None) -> None:
        """Go to the end of another branch."""
        self.go_to(Goal(f"branch {branch.name}", position=branch.end), branch, then)

    def go_to_end(self) -> None:
        """Go forward to where this branch has been lived up to."""
        lived = self._lived
        self._seek_until("the end of this branch", lambda: self.course.position.place[:2] >= lived.place[:2], lived.time)

    def step_back(self, then: Callable[[Replay], None] | None = None) -> bool:
        """Go back to before the last event, or the last act, which is undone by that; False when nothing was before."""
        last = self.course.outlet.seq
        if last == 0:
            return False
        undone = self.just_done()
        if undone is not None:
            before = Position(undone.steps, self.course.done - 1, undone.time)
            self.go_to(Goal("the moment before the act", position=before), then=then)
            return True
        self.go_to(Goal("the event before", seq=self.course.end_before(last)), then=then)
        return True

    def just_done(self) -> Played | None:
        """The act that a step back undoes; None if a step back goes over an event."""
        tape = self.course
        act = tape.acts[tape.done - 1] if tape.done else None
        return act if act is not None and act.seq > tape.end_before(tape.outlet.seq) else None

    @property
    def by_hand(self) -> bool:
        """Whether a cluster that ran by itself is moved by hand now."""
        return self.course.by_hand

    def last_done(self) -> Played | None:
        """The first of the acts that were done together last before this moment; None if people have done none."""
        tape = self.course
        given, at = len(self._given), tape.done - 1
        if at < given and tape.acts[: tape.done] == self._given[: tape.done]:
            return None
        while at > 0 and tape.acts[at].joined:
            at -= 1
        return tape.acts[at] if at >= 0 else None

    def next_done(self) -> Played | None:
        """The act that comes next on this branch; None if there is none."""
        tape = self.course
        return tape.acts[tape.done] if self.in_the_past and tape.done < len(tape.acts) else None

    def undo(self, then: Callable[[Replay], None] | None = None) -> None:
        """Go back to just before what was done last."""
        undone = self.last_done()
        if undone is not None:
            count = self.course.acts.index(undone)
            self.go_to(Goal("the moment before the act", position=Position(undone.steps, count, undone.time)), then=then)

    def redo(self) -> None:
        """Go forward to just after what was done next."""
        tape = self.course
        if self.next_done() is None:
            return
        last = tape.done
        while last + 1 < len(tape.acts) and tape.acts[last + 1].joined:
            last += 1
        act = tape.acts[last]
        self.go_forward(Goal("the moment after the act", position=Position(act.steps, last + 1, act.time, act.seq)))

    def given(self) -> None:
        """What was done so far is the start of the session, and not to be undone."""
        self._given = list(self.course.acts)

    def step_back_notable(self, then: Callable[[Replay], None] | None = None) -> bool:
        """Go back to the last notable event before the present one; False when there is none in memory."""
        before = self.course.end_before(self.course.outlet.seq)
        earlier = [mark.seq for mark in self.branch.marks if mark.seq <= before and self._is_notable(mark.seq)]
        if not earlier:
            return False
        self.go_to(Goal("the notable event before", seq=earlier[-1]), then=then)
        return True

    def _is_notable(self, seq: int) -> bool:
        ring = self.rings.of(NOTABLE)
        return ring.index_of(seq) is not None or (ring.total > ring.first and seq < ring.at(ring.first)[0])

    def bookmark(self, note: str) -> Bookmark:
        """Mark this moment."""
        mark = Bookmark(self.branch.name, self.course.position, note)
        self.bookmarks.append(mark)
        return mark

    # --- acting and looking ------------------------------------------------------------------------------------

    def do(self, act: Act, *, joined: bool = False) -> int:
        """Carry out an act now; returns the seq of its event. In the past it begins a new branch. `joined`: together with the one before it.

        Raises:
            ActRefused: impossible in the present state.
        """
        tape = self.course
        self._stop_seeking()
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
        self._cut_log(here.seq)
        for event in held:
            self._remember(event)
        return seq

    def tell(self, seq: int) -> str:
        """The sentence of an event still in memory, empty when it is not."""
        event = self.rings.find(seq)
        return sentence(event) if event is not None else ""

    def tell_act(self, played: Played) -> str:
        """An act of this branch in words, whether it is still to come or long past."""
        deed = next((deed for deed in self.branch.deeds if deed[0] == played.seq), None)
        return sentence(deed) if deed is not None else played.act.word

    def view(self) -> ClusterView:
        """The frozen state."""
        return self.cluster.view()

    def glance(
        self, also: Iterable[TopicPartition] = (), *, shown: Collection[TopicPartition] | None = None, most: int | None = None
    ) -> ClusterView:
        """The state for a frame, as `Glance.view` has it: what no event has named since the last glance is as it was then."""
        cluster = self.cluster
        if not isinstance(cluster, Cluster):
            return cluster.view()
        if self._eye is None or self._eye.cluster is not cluster:
            self._eye = Glance(cluster)
        return self._eye.view(also, shown=shown, most=most)

    def lags(self) -> dict[int, float] | None:
        """Records that the furthest replica of each running broker lacks; None of a cluster that is only like one."""
        return lags(self.cluster) if isinstance(self.cluster, Cluster) else None

    def behind(self, some: Iterable[TopicPartition] | None = None) -> bool:
        """Whether the last glance left anything for later, or one of these partitions."""
        eye = self._eye
        if eye is None or eye.cluster is not self.cluster:
            return False
        return eye.behind if some is None else eye.is_behind(some)

    def close(self) -> None:
        """End the session; the event log, if there is one, gets its last line."""
        self._stop_seeking()
        self.mark_end()
        if self._log is not None:
            self._finish_log(self._log)

    def forget(self) -> None:
        """Let go of everything that is large: the session is closed, and nobody looks at it any more."""
        del self.course
        self.rings, self.keeper, self._eye = Rings(), Keeper(), None
        self._known = Known(self.rings, [], (0, 0, 0))
        self.branch = Branch(FIRST_NAME)
        self.branches, self.bookmarks = [self.branch], []

    def _finish_log(self, log: LogLike) -> None:
        """The log ends where the branch ends, also when one leaves in the past of it."""
        if self.in_the_past:
            lived = self._lived
            tape = self.course
            while (tape.steps, tape.done) < (lived.steps, lived.acts) and tape.step():
                pass
            tape.move_clock(lived.time)
        log.close(self._lived.time)
