"""A partition in detail: an explanation of its high watermark, its replicas, its waiting requests, and its logs side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from rich.style import Style
from textual.strip import Strip

from core.kafka.broker.broker_state import BrokerState
from core.kafka.health import PartitionStatus, described_under_replicated, is_under_min_isr
from core.lab.reports.partition_detail import FollowerState, PartitionDetail
from core.lab.views.cluster_view import ClusterView
from core.lab.views.partition_view import ReplicaView
from core.sim.units import format_clock, format_duration
from tui.analysis.partition_list import in_order
from tui.pages.log_runs import paint_logs
from tui.pages.page import Page
from tui.pages.segments import lookup_target, paint_segments
from tui.panels.cluster_totals import lost_words
from tui.panels.events import colored
from tui.panels.inspector import all_committed, ids, not_served
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, rule, wrap
from tui.rendering.states import partition_status, replica_marks
from tui.rendering.tables import Cell, Column, paint_table

_NOBODY: Final[Mapping[int, str]] = {}

MOST_WRITES: int = 6
"""The maximum number of waiting writes that are listed."""


def ago(us: int) -> str:
    """Format a duration in µs, for example `12 ms` or `3.2 s`. For a negative number, return `never`."""
    if us < 0:
        return "never"
    if us < 1_000_000:
        return f"{us // 1_000} ms"
    if us < 100_000_000:
        return f"{us / 1_000_000:.1f} s"
    return format_duration(us // 1_000_000 * 1_000_000)


def size_word(count: int) -> str:
    """Format a number of bytes with a unit, for example `1.5 KiB`."""
    for size, word in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= size:
            return f"{count / size:.3g} {word}"
    return f"{count} B"


# --- the explanation of the high watermark -------------------------------------------------------------------------


def high_watermark_reasons(detail: PartitionDetail, view: ClusterView, left: Mapping[int, str] = _NOBODY, unclean: str = "") -> list[str]:
    """Return sentences that explain where a partition's high watermark is, and what will advance it.

    Args:
        detail, view: the detailed view of the partition, and the view of the cluster.
        left: by broker, when and why a replica outside the ISR left the ISR.
        unclean: the outcome of an unclean election, as a sentence; empty if there is none.
    """
    p, leads = detail.view, detail.leads
    if p.offline:
        words = (
            f"{p.tp} has no leader and is waiting for a live member of the ISR {ids(p.isr)}"
            + (f" or the ELR {ids(p.elr)}" if p.elr else "")
            + "."
        )
        return [words, _who_could(detail), *([unclean] if unclean else []), *_gone(detail, left)]
    if p.status is PartitionStatus.LEADER_UNAVAILABLE or leads is None:
        return [not_served(p, view), *_gone(detail, left)]
    leader = p.replica_on(p.leader)
    if leader.leo == leader.hw:
        return [f"{all_committed(p, view)} HW = LEO = {leader.leo:,}.", *_outsiders(detail, left)]
    waiting = leader.leo - leader.hw
    records = "1 record waits" if waiting == 1 else f"{waiting:,} records wait"
    said = []
    if leads.under_min_isr and leads.strict_min_isr:
        said.append(
            f"HW is held at {leader.hw:,}, and {records}: the ISR {ids(leads.isr)} is smaller than min.insync.replicas "
            f"{leads.min_isr}, so nothing is committed."
        )
    holders = [f for f in leads.followers if f.counts and f.leo < leader.leo]
    holders.sort(key=lambda f: (f.leo, f.broker))
    for number, follower in enumerate(holders):
        held = f"HW is held at {leader.hw:,}, and {records}: " if number == 0 and not said else ""
        said.append(held + _holder(detail, view, follower))
    if not said:
        said.append(
            f"HW is {leader.hw:,}, and LEO is {leader.leo:,}: all replicas that HW waits for have all records, and HW advances with their next fetch."
        )
    return [*said, *_outsiders(detail, left)]


def _holder(detail: PartitionDetail, view: ClusterView, follower: FollowerState) -> str:
    """Describe a replica that the high watermark is waiting for: its position, its last fetch, and the time at which it will leave the ISR."""
    leads = detail.leads
    assert leads is not None
    name = f"b{follower.broker}"
    if follower.leo < 0:
        words = f"{name} has not yet fetched from this leader"
    else:
        words = f"{name} has the records up to {follower.leo:,}, and last fetched {ago(follower.fetched_us)} ago"
    if leads.pending and follower.broker in leads.isr and follower.broker not in leads.proposed:
        asks = "is removing it from the ISR in ZooKeeper" if leads.writes_isr else "has asked the controller to remove it from the ISR"
        return f"{words}; b{leads.broker} {asks}."
    if follower.broker not in leads.isr:
        joins = " and is about to join" if follower.broker in leads.maximal_isr else ""
        return f"{words}; HW waits for it although it is outside the ISR{joins}."
    since = follower.fetched_us if leads.by_fetch else follower.caught_up_us
    if since < 0:
        return words + "."
    first = max(0, leads.lag_max_us - since)
    words += f"; leaves the ISR in {_span(first, first + leads.check_period_us)}"
    if leads.next_check_us >= 0:
        period = max(1, leads.check_period_us)
        rounds = max(0, -(-(first + 1 - leads.next_check_us) // period))
        at = leads.next_check_us + rounds * period
        words += f": b{leads.broker} removes it in {ago(at)}, at {format_clock(detail.now + at)}, because isr-expiration runs every {ago(period)}"
    broker = next((b for b in view.brokers if b.id == follower.broker), None)
    if broker is not None and not broker.fenced and broker.silent_us > 3_000_000 and broker.state is not BrokerState.RUNNING:
        left = max(0, detail.session_us - broker.silent_us)
        words += f"; or earlier, when its session expires in {ago(left)} (silent for {ago(broker.silent_us)} of {ago(detail.session_us)})"
    return words + "."


def _span(first: int, last: int) -> str:
    """Format a range of durations, for example `6.8–11.8 s`."""
    return f"{first / 1_000_000:.1f}–{last / 1_000_000:.1f} s"


def _gone(detail: PartitionDetail, left: Mapping[int, str]) -> list[str]:
    """For a partition without a serving leader, return when and why replicas left the ISR."""
    return [f"b{replica.broker} {left[replica.broker]}." for replica in detail.view.replica_views if left.get(replica.broker)]


def _outsiders(detail: PartitionDetail, left: Mapping[int, str]) -> list[str]:
    """Explain why replicas are outside the ISR, and how many records each of them needs before it can rejoin."""
    p, leads = detail.view, detail.leads
    assert leads is not None
    leader = p.replica_on(p.leader)
    said = []
    for replica in p.replica_views:
        if replica.in_isr or replica.broker == p.leader:
            continue
        follower = leads.follower(replica.broker)
        goal = max(leader.hw, leads.epoch_start)
        why = f"; it {left[replica.broker]}" if left.get(replica.broker) else ""
        if not replica.alive:
            said.append(f"b{replica.broker} is outside the ISR and is not running{why}.")
        elif follower is None or follower.leo < 0:
            said.append(f"b{replica.broker} is outside the ISR and has not yet fetched from this leader{why}.")
        elif follower.leo < goal:
            said.append(f"b{replica.broker} is outside the ISR: it needs {goal - follower.leo:,} more records to reach LEO {goal:,}{why}.")
        else:
            said.append(f"b{replica.broker} is outside the ISR, but has reached HW {leader.hw:,}: its next fetch can bring it back{why}.")
    return said


def _who_could(detail: PartitionDetail) -> str:
    """Describe the replica that the controller could elect now."""
    if not detail.eligible:
        return "The controller cannot elect any replica now."
    broker, word = detail.eligible[0]
    lacks = f"; records that b{broker} lacks would be lost" if word == "unclean" else ""
    return f"The controller could elect b{broker} ({word}){lacks}."


# --- the page ------------------------------------------------------------------------------------------------------


def paint_partition_page(
    detail: PartitionDetail,
    view: ClusterView,
    paint: Palette,
    width: int,
    broker: int | None,
    left: Mapping[int, str] = _NOBODY,
    unclean: str = "",
) -> list[Strip]:
    """Return all lines of the page. `broker` is the selected broker. `left` and `unclean` are the same as in `high_watermark_reasons`."""
    p = detail.view
    glyph, word, style = partition_status(p, paint)
    head = Row().add(f" {p.tp}  ", paint.partition).add(f"{glyph} {word}", style).add("  leader ", paint.muted)
    head.add("none" if p.offline else f"b{p.leader}", paint.bad if p.offline else paint.leader)
    head.add(f"  leader epoch {p.leader_epoch}, partition epoch {p.partition_epoch}", paint.muted)
    if p.recovering:
        head.add("  RECOVERING", paint.warn)
    lines = [head.strip(width)]
    for sentence in high_watermark_reasons(detail, view, left, unclean):
        for number, line in enumerate(wrap(sentence, width - 4)):
            lines.append(Row().add(" → " if number == 0 else "   ", paint.key).join(colored(line, paint, paint.text)).strip(width))
    lines += _replicas(detail, paint, width, broker)
    lines += _sets(detail, paint, width)
    lines.append(rule("Logs by leader epoch", "", width, paint.title, paint.faint, paint.muted))
    lines += paint_logs(detail, paint, width)
    lines += _waiting(detail, paint, width)
    lines += _disks(detail, paint, width, broker)
    lines.append(_account(detail, paint, width))
    return lines


def _replicas(detail: PartitionDetail, paint: Palette, width: int, broker: int | None) -> list[Strip]:
    p, leads = detail.view, detail.leads
    columns = (
        Column("replica"), Column("role"), Column("LEO", right=True), Column("HW", right=True), Column("start", right=True, rank=2),
        Column("fetched", right=True, rank=1), Column("caught up", right=True), Column("epoch:start", rest=True, least=14, rank=3),
    )  # fmt: skip
    longest = max((replica.leo for replica in p.replica_views), default=0)
    rows: list[list[Cell]] = []
    selected = -1
    for number, replica in enumerate(p.replica_views):
        if replica.broker == broker:
            selected = number
        marks, style = replica_marks(p, replica, paint)
        seen = None if leads is None else leads.follower(replica.broker)
        live = paint.number if replica.alive else paint.muted
        late = leads is not None and seen is not None and seen.caught_up_us > leads.lag_max_us // 2
        rows.append(
            [
                [(marks, style), (f"b{replica.broker}", paint.broker)],
                (_role(replica, p.leader), paint.text if replica.alive else paint.muted),
                (f"{replica.leo:,}", paint.warn if replica.alive and replica.leo < longest else live),
                (f"{replica.hw:,}", paint.committed if replica.alive else paint.muted),
                (f"{replica.log_start:,}", paint.muted),
                ("leads" if replica.broker == p.leader else "?" if seen is None else ago(seen.fetched_us), paint.muted),
                (
                    "·" if replica.broker == p.leader else "?" if seen is None else ago(seen.caught_up_us),
                    paint.warn if late else paint.muted,
                ),
                (" ".join(f"{epoch}:{start}" for epoch, start in replica.epochs[-8:]) or "none", paint.muted),
            ]
        )
    return paint_table(columns, rows, paint, width, selected=selected)


def _role(replica: ReplicaView, leader: int) -> str:
    """Return the state of a replica in words."""
    if not replica.dir_online:
        return f"dir {replica.dir} failed"
    if not replica.alive:
        return "no process"
    if replica.role == "leader":
        return "leads" if replica.broker == leader else f"considers itself leader, e{replica.believes_epoch}"
    if replica.believes_leader != leader:
        return "follows no leader" if replica.believes_leader < 0 else f"follows b{replica.believes_leader}, e{replica.believes_epoch}"
    return replica.fetch_state


def _sets(detail: PartitionDetail, paint: Palette, width: int) -> list[Strip]:
    """Paint the lists of replicas, on as many lines as necessary: all replicas, the ISR, the maximal ISR, the ELR, and the electable
    replicas.
    """
    p, leads = detail.view, detail.leads
    items: list[list[tuple[str, Style]]] = [
        [("replicas ", paint.muted), (ids(p.replicas), paint.text)],
        [
            ("ISR ", paint.muted),
            (ids(p.isr), paint.warn if described_under_replicated(p) else paint.text),
            (f" min {p.min_isr}", paint.bad if is_under_min_isr(p, p.min_isr) else paint.muted),
        ],
    ]
    if leads is not None and (leads.pending or leads.maximal_isr != leads.isr):
        items.append([("maximal ISR ", paint.muted), (ids(leads.maximal_isr), paint.warn)])
        if leads.pending:
            items.append(
                [
                    (f"{leads.pending} to ", paint.muted),
                    (ids(leads.proposed), paint.warn),
                    (" is on its way to ZooKeeper" if leads.writes_isr else " is pending at the controller", paint.muted),
                ]
            )
    if p.elr or p.last_known_elr:
        items.append([("ELR ", paint.muted), (ids(p.elr), paint.text), (" last known ", paint.muted), (ids(p.last_known_elr), paint.text)])
    if p.adding or p.removing:
        items.append([("adding ", paint.muted), (ids(p.adding), paint.warn), (" removing ", paint.muted), (ids(p.removing), paint.warn)])
    after: list[tuple[str, Style]] = [("if the leader fails: " if not p.offline else "can lead: ", paint.muted)]
    if not detail.eligible:
        after.append(("no replica can lead", paint.bad))
    for number, (broker, word) in enumerate(detail.eligible):
        style = paint.bad if word == "unclean" else paint.broker
        after += [(", " if number else "", paint.muted), (f"b{broker}", style), (f" ({word})", paint.muted)]
    items.append(after)
    lines: list[Strip] = []
    row = Row().add(" ", paint.text)
    for item in items:
        length = sum(len(text) for text, _ in item)
        if row.width > 1:
            if row.width + 3 + length > width:
                lines.append(row.strip(width))
                row = Row().add(" ", paint.text)
            else:
                row.add(" │ ", paint.faint)
        row.join(item)
    return [*lines, row.strip(width)]


def _waiting(detail: PartitionDetail, paint: Palette, width: int) -> list[Strip]:
    """Paint the purgatory: writes that wait for the high watermark, and fetches that wait for new records."""
    leads = detail.leads
    if leads is None:
        return []
    parked = [f for f in leads.followers if f.waits_us >= 0]
    writes = "1 acks=all write waits" if leads.waiting_total == 1 else f"{leads.waiting_total:,} acks=all writes wait"
    note = f"{writes}, {len(parked)} {'fetch' if len(parked) == 1 else 'fetches'}"
    lines = [rule("Purgatory", note, width, paint.title, paint.faint, paint.muted)]
    for write in leads.waiting[:MOST_WRITES]:
        row = Row().add(f" {write.producer} ", paint.broker).add(f"{write.records:,} from {write.base:,}", paint.number)
        row.add(" until HW ", paint.muted).add(f"{write.required:,}", paint.committed)
        names = " ".join(f"b{broker}" for broker in write.waits_for)
        row.add("  waits for ", paint.muted).add(names or "a large enough ISR", paint.broker if names else paint.bad)
        row.add(f"  times out in {ago(write.expires_us)}", paint.muted)
        lines.append(row.strip(width))
    if leads.waiting_total > MOST_WRITES:
        lines.append(Row().add(f" and {leads.waiting_total - MOST_WRITES:,} more writes wait", paint.muted).strip(width))
    if parked:
        row = Row().add(" fetches: ", paint.muted)
        for follower in parked:
            row.add(f"b{follower.broker}", paint.broker).add(
                f" from {follower.leo:,}, waits at most {ago(follower.waits_us)}   ", paint.muted
            )
        lines.append(row.strip(width))
    return lines


def _disks(detail: PartitionDetail, paint: Palette, width: int, broker: int | None) -> list[Strip]:
    """Paint what each replica has on disk: the flushed offset, the checkpoint files, and the segments."""
    columns = (
        Column("replica"), Column("dir", rank=5), Column("flushed to", right=True), Column("HW file", right=True), Column("recovery file", right=True, rank=2),
        Column("start file", right=True, rank=4), Column("size", right=True, rank=1), Column("segments from", rest=True, least=16, rank=3),
    )  # fmt: skip
    rows: list[list[Cell]] = []
    selected = -1
    for number, disk in enumerate(detail.replicas):
        if disk.broker == broker:
            selected = number
        replica = detail.view.replica_on(disk.broker)

        def file(offset: int) -> Cell:
            return ("-" if offset < 0 else f"{offset:,}", paint.muted if offset < 0 else paint.number)

        bases = [f"{segment.base:,}" for segment in disk.segments[-6:]]
        more = f"{len(disk.segments)}: " + ("… " if len(disk.segments) > 6 else "") + " ".join(bases) if bases else "none"
        at_risk = replica.leo - disk.recovery_point
        rows.append(
            [
                (f"b{disk.broker}", paint.broker),
                (f"{replica.dir}" if replica.dir_online else f"{replica.dir} failed", paint.muted if replica.dir_online else paint.bad),
                [(f"{disk.recovery_point:,}", paint.number), (f" +{at_risk:,} in memory" if at_risk > 0 else "", paint.warn)],
                file(disk.checkpointed_hw),
                file(disk.checkpointed_recovery_point),
                file(disk.checkpointed_log_start),
                (size_word(disk.bytes), paint.muted),
                (more, paint.muted),
            ]
        )
    return [
        rule("Disks and checkpoint files", "", width, paint.title, paint.faint, paint.muted),
        *paint_table(columns, rows, paint, width, selected=selected, focused=False),
    ]


def _account(detail: PartitionDetail, paint: Palette, width: int) -> Strip:
    p = detail.view
    row = Row().add(" ", paint.text)
    for label, number, alarm in (
        ("accepted", p.accepted, False), ("acked", p.acked, False), ("committed", p.committed, False), ("exposed", p.exposed, True),
        ("lost", p.lost, True), ("duplicated", p.duplicated, True), ("diverged", p.diverged, True),
    ):  # fmt: skip
        if number or not alarm or width >= 100:
            words = lost_words(p) if label == "lost" else f"{number:,}"
            row.add(f"{label} ", paint.muted).add(words, paint.bad if alarm and number else paint.number).add("  ", paint.text)
    return row.strip(width)


class PartitionPage(Page):
    """The page with a partition.

    The keys ↑ and ↓ select another partition, in the order of the overview. The keys PgUp and PgDn scroll the page. Enter shows the segment files
    of the selected broker's replica.
    """

    name: ClassVar[str] = "partition"

    def lines(self, width: int, height: int) -> list[Strip]:
        """Return the lines of the page."""
        screen = self.screen
        tp = screen.selection.partition
        if tp is None:
            return [Row().add(" There are no partitions.", self.paint.muted).strip(width)]
        detail = screen.session.reports.partition_detail(tp)
        left, unclean = screen.isr_reasons.of(detail.view, screen.session.history.event_buffer), screen.unclean_words(detail.view)
        return self.window(paint_partition_page(detail, screen.view, self.paint, width, screen.selection.broker, left, unclean), height)

    def move(self, key: str) -> bool:
        """Select another partition, or scroll."""
        if self.scroll(key):
            return True
        if key not in ("up", "down"):
            return False
        order = [p.tp for p in in_order(self.screen.view, self.screen.selection.worst_first)]
        if self.screen.selection.partition in order:
            at = order.index(self.screen.selection.partition) + (1 if key == "down" else -1)
            self.screen.selection.choose(partition=order[max(0, min(len(order) - 1, at))])
            self.top = 0
        return True

    def enter(self) -> bool:
        """Ask for an offset or a time, and show the segment files of the selected broker's replica with the steps of the lookup."""
        screen = self.screen
        tp = screen.selection.partition
        if tp is None:
            return True
        view = screen.session.reports.partition_detail(tp).view
        chosen = screen.selection.broker
        broker = chosen if chosen in view.replicas else view.leader if view.leader in view.replicas else view.replicas[0]

        def wrong(text: str) -> str | None:
            try:
                lookup_target(text)
            except ValueError as refusal:
                return str(refusal)
            return None

        def show(text: str) -> None:
            report = screen.session.reports.segment_report(tp, broker, *lookup_target(text))
            if report is None:
                screen.prompts.say(f"b{broker} has no replica of {tp}", refused=True)
            else:
                paint = self.paint
                screen.prompts.show_details(f"Segments of {tp} on b{broker}", lambda width: paint_segments(report, paint, width))

        about = "Enter the offset or the virtual time to look up, for example 1234 or 4s. To list only the files, leave the line empty."
        screen.prompts.ask_text(f"Segments of {tp} on b{broker}", about, "", wrong, show)
        return True
