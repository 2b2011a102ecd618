"""Saving a session as an event log: the bytes are those that `--log` writes, `replay` agrees, and no file is overwritten without a
question.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from core.sim.units import SECOND
from scenarios import catalogue
from scenarios.logs.replay import replay
from scenarios.releases import release_named
from tests.tui.app.test_playground import playing, said, screen_text
from tests.tui.handlers.test_time_travel import settled, write
from tui.dialogs.question import QuestionDialog
from tui.dialogs.text_line import TextLineDialog
from tui.session.loading import load_session
from tui.session.play_target import PlayTarget

OWN = "own.jsonl"


async def test_a_log_saved_from_a_branch_is_the_one_that_was_written_as_it_went(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    target = PlayTarget(None, None, release_named("4.1"), log=Path(OWN))
    async with playing(target) as (app, main_screen, pilot):
        await pilot.press("k")
        main_screen.session.history.replay_run.advance_to(12 * SECOND)
        main_screen.refresh_view()
        await pilot.press("comma")
        await settled(main_screen, pilot)
        await pilot.press("right", "z")
        main_screen.session.history.replay_run.advance_to(14 * SECOND)
        main_screen.refresh_view()
        await pilot.press("comma", "comma")
        await settled(main_screen, pilot)
        for name in ("saved.jsonl", "saved.jsonl.zst"):
            await pilot.press("S")
            await write(app, pilot, name)
            await settled(main_screen, pilot)
            assert f"saved as {name}: {main_screen.session.history.end.seq:,} events" in said(app, main_screen)
            assert replay(name).same
        assert len(main_screen.session.history.branches) == 2
        assert main_screen.session.history.in_the_past, "saving moved nothing"
        main_screen.session.history.close()
    assert (tmp_path / "saved.jsonl").read_bytes() == (tmp_path / OWN).read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [OWN, "saved.jsonl", "saved.jsonl.zst"]


async def test_a_scenario_played_by_hand_is_saved_as_a_log_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scenario = catalogue.load("e1-data-loss")
    async with playing(PlayTarget(scenario, scenario.spec, release_named("0.10.2")), until=0) as (app, main_screen, pilot):
        for _ in range(8):
            await pilot.press("n")
        await pilot.press("S")
        await write(app, pilot, "steps.jsonl")
        await settled(main_screen, pilot)
        replayed = replay("steps.jsonl")
        assert replayed.same
        assert "saved as steps.jsonl" in said(app, main_screen)


async def test_nothing_is_overwritten_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("mine.yaml", "mine.jsonl"):
        Path(name).write_text("precious")
    async with playing() as (app, main_screen, pilot):
        for name in ("mine.yaml", "mine.jsonl"):
            await pilot.press("S")
            await write(app, pilot, name)
            assert isinstance(app.screen, QuestionDialog)
            assert f"{name} exists" in screen_text(app)
            await pilot.press("escape")
            assert Path(name).read_text() == "precious"
        await pilot.press("S")
        await write(app, pilot, "mine.jsonl")
        await pilot.press("n")
        await pilot.pause()
        assert isinstance(app.screen, TextLineDialog)
        await write(app, pilot, "mine.jsonl")
        await pilot.press("o")
        await settled(main_screen, pilot)
        assert replay("mine.jsonl").same


async def test_a_log_that_is_given_up_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with playing(until=20 * SECOND) as (app, main_screen, pilot):
        main_screen.session.playback._budget = 0.0005
        main_screen._work_later = lambda: None  # type: ignore[method-assign]  # a slice in each frame, no more
        await pilot.press("S")
        await write(app, pilot, "long.jsonl")
        assert "writing long.jsonl" in screen_text(app)
        await pilot.press("space")
        await pilot.pause()
        assert "canceled; nothing is written" in said(app, main_screen)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["session", "session.zst", "session.json", "nowhere/session.yaml"])
async def test_a_wrong_file_name_is_reported(name: str) -> None:
    async with playing() as (app, _board, pilot):
        await pilot.press("S")
        await write(app, pilot, name)
        assert "ends in .yaml" in screen_text(app) or "there is no directory" in screen_text(app)


def test_its_own_log_is_not_written_twice(tmp_path: Path) -> None:
    loaded = load_session(PlayTarget(None, None, release_named("4.1"), log=tmp_path / OWN))
    assert loaded.log == tmp_path / OWN
    loaded.session.history.close()
