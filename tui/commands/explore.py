"""The command `isrlab explore`, which searches for the fewest faults that harm a cluster."""

from __future__ import annotations

import argparse
import contextlib
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scenarios.io.standard_streams import print_json, print_lines, print_messages
from tui.arguments.live import add_live_options, import_live_cluster, live_given
from tui.arguments.options import add_groups_option, add_run_options, add_spark_options, max_seconds_of, release_of, seed_of, time_of
from tui.arguments.sources import describe_text, import_texts, looks_like_log, watched_copy
from tui.exit_codes import FAILED, HELD, LIMIT_REACHED
from tui.terminal.progress_line import ProgressLine

if TYPE_CHECKING:
    from scenarios.conditions.conditions import Names
    from scenarios.exploration.exploration import Exploration
    from scenarios.exploration.goal import Goal
    from scenarios.exploration.menu import Fault
    from scenarios.exploration.player import Plays
    from scenarios.exploration.request import Request
    from scenarios.exploration.search import Layer
    from scenarios.exploration.start import Start

MOST_FAULTS: Final = 6
"""The largest value of --at-most."""

MOST_WORST: Final = 100
"""The largest value of --worst."""

MOST_PROCESSES: Final = 256
"""The largest value of --processes."""


def add_commands(commands: Any) -> None:
    """Add the command `explore`."""
    explore = commands.add_parser(
        "explore", help="search for the fewest faults that harm a cluster, such as: isrlab explore mine.txt --goal 'lost > 0'"
    )
    explore.add_argument(
        "target",
        metavar="SCENARIO|LOG|DESCRIBE.txt",
        nargs="?",
        help="the cluster: the output of kafka-topics --describe, an event log, a scenario of the library, or a script",
    )
    add_live_options(explore)
    explore.add_argument(
        "--goal",
        metavar="CONDITION",
        default="lost > 0",
        help="the condition of the script language that the search tries to make true, for example 'offline > 0' (default: lost > 0)",
    )
    explore.add_argument(
        "--faults", metavar="KINDS", help="the kinds of faults, with commas between them (default: kill,power-loss,pause,isolate)"
    )
    explore.add_argument("--at-most", metavar="N", default="2", help="the largest number of faults (default: 2)")
    explore.add_argument("--within", metavar="TIME", default="30s", help="how long the cluster runs, in virtual time (default: 30s)")
    explore.add_argument(
        "--from", metavar="TIME", dest="begin", help="the virtual time at which the search begins; by default, the target's end"
    )
    explore.add_argument(
        "--acks", choices=("1", "all"), default="all", help="the acks of the load that a cluster without load gets (default: all)"
    )
    explore.add_argument(
        "--without",
        metavar="GUARDS",
        help="guards of the protocol to switch off, with commas between them, to see what they are for; 'help' lists them",
    )
    explore.add_argument(
        "--worst", metavar="N", help="search in a cluster of only the N partitions that the fewest failures harm, and their brokers"
    )
    explore.add_argument(
        "--prune",
        metavar="WAYS",
        help="leave out what hardly ever finds more, with commas: swaps (brokers that have swapped their roles), "
        "repeats (the rest of a run that repeats a situation of fewer faults)",
    )
    explore.add_argument("--processes", metavar="N", default="1", help="play the runs in N processes; the result is the same (default: 1)")
    add_spark_options(explore)
    explore.add_argument(
        "--by-hand",
        action="store_true",
        help="let time stand still, and try all orders of a few records, fetches and faults in a cluster with one partition",
    )
    explore.add_argument("--records", metavar="N", help="with --by-hand: the number of records (default: 2)")
    explore.add_argument("--fetches", metavar="N", help="with --by-hand: the number of fetches (default: 2)")
    explore.add_argument("--max-seconds", metavar="S", help="stop the search after a number of seconds of real time")
    explore.add_argument(
        "--evidence", action="store_true", help="also print what was tried, at which moments, and what the runs came across"
    )
    explore.add_argument("-o", "--output", metavar="DIR", help="write a script for each counterexample into this directory")
    explore.add_argument("--json", action="store_true", help="print the result as JSON")
    add_groups_option(explore)
    add_run_options(explore)
    explore.set_defaults(command=_explore)


