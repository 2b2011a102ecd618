"""The details of the selection: a partition with all its replicas, a broker, or an event with its rule and its causes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from textual.strip import Strip

from core.kafka.broker.broker_state import BrokerState
from core.kafka.events import KINDS, EventTuple
from core.kafka.health import PartitionStatus, is_under_min_isr
from core.kafka.ids import broker_address
from core.lab.act_sentences import sentence
from core.lab.views.broker_view import BUSY, BrokerView, NetworkUse
from core.lab.views.cluster_view import ClusterView
from core.lab.views.partition_view import PartitionView, ReplicaView
from core.sim.events import first_cause, kind_of, seq_of, time_of
from core.sim.units import SECOND, format_clock, format_duration
from scenarios.releases import release_named
from tui.analysis.per_state_cache import cached_per_state
from tui.panels.brokers import links_of
from tui.panels.cluster_totals import lost_words
from tui.panels.events import colored, glyph_of
from tui.panels.lines import Lines
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, blank, clip, headline, in_a_sentence, rule, wrap
from tui.rendering.states import broker_state, partition_status, registration, replica_marks

if TYPE_CHECKING:
    from core.lab.reports.network_report import CatchUp

MOST_HOLDERS: Final = 3
"""The maximum number of replicas that are named individually if they hold a high watermark back."""

SHORT_QUEUE: Final = 5
"""What passes a network interface in this fraction of a second is not worth mentioning while it waits."""

_NOBODY: Final[Mapping[int, str]] = {}

COMPACT: Final = 2
"""The maximum height, in lines, of a compact inspector, in which the first line is also the headline."""


def ids(members: tuple[int, ...]) -> str:
    """Format broker ids, for example `[1,2,3]`."""
    return "[" + ",".join(map(str, members)) + "]"


def not_served(p: PartitionView, view: ClusterView) -> str:
    """Return a sentence that explains why the elected leader is not serving clients."""
    leads = next((broker for broker in view.brokers if broker.id == p.leader), None)
    name, replica = f"b{p.leader}", p.replica_on(p.leader)
    if leads is None or not replica.alive:
        return f"{name} is not running, but there is no new leader yet."
    if leads.state is BrokerState.PAUSED:
        return f"{name} is paused, but there is no new leader yet."
    if replica.role != "leader":
        return f"{name} is elected but is not serving clients: it does not know about its election yet, or its log directory has failed."
    return f"{name} is the leader, but a client of the topic cannot reach it."


def all_committed(p: PartitionView, view: ClusterView) -> str:
    """Describe a partition whose leader's high watermark has reached the end of its log."""
    if p.lost:
        whole = f"All records on b{p.leader} are committed, but other records were lost: {lost_words(p)}."
    else:
        whole = "All records are committed." if p.replica_on(p.leader).leo else "The log is empty."
    if p.status is PartitionStatus.UNDER_MIN_ISR:
        return f"Writes with acks=all are refused: the ISR {ids(p.isr)} is smaller than min.insync.replicas {p.min_isr}. {whole}"
    if p.not_fetching:
        names = " and ".join(f"b{broker}" for broker in p.not_fetching)
        return (
            f"{names} cannot fetch but {'is' if len(p.not_fetching) == 1 else 'are'} in the ISR, so the next acks=all write waits. {whole}"
        )
    if p.status is PartitionStatus.STALLED:
        delay = view.broker(p.leader).disk_delay_us
        takes = f" takes {format_duration(delay)} per write" if delay else " still has writes to complete"
        return f"Further writes wait: b{p.leader}'s disk{takes}. {whole}"
    return whole


def high_watermark_sentence(p: PartitionView, view: ClusterView) -> str:
    """Return a sentence that explains the position of a partition's high watermark."""
    if p.offline:
        return f"No leader. The partition is waiting for a live member of the ISR {ids(p.isr)}" + (
            f" or the ELR {ids(p.elr)}." if p.elr else "."
        )
    leader = p.replica_on(p.leader)
    if p.status is PartitionStatus.LEADER_UNAVAILABLE or not leader.alive:
        return not_served(p, view)
    if leader.leo == leader.hw:
        return all_committed(p, view)
    waiting = leader.leo - leader.hw
    records = "1 record waits" if waiting == 1 else f"{waiting:,} records wait"
    if is_under_min_isr(p, p.min_isr) and release_named(view.release).strict_min_isr:
        return f"The ISR {ids(p.isr)} is smaller than min.insync.replicas {p.min_isr}, so HW is held at {leader.hw}, and {records}."
    if p.slowest_replicas in ((p.leader,), ()):
        return f"HW is {leader.hw}, and {records} for the followers' next fetch."
    return f"HW is held at {leader.hw} by {_holders(p)}: {records}."


