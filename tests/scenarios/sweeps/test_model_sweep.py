"""Sweeps over models: the same faults in each system, the same result with any workers, and the mistakes that a grid can have."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from core.models import acts
from scenarios.errors import InputError
from scenarios.sweeps.execution.checkpoint import Checkpoint
from scenarios.sweeps.execution.rounds import sweep_runs
from scenarios.sweeps.execution.workers import ThisProcess
from scenarios.sweeps.grid.grid import Grid
from scenarios.sweeps.grid_file.model_sections import only_models
from scenarios.sweeps.grid_file.read_grid import grid_named, read_grid
from scenarios.sweeps.output import page as sweep_page
from scenarios.sweeps.output.interval_chart import text_picture
from scenarios.sweeps.output.presentations import presentation_of
from scenarios.sweeps.output.result_files import cells_csv, json_of, runs_csv
from scenarios.sweeps.simulation.models.experiment import MODELS, ModelCell, RandomFaults, draw_steps
from scenarios.sweeps.simulation.runs import Chunk, from_text, simulate_chunk, to_text
from scenarios.sweeps.statistics.cell_results import SweepResult
from tests.spark_reports.output.browser import browser, chromium
from tui.commands.run_sweep import main_sweep
from tui.rendering import sweep_table

TEXT = """\
sweep: small
about: A small one <b>.
models:
  mysql: {model: mysql, settings: {read-only: true}}
  raft: {model: quorum}
  acks-1: {model: kafka, settings: {acks: 1}}
faults:
  crash: {every: 8s, lasts: {from: 2s, to: 6s}}
  isolate: {every: 8s, lasts: 3s}
  slow-disk: {every: 20s, lasts: 2s, delay: 100ms}
