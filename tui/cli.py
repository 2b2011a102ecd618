"""The command line `isrlab`: its commands, its deferred imports, and its exit codes.

The exit code is 0 if every expectation held, and 1 if an expectation failed. The exit code is 2 for bad input, with a line on stderr for
each mistake, also if the input needs more memory than there is. The exit code is 3 if a run reached a limit (`--max-events`, `--max-seconds`). The exit code is 70 if the playground itself failed, and 74 if stdout could not be written. If the reader of stdout has closed
the pipe, as `head` does, the exit code is 141, and there is no message. Results go to stdout and everything else goes to stderr, both
through `scenarios.io.standard_streams`. Each command imports its modules when it runs, so that `isrlab run` starts without the terminal
framework and without Spark.
"""

from __future__ import annotations

import argparse
import errno
import signal
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Final

from scenarios.io.standard_streams import OutputLost, escaping_streams, print_error, print_lines
from tui.arguments.console import Parser
from tui.commands import ask, explore, exports, learn, library, logs, play, records, run, serve, sweep
from tui.exit_codes import BAD_INPUT, BROKEN_PIPE, OUTPUT_LOST
from tui.kafka_tools import describe, groups, operations, transactions, watch

VERSION: Final = "0.2.0.dev0"
"""The version of the distribution. pyproject.toml reads it from here.

Between releases, the version is that of the next release with the suffix `.dev0`.
"""

_DISK_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""The errors of a write for which the disk, or the user's part of it, has no space left."""

GROUPS: Final[dict[ModuleType, tuple[str, ...]]] = {
    play: ("play", "keys"),
    learn: ("learn",),
    serve: ("serve",),
    run: ("run",),
    library: ("scenarios", "share", "find", "readings"),
    ask: ("ask",),
    explore: ("explore",),
    describe: ("import", "describe"),
    exports: ("checkpoints", "metrics"),
    records: ("audit", "trace", "segments"),
    operations: ("reassign", "leader-election"),
    transactions: ("transactions",),
    groups: ("groups",),
    watch: ("watch",),
    logs: ("log", "replay", "compare", "report"),
    sweep: ("sweep",),
}
"""The command modules with the names of their commands, in the order in which the help lists them."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    Raises:
        SystemExit: help was requested, or the arguments are invalid.
    """
    argv = sys.argv[1:] if argv is None else list(argv)
    with escaping_streams():
        try:
            try:
                return _command(argv)
            finally:
                sys.stdout.flush()
        except OutputLost as lost:
            if lost.reader_left:
                return BROKEN_PIPE
            print_error(str(lost))
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
            print_error(line)
        return BAD_INPUT
    except Standstill as endless:
        print_error(str(endless))
        return BAD_INPUT
    except MemoryError:
        print_error("there is not enough memory for this; use fewer brokers, partitions, clients, or records, or a shorter time")
        return BAD_INPUT
    except RecursionError:
        print_error("the input is nested too deeply")
        return BAD_INPUT
    except BrokenPipeError:
        return BROKEN_PIPE
    except OSError as wrong:
        if wrong.errno not in _DISK_FULL:
            raise
        print_error(f"{wrong.filename or 'a file'} cannot be written: {wrong.strerror}")
        return BAD_INPUT
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except Terminated as stopped:
        return 128 + stopped.signal


def parser_for(command: str) -> Parser:
    """Return the parser that a command needs.

    The parser contains only the command's own group of commands, or all groups if the first argument is not a command. The other groups of
    commands are left out, because building the parsers of all groups takes several milliseconds.
    """
    parser = Parser(
        prog="isrlab",
        description="A laboratory for Kafka's replication protocol: play with a cluster, run scenarios, and report on sessions.",
        epilog="exit codes: 0 if all expectations held, 1 if an expectation failed, 2 if the input is invalid, 3 if a run was stopped at a limit, 74 if isrlab cannot write to stdout",
    )
    parser.add_argument("--version", action=Version, nargs=0, help="print the version and whether the engine is compiled")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=Parser)
    for group in [group for group, names in GROUPS.items() if command in names] or GROUPS:
        group.add_commands(commands)
    return parser


class Version(argparse.Action):
    """The option that prints the version and whether the engine is compiled."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from core import is_compiled

        print_lines([f"isrlab {VERSION}, engine {'compiled' if is_compiled() else 'in pure Python'}"])
        parser.exit()
