"""The network between nodes: connections that keep order, stall, break, or are refused.

A message takes the link's latency, plus jitter, plus a retransmission time-out (doubling) for each loss drawn: below
the protocol there is TCP, which repeats what is lost. On a cut link messages wait for the link to heal, as TCP keeps
retransmitting, unless the sender gave the connection up by then or a process at an end of it died: then they are gone.
A process that does not run refuses connections at once.

TCP delivers once and in order, so nothing is duplicated or reordered. Between a client and a server there may be a proxy that
repeats a request (`proxied`) when it gets impatient, or spreads requests over several connections of its own: such a request
comes twice, or is overtaken by later ones. Its answer goes back once: a client drops what answers nothing it asked.
"""

from __future__ import annotations

from typing import Final

from core.sim.agenda import Agenda
from core.sim.long_polling import LongPolls
from core.sim.messages import Disconnected
from core.sim.stream import Stream

RETRANSMISSION: Final = 200_000
"""TCP's least retransmission time-out, µs (Linux TCP_RTO_MIN)."""

MAX_RETRANSMISSION: Final = 6_400_000
"""Bound of the doubling, µs."""

PROXY_DELAY: Final = 20_000
"""Most µs that a proxy's second copy, or an overtaken request, comes later."""

Direction = tuple[str, str]
"""(from, to)."""


class LinkState:
    """One direction of a link: latency and jitter in µs, parts per million lost, duplicated and reordered, cut, held, and what waits."""

    __slots__ = ("cut", "duplicate_ppm", "held", "jitter", "last_arrival", "latency", "loss_ppm", "reorder_ppm", "waiting")

    def __init__(self, latency: int, jitter: int, loss_ppm: int, duplicate_ppm: int = 0, reorder_ppm: int = 0) -> None:
        self.latency = latency
        self.jitter = jitter
        self.loss_ppm = loss_ppm
        self.duplicate_ppm = duplicate_ppm
        self.reorder_ppm = reorder_ppm
        self.cut = False
        self.held = False
        self.waiting: list[tuple[int, object, int]] = []
        """(connection ticket, message, cause) while cut or held."""
        self.last_arrival = 0