def _explore(arguments: argparse.Namespace) -> int:
    from scenarios.conditions.conditions import Names
    from scenarios.errors import InputError
    from scenarios.exploration.evidence import evidence_as_data, evidence_lines
    from scenarios.exploration.exploration import explore
    from scenarios.exploration.player import Bounds
    from scenarios.exploration.request import Request
    from scenarios.io.termination_signals import raise_on_signals

    if arguments.without == "help":
        from scenarios.exploration.guards import guard_lines

        print_lines(["Guards that --without switches off, with what each does:", *guard_lines()])
        return HELD
    if arguments.by_hand:
        from tui.commands.explore_by_hand import explore_by_hand

        return explore_by_hand(arguments, _start(arguments), partial(_goal, arguments.goal))
    for option in ("records", "fetches"):
        if getattr(arguments, option) is not None:
            raise InputError(f"--{option}: is for a search by hand; add --by-hand, or omit this option")
    faults = _faults(arguments.faults)
    at_most = _number("--at-most", arguments.at_most, "a number of faults", 0, MOST_FAULTS)
    processes = _number("--processes", arguments.processes, "a number of processes", 1, MOST_PROCESSES)
    if arguments.master is not None and processes != 1:
        raise InputError("--processes: does not use Spark; omit it, or --master")
    if arguments.master is None and arguments.conf:
        raise InputError("--conf: is a setting of Spark; add --master")
    prune = _prune(arguments.prune)
    within = time_of(arguments.within, "--within") or 0
    seconds = max_seconds_of(arguments.max_seconds)
    goal = _goal(arguments.goal, Names())  # a mistake in the syntax is found before the target is played
    guarded = _start(arguments)
    if arguments.worst is not None:
        guarded, about = guarded.only_worst(_number("--worst", arguments.worst, "a number of partitions", 1, MOST_WORST))
        print_messages(*about)
    start = _without(guarded, arguments.without).with_load(arguments.acks)
    goal = _goal(arguments.goal, start.names())
    name = Path(arguments.target).stem
    request = Request(start, goal.condition.text, tuple([fault.word for fault in faults]), at_most, within, prune)
    progress = ProgressLine()
    with raise_on_signals(), contextlib.ExitStack() as stack:
        plays = stack.enter_context(_plays(request, processes, arguments.master, arguments.conf))
        outcome = explore(start, Bounds(goal, faults, at_most, within, prune), name, partial(_tell, progress), seconds, plays)
    progress.wipe()
    files = _write(outcome, arguments.output, name)
    instead = _with_guards(start, guarded, goal, outcome)
    if arguments.json:
        import json

        data = _as_data(arguments, start, outcome, files, instead)
        if arguments.evidence:
            data["evidence"] = evidence_as_data(request, outcome.layers)
        print_json(json.dumps(data, indent=2) + "\n")
    else:
        more = evidence_lines(request, outcome.layers) if arguments.evidence else []
        print_lines(_lines(arguments, start, outcome, files, instead) + more)
    if outcome.stopped is not None:
        raise outcome.stopped
    if outcome.found:
        return FAILED
    return HELD if outcome.complete else LIMIT_REACHED


@contextlib.contextmanager
def _plays(request: Request, processes: int, master: str | None, conf: Sequence[str]) -> Iterator[Plays | None]:
    """Return what plays the runs; None to play them in this process."""
    if master is None:
        from scenarios.exploration.execution.processes import Processes

        with Processes(request, processes) if processes > 1 else contextlib.nullcontext() as plays:
            yield plays
        return
    from scenarios.errors import InputError
    from scenarios.io.termination_signals import defer_signals

    with defer_signals():
        from spark_reports.errors import ReportError
        from spark_reports.search_workers import SparkPlays
        from spark_reports.spark.executor_modules import ship_modules
        from spark_reports.spark.master import read_conf
        from spark_reports.spark.session import spark_session
        from spark_reports.spark.small_jobs import SETTINGS
    settings = SETTINGS | read_conf(conf)
    print_messages("starting Spark …")
    try:
        with spark_session(master, settings, brief=True) as spark, ship_modules(spark, master):
            yield SparkPlays(spark, request)
    except ReportError as wrong:
        raise InputError(f"--master: {wrong}") from None


