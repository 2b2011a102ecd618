"""Turns termination signals into an exception, so that a command can clean up after Ctrl-C, `kill`, or a closed terminal.

Without this module, a signal would end the process immediately and leave scratch directories, workers, and Spark's JVM behind. The first
signal raises `Terminated`. Later signals are ignored while the command cleans up. The exception can be raised at any point in the program.
`defer_signals` defers the exception to the end of an operation that must not be interrupted.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Final

from scenarios.io.dropped_exceptions import call_if_dropped

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals after which a command cleans up and exits."""


RESEND_DELAY: Final = 0.01
"""The delay, in seconds, before a signal is sent again. A signal is sent again if its exception was raised in a finalizer and therefore
dropped."""


class Terminated(BaseException):
    """The exception for a termination signal. This class is not derived from `KeyboardInterrupt`, because py4j catches `KeyboardInterrupt`
    and continues.

    Attributes:
        signal: the number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = number


class _Signals:
    """The state of the signal handlers. The first signal raises `Terminated` immediately or, inside blocks that defer signals, at the end
    of the outermost of these blocks.
    """

    def __init__(self) -> None:
        self.blocks = 0
        """The number of nested blocks that defer the signal."""
        self.came: int | None = None
        self.raised = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        if self.came is None:
            self.came = number
        self.tell()

    def dropped(self) -> None:
        """Send the signal again, because Python drops exceptions that a finalizer raises."""
        self.raised = False
        again = threading.Timer(RESEND_DELAY, os.kill, (os.getpid(), self.came))
        again.daemon = True
        again.start()

    def tell(self) -> None:
        """Raise `Terminated` if a signal has arrived, has not been raised yet, and is not deferred."""
        if self.came is not None and not self.raised and not self.blocks:
            self.raised = True
            raise Terminated(self.came)


_signals: _Signals | None = None


@contextlib.contextmanager
def raise_on_signals(seconds: float | None = None) -> Iterator[None]:
    """Raise `Terminated` within the block when one of `SIGNALS` arrives. Signals that this process already ignores, for example because of
    `nohup`, remain ignored. If `seconds` is given, the block also gets the signal SIGALRM after that time.

    Python handles signals only in the main thread. Outside the main thread, and inside another `raise_on_signals` block, this context
    manager has no effect.
    """
    global _signals
    if _signals is not None or threading.current_thread() is not threading.main_thread():
        yield
        return
    _signals = _Signals()
    before = {number: signal.getsignal(number) for number in (*SIGNALS, *([] if seconds is None else [signal.SIGALRM]))}
    taken = [number for number, handler in before.items() if handler is not signal.SIG_IGN or number == signal.SIGALRM]
    try:
        for number in taken:
            signal.signal(number, _signals.handle)
        if seconds is not None:
            signal.setitimer(signal.ITIMER_REAL, seconds)
        with call_if_dropped(Terminated, _signals.dropped):
            yield
    finally:
        if seconds is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number in taken:
            signal.signal(number, before[number] or signal.SIG_DFL)
        _signals = None


@contextlib.contextmanager
def defer_signals() -> Iterator[None]:
    """Defer a signal to the end of the block, so that the block, for example an import, is never interrupted halfway.

    Only the main thread is interrupted. In other threads, and outside `raise_on_signals`, this context manager has no effect.
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
def keep_signal_handlers() -> Iterator[None]:
    """Defer signals in the same way as `defer_signals`, and at the end restore the signal handlers that the block has replaced."""
    if _signals is None:
        yield
        return
    with defer_signals():
        before = {number: signal.getsignal(number) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
