"""The command line `isrlab`: what it may be asked, in which order things are imported, and how it ends.

Exit codes: 0 all is well and every expectation held, 1 an expectation failed, 2 bad input, a line on stderr for each mistake, 70 the
playground itself failed, 74 stdout could not be written; 141 without a word when the reader of stdout went away, as `head` does.
Payload goes to stdout, everything else to stderr, both through `scenarios.io.standard_streams`. Each command imports what it needs when it
runs, so that `isrlab run` starts without the terminal framework and without Spark.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Final

from scenarios.io.standard_streams import OutputLost, complain, guarded_streams, say_lines
from tui.commands import library, logs, moments, operations, play, run, serve, sweep
from tui.commands.console import Parser
from tui.exit_codes import BAD_INPUT, BROKEN_PIPE, OUTPUT_LOST

VERSION: Final = "0.2.0.dev0"
"""Of the distribution; pyproject.toml reads it here. Between releases: of the next one, with `.dev0`."""

GROUPS: Final[dict[ModuleType, tuple[str, ...]]] = {
    play: ("play", "keys"),
    serve: ("serve",),
    run: ("run",),
    library: ("scenarios",),
    moments: ("import", "describe", "checkpoints", "metrics"),
    operations: ("reassign", "leader-election"),
    logs: ("log", "replay", "report"),
    sweep: ("sweep",),
}
"""Every command, in the order of the help, with where it stands."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    Raises:
        SystemExit: help was asked for, or the arguments are wrong.
    """
    argv = sys.argv[1:] if argv is None else list(argv)
    with guarded_streams():
        try:
            try:
                return _command(argv)
            finally:
                sys.stdout.flush()
        except OutputLost as lost:
            if lost.reader_left:
                return BROKEN_PIPE
            complain(str(lost))
            return OUTPUT_LOST


def _command(argv: Sequence[str]) -> int:
    arguments = parser_for(argv[0] if argv else "").parse_args(argv)
    from core.sim.errors import Standstill
    from scenarios.errors import InputError
    from scenarios.io.termination_signals import Terminated

    try:
        return int(arguments.command(arguments))
    except InputError as wrong:
        for line in wrong.lines:
            complain(line)
        return BAD_INPUT
    except Standstill as endless:
        complain(str(endless))
        return BAD_INPUT
    except BrokenPipeError:
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except Terminated as stopped:
        return 128 + stopped.signal


def parser_for(command: str) -> Parser:
    """The parser that a command needs: its own group's, or all for whatever is no command. Making all takes some milliseconds."""
    parser = Parser(
        prog="isrlab",
        description="A laboratory for Kafka's replication protocol: play with a cluster, run scenarios, and report on sessions.",
        epilog="exit codes: 0 all expectations held, 1 an expectation failed, 2 invalid input, 74 cannot write to stdout",
    )
    parser.add_argument("--version", action=Version, nargs=0, help="print the version, and whether the engine is compiled")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=Parser)
    for group in [group for group, names in GROUPS.items() if command in names] or GROUPS:
        group.add_commands(commands)
    return parser


class Version(argparse.Action):
    """Tells the version, and which engine it is."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from core import is_compiled

        say_lines([f"isrlab {VERSION}, engine {'compiled' if is_compiled() else 'in pure Python'}"])
        parser.exit()
