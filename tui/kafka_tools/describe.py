"""The commands `isrlab describe` and `import`.

`describe` prints the topics at any moment of a log or scenario, in the format of `kafka-topics --describe`. `import` makes a script from
the output of kafka-topics.
"""

from __future__ import annotations

import argparse
from typing import Any, Final

from scenarios.io.standard_streams import print_messages, print_text
from tui.arguments.console import read_text, write_text
from tui.arguments.live import add_live_options, import_live_cluster, live_given, live_moment
from tui.arguments.options import add_groups_option, release_of, time_of
from tui.arguments.sources import described_moment, import_texts, looks_like_log
from tui.exit_codes import HELD

FILTERS: Final = ("under-replicated", "unavailable", "under-min-isr", "at-min-isr")
"""The filters of `describe`. Each filter corresponds to the option `--<name>-partitions` of kafka-topics."""


def add_commands(commands: Any) -> None:
    """Add the commands `import` and `describe`."""
    importing = commands.add_parser(
        "import",
        help="make a script from a running cluster, from the log of a watched one, or from the output of kafka-topics --describe and "
        "kafka-consumer-groups --describe",
    )
    importing.add_argument(
        "source",
        nargs="?",
        metavar="DESCRIBE.txt|LOG",
        help="the output of kafka-topics --describe, or an event log that 'isrlab watch' wrote; '-' reads the output from stdin",
    )
    importing.add_argument(
        "--at", metavar="TIME", help="the moment of a watched cluster's LOG, for example 1h12m after its beginning; by default, its end"
    )
    add_groups_option(importing)
    add_live_options(importing)
    importing.add_argument("-o", "--output", metavar="FILE", help="write to this file instead of stdout ('-')")
    importing.set_defaults(command=_import)

    describe = commands.add_parser("describe", help="print the output of kafka-topics --describe for any moment of a log or a scenario")
    describe.add_argument(
        "source", nargs="?", metavar="LOG|SCENARIO", help="an event log, a scenario, or the output of kafka-topics --describe"
    )
    add_live_options(describe)
    describe.add_argument("--at", metavar="TIME", help="the virtual time, for example 12s; by default, the end")
    describe.add_argument("--release", metavar="R", help="the Kafka release to run, which also determines the output format")
    describe.add_argument(
        "--topic",
        metavar="T",
        help="print only topics whose whole name matches this Java regular expression, in which a comma has the same meaning as |",
    )
    for name in FILTERS:
        describe.add_argument(f"--{name}-partitions", action="store_true", help=f"print only {name} partitions, as kafka-topics does")
    describe.add_argument(
        "--topics-with-overrides", action="store_true", help="print only topics that override settings, without their partitions"
    )
    describe.add_argument(
        "--zookeeper",
        action="store_true",
        help="print what ZooKeeper holds, as kafka-topics --zookeeper does; by default, since 2.2, the metadata of a broker, whose ISRs can be "
        "some seconds older. An event log has no metadata of brokers",
    )
    describe.set_defaults(command=_describe)


def _import(arguments: argparse.Namespace) -> int:
    from scenarios.errors import InputError
    from scenarios.io.output_files import check_outputs
    from scenarios.running.imported_cluster import as_script

    check_outputs({"-o": arguments.output}, [arguments.source, *arguments.groups, arguments.command_config])
    live = live_given(arguments)
    watched = not live and arguments.source is not None and looks_like_log(arguments.source)
    if arguments.at is not None and not watched:
        raise InputError("--at: needs an event log that 'isrlab watch' wrote; name one")
    if live:
        imported, _ = import_live_cluster(arguments, None)
    elif watched:
        from scenarios.live.watched_moment import import_watched

        if arguments.groups:
            raise InputError("--groups: needs the output of kafka-topics --describe, not an event log; omit this option")
        imported = import_watched(arguments.source, time_of(arguments.at))
    elif arguments.source is None:
        raise InputError(
            "name the output of kafka-topics --describe, an event log of 'isrlab watch', or a running cluster (--bootstrap-server HOST:PORT)"
        )
    else:
        if [arguments.source, *arguments.groups].count("-") > 1:
            raise InputError("--groups: only one of the two texts can come from stdin; use a file for the other one")
        imported = import_texts(read_text(arguments.source), arguments.source, arguments.groups, None)
    for note in imported.notes:
        print_messages(note)
    write_text(arguments.output, as_script(imported, release_known=live or watched))
    return HELD


def _describe(arguments: argparse.Namespace) -> int:
    from scenarios.describe.render import render_describe
    from scenarios.describe.selection import in_printed_order, select_topics
    from scenarios.errors import InputError

    release, at = release_of(arguments.release), time_of(arguments.at)
    if live_given(arguments):
        if arguments.zookeeper:
            raise InputError("--zookeeper: isrlab reads a running cluster only through its brokers; omit this option")
        described = live_moment(arguments, at, release)
    elif arguments.source is None:
        raise InputError("name an event log or a scenario, or a running cluster (--bootstrap-server HOST:PORT)")
    else:
        described = described_moment(arguments.source, at, release, zookeeper=arguments.zookeeper)
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
        raise InputError(f"{arguments.source or arguments.bootstrap_server}: {wrong}") from None
    print_text(text)
    return HELD
