"""The command `isrlab transactions`, with the sub-commands, options, and output of kafka-transactions, for any moment of a log or scenario."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from scenarios.io.standard_streams import print_lines, print_messages
from tui.arguments.console import Parser
from tui.arguments.live import add_live_options, live_given, live_producers, read_live
from tui.arguments.options import add_run_options, release_of, seed_of, time_of
from tui.arguments.sources import looks_like_log
from tui.exit_codes import HELD

if TYPE_CHECKING:
    from core.lab.cluster import Cluster
    from scenarios.live.facts import LiveCluster

DEFAULT_MAX_TIMEOUT: Final = 15
"""The default value of `--max-transaction-timeout`, in minutes."""

_MOST_DIGITS: Final = 10


def add_commands(commands: Any) -> None:
    """Add the command `transactions` with its sub-commands."""
    transactions = commands.add_parser("transactions", help="print the output of kafka-transactions for any moment of a log or a scenario")
    tools = transactions.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=Parser)

    listing = tools.add_parser("list", help="list the transactional IDs with their coordinators and states")
    _add_moment(listing)
    add_live_options(listing)
    listing.add_argument("--duration-filter", metavar="MS", help="list only transactions that began more than this many ms ago (since 3.8)")
    listing.set_defaults(command=_list)

    describe = tools.add_parser("describe", help="describe the transaction of a transactional ID")
    _add_moment(describe)
    add_live_options(describe)
    describe.add_argument("--transactional-id", metavar="ID", required=True)
    describe.set_defaults(command=_describe)

    producers = tools.add_parser("describe-producers", help="describe the producers of a partition, as a replica knows them")
    _add_moment(producers)
    add_live_options(producers)
    producers.add_argument("--topic", metavar="T", required=True)
    producers.add_argument("--partition", metavar="N", required=True)
    producers.add_argument("--broker-id", metavar="B", help="the broker whose replica is shown; by default, the leader")
    producers.set_defaults(command=_describe_producers)

    hanging = tools.add_parser("find-hanging", help="find open transactions that no coordinator will ever end")
    _add_moment(hanging)
    hanging.add_argument("--broker-id", metavar="B", help="search the replicas of this broker")
    hanging.add_argument("--topic", metavar="T", help="search the partitions of this topic")
    hanging.add_argument("--partition", metavar="N", help="with --topic: search only this partition")
    hanging.add_argument(
        "--max-transaction-timeout",
        metavar="MIN",
        default=str(DEFAULT_MAX_TIMEOUT),
        help=f"find only transactions whose producer has been idle for more than this many minutes; by default, {DEFAULT_MAX_TIMEOUT}",
    )
    hanging.set_defaults(command=_find_hanging)


def _add_moment(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", nargs="?", metavar="LOG|SCENARIO", help="an event log or a scenario")
    parser.add_argument("--at", metavar="TIME", help="the virtual time, for example 12s; by default, the end")
    add_run_options(parser)


def _list(arguments: argparse.Namespace) -> int:
    from scenarios.errors import InputError
    from scenarios.tools.transactions import list_lines

    longer_than = _optional_number("--duration-filter", arguments.duration_filter)
    if live_given(arguments):
        if longer_than is not None:
            raise InputError("--duration-filter: isrlab lists all transactions of a running cluster; omit this option")
        from scenarios.live.transaction_lines import list_lines as live_lines

        return _print(live_lines(_live(arguments)))
    cluster = _cluster(arguments)
    if longer_than is not None and not cluster.release.transactions_tool_filters_duration:
        raise InputError(
            f"--duration-filter: kafka-transactions of {cluster.release.name} does not have this option; use 3.8 or later (KIP-994)"
        )
    return _print(list_lines(cluster, longer_than))


def _describe(arguments: argparse.Namespace) -> int:
    from scenarios.tools.transactions import describe_lines

    if live_given(arguments):
        import time

        from scenarios.live.transaction_lines import describe_lines as live_lines

        live = _live(arguments)
        return _print(live_lines(live, arguments.transactional_id, int(time.time() * 1000)))
    return _print(describe_lines(_cluster(arguments), arguments.transactional_id))


def _describe_producers(arguments: argparse.Namespace) -> int:
    from core.kafka.ids import TopicPartition
    from scenarios.tools.transactions import describe_producers_lines

    tp = TopicPartition(arguments.topic, _number("--partition", arguments.partition))
    broker = _optional_number("--broker-id", arguments.broker_id)
    if live_given(arguments):
        from scenarios.live.transaction_lines import producers_lines

        _refuse_moment(arguments)
        return _print(producers_lines(live_producers(arguments, tp, broker)))
    return _print(describe_producers_lines(_cluster(arguments), tp, broker))


def _find_hanging(arguments: argparse.Namespace) -> int:
    from scenarios.errors import InputError
    from scenarios.tools.transactions import find_hanging_lines, partitions_to_search

    broker = _optional_number("--broker-id", arguments.broker_id)
    partition = _optional_number("--partition", arguments.partition)
    minutes = _number("--max-transaction-timeout", arguments.max_transaction_timeout)
    if arguments.topic is None and broker is None:
        raise InputError("The `find-hanging` command requires either --topic or --broker-id to limit the scope of the search")
    if partition is not None and arguments.topic is None:
        raise InputError("The --partition argument requires --topic to be provided")
    cluster = _cluster(arguments)
    partitions = partitions_to_search(cluster, arguments.topic, partition, broker)
    lines, shortly = (find_hanging_lines(cluster, partitions, broker, limit) for limit in (minutes, 0))
    if len(lines) < len(shortly):
        count = len(shortly) - len(lines)
        print_messages(
            f"{count} hanging transaction{' is' if count == 1 else 's are'} left out: idle for {minutes} minutes or less; to see "
            f"{'it' if count == 1 else 'them'}, add --max-transaction-timeout 0"
        )
    return _print(lines)


def _cluster(arguments: argparse.Namespace) -> Cluster:
    """Return the cluster at the requested moment. If the release of the cluster does not have kafka-transactions, print a message."""
    from scenarios.errors import InputError
    from scenarios.exports.cluster_at import cluster_at

    if arguments.source is None:
        raise InputError(
            "name an event log or a scenario; 'list', 'describe', and 'describe-producers' also take a running cluster (--bootstrap-server HOST:PORT)"
        )
    log = looks_like_log(arguments.source)
    if log and (arguments.release is not None or arguments.seed is not None):
        raise InputError("--release and --seed: a log always has its own release and seed; omit these options")
    at, release, seed = time_of(arguments.at), release_of(arguments.release), seed_of(arguments.seed)
    cluster = cluster_at(arguments.source, at, log=log, release=release, seed=seed)
    if not cluster.release.transactions:
        raise InputError(f"release {cluster.release.name} has no transactions; use 0.11 or later (KIP-98)")
    if not cluster.release.transactions_tool:
        print_messages(f"release {cluster.release.name} has no kafka-transactions; this is the output of the tool in release 3.0 (KIP-664)")
    return cluster


def _live(arguments: argparse.Namespace) -> LiveCluster:
    """Read a running cluster, and say what could not be read."""
    _refuse_moment(arguments)
    live = read_live(arguments)
    print_messages(*(note for note in live.unknown if "transaction" in note))
    return live


def _refuse_moment(arguments: argparse.Namespace) -> None:
    from scenarios.errors import InputError

    if arguments.at is not None or arguments.release is not None or arguments.seed is not None:
        raise InputError("--at, --release, --seed: a running cluster is shown as it is; omit these options")


def _print(lines: Sequence[str]) -> int:
    print_lines(lines)
    return HELD


def _optional_number(option: str, text: str | None) -> int | None:
    return None if text is None else _number(option, text)


def _number(option: str, text: str) -> int:
    """Parse the value of an option that takes a number.

    Raises:
        InputError: the text is not a whole number.
    """
    from scenarios.errors import InputError

    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
        raise InputError(f"{option}: '{text[:40]}' is not a whole number; write, for example, 0")
    return int(text)
