"""The command `isrlab sweep`, which runs each cell of a grid of settings with many seeds and reports lost records and availability."""

from __future__ import annotations

import argparse
from typing import Any

from scenarios.io.standard_streams import print_error
from tui.arguments.options import add_spark_options, max_events_of, max_seconds_of, seed_of
from tui.exit_codes import BAD_INPUT


def add_commands(commands: Any) -> None:
    """Add the command `sweep`."""
    sweep = commands.add_parser(
        "sweep", help="run a grid of settings with many seeds of random faults, and report how often each cell loses records, and how many"
    )
    sweep.add_argument(
        "grid",
        metavar="GRID",
        nargs="?",
        help="a grid file, or a built-in grid: weekly-crashes, rare-crashes, power-and-racks, rare-racks, rolling-upgrade, or compare-models; with --model, compare-models by default",
    )
    sweep.add_argument(
        "--model",
        action="append",
        metavar="MODEL",
        help="run only this system of a grid of replication models, or add a system that 'isrlab run --model' knows; repeat this option "
        "for several systems",
    )
    sweep.add_argument("--runs", metavar="N", help="the number of runs for each cell, with seeds 1 to N; by default, 100")
    sweep.add_argument(
        "--until-width",
        metavar="W",
        help="stop running a cell when the 95%% confidence interval of its probability of loss is at most this wide, for example 0.05",
    )
    sweep.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        help="keep finished runs in this directory, and write the results to it: CSV, JSON, HTML, and a scenario for each seed that loses records",
    )
    sweep.add_argument("--html", metavar="FILE", help="write the report to this file")
    sweep.add_argument("--max-events", metavar="N", help="stop the sweep if a run has this many events, with exit code 3")
    sweep.add_argument("--max-seconds", metavar="S", help="stop the sweep after this many seconds of real time, with exit code 3")
    add_spark_options(sweep)
    sweep.add_argument("--processes", metavar="N", help="run the sweep in N processes on this machine, without Spark")
    sweep.add_argument("--json", action="store_true", help="print the table as one JSON document")
    sweep.add_argument("-q", "--quiet", action="store_true", help="do not show progress")
    sweep.add_argument("--cell", metavar="C", help="with --seed and --scenario: the cell of the run to write as a scenario")
    sweep.add_argument("--seed", metavar="N", help="with --cell and --scenario: the seed of the run to write as a scenario")
    sweep.add_argument(
        "--scenario",
        metavar="FILE",
        help="with --cell and --seed: write this run to a scenario file that reproduces the loss; '-' is stdout",
    )
    sweep.set_defaults(command=_sweep)


def _sweep(arguments: argparse.Namespace) -> int:
    from scenarios.io.output_files import refuse_stdout
    from tui.commands.run_sweep import DEFAULT_RUNS, MAX_RUNS, main_scenario, main_sweep

    if arguments.scenario is not None or arguments.cell is not None or arguments.seed is not None:
        return _scenario(arguments, main_scenario)
    refuse_stdout("-o", arguments.output, "a directory")
    runs = DEFAULT_RUNS if arguments.runs is None else _number("--runs", arguments.runs, 1, MAX_RUNS)
    processes = None if arguments.processes is None else _number("--processes", arguments.processes, 0, 1_000)
    if processes is None and not _has_spark(arguments.master):
        return BAD_INPUT
    return main_sweep(
        arguments.grid,
        runs=runs,
        out_dir=arguments.output,
        master=arguments.master,
        conf=arguments.conf,
        processes=processes,
        width=_width(arguments.until_width),
        html=arguments.html,
        as_json=arguments.json,
        quiet=arguments.quiet,
        models=arguments.model or (),
        max_events=max_events_of(arguments.max_events),
        max_seconds=max_seconds_of(arguments.max_seconds),
    )


def _scenario(arguments: argparse.Namespace, write: Any) -> int:
    from scenarios.errors import InputError

    for option in ("scenario", "cell", "seed"):
        if getattr(arguments, option) is None:
            raise InputError(f"--{option} is missing; to write one run as a scenario, use --cell C --seed N --scenario FILE")
    if arguments.grid is None:
        raise InputError("name the grid that contains the run")
    seed = seed_of(arguments.seed)
    path = None if arguments.scenario == "-" else arguments.scenario
    return int(write(arguments.grid, _number("--cell", arguments.cell, 1, 10**6), seed, path))


def _has_spark(master: str | None) -> bool:
    import importlib.util

    if importlib.util.find_spec("pyspark") is not None:
        return True
    print_error(
        "a sweep runs on PySpark, which is not installed; use 'make report', or install it with: pip install 'isrlab[spark]'; "
        "to sweep without it, use --processes 2"
    )
    return False


def _number(option: str, text: str, least: int, most: int) -> int:
    from scenarios.errors import InputError

    digits = text.replace("_", "")
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > 12 or not least <= int(digits) <= most:
        raise InputError(f"{option}: '{text[:40]}' is not valid; write a whole number from {least} to {most:,}")
    return int(digits)


def _width(text: str | None) -> float | None:
    from scenarios.errors import InputError

    if text is None:
        return None
    try:
        width = float(text)
    except ValueError:
        width = 0.0
    if not 0.001 <= width < 1:
        raise InputError(f"--until-width: '{text[:40]}' is not a width; write a number from 0.001 to 1, for example 0.05")
    return width
