"""Watches runs without a screen: shows the progress of a long run on a terminal, and stops a run at its limits.

A timer says when the time limit is reached, and the run stops when it records its next event. A run that records none within a second is
interrupted where it is. Where Python cannot handle signals, because this is not the main thread, there is no progress and no interruption.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final

from core.sim.events import seq_of, time_of
from core.sim.units import format_duration
from scenarios.io.escaping import escape_line
from scenarios.io.standard_streams import styled

Sink = Callable[[tuple[Any, ...]], None]

SHOWN_AFTER: Final = 3.0
"""How long a run continues, in seconds, before its progress is shown."""

_TICK: Final = 1.0
_GRACE: Final = 1.0
"""How long a run may go on past its time limit, in seconds, before it is interrupted between two events."""
_CLEAR: Final = "\r\x1b[K"


class LimitReached(Exception):
    """A run was stopped, because it reached a limit. The message names the run, the limit, and how far the run came."""


class RunWatch:
    """The watch over the runs of a command.

    Attributes:
        max_events: the number of events after which a run stops.
        max_seconds: the time after which a run stops, in seconds of real time; None for no limit.
    """

    def __init__(self, max_events: int, max_seconds: float | None) -> None:
        self.max_events: Final = max_events
        self.max_seconds: Final = max_seconds
        self._name = ""
        self._started = 0.0
        self._last: tuple[Any, ...] = (0, 0)
        self._shown = False
        self._out_of_time = False

    def sink(self, inner: Sink | None) -> Sink:
        """Return a sink that passes events on, and stops the run after `max_events` events."""
        most = self.max_events

        def take(event: tuple[Any, ...]) -> None:
            self._last = event
            if inner is not None:
                inner(event)
            if seq_of(event) >= most:
                raise LimitReached(self._report(f"{most:,} events (--max-events)"))
            if self._out_of_time:
                raise self._time_limit()

        return take

    @contextlib.contextmanager
    def over(self, name: str) -> Iterator[None]:
        """Watch a run. `name` names the run in messages.

        Raises:
            LimitReached: the run reached a limit.
        """
        self._name, self._last, self._started, self._out_of_time = name, (0, 0), time.monotonic(), False
        if threading.current_thread() is threading.main_thread():
            watched = self._by_signals()
        else:
            watched = self._by_timer()
        with watched:
            yield

    @contextlib.contextmanager
    def _by_signals(self) -> Iterator[None]:
        """Show progress, and stop the run; an exception from a handler can get lost in a callback of the garbage collector, so it is the last resort."""
        live = sys.stderr is not None and sys.stderr.isatty()
        most = self.max_seconds
        if not live and most is None:
            yield
            return
        first = _TICK if most is None else min(_TICK, most)

        def tick(number: int, frame: FrameType | None) -> None:
            passed = time.monotonic() - self._started
            if most is not None and passed >= most:
                self._out_of_time = True
                if passed >= most + _GRACE:
                    raise self._time_limit()
            elif live and passed >= SHOWN_AFTER:
                self._show(passed)

        before = signal.signal(signal.SIGALRM, tick)
        try:
            signal.setitimer(signal.ITIMER_REAL, first, min(first, _TICK))
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            self._wipe()

    @contextlib.contextmanager
    def _by_timer(self) -> Iterator[None]:
        def expire() -> None:
            self._out_of_time = True

        if self.max_seconds is None:
            yield
            return
        timer = threading.Timer(self.max_seconds, expire)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _time_limit(self) -> LimitReached:
        return LimitReached(self._report(f"{self.max_seconds:g} s (--max-seconds)"))

    @property
    def _position(self) -> str:
        return f"virtual time {format_duration(time_of(self._last))}, {seq_of(self._last):,} events"

    def _report(self, limit: str) -> str:
        return f"{self._name}: stopped after {limit}, at {self._position}"

    def _show(self, passed: float) -> None:
        self._shown = True
        self._write(f"{_CLEAR}{escape_line(self._name)}: {passed:.0f} s, {self._position} …"[:120])

    def _wipe(self) -> None:
        if self._shown:
            self._shown = False
            self._write(_CLEAR)

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError, RuntimeError):  # a signal can interrupt another write
            out = styled(sys.stderr)
            out.write(text)
            out.flush()
