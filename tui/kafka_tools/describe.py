"""The commands `isrlab describe` and `import`.

`describe` prints any moment of a log or scenario as `kafka-topics --describe` does. `import` makes a cluster file from such output.
"""

from __future__ import annotations

import argparse
from typing import Any, Final

from scenarios.io.standard_streams import print_messages, print_text
from tui.commands.console import read_text, write_text
from tui.commands.options import release_of, time_of
from tui.commands.sources import described_moment, parse_describe_file
from tui.exit_codes import HELD

FILTERS: Final = ("under-replicated", "unavailable", "under-min-isr", "at-min-isr")
"""The filters of `describe`. Each corresponds to the option `--<name>-partitions` of kafka-topics."""


def add_commands(commands: Any) -> None:
    """Add the commands `import` and `describe`."""
    importing = commands.add_parser("import", help="make a cluster file from the output of kafka-topics --describe")
    importing.add_argument("source", metavar="DESCRIBE.txt", help="the output of kafka-topics --describe; '-' reads stdin")
    importing.add_argument("-o", "--output", metavar="FILE", help="write to this file instead of stdout ('-')")
    importing.set_defaults(command=_import)

    describe = commands.add_parser("describe", help="print the output of kafka-topics --describe for any moment of a log or a scenario")
    describe.add_argument("source", metavar="LOG|SCENARIO", help="an event log, a scenario, or the output of kafka-topics --describe")
    describe.add_argument("--at", metavar="TIME", help="the virtual time, for example 12s; by default, the end")
    describe.add_argument("--release", metavar="R", help="the Kafka release to run, which also determines the output format")
    describe.add_argument(
        "--topic", metavar="T", help="print only topics whose whole name matches this Java regular expression; a comma means |"
    )
    for name in FILTERS:
        describe.add_argument(f"--{name}-partitions", action="store_true", help=f"print only {name} partitions, as kafka-topics does")
    describe.add_argument(
        "--topics-with-overrides", action="store_true", help="print only topics that override settings, without their partitions"
    )
    describe.set_defaults(command=_describe)


def _import(arguments: argparse.Namespace) -> int:
    from scenarios.describe.spec import to_cluster_spec
    from scenarios.io.output_files import check_outputs
    from scenarios.language.cluster import write_cluster

    check_outputs({"-o": arguments.output}, [arguments.source])
    imported = parse_describe_file(read_text(arguments.source), arguments.source)
    spec, notes = to_cluster_spec(imported)
    for note in (*imported.notes, *notes):
        print_messages(note)
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
    print_text(text)
    return HELD
