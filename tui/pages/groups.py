"""The page with the groups: who owns each partition, which partitions are stalled and until when, the lag over time, and the rebalances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from textual.strip import Strip

from core.kafka.ids import NO_LEADER, NO_OFFSET, TopicPartition
from core.lab.accounts.missed_records import WORDS
from core.lab.reports.group_report import NEVER, UNKNOWN, GroupReport, MemberReport, OwnedPartition
from core.sim.units import format_clock, format_duration
from tui.analysis.group_history import GONE, GroupHistory, History, lane_cells, rebalancing_cells
from tui.pages.metrics import sparklines
from tui.pages.page import Page
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, clip, rule, wrap
from tui.rendering.tables import Cell, Column, paint_table

NO_GROUPS: Final = (
    "No consumer of this cluster is a member of a group. A group shares the partitions of its topics among its members, and commits how far it has "
    "read. To start a member, press ; and enter join-group: {topics: [NAME]}."
)
"""The text of the page for a cluster without groups."""

WINDOW: Final = 60_000_000
"""The period that the lag curve and the lanes cover, in µs."""

HIGHEST_CURVE: Final = 6
"""The maximum height of the lag curve, in lines."""

NARROW: Final = 100
"""The width of the page, in cells, below which texts are shortened."""

MOST_CELLS: Final = 24
"""The maximum width, in cells, of the list of a member's partitions."""

TENTH: Final = 100_000
"""The unit to which the page rounds durations, in µs."""

GROUP_COLUMNS: Final = (
    Column("group"), Column("state"), Column("generation", right=True, rank=1), Column("coordinator"), Column("assignor", rank=3),
    Column("members", right=True, rank=2), Column("lag", right=True), Column("skipped", right=True), Column("stalled", rest=True, least=12),
)  # fmt: skip
"""The columns of the table of groups."""

MEMBER_COLUMNS: Final = (Column("member"), Column("has"), Column("does"), Column("until", rest=True, least=12))
"""The columns of the table of members."""

PARTITION_COLUMNS: Final = (
    Column("partition"), Column("owner"), Column("committed", right=True), Column("log end", right=True), Column("lag", right=True),
    Column("time lag", right=True, rank=2), Column("LSO lag", right=True, rank=1), Column("why stalled", rest=True, least=33),
)  # fmt: skip
"""The columns of the table of partitions."""


