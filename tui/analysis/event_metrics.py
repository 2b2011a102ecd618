"""The metrics that are computed from events instead of views. `core.lab.metrics` computes the values of the metrics from the events in
memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import takewhile
from typing import Final

from core.kafka.events import DETAIL, NORMAL, EventTuple
from core.lab.history.event_buffer import EventBuffer, EventRing
from core.lab.metrics.observer import MetricsObserver
from core.sim.events import seq_of, time_of
from core.sim.units import SECOND
from tui.analysis.metrics_history import METRICS, Metric, Series, Values

_RECENT: Final = 8
"""The number of recent samples that keep a separate value for each broker."""


class EventMetrics:
    """Metrics that are computed from the events in memory. Each call to `update` processes the events that were recorded since the previous
    call.

    Attributes:
        since: the virtual time in µs at which the samples begin.
        series: the samples of the values for the whole cluster.
    """

    def __init__(self, make: Callable[[], MetricsObserver]) -> None:
        self._make = make
        self._observer: MetricsObserver | None = None
        self._ring: EventRing | None = None
        self._next = 0
        self._waiting: deque[EventTuple] = deque()
        self._whole = 0
        self.since = 0
        self.series = Series(step=SECOND)
        self._latest: dict[str, Values] = {}
        self._recent: deque[tuple[int, dict[str, Values]]] = deque(maxlen=_RECENT)

    @property
    def progress(self) -> float:
        """The fraction of events in memory that have been processed, from 0 to 1. If all events have been processed, the values of the
        metrics are up to date."""
        return 1 - len(self._waiting) / self._whole if self._waiting else 1.0

    def update(self, event_buffer: EventBuffer, now: int, most: int | None = None) -> None:
        """Process new events. If the event buffer was replaced, or if events were missed, compute the metrics again from the events in
        memory.

        Args:
            event_buffer: the buffer with the latest events of the session.
            now: the virtual time in µs.
            most: the maximum number of events to process in this call, or None for all events.
        """
        ring, observer, waiting = event_buffer.ring(DETAIL), self._observer, self._waiting
        if observer is None or ring is not self._ring or self._next < ring.first:
            observer = self._begin(event_buffer, ring)
        else:
            waiting.extend(ring.since(self._next))
        self._next = ring.total
        for _ in range(len(waiting) if most is None else min(most, len(waiting))):
            event = waiting.popleft()
            if time_of(event) >= self.since:
                self._sample(observer, time_of(event))
            observer.on_event(event)
        if not waiting:
            self._sample(observer, now)
            self._latest = self._values(observer, now)

    def _begin(self, event_buffer: EventBuffer, ring: EventRing) -> MetricsObserver:
        """Start with the oldest events in memory.

        For the time before the first event in the buffer of detailed events, only events of level `NORMAL` or above are available.
        """
        observer = self._observer = self._make()
        self._ring, self.series = ring, Series(step=SECOND)
        self.since = time_of(ring.at(ring.first)) if ring.total and ring.first else 0
        until = seq_of(ring.at(ring.first)) if ring.total else 0
        older = event_buffer.ring(NORMAL)
        self._waiting.clear()
        self._recent.clear()
        self._waiting.extend(takewhile(lambda event: seq_of(event) < until, older.since(older.first)))
        self._waiting.extend(ring.since(ring.first))
        self._whole = len(self._waiting)
        return observer

    def _sample(self, observer: MetricsObserver, time: int) -> None:
        series = self.series
        due = series.times[-1] + series.step if series.times else self.since
        if time >= due:
            values = self._values(observer, time)
            series.add(time, {m.name: m.folded(values.get(m.name, {})) for m in METRICS if m.of is None})
            self._recent.append((time, values))

    def _values(self, observer: MetricsObserver, now: int) -> dict[str, Values]:
        wanted = {m.name for m in METRICS if m.of is None}
        found: dict[str, Values] = {name: {} for name in wanted}
        for sample in observer.request_samples(now):
            if sample.name in wanted:
                found[sample.name][sample.broker] = sample.attributes[0][1]
        return found

    def values(self, metric: Metric) -> Values:
        """Return the latest values of a metric by broker."""
        return self._latest.get(metric.name, {})

    def rates(self, metric: Metric) -> Values:
        """Return each broker's rate per second over about the last five seconds, or an empty dict if there are too few samples."""
        if not self._recent:
            return {}
        end, latest = self._recent[-1]
        start, before = next((one for one in reversed(self._recent) if one[0] <= end - 5 * SECOND), self._recent[0])
        if start == end:
            return {}
        counted = before.get(metric.name, {})
        return {b: max(0.0, v - counted.get(b, 0.0)) * SECOND / (end - start) for b, v in latest.get(metric.name, {}).items()}
