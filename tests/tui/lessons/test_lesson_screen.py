"""Lessons on the screen: where the panel is, what it shows, its keys, and the list of lessons."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.geometry import Region

from scenarios.lessons.lessons_library import find_lesson
from scenarios.lessons.phases import Phase
from scenarios.lessons.places import PlaceKind
from scenarios.lessons.progress import read_progress
from tests.tui.app.test_playground import playing, screen_text
from tui.app.command_palette_names import known
from tui.lessons.lesson_panel import LessonShown, paint_lesson
from tui.lessons.lessons_page import lesson_target
from tui.main_screen.layout import Layout, arrange
from tui.main_screen.lesson_layout import with_lesson
from tui.rendering.palette import palette_of

PANELS = {
    PlaceKind.BROKERS: "brokers", PlaceKind.PARTITIONS: "grid", PlaceKind.EVENTS: "events", PlaceKind.DETAILS: "inspector", PlaceKind.TIME: "header",
    PlaceKind.KEYS: "footer", PlaceKind.PAGE: "page",
}  # fmt: skip


def regions(layout: Layout) -> dict[str, Region]:
    return {name: region for name in Layout.__slots__ if isinstance(region := getattr(layout, name, None), Region)}


@pytest.mark.parametrize("table", [False, True])
@pytest.mark.parametrize("size", [(80, 20), (80, 24), (100, 30), (120, 40), (160, 30), (200, 60)])
@pytest.mark.parametrize("place", list(PANELS))
def test_the_panel_hides_nothing_that_the_lesson_points_at(size: tuple[int, int], place: PlaceKind, table: bool) -> None:
    layout = arrange(*size, brokers=3, partitions=2, replicas=3, scenario=False)
    layout = with_lesson(layout, *size, partitions=2, table=table, place=place, page=place is PlaceKind.PAGE)
    placed = list(regions(layout).items())
    for number, (name, region) in enumerate(placed):
        assert Region(0, 0, *size).contains_region(region), name
        for other, its in placed[number + 1 :]:
            assert not region.overlaps(its), (name, other)
    assert layout.lesson is not None
    assert layout.lesson.height >= (7 if size[1] < 24 else 9)
    pointed = getattr(layout, PANELS[place])
    assert pointed is not None
    assert pointed.height >= (8 if place is PlaceKind.PAGE else 1 if place in (PlaceKind.TIME, PlaceKind.KEYS) else 2)


def test_a_text_that_does_not_fit_says_how_to_see_the_rest() -> None:
    paint = palette_of("plain")
    shown = LessonShown("A title", 1, 2, Phase.READ, "word " * 300, columns=("when", "b1"), table=(("now", "10/0"),))
    lines = [strip.text for strip in paint_lesson(shown, paint, (80, 10))]
    assert "more lines, PgDn" in "\n".join(lines)
    assert all(len(line) == 80 for line in lines)
    lines = [strip.text for strip in paint_lesson(shown, paint, (120, 10))]
    assert any("now   10/0" in line and "word" in line for line in lines), "on a wide screen, the table stands beside the text"


async def test_a_lesson_is_taken_with_its_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    async with playing(lesson_target(find_lesson("hw-and-leo")), size=(80, 24), until=0) as (app, main_screen, pilot):
        assert "step 1 of" in screen_text(app)
        await pilot.press("enter", "enter")
        assert "choose an answer" in screen_text(app)
        await pilot.press("enter")
        assert "✖ LEO 10, HW 10" in screen_text(app)
        assert "burned down" in screen_text(app)
        await pilot.press("down", "enter")
        assert "✓ LEO 10, HW 0" in screen_text(app)
        await pilot.press("enter", "p", *["backspace"] * 3, "1", "0", "enter")
        assert "produce 10    10/0  0/0  0/0" in screen_text(app), "the act of the person fills the table"
        assert "▶Partitions" in screen_text(app)
        await pilot.press("backspace")
        assert "Now do it. Press p" in screen_text(app), "a step back undoes the act"
        assert "0/10" not in screen_text(app)
        await pilot.press("enter")
        assert "produce 10    10/0" in screen_text(app), "the lesson does it, if asked to"
        assert read_progress()["hw-and-leo"].step == 5
        await pilot.press("L")
        assert "● running" in screen_text(app)
        assert "step 5 of" in screen_text(app)
        await pilot.press("enter")
        assert "continue" in screen_text(app)
        await pilot.press("f")
        assert read_progress() == {}
        await pilot.press("enter")
        await pilot.pause()
        assert app.main_screen is not main_screen
        assert "step 1 of" in screen_text(app)
        shown = [name for _, name, _, _ in known(app.main_screen, "heat map")]
        assert "screen map" in shown, "a screen is found by other words than its name"
        found = {name: call for _, name, _, call in known(app.main_screen, "group rebalances lesson")}
        found["lesson group-rebalance"]()
        await pilot.pause()
        assert "m1 and m2, join the group" in screen_text(app), "a lesson starts from the command palette, too"
