"""Dialogs receive the keys that are meant for them, however early the keys arrive. Virtual time is paused while the user types."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from core.sim.units import SECOND
from tests.tui.app.test_playground import playing, said, screen_text, searched
from tests.tui.handlers.test_time_travel import settled, write
from tui.actions.context import Option, Question
from tui.app.playground import Playground
from tui.dialogs.command_palette import TypeAheadCommandPalette
from tui.dialogs.question import QuestionDialog
from tui.dialogs.text_line import TextLineDialog
from tui.handlers.record_tracing import paint_trace
from tui.handlers.saving import file_name_error
from tui.rendering.glossary import TERM_WIDTH, Term, paint_term
from tui.rendering.palette import palette_of
from tui.rendering.rows import LEAST_TEXT, Row, wrap


def key(character: str) -> events.Key:
    named = {" ": "space", ":": "colon", ">": "greater_than_sign", "\r": "enter"}
    return events.Key(named.get(character, character), None if character == "\r" else character)


async def at_once(app: Playground, pilot: Pilot[int], text: str) -> None:
    """Type as a fast typist, a paste, or a slow link does: all keys arrive before the first key has an effect."""
    for character in text:
        app.post_message(key(character))
    await pilot.pause()


async def test_what_is_typed_while_a_dialog_comes_up_is_written_into_it() -> None:
    async with playing() as (app, main_screen, pilot):
        await at_once(app, pilot, "wlost > 0")
        assert isinstance(app.screen, TextLineDialog)
        assert app.screen.query_one(Input).value == "lost > 0"
        await pilot.press("space", "o", "r")
        assert app.screen.query_one(Input).value == "lost > 0 or"
        await pilot.press("escape")
        assert not main_screen.session.history.branch.acts[3:], "none of the letters did what it does on the overview"


async def test_what_is_typed_while_the_palette_comes_up_is_looked_for() -> None:
    async with playing() as (app, main_screen, pilot):
        acts, before = len(main_screen.session.history.branch.acts), main_screen.session.playback.playing
        await at_once(app, pilot, ":bookmark")
        assert isinstance(app.screen, TypeAheadCommandPalette)
        assert app.screen.query_one(Input).value == "bookmark"
        await pilot.press("s")
        assert app.screen.query_one(Input).value == "bookmarks"
        await pilot.press("backspace")
        await searched(app, pilot)
        await pilot.press("enter")
        assert isinstance(app.screen, TextLineDialog), "the bookmark's note"
        assert (len(main_screen.session.history.branch.acts), before) == (acts, main_screen.session.playback.playing)


async def test_the_palette_can_close_before_its_search_starts() -> None:
    async with playing() as (app, _main_screen, pilot):
        await pilot.press("colon")
        palette = app.screen
        palette.query_one(Input).value = "bookmark"
        await pilot.pause(0)
        assert isinstance(palette, TypeAheadCommandPalette)
        palette._gather_commands("bookmarks")
        palette.remove_children()
        await pilot.pause()
        assert app._exception is None


async def test_enter_and_answers_that_come_early_count_too() -> None:
    async with playing() as (app, main_screen, pilot):
        await at_once(app, pilot, "g2s\r")
        await settled(main_screen, pilot)
        assert not isinstance(app.screen, TextLineDialog)
        assert main_screen.view.now == 2 * SECOND
        await at_once(app, pilot, "c2")
        assert not isinstance(app.screen, QuestionDialog)
        assert len(main_screen.view.cut_links) == 2, "both ways"


@pytest.mark.parametrize("label", ["any other moment …", "before the last jump, at 00:05.127 after event 1154"])
async def test_a_question_and_what_is_said_of_its_answers_are_never_cut(label: str) -> None:
    note = "a time, or an event by its number, of this branch or of another, however long it takes to say so"
    async with playing(size=(80, 24)) as (app, main_screen, pilot):
        main_screen.put(Question("Compare with", note, (Option("1", label, (), note), Option("2", label, (), refused=note))))
        await pilot.pause()
        shown = [row.split("│")[1].strip() if row.count("│") == 2 else "" for row in screen_text(app).splitlines()]
        said = " ".join(" ".join(shown).replace(label, "").split())
        assert said.count(note) == 3


def of_the_dialog(app: Playground) -> str:
    """Return the words between the left and the right border of the dialog on the screen."""
    return " ".join(" ".join(row.split("│")[1].strip() for row in screen_text(app).splitlines() if row.count("│") >= 2).split())


async def test_dialogs_break_their_lines_again_when_the_terminal_changes_its_size() -> None:
    label, about = "a label that alone is longer than a narrow terminal is wide", "what the question is about, at some length"
    note = "what is said of its answer, also longer than a narrow terminal is wide"
    async with playing(size=(120, 40)) as (app, main_screen, pilot):
        main_screen.put(Question("Compare with", about, (Option("1", label, (), note), Option("2", "short", (), "note"))))
        await pilot.pause()
        assert f"1 {label} {note}" in of_the_dialog(app)
        for size in ((60, 20), (40, 14), (200, 60)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert f"{about} 1 {label} {note}" in of_the_dialog(app), size
        await pilot.resize_terminal(40, 7)
        await pilot.pause()
        assert "… 1 a label that alone" in of_the_dialog(app), "the question leaves room for its answers"
        await pilot.press("escape", "question_mark")
        await pilot.resize_terminal(60, 40)
        await pilot.pause()
        assert "Advance to the next event of any kind, and pause there." in of_the_dialog(app), "the help"
        await pilot.press("escape")
        main_screen.prompts.show_details(
            "Details", lambda width: [Row().add(line, main_screen.paint.text).strip(width) for line in wrap(note, width)]
        )
        await pilot.resize_terminal(120, 20)
        await pilot.pause()
        assert note in screen_text(app), "in one line"
        await pilot.resize_terminal(40, 20)
        await pilot.pause()
        assert note in of_the_dialog(app)


async def test_a_line_of_text_and_its_error_are_on_the_smallest_screen() -> None:
    async with playing(size=(40, 8)) as (app, _main_screen, pilot):
        await pilot.press("w", *"nothing")
        assert "…" in of_the_dialog(app)
        assert "nothing unknown word 'nothing'; did you mean 'not'?" in of_the_dialog(app)


def test_text_beside_something_is_never_narrower_than_20_columns() -> None:
    paint = palette_of("dark")
    narrow = LEAST_TEXT + TERM_WIDTH + 2
    for lines in (
        paint_term(Term("ISR", "in-sync replicas", "the replicas that are not behind, among them the leader"), paint, narrow),
        paint_trace([(" " * TERM_WIDTH, "appended by the leader of the partition")], paint, LEAST_TEXT + TERM_WIDTH - 1),
    ):
        texts = [line.text.strip() for line in lines]
        assert max(map(len, texts)) >= LEAST_TEXT
        assert all("…" not in text for text in texts)


async def test_typing_replaces_what_stands_there_at_first() -> None:
    async with playing() as (app, _board, pilot):
        await at_once(app, pilot, "Sx.yaml")
        assert app.screen.query_one(Input).value == "x.yaml"


@pytest.mark.parametrize("cancelled", [True, False])
async def test_time_stands_still_while_somebody_writes(cancelled: bool) -> None:
    async with playing() as (app, main_screen, pilot):
        await pilot.press("space")
        await pilot.press("B")
        assert not main_screen.session.playback.playing
        here = main_screen.session.history.cluster.now
        await pilot.pause(0.1)
        assert main_screen.session.history.cluster.now == here
        if cancelled:
            await pilot.press("escape")
        else:
            await write(app, pilot, "here")
            assert main_screen.session.history.bookmarks[0].position.time <= main_screen.session.history.cluster.now
        await pilot.pause()
        assert main_screen.session.playback.playing


async def test_a_condition_that_never_holds_is_reported() -> None:
    async with playing() as (app, main_screen, pilot):
        main_screen.session.history.limit = 4 * SECOND
        await pilot.press("w")
        await write(app, pilot, "lost > 0")
        await settled(main_screen, pilot)
        assert "lost > 0: not found up to 00:0" in said(app, main_screen)


DIALOGS = ["c", "S", "w", "B", "?", "enter", "D", "j", ":", "O", "g", "C"]
"""The keys that open a dialog of each type."""


ANSWERS = ["\r", "\x1b", "q", "2", "1", "y"]
"""The keys that are typed three times: keys that every dialog handles, and letters."""

ANSWERED = [
    (opened, answer) for at, opened in enumerate(DIALOGS) for answer in ("\r", "\x1b", *(ANSWERS[2 + (at + each) % 4] for each in range(2)))
]
"""Each dialog with the first two keys, and with two letters in turn."""


@pytest.mark.parametrize(("opened", "answer"), ANSWERED)
async def test_two_keys_of_one_read_answer_a_dialog_once(opened: str, answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with playing() as (app, main_screen, pilot):
        await pilot.press("comma")
        await settled(main_screen, pilot)
        named = {"?": "question_mark", ":": "colon"}
        await pilot.press(named.get(opened, opened))
        assert app.screen is not main_screen
        for _ in range(3):
            app.post_message(events.Key("escape", "\x1b") if answer == "\x1b" else key(answer))
        await pilot.pause()
        assert app._exception is None
        assert main_screen in app.screen_stack or answer == "q", "the second q is the overview's"


async def test_a_dialog_under_another_is_not_answered() -> None:
    async with playing() as (app, main_screen, pilot):
        given: list[str | None] = []
        lower = TextLineDialog("One", "", "", lambda _: None, main_screen.paint)
        app.push_screen(lower, given.append)
        await pilot.pause()
        await pilot.press("a")
        app.push_screen(TextLineDialog("Two", "", "", lambda _: None, main_screen.paint))
        await pilot.pause()
        lower.dismiss("early")
        await pilot.pause()
        assert given == []
        assert len(app.screen_stack) == 3
        await pilot.press("escape", "enter")
        assert given == ["a"]


async def test_keys_that_come_with_the_one_that_leaves_are_nobodys() -> None:
    async with playing() as (app, _board, _pilot):
        for character in "qk?w8c":
            app.post_message(key(character))
    assert app.return_code == 0
    assert app._exception is None


@pytest.mark.parametrize("name", ["a" * 300 + ".yaml", "a\0b.yaml"])
async def test_an_impossible_file_name_is_reported(name: str) -> None:
    assert "not a valid file name" in str(file_name_error(name))
