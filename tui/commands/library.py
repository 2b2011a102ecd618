"""The command `isrlab scenarios`, which lists and prints the scenarios of the library."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from scenarios.io.standard_streams import print_lines, print_text
from tui.commands.console import Parser
from tui.exit_codes import HELD


def add_commands(commands: Any) -> None:
    """Add the commands `scenarios list` and `scenarios show`."""
    library = commands.add_parser("scenarios", help="list the scenarios of the library, or print one")
    library_commands = library.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=Parser)
    listing = library_commands.add_parser("list", help="list the scenarios, one name per line; on a terminal, also describe each scenario")
    listing.add_argument("-l", "--long", action="store_true", help="describe each scenario even if the output is piped")
    listing.set_defaults(command=_list)
    show = library_commands.add_parser("show", help="print a scenario's script")
    show.add_argument("name", metavar="NAME")
    show.set_defaults(command=_show)


def _list(arguments: argparse.Namespace) -> int:
    from scenarios import catalogue

    names = [*catalogue.names(), *catalogue.model_names()]
    if not (arguments.long or sys.stdout.isatty()):
        print_lines(names)
        return HELD
    width = max(map(len, names))
    print_lines(f"{name:<{width}}  {catalogue.load_any(name).headline}".rstrip() for name in names)
    return HELD


def _show(arguments: argparse.Namespace) -> int:
    from scenarios import catalogue

    path = catalogue.path_of(arguments.name)
    print_text(path.read_text(encoding="utf-8"))
    return HELD
