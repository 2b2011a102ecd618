"""The command `isrlab groups`, with the options and the output of kafka-consumer-groups, for any moment of a log or scenario."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from scenarios.io.standard_streams import print_messages, print_text
from tui.arguments.live import add_live_options, import_live_cluster, live_given, read_live
from tui.arguments.options import add_groups_option, add_run_options, release_of, seed_of, time_of
from tui.arguments.sources import describe_text, import_texts, looks_like_log
from tui.exit_codes import HELD

if TYPE_CHECKING:
    from core.kafka.ids import TopicPartition
    from core.kafka.release import Release
    from core.lab.cluster import Cluster
    from scenarios.groups.cluster_facts import Coordinators
    from scenarios.groups.describe import View
    from scenarios.groups.facts import Brokers, Printed

ALL: str = ""
"""The parsed value of an option that is given without a value, such as `--state` after `--list`."""


def add_commands(commands: Any) -> None:
    """Add the command `groups`."""
    groups = commands.add_parser("groups", help="print the output of kafka-consumer-groups for any moment of a log or a scenario")
    groups.add_argument(
        "source",
        nargs="?",
        metavar="LOG|SCENARIO",
        help="an event log, a scenario, or, with --groups, the output of kafka-topics --describe",
    )
    groups.add_argument(
        "--at", metavar="TIME", help="the virtual time, for example 12s; by default, the end; with --groups, the end of the first rebalance"
    )
    add_run_options(groups)
    add_groups_option(groups)
    add_live_options(groups)
    action = groups.add_mutually_exclusive_group(required=True)
    action.add_argument("--list", action="store_true", help="list all groups")
    action.add_argument("--describe", action="store_true", help="describe groups: their offsets and lags, or another view")
    action.add_argument(
        "--reset-offsets", action="store_true", help="show the offsets that a reset would commit, without committing them (since 0.11)"
    )
    action.add_argument("--delete-offsets", action="store_true", help="show what a deletion of offsets would print (since 2.4)")
    action.add_argument("--delete", action="store_true", help="show what a deletion of groups would print (since 1.1)")
    groups.add_argument(
        "--topic", metavar="T[:0,1]", action="append", help="with --reset-offsets and --delete-offsets: a topic, or some of its partitions"
    )
    groups.add_argument(
        "--all-topics", action="store_true", help="with --reset-offsets: all topics for which the group has a committed offset"
    )
    groups.add_argument("--to-offset", metavar="N", help="with --reset-offsets: go to this offset")
    groups.add_argument("--to-earliest", action="store_true", help="with --reset-offsets: go to the log start")
    groups.add_argument("--to-latest", action="store_true", help="with --reset-offsets: go to the log end")
    groups.add_argument("--to-current", action="store_true", help="with --reset-offsets: stay at the committed offset")
    groups.add_argument("--shift-by", metavar="N", help="with --reset-offsets: add N to the committed offset")
    groups.add_argument(
        "--to-datetime", metavar="TIME", help="with --reset-offsets: go to a moment; virtual time begins at the start of 1970 in UTC"
    )
    groups.add_argument("--by-duration", metavar="PT1H", help="with --reset-offsets: go back by a duration")
    groups.add_argument("--from-file", metavar="FILE", help="with --reset-offsets: take the offsets from a file that --export printed")
    groups.add_argument(
        "--export", action="store_true", help="with --reset-offsets: print the new offsets in the format of a file for --from-file"
    )
    groups.add_argument("--group", metavar="G", action="append", help="a group; repeat this option for several groups (since 2.4)")
    groups.add_argument("--all-groups", action="store_true", help="select all groups (since 2.4)")
    groups.add_argument("--offsets", action="store_true", help="with --describe: show the offsets and lags; this is the default")
    groups.add_argument("--members", action="store_true", help="with --describe: show the members (since 1.1)")
    groups.add_argument(
        "--state",
        metavar="STATES",
        nargs="?",
        const=ALL,
        help="with --describe: show the state (since 1.1); with --list: show the states (since 2.6)",
    )
    groups.add_argument(
        "--type", metavar="TYPES", nargs="?", const=ALL, help="with --list: show the types, classic and consumer (since 3.8)"
    )
    groups.add_argument("--verbose", action="store_true", help="with --describe: show more columns")
    groups.set_defaults(command=_run)


def _run(arguments: argparse.Namespace) -> int:
    from scenarios.errors import InputError
    from scenarios.exports.cluster_at import cluster_at

    live = live_given(arguments)
    if arguments.source is None and not live:
        raise InputError("name an event log or a scenario, or a running cluster (--bootstrap-server HOST:PORT)")
    log = not live and looks_like_log(arguments.source)
    _check(arguments, log=log)
    at, release, seed = time_of(arguments.at), release_of(arguments.release), seed_of(arguments.seed)
    if live and at is None and (arguments.list or arguments.describe):
        return _print(_live(arguments, release))
    if live:
        return _print(_printed(arguments, _live_copy(arguments, at, release, seed)))
    text = None if log else described_text(arguments)
    if text is None:
        cluster = cluster_at(arguments.source, at, log=log, release=release, seed=seed)
    else:
        cluster = _imported(arguments, text, at)
    return _print(_printed(arguments, cluster))


def _printed(arguments: argparse.Namespace, cluster: Cluster) -> Printed:
    """Return what the tool prints for a cluster in the laboratory."""
    from scenarios.groups.cluster_facts import coordinators_of

    _check_release(arguments, cluster.release)
    coordinators = coordinators_of(cluster)
    if arguments.reset_offsets:
        from tui.kafka_tools.group_offsets import reset_text

        return reset_text(arguments, cluster, coordinators)
    if arguments.delete_offsets or arguments.delete:
        from tui.kafka_tools.group_offsets import deletion_text

        return deletion_text(arguments, cluster, coordinators)
    if arguments.list:
        return _list(arguments, cluster.release, coordinators)
    from scenarios.groups.cluster_facts import brokers_of

    return _describe(arguments, cluster.release, coordinators, lambda tps: brokers_of(cluster, tps))


def _print(printed: Printed) -> int:
    print_text(printed.out)
    if printed.err:
        print_messages(*printed.err.removesuffix("\n").split("\n"))
    return HELD


def _live(arguments: argparse.Namespace, release: Release | None) -> Printed:
    """Return what the tool prints for a running cluster."""
    from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC
    from scenarios.groups.cluster_facts import Coordinators
    from scenarios.groups.facts import Brokers
    from scenarios.live.imported import release_for

    live = read_live(arguments)
    under, said = release_for(live, release)
    _check_release(arguments, under)
    print_messages(*said, *live.unknown)
    offsets = next((topic.partitions for topic in live.topics if topic.name == GROUP_METADATA_TOPIC), {})
    led = frozenset(number for number, each in offsets.items() if each.leader >= 0)
    coordinators = Coordinators({group.name: group for group in live.groups}, len(offsets), led)
    if arguments.list:
        return _list(arguments, under, coordinators)

    def ends(tps: Iterable[TopicPartition]) -> Brokers:
        known = ((tp, live.partition(tp)) for tp in tps)
        return Brokers({tp: None if each is None else each.high_watermark for tp, each in known})

    return _describe(arguments, under, coordinators, ends)


def _live_copy(arguments: argparse.Namespace, at: int | None, release: Release | None, seed: int | None) -> Cluster:
    """Return a copy of a running cluster, once its groups have settled."""
    from scenarios.running.imported_cluster import settled_cluster

    imported, under = import_live_cluster(arguments, release)
    print_messages(*imported.notes)
    return settled_cluster(imported, under, seed or 0, at)


def described_text(arguments: argparse.Namespace) -> str | None:
    """If the source is the output of kafka-topics --describe, return its text; otherwise, return None.

    Raises:
        InputError: the output of kafka-topics is given without --groups, or --groups is given without that output.
    """
    from scenarios.errors import InputError

    text = describe_text(arguments.source)
    if text is not None and not arguments.groups:
        raise InputError("--groups: name the output of kafka-consumer-groups --describe, because the output of kafka-topics has no groups")
    if text is None and arguments.groups:
        raise InputError("--groups: needs the output of kafka-topics --describe; name its file")
    return text


def _imported(arguments: argparse.Namespace, text: str, at: int | None) -> Cluster:
    """Return the cluster that the output of Kafka's tools describes."""
    from core.kafka.release import CURRENT
    from scenarios.running.imported_cluster import settled_cluster

    release = release_of(arguments.release)
    imported = import_texts(text, arguments.source, arguments.groups, release)
    print_messages(*imported.notes)
    return settled_cluster(imported, release or CURRENT, seed_of(arguments.seed) or 0, at)


