"""`isrlab` itself, also as `python -m tui`: how it begins."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Run the command line; returns the exit code.

    Ctrl-C ends the process at once and without a word, as SIGTERM does, unless the command takes it (`raise_on_signals`, the playground):
    Python's own way, an exception, comes out of modules that are half loaded as a traceback, and not always as the same exception.
    """
    try:
        # Whoever is to ignore it (`nohup`, a job in the background) goes on doing so.
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    from tui.cli import main as command

    return command()


if __name__ == "__main__":
    sys.exit(main())
