"""The handler for the keys that travel through time (back, to a moment, to a bookmark or branch, or until a condition holds) and compare
moments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from core.lab.history.branch import Mark
from core.lab.history.destination import Destination
from core.lab.history.position import PlayedAct, Position
from core.lab.history.watchpoints import Watchpoint
from core.lab.views.cluster_view import ClusterView
from core.sim.simulation import MAX_TIME
from core.sim.units import SECOND, format_clock, format_duration, parse_duration
from tui.actions.context import Option, Question
from tui.handlers.screen_interface import ScreenInterface
from tui.panels.diff import paint_diff
from tui.session.session import Session

MOST_LISTED: Final = 30
"""The maximum number of bookmarks or branches that a question lists. The newest bookmarks come first."""

MAX_REMEMBERED_MOMENTS: Final = 12
"""The maximum number of moments that are remembered for comparison."""


class TimeTravel:
    """The handler for the keys that travel through time.

    Attributes:
        remembered_moments: pairs of a description and a view, for bookmarks and for the moment before each jump, so that moments can be
            compared; the newest pair is last.
    """

    def __init__(self, session: Session, screen: ScreenInterface) -> None:
        self.session = session
        self.screen = screen
        self.remembered_moments: list[tuple[str, ClusterView]] = []

    def remember_moment(self, words: str = "before the last jump") -> None:
        """Remember the current view for comparison, and remove any message from the footer."""
        self.screen.prompts.drop_message()
        self.remembered_moments = [
            *self.remembered_moments,
            (f"{words}, at {format_clock(self.screen.view.now)} after event {self.screen.view.seq}", self.session.history.view()),
        ][-MAX_REMEMBERED_MOMENTS:]

    def travel(self, destination: Destination) -> None:
        """Go to a destination on this branch."""
        self.remember_moment()
        self.session.history.travel(destination, self.screen.follow_events)
        self.screen.refresh_view()

    def step_back(self) -> None:
        """Go back to just before the last event or act."""
        undone = self.session.history.act_undone_by_step_back()
        self.remember_moment()
        self.session.history.step_back(self.screen.follow_events)
        self.screen.refresh_view()
        if undone is not None:
            self._say_undone(undone)

    def undo(self) -> None:
        """Go back to just before the last act."""
        undone = self.session.history.act_to_undo()
        if undone is not None:
            self.remember_moment()
            self.session.history.undo(self.screen.follow_events)
            self.screen.refresh_view()
            self._say_undone(undone)

    def _say_undone(self, undone: PlayedAct) -> None:
        self.screen.prompts.say(f"undone: {self.session.played_act_sentence(undone)}; to redo it, press {self.screen.keymap.key('redo')}")

    def redo(self) -> None:
        """Redo the next act of this branch."""
        again = self.session.history.act_to_redo()
        if again is not None:
            self.remember_moment()
            self.session.history.redo()
            self.screen.refresh_view()
            self.screen.prompts.say(f"redone: {self.session.played_act_sentence(again)}")

    def step_back_notable(self) -> None:
        """Go back to the previous notable event."""
        self.remember_moment()
        if not self.session.history.step_back_notable(self.screen.follow_events):
            self.screen.prompts.say("there is no earlier notable event", refused=True)
        self.screen.refresh_view()

    def to_end(self) -> None:
        """Go to the end of the branch."""
        self.remember_moment()
        self.session.history.go_to_end()
        self.screen.refresh_view()

    # --- to a moment -----------------------------------------------------------------------------------------------

    def go_to(self) -> None:
        """Ask for a moment and go there."""
        self._ask_moment("Go to", self._moment_error, lambda text: self.travel(self._moment_of(text)))

    def _ask_moment(self, title: str, wrong: Callable[[str], str | None], then: Callable[[str], None]) -> None:
        """Ask for a time or an event."""
        history, selected = self.session.history, self.screen.context().event
        end = history.end
        kept = (
            f" All events since {format_clock(history.events_since)} are in memory. An earlier moment is repeated from a keyframe "
            f"{format_duration(history.longest_repetition // SECOND * SECOND)} before it, at most."
            if history.events_since
            else ""
        )
        self.screen.prompts.ask_text(
            title,
            f"Enter a virtual time such as 12s or 1m30s, or an event such as #{max(1, end.seq // 2)}. "
            f"This branch ends at {format_clock(end.time)}, event #{end.seq}.{kept}",
            "" if selected is None else f"#{selected[0]}",
            wrong,
            then,
            travels=True,
        )

    def _moment_of(self, text: str) -> Destination:
        """Parse text and return the destination that it describes.

        Raises:
            ValueError: the text is not a valid time or event.
        """
        if text.startswith("#"):
            digits = text[1:].strip().replace(",", "")
            if not (digits.isascii() and digits.isdecimal()) or len(digits) > 15:
                raise ValueError("for an event, enter # and its number, for example #120")
            number, last = int(digits), self.session.history.end.seq
            if not 1 <= number <= last:
                raise ValueError(f"there is no event {number}; this branch has events 1 to {last}")
            return Destination(f"event {number}", seq=number)
        if text.isascii() and text.isdecimal():
            raise ValueError("enter a time with a unit, for example 12s, or # and an event number")
        time = parse_duration(text)
        if time > MAX_TIME:
            raise ValueError("that is past the end of virtual time")
        return Destination(f"{format_clock(time)}", time=time)

    def _moment_error(self, text: str) -> str | None:
        try:
            self._moment_of(text)
        except ValueError as wrong:
            return str(wrong)
        return None

    def bookmark(self) -> None:
        """Ask for a note and bookmark the current moment."""
        self.screen.prompts.ask_text(
            "Bookmark",
            f"Enter a note for {format_clock(self.screen.view.now)}, event {self.screen.view.seq}.",
            "",
            lambda _: None,
            self._mark,
        )

    def _mark(self, note: str) -> None:
        self.session.history.bookmark(note)
        self.remember_moment(f"bookmark {note}".strip())
        self.screen.prompts.say(f"bookmarked: {note or format_clock(self.screen.view.now)}; to return to it, press j")

    def jump(self) -> None:
        """List the start, the bookmarks, and the branches, and go to the one that the user chooses."""
        session = self.session
        goals: list[Callable[[], None]] = []
        options: list[Option] = []

        def offer(label: str, note: str, go: Callable[[], None]) -> None:
            goals.append(go)
            number = len(options) + 1
            options.append(Option(str(number) if number < 10 else "", label, (), note))

        offer("the start", "00:00.000", lambda: self.travel(Destination("the start", position=Position(0, 0, 0))))
        for mark in reversed(session.history.bookmarks[-MOST_LISTED:]):
            at = mark.position
            where = f"{format_clock(at.time)}, event {at.seq}" + (
                "" if mark.branch == session.history.branch.name else f", on {mark.branch}"
            )

            def go(position: Position = at, branch: str = mark.branch) -> None:
                if branch == session.history.branch.name:
                    self.travel(Destination("the bookmark", position=position))
                else:
                    self._to_branch(branch, position)

            offer(mark.note or "bookmark", where, go)
        for branch in session.history.branches[-MOST_LISTED:]:
            if branch is not session.history.branch:
                since = f"branched off {branch.origin}" if branch.origin else "the first"
                offer(
                    f"end of {branch.name}",
                    f"{format_clock(branch.end.time)}, event {branch.end.seq}, {since}",
                    lambda name=branch.name: self._to_branch(name, None),  # type: ignore[misc]
                )

        def chosen(option: Option | None) -> None:
            if option is not None:
                goals[options.index(option)]()

        about = f"You are on {session.history.branch.name}, at {format_clock(self.screen.view.now)} of {format_clock(session.history.end.time)}."
        self.screen.prompts.ask(Question("Jump to", about, tuple(options)), chosen)

    def _to_branch(self, name: str, position: Position | None) -> None:
        branch = next(b for b in self.session.history.branches if b.name == name)
        self.remember_moment(f"{self.session.history.branch.name}")

        def arrived() -> None:
            if position is not None and position.place < branch.end.place:
                self.session.history.go_to(Destination("the bookmark", position=position), then=self.screen.follow_events)
            else:
                self.screen.follow_events()

        self.session.history.go_to_branch(branch, arrived)
        self.screen.refresh_view()

    # --- to an event -----------------------------------------------------------------------------------------------

    def go_to_mark(self, mark: Mark | None) -> None:
        """Go to a mark on the timeline."""
        if mark is None:
            self.screen.prompts.say("choose a mark on the timeline with ← and →", refused=True)
        else:
            self.go_to_event(mark.seq)

    def go_to_event(self, seq: int) -> None:
        """Go to the moment of an event."""
        self.travel(Destination(f"event {seq}", seq=seq))

    def go_to_time(self, time: int) -> None:
        """Go to a virtual time in µs."""
        self.travel(Destination(format_clock(time), time=time))

    # --- conditions ------------------------------------------------------------------------------------------------

    def _watch_for(self, text: str) -> Watchpoint:
        """Parse text and return the watchpoint that it describes."""
        from scenarios.running.watchpoint_parser import parse_watchpoint

        return parse_watchpoint(text, self.screen.view)

    def _condition_error(self, text: str) -> str | None:
        try:
            self._watch_for(text)
        except ValueError as wrong:
            return str(wrong)
        return None

    def _ask_condition(self, title: str, then: Callable[[str], None]) -> None:
        chosen = self.screen.context().partition
        partition = "orders-0" if chosen is None else chosen.tp
        about = (
            f"Enter a state (for example lost > 0, or urp > 0 and isr({partition}) < 2), a change (for example leader changes, or "
            f"isr({partition}) changes), or an event (for example truncated, or leader-elected {{election=unclean}})."
        )
        self.screen.prompts.ask_text(title, about, "", self._condition_error, then, travels=True)

    def until(self) -> None:
        """Ask for a condition and go forward until the condition holds."""
        self._ask_condition("Stop when", self._go_until)

    def _go_until(self, text: str) -> None:
        self.remember_moment()
        self.session.history.stop_when(self._watch_for(text), text)
        self.screen.refresh_view()

    def back_until(self) -> None:
        """Ask for a condition and go back to the last moment at which the condition became true."""
        self._ask_condition("Back to when", self._go_back_until)

    def _go_back_until(self, text: str) -> None:
        self.remember_moment()

        def done(found: bool) -> None:
            if found:
                self.screen.follow_events()
            else:
                self.screen.prompts.say(f"this condition did not become true at any earlier moment: {text}", refused=True)

        self.session.history.back_to_when(self._watch_for(text), text, done)
        self.screen.refresh_view()

    # --- differences -----------------------------------------------------------------------------------------------

    def diff(self) -> None:
        """Show the differences between another moment and the current moment."""
        if not self.remembered_moments:
            self._diff_with_any()
            return
        moments = list(reversed(self.remembered_moments))
        options = tuple(Option(str(number) if number < 10 else "", words, ()) for number, (words, _) in enumerate(moments, start=1))

        options += (Option("a", "any other moment …", (), "enter a time or an event number"),)

        def chosen(option: Option | None) -> None:
            if option is options[-1]:
                self._diff_with_any()
            elif option is not None:
                words, view = moments[options.index(option)]
                self._show_diff(words, view)

        self.screen.prompts.ask(Question("Differences from", "Choose the moment to compare with the current one.", options), chosen)

    def _diff_with_any(self) -> None:
        """Ask for another moment, and show the differences between that moment and the current moment."""
        end = self.session.history.end

        def wrong(text: str) -> str | None:
            if (refused := self._moment_error(text)) is not None:
                return refused
            late = self._moment_of(text).time > end.time
            return f"this branch ends at {format_clock(end.time)}" if late else None

        def look(text: str) -> None:
            def seen(view: ClusterView) -> None:
                self.screen.refresh_view()
                self._show_diff(f"at {format_clock(view.now)} after event {view.seq}", view)

            self.session.history.preview(self._moment_of(text), seen)
            self.screen.refresh_view()

        self._ask_moment("Differences from", wrong, look)

    def _show_diff(self, words: str, view: ClusterView) -> None:
        now, paint = self.screen.view, self.screen.paint
        self.screen.prompts.show_details("Difference", lambda width: paint_diff(view, now, words, paint, width))
