"""The commands `isrlab checkpoints` and `metrics`: the checkpoint files and the metrics of brokers at any moment of a log or scenario."""

from __future__ import annotations

import argparse
import os
from typing import Any

from scenarios.io.standard_streams import print_error, print_lines
from tui.arguments.console import write_text
from tui.arguments.options import add_run_options, release_of, seed_of, time_of
from tui.arguments.sources import looks_like_log
from tui.exit_codes import FAILED, HELD


def add_commands(commands: Any) -> None:
    """Add the commands `checkpoints` and `metrics`."""
    checkpoints = commands.add_parser(
        "checkpoints", help="write or check the checkpoint files of brokers' log directories, for any moment of a log or a scenario"
    )
    checkpoints.add_argument(
        "source",
        metavar="LOG|SCENARIO|DIR",
        help="an event log, a scenario, or a directory of checkpoint files to make a cluster file from",
    )
    checkpoints.add_argument("--at", metavar="TIME", help="the virtual time, for example 12s; by default, the end")
    checkpoints.add_argument(
        "-o", "--output", metavar="DIR", help="write to this directory, for example broker-1/log-dir-1/replication-offset-checkpoint"
    )
    checkpoints.add_argument(
        "--check", metavar="DIR", help="compare with the files in this directory and report differences; exit with 1 if there are any"
    )
    checkpoints.set_defaults(command=_checkpoints)

    metrics = commands.add_parser("metrics", help="print Kafka's metrics under their JMX names, for any moment of a log or a scenario")
    metrics.add_argument("source", metavar="LOG|SCENARIO", help="an event log or a scenario")
    metrics.add_argument("--at", metavar="TIME", help="the virtual time, for example 12s; by default, the end")
    metrics.add_argument("--broker", metavar="N", help="print only the metrics of this broker")
    metrics.add_argument("--name", metavar="PATTERN", help="print only metrics whose name contains this text or matches this shell pattern")
    add_run_options(metrics)
    metrics.set_defaults(command=_metrics)


def _checkpoints(arguments: argparse.Namespace) -> int:
    from scenarios.errors import InputError
    from scenarios.exports import checkpoints
    from scenarios.exports.cluster_at import cluster_at
    from scenarios.io.output_files import refuse_stdout

    if os.path.isdir(arguments.source):
        from scenarios.io.output_files import check_outputs
        from scenarios.language.cluster import write_cluster

        tree = checkpoints.read_tree(arguments.source)
        if arguments.check is None:
            read = (f"{arguments.source}/{directory}/{name}" for directory, files in tree.items() for name in files)
            check_outputs({"-o": arguments.output}, read)
            write_text(arguments.output, write_cluster(checkpoints.spec_of(tree)))
            return HELD
    else:
        if arguments.output is None and arguments.check is None:
            raise InputError("checkpoints: name a directory to write to (-o DIR) or to compare with (--check DIR)")
        refuse_stdout("-o", arguments.output, "a directory")
        cluster = cluster_at(arguments.source, time_of(arguments.at), log=looks_like_log(arguments.source))
        tree = checkpoints.tree_of(cluster)
        if arguments.output is not None:
            count = checkpoints.write_tree(tree, arguments.output)
            print_lines([f"wrote {count} files of {len(tree)} log directories to {arguments.output}"])
    if arguments.check is None:
        return HELD
    told = checkpoints.differences(tree, checkpoints.read_tree(arguments.check))
    print_lines(told or ["the files are the same"])
    return FAILED if told else HELD


def _metrics(arguments: argparse.Namespace) -> int:
    from scenarios.errors import InputError
    from scenarios.exports import metrics

    at = time_of(arguments.at)
    number = arguments.broker
    if number is not None and not (number.isascii() and number.isdecimal() and len(number) < 11):
        raise InputError(f"--broker: '{number[:40]}' is not a broker; write its number, for example 2")
    if looks_like_log(arguments.source):
        from scenarios.logs.log_reader import LogReader

        reader = LogReader(arguments.source)
        reader.refuse_observed("this command")
        samples = metrics.of_log(reader, at)
        if problem := reader.problem():
            print_error(problem)
    else:
        from scenarios import catalogue
        from scenarios.releases import release_named

        scenario = catalogue.load(arguments.source)
        release = release_of(arguments.release) or release_named(scenario.releases[-1])
        samples = metrics.of_scenario(scenario, release, seed_of(arguments.seed), at)
    found = list(metrics.lines(samples, None if number is None else int(number), arguments.name))
    if not found:
        print_error("no metric has this name")
        return FAILED
    print_lines(found)
    return HELD
