"""Signals are a wish to leave the playground in good order: with the terminal as it was and the log's last line written."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from scenarios.io.termination_signals import SIGNALS


class LeaveRequest:
    """Keeps the first wish to leave until there is somebody to hear it.

    Attributes:
        code: the exit code that says which signal came; None while none has.
    """

    def __init__(self) -> None:
        self.code: int | None = None
        self._leave: Callable[[int], object] | None = None

    def handle(self, number: int, frame: FrameType | None) -> None:
        """A signal comes."""
        if self.code is None:
            self.code = 128 + number
            if self._leave is not None:
                self._leave(self.code)

    def on_request(self, leave: Callable[[int], object]) -> None:
        """Have the wish told, now if it has come; in the middle of anything the main thread does, so no more than a hint can be left."""
        self._leave = leave
        if self.code is not None:
            leave(self.code)


@contextlib.contextmanager
def leave_on_signals() -> Iterator[LeaveRequest]:
    """Takes the signals that end a process while the block goes on; those that are ignored stay so, and other threads get none."""
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
