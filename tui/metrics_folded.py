"""The metrics that only a stream of events tells, folded by `core.metrics` from the events in memory while somebody looks."""

from __future__ import annotations

from collections.abc import Callable

from core.journal.events import DETAIL, NORMAL
from core.metrics.observer import MetricsObserver
from core.units import SECOND
from tui.metrics_history import METRICS, Metric, Series, Values
from tui.ring import Ring, Rings


class Folded:
    """The metrics that only events tell, folded from those in memory; kept up to date while somebody looks.

    Attributes:
        since: virtual time of the first event that was folded, µs.
        series: samples of the cluster's values.
    """

    def __init__(self, make: Callable[[], MetricsObserver]) -> None:
        self._make = make
        self._observer: MetricsObserver | None = None
        self._ring: Ring | None = None
        self._next = 0
        self.since = 0
        self.series = Series(step=SECOND)
        self._latest: dict[str, Values] = {}

    def update(self, rings: Rings, now: int) -> None:
        """Take in what has come since; anew after a way through time, or when events were missed."""
        ring = rings.of(DETAIL)
        observer = self._observer
        if observer is None or ring is not self._ring or self._next < ring.first:
            observer = self._observer = self._make()
            self._ring, self._next, self.series = ring, ring.first, Series(step=SECOND)
            self.since = ring.at(ring.first)[1] if ring.total and ring.first else 0
            older = rings.of(NORMAL)
            until = ring.at(ring.first)[0] if ring.total else 0
            for index in range(older.first, older.total):
                event = older.at(index)
                if event[0] >= until:
                    break
                observer.take(event)
        for index in range(self._next, ring.total):
            event = ring.at(index)
            self._sample(observer, event[1])
            observer.take(event)
        self._next = ring.total
        self._sample(observer, now)
        self._latest = self._values(observer, now)

    def _sample(self, observer: MetricsObserver, time: int) -> None:
        series = self.series
        due = series.times[-1] + series.step if series.times else self.since
        if time >= due:
            values = self._values(observer, time)
            series.add(time, {m.name: m.folded(values.get(m.name, {})) for m in METRICS if m.of is None})

    def _values(self, observer: MetricsObserver, now: int) -> dict[str, Values]:
        wanted = {m.name for m in METRICS if m.of is None}
        found: dict[str, Values] = {name: {} for name in wanted}
        for sample in observer.traffic(now):
            if sample.name in wanted:
                found[sample.name][sample.broker] = sample.attributes[0][1]
        return found

    def values(self, metric: Metric) -> Values:
        """A metric's values by broker, now."""
        return self._latest.get(metric.name, {})
