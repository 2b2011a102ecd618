"""The totals panel: sent, acknowledged, and lost records, the numbers of partitions with problems, and the clients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import attrs
from rich.style import Style
from textual.strip import Strip

from core.kafka.health import HELD_BOUND, STALL_BOUND, PartitionStatus
from core.lab.views.cluster_view import ClusterView
from core.lab.views.partition_view import PartitionView
from core.sim.repr_mixin import ReprMixin
from core.sim.units import SECOND, format_duration
from tui.analysis.partition_list import filtered
from tui.analysis.per_state_cache import cached_per_state
from tui.panels.lines import Lines
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, blank, rule, short_number

ALWAYS: Final = 2
"""The number of items that always come first: acknowledged records and lost records."""

Parts = list[tuple[str, Style]]


def lost_words(view: ClusterView | PartitionView) -> str:
    """Return the number of lost records, and how many of them were acknowledged to their producer or read by a consumer."""
    if not view.lost:
        return "0"
    parts = ((view.lost_acknowledged, "acked"), (view.lost_read, "read"))
    whose = ", ".join(f"{number:,} {word}" for number, word in parts if number)
    return f"{view.lost:,} ({whose})" if whose else f"{view.lost:,}"


def sent(view: ClusterView) -> int:
    """Return the number of records that producers have sent, including records that no leader has appended."""
    return sum(producer.sent for producer in view.producers)


@attrs.frozen(repr=False)
class Item(ReprMixin):
    """An item in the totals panel. `wrong` marks an item that shows a problem."""

    parts: Parts
    wrong: bool = False


def total_items(view: ClusterView, paint: Palette) -> list[Item]:
    """Return all items for the totals panel. The most important items come first."""
    offline, unserved, stalled, reads_held, under_min, under_replicated, out = cached_per_state(view, "tally", lambda: _tally(view))
    acked, of = short_number(view.acked), short_number(sent(view))
    items = [
        Item([("acked ", paint.muted), (acked, paint.number), (" of ", paint.muted), (of, paint.number)]),
        Item([(f" LOST {lost_words(view)} ", paint.alarm)], wrong=True) if view.lost else _alarm("lost", 0, paint),
        _alarm("offline", offline, paint),
        *([_alarm("unserved", unserved, paint)] if unserved else []),
        *([_alarm("stalled", stalled, paint)] if stalled else []),
        *([_alarm("reads held", reads_held, paint)] if reads_held else []),
        _alarm("under min ISR", under_min, paint),
        _alarm("under-replicated", under_replicated, paint),
        _alarm("unclean elections", view.unclean_elections, paint),
        _alarm("duplicated", view.duplicated, paint),
        *([_alarm("skipped", view.skipped, paint, loud=True)] if view.skipped else []),
        *([_alarm("unfinished", view.unfinished, paint, loud=True)] if view.unfinished else []),
        *([_alarm("done twice", view.done_twice, paint)] if view.done_twice else []),
        *([_alarm("out of order", view.out_of_order, paint)] if view.out_of_order else []),
        *([_alarm("processed out of order", view.processed_out_of_order, paint)] if view.processed_out_of_order else []),
        *long_held(view, paint),
    ]
    if view.diverged:
        items.append(_alarm("diverged", view.diverged, paint, loud=True))
    items += client_items(view, paint)
    shrinks, expands = str(view.isr_shrinks), str(view.isr_expands)
    changes = [("ISR shrinks ", paint.muted), (shrinks, paint.number), (" expands ", paint.muted), (expands, paint.number)]
    if out > view.isr_shrinks:  # Replicas that the controller removed are not counted. The metrics page says why.
        changes += [(" by leaders, out ", paint.muted), (f"{out:,}", paint.warn)]
    items.append(Item(changes))
    return items


def long_held(view: ClusterView, paint: Palette) -> list[Item]:
    """Return an item if transactions have held back the last stable offset of a partition for longer than `HELD_BOUND`."""
    held = [p.held_us for p in view.partitions if p.held_us > HELD_BOUND]
    if not held:
        return []
    where = "1 partition" if len(held) == 1 else f"{len(held):,} partitions"
    return [
        Item(
            [("LSO held ", paint.warn), (format_duration(max(held) // SECOND * SECOND), paint.bad), (f" in {where}", paint.muted)],
            wrong=True,
        )
    ]


def _tally(view: ClusterView) -> tuple[int, int, int, int, int, int, int]:
    """Count the partitions that have each problem: offline, unserved, stalled, reads held back, under min ISR, and under-replicated. The last
    number is that of the replicas that are outside their ISR.

    The counts of under-min-ISR and under-replicated partitions follow the definitions of kafka-topics.
    """
    count = Counter(p.status for p in view.partitions)
    offline, unserved = count[PartitionStatus.OFFLINE], count[PartitionStatus.LEADER_UNAVAILABLE]
    stalled, reads_held = count[PartitionStatus.STALLED], count[PartitionStatus.READS_HELD]
    under_min, under_replicated = len(filtered(view, "under-min-isr")), len(filtered(view, "under-replicated"))
    out = sum(len(p.replicas) - len(p.isr) for p in view.partitions)
    return offline, unserved, stalled, reads_held, under_min, under_replicated, out


def client_items(view: ClusterView, paint: Palette) -> list[Item]:
    """Return an item for each client."""
    items: list[Item] = []
    if not view.producers:
        nobody, starts, burst = ("no producer: ", paint.muted), (" starts a load, ", paint.muted), (" sends a burst", paint.muted)
        items.append(Item([nobody, ("l", paint.key), starts, ("p", paint.key), burst]))
    for producer in view.producers:
        acks = "all" if producer.acks < 0 else str(producer.acks)
        parts: Parts = [(f"{producer.name} ", paint.broker), ("→ ", paint.muted), (producer.topic, paint.partition)]
        if producer.rate:
            parts.append((f" {producer.rate:,}/s", paint.number))
        parts += [(" acks=", paint.muted), (acks, paint.number)]
        oldest = max(producer.waits_us, default=0)
        late = oldest > STALL_BOUND
        if producer.last_latency_us > 0 and not late:  # while other batches wait, the latency of the last batch is misleading
            parts += [(" ", paint.muted), (format_duration(producer.last_latency_us // 100 * 100), paint.number)]
        if producer.in_flight:
            parts += [(" waiting ", paint.muted), (short_number(producer.in_flight), paint.number)]
        if late:
            parts += [(" for ", paint.muted), (format_duration(oldest // 100_000 * 100_000), paint.bad)]
        if producer.failed:
            parts += [(" failed ", paint.muted), (short_number(producer.failed), paint.bad)]
        if producer.retries:
            parts += [(" retries ", paint.muted), (short_number(producer.retries), paint.warn)]
        items.append(Item(parts, wrong=producer.failed > 0 or late))
    for consumer in view.consumers:
        who = [(f"{consumer.name} ", paint.broker), ("← ", paint.muted), (consumer.topic, paint.partition)]
        items.append(Item([*who, (" read ", paint.muted), (short_number(consumer.read), paint.number)]))
    return items


def _alarm(label: str, number: int, paint: Palette, loud: bool = False) -> Item:
    """Return an item for a count that should be zero."""
    if not number:
        return Item([(f"{label} ", paint.muted), ("0", paint.number)])
    if loud:
        return Item([(f" {label.upper()} {number:,} ", paint.alarm)], wrong=True)
    return Item([(f"{label} ", paint.warn), (f"{number:,}", paint.bad)], wrong=True)


def _length(item: Item) -> int:
    return sum(len(text) for text, _ in item.parts)


def _rows_of(lengths: Sequence[int], width: int) -> list[int]:
    """Wrap items of the given lengths at `width` cells, and return the line number of each item."""
    rows: list[int] = []
    at, used = 0, 1
    for length in lengths:
        if used > 1 and used + 3 + length > width - 1:
            at, used = at + 1, 1
        used += length + (3 if used > 1 else 0)
        rows.append(at)
    return rows


def _with_room(items: list[Item], width: int, height: int) -> list[Item]:
    """Return the items that the panel shows, in their original order. If there is not enough room for all items, items that show a problem
    take precedence.
    """
    lengths = [_length(item) for item in items]
    if _rows_of(lengths, width)[-1] < height:
        return items
    shown: list[int] = []
    for number in sorted(range(len(items)), key=lambda n: (n >= ALWAYS and not items[n].wrong, n)):
        wanted = sorted([*shown, number])
        if _rows_of([lengths[n] for n in wanted], width)[-1] < height:
            shown = wanted
    return [items[number] for number in shown]


def paint_totals(view: ClusterView, paint: Palette, size: tuple[int, int], *, headline: bool) -> list[Strip]:
    """Paint the items, wrapped to the width of the panel. If there is not enough room, the least important items are left out."""
    width, height = size
    lines: list[Strip] = []
    if headline:
        lines.append(rule("Records and health", "", width, paint.title, paint.faint, paint.muted))
    row, on = Row().add(" ", paint.text), 0
    rows = [row]
    shown = _with_room(total_items(view, paint), width, height - len(lines))
    for item, at in zip(shown, _rows_of([_length(item) for item in shown], width), strict=True):
        if at != on:
            row, on = Row().add(" ", paint.text), at
            rows.append(row)
        elif row.width > 1:
            row.add(" │ ", paint.faint)
        row.join(item.parts)
    lines += [row.strip(width) for row in rows]
    while len(lines) < height:
        lines.append(blank(width))
    return lines[:height]


class TotalsPanel(Lines):
    """The widget that shows the totals panel."""

    def __init__(self, paint: Palette, *, id: str) -> None:
        super().__init__(paint, id=id)
        self.headline = False

    def update(self, view: ClusterView) -> None:
        """Show a new view of the cluster."""
        self.show(paint_totals(view, self.paint, (self.box.width, self.box.height), headline=self.headline))
