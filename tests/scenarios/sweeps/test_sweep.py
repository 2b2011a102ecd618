"""The command `isrlab sweep` from end to end, on processes of this machine: the results are byte-identical however the sweep is run,
stopped, or killed.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pyarrow import parquet

from scenarios import catalogue
from scenarios.running.runner import Run as ScenarioRun
from scenarios.sweeps.errors import SweepError
from scenarios.sweeps.execution.checkpoint import Checkpoint
from scenarios.sweeps.execution.process_workers import ProcessWorkers
from scenarios.sweeps.execution.rounds import sweep_runs
from scenarios.sweeps.execution.workers import ThisProcess
from scenarios.sweeps.grid.grid import Grid
from scenarios.sweeps.output.result_files import cells_csv, runs_csv, write_results
from scenarios.sweeps.simulation.kafka.experiment import KafkaExperiment
from scenarios.sweeps.simulation.runs import Chunk
from tests.scenarios.sweeps.grids import TEXT, small
from tui.commands.run_sweep import main_sweep

ROOT = Path(__file__).resolve().parents[3]
RUNS = 3
FILES = ("runs.csv", "cells.csv", "cells.json", "sweep.html")


@pytest.fixture(scope="module")
def grid() -> Grid:
    return small(**{"every: 2h": "every: 30m", "horizon: 10h": "horizon: 5h", "  min.insync.replicas: [1, 2]\n": ""})


@pytest.fixture(scope="module")
def alone(grid: Grid, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the results of a single process that executes one run after another."""
    out = tmp_path_factory.mktemp("alone")
    outcome, every = sweep_runs(grid, RUNS, ThisProcess(), Checkpoint(out, grid))
    write_results(out, outcome, every)
    return out


def same(one: Path, other: Path) -> bool:
    """Return whether two sweeps wrote the same bytes."""
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in FILES)


def test_killed_workers_leave_no_trace(grid: Grid, alone: Path, tmp_path: Path) -> None:
    workers = ProcessWorkers(3)
    killed: list[int] = []

    def kill_one(done: int, runs: int, losing: int) -> None:
        if done >= 2 * (len(killed) + 1) and len(killed) < 2 and workers.pids:
            for pid in reversed(workers.pids):
                with contextlib.suppress(ProcessLookupError):  # this worker has ended since
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
                    return

    outcome, every = sweep_runs(grid, RUNS, workers, Checkpoint(tmp_path, grid), progress=kill_one)
    write_results(tmp_path, outcome, every)
    assert len(killed) == 2
    assert same(tmp_path, alone)


def test_a_stopped_sweep_goes_on_where_it_was(grid: Grid, alone: Path, tmp_path: Path) -> None:
    class Stopped(Exception):
        pass

    def stop(done: int, runs: int, losing: int) -> None:
        if done >= 3:
            raise Stopped

    with pytest.raises(Stopped):
        sweep_runs(grid, RUNS, ThisProcess(), Checkpoint(tmp_path, grid), progress=stop)
    (tmp_path / "chunks" / ".cell-0001-seeds-000000001-000000009.jsonl.1.part").write_text('[1,1,"torn')
    kept = len(list(Checkpoint(tmp_path, grid).kept()))
    assert kept >= 3
    given: list[Chunk] = []

    class Watched(ThisProcess):
        def run(self, grid, chunks):  # type: ignore[no-untyped-def]
            for finished in super().run(grid, chunks):
                given.append(finished.chunk)
                yield finished

    outcome, every = sweep_runs(grid, RUNS, Watched(), Checkpoint(tmp_path, grid))
    write_results(tmp_path, outcome, every)
    assert sum(map(len, given)) == 2 * RUNS - kept
    assert same(tmp_path, alone)


def test_fewer_runs_than_are_kept_are_as_if_no_more_had_been_done(grid: Grid, alone: Path) -> None:
    fewer, some = sweep_runs(grid, 2, ThisProcess(), Checkpoint(alone, grid))
    fresh, every = sweep_runs(grid, 2, ThisProcess())
    assert runs_csv(grid, some) == runs_csv(grid, every)
    assert cells_csv(fewer) == cells_csv(fresh)


