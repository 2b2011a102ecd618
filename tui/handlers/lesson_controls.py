"""The handler for the keys of a lesson: it goes on, answers, goes back, points at places on the screen, and keeps the progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from core.kafka.ids import TopicPartition
from scenarios.lessons.phases import Phase
from scenarios.lessons.places import PlaceKind, Pointer
from tui.actions.selection import Selection
from tui.handlers.screen_interface import ScreenInterface
from tui.lessons.lesson_panel import LessonShown, rows_for, shown_lesson

if TYPE_CHECKING:
    from scenarios.lessons.player import Player
    from tui.session.lesson_run import LessonRun
    from tui.session.loading import LoadedSession
    from tui.session.play_target import PlayTarget

PAGE_NAMES = {"messages": "lane"}
"""The names of pages in lessons that differ from those of the playground."""


class LessonScreen(ScreenInterface, Protocol):
    """A screen that shows a lesson."""

    def point_at(self, place: PlaceKind | None, page: str) -> None:
        """Mark a part of the screen as the one that the lesson points at, and open a page; the overview if `page` is empty."""

    def focus_lesson(self) -> None:
        """Give the keyboard focus to the lesson's panel."""

    def rearrange(self) -> None:
        """Lay out the panels and show the changes."""

    def open_next(self, target: PlayTarget) -> None:
        """End this session and open another, without asking."""


class LessonControls:
    """The handler for the keys of a lesson.

    Attributes:
        run: the lesson in the session; None if no lesson runs, or after the person has closed it.
    """

    def __init__(self, loaded: LoadedSession, screen: LessonScreen, selection: Selection) -> None:
        self.loaded = loaded
        self.screen = screen
        self.selection = selection
        self.run: LessonRun | None = None
        self._cursor = self._top = 0
        self._pointed: Pointer | None = None
        self._shown_step: tuple[int, Phase] | None = None
        self._problem = ""

    @property
    def player(self) -> Player | None:
        """The player of the lesson that runs, or None."""
        return None if self.run is None else self.run.player

    @property
    def is_long(self) -> bool:
        """Whether the lesson's panel needs much room: for a table, or for the end."""
        return self.run is not None and (bool(self.run.player.lesson.columns) or self.run.player.phase is Phase.END)

    def rows_for(self, width: int) -> int:
        """Return the number of lines that the lesson needs beside an open page."""
        shown = self.shown()
        return 0 if shown is None else rows_for(shown, self.screen.paint, width)

    @property
    def place(self) -> PlaceKind | None:
        """The part of the screen that the lesson points at, or None."""
        return None if self._pointed is None else self._pointed.kind

    def begin(self, key: Callable[[str], str]) -> bool:
        """Begin the lesson of the session. Return whether it has one."""
        if self.loaded.player is None:
            return False
        from tui.session.lesson_run import LessonRun

        self.loaded.player.key = key
        self.run = LessonRun(self.loaded.session, self.loaded.player)
        self.run.begin()
        self._after()
        return True

    def settle(self) -> bool:
        """Let the lesson follow what has happened in the session. Return whether it has gone on."""
        if self.run is None or not self.run.settle():
            return False
        self._after()
        return True

    def press(self, key: str) -> None:
        """Handle a key of the lesson's panel."""
        run = self.run
        if run is None:
            return
        choices = run.player.choices
        if key == "back":
            if not run.back(self._arrived):
                self.screen.prompts.say("this is the first step", refused=True)
        elif key == "enter" and run.player.phase is Phase.END:
            self.close()
        elif key == "enter":
            run.enter(self._cursor, self._arrived)
            self._after()
        elif key in ("up", "down") and choices:
            self._cursor = (self._cursor + (1 if key == "down" else -1)) % len(choices)
        else:
            self._top = max(0, self._top + {"pageup": -4, "pagedown": 4, "up": -1, "down": 1}[key])
        self.screen.refresh_view()

    def close(self) -> None:
        """End the lesson. The session goes on."""
        self.run = None
        self._point(None)
        self.screen.prompts.say("the lesson is over; the session goes on, and everything is allowed")

    def shown(self) -> LessonShown | None:
        """Return what the panel shows, or None if no lesson runs."""
        if self.run is None:
            return None
        paused = not self.run.session.playback.moving
        return shown_lesson(self.run.player, cursor=self._cursor, remaining=self.run.remaining, paused=paused, focused=True, top=self._top)

    def _arrived(self) -> None:
        self._after()
        self.screen.refresh_view()

    def _after(self) -> None:
        """Follow the lesson after it has gone on: point at the new place, keep the progress, and start the cluster again if it asks for that."""
        assert self.run is not None
        player = self.run.player
        if player.phase is Phase.AGAIN:
            from tui.lessons.lessons_page import lesson_target

            self.screen.open_next(lesson_target(player.lesson, player))
            return
        step = (player.now.index, player.phase)
        if step != self._shown_step:
            if self._shown_step is None or self._shown_step[0] != step[0]:
                self._cursor = 0
            self._shown_step, self._top = step, 0
            self.screen.focus_lesson()
            self._keep(player)
        if player.phase is not Phase.TIME and player.now.point != self._pointed:
            self._point(player.now.point)
        else:
            self.screen.rearrange()

    def _keep(self, player: Player) -> None:
        """Write the progress. A problem is shown once."""
        from scenarios.lessons.progress import keep_progress

        problem = keep_progress(
            player.lesson.name, player.now.index + 1, len(player.lesson.steps), player.now.wrong, ended=player.phase is Phase.END
        )
        if problem and problem != self._problem:
            self.screen.prompts.say(problem, refused=True)
        self._problem = problem

    def _point(self, point: Pointer | None) -> None:
        self._pointed = point
        if point is not None:
            if point.kind is PlaceKind.BROKER:
                self.selection.choose(broker=int(point.name))
            elif point.kind is PlaceKind.PARTITION:
                self.selection.choose(TopicPartition.parse(point.name), None if point.broker < 0 else point.broker)
        page = point.name if point is not None and point.kind is PlaceKind.PAGE else ""
        self.screen.point_at(self.place, PAGE_NAMES.get(page, page))
