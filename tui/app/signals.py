"""Handles termination signals, so that the playground quits cleanly: the terminal is restored, and the event log is complete."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from scenarios.io.termination_signals import SIGNALS


class LeaveRequest:
    """The first request to quit, which is kept until a function that handles it is registered.

    Attributes:
        code: the exit code for the signal, or None before a signal.
    """

    def __init__(self) -> None:
        self.code: int | None = None
        self._leave: Callable[[int], object] | None = None

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Handle a termination signal."""
        if self.code is None:
            self.code = 128 + number
            if self._leave is not None:
                self._leave(self.code)

    def on_request(self, leave: Callable[[int], object]) -> None:
        """Register `leave`, and call it immediately if a signal has already arrived.

        A signal can interrupt any code, so `leave` must only schedule work.
        """
        self._leave = leave
        if self.code is not None:
            leave(self.code)


@contextlib.contextmanager
def leave_on_signals() -> Iterator[LeaveRequest]:
    """Handle termination signals while the block runs.

    Outside the main thread, this function has no effect. Signals that the process ignores remain ignored.
    """
    taken = LeaveRequest()
    if threading.current_thread() is not threading.main_thread():
        yield taken
        return
    before = {number: handler for number in SIGNALS if (handler := signal.getsignal(number)) is not signal.SIG_IGN}
    try:
        for number in before:
            signal.signal(number, taken.handle)
        yield taken
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