def test_a_directory_takes_runs_of_its_own_sweep_only(grid: Grid, alone: Path, tmp_path: Path) -> None:
    with pytest.raises(SweepError, match="a different grid"):
        Checkpoint(alone, small(**{"every: 2h": "every: 3h"}))
    Checkpoint(tmp_path, grid)
    mark = json.loads((tmp_path / "sweep.json").read_text())
    (tmp_path / "sweep.json").write_text(json.dumps(mark | {"code": "0"}))
    with pytest.raises(SweepError, match="a different version of isrlab"):
        Checkpoint(tmp_path, grid)
    (tmp_path / "sweep.json").write_text("{")
    with pytest.raises(SweepError, match="is damaged"):
        Checkpoint(tmp_path, grid)
    (tmp_path / "sweep.json").write_text(json.dumps(mark))
    (tmp_path / "chunks" / "cell-0001-seeds-000000001-000000001.jsonl").write_text("[1, 2]\n")
    with pytest.raises(SweepError, match="delete it"):
        Checkpoint(tmp_path, grid)
    (tmp_path / "file").write_text("")
    with pytest.raises(SweepError, match="cannot use this directory"):
        Checkpoint(tmp_path / "file" / "x", grid)


def test_what_is_written_says_the_same_everywhere(grid: Grid, alone: Path) -> None:
    data = json.loads((alone / "cells.json").read_text())
    assert [cell["runs"] for cell in data["cells"]] == [RUNS] * 2
    assert data["runs"] == 2 * RUNS
    rows = list(csv.DictReader((alone / "runs.csv").read_text().splitlines()))
    assert len(rows) == 2 * RUNS
    assert all(int(row["lost"]) <= int(row["lost_acknowledged"]) + int(row["lost_read"]) for row in rows)
    lost = sum(int(row["lost_acknowledged"]) > 0 for row in rows)
    assert lost == sum(cell["losing_runs"] for cell in data["cells"]) > 0
    stored = parquet.read_table(alone / "runs.parquet").to_pylist()
    named = ("cell", "seed", "lost", "lost_acknowledged", "lost_read")
    assert [[str(row[name]) for name in named] for row in stored] == [[row[name] for name in named] for row in rows]
    assert all(sum(one["count"] for one in row["latencies"]) == row["acked"] for row in stored)
    tabled = parquet.read_table(alone / "cells.parquet").to_pylist()
    assert [{name: cell[name] for name in row} for row, cell in zip(tabled, data["cells"], strict=True)] == tabled
    html = (alone / "sweep.html").read_text()
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)" in html
    assert "http" not in html.replace("http-equiv", "")
    drawn = ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])
    assert (len(drawn.findall("path")), len(drawn.findall("circle"))) == (2, 2), "acks=1 loses, a diamond, and acks=all does not, a circle"
    bars = [bar for bar in drawn.findall("line") if bar.get("class") == "bar"]
    assert len({(bar.get("y1"), float(bar.get("x1", 0)) > 590) for bar in bars}) == len(bars) == 4, (
        "no two intervals share a row of a panel"
    )
    assert {text.text for text in drawn.findall("text")} >= {"100%", "0%", "P(loss) in a run"}
    assert {title.text for title in drawn.iter("title")} == {"1  acks 1", "2  acks all"}


def test_losing_seeds_are_there_as_scenarios_that_hold(alone: Path) -> None:
    scripts = sorted((alone / "losses").glob("*.yaml"))
    assert scripts
    scenario = catalogue.load(str(scripts[0]))
    from scenarios.releases import release_named

    result = ScenarioRun(scenario, release_named(scenario.releases[0])).run()
    assert result.held
    assert result.harm.lost > 0