def last_stable_offset_sentence(p: PartitionView) -> str:
    """Return a sentence about the last stable offset if transactions keep it below the high watermark, otherwise an empty string."""
    if p.held_back_at is None:
        return ""
    hidden = p.committed - p.held_back_at
    records = "1 record" if hidden == 1 else f"{hidden:,} records"
    transaction = "a transaction that no coordinator will end" if p.status is PartitionStatus.READS_HELD else "a transaction"
    return f"LSO is held at {p.held_back_at} by {transaction}: read_committed consumers do not see {records} (for details, press 9)."


def _holders(p: PartitionView) -> str:
    """Return the replicas that hold a partition's high watermark back.

    If many replicas hold the high watermark back, return only the one that has been behind the longest, and the number of the others.
    """
    ages = {
        replica.broker: replica.caught_up_us // 100_000 * 100_000 if replica.caught_up_us > SECOND else 0 for replica in p.replica_views
    }
    holders = sorted(p.slowest_replicas, key=lambda broker: -ages[broker])
    first, *others = holders
    if not others:
        return f"b{first}" + (f", last caught up {format_duration(ages[first])} ago" if ages[first] else "")
    if len(holders) > MOST_HOLDERS:
        return f"{_holder(first, ages)} and {len(others)} others"
    return in_a_sentence([_holder(broker, ages) for broker in holders])


def _holder(broker: int, ages: Mapping[int, int]) -> str:
    return f"b{broker}" + (f" (last caught up {format_duration(ages[broker])} ago)" if ages[broker] else "")


def paint_partition(
    p: PartitionView,
    view: ClusterView,
    paint: Palette,
    width: int,
    rows: int = 0,
    *,
    left: Mapping[int, str] = _NOBODY,
    unclean: str = "",
) -> list[Strip]:
    """Paint a partition: its state, the explanation of its HW, and each replica.

    Args:
        p, view, paint, width: the partition, the view of the cluster, the palette, and the width of the panel in cells.
        rows: the number of lines that will be visible, 0 for all; if there are too few lines, some replicas are left out.
        left: by broker, when and why a replica outside the ISR left the ISR.
        unclean: the outcome of an unclean election, as a sentence; empty if there is none.
    """
    glyph, word, style = partition_status(p, paint)
    lines = [
        Row()
        .add(f" {p.tp}  ", paint.partition)
        .add(f"{glyph} {word}", style)
        .add("  leader ", paint.muted)
        .add("none" if p.offline else f"b{p.leader}", paint.leader)
        .add(f"  leader epoch {p.leader_epoch}, partition epoch {p.partition_epoch}", paint.muted)
        .strip(width),
    ]
    gone = [f"b{broker} {why}." for broker, why in left.items() if why]
    said = " ".join(filter(None, (high_watermark_sentence(p, view), last_stable_offset_sentence(p), unclean)))
    if rows == 1 and unclean:
        said = f"No leader. {unclean}"
    elif rows == 1 and gone and p.status.served and not p.lost:
        said = " ".join(gone)  # the only problem is that replicas are missing, so the single line explains why
    sentences = wrap(said, width - 2)
    room = rows if rows < COMPACT else rows - 1  # in a compact panel, the first line is also the headline
    if 0 < room < len(sentences):
        sentences[room - 1 :] = [clip(f"{sentences[room - 1]} {sentences[room]}", width - 2)]
    for line in sentences:
        lines.append(Row().add(" ", paint.text).join(colored(line, paint, paint.text)).strip(width))
    before = len(lines)
    digits = max(5, *(len(f"{replica.leo:,}") for replica in p.replica_views))
    head = "LEO".rjust(digits) + "  " + "HW".rjust(digits) + "  " + "lag".rjust(7) + "  caught up  epochs@start"
    name = max(3, *(len(str(replica.broker)) + 1 for replica in p.replica_views))
    lines.append(Row().add(" " * (3 + name) + head, paint.muted).strip(width))
    end = next(
        (replica.leo for replica in p.replica_views if replica.broker == p.leader),
        max((replica.leo for replica in p.replica_views), default=0),
    )
    lines += [_replica(p, replica, paint, name, digits, end, width) for replica in p.replica_views]
    if 0 < rows < len(lines):
        del lines[before:]
    second = Row().add(" ISR ", paint.muted).add(ids(p.isr), paint.text).add(" of ", paint.muted).add(ids(p.replicas), paint.text)
    second.add(f"  min {p.min_isr}", paint.muted)
    if p.elr or p.last_known_elr:
        second.add("  ELR ", paint.muted).add(ids(p.elr or p.last_known_elr), paint.text)
    if p.recovering:
        second.add("  RECOVERING", paint.warn)
    lines.append(second.strip(width))
    for why in gone:
        lines += [
            Row().add(" ", paint.text).join(colored(line, paint, paint.muted)).strip(width) for line in wrap("out: " + why, width - 2)
        ]
    third = Row().add(" ", paint.text)
    for label, number, alarm in (
        ("accepted", p.accepted, False),
        ("acked", p.acked, False),
        ("committed", p.committed, False),
        ("lost", p.lost, True),
        ("duplicated", p.duplicated, True),
        ("diverged", p.diverged, True),
    ):
        if alarm and not number and width < 90:
            continue
        words = lost_words(p) if label == "lost" else f"{number:,}"
        third.add(f"{label} ", paint.muted).add(words, paint.bad if alarm and number else paint.number).add("  ", paint.text)
    lines.append(third.strip(width))
    return lines


