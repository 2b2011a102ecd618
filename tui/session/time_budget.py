"""How long something may take that has to let keys through."""

from __future__ import annotations

import time

from core.lab.history.incremental_task import ShouldYield


def within(seconds: float) -> ShouldYield:
    """Yields when so many seconds of wall time have passed from now on."""
    end = time.perf_counter() + seconds
    return lambda: time.perf_counter() > end
