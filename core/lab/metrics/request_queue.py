"""A model of a broker's threads, from which Kafka's two idle percentages are computed. Network threads read and write requests, and handler
threads process them from a queue.

Each request costs a fixed time and a time per byte. The costs are the laboratory's assumptions, not measurements of Kafka. The numbers of
threads come from Kafka's settings. Work that exceeds the capacity of the threads waits in the queue. The model only shows how busy a broker
would be, and does not delay anything.
"""

from __future__ import annotations

from typing import Final

import attrs

from core.lab.metrics.meter import TICK, Meter


@attrs.frozen
class RequestCosts:
    """The time that network threads and handler threads spend on each request and on each byte of a request, in ns."""

    network_request: int = 40_000
    network_byte: int = 8
    handler_request: int = 120_000
    handler_byte: int = 12


COSTS: Final = RequestCosts()
"""The default costs of a request."""


class ThreadPool:
    """Threads that share a queue of work. The threads are simulated in steps of five seconds, the interval at which Kafka's meters update
    their rates.

    Attributes:
        backlog: the work that is waiting in the queue, in ns.
        idle: the idle share of the threads in the last full step; 1 before the first one.
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
        """Add work that takes `cost` ns."""
        self.advance(now)
        self._work += cost

    def advance(self, now: int) -> None:
        """Process the waiting work up to a given time."""
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
        """Return the idle share over the last minute, as Kafka's meter reports it (`KafkaRequestHandlerPool#aggregateIdleMeter`)."""
        self.advance(now)
        rate = dict(self.meter.attributes(now))["OneMinuteRate"]
        return rate if self._stepped > self._start else 1.0