def _check(arguments: argparse.Namespace, *, log: bool) -> None:
    """Check that the given options can be combined.

    Raises:
        InputError: the options contradict each other.
    """
    from scenarios.errors import InputError

    if log and (arguments.release is not None or arguments.seed is not None):
        raise InputError("--release and --seed: a log always has its own release and seed; omit these options")
    if arguments.list:
        if arguments.group or arguments.all_groups or arguments.members or arguments.offsets or arguments.verbose:
            raise InputError("--list has only the options --state and --type; use --describe for a group")
        return
    if arguments.type is not None:
        raise InputError("--type is an option of --list; omit it")
    if arguments.reset_offsets:
        scopes = bool(arguments.topic) + arguments.all_topics + (arguments.from_file is not None)
        if bool(arguments.group) + arguments.all_groups != 1 or scopes != 1:
            raise InputError("--reset-offsets: give --group or --all-groups, and one of --topic, --all-topics, or --from-file")
        return
    if arguments.delete_offsets:
        if arguments.all_groups or len(arguments.group or ()) != 1 or not arguments.topic:
            raise InputError("--delete-offsets: give one --group, and at least one --topic")
        return
    if arguments.delete:
        if bool(arguments.group) + arguments.all_groups != 1:
            raise InputError("--delete: give --group or --all-groups")
        return
    if not arguments.group and not arguments.all_groups:
        raise InputError("Option [describe] takes one of these options: [all-groups], [group]")
    if arguments.group and arguments.all_groups:
        raise InputError("--group and --all-groups: give only one of them")
    if arguments.state not in (None, ALL):
        raise InputError("--state takes no value with --describe")
    if arguments.members + arguments.offsets + (arguments.state is not None) > 1:
        raise InputError("Option [describe] takes at most one of these options: [members], [offsets], [state]")