def _replica(p: PartitionView, replica: ReplicaView, paint: Palette, name: int, digits: int, end: int, width: int) -> Strip:
    marks, style = replica_marks(p, replica, paint)
    ahead = replica.leo - end  # relative to the leader's LEO, or to the largest LEO if there is no leader
    if replica.broker == p.leader:
        ago = "leads"
    elif replica.caught_up_us < 0:
        ago = "never"
    elif replica.caught_up_us < 1_000_000:
        ago = "now"
    else:
        ago = f"{replica.caught_up_us / 1_000_000:.1f}s ago"
    row = Row().add(f" {marks}", style).add(f"{'b' + str(replica.broker):<{name}}", paint.broker)
    row.add(f"{replica.leo:,}".rjust(digits), paint.number if replica.alive else paint.muted).add("  ", paint.text)
    row.add(f"{replica.hw:,}".rjust(digits), paint.committed if replica.alive else paint.muted).add("  ", paint.text)
    row.add((f"{ahead:+,}" if ahead else "·").rjust(7), paint.warn if ahead else paint.faint)
    row.add(f"  {ago:<9}  ", paint.muted)
    row.add(" ".join(f"{epoch}@{start}" for epoch, start in replica.epochs[-4:]), paint.muted)
    believes = ""
    if not replica.dir_online:
        believes = f"log directory {replica.dir} has failed"
    elif replica.moving_to:
        believes = f"moving to log directory {replica.moving_to}, {replica.future_leo:,} copied"
    elif replica.alive and replica.believes_leader != p.leader:
        believes = (
            "follows no leader"
            if replica.believes_leader < 0
            else f"considers b{replica.believes_leader} the leader (epoch {replica.believes_epoch})"
        )
    elif replica.fetch_state in ("truncating", "delayed", "failed"):
        believes = replica.fetch_state
    if believes:
        row.add("  " + believes, paint.warn)
    return row.strip(width)


def amount(size: int) -> str:
    """Format a number of bytes in the units of bandwidths, for example `12 MB`."""
    units = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
    unit, word = next(((unit, word) for unit, word in units if 2_000 * size >= 1_999 * unit), (1, "B"))  # 999.6 kB are 1 MB
    return f"{size / unit:.3g} {word}"


def network_sentence(use: NetworkUse) -> str:
    """Return a sentence that says how much of its bandwidth a broker uses, and what waits for the interface."""
    said = f"network {amount(use.rate)}/s: sends at {use.out_percent} %, receives at {use.in_percent} %"
    for waiting, to in ((use.to_send, "be sent"), (use.to_receive, "be received")):
        if waiting * SHORT_QUEUE >= use.rate:
            said += f"; {amount(waiting)} wait to {to}"
    return said


