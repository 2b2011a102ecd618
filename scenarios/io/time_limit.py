"""A limit on the wall time of a block of code, by `SIGALRM`."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


class TookTooLong(Exception):
    """What may take so long and no longer took longer."""


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Interrupt the block after so much wall time, also within a regular expression, which looks for signals as it backtracks.

    Only the main thread can be interrupted; in another one this does nothing.

    Raises:
        TookTooLong: the time is over.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise TookTooLong

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before or signal.SIG_DFL)
