"""The model behind the two idle percentages: network threads read and write requests, handler threads work them off a queue.

Each request costs its threads a fixed time and a time per byte. The costs are the laboratory's, not measurements of Kafka;
the numbers of threads are Kafka's settings. Work beyond what the threads can do waits. The queue tells how busy a broker would
be; it delays nothing.
"""

from __future__ import annotations

from typing import Final

import attrs

from core.lab.metrics.meter import TICK, Meter


@attrs.frozen
class RequestCosts:
    """What a request costs, ns: of a network thread's and of a handler thread's time, and for each byte of it."""

    network_request: int = 40_000
    network_byte: int = 8
    handler_request: int = 120_000
    handler_byte: int = 12


COSTS: Final = RequestCosts()
"""The costs used when nobody gives others."""


class ThreadPool:
    """Threads that share a queue of work; in five-second steps, as the meters tick.

    Attributes:
        backlog: ns of work that waits.
        idle: share of the threads' time without work in the last full step, 1 before the first.
    """

    __slots__ = ("_start", "_stepped", "_work", "backlog", "idle", "meter", "threads")

    def __init__(self, threads: int, start: int) -> None:
        self.threads = threads
        self._start = self._stepped = start
        self._work = 0
        self.backlog = 0
        self.idle = 1.0
        self.meter = Meter(start)

    def work(self, now: int, cost: int) -> None:
        """Work of that many ns arrived."""
        self.advance(now)
        self._work += cost

    def advance(self, now: int) -> None:
        """Work off what the threads can by a time."""
        while self._stepped + TICK <= now:
            self._stepped += TICK
            capacity = self.threads * TICK * 1_000
            due = self.backlog + self._work
            self._work = 0
            self.backlog = max(0, due - capacity)
            self.idle = 1 - min(due, capacity) / capacity
            self.meter.mark(self._stepped - 1, self.idle * TICK / 1_000_000)
            self.meter.advance(self._stepped)

    def idle_rate(self, now: int) -> float:
        """The idle share as Kafka's idle meter has it over the last minute (`KafkaRequestHandlerPool#aggregateIdleMeter`)."""
        self.advance(now)
        rate = dict(self.meter.attributes(now))["OneMinuteRate"]
        return rate if self._stepped > self._start else 1.0
