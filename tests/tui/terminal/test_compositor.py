"""Compares what is written to the terminal directly with what Textual's compositor would paint for the whole screen.

These tests fail when Textual changes the internals that `tui.terminal.compositor` uses.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pytest
from rich.segment import Segment
from textual.geometry import Region
from textual.strip import Strip
from textual.widgets import Label

from core.lab.acts import Kill
from core.sim.units import SECOND
from tests.tui.app.test_playground import playing
from tui.app.playground import Playground
from tui.main_screen.screen import MainScreen
from tui.panels.lines import differing_segments
from tui.terminal import compositor
from tui.terminal.compositor import PaintedUpdate, PanelCompositor

Cell = tuple[str, object]


def cells(strip: Strip) -> list[Cell]:
    """Return every character of a line with its style."""
    return [(char, segment.style) for segment in strip for char in segment.text]


class Seen:
    """A simulated terminal. It accepts whole screens from Textual, and single cells that are written directly."""

    def __init__(self, app: Playground, monkeypatch: pytest.MonkeyPatch) -> None:
        self.app = app
        self.pieces = self.composed = 0
        self.rows: list[list[Cell]] = []
        self.all()
        monkeypatch.setattr(app, "_display", self.display)

    def now(self) -> list[list[Cell]]:
        """Return what Textual's compositor paints for the whole screen."""
        return [cells(strip) for strip in self.app.screen._compositor.render_strips()]

    def forget(self) -> None:
        """Forget the content of the terminal."""
        self.rows = [[("", None)] * len(row) for row in self.rows]

    def all(self) -> None:
        self.rows = self.now()

    def display(self, screen: Any, update: object) -> None:
        if not isinstance(update, PaintedUpdate):
            self.all()
            self.composed += update is not None
            return
        for x, y, strip in update.pieces:
            written = cells(strip)
            assert all(len(char) == 1 for char, _ in written)
            self.rows[y][x : x + len(written)] = written
            self.pieces += 1


def play_on(main_screen: MainScreen, frames: int) -> None:
    for _ in range(frames):
        main_screen._last_frame -= 1 / 20
        main_screen._next_frame()


@pytest.mark.parametrize(
    ("size", "palette", "ascii_only"), [((120, 40), "dark", False), ((200, 60), "plain", True), ((60, 12), "light", False)]
)
async def test_what_is_written_is_what_a_full_paint_shows(
    size: tuple[int, int], palette: str, ascii_only: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with playing(size=size, palette=palette, ascii_only=ascii_only, until=SECOND) as (app, main_screen, pilot):
        seen = Seen(app, monkeypatch)
        main_screen.session.playback.play()
        for turn in range(6):
            if turn == 2:
                main_screen.session.history.do(Kill(2))
            play_on(main_screen, 12)
            assert seen.rows == seen.now()
        assert seen.pieces > 20
        main_screen.session.history.pause()
        await pilot.press("right", "down", "tab")
        await pilot.pause()
        main_screen.refresh_view()
        assert seen.rows == seen.now()


async def test_over_and_under_a_dialog_nothing_is_written_beside_textual(monkeypatch: pytest.MonkeyPatch) -> None:
    async with playing() as (app, main_screen, pilot):
        main_screen.session.playback.play()
        await pilot.press("question_mark")
        await pilot.pause()
        seen = Seen(app, monkeypatch)
        play_on(main_screen, 10)
        await pilot.pause()
        assert seen.pieces == 0
        assert app.screen is not main_screen


@pytest.mark.parametrize("size", [(200, 60), (120, 40), (60, 12)])
async def test_panels_are_repainted_as_they_are_and_gaps_by_textual(size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    async with playing(size=size) as (app, main_screen, pilot):
        await pilot.pause()
        seen = Seen(app, monkeypatch)
        seen.forget()
        for widget in main_screen.walk_children():
            widget.refresh()
        await pilot.pause()
        assert seen.composed == 0
        gap = size[0] == 200
        for row, wanted in zip(seen.rows, seen.now(), strict=True):
            missing = [x for x, (char, _) in enumerate(row) if not char]
            assert len(missing) <= gap
            assert [cell for x, cell in enumerate(row) if x not in missing] == [cell for x, cell in enumerate(wanted) if x not in missing]
        seen.forget()
        main_screen.refresh()
        await pilot.pause()
        assert seen.composed == gap
        assert seen.rows == seen.now()
        seen.forget()
        main_screen.panels.grid.refresh(Region(3, 1, 20, 1))
        await pilot.pause()
        shown = main_screen.panels.grid.region
        at = [(x, y) for y, row in enumerate(seen.rows) for x, (char, _) in enumerate(row) if char]
        assert at == [(shown.x + x, shown.y + 1) for x in range(3, 23)] if shown else not at


async def test_what_lies_over_panels_stays_there(monkeypatch: pytest.MonkeyPatch) -> None:
    async with playing() as (app, main_screen, pilot):
        main_screen.session.playback.play()
        over = Label("over the panels")
        over.styles.position, over.styles.offset = "absolute", (5, 3)
        await main_screen.mount(over)
        await pilot.pause()
        panels = main_screen._compositor
        assert isinstance(panels, PanelCompositor)
        assert panels.places is None
        seen = Seen(app, monkeypatch)
        play_on(main_screen, 10)
        await pilot.pause()
        assert seen.pieces == 0 < seen.composed
        assert any("over the panels" in "".join(char for char, _ in row) for row in seen.rows)
        await over.remove()
        await pilot.pause()
        assert seen.rows == seen.now()
        play_on(main_screen, 10)
        assert seen.pieces > 0
        assert seen.rows == seen.now()


async def test_another_version_of_textual_paints_everything_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compositor, "version", lambda _: "8.9.9")
    async with playing() as (app, main_screen, pilot):
        await pilot.pause()
        assert not isinstance(main_screen._compositor, PanelCompositor)
        assert "does not know Textual 8.9.9" in main_screen.prompts.message.text
        seen = Seen(app, monkeypatch)
        main_screen.session.history.do(Kill(1))
        play_on(main_screen, 10)
        await pilot.pause()
        assert seen.pieces == 0 < seen.composed
        assert seen.rows == seen.now()
        assert any("✕" in "".join(char for char, _ in row) for row in seen.rows)


def test_the_locked_version_of_textual_is_a_tested_one() -> None:
    assert version("textual") in compositor.TESTED


def test_lines_are_apart_where_they_differ() -> None:
    one, two, three, other = (Segment(text) for text in ("a", "bb", "c", "x"))
    assert differing_segments([one, two, three], [one, two, three]) == (3, 3)
    assert differing_segments([one, two, three], [one, other, other, three]) == (1, 3)
    assert differing_segments([one, one], [one, one, one]) == (2, 3)
    assert differing_segments([], [one]) == (0, 1)
