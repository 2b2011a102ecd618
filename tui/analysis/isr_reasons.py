"""Reasons why a replica is outside the ISR, from the events that are still in memory."""

from __future__ import annotations

from typing import Final

from core.kafka.events import (
    NORMAL,
    Acted,
    BrokerFenced,
    IsrShrinkByCount,
    IsrShrinkProposed,
    PartitionChanged,
    SessionExpired,
    ShutdownBegun,
    decode,
)
from core.lab.history.event_buffer import EventBuffer, EventRing
from core.lab.views.partition_view import PartitionView
from core.sim.events import first_cause, time_of
from core.sim.units import format_clock, format_duration

_MOST_REMEMBERED: Final = 512
_MOST_CAUSES: Final = 4


class IsrReasons:
    """A cache of the reasons why replicas left the ISR. After each change to a partition, the events are searched only once."""

    def __init__(self) -> None:
        self._ring: EventRing | None = None
        self._known: dict[tuple[object, ...], str] = {}

    def of(self, p: PartitionView, event_buffer: EventBuffer) -> dict[int, str]:
        """For each replica outside the ISR, return when and why the replica left the ISR, by broker.

        For example: `left 00:11.633: no heartbeat for 9s (broker.session.timeout.ms 9s)`.
        """
        ring = event_buffer.ring(NORMAL)
        if ring is not self._ring or len(self._known) > _MOST_REMEMBERED:
            self._ring, self._known = ring, {}
        found: dict[int, str] = {}
        for broker in p.replicas:
            if broker in p.isr:
                continue
            key = (p.tp, broker, p.partition_epoch, p.leader_epoch)
            known = self._known.get(key)
            if known is None:
                known = self._known[key] = _reason(p, broker, event_buffer)
            found[broker] = known
        return found


def _reason(p: PartitionView, broker: int, event_buffer: EventBuffer) -> str:
    ring = event_buffer.ring(NORMAL)
    tp = p.tp
    left: PartitionChanged | None = None
    for index in range(ring.total - 1, ring.first - 1, -1):
        match decode(ring.at(index)):
            case PartitionChanged(topic=tp.topic, partition=tp.partition) as changed:
                if broker in changed.isr:
                    break
                left = changed
            case (
                IsrShrinkProposed(topic=tp.topic, partition=tp.partition)
                | IsrShrinkByCount(topic=tp.topic, partition=tp.partition) as proposed
            ) if left is not None and broker in proposed.out:
                return f"left {format_clock(time_of(left))}: {_proposal(proposed)}"
    else:
        if left is None or ring.first:
            return "left before the oldest event in memory" if ring.first else "was outside the ISR from the start"
        if broker in p.adding:
            return "is being added, and joins the ISR when it has caught up"
    if left is None:
        return ""
    return f"left {format_clock(time_of(left))}: {_by_the_controller(left, broker, event_buffer)}"


def _proposal(event: IsrShrinkProposed | IsrShrinkByCount) -> str:
    """Return the reason for an ISR shrink that the leader proposed."""
    if isinstance(event, IsrShrinkByCount):
        return f"{event.missing:,} records behind (replica.lag.max.messages {event.limit_records:,})"
    return f"not caught up for {_rounded(event.lag_us)} (replica.lag.time.max.ms {format_duration(event.limit_us)})"


def _by_the_controller(left: PartitionChanged, broker: int, event_buffer: EventBuffer) -> str:
    """Return the reason for an ISR change by the controller, taken from the causes of the event or from the event itself."""
    cause = first_cause(left)
    for _ in range(_MOST_CAUSES):
        event = event_buffer.find(cause) if cause else None
        if event is None:
            break
        match decode(event):
            case BrokerFenced(broker=number, silent_us=silent, limit_us=limit) if number == broker and 0 < limit <= silent:
                return f"no heartbeat for {_rounded(silent)} (broker.session.timeout.ms {format_duration(limit)})"
            case SessionExpired(broker=number, silent_us=silent, limit_us=limit) if number == broker:
                if 0 < limit <= silent:
                    return f"no heartbeat for {_rounded(silent)} (zookeeper.session.timeout.ms {format_duration(limit)})"
                return "its ZooKeeper session ended"
            case ShutdownBegun(broker=number) if number == broker:
                return "controlled shutdown"
            case Acted(act="shutdown"):
                return "controlled shutdown"
        cause = first_cause(event)
    return left.reason


def _rounded(us: int) -> str:
    return format_duration(us // 100_000 * 100_000)
