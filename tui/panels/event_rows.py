"""The lines of the event log. The log lists all events in a ring buffer, the events that match a filter, or the notable events with their
consequences folded.

When a broker that leads 90 partitions dies, 90 elections follow at the same moment. The event log shows all elections that follow a failure
as one line, for example `b55 fenced: 90 new leaders ▸`, which the user can open. Only events about a single partition or link are folded,
and only if several of them have the same cause.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from core.kafka.events import (
    BrokerFenced,
    BrokerJoined,
    BrokerLeft,
    BrokerStopped,
    BrokerUnfenced,
    EventTuple,
    LeaderElected,
    SessionExpired,
    ShutdownBegun,
)
from core.lab.act_sentences import sentence
from core.lab.history.event_buffer import EventRing
from core.sim.events import first_cause, kind_of, seq_of, time_of
from core.sim.units import SECOND
from tui.analysis.word_filter import matcher

LEAST_FOLDED: Final = 4
"""The minimum number of consequences that are folded into one line."""

TOGETHER: Final = SECOND
"""Consequences that occur within this virtual time, in µs, after the first event of a line are folded into the line.

After this time, consequences get their own lines.
"""

_MOST_JOINED: Final = 4_096
"""The maximum number of recent events for which the log remembers the line that their later consequences join."""

_NAMES: Final = {
    "records-lost": ("LOST in 1 partition", "LOST in {} partitions"),
    "records-diverged": ("DIVERGED in 1 partition", "DIVERGED in {} partitions"),
    "partition-offline": ("1 partition offline", "{} partitions offline"),
    "leader-elected": ("1 new leader", "{} new leaders"),
    "unclean": ("1 of them unclean", "{} of them unclean"),
    "isr-shrunk": ("1 ISR shrunk", "{} ISRs shrunk"),
    "isr-expanded": ("1 ISR grown", "{} ISRs grown"),
    "truncated": ("1 log cut", "{} logs cut"),
    "records-exposed": ("1 partition exposed", "{} partitions exposed"),
    "records-safe": ("1 partition safe again", "{} partitions safe again"),
    "records-recovered": ("records back in 1 partition", "records back in {} partitions"),
    "alter-partition-refused": ("1 ISR change refused", "{} ISR changes refused"),
    "unflushed-lost": ("1 log lost unflushed records", "{} logs lost unflushed records"),
    "log-restarted": ("1 log restarted empty", "{} logs restarted empty"),
    "link-cut": ("1 link cut", "{} links cut"),
    "link-healed": ("1 link healed", "{} links healed"),
}
"""For each event kind that can be folded, the singular and plural texts for a count of such events. The worst kinds come first."""

_HEADS: Final[dict[str, Callable[[EventTuple], str]]] = {
    BrokerFenced.kind: lambda event: f"b{BrokerFenced(event).broker} fenced",
    BrokerUnfenced.kind: lambda event: f"b{BrokerUnfenced(event).broker} unfenced",
    BrokerStopped.kind: lambda event: f"b{BrokerStopped(event).broker} stopped",
    BrokerLeft.kind: lambda event: f"b{BrokerLeft(event).broker} left",
    BrokerJoined.kind: lambda event: f"b{BrokerJoined(event).broker} joined",
    SessionExpired.kind: lambda event: f"b{SessionExpired(event).broker}'s session expired",
    ShutdownBegun.kind: lambda event: f"b{ShutdownBegun(event).broker} shuts down",
}
"""The causes that a folded line names in fewer words than their sentences have."""


class Group:
    """An event with its direct and indirect consequences.

    Attributes:
        head: the event that is the cause, or the first consequence if the cause is not listed.
        members: the direct and indirect consequences of the event.
        alone: a separate group for each consequence, used while there are too few consequences to fold into one line.
        opened: whether the consequences are listed below their line.
    """

    __slots__ = ("alone", "head", "members", "opened")

    def __init__(self, head: EventTuple) -> None:
        self.head = head
        self.members: list[EventTuple] = []
        self.alone: list[Group] = []
        self.opened = False

    @property
    def folded(self) -> bool:
        """Whether there are enough consequences to fold them into one line."""
        return len(self.members) >= LEAST_FOLDED

    @property
    def words(self) -> str:
        """The text of the line: the cause, and the number of consequences of each kind."""
        counts: dict[str, int] = {}
        for event in self.members:
            counts[kind_of(event)] = counts.get(kind_of(event), 0) + 1
            if kind_of(event) == LeaderElected.kind and LeaderElected(event).election != "clean":
                counts["unclean"] = counts.get("unclean", 0) + 1
        said = ", ".join(
            one if counts[kind] == 1 else many.format(f"{counts[kind]:,}") for kind, (one, many) in _NAMES.items() if kind in counts
        )
        head = _HEADS.get(kind_of(self.head), sentence)
        if self.head is self.members[0]:
            return said
        return f"{head(self.head)}: {said}"


Row = tuple[EventTuple, Group | None, bool]
"""A line of the event log: its event, the group that is collapsed into the line (or None), and whether the line is part of an expanded
group."""


class EventRows(Protocol):
    """The lines of the event log, by index.

    `first` is the index of the oldest line in memory, and `total` is the index that the next new line will get.
    """

    @property
    def first(self) -> int: ...
    @property
    def total(self) -> int: ...

    def update(self) -> bool:
        """Add lines for new events. Return whether any existing lines have moved."""

    def at(self, index: int) -> Row:
        """Return the line at an index."""

    def index_of(self, seq: int) -> int | None:
        """Return the index of an event's line, or None if the event is not listed. If the event is folded into a line, open that line."""

    def toggle(self, index: int) -> bool:
        """Open or close the line at an index. Return False if nothing is folded into the line."""


