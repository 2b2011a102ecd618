"""The events of a session that are still in memory: bounded, by level, each at an index that never changes.

A busy cluster makes thousands of events a second, most of them fetches. Three rings keep the last of all events, of
those worth a line, and of the notable ones, so that an election from minutes ago is still there however much traffic
followed.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import deque
from functools import lru_cache
from itertools import islice
from operator import itemgetter
from typing import Final

import attrs

from core.acts import ACTS
from core.journal.events import DETAIL, KINDS, NORMAL, NOTABLE, EventTuple, explain
from core.units import SECOND

LEVEL: Final = {name: kind.level for name, kind in KINDS.items()}
"""How notable each kind is."""

KEPT: Final = {DETAIL: 50_000, NORMAL: 50_000, NOTABLE: 20_000}
"""How many events each ring keeps."""

_REPEATS: Final = "append-refused"
"""A producer that tries again is refused a hundred times a second; only the first refusal of a series is notable."""

SERIES: Final = 5 * SECOND
"""Virtual time without a refusal after which a partition's next one begins a new series."""


class Ring:
    """The last events of one level and above. Index 0 is the first ever; those before `first` have been dropped."""

    __slots__ = ("_events", "total")

    def __init__(self, size: int) -> None:
        self._events: deque[EventTuple] = deque(maxlen=size)
        self.total = 0

    @property
    def first(self) -> int:
        """Index of the oldest event still kept."""
        return self.total - len(self._events)

    def append(self, event: EventTuple) -> None:
        """Keep one more."""
        self._events.append(event)
        self.total += 1

    def at(self, index: int) -> EventTuple:
        """The event at an index.

        Raises:
            IndexError: not kept any more, or not there yet.
        """
        place = index - self.first
        if place < 0:
            raise IndexError(index)
        return self._events[place]

    def since(self, index: int) -> list[EventTuple]:
        """The events from an index on that are still kept."""
        return list(islice(self._events, max(0, index - self.first), None))

    def cut_from(self, other: Ring, seq: int) -> None:
        """Hold what another ring holds up to that event, at the same indices."""
        kept = other._events
        if kept and kept[-1][0] > seq:
            self._events.extend(islice(kept, bisect_right(kept, seq, key=itemgetter(0))))
        else:
            self._events.extend(kept)
        self.total = other.first + len(self._events)

    def index_of(self, seq: int) -> int | None:
        """Where the event of that sequence number is, or None when it is not kept."""
        low, high = 0, len(self._events)
        while low < high:
            middle = (low + high) // 2
            if self._events[middle][0] < seq:
                low = middle + 1
            else:
                high = middle
        if low < len(self._events) and self._events[low][0] == seq:
            return low + self.first
        return None


class Rings:
    """The three rings; `take` is a journal's sink."""

    __slots__ = ("_all", "_last", "_normal", "_notable")

    def __init__(self, kept: dict[int, int] = KEPT) -> None:
        self._all = Ring(kept[DETAIL])
        self._normal = Ring(kept[NORMAL])
        self._notable = Ring(kept[NOTABLE])
        self._last: dict[tuple[str, int], int] = {}

    def take(self, event: EventTuple) -> int:
        """Keep an event in every ring it belongs to; returns its level."""
        self._all.append(event)
        level = LEVEL[event[3]]
        if level >= NORMAL:
            self._normal.append(event)
            if level >= NOTABLE:
                if event[3] == _REPEATS and not self._first_of_a_series(event):
                    return NORMAL
                self._notable.append(event)
        return level

    def _first_of_a_series(self, refused: EventTuple) -> bool:
        """Whether the partition has not refused anything for a while."""
        partition = (refused[5], refused[6])
        before = self._last.get(partition)
        self._last[partition] = refused[1]
        return before is None or refused[1] - before > SERIES

    def upto(self, seq: int) -> Rings:
        """The rings as they were when that event was the last."""
        other = Rings()
        for mine, theirs in ((self._all, other._all), (self._normal, other._normal), (self._notable, other._notable)):
            theirs.cut_from(mine, seq)
        if self._last:
            for event in other._normal._events:
                if event[3] == _REPEATS:
                    other._last[(event[5], event[6])] = event[1]
        return other

    def of(self, level: int) -> Ring:
        """The ring of that level and above."""
        return self._notable if level >= NOTABLE else self._normal if level >= NORMAL else self._all

    def find(self, seq: int) -> EventTuple | None:
        """The event of that sequence number, if any ring still has it."""
        for ring in (self._all, self._normal, self._notable):
            index = ring.index_of(seq)
            if index is not None:
                return ring.at(index)
        return None


@lru_cache(maxsize=4_096)
def sentence(event: EventTuple) -> str:
    """What an event says. The last few thousand are remembered, so that a screen that is painted again costs nothing."""
    return act_in_words(event[4], event[5]) if event[3] == "act" else explain(event)


_BEFORE_TOPIC: Final = {"produce": "to", "load": "on", "set": "for", "consume": "", "create-topic": ""}

_SAID_THOUGH_USUAL: Final = {"acks": "producer", "stop-load": "producer", "stop-consume": "consumer", "elect": "election"}


def act_in_words(word: str, args: str) -> str:
    """An act without the braces of its record: `kill b2`, `set min.insync.replicas = 1 for orders`."""
    try:
        fields = {
            name: value for name, value in json.loads(args).items() if value is not None and value is not False and value not in ([], "")
        }
    except (ValueError, AttributeError):
        return f"{word} {args}"
    said = [word]
    if word in _SAID_THOUGH_USUAL:
        usual = _SAID_THOUGH_USUAL[word]
        fields = {f.name: f.default for f in attrs.fields(ACTS[word]) if f.name == usual} | fields
    if word == "acks":
        said.append(str(fields.pop("acks", "")) + " for")
    if "broker" in fields and word != "set":
        said.append(f"b{fields.pop('broker')}")
    if "follower" in fields:
        said.append(f"b{fields.pop('follower')}")
    if "between" in fields:
        said.append(" and ".join(map(str, fields.pop("between"))))
    if "name" in fields:
        said.append(f"{fields.pop('name')} = {fields.pop('value', '')}")
    if "records" in fields:
        records = fields.pop("records")
        said.append("1 record" if records == 1 else f"{records:,} records")
    for name in ("node", "election", "consumer", "producer"):
        if name in fields:
            said.append(str(fields.pop(name)))
    if "topic" in fields:
        said.append(f"{_BEFORE_TOPIC.get(word, 'topic')} {fields.pop('topic')}".strip())
    if "partition" in fields:
        partition = fields.pop("partition")
        said.append(f"partition {'-'.join(map(str, partition)) if isinstance(partition, list) else partition}")
    rest = ", ".join(f"{name.replace('_', ' ')} {value if value is not True else ''}".strip() for name, value in fields.items())
    return " ".join(said) + (f" ({rest})" if rest else "")
