"""The commands `isrlab reassign` and `leader-election`, with Kafka's options and output, for any moment of a log or scenario."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from scenarios.io.standard_streams import print_lines, print_messages
from tui.arguments.console import read_text
from tui.arguments.options import release_of, time_of
from tui.arguments.sources import described_moment
from tui.exit_codes import FAILED, HELD

if TYPE_CHECKING:
    from core.kafka.ids import TopicPartition
    from scenarios.logs.metadata_state import MetadataState
    from scenarios.tools.reassign import State


def add_commands(commands: Any) -> None:
    """Add the commands `reassign` and `leader-election`."""
    reassign = commands.add_parser("reassign", help="print the output of kafka-reassign-partitions for any moment of a log or a scenario")
    _add_moment(reassign)
    action = reassign.add_mutually_exclusive_group(required=True)
    for name, about in (
        ("generate", "propose a plan that assigns topics to brokers"),
        ("execute", "start the moves of a plan, and print the same moves as script steps to stderr"),
        ("verify", "print the status of the moves of a plan"),
        ("list", "list the moves in progress"),
        ("cancel", "cancel the moves of a plan"),
    ):
        action.add_argument(f"--{name}", dest="action", action="store_const", const=name, help=about)
    reassign.add_argument("--reassignment-json-file", metavar="FILE", help="the file with the plan; '-' is stdin")
    reassign.add_argument("--topics-to-move-json-file", metavar="FILE", help="for --generate: the file with the topics; '-' is stdin")
    reassign.add_argument("--broker-list", metavar="1,2,3", help="for --generate: the brokers to assign the topics to")
    reassign.add_argument("--throttle", metavar="BYTES", help="for --execute: the maximum number of bytes that the moves copy per second")
    reassign.add_argument("--additional", action="store_true", help="for --execute: start even if other moves are in progress")
    reassign.set_defaults(command=_reassign)

    election = commands.add_parser(
        "leader-election", help="print the output of kafka-leader-election for any moment of a log or a scenario"
    )
    _add_moment(election)
    election.add_argument("--election-type", required=True, choices=["preferred", "unclean", "PREFERRED", "UNCLEAN"])
    election.add_argument("--topic", metavar="T")
    election.add_argument("--partition", metavar="N")
    election.add_argument("--all-topic-partitions", action="store_true")
    election.add_argument("--path-to-json-file", metavar="FILE")
    election.set_defaults(command=_elect)


def _add_moment(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="LOG|SCENARIO", help="an event log, a scenario, or the output of kafka-topics --describe")
    parser.add_argument("--at", metavar="TIME", help="the virtual time, for example 12s; by default, the end")
    parser.add_argument("--release", metavar="R", help="the Kafka release to run")


def _moment(arguments: argparse.Namespace) -> MetadataState:
    return described_moment(arguments.source, time_of(arguments.at), release_of(arguments.release))


def _state(described: MetadataState) -> State:
    from scenarios.tools.reassign import State

    return State.of(described.topics, described.live_brokers, described.release, all_known=not described.printed_already)


def _reassign(arguments: argparse.Namespace) -> int:
    from scenarios.errors import InputError
    from scenarios.tools import reassign

    state = _state(_moment(arguments))
    if arguments.action == "list":
        told = reassign.listing(state)
    elif arguments.action == "generate":
        if arguments.topics_to_move_json_file is None or arguments.broker_list is None:
            raise InputError("--generate needs --topics-to-move-json-file and --broker-list")
        topics = reassign.read_topics(read_text(arguments.topics_to_move_json_file))
        told = reassign.generate(state, topics, [_number("--broker-list", one) for one in arguments.broker_list.split(",")])
    else:
        if arguments.reassignment_json_file is None:
            raise InputError(f"--{arguments.action} needs --reassignment-json-file")
        plan = reassign.read_plan(read_text(arguments.reassignment_json_file))
        if arguments.action == "verify":
            told = reassign.verify(state, plan)
        elif arguments.action == "cancel":
            told = reassign.cancel(state, plan)
            steps = [f"- cancel-reassignment: {tp}" for tp in reassign.cancellable(state, plan)]
            print_messages(*steps)
        else:
            throttle = None if arguments.throttle is None else _number("--throttle", arguments.throttle)
            told = reassign.execute(state, plan, additional=arguments.additional, throttle=throttle)
            steps = [] if throttle is None else reassign.throttle_acts(state, plan, throttle)
            print_messages(*steps, *reassign.as_acts(plan))
    print_lines(told)
    return HELD


def _elect(arguments: argparse.Namespace) -> int:
    from core.kafka.ids import TopicPartition
    from scenarios.errors import InputError
    from scenarios.tools import leader_election

    named: list[TopicPartition] | None = None
    ways = [arguments.topic is not None, arguments.all_topic_partitions, arguments.path_to_json_file is not None]
    if sum(ways) != 1 or (arguments.topic is None) is not (arguments.partition is None):
        raise InputError(
            "One and only one of the following options is required: topic with partition, all-topic-partitions, path-to-json-file"
        )
    if arguments.topic is not None:
        named = [TopicPartition(arguments.topic, _number("--partition", arguments.partition))]
    elif arguments.path_to_json_file is not None:
        named = leader_election.read_partitions(read_text(arguments.path_to_json_file))
    described = _moment(arguments)
    preferred = arguments.election_type.lower() == "preferred"
    told, failed = leader_election.elect(_state(described), described.live_brokers, named, preferred=preferred)
    print_lines(told)
    if failed:
        print_messages(f"{failed} replica(s) could not be elected")
    return FAILED if failed else HELD


def _number(option: str, text: str) -> int:
    from scenarios.errors import InputError

    if not (text.strip().isascii() and text.strip().isdecimal()) or len(text) > 18:
        raise InputError(f"{option}: '{text[:40]}' is not a number")
    return int(text)
