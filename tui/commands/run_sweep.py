"""The command `isrlab sweep`: executes the runs of a grid, prints the table, and writes files."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import attrs

from core.sim.units import format_duration
from scenarios.errors import InputError
from scenarios.io.output_files import check_outputs, is_stdout, write_atomically
from scenarios.io.standard_streams import print_error, print_json, print_messages, print_text, styled
from scenarios.io.termination_signals import Terminated, defer_signals, raise_on_signals
from scenarios.sweeps.errors import SweepError, SweepLimitReached
from scenarios.sweeps.execution.checkpoint import Checkpoint
from scenarios.sweeps.execution.process_workers import ProcessWorkers
from scenarios.sweeps.execution.rounds import sweep_runs
from scenarios.sweeps.execution.workers import ThisProcess, Workers
from scenarios.sweeps.grid.grid import format_horizon
from scenarios.sweeps.grid_file.model_sections import only_models
from scenarios.sweeps.grid_file.read_grid import grid_named
from scenarios.sweeps.output import page
from scenarios.sweeps.output.kafka.loss_scenario import losing_episode, script_of
from scenarios.sweeps.output.result_files import json_of, write_results
from scenarios.sweeps.output.texts import counted
from scenarios.sweeps.simulation.kafka.rare_experiment import RARE
from scenarios.sweeps.simulation.models.experiment import MODELS
from spark_reports.errors import ReportError
from tui.exit_codes import LIMIT_REACHED

DEFAULT_RUNS: Final = 100
"""The default number of runs for each cell."""

MAX_RUNS: Final = 10_000_000
"""The maximum number of runs for each cell."""

TELL_SECONDS: Final = 1.0
"""The interval between progress updates on a terminal, in seconds.

