"""The command line `isrlab`: what it may be asked, in which order things are imported, and how it ends.

Exit codes: 0 all is well and every expectation held, 1 an expectation failed, 2 bad input, told in one message on stderr.
Payload goes to stdout, everything else to stderr. Each command imports what it needs when it runs, so that `isrlab run`
starts without the terminal framework and without Spark.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn

from tui import operations

if TYPE_CHECKING:
    from core.release import Release
    from scenarios.comparison import Comparison
    from scenarios.describe.described import DescribeImport
    from scenarios.language.script import Scenario
    from scenarios.logfold import Described
    from scenarios.runner import Result

HELD: Final = 0
"""Exit code: all is well, every expectation held."""

FAILED: Final = 1
"""Exit code: an expectation failed."""

BAD_INPUT: Final = 2
"""Exit code: bad input; one message on stderr says what and where."""

BROKEN_PIPE: Final = 128 + 13
"""Exit code when the reader of stdout went away."""

FILTERS: Final = ("under-replicated", "unavailable", "under-min-isr", "at-min-isr")
"""Filters of `describe`, each as Kafka's option `--<name>-partitions`."""


class _Parser(argparse.ArgumentParser):
    """Complains in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"isrlab: {message}; see '{self.prog} --help'\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    Raises:
        SystemExit: help was asked for, or the arguments are wrong.
    """
    arguments = _parser().parse_args(argv)
    from scenarios.errors import InputError

    try:
        code = int(arguments.command(arguments))
        sys.stdout.flush()
        return code
    except InputError as wrong:
        complain(str(wrong))
        return BAD_INPUT
    except BrokenPipeError:
        # Python flushes stdout once more at exit; let that go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def complain(message: str) -> None:
    """One line on stderr."""
    print(f"isrlab: {message}", file=sys.stderr, flush=True)


