"""How a command ends that is told to: Ctrl-C, `kill` and a terminal that is closed unwind it, so that what it started and wrote goes with it.

Python ends at once on SIGTERM and SIGHUP, and scratch directories, workers and Spark's Java would stay behind. Here each of the three
signals becomes an exception, the first one only: those that come while things are put in order change nothing.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What ends a command in good order."""


class Stopped(KeyboardInterrupt):
    """A signal came.

    Attributes:
        signal: which.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.signal = number


class _Signals:
    """Raises on the first signal, or keeps it until it may be raised."""

    def __init__(self) -> None:
        self.held = False
        self.came: int | None = None

    def handle(self, number: int, frame: FrameType | None) -> None:
        if self.came is None:
            self.came = number
            if not self.held:
                raise Stopped(number)


_signals: _Signals | None = None


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """`Stopped` is raised in the block when one of `SIGNALS` comes; those that this process ignores (`nohup`) stay ignored.

    Signals reach the main thread only; in another one, and in a block inside another such block, this does nothing.
    """
    global _signals
    if _signals is not None or threading.current_thread() is not threading.main_thread():
        yield
        return
    _signals = _Signals()
    before = {number: signal.getsignal(number) for number in SIGNALS}
    taken = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    try:
        for number in taken:
            signal.signal(number, _signals.handle)
        yield
    finally:
        for number in taken:
            signal.signal(number, before[number] or signal.SIG_DFL)
        _signals = None


@contextlib.contextmanager
def held() -> Iterator[None]:
    """A signal that comes in the block is raised at its end; signal handlers that the block sets are undone."""
    signals = _signals
    if signals is None:
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    signals.held = True
    try:
        yield
    finally:
        signals.held = False
        for number, handler in before.items():
            signal.signal(number, handler)
        if signals.came is not None:
            raise Stopped(signals.came)


@contextlib.contextmanager
def pool_of(threads: int) -> Iterator[ThreadPoolExecutor]:
    """A pool of threads; when the block fails, what waits is given up and what runs is not waited for."""
    pool = ThreadPoolExecutor(threads)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
