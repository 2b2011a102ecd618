"""The entry point of `isrlab`, also available as `python -m tui`."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Run the command line and return the exit code.

    Like SIGTERM, Ctrl+C ends the process immediately and without a message, unless the command itself handles the signal. The playground
    and commands that use `raise_on_signals` handle it. Python's default, KeyboardInterrupt, is not used, because during an import it causes
    a traceback and sometimes a different exception.
    """
    try:
        # If the process was started with SIGINT ignored (`nohup`, a background job), the signal stays ignored.
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    from tui.cli import main as command

    return command()


if __name__ == "__main__":
    sys.exit(main())