horizon: 20s
load: {writes: 40ms, reads: 80ms}
operator: 2s
"""


def grid_of(text: str = TEXT) -> Grid[ModelCell]:
    return read_grid(text, "small.yaml")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[SweepResult[ModelCell], Path]:
    """Return the result of four runs of each system. The finished chunks are in a directory."""
    out = tmp_path_factory.mktemp("sweep")
    result, _ = sweep_runs(grid_of(), 4, ThisProcess(), Checkpoint(out, grid_of()))
    return result, out


def test_a_seed_has_the_same_faults_in_all_systems(done: tuple[SweepResult[ModelCell], Path]) -> None:
    grid, (result, _) = grid_of(), done
    count, steps = draw_steps(grid, 1)
    assert count == len([act for _, act in steps if isinstance(act, acts.Kill | acts.Isolate)]) + sum(
        isinstance(act, acts.SlowDisk) and act.write_time > 1_000 for _, act in steps
    )
    assert steps == draw_steps(grid, 1)[1] != draw_steps(grid, 2)[1]
    assert {RandomFaults(grid, cell, 1).fault.steps for cell in grid.cells} == {steps}
    assert len({cell.totals["faults"] for cell in result.cells}) == 1
    assert result.cells[0].totals["faults"] == sum(draw_steps(grid, seed)[0] for seed in range(1, 5))


def test_each_system_keeps_its_own_promise(done: tuple[SweepResult[ModelCell], Path]) -> None:
    cells = {cell.cell.name: cell for cell in done[0].cells}
    assert cells["raft"].most["lost_acknowledged"] == 0
    assert cells["mysql"].most["lost_acknowledged"] > 0
    for cell in cells.values():
        assert (cell.totals["phantom"], cell.runs, cell.loss.value) == (0, 4, len(cell.losing) / 4)
        assert cell.loss.low <= cell.loss.value <= cell.loss.high
        down = cell.means["write_down"]
        assert 0 <= down.low <= down.value <= down.high <= 1
        assert cell.latencies[0] is not None
    assert cells["raft"].totals["bytes_sent"] > 0


def test_kept_chunks_and_rows_through_spark_are_the_same_runs(done: tuple[SweepResult[ModelCell], Path]) -> None:
    class NoWorkers(ThisProcess):
        def run(self, grid, chunks):  # type: ignore[no-untyped-def]
            raise AssertionError("everything is kept")

    grid, (result, out) = grid_of(), done
    again, runs = sweep_runs(grid, 4, NoWorkers(), Checkpoint(out, grid))
    assert cells_csv(again) == cells_csv(result)
    lines = runs_csv(grid, runs).splitlines()
    assert len(lines) == 13
    assert lines[0].startswith("cell,seed,faults,acked,")
    chunk = simulate_chunk(grid, Chunk(2, 1, 1))
    sent = from_text(grid, to_text(chunk))
    assert sent.runs == chunk.runs == tuple(run for run in runs if (run.cell, run.seed) == (2, 1))


def test_what_is_shown(done: tuple[SweepResult[ModelCell], Path]) -> None:
    result, _ = done
    table = io.StringIO()
    sweep_table.render(result, table)
    text = table.getvalue()
    shown = presentation_of(result.grid)
    assert {len(shown.numbers(cell)) for cell in result.cells} == {len(shown.headings)}, "each number has a heading"
    assert all(cell.cell.name in text for cell in result.cells)
    picture = text_picture(result.cells, shown.panels(result))
    assert all(len(line) <= 80 for line in picture)
    assert [line[:5] for line in picture[1:4]] == ["  1 │", "  2 │", "  3 │"], "a row for each system, in which nothing overlaps"
    page = sweep_page.render(result)
    assert page.count('"><title>1  mysql</title>') == 2 * 3  # three panels for desktops and for phones
    assert "A small one &lt;b&gt;." in page
    assert not any(way in page for way in ("src=", "href=", "url(", "@import", "http:", "https:"))
    rows = json.loads(json_of(result))["cells"]
    assert [row["name"] for row in rows] == ["mysql", "raft", "acks-1"]
    assert rows[1]["loss"] == 0


@browser
def test_in_a_browser_the_page_is_drawn(done: tuple[SweepResult[ModelCell], Path], tmp_path: Path) -> None:
    page = tmp_path / "sweep.html"
    page.write_text(sweep_page.render(done[0]), encoding="utf-8")
    opened = chromium(tmp_path, page, f"--screenshot={tmp_path / 'shot.png'}")
    assert "CONSOLE" not in opened.stderr, opened.stderr


def test_models_can_be_chosen() -> None:
    grid = only_models(grid_of(), ["raft", "kafka", "raft"])
    assert [(cell.number, cell.name, cell.variant.model) for cell in grid.cells] == [(1, "raft", "quorum"), (2, "kafka", "kafka")]
    with pytest.raises(InputError, match="did you mean"):
        only_models(grid_of(), ["rat"])
    builtin = grid_named("compare-models")
    assert builtin.experiment is MODELS
    assert len(builtin.cells) == 8


@pytest.mark.parametrize(("old", "new", "problem"), [
    ("{model: quorum}", "{model: quorum, settings: {nodes: 2}}", "raft has fewer than 3 servers"),
    ("lasts: 3s", "lasts: 3s, each: nobody", "unknown word 'nobody'"),
    ("  isolate: {every: 8s, lasts: 3s}", "  controller-crash: {every: 8s, lasts: 3s}", "'controller-crash' exists only in Kafka"),
    ("horizon: 20s", "horizon: 2h", "'2h' is out of range"),
    ("writes: 40ms", "writes: 40us", "'40us' is too short"),
    ("sweep: small", "sweeep: small", "unknown word 'sweeep'"),
])  # fmt: skip
def test_mistakes_are_reported(old: str, new: str, problem: str) -> None:
    assert old in TEXT
    with pytest.raises(InputError, match=problem):
        grid_of(TEXT.replace(old, new))


def test_wrong_combinations_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a grid of Kafka's settings"):
        main_sweep("weekly-crashes", models=["kafka"])
    with pytest.raises(InputError, match="name a grid"):
        main_sweep(None)


def test_the_command_writes_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "grid.yaml", tmp_path / "out"
    path.write_text(TEXT.replace("20s", "4s"))
    assert main_sweep(str(path), 1, str(out), processes=0, models=["raft"], quiet=True) == 0
    assert "raft" in capsys.readouterr().out
    assert {"runs.csv", "cells.csv", "cells.json", "sweep.html", "chunks"} <= {file.name for file in out.iterdir()}
