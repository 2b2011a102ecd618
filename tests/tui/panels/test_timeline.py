"""The timeline: the positions of marks, which mark is shown if several share a cell, and how to go to a mark by key and by mouse."""

from __future__ import annotations

import pytest

from core.kafka.events import KINDS
from core.lab.history.branch import Mark
from core.sim.units import SECOND
from tests.tui.app.test_playground import playing, screen_text
from tui.panels.timeline import KINDS_OF, LOOKS, WORDS, Buckets, axis_of, paint_timeline, span_for
from tui.rendering.palette import COLOR

KILL = Mark(5, 10 * SECOND, "act")
SHRINK = Mark(9, 12 * SECOND, "isr-shrunk")
LOSS = Mark(12, 12 * SECOND, "records-lost")


def strip(marks: list[Mark], size: tuple[int, int], now: int = 15 * SECOND, bookmarks: tuple[tuple[int, str], ...] = ()) -> list[str]:
    buckets = Buckets()
    buckets.take(marks, axis_of(size)[1], span_for(now))
    return [line.text for line in paint_timeline(buckets, bookmarks, now, now, COLOR, size, focused=False, told="")]


def test_every_kind_it_names_exists_and_every_sort_has_a_look() -> None:
    assert set(KINDS_OF) <= set(KINDS)
    assert set(KINDS_OF.values()) | {"bookmark"} == set(LOOKS) == set(WORDS)
    assert len({glyph for glyph, _ in LOOKS.values()}) == len(LOOKS), "told apart without color"


@pytest.mark.parametrize(("end", "span"), [(0, 10), (10, 10), (11, 20), (21, 50), (51, 100), (600, 1000)])
def test_the_span_grows_in_steps(end: int, span: int) -> None:
    assert span_for(end * SECOND) == span * SECOND


def test_marks_stand_at_their_time() -> None:
    width = 11 + 100 + 11
    (line,) = strip([KILL, SHRINK], (width, 1))
    assert line.index("▸") == 11 + 100 * 10 // 20
    assert line.index("▼") == 11 + 100 * 12 // 20
    assert line.index("│") == 11 + 100 * 15 // 20
    assert len(line) == width


def test_the_weightiest_shows_where_two_fall_together_and_lanes_keep_them_apart() -> None:
    (line,) = strip([SHRINK, LOSS], (122, 1))
    assert "✖" in line
    assert "▼" not in line
    lanes = strip([KILL, SHRINK, LOSS], (122, 5), bookmarks=((2 * SECOND, "start"),))
    assert "▸" in lanes[1]
    assert "◆" in lanes[1]
    assert "▼" in lanes[2]
    assert "✖" in lanes[4]
    assert [line.split()[0] for line in lanes[1:]] == ["done", "ISR", "leaders", "harm"]


def test_marks_are_taken_in_once_and_anew_on_another_scale() -> None:
    buckets = Buckets()
    marks = [KILL]
    buckets.take(marks, 100, 20 * SECOND)
    marks.append(SHRINK)
    buckets.take(marks, 100, 20 * SECOND)
    assert [n for n, here in enumerate(buckets.sorts) if here] == [50, 60]
    buckets.take(marks, 50, 20 * SECOND)
    assert [n for n, here in enumerate(buckets.sorts) if here] == [25, 30]
    buckets.take([SHRINK], 50, 20 * SECOND)
    assert [n for n, here in enumerate(buckets.sorts) if here] == [30]


def test_the_chosen_mark_is_where_the_cursor_is() -> None:
    marks = [KILL, SHRINK]
    buckets = Buckets()
    size = (110, 3)
    left, cells = axis_of(size)
    buckets.take(marks, cells, 20 * SECOND)
    for chosen in (*marks, None):
        time = 15 * SECOND if chosen is None else chosen.time
        lines = paint_timeline(buckets, [], 15 * SECOND, 15 * SECOND, COLOR, size, focused=True, told="", chosen=chosen)
        under = {
            at
            for line in lines
            for at, cell in enumerate(cell for part in line for cell in [part.style] * part.cell_length)
            if cell is not None and cell.bgcolor == COLOR.cursor.bgcolor
        }
        assert under == {left + time * cells // (20 * SECOND)}


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_keys_choose_a_mark_and_enter_goes_there(size: tuple[int, int]) -> None:
    async with playing(size=size, until=2 * SECOND) as (app, main_screen, pilot):
        await pilot.press("k", "N")
        while main_screen.session.playback.moving:
            await pilot.pause(0.05)
        kill = next(mark for mark in reversed(main_screen.session.history.branch.marks) if mark.kind == "act")
        main_screen.panels.timeline.focus()
        await pilot.pause()
        for _ in range(30):
            await pilot.press("left")
            if main_screen.panels.timeline.mark == kill:
                break
        assert "kill b1  ⏎ goes to the event" in screen_text(app)
        await pilot.press("enter")
        while main_screen.session.playback.moving:
            await pilot.pause(0.05)
        assert main_screen.session.history.replay_run.position.seq >= kill.seq
        assert main_screen.view.now == kill.time
        assert main_screen.session.history.in_the_past


async def test_a_click_goes_to_its_time() -> None:
    async with playing(until=8 * SECOND) as (_app, main_screen, pilot):
        left, cells = axis_of((120, 3))
        await pilot.click("#timeline", offset=(left + cells // 2, 1))
        while main_screen.view.now == 8 * SECOND or main_screen.session.playback.moving:  # a busy machine handles the click later
            await pilot.pause(0.05)
        assert abs(main_screen.view.now - 5 * SECOND) < SECOND // 5


def test_where_steps_take_no_time_the_axis_counts_events() -> None:
    assert [span_for(end, True) for end in (0, 20, 21, 51, 101)] == [20, 20, 50, 100, 200]
    buckets = Buckets()
    size = (111, 1)
    _, cells = axis_of(size)
    marks = [Mark(4, 0, "act"), Mark(26, 0, "truncated"), Mark(33, 0, "records-lost")]
    buckets.take(marks, cells, span_for(37, True), True)
    (line,) = paint_timeline(buckets, [(10, "m1 is committed")], 37, 37, COLOR, size, focused=False, told="")
    assert line.text.startswith(" #37 ")
    assert line.text.rstrip().endswith(" #50")
    glyphs = [(glyph, at) for at, glyph in enumerate(line.text) if glyph in "▸◆◄✖│"]
    assert [glyph for glyph, _ in glyphs] == ["▸", "◆", "◄", "✖", "│"], "each in a cell of its own"
    assert line.cell_length == 111
