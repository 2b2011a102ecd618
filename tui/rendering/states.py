"""The glyph, word, and style for each state of a broker, a partition, or a replica. All panels use the definitions of this module."""

from __future__ import annotations

from typing import Final

from rich.style import Style

from core.kafka.broker.broker_state import BrokerState
from core.kafka.health import PartitionStatus
from core.lab.views.broker_view import BrokerView
from core.lab.views.partition_view import PartitionView, ReplicaView
from tui.rendering.palette import Palette

LEADER: Final = "★"
"""The glyph of the leader according to the controller."""
BELIEVES: Final = "☆"
"""The glyph of a replica that considers itself the leader, although the controller has elected another replica or none."""
IN_ISR: Final = "●"
"""The glyph of a live replica in the ISR."""
OUT: Final = "○"
"""The glyph of a live replica outside the ISR."""
DOWN_IN_ISR: Final = "⊗"
"""The glyph of a replica that is down but still in the ISR.

A replica that is down stays in the ISR until the controller notices the failure, or for as long as the replica is the ISR's last member.
"""
DOWN: Final = "✕"
"""The glyph of a replica that is down and outside the ISR."""

COMMITTED: Final = "▆"
"""The glyph for the part of a bar below the replica's own high watermark."""
HELD_BACK: Final = "▓"
"""The glyph for the part of the leader's bar between the last stable offset and the high watermark, while a transaction holds that offset
back.
"""
PENDING: Final = "▂"
"""The glyph for the part of a bar between the replica's high watermark and its LEO."""
MISSING: Final = "·"
"""The glyph in a bar for records that this replica lacks but the replica with the longest log has."""

LEGEND: Final = (
    f"{LEADER} leader  {IN_ISR} in ISR  {OUT} out  {DOWN} down ({DOWN_IN_ISR} still in ISR)  "
    f"{COMMITTED}{COMMITTED} committed {PENDING}{PENDING} not yet {MISSING}{MISSING} missing"
)
"""The meaning of the grid's glyphs."""

TRANSACTION_LEGEND: Final = (
    f"{LEADER} leader  {IN_ISR} in ISR  {OUT} out  {DOWN} down  "
    f"{COMMITTED}{COMMITTED} committed {HELD_BACK}{HELD_BACK} held by a transaction {PENDING}{PENDING} not yet"
)
"""The meaning of the grid's glyphs while a transaction holds back a partition's last stable offset."""

LEGENDS: Final = (
    LEGEND,
    f"{LEADER} leader {IN_ISR} ISR {OUT} out {DOWN} down {COMMITTED} committed {PENDING} not yet {MISSING} missing",
    f"{LEADER} leader {IN_ISR} ISR {OUT} out {DOWN} down {COMMITTED} committed",
)
"""The legend, followed by shorter versions for narrower screens."""


def broker_look(broker: BrokerView) -> tuple[str, str, str]:
    """Return the glyph, the word, and the role of a broker's state.

    The result depends on the state of the broker's process and on whether the broker is fenced.
    """
    match broker.state:
        case BrokerState.STOPPED:
            return DOWN, "stopped" if broker.fenced else "dead, not yet noticed", "bad"
        case BrokerState.PAUSED:
            return "‖", "paused, fenced" if broker.fenced else "paused", "warn"
        case BrokerState.STARTING:
            return "◌", "starting", "warn"
        case BrokerState.STOPPING:
            return "◌", "shutting down", "warn"
    if broker.fenced:
        return OUT, "fenced", "warn"
    return IN_ISR, "running", "good"


def broker_state(broker: BrokerView, paint: Palette) -> tuple[str, str, Style]:
    """Return the glyph, word, and style of a broker's state."""
    glyph, word, role = broker_look(broker)
    return glyph, word, getattr(paint, role)


def registration(broker: BrokerView) -> str:
    """Return the epoch of a broker, and the rack if the broker has one."""
    epoch = f"epoch {broker.broker_epoch}" if broker.broker_epoch >= 0 else "not registered"
    return epoch + (f"  rack {broker.rack}" if broker.rack else "")


def short_state(broker: BrokerView) -> str:
    """Return a broker's state in at most eight characters."""
    match broker.state:
        case BrokerState.STOPPED:
            return "stopped" if broker.fenced else "dead"
        case BrokerState.RUNNING:
            return "fenced" if broker.fenced else "up"
        case BrokerState.STOPPING:
            return "stopping"
    return broker.state.value


STATUS_LOOKS: Final = {
    PartitionStatus.OFFLINE: ("✖", "offline", "bad"),
    PartitionStatus.LEADER_UNAVAILABLE: ("⊘", "unserved", "bad"),
    PartitionStatus.UNDER_MIN_ISR: ("▼", "under min", "bad"),
    PartitionStatus.STALLED: ("‖", "stalled", "bad"),
    PartitionStatus.READS_HELD: ("◑", "reads held", "bad"),
    PartitionStatus.AT_MIN_ISR: ("▽", "at min", "warn"),
    PartitionStatus.UNDER_REPLICATED: ("△", "under-repl", "warn"),
    PartitionStatus.HEALTHY: ("✓", "healthy", "good"),
}
"""The glyph, word, and role for every state of a partition."""


def partition_status(partition: PartitionView, paint: Palette) -> tuple[str, str, Style]:
    """Return the glyph, word, and style of a partition's state. Divergence takes precedence over the partition's status."""
    if partition.diverged:
        return "≠", "diverged", paint.bad
    glyph, word, role = STATUS_LOOKS[partition.status]
    return glyph, word, getattr(paint, role)


def partition_words(p: PartitionView) -> str:
    """Return the words by which a search finds a partition: its name, state, leader, and brokers."""
    leader = "leaderless" if p.offline else f"leader-b{p.leader} b{p.leader}"
    wrong = " diverged" * bool(p.diverged) + " lost" * bool(p.lost)
    return f"{p.tp} {STATUS_LOOKS[p.status][1]}{wrong} {leader} " + " ".join(f"b{broker}" for broker in p.replicas)


def broker_words(broker: BrokerView, paint: Palette) -> str:
    """Return the words by which a search finds a broker: its name, state, and rack."""
    up = "up" if broker.up else "down"
    return f"b{broker.id} {broker.id} {up} {short_state(broker)} {broker_state(broker, paint)[1]} {broker.rack or ''}"


def replica_marks(partition: PartitionView, copy: ReplicaView, paint: Palette) -> tuple[str, Style]:
    """Return the two glyphs that mark a replica, and their style.

    The first glyph marks a leader, and the second shows whether the replica is alive and in the ISR.
    """
    if copy.broker == partition.leader:
        first, style = LEADER, paint.leader
    elif copy.alive and copy.role == "leader":
        first, style = BELIEVES, paint.warn
    else:
        first, style = " ", paint.good
    if copy.alive:
        second = IN_ISR if copy.in_isr else OUT
        if not copy.in_isr:
            style = paint.warn
    else:
        second = DOWN_IN_ISR if copy.in_isr else DOWN
        style = paint.bad
    return first + second, style
