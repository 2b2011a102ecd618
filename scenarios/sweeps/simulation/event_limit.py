"""Stops a run of a sweep after a number of events."""

from __future__ import annotations

from typing import Any

from core.sim.events import seq_of, time_of
from core.sim.units import format_duration


class EventLimitReached(Exception):
    """A run recorded too many events. The message says when it was stopped."""


class EventLimit:
    """A sink that stops a run after `most` events of all its clusters, one after another."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._before = 0

    def __call__(self, event: tuple[Any, ...]) -> None:
        if self._before + seq_of(event) >= self._most:
            raise EventLimitReached(
                f"stopped after {self._most:,} events (--max-events), at virtual time {format_duration(time_of(event))}"
            )

    def next_cluster(self, events: int) -> None:
        """Begin to count the events of the next cluster. The one before recorded `events`."""
        self._before += events
