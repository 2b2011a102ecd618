"""The differences between two moments: the brokers, the totals, and each partition's leader, epoch, ISR, HW, LEO, and lost records."""

from __future__ import annotations

from rich.style import Style
from textual.strip import Strip

from core.lab.views.cluster_view import ClusterView
from core.lab.views.partition_view import PartitionView
from core.sim.units import format_clock
from tui.panels.cluster_totals import lost_words
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, wrap


def differences(before: PartitionView | None, after: PartitionView | None) -> list[tuple[str, str, str]]:
    """Return the differences between two states of a partition, each as (name, old value, new value)."""
    if before is None or after is None:
        return [("exists", "no" if before is None else "yes", "no" if after is None else "yes")]
    both = ((_facts(before), _facts(after)),)
    return [(name, old, new) for one, other in both for (name, old), (_, new) in zip(one, other, strict=True) if old != new]


def _facts(p: PartitionView) -> list[tuple[str, str]]:
    leader = next((replica for replica in p.replica_views if replica.broker == p.leader), None)
    return [
        ("leader", "none" if p.offline else f"b{p.leader}"),
        ("epoch", str(p.leader_epoch)),
        ("ISR", "[" + ",".join(map(str, sorted(p.isr))) + "]"),
        ("HW", "-" if leader is None else f"{leader.hw:,}"),
        ("LEO", " ".join(f"b{replica.broker}:{replica.leo:,}" for replica in sorted(p.replica_views, key=lambda replica: replica.broker))),
        ("lost", lost_words(p)),
    ]


def paint_diff(before: ClusterView, after: ClusterView, words: str, paint: Palette, width: int) -> list[Strip]:
    """Paint the differences, each on its own line. `words` describes the moment at which the view `before` was taken."""
    lines = [Row().add(line, paint.muted).strip(width) for line in wrap(f"then: {words}", width)]
    now = f"now: at {format_clock(after.now)} after event {after.seq}"
    lines += [Row().add(line, paint.muted).strip(width) for line in wrap(now, width)]
    count = len(lines)
    brokers = {b.id: b for b in before.brokers}
    for broker in after.brokers:
        old = brokers.get(broker.id)
        words_then = "missing" if old is None else f"{old.state}{', fenced' if old.fenced else ''}"
        words_now = f"{broker.state}{', fenced' if broker.fenced else ''}"
        if words_then != words_now:
            lines.append(_line(f"b{broker.id}", [("", words_then, words_now)], paint, width))
    then = {p.tp: p for p in before.partitions}
    same = 0
    for tp in sorted({p.tp for p in after.partitions} | set(then)):
        found = differences(then.get(tp), next((p for p in after.partitions if p.tp == tp), None))
        if found:
            lines.extend(_partition(str(tp), found, paint, width))
        else:
            same += 1
    for name, old_count, new_count in (
        ("acked", before.acked, after.acked),
        ("lost", before.lost, after.lost),
        ("lost, acknowledged", before.lost_acknowledged, after.lost_acknowledged),
        ("lost, read", before.lost_read, after.lost_read),
        ("duplicated", before.duplicated, after.duplicated),
        ("unclean elections", before.unclean_elections, after.unclean_elections),
    ):
        if old_count != new_count:
            lines.append(_line(name, [("", f"{old_count:,}", f"{new_count:,}")], paint, width))
    if len(lines) == count:
        lines.append(Row().add("There are no differences.", paint.good).strip(width))
    elif same:
        lines.append(Row().add(f"{same} partitions are the same." if same > 1 else "1 partition is the same.", paint.muted).strip(width))
    return lines


def _line(subject: str, found: list[tuple[str, str, str]], paint: Palette, width: int) -> Strip:
    row = Row().add(f"{subject:<12} ", paint.strong)
    for name, old, new in found:
        row.add(f"{name} " if name else "", paint.muted).add(old, paint.muted).add(" → ", paint.faint).add(new, _style(name, paint)).add(
            "  ", paint.text
        )
    return row.strip(width)


def _partition(subject: str, found: list[tuple[str, str, str]], paint: Palette, width: int) -> list[Strip]:
    """Paint the differences between two states of a partition, on as many lines as necessary."""
    lines: list[Strip] = []
    row = Row().add(f"{subject:<12} ", paint.partition)
    for name, old, new in found:
        if row.width + len(name) + len(old) + len(new) + 7 > width and row.width > 13:
            lines.append(row.strip(width))
            row = Row().add(" " * 13, paint.text)
        row.add(f"{name} ", paint.muted).add(old, paint.muted).add(" → ", paint.faint).add(new, _style(name, paint)).add("  ", paint.text)
    return [*lines, row.strip(width)]


def _style(name: str, paint: Palette) -> Style:
    return paint.bad if name.startswith("lost") else paint.strong
