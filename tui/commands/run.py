"""The command `isrlab run`, which runs scenarios without a screen and checks their expectations."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from scenarios.gc_disabled import gc_disabled
from scenarios.io.standard_streams import print_error, print_json, print_lines, print_messages
from tui.arguments.console import write_text
from tui.arguments.options import add_feature_option, add_run_options, features_of, max_events_of, max_seconds_of, release_of, seed_of
from tui.exit_codes import FAILED, HELD, LIMIT_REACHED

if TYPE_CHECKING:
    from core.kafka.release import Release
    from scenarios.language.script import Scenario
    from scenarios.models.script import ModelScenario
    from scenarios.running.comparison import Case, Comparison
    from scenarios.running.model_runner import ModelResult
    from scenarios.running.run_summary import RunSummary
    from scenarios.running.runner import Result
    from scenarios.running.shown_readings import ShownReadings
    from scenarios.variations.variation import Variation
    from tui.commands.run_watch import RunWatch


def add_commands(commands: Any) -> None:
    """Add the `run` command to the command-line parser."""
    run = commands.add_parser("run", help="run scenarios without the playground, and check their expectations")
    run.add_argument(
        "scenarios", nargs="*", metavar="SCENARIO", help="scenarios from the library, or script files; by default, all Kafka scenarios"
    )
    add_run_options(run, several=True)
    add_feature_option(run)
    run.add_argument(
        "--log",
        metavar="FILE",
        help="write the event log to this file; if the path ends in '/', write one log for each run to this directory",
    )
    run.add_argument(
        "--model",
        action="append",
        metavar="MODEL",
        help="run the faults of a scenario, or a fault such as primary-dies, under another replication model, with the same clients in "
        "each; repeat this option for several models",
    )
    run.add_argument("--max-events", metavar="N", help="stop a run after this many events, with exit code 3; by default, 1000000000")
    run.add_argument("--max-seconds", metavar="S", help="stop a run after this many seconds of real time, with exit code 3")
    run.add_argument(
        "--show",
        action="append",
        metavar="READING",
        help="print a value, for example 'leo(orders-0, 2)'; repeat this option for several values; see 'isrlab readings'",
    )
    run.add_argument(
        "--at",
        action="append",
        metavar="TIME",
        help="the virtual time at which --show reads, for example 16s; by default, the end of the run",
    )
    run.add_argument(
        "--vary",
        action="append",
        metavar="SETTING=VALUE,...",
        help="run the scenario with each value and compare the runs, for example --vary min.insync.replicas=1,2 --vary acks=1,all; up to "
        "four runs; a single value is compared with the scenario as it is; 'release' and the words of sweeps can vary, too",
    )
    run.add_argument("--quiet", "-q", action="store_true", help="do not print what happened, only whether the expectations held")
    run.add_argument("--json", action="store_true", help="print the results as one JSON document")
    run.add_argument("--junit", metavar="FILE", help="write the results as JUnit XML")
    run.set_defaults(command=_run)


def _run(arguments: argparse.Namespace) -> int:
    from tui.commands.run_watch import LimitReached

    watch = _watch(arguments)
    try:
        return _run_models(arguments, watch) if arguments.model else _run_scenarios(arguments, watch)
    except LimitReached as stopped:
        print_error(str(stopped))
        return LIMIT_REACHED


def _first_topic(scenario: Scenario) -> str:
    return scenario.spec.topics[0].name if scenario.spec.topics else "orders"


def _watch(arguments: argparse.Namespace) -> RunWatch:
    """Return the watch over the runs, with the limits from the command line."""
    from scenarios.language.budget import MAX_EVENTS
    from tui.commands.run_watch import RunWatch

    return RunWatch(max_events_of(arguments.max_events) or MAX_EVENTS, max_seconds_of(arguments.max_seconds))


def _run_scenarios(arguments: argparse.Namespace, watch: RunWatch) -> int:
    with gc_disabled():
        from scenarios import catalogue
        from scenarios.errors import InputError
        from scenarios.io.output_files import is_stdout
        from scenarios.io.termination_signals import raise_on_signals
        from scenarios.language.script import Scenario, releases_of
        from scenarios.running import results
        from scenarios.running.run_summary import RunSummary
        from scenarios.running.shown_readings import ShownReadings
    from scenarios.running.inert_settings import warnings

    wanted = [release for text in arguments.release or () if (release := release_of(text)) is not None]
    seed = seed_of(arguments.seed)
    if len({release.name for release in wanted}) < len(wanted):
        raise InputError(f"--release: {', '.join(release.name for release in wanted)}: a release is given twice; name different releases")
    features = features_of(arguments.feature)
    views = ShownReadings.of(arguments.show or (), arguments.at or ())
    variations = _variations(arguments, wanted)
    loaded = [catalogue.load_any(name) for name in arguments.scenarios or catalogue.names()]
    scenarios = [one.with_features(features) for one in loaded if isinstance(one, Scenario)]
    models = [one for one in loaded if not isinstance(one, Scenario)]
    if views.terms and (models or not scenarios):
        raise InputError("--show: works for runs of Kafka scenarios")
    if models and arguments.scenarios:
        _refuse_options_of_kafka(arguments, models)
    elif arguments.log or wanted or features or variations:
        models = []  # the rest of the library has neither releases nor event logs
    for scenario in scenarios:
        views.check(scenario)
        if scenario.plain:
            raise InputError(
                f"{scenario.source}: nothing to run: the script has neither steps nor expectations; 'isrlab play' plays its cluster; to run it, "
                f"add steps, for example 'timeline: [{{load: {{topic: {_first_topic(scenario)}, rate: 100, acks: all}}}}, {{wait: 30s}}]'"
            )
    groups = [group for scenario in scenarios for group in _groups(scenario, releases_of(scenario, wanted), variations, len(wanted) > 1)]
    runs = [case for group in groups for case in group]
    for scenario in scenarios:
        print_messages(*(f"warning: {line}" for line in warnings(scenario, releases_of(scenario, wanted))))
    logs = _log_paths(arguments.log, runs)
    _check_files(arguments, scenarios, runs, logs, seed)
    # If stdout contains data for another program, the results go to stderr.
    print_all = _print_to_stderr if any(is_stdout(path) for path in (*logs, arguments.junit) if path is not None) else _print_to_stdout
    done: list[Result | ModelResult] = []
    compared: list[Comparison] = []
    details: list[list[str]] = []
    with raise_on_signals():
        written = iter(logs)
        for group in groups:
            if len(group) > 1:
                compared.append(
                    _compare(group, seed, list(islice(written, len(group))), None if arguments.json else print_all, watch, views)
                )
                done.extend(outcome.result for outcome in compared[-1].outcomes)
                continue
            told = None if arguments.quiet or not arguments.scenarios else RunSummary()
            result = _run_one(group[0].scenario, group[0].release, seed, next(written), watch, told, views)
            done.append(result)
            happened = [] if told is None else list(told.lines(result.time, result.harm.acked, result.harm.losses))
            details.append(happened)
            if not arguments.json:
                print_all([*results.lines(result), *happened, *results.shown_lines(result)])
        for counted in _run_model_scenarios(models, seed, watch):
            done.append(counted)
            if not arguments.json:
                print_all(results.lines(counted))
    if arguments.json:
        import json

        document = results.as_data(done)
        for run, happened in zip(document["runs"], details, strict=False):
            if happened:
                run["happened"] = [line.strip() for line in happened]
        if compared:
            from scenarios.running import comparison

            document["comparisons"] = [comparison.as_data(one) for one in compared]
        print_json(json.dumps(document, indent=2) + "\n")
    elif len(done) > 1:
        print_all([results.summary(done)])
    if arguments.junit is not None:
        write_text(arguments.junit, results.as_junit(done))
    return HELD if all(result.held for result in done) else FAILED


def _variations(arguments: argparse.Namespace, wanted: Sequence[Release]) -> tuple[Variation, ...]:
    """Return the runs that the option `--vary` asks for."""
    from scenarios.errors import InputError

    if not arguments.vary:
        return ()
    from scenarios.variations.variation import read_variations

    if not arguments.scenarios:
        raise InputError("--vary: name the scenarios whose runs are compared")
    if len(wanted) > 1:
        raise InputError(f"--release: with --vary, write --vary release={','.join(release.name for release in wanted)}")
    try:
        return read_variations(arguments.vary)
    except InputError as wrong:
        raise InputError(f"--vary: {wrong}") from None


def _groups(scenario: Scenario, releases: Sequence[Release], variations: Sequence[Variation], together: bool) -> Iterator[list[Case]]:
    """Yield the runs of a scenario: those that are compared are in one group.

    Args:
        scenario: the scenario.
        releases: the releases under which it runs.
        variations: the variations that are compared; none to compare nothing, or releases.
        together: whether the releases are compared.
    """
    from scenarios.errors import InputError
    from scenarios.running.comparison import Case, releases_as_cases

    if not variations:
        cases = releases_as_cases(scenario, releases)
        yield from ([cases] if together else [[case] for case in cases])
        return
    from scenarios.variations.variation import VariedRun

    for release in releases[-1:] if any(word == "release" for word, _ in variations[-1].values) else releases:
        try:
            varied = [VariedRun.of(variation, scenario.spec, release) for variation in variations]
        except InputError as wrong:
            raise InputError(f"--vary: {scenario.name}: {wrong}") from None
        yield [Case(one.name, one.scenario(scenario), one.release, one.values) for one in varied]


def _refuse_options_of_kafka(arguments: argparse.Namespace, scenarios: Sequence[ModelScenario]) -> None:
    """Refuse options that make no sense for scripts of other replication models."""
    from scenarios.errors import InputError

    lacking = (
        ("release", "Kafka releases"),
        ("feature", "Kafka features"),
        ("log", "event log in Kafka's format"),
        ("vary", "settings of Kafka"),
    )
    for option, lacks in lacking:
        if getattr(arguments, option):
            raise InputError(f"--{option}: {scenarios[0].source} runs other replication models, which have no {lacks}")


def _run_model_scenarios(scenarios: Sequence[ModelScenario], seed: int | None, watch: RunWatch) -> Iterator[ModelResult]:
    """Run scripts for other replication models. Yield the result of each system."""
    if not scenarios:
        return
    from scenarios.running.model_runner import ModelRun

    for scenario in scenarios:
        for system in scenario.systems:
            with watch.over(f"{scenario.name} ({system.name})"):
                result = ModelRun(scenario, system, seed, watch.sink(None)).run()
            yield result


def _run_models(arguments: argparse.Namespace, watch: RunWatch) -> int:
    """Run faults under several replication models. Print the counts for each model, and the first difference that a client sees."""
    with gc_disabled():
        from scenarios.errors import InputError
        from scenarios.io.termination_signals import raise_on_signals
        from scenarios.running import models

    for option in ("release", "feature", "log", "junit", "json", "show", "at", "vary"):
        if getattr(arguments, option):
            raise InputError(f"--{option}: cannot be combined with --model")
    seed = seed_of(arguments.seed)
    with raise_on_signals():
        for name in arguments.scenarios or models.fault_names():
            with watch.over(name):
                lines = list(models.lines(name, arguments.model, 0 if seed is None else seed, lambda: watch.sink(None)))
            print_lines(lines, flush=True)
    return HELD


def _print_to_stdout(lines: Iterable[str]) -> None:
    print_lines(lines, flush=True)


def _print_to_stderr(lines: Iterable[str]) -> None:
    print_messages(*lines)


def _run_one(
    scenario: Scenario, release: Release, seed: int | None, log: str | None, watch: RunWatch, told: RunSummary | None, views: ShownReadings
) -> Result:
    """Run a scenario. Pass its events to `told`, write them to `log`, and take the readings in `views`."""
    from scenarios.running.runner import Run
    from scenarios.running.since_when import explain_failures

    name = f"{scenario.name} ({release.name})"
    if log is None:
        with watch.over(name):
            run = Run(scenario, release, seed, watch.sink(told), readings=views.terms)
            views.run(run)
            explain_failures(run)
            return run.result()
    from scenarios.logs.log_header import make_header
    from scenarios.logs.log_writer import LogWriter

    with LogWriter(log, make_header(scenario.spec, release, scenario.seed if seed is None else seed, scenario.name)) as writer:
        with watch.over(name):
            run = Run(scenario, release, seed, watch.sink(_both(writer, told)), readings=views.terms)
            writer.begin()
            views.run(run)
            explain_failures(run)
        writer.close(run.cluster.now)
    return run.result()


def _both(writer: Callable[[Any], None], told: RunSummary | None) -> Callable[[Any], None]:
    """Return a sink that passes events to a log, and to the summary of the run if there is one."""
    if told is None:
        return writer

    def take(event: Any) -> None:
        writer(event)
        told(event)

    return take


def _compare(
    cases: Sequence[Case],
    seed: int | None,
    logs: Sequence[str | None],
    print_all: Callable[[Iterable[str]], None] | None,
    watch: RunWatch,
    views: ShownReadings,
) -> Comparison:
    """Run cases of a scenario. Report the result of each run, what clients felt in each, and the first difference."""
    from scenarios.logs.log_header import make_header
    from scenarios.logs.log_writer import LogWriter
    from scenarios.running import comparison, results

    with contextlib.ExitStack() as stack:
        writers: list[LogWriter | None] = []
        for case, log in zip(cases, logs, strict=False):
            scenario = case.scenario
            header = make_header(scenario.spec, case.release, scenario.seed if seed is None else seed, scenario.name)
            writers.append(None if log is None else stack.enter_context(LogWriter(log, header)))
        for writer in writers:
            if writer is not None:
                writer.begin()
        with watch.over(f"{cases[0].scenario.name} ({', '.join(case.name for case in cases)})"):
            sinks = [watch.sink(writer) for writer in writers]
            compared = comparison.compare(cases, seed, sinks, readings=views.terms, through=views.run)
        for writer, outcome in zip(writers, compared.outcomes, strict=False):
            if writer is not None:
                writer.close(outcome.result.time)
    if print_all is not None:
        for outcome in compared.outcomes:
            said = list(results.lines(outcome.result))
            print_all(said[:1] if outcome.case.settings else said)
        print_all(comparison.side_by_side(compared))
        print_all(comparison.lines(compared))
    return compared


def _is_directory(wanted: str) -> bool:
    return wanted.endswith("/") or os.path.isdir(wanted)


def _check_files(
    arguments: argparse.Namespace,
    scenarios: Sequence[Scenario],
    runs: Sequence[Case],
    logs: Sequence[str | None],
    seed: int | None,
) -> None:
    """Before any file is written, check that no output overwrites an input and that every run can start."""
    if arguments.log is None and arguments.junit is None:
        return
    from scenarios.errors import InputError
    from scenarios.io.output_files import check_outputs
    from scenarios.running.runner import Run

    sources = [scenario.source for scenario in scenarios]
    outputs: dict[str, str | None] = {"--json": "-" if arguments.json else None, "--junit": arguments.junit}
    if arguments.log is not None and _is_directory(arguments.log):
        if os.path.isdir(arguments.log):
            outputs |= {f"--log, run {number}": log for number, log in enumerate(logs, 1)}
    else:
        outputs["--log"] = arguments.log
    check_outputs(outputs, sources)
    if len(runs) > 1:
        for case in runs:
            Run(case.scenario, case.release, seed)
    if arguments.log is not None and _is_directory(arguments.log):
        try:
            os.makedirs(arguments.log, exist_ok=True)
        except OSError as wrong:
            raise InputError(f"{arguments.log}: cannot be created: {wrong.strerror or wrong}") from None


def _log_paths(wanted: str | None, runs: list[Case]) -> list[str | None]:
    """Return the path of the event log for each run: the given file, or a separate file for each run in the given directory."""
    from scenarios.errors import InputError

    if wanted is None:
        return [None] * len(runs)
    if _is_directory(wanted):
        paths = [os.path.join(wanted, f"{_file_name(case)}.jsonl") for case in runs]
        first: dict[str, str] = {}
        for path, case in zip(paths, runs, strict=True):
            if path in first:
                raise InputError(
                    f"--log: {first[path]} and {case.scenario.source} would both write {path}; give them different names "
                    "('scenario:') or run one at a time"
                )
            first[path] = case.scenario.source
        return list(paths)
    if len(runs) != 1:
        names = ", ".join(f"{case.scenario.name} ({case.name})" for case in runs[:4])
        raise InputError(
            f"--log: one file cannot hold {len(runs)} runs ({names}{' …' if len(runs) > 4 else ''}); name one scenario and a "
            "--release, or a directory ending in '/'"
        )
    return [wanted]


def _file_name(case: Case) -> str:
    """Return the name of the event log of a run, without its extension."""
    values = "".join(f"-{word}-{value}" for word, value in case.settings if word != "release")
    return f"{case.scenario.name}-{case.release.name}{values}".replace(" ", "-").replace("/", "-")