def _goal(text: str, names: Names) -> Goal:
    from scenarios.conditions.condition_parser import parse_condition
    from scenarios.conditions.tokens import ConditionError
    from scenarios.errors import InputError
    from scenarios.exploration.goal import Goal

    try:
        return Goal(parse_condition(text, names))
    except ConditionError as wrong:
        raise InputError(f"--goal: {wrong}") from None
    except ValueError as wrong:
        raise InputError(f"--goal: '{text[:80]}': {wrong}") from None


def _prune(text: str | None) -> frozenset[str]:
    from scenarios.errors import InputError, did_you_mean
    from scenarios.exploration.player import PRUNINGS

    words = frozenset() if text is None else frozenset(word.strip() for word in text.split(","))
    for word in sorted(words):
        if word not in PRUNINGS:
            raise InputError(f"--prune: '{word[:40]}' is not something to leave out; {did_you_mean(word, list(PRUNINGS))}")
    return words


def _faults(text: str | None) -> tuple[Fault, ...]:
    from scenarios.errors import InputError, did_you_mean
    from scenarios.exploration.menu import FAULTS, USUAL

    words = USUAL if text is None else tuple(dict.fromkeys(word.strip() for word in text.split(",")))
    for word in words:
        if word not in FAULTS:
            raise InputError(f"--faults: '{word[:40]}' is not a kind of fault; {did_you_mean(word, list(FAULTS))}")
    return tuple([FAULTS[word] for word in words])


def _number(option: str, text: str, what: str, least: int, most: int) -> int:
    from scenarios.errors import InputError

    if not (text.isascii() and text.isdecimal()) or len(text) > 3 or not least <= int(text) <= most:
        raise InputError(f"{option}: '{text[:40]}' is not {what}; write a number from {least} to {most}")
    return int(text)


def _start(arguments: argparse.Namespace) -> Start:
    """Return the start of the search, which the target and the options name."""
    from scenarios import catalogue
    from scenarios.errors import InputError
    from scenarios.exploration.start import Start
    from scenarios.language.script import releases_of
    from scenarios.logs.recorded_session import read_session
    from scenarios.releases import release_named

    live = live_given(arguments, "target")
    if arguments.target is None and not live:
        raise InputError("name the cluster: a scenario, a script, an event log, or the output of kafka-topics --describe")
    release, begin, seed = release_of(arguments.release), time_of(arguments.begin, "--from"), seed_of(arguments.seed)
    if live:
        imported, under = import_live_cluster(arguments, release)
        arguments.target = re.sub(r"[^\w-]+", "-", arguments.bootstrap_server)[:80]  # also the name of the scripts that are found
        print_messages(*imported.notes)
        return Start.of_scenario(imported.scenario, under, seed, begin or 0)
    log = looks_like_log(arguments.target)
    text = None if log else describe_text(arguments.target)
    if arguments.groups and text is None:
        raise InputError("--groups: needs the output of kafka-topics --describe; name its file")
    if log and (copy := watched_copy(arguments.target, arguments.begin, release, "--from")) is not None:
        print_messages(*copy.notes)
        return Start.of_scenario(copy.scenario, release_named(copy.scenario.releases[0]), seed, 0)
    if log:
        if arguments.without:
            raise InputError("--without: a log has its own release; omit this option")
        if release is not None or seed is not None:
            raise InputError(f"--{'seed' if release is None else 'release'}: a log has its own; omit this option")
        return Start.of_session(read_session(arguments.target), begin)
    if text is not None:
        from core.kafka.release import CURRENT

        imported = import_texts(text, arguments.target, arguments.groups, release)
        print_messages(*imported.notes)
        return Start.of_scenario(imported.scenario, release or CURRENT, seed, begin or 0)
    scenario = catalogue.load(arguments.target)
    wanted = releases_of(scenario, () if release is None else (release,))
    return Start.of_scenario(scenario, wanted[-1], seed, begin)


def _without(start: Start, guards: str | None) -> Start:
    """Return a start with some guards switched off."""
    if guards is None:
        return start
    import attrs

    from scenarios.exploration.guards import guards_named, without

    return attrs.evolve(start, release=without(start.release, guards_named(guards)))


def _with_guards(start: Start, guarded: Start, goal: Goal, outcome: Exploration) -> list[str]:
    """Return what the goal reads after the acts of each counterexample if no guard is switched off; empty strings if none is."""
    if start.release == guarded.release:
        return [""] * len(outcome.found)
    from scenarios.exploration.guards import with_guards

    return [with_guards(start, guarded.release, goal, each) for each in outcome.found]