def _check_release(arguments: argparse.Namespace, release: Release) -> None:
    """Check that a release's kafka-consumer-groups has the given options.

    Raises:
        InputError: the tool lacks an option, or the release has no such tool.
    """
    from core.kafka.release import GroupsTool
    from scenarios.errors import InputError

    tool, name = release.groups_tool, release.name
    if not release.consumer_groups:
        raise InputError(f"release {name} has no group coordinator; use 0.9 or later")
    if tool < GroupsTool.VIEWS and (arguments.members or arguments.state is not None or arguments.verbose):
        raise InputError(
            f"--members, --state, --verbose: kafka-consumer-groups of {name} does not have these options; use 1.1 or later (KIP-175)"
        )
    if tool < GroupsTool.GROUP_COLUMN and (arguments.all_groups or len(arguments.group or ()) > 1):
        raise InputError(f"--group: kafka-consumer-groups of {name} takes one group; use 2.4 or later (KIP-222)")
    if arguments.delete_offsets and tool < GroupsTool.GROUP_COLUMN:
        raise InputError(f"--delete-offsets: kafka-consumer-groups of {name} does not have this option; use 2.4 or later (KIP-496)")
    if arguments.delete and tool < GroupsTool.VIEWS:
        raise InputError(f"--delete: kafka-consumer-groups of {name} does not have this option; use 1.1 or later (KIP-229)")
    if arguments.list and arguments.state is not None and not release.groups_tool_lists_states:
        raise InputError(f"--state: --list of {name} does not have this option; use 2.7 or later (KIP-518)")
    if arguments.type is not None and tool < GroupsTool.JAVA:
        raise InputError(f"--type: --list of {name} does not have this option; use 3.9 or later (KIP-848)")


def _list(arguments: argparse.Namespace, release: Release, coordinators: Coordinators) -> Printed:
    from scenarios.errors import InputError
    from scenarios.groups.facts import Printed
    from scenarios.groups.listing import list_text, states_named, types_named

    tool = release.groups_tool
    try:
        states = states_named(tool, arguments.state) if arguments.state else None
        types = types_named(arguments.type) if arguments.type else None
    except ValueError as wrong:
        raise InputError(str(wrong)) from None
    groups = list(coordinators.groups.values())
    with_states, with_types = arguments.state is not None, arguments.type is not None
    return Printed(list_text(tool, groups, states, types, with_states=with_states, with_types=with_types))


def _describe(
    arguments: argparse.Namespace,
    release: Release,
    coordinators: Coordinators,
    brokers_of: Callable[[Iterable[TopicPartition]], Brokers],
) -> Printed:
    from scenarios.groups.describe import describe, partitions_of
    from scenarios.groups.errors import group_not_found, no_coordinator

    tool = release.groups_tool
    names = list(coordinators.groups) if arguments.all_groups else list(dict.fromkeys(arguments.group))
    for name in names:
        if not coordinators.coordinates(name):
            return no_coordinator(tool)
        if name not in coordinators.groups:
            return group_not_found(tool, name)
    groups = [coordinators.groups[name] for name in names]
    brokers = brokers_of(tp for group in groups for tp in partitions_of(group))
    return describe(tool, groups, brokers, _view(arguments), verbose=arguments.verbose)


def _view(arguments: argparse.Namespace) -> View:
    from scenarios.groups.describe import View

    if arguments.members:
        return View.MEMBERS
    return View.OFFSETS if arguments.state is None else View.STATE
