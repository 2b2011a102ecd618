"""Time travel, saving, and copying, through keys and through the palette, with the real cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.command import CommandPalette
from textual.pilot import Pilot
from textual.widgets import Input

from core.kafka.broker.broker_state import BrokerState
from core.kafka.events import DETAIL
from core.lab import acts
from core.sim.units import SECOND
from scenarios.language.script import load_script
from tests.tui.app.test_playground import playing, said, screen_text, searched
from tui.app.playground import Playground
from tui.dialogs.details import DetailsDialog
from tui.dialogs.question import QuestionDialog
from tui.dialogs.text_line import TextLineDialog
from tui.main_screen.screen import MainScreen


async def settled(main_screen: MainScreen, pilot: Pilot[int]) -> None:
    """Wait until the jump through time is complete."""
    await pilot.pause()
    while main_screen.session.playback.moving:
        await pilot.pause(0.02)
    main_screen.refresh_view()
    await pilot.pause()


async def write(app: Playground, pilot: Pilot[int], text: str) -> None:
    await pilot.pause()
    assert isinstance(app.screen, TextLineDialog)
    app.screen.query_one(Input).value = text
    await pilot.press("enter")
    await pilot.pause()


@asynccontextmanager
async def killed(**wanted: object) -> AsyncIterator[tuple[Playground, MainScreen, Pilot[int]]]:
    """Return a session in which b2 died after two seconds, twenty seconds later."""
    async with playing(**wanted) as (app, main_screen, pilot):  # type: ignore[arg-type]
        main_screen.session.history.replay_run.advance_to(2 * SECOND)
        main_screen.refresh_view()
        await pilot.press("right", "k")
        main_screen.session.history.replay_run.advance_to(22 * SECOND)
        main_screen.refresh_view()
        yield app, main_screen, pilot


async def by_palette(app: Playground, main_screen: MainScreen, pilot: Pilot[int], label: str) -> None:
    """Choose an action in the command palette, as a user does who does not know its key."""
    await pilot.press("colon")
    app.screen.query_one(Input).value = label
    await searched(app, pilot)
    for _ in range(3):
        if isinstance(app.screen, CommandPalette):
            await pilot.press("enter")


@pytest.mark.parametrize("palette", [False, True])
async def test_stepping_back_undoes_an_act_and_forward_does_it_again(palette: bool) -> None:
    async with playing() as (app, main_screen, pilot):
        before = main_screen.session.history.view()
        await pilot.press("right", "k")
        after = main_screen.session.history.view()
        if palette:
            await by_palette(app, main_screen, pilot, "step back")
        else:
            await pilot.press("comma")
        await settled(main_screen, pilot)
        assert main_screen.view == before
        assert main_screen.session.history.in_the_past
        await pilot.press("right_square_bracket")
        await settled(main_screen, pilot)
        assert main_screen.view == after
        assert len(main_screen.session.history.branches) == 1


@pytest.mark.parametrize(
    ("label", "title"),
    [
        ("go to", "Go to"),
        ("bookmark", "Bookmark"),
        ("stop when", "Stop when"),
        ("back to when", "Back to when"),
        ("save", "Save the session"),
    ],
)
async def test_what_asks_for_a_line_does_so_from_the_palette_too(label: str, title: str) -> None:
    async with playing() as (app, main_screen, pilot):
        await by_palette(app, main_screen, pilot, label)
        assert isinstance(app.screen, TextLineDialog)
        assert app.screen._heading == title
        await pilot.press("escape")
        assert app.screen is main_screen


async def test_back_to_the_notable_event_before() -> None:
    async with killed() as (_, main_screen, pilot):
        marks = [
            mark for mark in main_screen.session.history.branch.marks if mark.seq < main_screen.session.history.replay_run.event_tap.seq
        ]
        await pilot.press("left_square_bracket")
        await settled(main_screen, pilot)
        assert main_screen.view.seq >= marks[-1].seq
        assert main_screen.view.now == marks[-1].time
        for _ in range(3):
            await pilot.press("left_square_bracket")
            await settled(main_screen, pilot)
        ring = main_screen.session.history.event_buffer.ring(DETAIL)
        assert ring.at(ring.total - 1)[0] == main_screen.view.seq
        assert main_screen.view.now < marks[-1].time


async def test_go_to_a_time_or_an_event_and_a_wrong_one_is_reported() -> None:
    async with killed() as (app, main_screen, pilot):
        await pilot.press("g")
        await write(app, pilot, "2500ms")
        await settled(main_screen, pilot)
        assert main_screen.view.now == 2_500_000
        assert main_screen.view.broker(2).state is BrokerState.STOPPED
        await pilot.press("g")
        await write(app, pilot, "#9999999")
        assert isinstance(app.screen, TextLineDialog)
        assert "there is no event" in screen_text(app)
        await write(app, pilot, "#40")
        await settled(main_screen, pilot)
        assert main_screen.view.seq == 40
        await pilot.press("g")
        await write(app, pilot, "12s")
        await settled(main_screen, pilot)
        assert main_screen.view.now == 12 * SECOND
        assert main_screen.view.broker(2).fenced


async def test_acting_in_the_past_says_so_and_jump_goes_to_the_old_future() -> None:
    async with killed() as (app, main_screen, pilot):
        end = main_screen.session.history.view()
        await pilot.press("g")
        await write(app, pilot, "1500ms")
        await settled(main_screen, pilot)
        assert "before the end" in screen_text(app)
        await pilot.press("z")
        assert "branch 2" in said(app, main_screen)
        assert main_screen.view.broker(2).state is BrokerState.PAUSED
        await pilot.press("j")
        await pilot.pause()
        assert isinstance(app.screen, QuestionDialog)
        assert "end of main" in screen_text(app)
        await pilot.press("2")
        await settled(main_screen, pilot)
        assert main_screen.view == end
        assert main_screen.session.history.branch.name == "main"


async def test_bookmark_jump_and_difference() -> None:
    async with playing() as (app, main_screen, pilot):
        await pilot.press("D")
        await pilot.pause()
        assert isinstance(app.screen, TextLineDialog), "nothing was left or marked yet, so any moment is asked for"
        await pilot.press("escape", "B")
        await write(app, pilot, "all is well")
        marked = main_screen.session.history.view()
        await pilot.press("right", "k")
        main_screen.session.history.replay_run.advance_to(20 * SECOND)
        main_screen.refresh_view()
        await pilot.press("D")
        await pilot.pause()
        assert "1 bookmark all is well, at 00:01.000" in screen_text(app)
        await pilot.press("1")
        await pilot.pause()
        assert isinstance(app.screen, DetailsDialog)
        text = screen_text(app)
        assert "all is well" in text
        assert "running → stopped, fenced" in text
        assert "leader b2 → b3" in text
        assert "ISR [1,2,3] → [1,3]" in text
        await pilot.press("escape", "j", "2")
        await settled(main_screen, pilot)
        assert main_screen.view == marked


async def test_stop_when_a_condition_holds_and_back_to_when() -> None:
    async with playing() as (app, main_screen, pilot):
        await pilot.press("right", "k", "w")
        await write(app, pilot, "isr(orders-0) <")
        assert isinstance(app.screen, TextLineDialog), "a wrong condition is not taken"
        await write(app, pilot, "urp > 0")
        await settled(main_screen, pilot)
        first = main_screen.view
        assert any(len(p.isr) < 3 for p in first.partitions)
        assert not main_screen.session.playback.playing
        main_screen.session.history.replay_run.advance_to(25 * SECOND)
        main_screen.refresh_view()
        await pilot.press("W")
        await write(app, pilot, "urp > 0")
        await settled(main_screen, pilot)
        assert main_screen.view == first
        await pilot.press("W")
        await write(app, pilot, "lost > 0")
        await settled(main_screen, pilot)
        assert "this condition did not become true at any earlier moment: lost > 0" in said(app, main_screen)
        assert main_screen.view == first


async def test_save_and_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with killed() as (app, main_screen, pilot):
        await pilot.press("S")
        await write(app, pilot, "no-such-directory/a.yaml")
        assert "there is no directory" in screen_text(app)
        await write(app, pilot, "a.yaml")
        assert "isrlab run a.yaml" in said(app, main_screen)
        assert acts.Kill(2) in [act for step in load_script("a.yaml").steps for act in step.acts]
        await pilot.press("y")
        assert app.clipboard.startswith("Topic: orders\tPartition: 0\tLeader: ")
        await pilot.press("tab", "up", "y")
        assert main_screen.context().event is not None
        assert f"#{main_screen.context().event[0]} " in app.clipboard  # type: ignore[index]


async def test_a_way_back_shows_how_far_it_is_and_space_gives_it_up() -> None:
    async with playing(until=30 * SECOND) as (app, main_screen, pilot):
        before = main_screen.session.history.view()
        main_screen.session.playback._budget = 0.0005
        main_screen._work_later = lambda: None  # type: ignore[method-assign]  # a slice in each frame, no more
        await pilot.press("g")
        await write(app, pilot, "20s")
        assert main_screen.session.history.progress is not None
        assert "going to 00:20.000" in screen_text(app)
        assert "Esc cancels" in screen_text(app)
        await pilot.press("space")
        await pilot.pause()
        assert main_screen.session.history.progress is None
        assert main_screen.session.history.view() == before


@pytest.mark.parametrize(("moment", "then"), [("1s", "at 00:01.000"), ("#30", "after event"), ("21s", "at 00:21.000")])
async def test_any_moment_can_be_compared_with(moment: str, then: str) -> None:
    async with killed() as (app, main_screen, pilot):
        await pilot.press("g")
        await write(app, pilot, "5s")
        await settled(main_screen, pilot)
        here = main_screen.session.history.view()
        await pilot.press("D", "a")
        await write(app, pilot, moment)
        for _ in range(500):
            if isinstance(app.screen, DetailsDialog) and "then: " in screen_text(app):
                break
            await pilot.pause(0.02)
        assert then in screen_text(app)
        assert "running → stopped" in screen_text(app) or "stopped, fenced → stopped" in screen_text(app)
        assert main_screen.session.history.view() == here, "looking elsewhere moved nothing"
        await pilot.press("escape", "D", "a")
        await write(app, pilot, "9h")
        assert "this branch ends at 00:22.000" in screen_text(app)