# --- arguments -----------------------------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="isrlab",
        description="A laboratory for Kafka's replication protocol: play with a cluster, run scenarios, report on sessions.",
        epilog="exit codes: 0 held, 1 an expectation failed, 2 bad input",
    )
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=_Parser)

    play = commands.add_parser("play", help="open the playground on a scenario or on a real cluster's kafka-topics --describe text")
    play.add_argument(
        "target",
        nargs="?",
        metavar="SCENARIO|DESCRIBE.txt",
        help="a scenario of the library, a script, or a describe text; without: a cluster that is alive",
    )
    _add_run_options(play)
    play.add_argument("--log", metavar="FILE", help="write the session's event log there")
    play.add_argument("--record", metavar="FILE", help="save the session as a scenario script there when it ends")
    play.set_defaults(command=_play)

    run = commands.add_parser("run", help="run scenarios without a screen and check what they expect")
    run.add_argument(
        "scenarios", nargs="*", metavar="SCENARIO", help="scenarios of the library or script files; without: the whole library"
    )
    _add_run_options(run, several=True)
    run.add_argument("--log", metavar="FILE", help="write the event log there (a directory, ending in '/': a log for each run)")
    run.add_argument("--json", action="store_true", help="print the results as one JSON document")
    run.add_argument("--junit", metavar="FILE", help="write the results as JUnit XML")
    run.set_defaults(command=_run)

    library = commands.add_parser("scenarios", help="the library of scenarios")
    library_commands = library.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=_Parser)
    listing = library_commands.add_parser("list", help="list the scenarios: one name a line, on a terminal with what they show")
    listing.add_argument("-l", "--long", action="store_true", help="with what they show, also when piped")
    listing.set_defaults(command=_list)
    show = library_commands.add_parser("show", help="print a scenario's script")
    show.add_argument("name", metavar="NAME")
    show.set_defaults(command=_show)

    importing = commands.add_parser("import", help="make a cluster file of a kafka-topics --describe text")
    importing.add_argument("source", metavar="DESCRIBE.txt", help="the text; '-' reads stdin")
    importing.add_argument("-o", "--output", metavar="FILE", help="write there instead of stdout")
    importing.set_defaults(command=_import)

    describe = commands.add_parser("describe", help="print kafka-topics --describe for any moment of a log or a scenario")
    describe.add_argument("source", metavar="LOG|SCENARIO", help="an event log, a scenario, or a describe text")
    describe.add_argument("--at", metavar="TIME", help="virtual time, for example 12s; without: at the end")
    describe.add_argument("--release", metavar="R", help="the Kafka release to run under and to print as")
    describe.add_argument("--topic", metavar="T", help="this topic only")
    for name in FILTERS:
        describe.add_argument(f"--{name}-partitions", action="store_true", help="as kafka-topics does")
    describe.set_defaults(command=_describe)

    checkpoints = commands.add_parser(
        "checkpoints", help="write or check the checkpoint files of brokers' log directories, for any moment of a log or a scenario"
    )
    checkpoints.add_argument(
        "source",
        metavar="LOG|SCENARIO|DIR",
        help="an event log, a scenario, or a directory of such files, of which it makes a cluster file",
    )
    checkpoints.add_argument("--at", metavar="TIME", help="virtual time, for example 12s; without: at the end")
    checkpoints.add_argument("-o", "--output", metavar="DIR", help="write there: broker-1/log-dir-1/replication-offset-checkpoint …")
    checkpoints.add_argument("--check", metavar="DIR", help="tell what the files in there say otherwise: exit 1 if anything does")
    checkpoints.set_defaults(command=_checkpoints)

    metrics = commands.add_parser("metrics", help="print Kafka's metrics under their JMX names, for any moment of a log or a scenario")
    metrics.add_argument("source", metavar="LOG|SCENARIO", help="an event log or a scenario")
    metrics.add_argument("--at", metavar="TIME", help="virtual time, for example 12s; without: at the end")
    metrics.add_argument("--broker", metavar="N", help="this broker's only")
    metrics.add_argument("--name", metavar="PATTERN", help="those with this in their name, or that match this shell pattern as a whole")
    _add_run_options(metrics)
    metrics.set_defaults(command=_metrics)

    operations.add_commands(
        commands, lambda arguments: _described(arguments.source, _time(arguments.at), _release(arguments.release)), _read
    )

    log = commands.add_parser("log", help="check an event log, or write it in another format")
    log_commands = log.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=_Parser)
    check = log_commands.add_parser(
        "check", help="name every line that is wrong: sequence, times, causes, a torn tail; exit 2 if there is one"
    )
    check.add_argument("logs", nargs="+", metavar="LOG", help="event logs, or directories of *.jsonl")
    check.set_defaults(command=_log_check)
    export = log_commands.add_parser("export", help="write a session for another program")
    export.add_argument("log", metavar="LOG")
    export.add_argument("--perfetto", metavar="FILE", required=True, help="a Chrome trace, for ui.perfetto.dev; '-' is stdout")
    export.set_defaults(command=_log_export)

    replaying = commands.add_parser("replay", help="play event logs again and hold every event against them: exit 1 if one differs")
    replaying.add_argument("logs", nargs="+", metavar="LOG", help="event logs, or directories of *.jsonl")
    replaying.set_defaults(command=_replay)

    report = commands.add_parser("report", help="have Spark summarise event logs")
    report.add_argument("logs", nargs="+", metavar="LOG", help="event logs, or directories of *.jsonl")
    report.add_argument("-o", "--output", metavar="DIR", help="write each table there as Parquet")
    report.add_argument("--html", metavar="FILE", help="write one HTML file with charts and tables, instead of tables on the terminal")
    report.add_argument("--master", metavar="URL", help="a Spark master instead of this machine")
    report.add_argument("--json", action="store_true", help="print the tables as one JSON document")
    report.add_argument("-q", "--quiet", action="store_true", help="no progress")
    report.set_defaults(command=_report)
    return parser


