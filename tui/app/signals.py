"""Handles signals: they end the playground in order, with the terminal restored and the log complete."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from scenarios.io.termination_signals import SIGNALS


class LeaveRequest:
    """Keeps the first request to leave until a function is registered to handle it.

    Attributes:
        code: the exit code of the signal; None before a signal.
    """

    def __init__(self) -> None:
        self.code: int | None = None
        self._leave: Callable[[int], object] | None = None

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Handles a signal."""
        if self.code is None:
            self.code = 128 + number
            if self._leave is not None:
                self._leave(self.code)

    def on_request(self, leave: Callable[[int], object]) -> None:
        """Registers `leave`, and calls it at once if a signal has come. It runs in the middle of anything, so it may only schedule work."""
        self._leave = leave
        if self.code is not None:
            leave(self.code)


@contextlib.contextmanager
def leave_on_signals() -> Iterator[LeaveRequest]:
    """Handles the signals that end a process, in the main thread, inside the block. Ignored signals stay ignored."""
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
