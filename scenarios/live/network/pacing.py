"""Limits how many requests a cluster gets."""

from __future__ import annotations

import time
from collections.abc import Callable

REQUESTS_PER_SECOND: float = 50
"""The most requests per second that isrlab sends to a cluster, to all its brokers together."""


class RequestRate:
    """A limit on the rate of requests. A request is sent at the earliest `1 / rate` seconds after the previous one.

    Args:
        per_second: the rate; by default, `REQUESTS_PER_SECOND`.
        clock, sleep: the clock and the pause, in seconds.
    """

    def __init__(
        self,
        per_second: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._interval = 1 / (REQUESTS_PER_SECOND if per_second is None else per_second)
        self._clock = clock
        self._sleep = sleep
        self._next = clock()
        self.sent = 0

    def wait(self) -> None:
        """Wait until the next request can be sent."""
        now = self._clock()
        if now < self._next:
            self._sleep(self._next - now)
        self._next = max(now, self._next) + self._interval
        self.sent += 1