If stderr is not a terminal, there is one update for each tenth of the runs.
"""


MODELS_GRID: Final = "compare-models"
"""The grid that is used if the command names models but no grid."""


def main_sweep(
    source: str | None,
    runs: int = DEFAULT_RUNS,
    out_dir: str | None = None,
    master: str | None = None,
    conf: Sequence[str] = (),
    processes: int | None = None,
    width: float | None = None,
    html: str | None = None,
    as_json: bool = False,
    quiet: bool = False,
    models: Sequence[str] = (),
    max_events: int | None = None,
    max_seconds: float | None = None,
) -> int:
    """Run the sweep that a grid describes. The table is printed to stdout, and everything else is printed to stderr.

    Args:
        source: a grid file, or the name of a grid that comes with isrlab; None for the grid of models.
        runs: the number of runs for each cell; the runs use the seeds 1 to `runs`.
        out_dir: the directory that keeps finished runs and receives the results.
        master, conf: the Spark master, and the settings of the Spark session.
        processes: the number of processes on this machine that execute runs in place of Spark; 0 for this process alone.
        width: the target width; if the confidence interval of a cell's loss probability is at most this wide, the cell gets no more runs;
            None to execute all runs.
        html: the path of an additional HTML page.
        as_json: whether to print one JSON document instead of a table.
        quiet: whether to hide progress.
        models: which systems to run in a grid of models; empty for all.
        max_events: the number of events after which a run, and with it the sweep, is stopped; None for no limit.
        max_seconds: the real time after which the sweep is stopped; None for no limit.

    Returns:
        0 on success, 2 after an error, or 3 if the sweep was stopped at a limit.

    Raises:
        InputError: the grid is invalid.
    """
    if source is None and not models:
        raise InputError(f"name a grid, for example weekly-crashes, or models, for example --model kafka --model mysql ({MODELS_GRID})")
    grid = grid_named(source or MODELS_GRID)
    if models:
        if grid.experiment is not MODELS:
            raise InputError(f"--model: {grid.source} is a grid of Kafka's settings; name a grid with 'models', or omit the grid")
        grid = only_models(grid, models)
    if width is not None and grid.experiment is RARE:
        raise InputError(
            f"--until-width: {grid.source} looks for rare losses, whose windows have weights; name the number of runs with --runs"
        )
    grid = attrs.evolve(grid, max_events=max_events)
    check_outputs({"--json": "-" if as_json else None, "--html": html}, [grid.source])
    progress = _Progress(quiet)
    try:
        out = None if out_dir is None else Path(out_dir)
        checkpoint = None if out is None else Checkpoint(out, grid)
        begun = time.monotonic()
        try:
            with raise_on_signals(max_seconds), _workers(master, conf, processes, progress.say) as workers:
                progress.say(
                    f"{grid.name}: {counted(len(grid.cells), 'cell')}, {counted(runs, 'run')} each, of {format_horizon(grid.horizon)}"
                )
                result, every = sweep_runs(grid, runs, workers, checkpoint, width, progress.tell)
        except (Terminated, SweepLimitReached) as stopped:
            kept = f"; {out} has the finished runs; to continue, run the same command again" if out else ""
            progress.end_line()
            if isinstance(stopped, SweepLimitReached):
                print_error(f"{grid.name}: {stopped}{kept}")
                return LIMIT_REACHED
            if stopped.signal == signal.SIGALRM:
                print_error(f"{grid.name}: stopped after {max_seconds:g} s (--max-seconds){kept}")
                return LIMIT_REACHED
            print_error(f"stopped{kept}")
            raise
        progress.say(f"{counted(result.runs, 'run')} in {format_duration(round((time.monotonic() - begun) * 1e6))}")
        if out is not None:
            write_results(out, result, every, progress.say)
        if html is not None:
            write_atomically(Path(html), page.render(result))
    except (ReportError, SweepError) as wrong:
        print_error(str(wrong))
        return 2
    if as_json:
        print_json(json_of(result))
    elif html is None or not is_stdout(html):
        from tui.rendering.sweep_table import render

        render(result, styled(sys.stdout))
    sys.stdout.flush()
    return 0


def main_scenario(source: str, number: int, seed: int, path: str | None) -> int:
    """Write an episode as a scenario, to a file or to stdout. The episode comes from the run of the given cell with the given seed.

    The scenario contains the first episode of the run that lost acknowledged records or, if there is none, the run's first episode.
    """
    grid = grid_named(source)
    if grid.experiment is MODELS:
        raise InputError(f"--scenario: {grid.source} is a grid of models; only a run of Kafka's settings can be written as a scenario")
    check_outputs({"--scenario": path}, [source])
    try:
        cell = grid.cell(number)
    except KeyError:
        raise InputError(f"--cell: {grid.name} has no cell {number}; it has {counted(len(grid.cells), 'cell')}") from None
    played = losing_episode(grid, cell, seed)
    if played is None:
        raise InputError(f"--seed: seed {seed} has no faults in {format_horizon(grid.horizon)}")
    text = script_of(grid, cell, seed, played)
    if path is None:
        print_text(text)
        return 0
    write_atomically(path, text)
    return 0


@contextlib.contextmanager
def _workers(master: str | None, conf: Sequence[str], processes: int | None, say: Callable[[str], None]) -> Iterator[Workers]:
    """Return the workers that the arguments select."""
    if processes is not None:
        if master is not None or conf:
            raise SweepError("--processes does not use Spark; omit --master and --conf")
        yield ProcessWorkers(processes) if processes else ThisProcess()
        return
    with defer_signals():
        from spark_reports.spark.executor_modules import ship_modules
        from spark_reports.spark.master import read_conf
        from spark_reports.spark.session import spark_session
        from spark_reports.spark.small_jobs import SETTINGS
        from spark_reports.sweep_workers import SparkWorkers

    settings = SETTINGS | read_conf(conf)
    say("starting Spark …")
    with spark_session(master, settings, brief=True) as spark, ship_modules(spark, master):
        yield SparkWorkers(spark)


class _Progress:
    """The progress of a sweep on stderr."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.out = styled(sys.stderr)
        self.live = self.out.isatty()
        self.begun: tuple[float, int] | None = None
        self.told = 0.0
        self.told_share = 0
        self.open = False

    def say(self, text: str) -> None:
        """Write a line of progress messages."""
        if not self.quiet:
            self.end_line()
            print_messages(text)

    def end_line(self) -> None:
        """End the progress line, which each update overwrites."""
        if self.open:
            self.out.write("\n")
            self.open = False

    def tell(self, done: int, runs: int, losing: int) -> None:
        """Show the progress (see `rounds.Progress`)."""
        now = time.monotonic()
        if self.begun is None:
            self.begun = (now, done)
            if done:
                self.say(f"{counted(done, 'run')} from an earlier sweep")
            return
        share = done * 10 // max(runs, 1)
        if self.quiet or (now - self.told < TELL_SECONDS if self.live and done < runs else share == self.told_share):
            return
        self.told, self.told_share = now, share
        elapsed, fresh = now - self.begun[0], done - self.begun[1]
        left = f", {format_duration(round(elapsed / fresh * (runs - done)) * 1_000_000)} to go" if fresh and done < runs else ""
        text = f"{done:,} of {runs:,} runs, {losing:,} lost acknowledged records{left}"
        if self.live:
            self.out.write(f"\r\x1b[2K{text}")
            self.out.flush()
            self.open = True
        else:
            print_messages(text)
