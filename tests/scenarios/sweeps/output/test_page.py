"""The page of a sweep in a browser: nothing is loaded, there are no errors, and the picture is drawn in light and dark mode."""

from __future__ import annotations

import io
import json
from pathlib import Path

import attrs
import pytest

from scenarios.io.escaping import escape_json
from scenarios.sweeps.output.page import render
from scenarios.sweeps.output.presentations import presentation_of
from scenarios.sweeps.output.result_files import json_of
from scenarios.sweeps.simulation.kafka.experiment import KafkaRun
from scenarios.sweeps.statistics.cell_results import SweepResult, cell_result
from tests.scenarios.sweeps.grids import small
from tests.spark_reports.output.browser import browser, chromium, pixels
from tui.rendering import sweep_table


def outcome() -> SweepResult:
    """Return the result of four cells with 40 runs each. Every fourth run of cells 1 and 3 lost records."""
    grid = small()
    rows = {
        cell.number: [
            KafkaRun(
                cell=cell.number,
                seed=seed,
                episodes=3,
                simulated_us=10**8,
                faults=3,
                events=1_000,
                acked=10_000,
                failed=0,
                duplicated=0,
                lost=seed % 5 + 2 if seed % 4 == 0 and cell.number in (1, 3) else 0,
                lost_acknowledged=seed % 5 if seed % 4 == 0 and cell.number in (1, 3) else 0,
                lost_read=2 if seed % 4 == 0 and cell.number in (1, 3) else 0,
                losing=(),
                unclean=0,
                read_down_us=seed * 10**6,
                write_down_us=seed * 10**6 * cell.number,
                stalled_us=seed * 3 * 10**6,
                not_whole=0,
                unanswered=0,
                latencies=((300, 9_000), (500, 1_000)),
                waits=(),
            )
            for seed in range(1, 41)
        ]
        for cell in grid.cells
    }
    return SweepResult(grid, tuple(cell_result(grid, cell, rows[cell.number]) for cell in grid.cells))


def test_each_number_has_a_heading() -> None:
    made = outcome()
    shown = presentation_of(made.grid)
    assert {len(shown.numbers(cell)) for cell in made.cells} == {len(shown.headings)}


def test_foreign_text_in_a_grid_stays_text_wherever_it_is_shown() -> None:
    foreign = "x\x1b]52;c;QQ==\x07\u202e\u2028[red]<b>"
    shown = r"x\x1b]52;c;QQ==\x07\u202e\u2028[red]"
    made = outcome()
    cells = tuple(attrs.evolve(cell, cell=attrs.evolve(cell.cell, values=(("acks", foreign), ("=1+1", "-x")))) for cell in made.cells)
    made = attrs.evolve(made, grid=attrs.evolve(made.grid, name=foreign, about=foreign, text=foreign), cells=cells)
    table = io.StringIO()
    sweep_table.render(made, table)
    for text in (render(made), table.getvalue(), escape_json(json_of(made))):
        assert [char for char in text if not char.isprintable() and char != "\n"] == []
    assert render(made).count(shown + "&lt;b&gt;") > 4
    assert shown in table.getvalue()
    assert json.loads(escape_json(json_of(made)))["about"] == foreign


@browser
@pytest.mark.slow
def test_in_a_browser_the_page_is_drawn_light_and_dark_and_loads_nothing(tmp_path: Path) -> None:
    page = tmp_path / "sweep.html"
    page.write_text(render(outcome()), encoding="utf-8")
    text = page.read_text(encoding="utf-8")
    assert not any(way in text for way in ("src=", "href=", "url(", "@import", "http:", "https:")), "nothing to load"
    # Blink's numbers of the two schemes, with the page's paper and the color of its points.
    schemes = {1: ((255, 255, 255), (0x24, 0x57, 0xA6)), 0: ((0x14, 0x18, 0x1D), (0x8A, 0xB4, 0xF8))}
    for scheme, (paper, point) in schemes.items():
        shot = tmp_path / f"{scheme}.png"
        opened = chromium(tmp_path, page, f"--screenshot={shot}", f"--blink-settings=preferredColorScheme={scheme}")
        assert "CONSOLE" not in opened.stderr, opened.stderr
        width, size, lines = pixels(shot.read_bytes())
        colors = [tuple(line[at : at + 3]) for line in lines for at in range(0, width * size, size)]
        assert colors[0] == paper
        assert colors.count(point) > 100, "the points of the cells"
        assert len(set(colors)) > 50
