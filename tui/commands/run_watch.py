"""Watches runs without a screen: shows the progress of a long run on a terminal, and stops a run at its limits.

A timer signal interrupts the run once a second. If Python cannot handle signals here, because this is not the main thread, there is no
progress, and a run stops at its time limit only when it records its next event.
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

    def sink(self, inner: Sink | None) -> Sink:
        """Return a sink that passes events on, and stops the run after `max_events` events."""
        most = self.max_events

        def take(event: tuple[Any, ...]) -> None:
            self._last = event
            if inner is not None:
                inner(event)
            if seq_of(event) >= most:
                raise LimitReached(self._report(f"{most:,} events (--max-events)"))

        return take

    @contextlib.contextmanager
    def over(self, name: str) -> Iterator[None]:
        """Watch a run. `name` names the run in messages.

        Raises:
            LimitReached: the run reached a limit.
        """
        self._name, self._last, self._started = name, (0, 0), time.monotonic()
        live = sys.stderr is not None and sys.stderr.isatty()
        if not (live or self.max_seconds is not None) or threading.current_thread() is not threading.main_thread():
            yield
            return
        first = _TICK if self.max_seconds is None else min(_TICK, self.max_seconds)

        def tick(number: int, frame: FrameType | None) -> None:
            passed = time.monotonic() - self._started
            if self.max_seconds is not None and passed >= self.max_seconds:
                raise LimitReached(self._report(f"{self.max_seconds:g} s (--max-seconds)"))
            if live and passed >= SHOWN_AFTER:
                self._show(passed)

        before = signal.signal(signal.SIGALRM, tick)
        try:
            signal.setitimer(signal.ITIMER_REAL, first, min(first, _TICK))
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            self._wipe()

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