def _tell(progress: ProgressLine, layer: Layer) -> None:
    progress.show(f"{_faults_in_words(layer.faults)}: {layer.runs:,} runs, {layer.situations:,} situations")


def _faults_in_words(number: int) -> str:
    return f"{number} fault{'' if number == 1 else 's'}"


def _lines(arguments: argparse.Namespace, start: Start, outcome: Exploration, files: list[str], instead: list[str]) -> list[str]:
    """Return the result as text."""
    from core.sim.units import format_duration
    from scenarios.exploration.player import PRUNINGS

    bounds = outcome.bounds
    goal, within = bounds.goal.condition.text, format_duration(bounds.within)
    words = ", ".join(fault.word for fault in bounds.faults)
    around = f" ({' and '.join(fault.word for fault in bounds.gradual)} also around sends)" if bounds.gradual else ""
    lines = [
        f"{arguments.target} ({start.release.name}): which faults make '{goal}' true within {within}?",
        f"  from {format_duration(start.time)} on, with {start.load}",
        f"  faults: {words}, when the situation of the cluster changes{around}; what was stopped, paused or cut can come back",
        *(f"  left out ({word}): {means}" for word, means in PRUNINGS.items() if word in bounds.prune),
    ]
    for layer in outcome.layers:
        here = [
            (each, file, other)
            for each, file, other in zip(outcome.found, files, instead, strict=True)
            if len(each.finding.faults) == layer.faults
        ]
        covered = f"{layer.runs:,} run{'' if layer.runs == 1 else 's'}, {layer.situations:,} new situations, {layer.seconds:.1f} s"
        if not layer.complete:
            covered += "; stopped before the end" if outcome.stopped else "; the time limit came before the end"
        lines.append(f"{_faults_in_words(layer.faults)}: {_answer(bool(here), layer, outcome)} ({covered})")
        for each, file, other in here:
            lines.append(f"  {each.acts}: {each.value} at {format_duration(each.finding.time)}")
            if other:
                lines.append(f"    with {arguments.without.replace(',', ' and ')}: {other}")
            if file:
                lines.append(f"    play it: isrlab play {file}")
    if outcome.dropped:
        lines.append(f"{outcome.dropped} more did not happen again when they were run from the start.")
    if outcome.found and not arguments.output:
        lines.append("Add -o DIR to get a script for each, which plays it in the playground.")
    if not outcome.found:
        lines.append(
            f"Not found within {within} is no proof: moments in the same situation are tried once, and other loads, times, and faults are "
            "possible."
        )
    return lines


def _answer(found: bool, layer: Layer, outcome: Exploration) -> str:
    if found:
        return "found"
    return "nothing left, because each combination contains one that was found" if outcome.found and not layer.runs else "not found"


def _write(outcome: Exploration, directory: str | None, name: str) -> list[str]:
    """Write the scripts, and return their paths; empty strings without a directory."""
    if directory is None:
        return [""] * len(outcome.found)
    from scenarios.errors import InputError
    from scenarios.io.output_files import write_atomically

    folder = Path(directory)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as wrong:
        raise InputError(f"-o: {directory}: {wrong.strerror}") from None
    paths = []
    for number, each in enumerate(outcome.found, 1):
        path = folder / f"{name}-{number}.yaml"
        write_atomically(path, each.script)
        paths.append(str(path))
    return paths


def _as_data(arguments: argparse.Namespace, start: Start, outcome: Exploration, files: list[str], instead: list[str]) -> dict[str, Any]:
    bounds = outcome.bounds
    return {
        "target": arguments.target,
        "release": start.release.name,
        "goal": bounds.goal.condition.text,
        "faults": [fault.word for fault in bounds.faults],
        "pruned": sorted(bounds.prune),
        "from": start.time,
        "load": start.load,
        "complete": outcome.complete,
        "layers": [
            {
                "faults": layer.faults,
                "runs": layer.runs,
                "situations": layer.situations,
                "complete": layer.complete,
                "runs_by_act": dict(sorted(layer.kinds.items())),
            }
            for layer in outcome.layers
        ],
        "found": [
            {**each.as_data(), "file": file or None, **({"with_guards": other} if other else {})}
            for each, file, other in zip(outcome.found, files, instead, strict=True)
        ],
    }