class Network:
    """All links. Only directions that differ from the default, or were ever slow or cut, are kept.

    Attributes:
        latency, jitter: of a link with the defaults, µs; loss_ppm, duplicate_ppm, reorder_ppm: of its messages.
        plain: whether a link with the defaults takes the latency and nothing else.
        proxied: types of the messages that a proxy may repeat, or let others overtake.
        alive: whether a node's process runs, by address.
        deaths: how often each process has died: part of a connection's number.
        given_up: how often the one that opened a connection gave it up, by (opener, other).
        at_once: by hand no message takes time, whatever its link is like.
        lose_next: directions whose next message is lost for good (by hand).
        polls: long polls over the network, which end their elision before a link or a connection changes.
    """

    __slots__ = (
        "agenda",
        "alive",
        "at_once",
        "deaths",
        "duplicate_ppm",
        "given_up",
        "jitter",
        "latency",
        "links",
        "lose_next",
        "loss_ppm",
        "plain",
        "polls",
        "proxied",
        "random",
        "reorder_ppm",
    )  # fmt: skip

    def __init__(
        self, agenda: Agenda, latency: int, jitter: int, loss_ppm: int, random: Stream, duplicate_ppm: int = 0, reorder_ppm: int = 0,
        proxied: frozenset[type] = frozenset(),
    ) -> None:  # fmt: skip
        self.agenda = agenda
        self.latency = latency
        self.jitter = jitter
        self.loss_ppm = loss_ppm
        self.random = random
        self.duplicate_ppm = duplicate_ppm
        self.reorder_ppm = reorder_ppm
        self.proxied = proxied
        self.alive: dict[str, bool] = {}
        self.links: dict[Direction, LinkState] = {}
        self.deaths: dict[str, int] = {}
        self.given_up: dict[Direction, int] = {}
        self.lose_next: set[Direction] = set()
        self.at_once = False
        self.plain = not (jitter or loss_ppm or duplicate_ppm or reorder_ppm)
        self.polls = LongPolls(self)

    def link(self, direction: Direction) -> LinkState:
        """The state of one direction, made if it had only the defaults."""
        state = self.links.get(direction)
        if state is None:
            self.polls.interrupt(*direction)
            state = self.links[direction] = LinkState(self.latency, self.jitter, self.loss_ppm, self.duplicate_ppm, self.reorder_ppm)
        return state

    def ticket(self, sender: str, node: str, *, reply: bool) -> int:
        """The number of the connection a message travels on, twice, plus 1 for a reply: it changes whenever that connection breaks.

        A request travels on the connection its sender opened, a reply on the one its receiver opened.
        """
        if not self.deaths and not self.given_up:
            return int(reply)
        number = self.deaths.get(sender, 0) + self.deaths.get(node, 0)
        if self.given_up:
            number += self.given_up.get((node, sender) if reply else (sender, node), 0)
        return 2 * number + reply

    def is_open(self, sender: str, node: str, ticket: int) -> bool:
        """Whether the connection of a ticket still stands and the receiver's process runs."""
        if not self.alive.get(node, False):
            return False
        if not self.deaths and not self.given_up:
            return True
        return ticket == self.ticket(sender, node, reply=bool(ticket & 1))

    def disconnect(self, opener: str, other: str) -> None:
        """The one that opened a connection gives it up: what is under way or waits on it is gone."""
        self.polls.interrupt(opener, other)
        self.given_up[opener, other] = self.given_up.get((opener, other), 0) + 1

    def close(self, acceptor: str, opener: str, now: int, cause: int) -> None:
        """The one that accepted a connection closes it: the same, and the opener notices where the network lets it."""
        self.disconnect(opener, acceptor)
        link = self.links.get((acceptor, opener))
        if link is None or not (link.cut or link.held):
            latency = 0 if self.at_once else self.latency if link is None else link.latency
            self.agenda.add(now + latency, opener, acceptor, self.ticket(acceptor, opener, reply=True), Disconnected(acceptor), cause)

    def send(self, sender: str, node: str, message: object, now: int, cause: int, *, reply: bool = False) -> None:
        """Send a message; it arrives later, or never. `reply`: it answers one that came from there."""
        if self.plain and not (self.at_once or self.links or self.deaths or self.given_up or self.lose_next) and self.alive.get(node):
            self.agenda.add(now + self.latency, node, sender, 1 if reply else 0, message, cause)  # nothing has ever happened to a link
            return
        direction = (sender, node)
        if direction in self.lose_next:
            self.lose_next.discard(direction)
            return
        link = self.links.get(direction)
        ticket = self.ticket(sender, node, reply=reply)
        if link is not None and (link.cut or link.held):
            link.waiting.append((ticket, message, cause))
            return
        if not self.alive.get(node, False):
            back = self.links.get((node, sender))
            if back is None or not back.cut:
                refusal = self.ticket(node, sender, reply=not reply)
                self.agenda.add(now if self.at_once else now + 2 * self.latency, sender, node, refusal, Disconnected(node), cause)
            return
        self._transmit(sender, node, link, ticket, message, now, cause)

    def lose(self, sender: str, node: str) -> None:
        """The next message of a direction is lost for good."""
        self.polls.interrupt(sender, node)
        self.lose_next.add((sender, node))

    def steady_latency(self, sender: str, node: str) -> int:
        """How long every message of a direction takes, µs; -1 if that is not certain."""
        direction = (sender, node)
        if self.at_once or not self.plain or direction in self.links or direction in self.lose_next:
            return -1
        return self.latency

    def _forget_if_plain(self, direction: Direction, link: LinkState, now: int) -> None:
        """A direction that is as at the start again needs no state of its own."""
        if (
            not (link.cut or link.held or link.waiting)
            and (link.latency, link.jitter, link.loss_ppm) == (self.latency, self.jitter, self.loss_ppm)
            and (link.duplicate_ppm, link.reorder_ppm) == (self.duplicate_ppm, self.reorder_ppm)
            and link.last_arrival <= now + self.latency
        ):
            del self.links[direction]

    def _transmit(self, sender: str, node: str, link: LinkState | None, ticket: int, message: object, now: int, cause: int) -> None:
        if self.at_once:
            self.agenda.add(now, node, sender, ticket, message, cause)
            return
        if link is None:
            if self.plain:
                self.agenda.add(now + self.latency, node, sender, ticket, message, cause)
                return
            link = self.link((sender, node))
        arrival = now + link.latency
        if link.jitter:
            arrival += self.random.randrange(link.jitter + 1)
        if link.loss_ppm:
            wait = RETRANSMISSION
            while self.random.randrange(1_000_000) < link.loss_ppm:
                arrival += wait
                wait = min(2 * wait, MAX_RETRANSMISSION)
        if (link.duplicate_ppm or link.reorder_ppm) and type(message) in self.proxied:
            if self.random.randrange(1_000_000) < link.duplicate_ppm:
                copy = max(arrival, link.last_arrival) + 1 + self.random.randrange(PROXY_DELAY)
                self.agenda.add(copy, node, sender, ticket, message, cause)
            if self.random.randrange(1_000_000) < link.reorder_ppm:
                self.agenda.add(arrival + 1 + self.random.randrange(PROXY_DELAY), node, sender, ticket, message, cause)
                return
        link.last_arrival = arrival = max(arrival, link.last_arrival)
        self.agenda.add(arrival, node, sender, ticket, message, cause)

    def cut(self, direction: Direction) -> bool:
        """Cut one direction; False if it was cut already."""
        link = self.link(direction)
        before, link.cut = link.cut, True
        return not before

    def heal(self, direction: Direction, now: int) -> bool:
        """Heal one direction; what waited is retransmitted. False if it was not cut."""
        link = self.links.get(direction)
        if link is None or not link.cut:
            return False
        link.cut = False
        self._deliver_waiting(direction, link, now)
        self._forget_if_plain(direction, link, now)
        return True

    def hold(self, direction: Direction) -> bool:
        """Hold messages of one direction back; False if they were held already."""
        link = self.link(direction)
        before, link.held = link.held, True
        return not before

    def release(self, direction: Direction, now: int, messages: int | None = None) -> int:
        """Let held messages go; with `messages` only the oldest so many, and the rest is held on.

        Returns how many there were, -1 if none were held back.
        """
        link = self.links.get(direction)
        if link is None or not link.held:
            return -1
        if messages is not None:
            going, link.waiting = link.waiting[:messages], link.waiting[messages:]
            sender, node = direction
            for ticket, message, cause in going:
                if self.is_open(sender, node, ticket):
                    self._transmit(sender, node, link, ticket, message, now, cause)
            return len(going)
        link.held = False
        count = len(link.waiting)
        self._deliver_waiting(direction, link, now)
        self._forget_if_plain(direction, link, now)
        return count

    def _deliver_waiting(self, direction: Direction, link: LinkState, now: int) -> None:
        if link.cut or link.held:
            return
        waiting, link.waiting = link.waiting, []
        sender, node = direction
        for ticket, message, cause in waiting:
            if self.is_open(sender, node, ticket):
                self._transmit(sender, node, link, ticket, message, now, cause)

    def process_died(self, node: str, now: int, cause: int) -> None:
        """A process ended: its connections break, and the other ends notice where the network lets them."""
        self.polls.process_died(node)
        self.alive[node] = False
        self.deaths[node] = self.deaths.get(node, 0) + 1
        for other, alive in self.alive.items():
            if alive and other != node:
                link = self.links.get((node, other))
                if link is None or not (link.cut or link.held):
                    latency = 0 if self.at_once else self.latency if link is None else link.latency
                    self.agenda.add(now + latency, other, node, self.ticket(node, other, reply=False), Disconnected(node), cause)
