"""The command `isrlab ask`, which answers questions about a cluster."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from scenarios.io.standard_streams import print_json, print_lines, print_messages
from tui.arguments.live import add_live_options, import_live_cluster, live_given
from tui.arguments.options import add_groups_option, release_of, time_of
from tui.arguments.sources import describe_text, import_texts, looks_like_log, watched_copy
from tui.exit_codes import HELD


def add_commands(commands: Any) -> None:
    """Add the command `ask`."""
    ask = commands.add_parser("ask", help="answer a question about a cluster, such as: isrlab ask mine.txt may-i-stop 2,5")
    ask.add_argument(
        "target",
        nargs="?",
        metavar="SCENARIO|LOG|DESCRIBE.txt",
        help="the cluster: the output of kafka-topics --describe, an event log, a scenario of the library, or a script",
    )
    ask.add_argument("question", nargs="?", metavar="QUESTION", help="the question; without one, all questions are listed")
    ask.add_argument("words", nargs="*", metavar="WORD", help="what the question is about, for example brokers or a partition")
    ask.add_argument("--at", metavar="TIME", help="the virtual time of a log or a scenario at which to ask; by default, its end")
    ask.add_argument("--release", metavar="R", help="the Kafka release of the cluster; by default, the newest that the target names")
    add_groups_option(ask)
    add_live_options(ask)
    ask.add_argument("--json", action="store_true", help="print the answer as JSON")
    ask.set_defaults(command=_ask)


def _ask(arguments: argparse.Namespace) -> int:
    from scenarios.errors import InputError, did_you_mean
    from scenarios.questions.all_questions import QUESTIONS
    from scenarios.questions.asked import AskedCluster

    if arguments.bootstrap_server is not None:  # Without a target, the question comes first.
        arguments.words = [word for word in (arguments.question, *arguments.words) if word is not None]
        arguments.target, arguments.question = arguments.bootstrap_server, arguments.target
    elif arguments.target is None:
        raise InputError("name the cluster: a scenario, a log, the output of kafka-topics --describe, or --bootstrap-server HOST:PORT")
    if arguments.question is None:
        _cluster(arguments)
        width = max(len(f"{one.name} {one.takes}") for one in QUESTIONS.values())
        print_lines(f"{f'{one.name} {one.takes}':<{width}}  {one.title}" for one in QUESTIONS.values())
        return HELD
    question = QUESTIONS.get(arguments.question)
    if question is None:
        raise InputError(f"{arguments.question[:60]}: unknown question; {did_you_mean(arguments.question, list(QUESTIONS))}")
    if arguments.words and not question.takes:
        raise InputError(f"{question.name}: takes nothing after it, not '{' '.join(arguments.words)[:60]}'")
    log = arguments.bootstrap_server is None and looks_like_log(arguments.target)
    given = (("--release", arguments.release), ("--command-config", arguments.command_config), ("--at", arguments.at if log else None))
    options = " ".join(f"{name} {shlex.quote(value)}" for name, value in given if value is not None)
    target = arguments.target if arguments.bootstrap_server is None else f"--bootstrap-server {arguments.target}"
    asked = AskedCluster(_cluster(arguments), target, options, "" if log else arguments.at or "")
    try:
        answer = question.answer(asked, arguments.words)
    except ValueError as wrong:
        raise InputError(f"{question.name}: {wrong}") from None
    if arguments.json:
        import json

        print_json(json.dumps({"question": question.name, "about": arguments.words, **answer.as_data()}, indent=2) + "\n")
    else:
        print_lines(answer.text())
    return HELD


def _cluster(arguments: argparse.Namespace) -> Any:
    """Return the cluster that the arguments name, at the moment that they name."""
    from scenarios.errors import InputError
    from scenarios.exports.cluster_at import cluster_at

    release, at = release_of(arguments.release), time_of(arguments.at)
    if live_given(arguments, ""):
        from scenarios.running.imported_cluster import settled_cluster

        imported, under = import_live_cluster(arguments, release)
        print_messages(*imported.notes)
        return settled_cluster(imported, under, 0, at if imported.scenario.steps else at or 0)
    log = looks_like_log(arguments.target)
    text = None if log else describe_text(arguments.target)
    if arguments.groups and text is None:
        raise InputError("--groups: needs the output of kafka-topics --describe; name its file")
    if text is None:
        if log and (copy := watched_copy(arguments.target, arguments.at, release)) is not None:
            from scenarios.releases import release_named
            from scenarios.running.imported_cluster import settled_cluster

            print_messages(*copy.notes)
            return settled_cluster(copy, release_named(copy.scenario.releases[0]), 0, 0)
        if log and release is not None:
            raise InputError("--release: a log has its own release; omit this option")
        return cluster_at(arguments.target, at, log=log, release=release)
    from core.kafka.release import CURRENT
    from scenarios.running.imported_cluster import settled_cluster

    imported = import_texts(text, arguments.target, arguments.groups, release)
    print_messages(*imported.notes)
    return settled_cluster(imported, release or CURRENT, 0, 0 if at is None and not arguments.groups else at)