class AllRows:
    """The lines of all events in an event buffer."""

    def __init__(self, ring: EventRing) -> None:
        self.ring = ring

    @property
    def first(self) -> int:
        """The index of the oldest event in the event buffer."""
        return self.ring.first

    @property
    def total(self) -> int:
        """The index of the next event in the event buffer."""
        return self.ring.total

    def update(self) -> bool:
        """Return False, because existing lines never move."""
        return False

    def at(self, index: int) -> Row:
        """Return the line of an event."""
        return self.ring.at(index), None, False

    def index_of(self, seq: int) -> int | None:
        """Return the index of an event in the event buffer."""
        return self.ring.index_of(seq)

    def toggle(self, index: int) -> bool:
        """Return False, because no events are folded."""
        return False


FORGOTTEN_AT_ONCE: Final = 1_024
"""The number of lines that are forgotten together after the event buffer has dropped their events."""


class MatchingRows:
    """The lines of events that match a filter: each word of the filter occurs in the number, the kind, or the sentence of the event."""

    def __init__(self, ring: EventRing, words: str) -> None:
        self.ring = ring
        self._matches = matcher(words)
        self._found: list[int] = []
        self._seen = ring.first
        self._forgotten = 0  # the number of matching events that came before those in `_found`
        self._gone = 0  # the number of matching events in `_found` that are no longer in the event buffer

    @property
    def first(self) -> int:
        """The index of the oldest matching event that is still in the event buffer."""
        while self._gone < len(self._found) and self._found[self._gone] < self.ring.first:
            self._gone += 1
        if self._gone >= FORGOTTEN_AT_ONCE:
            del self._found[: self._gone]
            self._forgotten, self._gone = self._forgotten + self._gone, 0
        return self._forgotten + self._gone

    @property
    def total(self) -> int:
        """The number of matching events."""
        return self._forgotten + len(self._found)

    def update(self) -> bool:
        """Check which of the new events match the filter. Return False, because existing lines never move."""
        ring = self.ring
        for index in range(max(self._seen, ring.first), ring.total):
            event = ring.at(index)
            if self._matches(f"#{seq_of(event)} {kind_of(event)} {sentence(event)}"):
                self._found.append(index)
        self._seen = ring.total
        return False

    def at(self, index: int) -> Row:
        """Return the line of a matching event."""
        return self.ring.at(self._found[index - self._forgotten]), None, False

    def index_of(self, seq: int) -> int | None:
        """Return the index of an event among the matching events, or None."""
        at = self.ring.index_of(seq)
        return self._forgotten + self._found.index(at) if at is not None and at in self._found else None

    def toggle(self, index: int) -> bool:
        """Return False, because no events are folded."""
        return False


