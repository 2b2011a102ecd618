"""Going through time by keys: back, to a moment, to a bookmark or a branch, until a condition holds; and what differs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from core.lab.history.goal import Goal
from core.lab.history.position import Played, Position
from core.lab.history.watch import Watch
from core.lab.spec import Pace
from core.lab.views.view import ClusterView
from core.sim.simulation import MAX_TIME
from core.sim.units import format_clock, parse_duration
from tui import dialogs
from tui.panels.diff import paint_diff
from tui.panels.timeline import Timeline
from tui.screen import MainScreen
from tui.situation import Option, Question

MOST_LISTED: Final = 30
"""Bookmarks and branches that a question lists at most, the newest first."""

MOST_LEFT: Final = 12
"""Moments that were left and can be compared with."""


class Travel(MainScreen):
    """The part of the main screen that moves through time."""

    def _leave_moment(self, words: str = "where you were") -> None:
        """Remember the present view, so that it can be compared with later. A message about this moment ends with it."""
        self.drop_message()
        self.left = [*self.left, (f"{words}, at {format_clock(self.view.now)} after event {self.view.seq}", self.session.view())][
            -MOST_LEFT:
        ]

    def _travel(self, goal: Goal) -> None:
        self._leave_moment()
        self.session.travel(goal, self._has_arrived)
        self.refresh_view()

    def _has_arrived(self) -> None:
        self.events.use(self.session.rings.of(self.events.level), self.events.level)
        self.events.follow()

    def _step_back(self) -> None:
        undone = self.session.just_done()
        self._leave_moment()
        self.session.step_back(self._has_arrived)
        self.refresh_view()
        if undone is not None:
            self._say_undone(undone)

    def _undo(self) -> None:
        undone = self.session.last_done()
        if undone is not None:
            self._leave_moment()
            self.session.undo(self._has_arrived)
            self.refresh_view()
            self._say_undone(undone)

    def _say_undone(self, undone: Played) -> None:
        self.say(f"undone: {self.session.tell_act(undone)}; {self.key('redo')} does it again")

    def _redo(self) -> None:
        again = self.session.next_done()
        if again is not None:
            self._leave_moment()
            self.session.redo()
            self.refresh_view()
            self.say(f"done again: {self.session.tell_act(again)}")

    def _step_back_notable(self) -> None:
        self._leave_moment()
        if not self.session.step_back_notable(self._has_arrived):
            self.say("no notable event before this one", refused=True)
        self.refresh_view()

    def _to_end(self) -> None:
        self._leave_moment()
        self.session.go_to_end()
        self.refresh_view()

    # --- to a moment -----------------------------------------------------------------------------------------------

    def _go_to(self) -> None:
        self._ask_moment("Go to", self._no_moment, lambda text: self._travel(self._moment_of(text)))

    def _ask_moment(self, title: str, wrong: Callable[[str], str | None], then: Callable[[str], None]) -> None:
        """Ask for a time or an event."""
        end, selected = self.session.end, self.situation().event
        self.write(
            title,
            f"A virtual time such as 12s or 1m30s, or an event such as #{max(1, end.seq // 2)}. "
            f"This branch was lived up to {format_clock(end.time)}, event #{end.seq}.",
            "" if selected is None else f"#{selected[0]}",
            wrong,
            then,
            travels=True,
        )

    def _moment_of(self, text: str) -> Goal:
        """The goal that a text names.

        Raises:
            ValueError: it names none.
        """
        if text.startswith("#"):
            digits = text[1:].strip().replace(",", "")
            if not (digits.isascii() and digits.isdecimal()) or len(digits) > 15:
                raise ValueError("an event is # and its number, for example #120")
            number, last = int(digits), self.session.end.seq
            if not 1 <= number <= last:
                raise ValueError(f"there is no event {number}; this branch has 1 to {last}")
            return Goal(f"event {number}", seq=number)
        if text.isascii() and text.isdecimal():
            raise ValueError("write a unit for a time, for example 12s, or # before an event's number")
        time = parse_duration(text)
        if time > MAX_TIME:
            raise ValueError("that is past the end of virtual time")
        return Goal(f"{format_clock(time)}", time=time)

    def _no_moment(self, text: str) -> str | None:
        try:
            self._moment_of(text)
        except ValueError as wrong:
            return str(wrong)
        return None

    def _bookmark(self) -> None:
        self.write("Bookmark", f"A note for {format_clock(self.view.now)}, event {self.view.seq}.", "", lambda _: None, self._mark)

    def _mark(self, note: str) -> None:
        self.session.bookmark(note)
        self._leave_moment(f"bookmark {note}".strip())
        self.say(f"bookmarked: {note or format_clock(self.view.now)}; j jumps back to it")

    def _jump(self) -> None:
        session = self.session
        goals: list[Callable[[], None]] = []
        options: list[Option] = []

        def offer(label: str, note: str, go: Callable[[], None]) -> None:
            goals.append(go)
            number = len(options) + 1
            options.append(Option(str(number) if number < 10 else "", label, (), note))

        offer("the start", "00:00.000", lambda: self._travel(Goal("the start", position=Position(0, 0, 0))))
        for mark in reversed(session.bookmarks[-MOST_LISTED:]):
            at = mark.position
            where = f"{format_clock(at.time)}, event {at.seq}" + ("" if mark.branch == session.branch.name else f", on {mark.branch}")

            def go(position: Position = at, branch: str = mark.branch) -> None:
                if branch == session.branch.name:
                    self._travel(Goal("the bookmark", position=position))
                else:
                    self._to_branch(branch, position)

            offer(mark.note or "bookmark", where, go)
        for branch in session.branches[-MOST_LISTED:]:
            if branch is not session.branch:
                since = f"parted from {branch.origin}" if branch.origin else "the first"
                offer(
                    f"end of {branch.name}",
                    f"{format_clock(branch.end.time)}, event {branch.end.seq}, {since}",
                    lambda name=branch.name: self._to_branch(name, None),  # type: ignore[misc]
                )

        def chosen(option: Option | None) -> None:
            if option is not None:
                goals[options.index(option)]()

        about = f"You are on {session.branch.name}, {format_clock(self.view.now)} of {format_clock(session.end.time)}."
        self.app.push_screen(dialogs.Ask(Question("Jump to", about, tuple(options)), self.paint), chosen)

    def _to_branch(self, name: str, position: Position | None) -> None:
        branch = next(b for b in self.session.branches if b.name == name)
        self._leave_moment(f"{self.session.branch.name}")

        def arrived() -> None:
            if position is not None and position.place < branch.end.place:
                self.session.go_to(Goal("the bookmark", position=position), then=self._has_arrived)
            else:
                self._has_arrived()

        self.session.go_to_branch(branch, arrived)
        self.refresh_view()

    # --- the timeline ----------------------------------------------------------------------------------------------

    def _show_timeline(self) -> None:
        session = self.session
        branch = session.branch
        by_events = self.situation().pace is Pace.BY_HAND  # its steps take no time
        here = [mark for mark in session.bookmarks if mark.branch == branch.name]
        marks = [(mark.position.seq if by_events else mark.position.time, mark.note) for mark in here]
        now, end = (self.view.seq, session.end.seq) if by_events else (self.view.now, session.end.time)
        self.timeline.update(branch.marks, marks, now, end, self._mark_told(), by_events=by_events)

    def _mark_told(self) -> str:
        """What the mark says that is chosen on the timeline."""
        chosen = self.timeline.mark if self.timeline.has_focus else None
        if chosen is None:
            return ""
        return f"{format_clock(chosen.time)} #{chosen.seq} {self.session.tell(chosen.seq) or chosen.kind}  ⏎ goes there"

    def _go_to_mark(self) -> None:
        mark = self.timeline.mark
        if mark is None:
            self.say("choose a mark on the timeline with ← and →", refused=True)
        else:
            self.go_to_event(mark.seq)

    def go_to_event(self, seq: int) -> None:
        """Go to the moment of an event."""
        self._travel(Goal(f"event {seq}", seq=seq))

    def on_timeline_wanted(self, message: Timeline.Wanted) -> None:
        """Somebody clicked on the timeline."""
        if message.seq >= 0:
            self.go_to_event(message.seq)
        else:
            self._travel(Goal(format_clock(message.at), time=message.at))

    # --- conditions ------------------------------------------------------------------------------------------------

    def _watch_for(self, text: str) -> Watch:
        """What that says to look for."""
        from scenarios.watch_words import parse_watch

        return parse_watch(text, self.view)

    def _no_condition(self, text: str) -> str | None:
        try:
            self._watch_for(text)
        except ValueError as wrong:
            return str(wrong)
        return None

    def _ask_condition(self, title: str, then: Callable[[str], None]) -> None:
        partition = self.chosen or "orders-0"
        about = (
            f"A state, as lost > 0, urp > 0, isr({partition}) < 2, hw({partition}) >= 500, joined by and, or; a change, as leader changes, "
            f"isr({partition}) changes; or an event, as truncated, leader-elected {{election=unclean}}."
        )
        self.write(title, about, "", self._no_condition, then, travels=True)

    def _until(self) -> None:
        self._ask_condition("Stop when", self._go_until)

    def _go_until(self, text: str) -> None:
        self._leave_moment()
        self.session.stop_when(self._watch_for(text), text)
        self.refresh_view()

    def _back_until(self) -> None:
        self._ask_condition("Back to when", self._go_back_until)

    def _go_back_until(self, text: str) -> None:
        self._leave_moment()

        def done(found: bool) -> None:
            if found:
                self._has_arrived()
            else:
                self.say(f"before this there was no such moment: {text}", refused=True)

        self.session.back_to_when(self._watch_for(text), text, done)
        self.refresh_view()

    # --- what differs ----------------------------------------------------------------------------------------------

    def _diff(self) -> None:
        if not self.left:
            self._diff_with_any()
            return
        moments = list(reversed(self.left))
        options = tuple(Option(str(number) if number < 10 else "", words, ()) for number, (words, _) in enumerate(moments, start=1))

        options += (Option("a", "any other moment …", (), "a time, or an event by its number"),)

        def chosen(option: Option | None) -> None:
            if option is options[-1]:
                self._diff_with_any()
            elif option is not None:
                words, view = moments[options.index(option)]
                self._show_diff(words, view)

        self.app.push_screen(
            dialogs.Ask(Question("Difference from", "What differs between then and this moment.", options), self.paint), chosen
        )

    def _diff_with_any(self) -> None:
        """Ask for the other moment, look at it, and show what differs."""
        end = self.session.end

        def wrong(text: str) -> str | None:
            if (refused := self._no_moment(text)) is not None:
                return refused
            late = self._moment_of(text).time > end.time
            return f"this branch was lived up to {format_clock(end.time)}" if late else None

        def look(text: str) -> None:
            def seen(view: ClusterView) -> None:
                self.refresh_view()
                self._show_diff(f"at {format_clock(view.now)} after event {view.seq}", view)

            self.session.look_at(self._moment_of(text), seen)
            self.refresh_view()

        self._ask_moment("Difference from", wrong, look)

    def _show_diff(self, words: str, view: ClusterView) -> None:
        lines = paint_diff(view, self.view, words, self.paint, self.room)
        self.app.push_screen(dialogs.Closer("Difference", lines))
