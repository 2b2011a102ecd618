"""The network between nodes, as Kafka sees it: connections that keep order, stall, break, or are refused.

A message takes the link's latency, plus jitter, plus a retransmission time-out (doubling) for each loss drawn: below
Kafka there is TCP, which repeats what is lost. On a cut link messages wait for the link to heal, as TCP keeps
retransmitting, unless the sender gave the connection up by then or a process at an end of it died: then they are gone.
A process that does not run refuses connections at once.
"""

from __future__ import annotations

import random
from typing import Final

import attrs

from core.messages import Disconnected
from core.sim.scheduler import Scheduler

RETRANSMISSION: Final = 200_000
"""TCP's least retransmission time-out, µs (Linux TCP_RTO_MIN)."""

RETRANSMISSION_MOST: Final = 6_400_000
"""Bound of the doubling, µs."""

Direction = tuple[str, str]
"""(from, to)."""


@attrs.define(slots=True)
class LinkState:
    """One direction of a link: latency and jitter in µs, loss in parts per million, cut, held, and what waits."""

    latency: int
    jitter: int
    loss_ppm: int
    cut: bool = False
    held: bool = False
    waiting: list[tuple[int, object, int]] = attrs.field(factory=list)
    """(connection ticket, message, cause) while cut or held."""
    last_arrival: int = 0


@attrs.define(slots=True)
class Network:
    """All links. Only directions that differ from the default, or were ever slow or cut, are kept."""

    scheduler: Scheduler
    latency: int
    jitter: int
    loss_ppm: int
    random: random.Random
    alive: dict[str, bool] = attrs.field(factory=dict)
    """Whether a node's process runs, by address."""
    links: dict[Direction, LinkState] = attrs.field(factory=dict)
    lives: dict[str, int] = attrs.field(factory=dict)
    """How often each process has died: part of a connection's number."""
    given_up: dict[Direction, int] = attrs.field(factory=dict)
    """How often the one that opened a connection gave it up, by (opener, other)."""
    lose_next: set[Direction] = attrs.field(factory=set)
    """Directions whose next message is lost for good (by hand)."""

    def link(self, direction: Direction) -> LinkState:
        """The state of one direction, made if it had only the defaults."""
        state = self.links.get(direction)
        if state is None:
            state = self.links[direction] = LinkState(self.latency, self.jitter, self.loss_ppm)
        return state

    def ticket(self, sender: str, node: str, *, reply: bool) -> int:
        """The number of the connection a message travels on, twice, plus 1 for a reply: it changes whenever that connection breaks.

        A request travels on the connection its sender opened, a reply on the one its receiver opened.
        """
        number = self.lives.get(sender, 0) + self.lives.get(node, 0)
        if self.given_up:
            number += self.given_up.get((node, sender) if reply else (sender, node), 0)
        return 2 * number + reply

    def is_open(self, sender: str, node: str, ticket: int) -> bool:
        """Whether the connection of a ticket still stands and the receiver's process runs."""
        return self.alive.get(node, False) and ticket == self.ticket(sender, node, reply=bool(ticket & 1))

    def disconnect(self, opener: str, other: str) -> None:
        """The one that opened a connection gives it up: what is under way or waits on it is gone."""
        self.given_up[opener, other] = self.given_up.get((opener, other), 0) + 1

    def send(self, sender: str, node: str, message: object, now: int, cause: int, *, reply: bool = False) -> None:
        """Send a message; it arrives later, or never. `reply`: it answers one that came from there."""
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
                self.scheduler.add(now + 2 * self.latency, sender, node, refusal, Disconnected(node), cause)
            return
        self._transmit(sender, node, link, ticket, message, now, cause)

    def _transmit(self, sender: str, node: str, link: LinkState | None, ticket: int, message: object, now: int, cause: int) -> None:
        if link is None:
            if not self.jitter and not self.loss_ppm:
                self.scheduler.add(now + self.latency, node, sender, ticket, message, cause)
                return
            link = self.link((sender, node))
        arrival = now + link.latency
        if link.jitter:
            arrival += self.random.randrange(link.jitter + 1)
        if link.loss_ppm:
            wait = RETRANSMISSION
            while self.random.randrange(1_000_000) < link.loss_ppm:
                arrival += wait
                wait = min(2 * wait, RETRANSMISSION_MOST)
        link.last_arrival = arrival = max(arrival, link.last_arrival)
        self.scheduler.add(arrival, node, sender, ticket, message, cause)

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
        self.alive[node] = False
        self.lives[node] = self.lives.get(node, 0) + 1
        for other, alive in self.alive.items():
            if alive and other != node:
                link = self.links.get((node, other))
                if link is None or not (link.cut or link.held):
                    latency = self.latency if link is None else link.latency
                    self.scheduler.add(now + latency, other, node, self.ticket(node, other, reply=False), Disconnected(node), cause)