class FoldedRows:
    """The lines of the events in an event buffer. If an event has several consequences, the consequences are folded into the line of the
    event."""

    def __init__(self, ring: EventRing) -> None:
        self.ring = ring
        self._groups: list[Group] = []
        self._rows: list[tuple[EventTuple, Group, bool]] = []
        self._joins: dict[int, Group] = {}
        self._seen = ring.first
        self._forgotten = 0  # the number of lines that came before those in `_rows`
        self._gone = 0  # the number of lines in `_rows` whose events are no longer in the event buffer

    @property
    def first(self) -> int:
        """The index of the oldest line whose event is still in the event buffer."""
        ring, rows = self.ring, self._rows
        if ring.first:
            oldest = seq_of(ring.at(ring.first))
            while self._gone < len(rows) and seq_of(rows[self._gone][0]) < oldest:
                self._gone += 1
            if FORGOTTEN_AT_ONCE <= self._gone < len(rows):
                del self._groups[: max(0, _last(self._groups, rows[self._gone][1]))]
                del rows[: self._gone]
                self._forgotten, self._gone = self._forgotten + self._gone, 0
        return self._forgotten + self._gone

    @property
    def total(self) -> int:
        """The number of lines that have been added so far, including lines that are no longer in memory."""
        return self._forgotten + len(self._rows)

    def update(self) -> bool:
        """Add lines for new events. Return whether any existing lines have moved."""
        moved = False
        for event in self.ring.since(self._seen):
            moved = self._take(event) or moved
        self._seen = self.ring.total
        return moved

    def _take(self, event: EventTuple) -> bool:
        """Add an event to the lines. Return whether any existing lines have moved."""
        seq, now, cause = seq_of(event), time_of(event), first_cause(event)
        folds = bool(cause) and kind_of(event) in _NAMES
        group = self._joins.get(cause) if folds else None
        own = Group(event)
        if group is None or now - time_of(group.head) > TOGETHER:
            self._add(own)
            self._joins[seq] = own
            if folds:  # Its cause is not listed or too old. Other consequences of the cause join this line.
                own.members.append(event)
                self._joins[cause] = own
            if len(self._joins) > _MOST_JOINED:
                self._joins = dict(list(self._joins.items())[-_MOST_JOINED // 2 :])
            return False
        self._joins[seq] = group
        group.members.append(event)
        if not group.folded:
            group.alone.append(own)
            self._add(own)
            return False
        if group.alone:
            for each in group.alone:
                if (at := _last(self._groups, each)) >= 0:
                    del self._groups[at]
            group.alone = []
        elif not group.opened:
            return False
        self._lay_out(group)
        return True

    def _add(self, group: Group) -> None:
        self._groups.append(group)
        self._rows.append((group.head, group, False))

    def _lay_out(self, changed: Group) -> None:
        """Rebuild the lines, starting with the line of a group."""
        rows = self._rows
        at = len(rows) - 1
        while at >= 0 and (rows[at][1] is not changed or rows[at][2]):
            at -= 1
        if at < 0:
            return
        del rows[at:]
        for group in self._groups[_last(self._groups, changed) :]:
            rows.append((group.head, group, False))
            if group.folded and group.opened:
                rows.extend((event, group, True) for event in group.members)

    def at(self, index: int) -> Row:
        """Return the line at an index."""
        event, group, inside = self._rows[index - self._forgotten]
        return event, group if group.folded and not inside else None, inside

    def index_of(self, seq: int) -> int | None:
        """Return the index of an event's line, or None. If the event is folded into a line, open that line."""
        if self.ring.index_of(seq) is None:
            return None
        for at in range(len(self._rows) - 1, -1, -1):
            event, group, inside = self._rows[at]
            if seq_of(event) == seq and not (inside is False and group.folded and group.head is group.members[0] and group.opened):
                return self._forgotten + at
            if group.folded and not group.opened and any(seq_of(each) == seq for each in group.members):
                self.toggle(self._forgotten + at)
                return self._forgotten + at + 1 + next(n for n, each in enumerate(group.members) if seq_of(each) == seq)
        return None

    def toggle(self, index: int) -> bool:
        """Open or close a line. Return False if nothing is folded into the line."""
        _, group, inside = self._rows[index - self._forgotten]
        if inside or not group.folded:
            return False
        group.opened = not group.opened
        self._lay_out(group)
        return True


def _last(groups: list[Group], wanted: Group) -> int:
    """Return the index of a group in the list of groups; -1 if it was forgotten. The search starts at the end of the list, because the wanted
    group is usually near the end."""
    at = len(groups) - 1
    while at >= 0 and groups[at] is not wanted:
        at -= 1
    return at
