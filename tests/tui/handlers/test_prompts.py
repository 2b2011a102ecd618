"""Prompts without a real screen: a message stays until the next one or until its time is over, and virtual time is paused while the user
types.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.tui.app.test_playground import playing, screen_text
from tui.actions.context import Question
from tui.dialogs.details import DetailsDialog
from tui.dialogs.question import QuestionDialog
from tui.dialogs.text_line import TextLineDialog
from tui.handlers.prompts import Prompts
from tui.rendering.palette import palette_of
from tui.session.loading import load_session


class Screen:
    """A fake of the screen that prompts use. It records what they show."""

    def __init__(self) -> None:
        self.app: Any = self
        self.paint = palette_of("dark")
        self.pushed: list[tuple[Any, Callable[[Any], None] | None]] = []
        self.timers: list[Callable[[], None]] = []
        self.shown = self.refreshed = 0

    def push_screen(self, dialog: Any, then: Callable[[Any], None] | None = None) -> None:
        self.pushed.append((dialog, then))

    def set_timer(self, delay: float, callback: Callable[[], None]) -> None:
        self.timers.append(callback)

    def show_now(self) -> None:
        self.shown += 1

    def refresh_view(self) -> None:
        self.refreshed += 1


@pytest.fixture
def screen() -> Screen:
    return Screen()


@pytest.fixture
def prompts(screen: Screen) -> Prompts:
    return Prompts(load_session(None).session, screen)


def test_a_message_goes_after_its_time_unless_another_has_come(screen: Screen, prompts: Prompts) -> None:
    prompts.say("one")
    prompts.say("one")
    screen.timers[0]()
    assert prompts.message is not None, "the second has just come, though it says the same"
    screen.timers[1]()
    assert prompts.message is None


def test_a_message_is_dropped(screen: Screen, prompts: Prompts) -> None:
    prompts.drop_message()
    assert screen.shown == 0
    prompts.say("no", refused=True)
    assert prompts.message is not None
    assert prompts.message.refused
    prompts.drop_message()
    assert (prompts.message, screen.shown) == (None, 2)


@pytest.mark.parametrize(("answer", "travels", "plays"), [("x", False, True), (None, False, True), ("x", True, False), (None, True, True)])
def test_time_waits_for_who_writes(screen: Screen, prompts: Prompts, answer: str | None, travels: bool, plays: bool) -> None:
    written: list[str] = []
    prompts.session.playback.play()
    prompts.ask_text("Title", "about", "", lambda _: None, written.append, travels=travels)
    dialog, then = screen.pushed[-1]
    assert isinstance(dialog, TextLineDialog)
    assert not prompts.session.playback.playing
    assert then is not None
    then(answer)
    assert (prompts.session.playback.playing, written) == (plays, [] if answer is None else [answer])
    assert screen.refreshed == 1


def test_what_stood_still_goes_on_standing_still(screen: Screen, prompts: Prompts) -> None:
    prompts.session.history.pause()
    prompts.ask_text("Title", "about", "", lambda _: None, lambda _: None)
    then = screen.pushed[-1][1]
    assert then is not None
    then("x")
    assert not prompts.session.playback.playing


def test_questions_and_closer_looks_come_up(screen: Screen, prompts: Prompts) -> None:
    prompts.ask(Question("Quit", "Really?", ()), lambda _: None, leaves=True)
    prompts.show_details("Help", lambda width: [])
    assert [type(dialog) for dialog, _ in screen.pushed] == [QuestionDialog, DetailsDialog]
    assert screen.pushed[0][0].asks_to_leave


async def test_a_long_message_takes_several_lines_and_gives_them_back() -> None:
    said = "the first half of a message that is longer than the screen is wide; the second half, which says what to do about it"
    async with playing(size=(80, 24)) as (app, main_screen, pilot):
        before = screen_text(app)
        main_screen.prompts.say(said, refused=True)
        await pilot.pause()
        assert said in " ".join(" ".join(screen_text(app).splitlines()[-2:]).removeprefix(" ✕").split())
        assert len(screen_text(app).splitlines()) == len(before.splitlines())
        main_screen.prompts.say("short")
        await pilot.pause()
        assert "► short" in screen_text(app).splitlines()[-1]
        main_screen.prompts.drop_message()
        await pilot.pause()
        assert screen_text(app).splitlines()[-4:] == before.splitlines()[-4:]
        await pilot.resize_terminal(80, 20)
        main_screen.prompts.say(said)
        await pilot.pause()
        assert screen_text(app).splitlines()[-1].rstrip().endswith("…"), "all panels stay, although the message is cut"