def paint_groups(
    groups: Sequence[GroupReport], history: GroupHistory, now: int, paint: Palette, size: tuple[int, int], selected: int
) -> list[Strip]:
    """Paint the groups and, for the selected one, its members, its partitions, its lag, and its lanes.

    Args:
        groups: the consumer groups of the cluster.
        history: the recent history of the groups.
        now: the virtual time in µs.
        paint, size: the palette, and the width and height of the page in cells.
        selected: the index of the group to show.
    """
    width, height = size
    stalled = sum(bool(group.waits or group.stalled) for group in groups)
    note = f"{stalled} of {len(groups)} stalled" if stalled else f"{len(groups)}, none stalled"
    out = [rule("Groups", note if groups else "", width, paint.title_focused, paint.faint, paint.warn if stalled else paint.good)]
    if not groups:
        return out + [Row().add(f" {line}", paint.text).strip(width) for line in wrap(NO_GROUPS, width - 2)]
    group, narrow = groups[selected], width < NARROW
    its_members = sorted(group.members, key=lambda each: each.client)
    rows = max(1, min(len(groups), height // 6))
    top = max(0, min(selected - rows // 2, len(groups) - rows))
    shown = [_group_row(each, paint, narrow=narrow) for each in groups[top : top + rows]]
    out += paint_table(GROUP_COLUMNS, shown, paint, width, selected=selected - top, marks=True)
    out.append(Row().add(f" {_waits(group, now, narrow=narrow)}", paint.warn if group.waits else paint.muted).strip(width))
    if group.skipped:
        out.append(Row().add(f" {clip(_skipped(group), width - 2)}", paint.bad).strip(width))
    room = height - len(out) - 2  # the curve of the lag and the lane of the group
    partitions = min(len(group.partitions), max(2, room // 2)) + 1
    members = max(1, min(len(group.members), (room - partitions) // 2)) + 1
    lanes = max(0, min(len(group.members), room - partitions - members))
    out += paint_table(
        MEMBER_COLUMNS, _cut([_member_row(each, now, paint, narrow=narrow) for each in its_members], members - 1, paint, 4), paint, width
    )
    worst = sorted(group.partitions, key=lambda each: not each.stalled) if len(group.partitions) >= partitions else group.partitions
    out += paint_table(
        PARTITION_COLUMNS,
        _cut([_partition_row(each, history.time_lag(each, now), now, paint, narrow=narrow) for each in worst], partitions - 1, paint, 8),
        paint,
        width,
    )
    names = [each.client for each in its_members[:lanes]]
    lines = height - len(out) - 1  # without the lane of the group
    out += _paint_history(names, history.of(group.name), now, paint, width, lines)
    return out[:height]


def _cut(rows: list[list[Cell]], room: int, paint: Palette, columns: int) -> list[list[Cell]]:
    """Return as many table rows as fit into the given number of lines. If some rows do not fit, the last row says how many are left out."""
    if len(rows) <= room:
        return rows
    return [*rows[: room - 1], [(f"… {len(rows) - room + 1} more", paint.muted), *[("", paint.muted)] * (columns - 1)]]


def _waits(group: GroupReport, now: int, *, narrow: bool) -> str:
    """Return a sentence that says what the whole group is waiting for."""
    if group.waits:
        before = ". The controller notices it at " if group.state == UNKNOWN else ". The wait ends no later than "
        return f"{group.name} {group.waits}{_shortened(_until(group.until, now, before), narrow=narrow)}."
    if not group.members:
        return f"{group.name} has no members."
    gone = [each.client for each in group.members if each.doing in ("dead", "frozen")]
    if gone:
        return f"The coordinator has not noticed yet that {', '.join(gone)} stopped."
    if group.without_owner:
        return f"{group.without_owner} of {len(group.partitions)} partitions have no owner."
    unread = group.stalled
    return "Each partition has an owner" + (f", but {unread} of {len(group.partitions)} are stalled." if unread else ".")


def _skipped(group: GroupReport) -> str:
    """Return a sentence that says how many records the group never gets, and why. The most frequent reason comes first."""
    reasons = sorted(group.skipped, key=lambda each: -each[1])
    total = sum(count for _, count in reasons)
    words = ", ".join(f"{count:,} {WORDS[reason]}" for reason, count in reasons)
    return f"{group.name} skipped {total:,} {'record' if total == 1 else 'records'}: {words}."


def _until(time: int, now: int, before: str = "") -> str:
    return "" if time == NEVER else f"{before}{format_clock(time)[:-2]} (in {format_duration(max(time - now, 0) // TENTH * TENTH)})"


def _shortened(until: str, *, narrow: bool) -> str:
    """Return text from `_until`; on a narrow page, omit the remaining time."""
    return until.partition(" (in ")[0] if narrow else until


def _group_row(group: GroupReport, paint: Palette, *, narrow: bool) -> list[Cell]:
    style = (
        paint.bad
        if group.state == UNKNOWN
        else paint.good
        if group.state == "Stable"
        else paint.muted
        if group.state == "Empty"
        else paint.warn
    )
    coordinator = "none" if group.coordinator == NO_LEADER else f"b{group.coordinator}"
    stalled = f"{group.stalled} of {len(group.partitions)}{'' if narrow else ' partitions'}" if group.stalled else "nothing"
    return [
        (group.name, paint.strong), (group.state, style), (f"{group.generation}" if group.coordinator != NO_LEADER else "·", paint.number),
        (coordinator, paint.broker if group.coordinator != NO_LEADER else paint.bad), (group.assignor or "·", paint.muted),
        (f"{len(group.members)}", paint.number), (_total_lag(group), paint.number),
        _skips(group, paint),
        (stalled, paint.bad if group.stalled else paint.good),
    ]  # fmt: skip


def _skips(group: GroupReport, paint: Palette) -> Cell:
    """Return the number of records that the group never gets, as a cell."""
    total = sum(count for _, count in group.skipped)
    return (f"{total:,}", paint.bad) if total else ("0", paint.number)


def _total_lag(group: GroupReport) -> str:
    """Return the sum of the lags as text, marked as a lower bound (≥) if the lags of some partitions are not known."""
    if group.unknown_lags == len(group.partitions):
        return "·"
    return f"≥{group.lag:,}" if group.unknown_lags else f"{group.lag:,}"


def _member_row(member: MemberReport, now: int, paint: Palette, *, narrow: bool) -> list[Cell]:
    style = paint.bad if member.doing in ("dead", "frozen") else paint.warn if member.stalled else paint.text
    until = _shortened(_until(member.until, now), narrow=narrow)
    then = f"{until}: {member.then}" if until else "·"
    return [
        (member.client, paint.strong), (_by_topic(member.partitions), paint.partition if member.partitions else paint.muted),
        (member.doing, style), (then, style if member.stalled else paint.muted),
    ]  # fmt: skip


def _by_topic(tps: Sequence[TopicPartition]) -> str:
    """Return a short text that names partitions, for example `orders 0,1,2`. A long list is replaced with the number of partitions."""
    topics: dict[str, list[int]] = {}
    for tp in sorted(tps):
        topics.setdefault(tp.topic, []).append(tp.partition)
    text = ", ".join(f"{topic} {','.join(map(str, numbers))}" for topic, numbers in topics.items())
    return (text if len(text) <= MOST_CELLS else f"{len(tps)} partitions") or "nothing"


def _partition_row(each: OwnedPartition, time_lag: tuple[int, bool] | None, now: int, paint: Palette, *, narrow: bool) -> list[Cell]:
    behind = each.last_stable - each.committed if each.lag is not None else None
    return [
        (str(each.tp), paint.partition), (each.owner or "nobody", paint.strong if each.owner else paint.bad),
        ("·" if each.committed == NO_OFFSET else f"{each.committed:,}", paint.number),
        ("·" if each.log_end == NO_OFFSET else f"{each.log_end:,}", paint.committed),
        ("·" if each.lag is None else f"{each.lag:,}", paint.bad if (each.lag or 0) < 0 else paint.number),
        (_time_lag(time_lag), paint.number),
        ("·" if behind is None else f"{behind:,}", paint.muted), (_stalled(each, now, narrow=narrow), paint.bad if each.stalled else paint.faint),
    ]  # fmt: skip


def _time_lag(lag: tuple[int, bool] | None) -> str:
    """Return a time lag as text, rounded down, and marked as a lower bound (≥) if the lag began before the events in memory."""
    if lag is None:
        return "·"
    time, longer = lag
    return ("≥" if longer else "") + format_duration(time // TENTH * TENTH)


def _stalled(each: OwnedPartition, now: int, *, narrow: bool) -> str:
    """Return why no consumer is reading a partition, and until when. If a process has ended, the text says when the coordinator will notice
    the end of the process."""
    if not each.stalled:
        return "·"
    ended = each.stalled.endswith(("dead", "frozen", "silent"))
    until = _until(each.until, now, ", noticed at " if ended else " until ")
    return each.stalled + (_shortened(until, narrow=narrow))


def _paint_history(names: list[str], history: History, now: int, paint: Palette, width: int, lines: int) -> list[Strip]:
    """Paint the lag curve, the group's rebalances, and a lane for each member that shows how many partitions the member has.

    The curve, the rebalances, and the lanes share one time axis. If there is room, former members have lanes, too, and the lag curve is
    several lines high.

    Args:
        names: the members whose lanes to paint.
        history: the history of the group.
        now: the virtual time in µs.
        paint, width: the palette, and the width of the page in cells.
        lines: the number of lines for the lag curve and the lanes of members.
    """
    start = max(0, now - WINDOW)
    end = max(now, start + 1)
    former = [name for name, lane in history.lanes.items() if name not in names and lane[-1][0] >= start]
    names = [*names, *sorted(former)[: max(lines - len(names) - 1, 0)]]
    rows = max(1, min(HIGHEST_CURVE, lines - len(names)))
    most = max([lag for time, lag in zip(history.times, history.lags, strict=True) if time >= start], default=0)
    note = f" up to {most:,.0f}"
    left = min(max([len("rebalance"), *map(len, names)]), width // 4)
    cells = max(10, width - left - 3 - len(note))
    out = []
    for number, line in enumerate(sparklines(history.times, [max(lag, 0) for lag in history.lags], start, end, cells, rows)):
        row = Row().add(f" {'lag' if number == rows - 1 else '':<{left}} ", paint.muted).add(line, paint.number)
        out.append(row.add("" if number else note, paint.muted).strip(width))
    busy = rebalancing_cells(history.rebalances, start, end, cells)
    row = Row().add(f" {'rebalance':<{left}} ", paint.muted)
    for cell in busy:
        row.add("▒" if cell else "·", paint.warn if cell else paint.faint)
    out.append(row.strip(width))
    for name in names:
        row = Row().add(f" {clip(name, left):<{left}} ", paint.strong)
        for count in lane_cells(history.lanes.get(name, []), start, end, cells):
            if count is None:
                row.add(" ", paint.faint)
            elif count == GONE:
                row.add("✖", paint.bad)
            else:
                row.add("·" if not count else str(count) if count < 10 else "+", paint.good if count else paint.warn)
        out.append(row.strip(width))
    return out


class GroupsPage(Page):
    """The page that shows the consumer groups. The keys ↑ and ↓ select a group."""

    name: ClassVar[str] = "groups"
    calm: ClassVar[bool] = False

    _selected = 0
    _count = 0

    def lines(self, width: int, height: int) -> list[Strip]:
        """Return the lines of the page."""
        groups = self.screen.session.reports.group_report()
        self._count = len(groups)
        self._selected = max(0, min(self._selected, self._count - 1))
        self._history.update(self.screen.session.history.event_buffer)
        return paint_groups(groups, self._history, self.screen.view.now, self.paint, (width, height), self._selected)

    def opened(self) -> None:
        """When the page opens, start from the oldest events in memory."""
        self._history = GroupHistory()

    def move(self, key: str) -> bool:
        """Select another group."""
        by = {"up": -1, "down": 1, "home": -self._count}.get(key)
        if by is None or not self._count:
            return False
        self._selected = max(0, min(self._count - 1, self._selected + by))
        return True
