"""`isrlab describe`, `import`, `checkpoints` and `metrics`: any moment of a log or a scenario, as Kafka's own tools and files tell it."""

from __future__ import annotations

import argparse
import os
from typing import Any, Final

from scenarios.io.standard_streams import complain, remark, say_lines, say_text
from tui.commands.console import read_text, write_text
from tui.commands.options import add_run_options, release_of, seed_of, time_of
from tui.commands.sources import described_moment, looks_like_log, parse_describe_file
from tui.exit_codes import FAILED, HELD

FILTERS: Final = ("under-replicated", "unavailable", "under-min-isr", "at-min-isr")
"""Filters of `describe`, each as Kafka's option `--<name>-partitions`."""


def add_commands(commands: Any) -> None:
    """Add `import`, `describe`, `checkpoints` and `metrics`."""
    importing = commands.add_parser("import", help="make a cluster file from the output of kafka-topics --describe")
    importing.add_argument("source", metavar="DESCRIBE.txt", help="the output of kafka-topics --describe; '-' reads stdin")
    importing.add_argument("-o", "--output", metavar="FILE", help="write to this file instead of stdout ('-')")
    importing.set_defaults(command=_import)

    describe = commands.add_parser("describe", help="print kafka-topics --describe for any moment of a log or a scenario")
    describe.add_argument("source", metavar="LOG|SCENARIO", help="an event log, a scenario, or the output of kafka-topics --describe")
    describe.add_argument("--at", metavar="TIME", help="the virtual time, for example 12s; by default the end")
    describe.add_argument("--release", metavar="R", help="the Kafka release to run, and whose output format to use")
    describe.add_argument("--topic", metavar="T", help="topics whose whole name matches this Java regular expression; a comma stands for |")
    for name in FILTERS:
        describe.add_argument(f"--{name}-partitions", action="store_true", help="same as in kafka-topics")
    describe.add_argument(
        "--topics-with-overrides", action="store_true", help="print only topics with their own settings, without partitions"
    )
    describe.set_defaults(command=_describe)

    checkpoints = commands.add_parser(
        "checkpoints", help="write or check the checkpoint files of brokers' log directories, for any moment of a log or a scenario"
    )
    checkpoints.add_argument(
        "source",
        metavar="LOG|SCENARIO|DIR",
        help="an event log, a scenario, or a directory of checkpoint files to make a cluster file from",
    )
    checkpoints.add_argument("--at", metavar="TIME", help="the virtual time, for example 12s; by default the end")
    checkpoints.add_argument(
        "-o", "--output", metavar="DIR", help="write to this directory: broker-1/log-dir-1/replication-offset-checkpoint …"
    )
    checkpoints.add_argument(
        "--check", metavar="DIR", help="compare with the files in this directory, and report differences; exit 1 if there are any"
    )
    checkpoints.set_defaults(command=_checkpoints)

    metrics = commands.add_parser("metrics", help="print Kafka's metrics under their JMX names, for any moment of a log or a scenario")
    metrics.add_argument("source", metavar="LOG|SCENARIO", help="an event log or a scenario")
    metrics.add_argument("--at", metavar="TIME", help="the virtual time, for example 12s; by default the end")
    metrics.add_argument("--broker", metavar="N", help="print only the metrics of this broker")
    metrics.add_argument("--name", metavar="PATTERN", help="print only metrics whose name contains this text or matches this shell pattern")
    add_run_options(metrics)
    metrics.set_defaults(command=_metrics)


def _import(arguments: argparse.Namespace) -> int:
    from scenarios.describe.spec import to_cluster_spec
    from scenarios.io.output_files import check_outputs
    from scenarios.language.cluster import write_cluster

    check_outputs({"-o": arguments.output}, [arguments.source])
    imported = parse_describe_file(read_text(arguments.source), arguments.source)
    spec, notes = to_cluster_spec(imported)
    for note in (*imported.notes, *notes):
        remark(note)
    write_text(arguments.output, write_cluster(spec))
    return HELD


def _describe(arguments: argparse.Namespace) -> int:
    from scenarios.describe.render import render_describe
    from scenarios.describe.selection import in_printed_order, select_topics
    from scenarios.errors import InputError

    release = release_of(arguments.release)
    described = described_moment(arguments.source, time_of(arguments.at), release)
    printed_as = release or described.release
    chosen = {name.replace("-", "_"): getattr(arguments, f"{name.replace('-', '_')}_partitions") for name in FILTERS}
    try:
        topics = select_topics(described.topics, arguments.topic, printed_as)
        text = render_describe(
            topics if described.printed_already else in_printed_order(topics, printed_as),
            printed_as,
            live_brokers=described.live_brokers,
            topics_with_overrides=arguments.topics_with_overrides,
            **chosen,
        )
    except ValueError as wrong:
        raise InputError(f"{arguments.source}: {wrong}") from None
    say_text(text)
    return HELD


def _checkpoints(arguments: argparse.Namespace) -> int:
    from scenarios.errors import InputError
    from scenarios.exports import checkpoints
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
        cluster = checkpoints.cluster_at(arguments.source, time_of(arguments.at), looks_like_log(arguments.source))
        tree = checkpoints.tree_of(cluster)
        if arguments.output is not None:
            count = checkpoints.write_tree(tree, arguments.output)
            say_lines([f"{count} files of {len(tree)} log directories in {arguments.output}"])
    if arguments.check is None:
        return HELD
    told = checkpoints.differences(tree, checkpoints.read_tree(arguments.check))
    say_lines(told or ["the same"])
    return FAILED if told else HELD


def _metrics(arguments: argparse.Namespace) -> int:
    from scenarios.errors import InputError
    from scenarios.exports import metrics

    at = time_of(arguments.at)
    number = arguments.broker
    if number is not None and not (number.isascii() and number.isdecimal() and len(number) < 11):
        raise InputError(f"--broker: '{number[:40]}' is not a broker; write its number, for example 2")
    if looks_like_log(arguments.source):
        from scenarios.logs.event_log import LogReader

        reader = LogReader(arguments.source)
        samples = metrics.of_log(reader, at)
        if problem := reader.problem():
            complain(problem)
    else:
        from scenarios import catalogue
        from scenarios.releases import release_named

        scenario = catalogue.load(arguments.source)
        release = release_of(arguments.release) or release_named(scenario.releases[-1])
        samples = metrics.of_scenario(scenario, release, seed_of(arguments.seed), at)
    found = list(metrics.lines(samples, None if number is None else int(number), arguments.name))
    if not found:
        complain("no metric has such a name")
        return FAILED
    say_lines(found)
    return HELD
