"""What made nodes and links silent or slow, and the events that did it.

A timeout is the effect of messages that did not come in time. The node whose timer fires knows only which peer was silent, and since when.
The kernel knows why: the peer's process had ended, one of both nodes was paused, or the link between them was cut, held, or slow.
`why_silent` returns the events that did this, so that a timeout leads to what was done. The answers never affect a run.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final

MAX_SPANS: Final = 16
"""The maximum number of spans that are kept for a node or a link. Older spans are forgotten."""

DEAD: Final = "dead"
PAUSED: Final = "paused"
CUT: Final = "cut"
HELD: Final = "held"
SLOW: Final = "slow"
CLOCK: Final = "clock"
STALLED: Final = "stalled"
SETTING: Final = "setting"
STORAGE: Final = "storage"

SETTINGS: Final = "settings"
"""The place of changed settings."""

_BLOCKING: Final = frozenset((DEAD, PAUSED, CUT, HELD, STALLED))
"""The disturbances that let no message through."""

Direction = tuple[str, str]

Span = tuple[str, int, int, int]
"""A disturbance: what it is, the number of the event that began it, and the times at which it began and ended in µs. The end of a
disturbance that lasts is `LASTS`."""

LASTS: Final = 2**62

Hindrance = tuple[int, int, int]
"""How much a disturbance explains, when it began in µs, and the number of the event that began it.

