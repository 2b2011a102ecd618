"""How a command ends that is told to: Ctrl-C, `kill` and a terminal that is closed unwind it, so that what it started and wrote goes with it.

A signal ends a process at once, and scratch directories, workers and Spark's Java would stay behind. Here each of the three signals
becomes an exception, the first one only: those that come while things are put in order change nothing. An exception may come
anywhere, also where it would leave half of something: there `whole` keeps it until all is done.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
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
        self.blocks = 0
        """Blocks that are to be done first, one in the other."""
        self.came: int | None = None
        self.raised = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        if self.came is None:
            self.came = number
        self.tell()

    def tell(self) -> None:
        """Raise what has come, once and when it may be."""
        if self.came is not None and not self.raised and not self.blocks:
            self.raised = True
            raise Stopped(self.came)


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
def whole() -> Iterator[None]:
    """A signal that comes in the block is raised at its end: the block is done wholly or not at all, imports for example.

    Only what runs in the main thread is interrupted; in another one, and outside of `stoppable`, this does nothing.
    """
    signals = _signals
    if signals is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    signals.blocks += 1
    try:
        yield
    finally:
        signals.blocks -= 1
        signals.tell()


@contextlib.contextmanager
def held() -> Iterator[None]:
    """As `whole`; and signal handlers that the block sets are undone."""
    if _signals is None:
        yield
        return
    with whole():
        before = {number: signal.getsignal(number) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
