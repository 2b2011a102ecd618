"""The data of a swim-lane diagram: the node of each event, the node that sent the message that triggered the event, and a short label.

All data comes from events, which show the records that arrived, the offset of the next fetch, and changes in the high watermark. A fetch
that brings no new data has no event.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

import attrs

from core.kafka.events import DETAIL, KINDS, PARTITION_OF, Acted, EventTuple, decode
from core.kafka.ids import CONTROLLER, TopicPartition, broker_address
from core.lab.act_sentences import act_sentence
from core.lab.history.event_buffer import EventBuffer, EventRing
from core.sim.events import first_cause, kind_of
from core.sim.units import format_duration

CLIENTS: Final = "clients"
"""The name of the column for producers and consumers."""

MOST: Final = 4_000
"""The maximum number of steps that a lane keeps. When a lane has more steps, the oldest ones are dropped."""

_BROKER_OF: Final = {name: kind.reader("broker") for name, kind in KINDS.items() if "broker" in kind.columns}
"""The functions that read the broker of an event, by kind of event."""

_BROKER_KINDS: Final = frozenset(
    {
        "broker-stopped", "broker-started", "broker-paused", "broker-resumed", "broker-fenced", "broker-unfenced", "shutdown-begun",
        "fetcher-disconnected", "broker-joined", "broker-left", "broker-unregistered",
    }
)  # fmt: skip
_BY_CONTROLLER: Final = frozenset(
    {
        "partition-changed", "leader-elected", "partition-offline", "election-refused", "alter-partition-refused", "broker-fenced",
        "broker-unfenced", "broker-registered", "broker-unregistered", "broker-joined", "broker-left", "shutdown-begun", "topic-created",
    }
)  # fmt: skip
_BY_CLIENT: Final = frozenset(name for name, kind in KINDS.items() if next(iter(kind.columns), "") in ("producer", "consumer", "client"))
"""The kinds of events that a client records. Their first column is the client."""


@attrs.frozen
class LaneStep:
    """An event in the lane of `node`. If `source` is not empty, an arrow leads from `source` to `node`."""

    event: EventTuple
    node: str
    source: str
    label: str


def concerns(event: EventTuple, tp: TopicPartition, brokers: frozenset[int]) -> bool:
    """Return whether an event belongs to the lane of a partition.

    A lane contains the events of the partition, state changes of its brokers, link events, and acts.
    """
    kind = kind_of(event)
    if kind in PARTITION_OF:
        return PARTITION_OF[kind](event) == tp
    if kind in _BROKER_KINDS:
        return _BROKER_OF[kind](event) in brokers
    return kind == Acted.kind or kind.startswith("link-")


def node_of(event: EventTuple) -> str:
    """Return the name of the diagram's column in which an event appears, or an empty string if the event appears in none."""
    kind = kind_of(event)
    if kind in _BY_CONTROLLER:
        return CONTROLLER
    if kind in _BY_CLIENT:
        return CLIENTS
    return broker_address(_BROKER_OF[kind](event)) if kind in _BROKER_OF else ""


_FROM: Final = {
    "follower-append": "leader", "epoch-answered": "leader", "truncated": "leader", "fetch-failed": "leader", "follower-fetched": "follower",
    "consumed": "broker",
}  # fmt: skip
"""The column that contains the sender of the message, by kind of event. For other kinds, the sender is the node on which the event's cause
occurred."""


def step_of(event: EventTuple, find: Callable[[int], EventTuple | None], leading: str = "") -> LaneStep:
    """Convert an event to a `LaneStep`, which also names the sender of the message that triggered the event.

    Args:
        event: the event to convert.
        find: the function that returns an event by sequence number, or None.
        leading: the address of the leader at the time of the event.
    """
    node = node_of(event)
    source = ""
    if kind_of(event) in ("append", "append-refused", "duplicate-dropped"):
        source = CLIENTS
    elif kind_of(event) in _FROM:
        broker = getattr(decode(event), _FROM[kind_of(event)])
        source = "" if broker < 0 else broker_address(broker)
    elif kind_of(event) == "follower-high-watermark":
        source = leading
    elif first_cause(event):
        cause = find(first_cause(event))
        source = "" if cause is None else node_of(cause)
    return LaneStep(event, node, source if source != node else "", short_label(event))


def _run(start: int, end: int) -> str:
    return f"{start:,}" if end == start + 1 else f"{start:,}–{end - 1:,}"


def _ids(ids: tuple[int, ...]) -> str:
    return "[" + ",".join(map(str, ids)) + "]"