def catch_up_sentence(b: int, catch_up: CatchUp) -> str:
    """Return a sentence that says who waits for a broker's interface, how much is missing, and how long it will take."""
    others = in_a_sentence([f"b{other}" for other in catch_up.others[:MOST_HOLDERS]])
    if len(catch_up.others) > MOST_HOLDERS:
        others = f"{len(catch_up.others)} brokers"
    copies = "1 partition" if catch_up.partitions == 1 else f"{catch_up.partitions:,} partitions"
    whose = f"{others} catch{'' if len(catch_up.others) > 1 else 'es'} up on" if catch_up.outgoing else f"b{b} catches up from {others} on"
    takes = format_duration(max(SECOND, (catch_up.takes + SECOND // 2) // SECOND * SECOND))
    ends = "no end, because new records come as fast" if catch_up.takes < 0 else f"about {takes} more"
    return f"{whose} {copies}: {amount(catch_up.behind)} behind, {ends}."


def paint_broker(b: BrokerView, view: ClusterView, paint: Palette, width: int, catch_ups: Sequence[CatchUp] = ()) -> list[Strip]:
    """Paint a broker: its process, registration, partitions, network interface, and links."""
    glyph, word, style = broker_state(b, paint)
    lines = [
        Row()
        .add(f" b{b.id}  ", paint.broker)
        .add(f"{glyph} {word}", style)
        .add(f"  {'broker ' if b.broker_epoch >= 0 else ''}{registration(b)}", paint.muted)
        .add(f"  log directory {', '.join(map(str, b.failed_dirs))} of {b.log_dirs} failed" if b.failed_dirs else "", paint.bad)
        .strip(width)
    ]
    for catch_up in catch_ups:  # they come first, so that they are also shown where there is little room
        for line in wrap(catch_up_sentence(b.id, catch_up), width - 2):
            lines.append(Row().add(" ", paint.text).join(colored(line, paint, paint.text)).strip(width))
    if b.network is not None and catch_ups:
        lines += _network(b.network, paint, width)
    led, out = cached_per_state(
        view,
        ("of", b.id),
        lambda: (
            [p.tp for p in view.partitions if p.leader == b.id],
            [p.tp for p in view.partitions if b.id in p.replicas and b.id not in p.isr],
        ),
    )
    lines.append(
        Row()
        .add(" leads ", paint.muted)
        .add(str(b.leaders), paint.number)
        .add(" of ", paint.muted)
        .add(str(b.replicas), paint.number)
        .add(" replicas, and is outside the ISR of ", paint.muted)
        .add(str(len(out)), paint.warn if out else paint.number)
        .strip(width)
    )
    newest = max((other.metadata_offset for other in view.brokers), default=0)
    text = f"metadata at offset {b.metadata_offset}"
    text += f", {newest - b.metadata_offset} behind the newest" if b.metadata_offset < newest else ", up to date"
    if b.state is not BrokerState.STOPPED and b.silent_us:
        text += f"; last heartbeat {format_duration(b.silent_us // 1_000 * 1_000)} ago"
    for line in wrap(text, width - 2):
        lines.append(Row().add(" " + line, paint.muted).strip(width))
    if b.network is not None and not catch_ups:
        lines += _network(b.network, paint, width)
    cut = links_of(view, broker_address(b.id))
    lines.append(Row().add(" faults: " + ", ".join(cut) if cut else " all links work", paint.warn if cut else paint.muted).strip(width))
    for label, which in (("leads", led), ("not in sync for", out)):
        if which:
            for line in wrap(f"{label} " + " ".join(map(str, which[:60])), width - 2):
                lines.append(Row().add(" ", paint.text).join(colored(line, paint, paint.muted)).strip(width))
    return lines


def _network(use: NetworkUse, paint: Palette, width: int) -> list[Strip]:
    style = paint.warn if max(use.out_percent, use.in_percent) >= BUSY else paint.muted
    return [Row().add(" " + line, style).strip(width) for line in wrap(network_sentence(use), width - 2)]


def paint_event_detail(event: EventTuple, find: Callable[[int], EventTuple | None], paint: Palette, width: int) -> list[Strip]:
    """Paint an event: its sentence, the source of its rule, and up to eight causes that led to it."""
    lines: list[Strip] = []
    glyph, role = glyph_of(kind_of(event))
    head = (
        Row().add(f" {format_clock(time_of(event))} ", paint.muted).add(f"{glyph} ", getattr(paint, role)).add(kind_of(event), paint.strong)
    )
    lines.append(head.add(f"  event {seq_of(event)}", paint.muted).strip(width))
    for line in wrap(sentence(event), width - 2):
        lines.append(Row().add(" ", paint.text).join(colored(line, paint, paint.text)).strip(width))
    source = KINDS[kind_of(event)].source
    if source:
        lines.append(Row().add(" rule  ", paint.muted).add(source, paint.text).strip(width))
    seen = 0
    cause = first_cause(event)
    while cause and seen < 8:
        before = find(cause)
        if before is None:
            lines.append(Row().add(f" because of event {cause}, which is no longer in memory", paint.muted).strip(width))
            break
        glyph, role = glyph_of(kind_of(before))
        indent = 10
        parts = wrap(sentence(before), max(10, width - indent - 1))
        for number, line in enumerate(parts):
            row = Row().add(" because " if number == 0 else " " * 9, paint.muted)
            row.add(f"{glyph} " if number == 0 else "  ", getattr(paint, role))
            lines.append(row.join(colored(line, paint, paint.muted)).strip(width))
        cause = first_cause(before)
        seen += 1
    if not first_cause(event) and kind_of(event) != "act":
        lines.append(Row().add(" because a timer expired or the session started", paint.muted).strip(width))
    return lines


class Inspector(Lines):
    """The widget that shows the inspector."""

    def update(self, title: str, content: list[Strip], note: str = "") -> None:
        """Show lines below a headline. In a compact panel, the first line is the headline."""
        width, height = self.box
        if height <= COMPACT and content:
            lines = [headline(content[0], self.paint.faint), *content[1:]][:height]
        else:
            lines = [rule(title, note, width, self.paint.title, self.paint.faint, self.paint.muted), *content][:height]
        while len(lines) < height:
            lines.append(blank(width))
        self.show(lines)
