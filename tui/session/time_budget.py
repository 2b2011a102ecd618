"""A time limit for work that must not delay keys."""

from __future__ import annotations

import time

from core.lab.history.incremental_task import ShouldYield


def within(seconds: float) -> ShouldYield:
    """Return a `ShouldYield` function that returns True once the given number of wall seconds has passed."""
    end = time.perf_counter() + seconds
    return lambda: time.perf_counter() > end
