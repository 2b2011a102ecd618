"""Kafka's metrics under their JMX names, with their history.

Metrics that show a problem come first. All other metrics are in the order of `METRICS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

import attrs
from rich.style import Style
from textual.strip import Strip

from core.lab.metrics import CONTROLLER
from core.lab.metrics.observer import MetricsObserver
from core.sim.units import format_clock
from tui.analysis.event_metrics import EventMetrics
from tui.analysis.metrics_history import METRICS, Metric, Series, Values
from tui.pages.page import Page
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, blank, clip, rule, wrap
from tui.rendering.tables import Cell, Column, paint_table

BARS: Final = "▁▂▃▄▅▆▇█"
"""The characters of a sparkline, from the lowest bar to the highest."""

RECENT: Final = 60_000_000
"""The page grades a counter by its increase during the most recent period of this length, in µs."""

MOST_EVENTS: Final = 2_000
"""The maximum number of events that one frame reads."""

MOST_BROKERS: Final = 8
"""The maximum number of brokers for which each broker has its own column."""


@attrs.frozen
class MetricLine:
    """A metric with its current value, its values by broker, its samples, its grade (0: bad, 1: needs attention, 2: fine), and its rates
    per second.
    """

    metric: Metric
    now: float
    brokers: Values
    times: Sequence[int]
    samples: Sequence[float]
    grade: int
    rate: float = 0.0
    rates: Values = attrs.field(factory=dict)


def grade(metric: Metric, now: float, samples: Sequence[float], times: Sequence[int], at: int) -> int:
    """Return the grade of a metric: 0 means that the value is bad, 1 that it needs attention, and 2 that it is fine.

    For a counter, only the increase in the last minute matters.
    """
    value = now
    if metric.counts:
        before = next((sample for time, sample in zip(reversed(times), reversed(samples), strict=True) if time <= at - RECENT), 0.0)
        value = now - before
    return 0 if metric.bad(value) else 1 if metric.warn(value) else 2


def rates(times: Sequence[int], samples: Sequence[float]) -> list[float]:
    """Return the increase of a counter, per second, between each sample and the previous one."""
    found = [0.0] if samples else []
    for number in range(1, len(samples)):
        passed = times[number] - times[number - 1]
        found.append(max(0.0, samples[number] - samples[number - 1]) * 1_000_000 / passed if passed > 0 else 0.0)
    return found


def sparkline(times: Sequence[int], samples: Sequence[float], start: int, end: int, cells: int, low: bool = False) -> str:
    """Return a sparkline of the samples between two times. Each cell shows the highest sample in the cell's period, or the lowest one if
    `low` is set.
    """
    return sparklines(times, samples, start, end, cells, low=low)[0]


def sparklines(
    times: Sequence[int], samples: Sequence[float], start: int, end: int, cells: int, rows: int = 1, *, low: bool = False
) -> list[str]:
    """Return the `rows` lines of a sparkline, from top to bottom."""
    if cells <= 0 or end <= start:
        return [""] * rows
    buckets: list[float | None] = [None] * cells
    for time, sample in zip(times, samples, strict=True):
        if start <= time <= end:
            cell = min(cells - 1, (time - start) * cells // (end - start))
            held = buckets[cell]
            buckets[cell] = sample if held is None else min(held, sample) if low else max(held, sample)
    top = max((value for value in buckets if value is not None), default=0.0)
    steps, last = len(BARS), None
    lines: list[list[str]] = [[] for _ in range(rows)]
    for value in buckets:
        last = value if value is not None else last
        # The lowest line always shows a bar, so the height of a value is at least 1.
        height = 0 if last is None else 1 if top <= 0 else 1 + min(rows * steps - 1, int(last / top * (rows * steps - 1) + 0.5))
        for row, line in enumerate(lines):
            here = height - (rows - 1 - row) * steps
            line.append(" " if here <= 0 else BARS[min(here, steps) - 1])
    return ["".join(line) for line in lines]


def number(value: float) -> str:
    """Format a number in as few characters as possible."""
    if float(value).is_integer():
        return f"{int(value):,}" if abs(value) < 1_000_000 else f"{value / 1_000_000:.3g}M"
    return f"{value:.2f}" if abs(value) < 100 else f"{value:,.0f}"


def worst_first(lines: Sequence[MetricLine]) -> list[MetricLine]:
    """Sort the metrics by severity grade, the worst first. Metrics that have the same severity grade keep their order."""
    return sorted(lines, key=lambda line: line.grade)


def paint_metrics(
    lines: Sequence[MetricLine],
    brokers: Sequence[int],
    end: int,
    paint: Palette,
    size: tuple[int, int],
    selected: int,
    since: int = 0,
    progress: float = 1.0,
) -> list[Strip]:
    """Paint the table, scrolled to the selected metric, and below it the meaning of that metric.

    Args:
        lines: the metrics, in the order in which they are shown.
        brokers: the brokers that get their own column if the screen is wide enough.
        end: the current virtual time in µs.
        paint, size: the palette, and the width and height of the page in cells.
        selected: the index of the metric that is explained below the table.
        since: the virtual time in µs at which the events in memory begin.
        progress: the fraction of events in memory that has been read, from 0 to 1; the headline shows it while it is below 1.
    """
    width, height = size
    chosen = lines[selected] if lines else None
    about = [] if chosen is None else _about(chosen, paint, width, since)
    rows = max(1, height - len(about) - 2)
    top = max(0, min(selected - rows // 2, len(lines) - rows))
    shown = lines[top : top + rows]
    wide = brokers if width >= 110 and len(brokers) <= MOST_BROKERS else ()
    columns = (
        Column(""), Column("metric", least=20), Column("now", right=True),
        *(Column(f"b{broker}", right=True, rank=2) for broker in wide), Column(f"since {format_clock(0)[:5]}", rest=True, least=12),
    )  # fmt: skip
    name = max((len(line.metric.short) for line in lines), default=10)
    used = 2 + 3 + name + 2 + 9 + 2 + len(wide) * 8
    cells = max(10, min(width - used - 3, 120))
    marks = {0: ("✖", paint.bad), 1: ("!", paint.warn), 2: ("·", paint.faint)}
    table: list[list[Cell]] = []
    for line in shown:
        style: Style = {0: paint.bad, 1: paint.warn, 2: paint.number}[line.grade]
        samples = rates(line.times, line.samples) if line.metric.counts else list(line.samples)
        curve = sparkline(line.times, samples, 0, end, cells, low=line.metric.fold == "min")
        unit = line.metric.unit
        now, by = (f"{number(line.rate)}{unit}/s", line.rates) if line.metric.flow else (number(line.now) + unit, line.brokers)
        table.append(
            [
                marks[line.grade],
                (line.metric.short, paint.strong if line.grade < 2 else paint.text if not line.metric.lab else paint.muted),
                (now, style),
                *((number(by[b]) if b in by else "", paint.muted) for b in wide),
                (curve, paint.bad if line.grade == 0 else paint.warn if line.grade == 1 else paint.committed),
            ]
        )
    bad = sum(line.grade == 0 for line in lines)
    look = sum(line.grade == 1 for line in lines)
    note = f"{bad} bad, {look} to check" if bad or look else "no problems"
    if progress < 1:
        note = f"reading events, {progress:.0%} · {note}"
    out = [rule("Metrics", note, width, paint.title_focused, paint.faint, paint.bad if bad else paint.warn if look else paint.good)]
    out += paint_table(columns, table, paint, width, selected=selected - top, marks=True)
    while len(out) < height - len(about):
        out.append(blank(width))
    return [*out[: height - len(about)], *about]


def _about(line: MetricLine, paint: Palette, width: int, since: int) -> list[Strip]:
    """Paint the full name of a metric, its meaning, and the worst of its values so far."""
    metric = line.metric
    rows = [rule("Meaning", "", width, paint.title, paint.faint, paint.muted)]
    rows.append(Row().add(f" {clip(metric.name, width - 2)}", paint.strong).strip(width))
    for text in wrap(metric.about, width - 2):
        rows.append(Row().add(f" {text}", paint.text).strip(width))
    said = []
    if metric.counts:
        said.append(f"The count is {number(line.now)}. The curve shows its rate, now {number(line.rate)} per second")
    elif line.samples:
        low = metric.fold == "min"
        worst = min(line.samples) if low else max(line.samples)
        at = line.times[list(line.samples).index(worst)]
        said.append(f"{'lowest' if low else 'highest'} {number(worst)}, at {format_clock(at)}")
    by = [f"{'controller' if b == CONTROLLER else f'b{b}'} {number(v)}" for b, v in sorted(line.brokers.items()) if len(line.brokers) > 1]
    if by:
        said.append("by broker: " + "  ".join(by[:12]))
    if metric.of is None and since:
        said.append(f"computed from the events in memory, since {format_clock(since)}")
    for text in wrap("; ".join(said), width - 2):
        rows.append(Row().add(f" {text}", paint.muted).strip(width))
    return rows


class MetricsPage(Page):
    """The page with the metrics. The keys ↑ and ↓ select a metric."""

    name: ClassVar[str] = "metrics"
    wide: ClassVar[bool] = True

    _selected: str = ""
    _order: tuple[str, ...] = ()
    _folded: EventMetrics | None = None

    def gather(self) -> list[MetricLine]:
        """Return all metrics with their current values, the worst first.

        Metrics that are computed from events are left out until all events in memory are read.
        """
        screen = self.screen
        view, branch = screen.view, screen.session.history.branch.name
        series = screen.loaded.history.of(branch).upto(view.now)
        folded = self._folded
        if folded is None:
            folded = self._folded = EventMetrics(lambda: MetricsObserver(screen.loaded.spec, screen.loaded.release))
        folded.update(screen.session.history.event_buffer, view.now, MOST_EVENTS)
        known = [metric for metric in METRICS if metric.of is not None or not self.unfinished]
        return worst_first(
            [
                _line(metric, view.now, metric.of(view), series)
                if metric.of is not None
                else _line(metric, view.now, folded.values(metric), folded.series, folded.rates(metric) if metric.flow else None)
                for metric in known
            ]
        )

    @property
    def unfinished(self) -> bool:
        """Whether some events in memory have not been read yet."""
        return self._folded is not None and self._folded.progress < 1

    def lines(self, width: int, height: int) -> list[Strip]:
        """Return the lines of the page."""
        lines = self.gather()
        self._order = tuple(line.metric.name for line in lines)
        if self._selected not in self._order and not self.unfinished:
            self._selected = self._order[0]
        brokers = [b.id for b in self.screen.view.brokers]
        folded = self._folded
        since, progress = (0, 1.0) if folded is None else (folded.since, folded.progress)
        at = self._order.index(self._selected) if self._selected in self._order else 0
        return paint_metrics(lines, brokers, self.screen.view.now, self.paint, (width, height), at, since, progress)

    def move(self, key: str) -> bool:
        """Select another metric."""
        by = {"up": -1, "down": 1, "pageup": -8, "pagedown": 8, "home": -len(METRICS)}.get(key)
        if by is None or not self._order:
            return False
        at = self._order.index(self._selected) if self._selected in self._order else 0
        self._selected = self._order[max(0, min(len(self._order) - 1, at + by))]
        return True


def _rate(times: Sequence[int], samples: Sequence[float]) -> float:
    """Return the increase per second since the latest sample that is at least five seconds old, or since the first sample."""
    first = next((n for n in range(len(times) - 1, -1, -1) if times[n] <= times[-1] - 5_000_000), 0)
    passed = times[-1] - times[first] if times else 0
    return (samples[-1] - samples[first]) * 1_000_000 / passed if passed > 0 else 0.0


def _line(metric: Metric, at: int, brokers: Values, series: Series, by_broker: Values | None = None) -> MetricLine:
    now = metric.folded(brokers)
    samples = series.values.get(metric.name, [])
    times = series.times[-len(samples) :] if samples else []
    rate = _rate(times, samples) if metric.counts else 0.0
    return MetricLine(metric, now, brokers, times, samples, grade(metric, now, samples, times, at), rate, by_broker or {})
