"""Unsaved acts are not discarded without a question, pasted text is not treated as keys, the worst items come first, and acts can be
undone.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.widgets import Input

from core.kafka.ids import TopicPartition
from core.sim.units import SECOND
from scenarios.releases import release_named
from tests.tui.app.test_playground import done, playing, said, screen_text
from tests.tui.dialogs.test_dialogs import at_once
from tests.tui.handlers.test_time_travel import settled
from tui.dialogs.command_palette import TypeAheadCommandPalette
from tui.dialogs.question import QuestionDialog
from tui.dialogs.text_line import TextLineDialog
from tui.session.play_target import PlayTarget


async def test_leaving_asks_if_acts_are_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with playing() as (app, main_screen, pilot):
        await pilot.press("k", "q")
        await pilot.pause()
        assert isinstance(app.screen, QuestionDialog)
        assert "1 act is not saved" in screen_text(app)
        await pilot.press("n")
        assert app.screen is main_screen
        await pilot.press("q", "s")
        assert isinstance(app.screen, TextLineDialog)
        await pilot.press("enter")
        await pilot.pause()
        assert app.return_code == 0
    assert "kill" in Path("session.yaml").read_text()


DIALOGS = {
    "a question": "c",
    "a line to write in": "S",
    "the help": "?",
    "a closer look": "enter",
    "the finder": "ctrl+p",
    "the glossary": "K",
}


@pytest.mark.parametrize("key", DIALOGS.values(), ids=DIALOGS)
@pytest.mark.parametrize("acts", [0, 1])
async def test_ctrl_c_asks_in_every_dialog_as_on_the_main_screen(
    key: str, acts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with playing() as (app, main_screen, pilot):
        await pilot.press(*["k"] * acts, key)
        await pilot.pause()
        dialog = app.screen
        assert dialog is not main_screen
        await pilot.press("ctrl+c")
        await pilot.pause()
        if acts:
            assert app.return_code is None
            assert isinstance(app.screen, QuestionDialog)
            assert "1 act is not saved" in screen_text(app)
            await pilot.press("n")
            assert app.screen is dialog
            await pilot.press("ctrl+c", "ctrl+c")
            await pilot.pause()
        assert app.return_code == 0


@pytest.mark.parametrize("answer", ["n", "g", "s"])
async def test_another_scenario_is_not_started_over_acts_that_are_not_saved(
    answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with playing() as (app, main_screen, pilot):
        await pilot.press("k", "7", "down", "enter", "enter")
        await pilot.pause()
        assert app.main_screen is main_screen
        assert isinstance(app.screen, QuestionDialog)
        assert "1 act is not saved" in screen_text(app)
        await pilot.press(answer)
        if answer == "s":
            assert isinstance(app.screen, TextLineDialog)
            await pilot.press("enter")
        await pilot.pause()
        assert (app.main_screen is main_screen) == (answer == "n")
        assert done(main_screen) == ["kill b1"] or answer != "n"
        assert Path("session.yaml").exists() == (answer == "s")
        await pilot.press("q")
        assert (app.return_code == 0) == (answer != "n"), "a session that has just begun has nothing to save"


async def test_a_session_that_cannot_be_saved_stays_open(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    target = PlayTarget(None, None, release_named("4.1"), record=gone / "drill.yaml")
    async with playing(target) as (app, main_screen, pilot):
        gone.rmdir()
        await pilot.press("k", "7", "down", "enter", "enter")
        await pilot.pause()
        assert app.main_screen is main_screen
        assert "drill.yaml: cannot be written" in said(app, main_screen)
        gone.mkdir()
        await pilot.press("enter", "enter")
        await pilot.pause()
        assert app.main_screen is not main_screen
    assert "kill" in (gone / "drill.yaml").read_text()


@pytest.mark.parametrize("keys", [["q", "q"], ["ctrl+c", "ctrl+c"], ["q", "ctrl+c"]])
async def test_leaving_without_saving_takes_two_keys(keys: list[str]) -> None:
    async with playing() as (app, _board, pilot):
        await pilot.press("k", *keys)
        assert app.return_code == 0


@pytest.mark.parametrize("saved", ["nothing done", "logged", "saved before"])
async def test_it_leaves_at_once_where_nothing_would_be_lost(saved: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    target = PlayTarget(None, None, release_named("4.1"), log=Path("own.jsonl")) if saved == "logged" else None
    async with playing(target) as (app, _board, pilot):
        if saved != "nothing done":
            await pilot.press("k")
        if saved == "saved before":
            await pilot.press("S", "enter")
            await pilot.pause()
        await pilot.press("q")
        assert app.return_code == 0
        app.end_session()


async def test_a_pasted_text_is_taken_by_a_line_only() -> None:
    async with playing() as (app, main_screen, pilot):
        app.post_message(events.Paste("kkq\nk"))
        await pilot.pause()
        assert done(main_screen) == []
        assert "you can paste only into an input line" in said(app, main_screen)
        await pilot.press("w")
        app.post_message(events.Paste("lost > 0\nk"))
        await pilot.pause()
        assert app.screen.query_one(Input).value == "lost > 0"
        await pilot.press("escape", "c")
        app.post_message(events.Paste("2"))
        await pilot.pause()
        assert isinstance(app.screen, QuestionDialog)
        assert not main_screen.view.cut_links


@pytest.mark.parametrize(("key", "screen"), [("w", TextLineDialog), ("colon", TypeAheadCommandPalette)])
async def test_a_text_pasted_while_a_line_comes_up_is_in_it(key: str, screen: type) -> None:
    async with playing() as (app, _board, pilot):
        app.post_message(events.Key(key, ":" if key == "colon" else key))
        app.post_message(events.Paste("lost > 0\nk"))
        await pilot.pause()
        assert isinstance(app.screen, screen)
        assert app.screen.query_one(Input).value == "lost > 0"


async def test_worst_first_goes_to_the_top() -> None:
    async with playing(size=(80, 24)) as (app, main_screen, pilot):
        for _ in range(8):
            await pilot.press("down")
        await pilot.press("right", "k")
        main_screen.session.history.replay_run.advance_to(2 * SECOND)
        main_screen.refresh_view()
        await pilot.press("o")
        order = [partition.tp for partition in main_screen.panels.grid.order]
        assert main_screen.selection.partition == order[0]
        assert f"► {order[0]}" in screen_text(app)
        await pilot.press("pagedown", "o")
        assert main_screen.selection.partition == TopicPartition("orders", 0)


async def test_an_empty_filter_says_so() -> None:
    async with playing() as (app, main_screen, pilot):
        await pilot.press("t")
        assert "no partition is unavailable" in said(app, main_screen)
        assert "No partition is unavailable: press t for the next kafka-topics filter." in screen_text(app)


async def test_undo_goes_to_before_the_last_act_however_much_happened_since() -> None:
    async with playing() as (app, main_screen, pilot):
        await pilot.press("k")
        main_screen.session.history.replay_run.advance_to(5 * SECOND)
        main_screen.refresh_view()
        await pilot.press("right", "z")
        main_screen.session.history.replay_run.advance_to(20 * SECOND)
        main_screen.refresh_view()
        await pilot.press("left_curly_bracket")
        await settled(main_screen, pilot)
        assert main_screen.view.now == 5 * SECOND
        assert done(main_screen) == ["kill b1"]
        await pilot.press("left_curly_bracket")
        await settled(main_screen, pilot)
        assert (main_screen.view.now, done(main_screen)) == (SECOND, [])
        await pilot.press("left_curly_bracket")
        assert "there is nothing to undo" in said(app, main_screen)
        await pilot.press("right_curly_bracket")
        await settled(main_screen, pilot)
        assert done(main_screen) == ["kill b1"]
        await pilot.press("right_curly_bracket")
        await settled(main_screen, pilot)
        assert done(main_screen) == ["kill b1", "pause b2"]
        await pilot.press("left_curly_bracket")
        await settled(main_screen, pilot)
        await pilot.press("d")
        assert done(main_screen) == ["kill b1", "shutdown b2"]
        assert [branch.name for branch in main_screen.session.history.branches] == ["main", "branch 2"]


async def test_going_through_time_leaves_no_message_about_another_moment() -> None:
    async with playing() as (app, main_screen, pilot):
        await pilot.press("k")
        assert "kill b1" in said(app, main_screen)
        await pilot.press("comma")
        await settled(main_screen, pilot)
        assert said(app, main_screen).startswith(" ► undone: kill b1; to redo it, press }")
        await pilot.press("right_curly_bracket")
        await settled(main_screen, pilot)
        assert said(app, main_screen).strip() == "► redone: kill b1"
        main_screen.session.history.replay_run.advance_to(5 * SECOND)
        await pilot.press("right", "z")
        await pilot.press("left_curly_bracket")
        await settled(main_screen, pilot)
        assert "undone: pause b2" in said(app, main_screen)
        await pilot.press("comma")
        await settled(main_screen, pilot)
        assert "undone" not in said(app, main_screen)
        assert "pause b2" not in said(app, main_screen)


async def test_keys_behind_a_question_about_leaving_go_to_it() -> None:
    async with playing() as (app, _board, pilot):
        await pilot.press("k")
        await at_once(app, pilot, "qn")
        assert app.return_code is None