def isrlab(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line in a fresh interpreter."""
    return subprocess.run(
        [sys.executable, "-m", "tui", *arguments],
        cwd=cwd, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_the_command_sweeps_and_writes_a_seed_as_a_scenario(tmp_path: Path) -> None:
    (tmp_path / "g.yaml").write_text(TEXT.replace("every: 2h", "every: 30m"))
    done = isrlab("sweep", "g.yaml", "--runs", "1", "--processes", "0", "--html", "s.html", cwd=tmp_path)
    assert (done.returncode, "P(loss)" in done.stdout) == (0, True), done.stderr
    assert (tmp_path / "s.html").stat().st_size > 2_000
    written = isrlab("sweep", "g.yaml", "--cell", "2", "--seed", "9", "--scenario", "one.yaml", cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    ran = isrlab("run", "one.yaml", cwd=tmp_path)
    assert (ran.returncode, ran.stdout.startswith("ok small-cell-2-seed-9")) == (0, True), ran.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("g.yaml", "--runs", "0"), "--runs: '0' is not valid; write a whole number from 1"),
        (("g.yaml", "--runs", "many"), "--runs: 'many' is not valid"),
        (("g.yaml", "--until-width", "2"), "--until-width: '2' is not a width"),
        (("g.yaml", "--processes", "2", "--master", "local[2]"), "--processes does not use Spark"),
        (("g.yaml", "--cell", "2"), "--scenario is missing"),
        (("g.yaml", "--cell", "9", "--seed", "1", "--scenario", "-"), "small has no cell 9; it has 4 cells"),
        (("none.yaml",), "none.yaml: cannot be read"),
        (("weekly",), "weekly: no such grid"),
    ],
)
def test_wrong_words_are_one_message_and_exit_code_2(
    arguments: tuple[str, ...], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tui.cli import main

    (tmp_path / "g.yaml").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", *arguments]) == 2
    said = capsys.readouterr()
    assert told in said.err
    assert (said.out, said.err.count("\n")) == ("", 1)


def test_workers_never_hear_ctrl_c(grid: Grid, alone: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A terminal sends the signal to all its processes, including workers that are still importing their modules."""
    workers = ProcessWorkers(2)
    told = 0
    over = threading.Event()

    def tell() -> None:
        nonlocal told
        while not over.wait(0.005):
            for pid in workers.pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGINT)
                    told += 1

    teller = threading.Thread(target=tell)
    teller.start()
    try:
        outcome, every = sweep_runs(grid, RUNS, workers, Checkpoint(tmp_path, grid))
    finally:
        over.set()
        teller.join()
    write_results(tmp_path, outcome, every)
    assert told
    assert capfd.readouterr().err == ""
    assert same(alone, tmp_path)


@pytest.fixture
def under_way(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Return a sweep on two processes that has finished at least one chunk and leads its own session."""
    (tmp_path / "g.yaml").write_text(TEXT)
    process = subprocess.Popen(
        [sys.executable, "-m", "tui", "sweep", "g.yaml", "--runs", "500", "--processes", "2", "-o", "out"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE, text=True, start_new_session=True,
        # Tests in the background ignore it, and so would what they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        while not list((tmp_path / "out").glob("chunks/*.jsonl")):
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.05)
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_ctrl_c_keeps_what_is_finished(under_way: subprocess.Popen[str]) -> None:
    os.killpg(under_way.pid, signal.SIGINT)
    _, told = under_way.communicate(timeout=60)
    assert under_way.returncode == 130
    assert "out has the finished runs" in told
    assert "Traceback" not in told


def is_anybody_in(group: int) -> bool:
    """Return whether a process group has any process."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_workers_end_with_a_sweep_that_is_killed(under_way: subprocess.Popen[str]) -> None:
    under_way.kill()
    under_way.wait(60)
    deadline = time.monotonic() + 60
    while is_anybody_in(under_way.pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_run_that_breaks_the_core_is_named(
    grid: Grid, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:

    def broken(*_: object) -> None:
        raise AssertionError("it is so")

    monkeypatch.setattr(KafkaExperiment, "simulate", broken)
    (tmp_path / "g.yaml").write_text(TEXT)
    assert main_sweep(str(tmp_path / "g.yaml"), 1, processes=0, quiet=True) == 2
    assert capsys.readouterr().err == "isrlab: the sweep stopped: cell 1, seed 1: AssertionError: it is so\n"