A disturbance explains as much as it lasted, in µs, of the time in which something did not happen: what began a moment ago does not explain
why nothing has happened for long. A disturbance that lets messages through explains half of that.
"""


class Disturbances:
    """The disturbances of nodes and links, in the past and now.

    A place is the address of a node, or a direction of a link, (sender, receiver).
    """

    __slots__ = ("_changes", "_spans", "_starts")

    _changes: Final[dict[Any, int]]
    _spans: Final[dict[Any, list[Span]]]
    _starts: Final[dict[str, int]]

    def __init__(self) -> None:
        self._changes = {}
        self._spans = {}
        self._starts = {}

    def changed(self, what: Hashable, event: int) -> None:
        """Record the event that last changed something that several nodes know."""
        self._changes[what] = event

    def last_change(self, what: Hashable) -> int:
        """Return the event that last changed something; 0 if there is none."""
        return self._changes.get(what, 0)

    def take_change(self, what: Hashable) -> int:
        """Return the event that last changed something, and forget it; 0 if there is none."""
        return self._changes.pop(what, 0)

    def started(self, node: str, event: int) -> None:
        """Record the event that started a node."""
        self._starts[node] = event

    def begin(self, place: Hashable, what: str, event: int, now: int, until: int = LASTS) -> None:
        """Record that an event began to disturb a place, until a virtual time in µs. A disturbance of the same kind that lasts ends."""
        self.end(place, what, now)
        spans = self._spans.setdefault(place, [])
        if len(spans) >= MAX_SPANS:
            spans.pop(0)
        spans.append((what, event, now, until))

    def end(self, place: Hashable, what: str, now: int) -> None:
        """Record that a place is no longer disturbed."""
        for index, (kind, event, began, ended) in enumerate(self._spans.get(place, ())):
            if kind == what and ended == LASTS:
                self._spans[place][index] = (kind, event, began, now)

    def current(self, place: Hashable, what: str) -> int:
        """Return the number of the event because of which a place is disturbed now; 0 if it is not."""
        return next((event for kind, event, _, ended in self._spans.get(place, ()) if kind == what and ended == LASTS), 0)

    def last_of(self, node: str) -> tuple[int, ...]:
        """Return the event that last disturbed a node; empty if there is none."""
        return tuple(event for _, event, *_ in self._spans.get(node, ())[-1:])

    def between(self, sender: str, receiver: str, since: int, now: int, *, one_way: bool = False) -> tuple[int, ...]:
        """Return the events that, since a virtual time, disturbed two nodes or the link between them, most important first. With `one_way`,
        the sender does not need answers, so that disturbances of the link from the receiver to the sender explain less.
        """
        found = self._found((sender, (sender, receiver), receiver), since, now)
        back = self._found(((receiver, sender),), since, now)
        return _ranked([*found, *(_halved(back) if one_way else back)])

    def around(self, node: str, others: Iterable[str], bystanders: Iterable[str], since: int, now: int) -> list[Hindrance]:
        """Return what, since a virtual time, kept a node from exchanging messages with others, most important first.

        Args:
            others: the nodes that the node needed.
            bystanders: nodes that it might have needed. Their disturbances, and those of links between any of these nodes, explain less.
        """
        needed = tuple(dict.fromkeys((node, *others)))
        places = (*needed, *((node, other) for other in needed), *((other, node) for other in needed))
        nodes = dict.fromkeys((*needed, *bystanders))
        further = (place for place in self._spans if place not in places and all(end in nodes for end in _ends(place)))
        return _weighed([*self._found(places, since, now), *_halved(self._found(further, since, now))])

    def everywhere(self, since: int, now: int) -> list[Hindrance]:
        """Return everything that was disturbed since a virtual time, most important first."""
        return _weighed(self._found(self._spans, since, now))

    def touching(self, node: str, since: int, now: int) -> tuple[int, ...]:
        """Return the events that, since a virtual time, disturbed a node or any of its links, most important first."""
        return _ranked(self._found([place for place in self._spans if node in _ends(place)], since, now))

    def anywhere(self, since: int, now: int, near: tuple[str, ...] = (), among: Callable[[str], bool] | None = None) -> tuple[int, ...]:
        """Return the events that, since a virtual time, disturbed anything, most important first.

        Args:
            near: the nodes whose disturbances, and those of whose links, are more important than others.
            among: returns whether a node can matter. Disturbances of other nodes and of their links are the least important.
        """
        ranks: tuple[list[Any], ...] = ([], [], [], [])
        for place in self._spans:
            ends = _ends(place)
            matters = among is None or all(map(among, ends))
            ranks[(0 if matters else 2) + (not any(node in near for node in ends))].append(place)
        return tuple(event for places in ranks for event in _ranked(self._found(places, since, now)))

    def why_silent(self, sender: str, receiver: str, since: int, now: int) -> tuple[int, ...]:
        """Return the events because of which `receiver` has received nothing from `sender` since a virtual time, most important first.

        If nothing disturbed the two nodes and the link between them, the answer is what disturbed anything else at that time, because a
        node can also be silent because it waits for another one. If nothing was disturbed, the answer is the start of the sender.
        """
        found = self.between(sender, receiver, since, now) or self.anywhere(since, now, (sender, receiver))
        return found or tuple(self._starts[node] for node in (sender, receiver) if self._starts.get(node))[:1]

    def why_slow(self, node: str, since: int, now: int) -> tuple[int, ...]:
        """Return the events because of which a node has not done its work since a virtual time: what disturbed it, or its start."""
        return self.between(node, node, since, now) or ((self._starts[node],) if self._starts.get(node) else ())

    def _found(self, places: Iterable[Any], since: int, now: int) -> list[tuple[Any, Hindrance]]:
        """Return the disturbances of places since a virtual time. If both directions of a link were disturbed at once, one event stands for
        both."""
        found: dict[Any, tuple[Any, Hindrance]] = {}
        for place in places:
            for what, event, began, ended in self._spans.get(place, ()):
                if ended >= since:
                    lasted = min(ended, now) - max(began, since)
                    both = (frozenset(place) if isinstance(place, tuple) else place, what, began)
                    found.setdefault(both, (both, (lasted if what in _BLOCKING else lasted // 2, began, event)))
        return list(found.values())


def _ends(place: Any) -> tuple[str, ...]:
    """Return the nodes of a place."""
    return place if isinstance(place, tuple) else (place,)


def _halved(found: Iterable[tuple[Any, Hindrance]]) -> list[tuple[Any, Hindrance]]:
    return [(both, (weight // 2, began, event)) for both, (weight, began, event) in found]


def _weighed(found: Iterable[tuple[Any, Hindrance]]) -> list[Hindrance]:
    """Return hindrances, those of the greatest weight first, and of several with the same weight the first."""
    kept: dict[Any, Hindrance] = {}
    for both, hindrance in found:
        kept.setdefault(both, hindrance)
    return sorted(kept.values(), key=lambda each: (-each[0], each[1], each[2]))


def _ranked(found: Iterable[tuple[Any, Hindrance]]) -> tuple[int, ...]:
    """Return the events that began disturbances, most important first."""
    return tuple(dict.fromkeys(event for *_, event in _weighed(found)))
