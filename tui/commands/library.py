"""The commands `isrlab scenarios`, which lists and prints the scenarios of the library, and `isrlab readings`, which lists the values that
scripts can read."""

from __future__ import annotations

import argparse
import textwrap
from typing import Any, Final

from scenarios.io.standard_streams import print_lines, print_text
from tui.arguments.console import Parser
from tui.exit_codes import HELD


def add_commands(commands: Any) -> None:
    """Add the commands `scenarios list` and `scenarios show`."""
    library = commands.add_parser("scenarios", help="list the scenarios of the library, or print one")
    library_commands = library.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=Parser)
    listing = library_commands.add_parser("list", help="list the scenarios by subject, each with its title")
    listing.add_argument(
        "-t", "--tag", metavar="TAG", action="append", default=[], help="list only the scenarios with this tag; repeat it for several tags"
    )
    kind = listing.add_mutually_exclusive_group()
    kind.add_argument("-l", "--long", action="store_true", help="also print the description of each scenario")
    kind.add_argument("--names", action="store_true", help="print only the names, one per line")
    listing.set_defaults(command=_list)
    show = library_commands.add_parser("show", help="print a scenario's script")
    show.add_argument("name", metavar="NAME")
    show.set_defaults(command=_show)
    share = commands.add_parser("share", help="print a script or a session as one line that others can paste after 'isrlab play'")
    share.add_argument("source", metavar="SCRIPT|LOG", help="a script, or the event log of a session")
    share.set_defaults(command=_share)
    find = commands.add_parser(
        "find",
        help="find questions, scenarios, errors, settings, screens, keys, terms, readings, acts, and events by what people say: isrlab find hanging transaction",
    )
    find.add_argument("words", nargs="+", metavar="WORD", help="words of a question, or an error message")
    find.add_argument("--all", action="store_true", help="print everything that fits, not only the best dozen")
    find.set_defaults(command=_find)
    readings = commands.add_parser("readings", help="list the values that expectations and 'isrlab run --show' can read, with examples")
    readings.add_argument("words", nargs="*", metavar="WORD", help="list only the readings whose names or descriptions contain all words")
    readings.set_defaults(command=_readings)


def _list(arguments: argparse.Namespace) -> int:
    from scenarios import catalogue
    from scenarios.errors import InputError, did_you_mean
    from scenarios.language.nodes import shortened
    from scenarios.language.subjects import SUBJECTS

    unknown = next((tag for tag in arguments.tag if tag not in SUBJECTS), None)
    if unknown is not None:
        raise InputError(f"unknown tag '{shortened(unknown)}'; {did_you_mean(unknown, SUBJECTS)}")
    found = [header for header in catalogue.headers() if set(arguments.tag) <= set(header.tags)]
    if not found:
        raise InputError(f"no scenario has the tags {' and '.join(arguments.tag)}")
    if arguments.names:
        print_lines(header.name for header in found)
        return HELD
    for number, (tag, headers) in enumerate(catalogue.by_subject(found)):
        width = max(len(header.name) for header in headers)
        lines = [] if number == 0 else [""]
        lines.append(f"{tag}: {SUBJECTS[tag]}" if tag else "without tags")
        for header in headers:
            lines.append(f"  {header.name:<{width}}  {header.title}")
            if arguments.long:
                lines += textwrap.wrap(header.about, 120, initial_indent="      ", subsequent_indent="      ")
        print_lines(lines)
    return HELD


def _show(arguments: argparse.Namespace) -> int:
    from scenarios import catalogue

    path = catalogue.path_of(arguments.name)
    print_text(path.read_text(encoding="utf-8"))
    return HELD


def _share(arguments: argparse.Namespace) -> int:
    from scenarios import catalogue
    from scenarios.io.shared_line import shared_line
    from scenarios.language.nodes import read_file
    from tui.arguments.sources import looks_like_log

    if looks_like_log(arguments.source):
        from scenarios.logs.recorded_session import read_session, session_script

        old = read_session(arguments.source)
        script = session_script(old.spec, old.release, old.seed, old.acts, old.end, name=old.scenario or "session")
    else:
        catalogue.load_any(arguments.source)
        script = read_file(catalogue.find(arguments.source), "name a script or an event log")
    print_lines([shared_line(script)])
    return HELD


def _find(arguments: argparse.Namespace) -> int:
    from scenarios.errors import InputError
    from scenarios.finding.index import as_lines
    from tui.app.index_entries import index

    question = " ".join(arguments.words)
    found = index().find(question, 10_000 if arguments.all else 12)
    if not found:
        raise InputError(f"nothing fits '{question[:60]}'; 'isrlab scenarios list' lists the library, and 'isrlab readings' all values")
    print_lines(as_lines(found))
    return HELD


EXAMPLES: Final = {
    "partition": "orders-0",
    "broker": "2",
    "client": "app",
    "group": "billing",
    "key": "k1",
    "transactional-id": "payments",
    "partition-or-client": "orders-0",
}
"""An argument of each kind, for the examples."""


def _readings(arguments: argparse.Namespace) -> int:
    from scenarios.errors import InputError
    from scenarios.readings.all_readings import ALL_READINGS

    words = [word.lower() for word in arguments.words]
    found = [one for one in ALL_READINGS if all(word in f"{one.written} {one.type} {one.meaning}".lower() for word in words)]
    if not found:
        raise InputError(f"no reading contains {' and '.join(repr(word[:40]) for word in words)}; 'isrlab readings' lists all")
    for one in found:
        inside = ", ".join(EXAMPLES[kind.rstrip("?")] for kind in one.arguments)
        example = f"{one.name}({inside})" if inside else one.name
        values = f": {', '.join(one.words)}" if one.words else ""
        print_lines([f"{one.written}  ({one.type}{values})", f"    {one.meaning}", f"    for example --show '{example}'"])
    return HELD
