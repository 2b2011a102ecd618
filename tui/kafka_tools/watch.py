"""The command `isrlab watch`, which writes the event log of a running cluster."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from scenarios.io.standard_streams import print_lines, print_messages
from tui.arguments.live import add_live_options, client_properties_of, read_live
from tui.arguments.options import release_of, time_of
from tui.exit_codes import HELD

if TYPE_CHECKING:
    from core.kafka.events import EventTuple

INTERVAL: Final = "1s"
"""The default of `--every`."""


def add_commands(commands: Any) -> None:
    """Add the command `watch`."""
    watch = commands.add_parser(
        "watch", help="write the event log of a running cluster: elections, ISR changes, and brokers that come and go, as they are seen"
    )
    add_live_options(watch, required=True)
    watch.add_argument("-o", "--output", metavar="LOG", help="write an event log to this file (*.jsonl or *.jsonl.zst)")
    watch.add_argument(
        "--every",
        metavar="TIME",
        default=INTERVAL,
        help=f"the interval at which the metadata is read, at least 200ms; by default, {INTERVAL}. A reading is one request or, since 3.8, one "
        "more for each 2,000 partitions",
    )
    watch.add_argument("--for", metavar="TIME", dest="duration", help="how long to watch; by default, until Ctrl-C")
    watch.add_argument("--release", metavar="R", help="the Kafka release of the cluster; by default, it is inferred")
    watch.add_argument("-q", "--quiet", action="store_true", help="do not print the events")
    watch.set_defaults(command=_watch)


def _watch(arguments: argparse.Namespace) -> int:
    from contextlib import suppress

    from core.kafka.events import explain
    from core.sim.events import time_of as time_of_event
    from core.sim.units import format_clock
    from scenarios.errors import InputError
    from scenarios.io.output_files import check_outputs, refuse_stdout
    from scenarios.io.termination_signals import Terminated, raise_on_signals
    from scenarios.live.imported import import_live, release_for
    from scenarios.live.network.cluster_client import ClusterClient
    from scenarios.live.watch import LEAST_INTERVAL_US, begin_watch, observed_header
    from scenarios.logs.log_writer import LogWriter

    every, duration, release = time_of(arguments.every, "--every") or 0, time_of(arguments.duration, "--for"), release_of(arguments.release)
    if every < LEAST_INTERVAL_US:
        raise InputError(f"--every: {arguments.every[:40]} is too short; use at least 200ms, so that the cluster has little work")
    if arguments.output is None and arguments.quiet:
        raise InputError("--quiet: without -o LOG, nothing would be written or printed; omit one of them")
    refuse_stdout("-o", arguments.output, "a file; the events are printed anyway")
    check_outputs({"-o": arguments.output}, [arguments.command_config])
    properties = client_properties_of(arguments)
    with raise_on_signals(), suppress(Terminated):
        live = read_live(arguments, groups=False)
        under, said = release_for(live, release)
        imported = import_live(live, under, groups=False)
        print_messages(*said)
        spec = imported.scenario.spec
        writer = None
        if arguments.output is not None:
            writer = LogWriter(arguments.output, observed_header(spec, under, arguments.bootstrap_server, every))
            writer.on_failure = print_messages
            writer.begin()

        def record(event: EventTuple) -> None:
            if writer is not None:
                writer(event)
            if not arguments.quiet:
                print_lines([f"{format_clock(time_of_event(event))}  {explain(event)}"])

        watch = begin_watch(
            spec,
            kraft=live.kraft,
            connect=lambda: ClusterClient(arguments.bootstrap_server, properties),
            every_us=every,
            sink=record,
            tell=print_messages,
        )
        try:
            watch.run(duration)
        finally:
            if writer is not None:
                writer.close(watch.ended)
    return HELD
