"""What a frame writes to the terminal, held against what the screen would be if all of it were painted anew."""

from __future__ import annotations

from typing import Any

import pytest
from rich.segment import Segment
from textual.strip import Strip

from core.acts import Kill
from core.units import SECOND
from tests.tui.test_app import playing
from tui.app import Playground
from tui.board import Board
from tui.panels.lines import Written, apart

Cell = tuple[str, object]


def cells(strip: Strip) -> list[Cell]:
    """Every character of a line with its style."""
    return [(char, segment.style) for segment in strip for char in segment.text]


class Seen:
    """A terminal: what Textual paints is taken over as a whole, what the screen writes itself cell by cell."""

    def __init__(self, app: Playground, monkeypatch: pytest.MonkeyPatch) -> None:
        self.app = app
        self.pieces = 0
        self.rows: list[list[Cell]] = []
        self.all()
        monkeypatch.setattr(app, "_display", self.display)

    def now(self) -> list[list[Cell]]:
        """What a full paint shows."""
        return [cells(strip) for strip in self.app.screen._compositor.render_strips()]

    def all(self) -> None:
        self.rows = self.now()

    def display(self, screen: Any, update: object) -> None:
        if not isinstance(update, Written):
            self.all()
            return
        for x, y, strip in update.pieces:
            written = cells(strip)
            assert all(len(char) == 1 for char, _ in written)
            self.rows[y][x : x + len(written)] = written
            self.pieces += 1


def play_on(board: Board, frames: int) -> None:
    for _ in range(frames):
        board._last_frame -= 1 / 20
        board._frame()


@pytest.mark.parametrize(
    ("size", "palette", "ascii_only"), [((120, 40), "dark", False), ((200, 60), "plain", True), ((60, 12), "light", False)]
)
async def test_what_is_written_is_what_a_full_paint_shows(
    size: tuple[int, int], palette: str, ascii_only: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with playing(size=size, palette=palette, ascii_only=ascii_only, until=SECOND) as (app, board, pilot):
        seen = Seen(app, monkeypatch)
        board.session.play()
        for turn in range(6):
            if turn == 2:
                board.session.do(Kill(2))
            play_on(board, 12)
            assert seen.rows == seen.now()
        assert seen.pieces > 20
        board.session.pause()
        await pilot.press("right", "down", "tab")
        await pilot.pause()
        board.refresh_view()
        assert seen.rows == seen.now()


async def test_over_and_under_a_dialog_nothing_is_written_beside_textual(monkeypatch: pytest.MonkeyPatch) -> None:
    async with playing() as (app, board, pilot):
        board.session.play()
        await pilot.press("question_mark")
        await pilot.pause()
        seen = Seen(app, monkeypatch)
        play_on(board, 10)
        await pilot.pause()
        assert seen.pieces == 0
        assert app.screen is not board


def test_lines_are_apart_where_they_differ() -> None:
    one, two, three, other = (Segment(text) for text in ("a", "bb", "c", "x"))
    assert apart([one, two, three], [one, two, three]) == (3, 3)
    assert apart([one, two, three], [one, other, other, three]) == (1, 3)
    assert apart([one, one], [one, one, one]) == (2, 3)
    assert apart([], [one]) == (0, 1)
