"""What the event log lists of a ring: every event, those that have some words, or notable ones with consequences folded into their cause.

When a broker with ninety leaderships dies, ninety elections follow in the same moment. They are one line then, `b55 fenced: 92 new
leaders ▸`, that can be opened. Only events about single partitions or links are folded, and only several with the same cause.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from core.kafka.events import EventTuple
from core.lab.history.event_buffer import EventRing
from core.lab.sentences import sentence
from core.sim.units import SECOND
from tui.analysis.word_filter import matcher

LEAST_FOLDED: Final = 4
"""Consequences of one event from which on they are folded into it."""

TOGETHER: Final = SECOND
"""Virtual time after the first event of a line in which its consequences join that line; later ones stand for themselves."""

_MOST_JOINED: Final = 4_096
"""Events that others may be folded into, kept in mind."""

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
    "records-recovered": ("1 partition's records back", "records of {} partitions back"),
    "alter-partition-refused": ("1 ISR change refused", "{} ISR changes refused"),
    "unflushed-lost": ("1 log lost what was not flushed", "{} logs lost what was not flushed"),
    "log-restarted": ("1 log restarted from empty", "{} logs restarted from empty"),
    "link-cut": ("1 link cut", "{} links cut"),
    "link-healed": ("1 link healed", "{} links healed"),
}
"""How consequences are counted, the worst first; only these kinds are folded."""

_HEADS: Final[dict[str, Callable[[EventTuple], str]]] = {
    "broker-fenced": lambda e: f"b{e[4]} fenced",
    "broker-unfenced": lambda e: f"b{e[4]} unfenced",
    "broker-stopped": lambda e: f"b{e[4]} stopped",
    "broker-left": lambda e: f"b{e[4]} left",
    "broker-joined": lambda e: f"b{e[4]} joined",
    "session-expired": lambda e: f"b{e[4]}'s session expired",
    "shutdown-begun": lambda e: f"b{e[4]} shuts down",
    "act": sentence,
    "setting-changed": sentence,
}


class Group:
    """An event with what came of it, directly or not.

    Attributes:
        head: the cause, or the first of the consequences where the cause is not listed.
        members: the consequences.
        alone: their own lines, as long as they are so few that they have some.
        opened: whether they are listed below the line that they are folded into.
    """

    __slots__ = ("alone", "head", "members", "opened")

    def __init__(self, head: EventTuple) -> None:
        self.head = head
        self.members: list[EventTuple] = []
        self.alone: list[Group] = []
        self.opened = False

    @property
    def folded(self) -> bool:
        """Whether there are so many that they are one line."""
        return len(self.members) >= LEAST_FOLDED

    @property
    def words(self) -> str:
        """The line: what happened, and how often what followed."""
        counts: dict[str, int] = {}
        for event in self.members:
            counts[event[3]] = counts.get(event[3], 0) + 1
            if event[3] == "leader-elected" and event[10] != "clean":
                counts["unclean"] = counts.get("unclean", 0) + 1
        said = ", ".join(
            one if counts[kind] == 1 else many.format(f"{counts[kind]:,}") for kind, (one, many) in _NAMES.items() if kind in counts
        )
        head = _HEADS.get(self.head[3])
        if self.head is self.members[0]:
            return said
        return f"{sentence(self.head) if head is None else head(self.head)}: {said}"


Row = tuple[EventTuple, Group | None, bool]
"""A line: its event, the group that is folded into it, and whether it stands inside an opened one."""


class EventRows(Protocol):
    """Lines of the event log at indices, of which `first` is the oldest that is kept and `total` is the next to come."""

    @property
    def first(self) -> int: ...
    @property
    def total(self) -> int: ...

    def update(self) -> bool:
        """List what has come since; whether lines have moved that stood there before."""

    def at(self, index: int) -> Row:
        """The line at an index."""

    def index_of(self, seq: int) -> int | None:
        """Where an event stands; a line that holds it is opened for that. None when it is not listed."""

    def toggle(self, index: int) -> bool:
        """Open or close the line at an index; False when nothing lies inside."""


class AllRows:
    """A ring as it is."""

    def __init__(self, ring: EventRing) -> None:
        self.ring = ring

    @property
    def first(self) -> int:
        """As of the ring."""
        return self.ring.first

    @property
    def total(self) -> int:
        """As of the ring."""
        return self.ring.total

    def update(self) -> bool:
        """Nothing to do."""
        return False

    def at(self, index: int) -> Row:
        """The event."""
        return self.ring.at(index), None, False

    def index_of(self, seq: int) -> int | None:
        """As of the ring."""
        return self.ring.index_of(seq)

    def toggle(self, index: int) -> bool:
        """Nothing is inside anything."""
        return False


class MatchingRows:
    """The events of a ring that have all of some words, in their number, their kind or their sentence."""

    def __init__(self, ring: EventRing, words: str) -> None:
        self.ring = ring
        self._matches = matcher(words)
        self._found: list[int] = []
        self._seen = ring.first
        self._gone = 0

    @property
    def first(self) -> int:
        """The first that the ring still has."""
        while self._gone < len(self._found) and self._found[self._gone] < self.ring.first:
            self._gone += 1
        return self._gone

    @property
    def total(self) -> int:
        """How many were found."""
        return len(self._found)

    def update(self) -> bool:
        """Look at what has come."""
        ring = self.ring
        for index in range(max(self._seen, ring.first), ring.total):
            event = ring.at(index)
            if self._matches(f"#{event[0]} {event[3]} {sentence(event)}"):
                self._found.append(index)
        self._seen = ring.total
        return False

    def at(self, index: int) -> Row:
        """The event."""
        return self.ring.at(self._found[index]), None, False

    def index_of(self, seq: int) -> int | None:
        """Where it stands among those found."""
        at = self.ring.index_of(seq)
        return self._found.index(at) if at is not None and at in self._found else None

    def toggle(self, index: int) -> bool:
        """Nothing is inside anything."""
        return False


class FoldedRows:
    """The events of a ring, consequences folded into their cause where there are several."""

    def __init__(self, ring: EventRing) -> None:
        self.ring = ring
        self._groups: list[Group] = []
        self._rows: list[tuple[EventTuple, Group, bool]] = []
        self._joins: dict[int, Group] = {}
        self._seen = ring.first
        self._gone = 0

    @property
    def first(self) -> int:
        """The first that the ring still has."""
        ring, rows = self.ring, self._rows
        if ring.first:
            oldest = ring.at(ring.first)[0]
            while self._gone < len(rows) and rows[self._gone][0][0] < oldest:
                self._gone += 1
        return self._gone

    @property
    def total(self) -> int:
        """How many lines there are."""
        return len(self._rows)

    def update(self) -> bool:
        """List what has come."""
        moved = False
        for event in self.ring.since(self._seen):
            moved = self._take(event) or moved
        self._seen = self.ring.total
        return moved

    def _take(self, event: EventTuple) -> bool:
        """List an event; whether other lines have moved."""
        seq, now, cause = event[:3]
        folds = bool(cause) and event[3] in _NAMES
        group = self._joins.get(cause) if folds else None
        own = Group(event)
        if group is None or now - group.head[1] > TOGETHER:
            self._add(own)
            self._joins[seq] = own
            if folds:  # Its cause is not listed, or long past: what else comes of that joins this one.
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
                del self._groups[_last(self._groups, each)]
            group.alone = []
        elif not group.opened:
            return False
        self._lay_out(group)
        return True

    def _add(self, group: Group) -> None:
        self._groups.append(group)
        self._rows.append((group.head, group, False))

    def _lay_out(self, changed: Group) -> None:
        """Make the lines anew from that of a group on."""
        rows = self._rows
        at = len(rows) - 1
        while rows[at][1] is not changed or rows[at][2]:
            at -= 1
        del rows[at:]
        for group in self._groups[_last(self._groups, changed) :]:
            rows.append((group.head, group, False))
            if group.folded and group.opened:
                rows.extend((event, group, True) for event in group.members)

    def at(self, index: int) -> Row:
        """The line."""
        event, group, inside = self._rows[index]
        return event, group if group.folded and not inside else None, inside

    def index_of(self, seq: int) -> int | None:
        """Where it stands; the line that it is folded into is opened."""
        if self.ring.index_of(seq) is None:
            return None
        for at in range(len(self._rows) - 1, -1, -1):
            event, group, inside = self._rows[at]
            if event[0] == seq and not (inside is False and group.folded and group.head is group.members[0] and group.opened):
                return at
            if group.folded and not group.opened and any(each[0] == seq for each in group.members):
                self.toggle(at)
                return at + 1 + next(n for n, each in enumerate(group.members) if each[0] == seq)
        return None

    def toggle(self, index: int) -> bool:
        """Open or close a line."""
        _, group, inside = self._rows[index]
        if inside or not group.folded:
            return False
        group.opened = not group.opened
        self._lay_out(group)
        return True


def _last(groups: list[Group], wanted: Group) -> int:
    """Where a group stands; it is one of the last as a rule."""
    at = len(groups) - 1
    while groups[at] is not wanted:
        at -= 1
    return at
