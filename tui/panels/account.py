"""The account: what was accepted, acknowledged, lost; how many partitions are unwell, in operators' words; the clients."""

from __future__ import annotations

from rich.style import Style
from textual.strip import Strip

from core.units import format_duration
from core.view import ClusterView, PartitionStatus
from tui.lasting import lasting
from tui.palette import Palette
from tui.panels.lines import Lines
from tui.rows import Row, blank, rule, short_number

Item = list[tuple[str, Style]]


def account_items(view: ClusterView, paint: Palette) -> list[Item]:
    """Everything the account says, most important first."""
    offline, under_min, under_replicated = lasting(view, "tally", lambda: _tally(view))
    items: list[Item] = [
        [
            ("acked ", paint.muted),
            (short_number(view.acked), paint.number),
            (" of ", paint.muted),
            (short_number(view.accepted), paint.number),
        ],
        _alarm("lost", view.lost, paint, loud=True),
        _alarm("offline", offline, paint),
        _alarm("under min ISR", under_min, paint),
        _alarm("under-replicated", under_replicated, paint),
        _alarm("unclean elections", view.unclean_elections, paint),
        _alarm("duplicated", view.duplicated, paint),
    ]
    if view.diverged:
        items.append(_alarm("diverged", view.diverged, paint, loud=True))
    items += client_items(view, paint)
    items.append(
        [
            ("ISR shrinks ", paint.muted),
            (str(view.isr_shrinks), paint.number),
            (" expands ", paint.muted),
            (str(view.isr_expands), paint.number),
        ]
    )
    return items


def _tally(view: ClusterView) -> tuple[int, int, int]:
    """How many partitions are offline, under min ISR, under-replicated."""
    offline = sum(1 for p in view.partitions if p.status is PartitionStatus.OFFLINE)
    under_min = sum(1 for p in view.partitions if p.offline or len(p.isr) < p.min_isr)
    under_replicated = sum(1 for p in view.partitions if len(p.isr) < len(p.replicas))
    return offline, under_min, under_replicated


def client_items(view: ClusterView, paint: Palette) -> list[Item]:
    """A line of text per client."""
    items: list[Item] = []
    if not view.producers:
        items.append(
            [
                ("nobody produces: ", paint.muted),
                ("l", paint.key),
                (" starts a load, ", paint.muted),
                ("p", paint.key),
                (" a burst", paint.muted),
            ]
        )
    for producer in view.producers:
        acks = "all" if producer.acks < 0 else str(producer.acks)
        item: Item = [(f"{producer.name} ", paint.broker), ("→ ", paint.muted), (producer.topic, paint.partition)]
        if producer.rate:
            item.append((f" {producer.rate:,}/s", paint.number))
        item += [(" acks=", paint.muted), (acks, paint.number)]
        if producer.last_latency_us > 0:
            item += [(" ", paint.muted), (format_duration(producer.last_latency_us // 100 * 100), paint.number)]
        if producer.in_flight:
            item += [(" waiting ", paint.muted), (short_number(producer.in_flight), paint.number)]
        if producer.failed:
            item += [(" failed ", paint.muted), (short_number(producer.failed), paint.bad)]
        if producer.retries:
            item += [(" retries ", paint.muted), (short_number(producer.retries), paint.warn)]
        items.append(item)
    for consumer in view.consumers:
        items.append(
            [
                (f"{consumer.name} ", paint.broker),
                ("← ", paint.muted),
                (consumer.topic, paint.partition),
                (" read ", paint.muted),
                (short_number(consumer.read), paint.number),
            ]
        )
    return items


def _alarm(label: str, number: int, paint: Palette, loud: bool = False) -> Item:
    """A count that should be zero."""
    if not number:
        return [(f"{label} ", paint.muted), ("0", paint.number)]
    if loud:
        return [(f" {label.upper()} {number:,} ", paint.alarm)]
    return [(f"{label} ", paint.warn), (f"{number:,}", paint.bad)]


def paint_account(view: ClusterView, paint: Palette, size: tuple[int, int], *, headline: bool) -> list[Strip]:
    """The items, flowing over the lines there are; what has no room is left out, the least important last."""
    width, height = size
    lines: list[Strip] = []
    if headline:
        lines.append(rule("Records and health", "", width, paint.title, paint.faint, paint.muted))
    row = Row().add(" ", paint.text)
    rows: list[Row] = []
    for item in account_items(view, paint):
        length = sum(len(text) for text, _ in item)
        if row.width > 1:
            if row.width + 3 + length > width - 1:
                rows.append(row)
                row = Row().add(" ", paint.text)
            else:
                row.add(" │ ", paint.faint)
        row.join(item)
    rows.append(row)
    lines += [row.strip(width) for row in rows]
    while len(lines) < height:
        lines.append(blank(width))
    return lines[:height]


class AccountPanel(Lines):
    """The panel as a widget."""

    def __init__(self, paint: Palette, *, id: str) -> None:
        super().__init__(paint, id=id)
        self.headline = False

    def update(self, view: ClusterView) -> None:
        """Show a new state."""
        self.show(paint_account(view, self.paint, (self.box.width, self.box.height), headline=self.headline))