def short_label(event: EventTuple) -> str:
    """Return a label of a few words for an event."""
    kind = kind_of(event)
    made = _SHORT.get(kind)
    if made is not None:
        return str(made(decode(event)))
    return kind.replace("-", " ")


_SHORT: Final[dict[str, Callable[..., str]]] = {
    "act": lambda e: act_sentence(e.act, e.args),
    "append": lambda e: _run(e.from_offset, e.to_offset),
    "append-refused": lambda e: e.error,
    "follower-append": lambda e: _run(e.from_offset, e.to_offset),
    "follower-fetched": lambda e: f"fetch {e.new_offset:,}",
    "high-watermark": lambda e: f"HW {e.new_offset:,}",
    "follower-high-watermark": lambda e: f"HW {e.new_offset:,}",
    "produce-acked": lambda e: f"ack {_run(e.from_offset, e.to_offset)}",
    "produce-failed": lambda e: e.error,
    "produce-waiting": lambda e: f"no answer for {format_duration(e.waited_us)}",
    "produce-given-up": lambda e: f"gave up: {e.error}",
    "consumed": lambda e: f"read {_run(e.from_offset, e.to_offset)}",
    "consumer-reset": lambda e: f"reset to {e.to_offset:,}",
    "isr-shrink-proposed": lambda e: f"wants ISR {_ids(e.isr)}",
    "isr-shrink-by-count": lambda e: f"wants ISR {_ids(e.isr)}",
    "isr-expand-proposed": lambda e: f"wants ISR {_ids(e.isr)}",
    "isr-shrunk": lambda e: f"ISR {_ids(e.isr)}",
    "isr-expanded": lambda e: f"ISR {_ids(e.isr)}",
    "isr-change-failed": lambda e: e.error,
    "alter-partition-refused": lambda e: e.error,
    "partition-changed": lambda e: f"ISR {_ids(e.isr)} L{e.leader_epoch} P{e.partition_epoch}",
    "leader-elected": lambda e: f"new leader b{e.leader}, L{e.leader_epoch}",
    "partition-offline": lambda _: "no leader",
    "became-leader": lambda e: f"leads, L{e.leader_epoch}",
    "became-follower": lambda e: "follows nobody" if e.leader < 0 else f"follows b{e.leader}, L{e.leader_epoch}",
    "truncated": lambda e: f"cut to {e.from_offset:,}",
    "epoch-answered": lambda e: f"epoch {e.asked_epoch if e.epoch < 0 else e.epoch} ends "
        f"{'?' if e.end_offset < 0 else format(e.end_offset, ',')}",
    "fetch-failed": lambda e: e.error,
    "fetcher-disconnected": lambda e: f"no answer from b{e.leader}",
    "broker-stopped": lambda e: e.how,
    "broker-started": lambda e: "starts" if e.clean else "starts, unclean",
    "broker-fenced": lambda e: f"fences b{e.broker}",
    "broker-unfenced": lambda e: f"unfences b{e.broker}",
    "broker-unregistered": lambda e: f"unregisters b{e.broker}",
    "shutdown-begun": lambda e: f"b{e.broker} shuts down",
    "records-lost": lambda e: f"LOST {_run(e.from_offset, e.to_offset)}",
    "records-exposed": lambda e: f"EXPOSED {e.records:,}",
    "records-diverged": lambda e: f"DIVERGED {_run(e.from_offset, e.to_offset)}",
    "link-cut": lambda e: f"{e.src} → {e.dst} cut",
    "link-healed": lambda e: f"{e.src} → {e.dst} healed",
}  # fmt: skip


class Lane:
    """The steps of the message diagram for one partition, in event order. `update` adds new steps from the event buffer.

    Attributes:
        steps: the newest steps, at most `MOST`.
        level: the minimum level of events in the lane.
    """

    def __init__(self, tp: TopicPartition, brokers: frozenset[int], level: int = DETAIL) -> None:
        self.tp = tp
        self.brokers = brokers
        self.level = level
        self.steps: deque[LaneStep] = deque(maxlen=MOST)
        self._ring: EventRing | None = None
        self._next = 0
        self._leading = ""

    def update(self, event_buffer: EventBuffer) -> None:
        """Derive steps from the new events. Start again if the event buffer was replaced."""
        ring = event_buffer.ring(self.level)
        if ring is not self._ring:
            self._ring, self._next = ring, 0
            self.steps.clear()
            self._leading = ""
        find = event_buffer.find
        for index in range(max(self._next, ring.first), ring.total):
            event = ring.at(index)
            if concerns(event, self.tp, self.brokers):
                if kind_of(event) in ("append", "high-watermark", "became-leader"):
                    self._leading = node_of(event)
                self.steps.append(step_of(event, find, self._leading))
        self._next = ring.total
