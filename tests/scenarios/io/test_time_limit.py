"""A time limit interrupts its block, whatever Python does when the time is over."""

from __future__ import annotations

import gc
import signal
import time

import pytest

from scenarios.io.time_limit import TimeLimitExceeded, time_limit


def test_a_limit_that_is_reached_during_a_garbage_collection_is_not_lost() -> None:
    """Python drops an exception that a signal handler raises in a callback of the garbage collector."""

    def linger(phase: str, info: dict[str, int]) -> None:
        while phase == "start" and signal.getitimer(signal.ITIMER_REAL) != (0, 0):
            pass

    def collect_and_work() -> None:
        with time_limit(0.05):
            gc.collect()
            end = time.process_time() + 5
            while time.process_time() < end:
                pass

    gc.callbacks.append(linger)
    try:
        with pytest.raises(TimeLimitExceeded):
            collect_and_work()
    finally:
        gc.callbacks.remove(linger)
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
