"""A sweep for rare losses from end to end: the same bytes with any workers, and scenarios that repeat its losses."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import attrs
import pytest
from pyarrow import parquet

from scenarios import catalogue
from scenarios.errors import InputError
from scenarios.releases import release_named
from scenarios.running.runner import Run as ScenarioRun
from scenarios.sweeps.execution.checkpoint import Checkpoint
from scenarios.sweeps.execution.process_workers import ProcessWorkers
from scenarios.sweeps.execution.rounds import sweep_runs
from scenarios.sweeps.execution.workers import ThisProcess
from scenarios.sweeps.grid.grid import Grid
from scenarios.sweeps.grid_file.read_grid import read_grid
from scenarios.sweeps.output.interval_chart import Panel, picture
from scenarios.sweeps.output.presentations import presentation_of
from scenarios.sweeps.output.result_files import write_results
from scenarios.sweeps.statistics.cell_results import SweepResult
from scenarios.sweeps.statistics.estimates import Estimate
from tests.scenarios.sweeps.grids import RARE
from tui.commands.run_sweep import main_sweep
from tui.rendering import sweep_table

FILES = ("runs.csv", "cells.csv", "cells.json", "strata.csv", "sweep.html")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[SweepResult, Path]:
    """Return four runs of two cells, executed by one process, and their files."""
    out, grid = tmp_path_factory.mktemp("rare"), read_grid(RARE, "rare.yaml")
    result, every = sweep_runs(grid, 4, ThisProcess(), Checkpoint(out, grid))
    write_results(out, result, every)
    return result, out


def test_processes_and_kept_chunks_write_the_same_bytes(done: tuple[SweepResult, Path], tmp_path: Path) -> None:
    result, out = done
    grid: Grid = result.grid
    sweep_runs(grid, 2, ProcessWorkers(2), Checkpoint(tmp_path, grid))
    again, every = sweep_runs(grid, 4, ThisProcess(), Checkpoint(tmp_path, grid))
    write_results(tmp_path, again, every)
    assert all((tmp_path / name).read_bytes() == (out / name).read_bytes() for name in FILES)


def test_what_is_written_and_shown(done: tuple[SweepResult, Path]) -> None:
    result, out = done
    one, two = result.cells
    assert (one.losing != (), two.losing) == (True, ())
    assert one.loss.low < one.loss.value < one.loss.high
    rows = list(csv.DictReader((out / "strata.csv").read_text().splitlines()))
    assert [(row["cell"], row["at_once"], row["simulated"]) for row in rows] == [(c, k, "4") for c in "12" for k in "12"]
    assert float(rows[1]["losses_low"]) < float(rows[1]["losses"]) < float(rows[1]["losses_high"])
    assert float(rows[1]["frequency_low"]) < float(rows[1]["expected"]) < float(rows[1]["frequency_high"])
    assert (float(rows[3]["losses"]), float(rows[3]["losses_high"]) > 0) == (0, True)
    assert [cell["losing_runs"] for cell in json.loads((out / "cells.json").read_text())["cells"]] == [len(one.losing), 0]
    assert parquet.read_table(out / "runs.parquet").to_pylist()[0]["simulated"] == [1, 2]
    shown = presentation_of(result.grid)
    assert {len(shown.numbers(cell)) for cell in result.cells} == {len(shown.headings)}
    table = io.StringIO()
    sweep_table.render(result, table)
    assert "by the formula" in table.getvalue()
    assert "2+: 0 of 4 (≤ " in table.getvalue()
    assert (out / "sweep.html").read_text().count("<svg") == 2
    long = attrs.evolve(one, cell=attrs.evolve(one.cell, name="unclean.leader.election.enable true, min.insync.replicas 2, acks all"))
    assert "1  unclean.lea… true, min.insync.… 2, acks all" in picture([long], shown.panels(result), "")
    same = Panel("losses", lambda _: Estimate(0.1, 0.1, 0.1), str, logarithmic=True)
    assert {">0.1<", ">1.0<"} <= set(re.findall(">[0-9.]+<", picture([one], [same], ""))), "an axis has at least a whole decade"


def test_a_loss_is_there_as_a_scenario_that_holds(done: tuple[SweepResult, Path]) -> None:
    first = next(iter(sorted((done[1] / "losses").glob("*.yaml"))))
    scenario = catalogue.load(str(first))
    ran = ScenarioRun(scenario, release_named(scenario.releases[0])).run()
    assert ran.held
    assert ran.harm.lost > 0
    assert "a window with 2 nodes faulty at once" in " ".join(first.read_text().split())


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("{years: 1}", "{years: 0}", "years"),
        ("{years: 1}", "{days: 1}", "unknown word 'days'"),
        ("{years: 1}", "{at-once: 3}", "has 2 replicas of each partition, fewer than 'at-once'"),
        ("rare:", "horizon: 1d\nrare:", "a grid with 'rare' has no horizon"),
    ],
)
def test_mistakes_are_reported(old: str, new: str, problem: str) -> None:
    assert old in RARE
    with pytest.raises(InputError, match=problem):
        read_grid(RARE.replace(old, new), "rare.yaml")


def test_a_width_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rare.yaml").write_text(RARE)
    with pytest.raises(InputError, match="windows have weights"):
        main_sweep(str(tmp_path / "rare.yaml"), width=0.1, processes=0)
