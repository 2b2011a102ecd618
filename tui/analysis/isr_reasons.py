"""Reasons why a replica is outside the ISR, from the events that are still in memory."""

from __future__ import annotations

from typing import Final

from core.kafka.events import KINDS, NORMAL, EventTuple
from core.lab.history.event_buffer import EventBuffer, EventRing
from core.lab.views.partition_view import PartitionView
from core.sim.events import first_cause, kind_of, time_of
from core.sim.units import format_clock, format_duration

_CHANGED: Final = "partition-changed"
_PROPOSED: Final = ("isr-shrink-proposed", "isr-shrink-by-count")
_MOST_REMEMBERED: Final = 512
_MOST_CAUSES: Final = 4
_AT: Final = {
    kind: {name: 4 + at for at, name in enumerate(KINDS[kind].columns)}
    for kind in (_CHANGED, *_PROPOSED, "broker-fenced", "session-expired")
}


def _column(event: EventTuple, name: str) -> object:
    """Return the value of a named column in an event."""
    return event[_AT[kind_of(event)][name]]


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
    topic, number = p.tp
    left: EventTuple | None = None
    for index in range(ring.total - 1, ring.first - 1, -1):
        event = ring.at(index)
        if kind_of(event) == _CHANGED and event[4] == topic and event[5] == number:
            if broker in event[_AT[_CHANGED]["isr"]]:
                break
            left = event
        elif (
            left is not None
            and kind_of(event) in _PROPOSED
            and event[5] == topic
            and event[6] == number
            and broker in event[_AT[kind_of(event)]["out"]]
        ):
            return f"left {format_clock(time_of(left))}: {_proposal(event)}"
    else:
        if left is None or ring.first:
            return "left before the oldest event in memory" if ring.first else "was outside the ISR from the start"
        if broker in p.adding:
            return "is being added, and joins the ISR when it has caught up"
    if left is None:
        return ""
    return f"left {format_clock(time_of(left))}: {_by_the_controller(left, broker, event_buffer)}"


def _proposal(event: EventTuple) -> str:
    """Return the reason for an ISR shrink that the leader proposed."""
    if kind_of(event) == "isr-shrink-by-count":
        missing, limit = _column(event, "missing"), _column(event, "limit_records")
        return f"{missing:,} records behind (replica.lag.max.messages {limit:,})"
    lag, limit = int(str(_column(event, "lag_us"))), int(str(_column(event, "limit_us")))
    return f"not caught up for {_rounded(lag)} (replica.lag.time.max.ms {format_duration(limit)})"


def _by_the_controller(left: EventTuple, broker: int, event_buffer: EventBuffer) -> str:
    """Return the reason for an ISR change by the controller, taken from the causes of the event or from the event itself."""
    cause = first_cause(left)
    for _ in range(_MOST_CAUSES):
        event = event_buffer.find(cause) if cause else None
        if event is None:
            break
        if kind_of(event) in ("broker-fenced", "session-expired") and event[4] == broker:
            silent, limit = int(str(_column(event, "silent_us"))), int(str(_column(event, "limit_us")))
            setting = "broker.session.timeout.ms" if kind_of(event) == "broker-fenced" else "zookeeper.session.timeout.ms"
            if 0 < limit <= silent:
                return f"no heartbeat for {_rounded(silent)} ({setting} {format_duration(limit)})"
            if kind_of(event) == "session-expired":
                return "its ZooKeeper session ended"
        if (kind_of(event) == "shutdown-begun" and event[4] == broker) or (kind_of(event) == "act" and event[4] == "shutdown"):
            return "controlled shutdown"
        cause = first_cause(event)
    return str(_column(left, "reason"))


def _rounded(us: int) -> str:
    return format_duration(us // 100_000 * 100_000)
