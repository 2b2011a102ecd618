"""The commands `isrlab log`, `replay`, `compare`, and `report`.

These commands check, convert, replay, and compare event logs, and summarize the logs with Spark.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from scenarios.io.standard_streams import print_error, print_json, print_lines, print_messages
from tui.arguments.console import Parser
from tui.arguments.options import add_spark_options, log_files, seconds_of, time_of
from tui.exit_codes import BAD_INPUT, FAILED, HELD


def add_commands(commands: Any) -> None:
    """Add the commands `log check`, `log export`, `log convert`, `replay`, `compare`, and `report`."""
    log = commands.add_parser("log", help="check an event log, or write it in another format")
    log_commands = log.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=Parser)
    check = log_commands.add_parser(
        "check",
        help="report lines with a wrong sequence number, time, or cause, and an incomplete last line; exit with 2 if there are any",
    )
    check.add_argument("logs", nargs="+", metavar="LOG", help="event logs, or directories of *.jsonl files")
    check.set_defaults(command=_log_check)
    export = log_commands.add_parser("export", help="convert a session for another program")
    export.add_argument("log", metavar="LOG")
    export.add_argument(
        "--perfetto", metavar="FILE", required=True, help="write a Chrome trace for ui.perfetto.dev to this file; '-' is stdout"
    )
    export.set_defaults(command=_log_export)

    converting = log_commands.add_parser("convert", help="convert JSON Lines, compressed (.zst) or not, to Parquet and back, byte for byte")
    converting.add_argument(
        "logs", nargs="+", metavar="LOG", help="event logs, directories of event logs, or a directory that 'log convert' wrote"
    )
    converting.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        required=True,
        help="the directory or file to write: a directory for Parquet, or a directory or a *.jsonl or *.jsonl.zst file for JSON Lines",
    )
    add_spark_options(converting)
    converting.add_argument("-q", "--quiet", action="store_true", help="print nothing")
    converting.set_defaults(command=_log_convert)

    replaying = commands.add_parser("replay", help="replay event logs and compare every event; exit with 1 if any event differs")
    replaying.add_argument("logs", nargs="+", metavar="LOG", help="event logs, or directories of *.jsonl files")
    replaying.set_defaults(command=_replay)

    comparing = commands.add_parser(
        "compare",
        help="compare the leaders, ISRs, and brokers of two event logs, simulated or observed, and their times; exit with 1 if they differ",
    )
    comparing.add_argument("a", metavar="A", help="an event log, for example of a rehearsal")
    comparing.add_argument("b", metavar="B", help="another event log, for example one that 'isrlab watch' wrote")
    comparing.add_argument(
        "--align",
        nargs=2,
        metavar="TIME",
        help="a time in A and a time in B that are the same moment; by default, the first act on a broker that both logs have, the first broker "
        "that comes or goes in both, or the first change of a leader in both",
    )
    comparing.add_argument(
        "--within",
        metavar="TIME",
        default="0s",
        help="how far apart the times of a change can be, besides the resolution of observed times (default: 0s)",
    )
    comparing.add_argument("--json", action="store_true", help="print everything as one JSON document")
    comparing.set_defaults(command=_compare)

    report = commands.add_parser("report", help="summarize event logs with Spark; several logs are compared side by side")
    report.add_argument(
        "logs",
        nargs="+",
        metavar="LOG",
        help="event logs, directories, glob patterns, the output of 'log convert', or hdfs: and s3a: URIs",
    )
    report.add_argument("-o", "--output", metavar="DIR", help="write each table to this directory, as Parquet by default")
    report.add_argument(
        "--csv",
        action="store_true",
        help="with -o: write CSV, one file for each table; after 200,000 rows, a table continues in NAME-2.csv and so on",
    )
    report.add_argument("--parquet", action="store_true", help="with -o: write Parquet, even if --csv is given")
    report.add_argument("--compare", action="store_true", help="print only the table that compares sessions")
    report.add_argument("--html", metavar="FILE", help="write one HTML file with charts and tables, instead of printing tables")
    report.add_argument(
        "--follow", action="store_true", help="with --html: while the logs grow, write the page again, until the sessions have ended"
    )
    report.add_argument(
        "--every",
        metavar="SECONDS",
        default="10",
        help="with --follow: the time from the end of a page to the start of the next one (default: 10)",
    )
    add_spark_options(report)
    report.add_argument(
        "--json", action="store_true", help="print the tables as one JSON document, with at most the 10,000 worst rows of each table"
    )
    report.add_argument("-q", "--quiet", action="store_true", help="do not show progress")
    report.set_defaults(command=_report)


def _log_check(arguments: argparse.Namespace) -> int:
    from core.sim.units import format_duration
    from scenarios.errors import InputError
    from scenarios.logs.line_decoder import about_unknown
    from scenarios.logs.log_check import check_log

    bad = 0
    for path in log_files(arguments.logs):
        try:
            checked = check_log(path)
        except OSError as wrong:
            raise InputError(f"{path}: cannot be read: {wrong.strerror or wrong}") from None
        for problem in checked.problems:
            print_error(problem)
        if checked.count > len(checked.problems):
            print_error(f"{path}: {checked.count - len(checked.problems):,} more problems")
        if checked.unknown:
            print_messages(f"{path}: {about_unknown(checked.unknown)}")
        if checked.count:
            bad += 1
        else:
            print_lines([f"{path}: {checked.events:,} events, {format_duration(checked.end_us)}, all in order"], flush=True)
    return BAD_INPUT if bad else HELD


def _log_convert(arguments: argparse.Namespace) -> int:
    from scenarios.io.output_files import refuse_stdout

    refuse_stdout("-o", arguments.output, "a file or a directory")
    if not _has_spark("log convert"):
        return BAD_INPUT
    from spark_reports.convert.convert_logs import convert_logs
    from spark_reports.errors import ReportError
    from spark_reports.spark.master import read_conf

    def say(what: str) -> None:
        if not arguments.quiet:
            print_messages(what)

    try:
        convert_logs(arguments.logs, arguments.output, arguments.master, read_conf(arguments.conf), say)
    except ReportError as wrong:
        print_error(str(wrong))
        return BAD_INPUT
    return HELD


def _has_spark(command: str) -> bool:
    """Return whether PySpark is installed. If PySpark is missing, print how to install it."""
    import importlib.util

    if importlib.util.find_spec("pyspark") is not None:
        return True
    print_error(
        f"{command} needs PySpark, which is not installed; use 'make report LOG=…', or install it with: pip install 'isrlab[spark]'"
    )
    return False


def _replay(arguments: argparse.Namespace) -> int:
    from scenarios.logs.replay import lines_of, replay

    same = True
    for path in log_files(arguments.logs):
        replayed = replay(path)
        same = same and replayed.same
        print_lines(lines_of(replayed), flush=True)
    return HELD if same else FAILED


def _compare(arguments: argparse.Namespace) -> int:
    from scenarios.comparison.comparison_lines import comparison_data, comparison_lines
    from scenarios.comparison.log_comparison import compare_logs
    from scenarios.comparison.log_history import read_history
    from scenarios.logs.log_reader import LogReader

    within = time_of(arguments.within, "--within") or 0
    a_time, b_time = [time_of(each, "--align") for each in arguments.align or (None, None)]
    by_hand = None if a_time is None or b_time is None else (a_time, b_time)
    readers = LogReader(arguments.a), LogReader(arguments.b)
    a, b = map(read_history, readers)
    print_messages(*filter(None, (reader.problem() for reader in readers)))
    compared = compare_logs(a, b, within, by_hand)
    if arguments.json:
        import json

        print_json(json.dumps(comparison_data(compared), indent=2) + "\n")
    else:
        print_lines(comparison_lines(compared))
    return HELD if compared.agree else FAILED


def _log_export(arguments: argparse.Namespace) -> int:
    from scenarios.exports.perfetto import write_trace
    from scenarios.io.output_files import atomic_file, check_outputs
    from scenarios.logs.log_reader import LogReader

    check_outputs({"--perfetto": arguments.perfetto}, [arguments.log])
    reader = LogReader(arguments.log)
    if arguments.perfetto == "-":
        write_trace(reader, sys.stdout)
    else:
        with atomic_file(arguments.perfetto) as file:
            write_trace(reader, file)
    if problem := reader.problem():
        print_error(problem)
    return HELD


def _report(arguments: argparse.Namespace) -> int:
    from scenarios.io.output_files import refuse_stdout

    if (arguments.csv or arguments.parquet) and arguments.output is None:
        print_error("--csv and --parquet need -o DIR, the directory to write the tables to")
        return BAD_INPUT
    refuse_stdout("-o", arguments.output, "a directory")
    if not _has_spark("report"):
        return BAD_INPUT
    if arguments.follow:
        if arguments.html is None or arguments.output is not None or arguments.json or arguments.compare:
            print_error("--follow needs --html FILE, and no other output; write other outputs when the session has ended")
            return BAD_INPUT
        from spark_reports.follow import follow_logs

        seconds = seconds_of("--every", arguments.every)
        return follow_logs(arguments.logs, arguments.html, seconds, arguments.master, arguments.conf, quiet=arguments.quiet)
    from spark_reports.report import main_report

    return main_report(
        arguments.logs,
        arguments.output,
        arguments.master,
        as_json=arguments.json,
        quiet=arguments.quiet,
        html=arguments.html,
        conf=arguments.conf,
        csv=arguments.csv,
        parquet=arguments.parquet,
        compare=arguments.compare,
    )
