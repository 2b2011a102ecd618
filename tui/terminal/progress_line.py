"""Shows on a terminal how far a search is."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import Final

from scenarios.io.standard_streams import styled

_CLEAR: Final = "\r\x1b[K"

_EVERY: Final = 0.5
"""The least time between two lines, in seconds."""


class ProgressLine:
    """A line that says how far a search is. It is not shown if stderr is not a terminal."""

    def __init__(self) -> None:
        self._live = sys.stderr is not None and sys.stderr.isatty()
        self._last = time.monotonic()
        self._shown = False

    def show(self, text: str) -> None:
        """Show a text instead of the last one, unless that one is new."""
        now = time.monotonic()
        if self._live and now - self._last > _EVERY:
            self._last, self._shown = now, True
            _write_now(f"{_CLEAR}{text} …")

    def wipe(self) -> None:
        """Remove the line."""
        if self._shown:
            _write_now(_CLEAR)


def _write_now(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        out = styled(sys.stderr)
        out.write(text)
        out.flush()
