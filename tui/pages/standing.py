"""What the durability page shows while nothing is lost: what each producer was promised, who read what, and where each partition's records
are.
"""

from __future__ import annotations

from typing import Final

from textual.strip import Strip

from core.lab.views.client_view import ProducerView
from core.lab.views.cluster_view import ClusterView
from core.lab.views.partition_view import PartitionView
from core.sim.units import format_duration
from tui.panels.inspector import ids
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, blank, in_a_sentence, rule
from tui.rendering.states import partition_status
from tui.rendering.tables import Cell, Column, paint_table

MOST_CLIENTS: Final = 8
"""The maximum number of producers, and of readers, that are listed."""

LEAST_PARTITIONS: Final = 8
"""The number of lines that the partitions get before the readers get any."""


def promise(acks: int, partitions: list[PartitionView]) -> str:
    """Say what an acknowledgment promises, by the producer's acks and the partitions that it writes to."""
    if acks == 0:
        return "nothing: the producer waits for no answer"
    if acks == 1:
        return "only that the leader has it"
    if not partitions:
        return "every ISR member has it"
    least = min(max(1, p.min_isr) for p in partitions)
    now = min(len(p.isr) for p in partitions)
    return f"every ISR member has it: now {now}, at least {least}"


def copies(p: PartitionView) -> list[int]:
    """Return the brokers that run and hold every committed record of a partition."""
    return [replica.broker for replica in p.replica_views if replica.alive and replica.dir_online and replica.leo >= p.committed]


def survives(p: PartitionView) -> str:
    """Say how many brokers can fail without the loss of a committed record."""
    held = copies(p)
    if not held:
        return "no running broker has all of it"
    if len(held) == 1:
        return f"only b{held[0]} has all of it"
    return f"{len(held) - 1} of {in_a_sentence([f'b{broker}' for broker in held])} can fail"


def _producers(view: ClusterView, paint: Palette, width: int) -> list[Strip]:
    columns = (
        Column("producer"), Column("topic"), Column("acks"), Column("sent", right=True), Column("acked", right=True), Column("waiting", right=True, rank=2),
        Column("failed", right=True), Column("retries", right=True, rank=3), Column("latency", right=True, rank=4),
        Column("what an acknowledgment promises", rest=True, least=24, rank=1),
    )  # fmt: skip
    rows = [_producer(view, producer, paint) for producer in view.producers[:MOST_CLIENTS]]
    return paint_table(columns, rows, paint, width)


def _producer(view: ClusterView, producer: ProducerView, paint: Palette) -> list[Cell]:
    partitions = [p for p in view.partitions if p.tp.topic == producer.topic]
    failed = paint.bad if producer.failed else paint.number
    latency = format_duration(producer.last_latency_us // 100 * 100) if producer.last_latency_us > 0 else ""
    return [
        (producer.name, paint.broker), (producer.topic, paint.partition), ("all" if producer.acks < 0 else str(producer.acks), paint.strong),
        (f"{producer.sent:,}", paint.number), (f"{producer.acked:,}", paint.number), (f"{producer.in_flight:,}", paint.number),
        (f"{producer.failed:,}", failed), (f"{producer.retries:,}", paint.warn if producer.retries else paint.number), (latency, paint.muted),
        (promise(producer.acks, partitions), paint.muted),
    ]  # fmt: skip


def _readers(view: ClusterView, paint: Palette, width: int) -> list[Strip]:
    columns = (
        Column("reader"), Column("topic"), Column("read", right=True), Column("again", right=True), Column("skipped", right=True),
        Column("out of order", right=True, rank=1), Column("", rest=True, least=2),
    )  # fmt: skip
    rows: list[list[Cell]] = [
        [
            (consumer.name, paint.broker), (consumer.topic, paint.partition), (f"{consumer.read:,}", paint.number), ("", paint.muted), ("", paint.muted),
            ("", paint.muted), ("reads without a group", paint.muted),
        ]
        for consumer in view.consumers
    ]  # fmt: skip
    for group, topic in dict.fromkeys((each.group, each.tp.topic) for each in view.consumption):
        parts = [each for each in view.consumption if (each.group, each.tp.topic) == (group, topic)]
        again, skipped, order = sum(p.again for p in parts), sum(p.skipped for p in parts), sum(p.out_of_order for p in parts)
        rows.append(
            [
                (group, paint.broker), (topic, paint.partition), (f"{sum(p.processed for p in parts):,}", paint.number),
                (f"{again:,}", paint.warn if again else paint.number), (f"{skipped:,}", paint.bad if skipped else paint.number),
                (f"{order:,}", paint.warn if order else paint.number), ("a group", paint.muted),
            ]
        )  # fmt: skip
    return paint_table(columns, rows[:MOST_CLIENTS], paint, width) if rows else []


def _partitions(view: ClusterView, paint: Palette, width: int, height: int) -> list[Strip]:
    columns = (
        Column(""), Column("partition"), Column("accepted", right=True, rank=2), Column("acked", right=True), Column("committed", right=True),
        Column("not yet", right=True), Column("ISR/min", rank=1), Column("committed records", rest=True, least=24),
    )  # fmt: skip
    order = sorted(view.partitions, key=lambda p: (len(copies(p)) - len(p.replicas), p.status, p.tp))
    shown = order[: max(0, height - 1 - (len(order) > height - 1))]
    rows: list[list[Cell]] = []
    for p in shown:
        glyph, _, style = partition_status(p, paint)
        leader = next((replica.leo for replica in p.replica_views if replica.broker == p.leader), p.committed)
        waits = max(0, leader - p.committed)
        safe = len(copies(p)) > 1
        rows.append(
            [
                (glyph, style), (str(p.tp), paint.partition), (f"{p.accepted:,}", paint.number), (f"{p.acked:,}", paint.number),
                (f"{p.committed:,}", paint.number), (f"{waits:,}", paint.warn if waits else paint.number),
                (f"{ids(p.isr)}/{p.min_isr}", paint.text), (survives(p), paint.muted if safe else paint.warn),
            ]
        )  # fmt: skip
    lines = paint_table(columns, rows, paint, width)
    if len(shown) < len(order):
        lines.append(Row().add(f" and {len(order) - len(shown):,} more with as many copies or more", paint.faint).strip(width))
    return lines


def standing_lines(view: ClusterView, paint: Palette, width: int, height: int) -> list[Strip]:
    """Return who was promised what, who read what, and where the records are, in at most `height` lines. Parts that do not fit are left out."""
    lines: list[Strip] = []

    def section(title: str, note: str, content: list[Strip]) -> None:
        if content and len(lines) + len(content) + 2 <= height:
            lines.extend([blank(width), rule(title, note, width, paint.title, paint.faint, paint.muted), *content])

    if view.producers:
        section("What producers were promised", f"{len(view.producers)}", _producers(view, paint, width))
    readers = _readers(view, paint, width)
    room = height - len(lines) - 2
    if readers and room - len(readers) - 2 < LEAST_PARTITIONS:
        readers = []  # the partitions matter more
    room -= len(readers) + 2 if readers else 0
    if room >= 3 and view.partitions:
        section("Where the records are", "fewest copies first", _partitions(view, paint, width, room))
    section("What readers got", "", readers)
    return lines
