"""A limit on the wall time of a block of code, enforced by `SIGALRM`."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Final

from scenarios.io.dropped_exceptions import call_if_dropped

RAISE_AGAIN: Final = 0.01
"""The delay, in seconds, before the block is interrupted again, if Python dropped the exception because it was raised in a finalizer."""


class TimeLimitExceeded(Exception):
    """The block took longer than its time limit."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Interrupt the block after `seconds` of wall time. The limit also interrupts a regular expression that is being matched.

    Only the main thread can be interrupted. In any thread but the main thread, the block runs without a time limit.

    Raises:
        TimeLimitExceeded: the block takes longer than the time limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise TimeLimitExceeded

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with call_if_dropped(TimeLimitExceeded, lambda: signal.setitimer(signal.ITIMER_REAL, RAISE_AGAIN)):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before or signal.SIG_DFL)
