"""The page that lists the lessons, with how far the person is in each. Enter starts a lesson, continues it, or forgets its progress."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
from textual.strip import Strip

from core.sim.repr_mixin import ReprMixin
from scenarios.lessons.lesson import Lesson
from scenarios.lessons.lessons_library import find_lesson, lesson_names
from scenarios.lessons.player import Player
from scenarios.lessons.progress import LessonProgress, read_progress, reset_progress
from scenarios.releases import release_named
from tui.actions.all_actions import BY_ID
from tui.actions.context import Option, Question
from tui.pages.page import Page
from tui.panels.events import colored
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, blank, rule, wrap
from tui.rendering.tables import Cell, Column, paint_table
from tui.session.play_target import PlayTarget


@attrs.frozen(repr=False)
class ListedLesson(ReprMixin):
    """A lesson in the list, with the progress in it."""

    lesson: Lesson
    progress: LessonProgress


def listed_lessons() -> list[ListedLesson]:
    """Return the lessons of the library with the progress in each."""
    progress = read_progress()
    lessons = [find_lesson(name, BY_ID) for name in lesson_names()]
    return [ListedLesson(lesson, progress.get(lesson.name, LessonProgress())) for lesson in lessons]


def lesson_target(lesson: Lesson, player: Player | None = None, progress: LessonProgress | None = None) -> PlayTarget:
    """Return the target that plays a lesson from its start or, with a player, on from a step that starts the cluster again. With progress, the
    lesson goes on at the step that the person has reached.
    """
    release = lesson.releases[0] if player is None else player.step.release
    if player is None:
        goes_on = progress is not None and not progress.finished and progress.steps == len(lesson.steps)
        player = Player(lesson, skip_to=progress.step - 1 if goes_on and progress is not None else 0)
    return PlayTarget(None, lesson.spec, release_named(release), lesson.seed, title=lesson.name, player=player)


def paint_lessons(found: Sequence[ListedLesson], paint: Palette, size: tuple[int, int], selected: int, running: str) -> list[Strip]:
    """Paint the list, and below it the description of the selected lesson."""
    width, height = size
    done = sum(one.progress.finished for one in found)
    out = [rule("Lessons", f"{done} of {len(found)} finished · ⏎ starts", width, paint.title_focused, paint.faint, paint.muted)]
    columns = (Column("", right=True), Column("lesson", rest=True, least=40), Column("min", right=True), Column("progress", least=10))
    rows: list[list[Cell]] = []
    for number, one in enumerate(found, start=1):
        here = one.lesson.name == running
        style = paint.good if one.progress.finished else paint.warn if one.progress.step else paint.muted
        words = "✓ finished" if one.progress.finished else one.progress.words()
        rows.append(
            [
                (str(number), paint.key),
                [("● running  " if here else "", paint.good), (one.lesson.title, paint.text)],
                (str(one.lesson.minutes), paint.number),
                (words, style),
            ]
        )
    out += paint_table(columns, rows, paint, width, selected=selected, marks=True)
    out.append(blank(width))
    lesson = found[selected].lesson
    note = f"Kafka {', '.join(lesson.releases)} · {found[selected].progress.words()}"
    out.append(rule(lesson.name, note, width, paint.title, paint.faint, paint.muted))
    for line in wrap(lesson.about, min(width - 2, 100)):
        out.append(Row().add(" ", paint.text).join(colored(line, paint, paint.text)).strip(width))
    return out[:height]


class LessonsPage(Page):
    """The list of lessons."""

    name = "lessons"

    def opened(self) -> None:
        """Read the lessons, and the progress, which may have changed."""
        self.selected = getattr(self, "selected", 0)
        self._found = listed_lessons()
        self.selected = min(self.selected, len(self._found) - 1)

    @property
    def _running(self) -> str:
        player = self.screen.loaded.player
        return "" if player is None else player.lesson.name

    def lines(self, width: int, height: int) -> list[Strip]:
        """Return the lines of the page."""
        return paint_lessons(self._found, self.paint, (width, height), self.selected, self._running)

    def move(self, key: str) -> bool:
        """Select another lesson."""
        by = {"up": -1, "down": 1, "pageup": -len(self._found), "pagedown": len(self._found), "home": -len(self._found)}.get(key)
        if by is None:
            return False
        self.selected = max(0, min(len(self._found) - 1, self.selected + by))
        return True

    def click(self, x: int, y: int, meta: dict[str, object]) -> None:
        """Select the lesson that was clicked."""
        if 0 <= y - 2 < len(self._found):
            self.selected = y - 2

    def enter(self) -> bool:
        """Start the selected lesson. If there is progress in it, ask whether to forget that instead."""
        one = self._found[self.selected]
        if not one.progress.step and not one.progress.finished:
            self.screen.start_over(lesson_target(one.lesson))
            return True
        goes_on = (Option("c", "continue", (), f"at {one.progress.words()}"),) if not one.progress.finished else ()
        options = (
            *goes_on,
            Option("s", "start", (), "from the first step"),
            Option("f", "forget", (), f"its progress: {one.progress.words()}"),
            Option("a", "forget all", (), "the progress of every lesson"),
        )

        def chosen(option: Option | None) -> None:
            if option is None:
                return
            if option.label in ("start", "continue"):
                self.screen.start_over(lesson_target(one.lesson, progress=one.progress if option.label == "continue" else None))
                return
            problem = reset_progress([one.lesson.name] if option.label == "forget" else None)
            self.opened()
            self.screen.prompts.say(problem or "forgotten", refused=bool(problem))

        self.screen.prompts.ask(Question(one.lesson.title, "The lesson can be started as often as you like.", options), chosen)
        return True