def _add_run_options(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    about = "run under this Kafka release, for example 0.10.2, or '4.1 without GUARD'"
    if several:
        parser.add_argument(
            "--release", metavar="R", action="append", help=f"{about}; twice or more: side by side, with the first difference"
        )
    else:
        parser.add_argument("--release", metavar="R", help=about)
    parser.add_argument("--seed", metavar="N", help="the seed of everything random")


def _version() -> str:
    return "isrlab 0.1.0"


def _release(text: str | None) -> Release | None:
    """The release of `--release`."""
    from core.release import CURRENT
    from scenarios.errors import InputError
    from scenarios.releases import release_named

    if text is None:
        return None
    if text == "current":
        return CURRENT
    try:
        return release_named(text)
    except ValueError as wrong:
        raise InputError(f"--release: {wrong}") from None


def _seed(text: str | None) -> int | None:
    """The number of `--seed`."""
    from scenarios.errors import InputError
    from scenarios.language.script import MAX_SEED

    if text is None:
        return None
    if not (text.isascii() and text.isdecimal()) or len(text) > 19 or int(text) > MAX_SEED:
        raise InputError(f"--seed: '{text[:40]}' is no seed; write a whole number from 0 to {MAX_SEED}")
    return int(text)


# --- play ----------------------------------------------------------------------------------------------------------


def _play(arguments: argparse.Namespace) -> int:
    from pathlib import Path

    from core.release import CURRENT
    from scenarios.errors import InputError
    from scenarios.play_target import PlayTarget
    from scenarios.releases import release_named

    release, seed = _release(arguments.release), _seed(arguments.seed)
    log = None if arguments.log is None else Path(arguments.log)
    if arguments.target is None:
        target = PlayTarget(None, None, release or CURRENT, seed or 0, log, "")
    elif (text := _describe_text(arguments.target)) is not None:
        from scenarios.describe.spec import to_cluster_spec

        imported = _parse_describe(text, arguments.target)
        spec, notes = to_cluster_spec(imported)
        target = PlayTarget(None, spec, release or CURRENT, seed or 0, log, Path(arguments.target).name, (*imported.notes, *notes))
    else:
        from scenarios import catalogue

        scenario = catalogue.load(arguments.target)
        target = PlayTarget(
            None if scenario.plain else scenario,
            scenario.spec,
            release or release_named(scenario.releases[-1]),
            scenario.seed if seed is None else seed,
            log,
            scenario.name,
        )
    if arguments.record is not None:
        import attrs

        record = Path(arguments.record)
        if not record.parent.is_dir():
            raise InputError(f"--record: there is no directory {record.parent}")
        target = attrs.evolve(target, record=record)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        complain("play needs a terminal; 'isrlab run' runs a scenario without one")
        return BAD_INPUT
    for note in target.notes:
        complain(note)
    from tui.app import run_app

    return run_app(target)


# --- run -----------------------------------------------------------------------------------------------------------


def _run(arguments: argparse.Namespace) -> int:
    with _without_collection():
        from scenarios import catalogue, results
        from scenarios.errors import InputError
        from scenarios.language.script import releases_of

    wanted = [release for text in arguments.release or () if (release := _release(text)) is not None]
    seed = _seed(arguments.seed)
    if len({release.name for release in wanted}) < len(wanted):
        raise InputError(f"--release: {', '.join(release.name for release in wanted)}: a release stands twice; name two different ones")
    scenarios = [catalogue.load(name) for name in arguments.scenarios or catalogue.names()]
    for scenario in scenarios:
        if scenario.plain:
            raise InputError(
                f"{scenario.source}: nothing to run: the script has neither steps nor expectations; 'isrlab play' plays its cluster"
            )
    runs = [(scenario, under) for scenario in scenarios for under in releases_of(scenario, wanted)]
    logs = _log_paths(arguments.log, runs)
    done: list[Result] = []
    compared: list[Comparison] = []
    with _ending_on_sigterm():
        if len(wanted) > 1:
            for number, scenario in enumerate(scenarios):
                compared.append(_compare(scenario, releases_of(scenario, wanted), seed, logs[number * len(wanted) :], quiet=arguments.json))
                done.extend(outcome.result for outcome in compared[-1].outcomes)
        else:
            for (scenario, under), log in zip(runs, logs, strict=True):
                result = _run_one(scenario, under, seed, log)
                done.append(result)
                if not arguments.json:
                    print("\n".join(results.lines(result)), flush=True)
    if arguments.json:
        import json

        document = results.as_data(done)
        if compared:
            from scenarios import comparison

            document["comparisons"] = [comparison.as_data(one) for one in compared]
        print(json.dumps(document, indent=2))
    elif len(done) > 1:
        print(results.summary(done))
    if arguments.junit is not None:
        _write(arguments.junit, results.as_junit(done))
    return HELD if all(result.held for result in done) else FAILED


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """The garbage collector rests while modules load: they leave no garbage, and looking costs a tenth of the start."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _run_one(scenario: Scenario, release: Release, seed: int | None, log: str | None) -> Result:
    from scenarios.runner import Run

    if log is None:
        return Run(scenario, release, seed).run()
    from scenarios.eventlog import LogWriter, make_header

    with LogWriter(log, make_header(scenario.spec, release, scenario.seed if seed is None else seed, scenario.name)) as writer:
        run = Run(scenario, release, seed, writer)
        result = run.run()
        writer.close(run.cluster.now)
    return result


def _compare(scenario: Scenario, releases: Sequence[Release], seed: int | None, logs: Sequence[str | None], *, quiet: bool) -> Comparison:
    """Run a scenario under several releases, and say what each came to and where they part."""
    from scenarios import comparison, results
    from scenarios.eventlog import LogWriter, make_header

    with contextlib.ExitStack() as stack:
        writers: list[LogWriter | None] = []
        for release, log in zip(releases, logs, strict=False):
            header = make_header(scenario.spec, release, scenario.seed if seed is None else seed, scenario.name)
            writers.append(None if log is None else stack.enter_context(LogWriter(log, header)))
        compared = comparison.compare(scenario, releases, seed, writers)
        for writer, outcome in zip(writers, compared.outcomes, strict=False):
            if writer is not None:
                writer.close(outcome.result.time)
    if not quiet:
        for outcome in compared.outcomes:
            print("\n".join(results.lines(outcome.result)))
        print("\n".join(comparison.lines(compared)), flush=True)
    return compared


def _log_paths(wanted: str | None, runs: list[tuple[Scenario, Release]]) -> list[str | None]:
    """A log's file for each run: the one named, or one of its own in a directory."""
    from scenarios.errors import InputError

    if wanted is None:
        return [None] * len(runs)
    if wanted.endswith("/") or os.path.isdir(wanted):
        try:
            os.makedirs(wanted, exist_ok=True)
        except OSError as wrong:
            raise InputError(f"{wanted}: cannot be made: {wrong.strerror or wrong}") from None
        return [os.path.join(wanted, f"{scenario.name}-{release.name}.jsonl".replace(" ", "-")) for scenario, release in runs]
    if len(runs) != 1:
        names = ", ".join(f"{scenario.name} ({release.name})" for scenario, release in runs[:4])
        raise InputError(
            f"--log: one file for {len(runs)} runs ({names}{' …' if len(runs) > 4 else ''}); name one scenario and a --release, or a directory ending in '/'"
        )
    return [wanted]


@contextlib.contextmanager
def _ending_on_sigterm() -> Iterator[None]:
    """SIGTERM ends the process in good order, so that a log gets its last lines."""

    def end(number: int, _frame: Any) -> NoReturn:
        raise SystemExit(128 + number)

    try:
        before = signal.signal(signal.SIGTERM, end)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


# --- the library ---------------------------------------------------------------------------------------------------


def _list(arguments: argparse.Namespace) -> int:
    from scenarios import catalogue

    names = catalogue.names()
    if not (arguments.long or sys.stdout.isatty()):
        print("\n".join(names))
        return HELD
    width = max(map(len, names))
    for name in names:
        print(f"{name:<{width}}  {catalogue.load(name).headline}".rstrip())
    return HELD


def _show(arguments: argparse.Namespace) -> int:
    from scenarios import catalogue

    path = catalogue.path_of(arguments.name)
    sys.stdout.write(path.read_text(encoding="utf-8"))
    return HELD


# --- describe texts ------------------------------------------------------------------------------------------------


def _import(arguments: argparse.Namespace) -> int:
    from scenarios.describe.spec import to_cluster_spec
    from scenarios.language.cluster import write_cluster

    imported = _parse_describe(_read(arguments.source), arguments.source)
    spec, notes = to_cluster_spec(imported)
    for note in (*imported.notes, *notes):
        print(note, file=sys.stderr)
    _write(arguments.output, write_cluster(spec))
    return HELD


def _describe(arguments: argparse.Namespace) -> int:
    from core.units import parse_duration
    from scenarios.describe.render import render_describe
    from scenarios.errors import InputError

    release = _release(arguments.release)
    at: int | None = None
    if arguments.at is not None:
        try:
            at = parse_duration(arguments.at)
        except ValueError as wrong:
            raise InputError(f"--at: {wrong}") from None
    described = _described(arguments.source, at, release)
    chosen = {name.replace("-", "_"): getattr(arguments, f"{name.replace('-', '_')}_partitions") for name in FILTERS}
    try:
        text = render_describe(
            described.topics, release or described.release, live_brokers=described.live_brokers, topic=arguments.topic, **chosen
        )
    except ValueError as wrong:
        raise InputError(f"{arguments.source}: {wrong}") from None
    sys.stdout.write(text)
    return HELD


def _time(text: str | None) -> int | None:
    """The virtual time of `--at`."""
    from core.units import parse_duration
    from scenarios.errors import InputError

    if text is None:
        return None
    try:
        return parse_duration(text)
    except ValueError as wrong:
        raise InputError(f"--at: {wrong}") from None


def _checkpoints(arguments: argparse.Namespace) -> int:
    from scenarios import checkpoints
    from scenarios.errors import InputError

    if os.path.isdir(arguments.source):
        from scenarios.language.cluster import write_cluster

        tree = checkpoints.read_tree(arguments.source)
        if arguments.check is None:
            _write(arguments.output, write_cluster(checkpoints.spec_of(tree)))
            return HELD
    else:
        if arguments.output is None and arguments.check is None:
            raise InputError("checkpoints: name a directory to write to (-o DIR) or to compare with (--check DIR)")
        cluster = checkpoints.cluster_at(arguments.source, _time(arguments.at), _looks_like_log(arguments.source))
        tree = checkpoints.tree_of(cluster)
        if arguments.output is not None:
            count = checkpoints.write_tree(tree, arguments.output)
            print(f"{count} files of {len(tree)} log directories in {arguments.output}")
    if arguments.check is None:
        return HELD
    told = checkpoints.differences(tree, checkpoints.read_tree(arguments.check))
    print("\n".join(told) if told else "the same")
    return FAILED if told else HELD


def _metrics(arguments: argparse.Namespace) -> int:
    from scenarios import metrics
    from scenarios.errors import InputError

    at = _time(arguments.at)
    number = arguments.broker
    if number is not None and not (number.isascii() and number.isdecimal() and len(number) < 11):
        raise InputError(f"--broker: '{number[:40]}' is no broker; write its number, for example 2")
    if _looks_like_log(arguments.source):
        from scenarios.eventlog import LogReader

        reader = LogReader(arguments.source)
        samples = metrics.of_log(reader, at)
        if problem := reader.problem():
            complain(problem)
    else:
        from scenarios import catalogue
        from scenarios.releases import release_named

        scenario = catalogue.load(arguments.source)
        release = _release(arguments.release) or release_named(scenario.releases[-1])
        samples = metrics.of_scenario(scenario, release, _seed(arguments.seed), at)
    found = list(metrics.lines(samples, None if number is None else int(number), arguments.name))
    if not found:
        complain("no metric is called so there")
        return FAILED
    print("\n".join(found))
    return HELD


def _described(source: str, at: int | None, release: Release | None) -> Described:
    """The metadata that a log, a describe text or a scenario has at a time."""
    from scenarios.logfold import Described, fold_log

    if _looks_like_log(source):
        from scenarios.eventlog import LogReader

        reader = LogReader(source)
        folded = fold_log(reader, at)
        if problem := reader.problem():
            complain(problem)
        return folded
    if (text := _describe_text(source)) is not None:
        imported = _parse_describe(text, source)
        return _described_text(imported, text, at, release)
    from scenarios import catalogue
    from scenarios.describe.render import from_view
    from scenarios.releases import release_named
    from scenarios.runner import Run

    scenario = catalogue.load(source)
    under = release or release_named(scenario.releases[-1])
    run = Run(scenario, under)
    if at is None:
        run.run()
    else:
        run.advance_to(at)
    view = run.cluster.view()
    return Described(from_view(view), frozenset(broker.id for broker in view.brokers if not broker.fenced), under)


def _described_text(imported: DescribeImport, text: str, at: int | None, release: Release | None) -> Described:
    """A describe text as it stands, or, with a time, the cluster made of it after it has lived that long."""
    from core.release import CURRENT
    from scenarios.describe.render import from_view
    from scenarios.describe.spec import to_cluster_spec
    from scenarios.logfold import Described

    for note in imported.notes:
        print(note, file=sys.stderr)
    if at is None:
        proved = frozenset(broker for topic in imported.topics for row in topic.rows if row.has_leader for broker in row.isr)
        return Described(imported.topics, proved, release or _release_of(text, imported))
    from core.sim.cluster import Cluster

    spec, notes = to_cluster_spec(imported)
    for note in notes:
        print(note, file=sys.stderr)
    cluster = Cluster(spec, release or CURRENT)
    cluster.run_until(at)
    view = cluster.view()
    return Described(from_view(view), frozenset(broker.id for broker in view.brokers if not broker.fenced), release or CURRENT)


def _release_of(text: str, imported: DescribeImport) -> Release:
    """The newest release that prints the columns a text has."""
    from core.release import RELEASES
    from scenarios.describe.described import ElrColumn

    rows = [row for topic in imported.topics for row in topic.rows]
    elr = any(row.elr_known is not ElrColumn.ABSENT for row in rows)
    topic_id = elr or any(topic.topic_id for topic in imported.topics)
    spaced = topic_id or "PartitionCount: " in text
    no_leader = "-1" if any(not row.has_leader for row in rows) and "Leader: none" not in text else "none"
    for release in reversed(RELEASES.values()):
        if (release.describe_elr, release.describe_topic_id, release.describe_spaced, release.describe_no_leader) == (
            elr,
            topic_id,
            spaced,
            no_leader,
        ):
            return release
    return next(one for one in reversed(RELEASES.values()) if (one.describe_elr, one.describe_topic_id) == (elr, topic_id))


def _parse_describe(text: str, source: str) -> DescribeImport:
    from scenarios.describe.parse import parse_describe

    return parse_describe(text, "<stdin>" if source == "-" else source)


def _describe_text(source: str) -> str | None:
    """The text of a file that holds what kafka-topics --describe printed; None for anything else."""
    import re

    if source.endswith((".yaml", ".yml")) or not os.path.isfile(source):
        return None
    text = _read(source)
    return text if re.search(r"^[^#\n]*\bTopic:\s*\S+.*\bPartition(?:Count)?:", text, re.MULTILINE) or source.endswith(".txt") else None


def _looks_like_log(source: str) -> bool:
    if source.endswith(".jsonl"):
        return True
    try:
        with open(source, "rb") as file:
            return file.read(1) == b"{"
    except (OSError, ValueError):
        return False


def _read(source: str) -> str:
    """A text file, or stdin."""
    from scenarios.errors import InputError

    try:
        if source == "-":
            data = sys.stdin.buffer.read()
        else:
            with open(source, "rb") as file:
                data = file.read()
    except OSError as wrong:
        raise InputError(f"{source}: cannot be read: {wrong.strerror or wrong}") from None
    except ValueError:
        raise InputError(f"{source!r}: is no file name") from None
    if b"\0" in data:
        raise InputError(f"{source}:1: the file is binary; give text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        line = data.count(b"\n", 0, wrong.start) + 1
        raise InputError(f"{source}:{line}: the file is binary or not UTF-8; give text") from None


def _write(path: str | None, text: str) -> None:
    """A text to a file, or to stdout without one."""
    from scenarios.errors import InputError

    if path is None:
        sys.stdout.write(text)
        return
    try:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as wrong:
        raise InputError(f"{path}: cannot be written: {wrong.strerror or wrong}") from None
    except ValueError:
        raise InputError(f"{path!r}: is no file name") from None


# --- event logs ----------------------------------------------------------------------------------------------------


def _log_check(arguments: argparse.Namespace) -> int:
    from core.units import format_duration
    from scenarios.errors import InputError
    from scenarios.logcheck import check_log

    bad = 0
    for path in _log_files(arguments.logs):
        try:
            checked = check_log(path)
        except OSError as wrong:
            raise InputError(f"{path}: cannot be read: {wrong.strerror or wrong}") from None
        for problem in checked.problems:
            complain(problem)
        if checked.count > len(checked.problems):
            complain(f"{path}: {checked.count - len(checked.problems):,} more problems")
        if checked.count:
            bad += 1
        else:
            print(f"{path}: {checked.events:,} events, {format_duration(checked.end_us)}, all in order", flush=True)
    return BAD_INPUT if bad else HELD


def _replay(arguments: argparse.Namespace) -> int:
    from scenarios.replay import lines_of, replay

    same = True
    for path in _log_files(arguments.logs):
        replayed = replay(path)
        same = same and replayed.same
        print("\n".join(lines_of(replayed)), flush=True)
    return HELD if same else FAILED


def _log_files(paths: Sequence[str]) -> list[str]:
    """The files meant: a directory stands for its logs."""
    from scenarios.errors import InputError

    found: list[str] = []
    for path in paths:
        if not os.path.isdir(path):
            found.append(path)
            continue
        inside = sorted(name for name in os.listdir(path) if name.endswith(".jsonl"))
        if not inside:
            raise InputError(f"{path}: no event log (*.jsonl) in this directory")
        found.extend(os.path.join(path, name) for name in inside)
    return found


def _log_export(arguments: argparse.Namespace) -> int:
    from scenarios.errors import InputError
    from scenarios.eventlog import LogReader
    from scenarios.perfetto import write_trace

    reader = LogReader(arguments.log)
    if arguments.perfetto == "-":
        write_trace(reader, sys.stdout)
    else:
        try:
            with open(arguments.perfetto, "w", encoding="utf-8", newline="\n") as file:
                write_trace(reader, file)
        except OSError as wrong:
            raise InputError(f"{arguments.perfetto}: cannot be written: {wrong.strerror or wrong}") from None
        except ValueError:
            raise InputError(f"{arguments.perfetto!r}: is no file name") from None
    if problem := reader.problem():
        complain(problem)
    return HELD


# --- report --------------------------------------------------------------------------------------------------------


def _report(arguments: argparse.Namespace) -> int:
    import importlib.util

    if importlib.util.find_spec("pyspark") is None:
        complain(
            "report needs PySpark, which is not installed; 'make report LOG=…' brings it, or install it with: pip install 'isrlab[spark]'"
        )
        return BAD_INPUT
    from spark_reports.report import main_report

    return main_report(
        arguments.logs, arguments.output, arguments.master, as_json=arguments.json, quiet=arguments.quiet, html=arguments.html
    )


if __name__ == "__main__":
    sys.exit(main())
