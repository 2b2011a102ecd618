"""The command `isrlab serve`, which serves the playground to a browser. By default, only browsers on this machine can connect."""

from __future__ import annotations

import argparse
import ipaddress
import os
import shlex
import sys
from typing import Any

from scenarios.io.standard_streams import print_error
from tui.arguments.options import add_display_options, display_of
from tui.commands.play import add_target_options, target_of
from tui.exit_codes import BAD_INPUT, HELD

HOST = "127.0.0.1"
PORT = "8000"
SESSIONS = "8"


def add_commands(commands: Any) -> None:
    """Add the command `serve`."""
    serve = commands.add_parser("serve", help="serve the playground to a browser; every tab has its own session")
    add_target_options(serve)
    serve.add_argument(
        "--host", metavar="ADDRESS", default=HOST, help=f"the address to listen on; by default, {HOST}, which only this machine can reach"
    )
    serve.add_argument("--port", metavar="N", default=PORT, help=f"the port to listen on; by default, {PORT}")
    serve.add_argument(
        "--max-sessions",
        metavar="N",
        default=SESSIONS,
        help=f"the maximum number of open tabs, each of which runs in its own process; by default, {SESSIONS}",
    )
    add_display_options(serve)
    serve.set_defaults(command=_serve)


def _serve(arguments: argparse.Namespace) -> int:
    import importlib.util

    from scenarios.errors import InputError

    if importlib.util.find_spec("textual_serve") is None:
        print_error("serve needs textual-serve, which is not installed; use 'make serve', or install it with: pip install 'isrlab[serve]'")
        return BAD_INPUT
    text = arguments.port
    if not (text.isascii() and text.isdecimal() and len(text) < 6 and 0 < int(text) < 65536):
        raise InputError(f"--port: '{text[:40]}' is not a port; write a whole number from 1 to 65535")
    sessions = arguments.max_sessions
    if not (sessions.isascii() and sessions.isdecimal() and len(sessions) < 4 and int(sessions) > 0):
        raise InputError(f"--max-sessions: '{sessions[:40]}' is not a number of tabs; write a whole number from 1 to 999")
    target_of(arguments)
    display_of(arguments)
    if not _loopback(arguments.host):
        print_error(
            f"{arguments.host} can be reached from other machines: anyone who has the address with its token can play here, as "
            f"you; 'ssh -L {text}:{HOST}:{text}' is safer"
        )
    from tui.terminal.browser_server import serve

    serve(_command(arguments), arguments.host, int(text), int(sessions))
    return HELD


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _command(arguments: argparse.Namespace) -> str:
    """Return the command line that runs in each tab."""
    words = [sys.executable, "-m", "tui", "play"]
    for option in ("release", "seed", "at", "fps", "palette", "keys"):
        if getattr(arguments, option) is not None:
            words += [f"--{option}", getattr(arguments, option)]
    for groups in arguments.groups:
        words += ["--groups", os.path.abspath(groups)]
    for feature in arguments.feature or ():
        words += ["--feature", feature]
    words += [f"--{option.replace('_', '-')}" for option in ("read_only", "slow_link", "ascii") if getattr(arguments, option)]
    if arguments.target is not None:
        words += ["--", os.path.abspath(arguments.target) if os.path.exists(arguments.target) else arguments.target]
    return shlex.join(words)
