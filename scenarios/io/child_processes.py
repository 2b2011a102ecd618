"""What processes that a command starts have in common: they leave signals of the terminal to it, and end when it ends."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from multiprocessing import resource_tracker


def end_with_parent() -> None:
    """Make this process exit when its parent exits, even if the parent is killed."""
    threading.Thread(target=_wait_for_parent, name="parent", daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@contextlib.contextmanager
def terminal_signals_blocked() -> Iterator[None]:
    """Block the signals of Ctrl-C and of a terminal hangup for all processes that start in this block.

    Only the parent process handles the signals, and then stops the processes that it has started. Signals that arrive during the block
    reach the parent when the block ends.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    try:
        # The resource tracker ignores Ctrl-C itself. If it started in this block, it would unblock the signal.
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
