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
    """(connection, message, cause) while cut or held."""
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
    """How often an end gave the connection of a pair up, by the pair in order of address."""
    lose_next: set[Direction] = attrs.field(factory=set)
    """Directions whose next message is lost for good (by hand)."""

    def link(self, direction: Direction) -> LinkState:
        """The state of one direction, made if it had only the defaults."""
        state = self.links.get(direction)
        if state is None:
            state = self.links[direction] = LinkState(self.latency, self.jitter, self.loss_ppm)
        return state

    def connection(self, a: str, b: str) -> int:
        """The number of the present connection of two nodes: it grows whenever one breaks."""
        given_up = self.given_up.get((a, b) if a < b else (b, a), 0) if self.given_up else 0
        return self.lives.get(a, 0) + self.lives.get(b, 0) + given_up

    def disconnect(self, a: str, b: str) -> None:
        """One end gives the connection up: what is under way or waits on it is gone."""
        pair = (a, b) if a < b else (b, a)
        self.given_up[pair] = self.given_up.get(pair, 0) + 1

    def send(self, sender: str, node: str, message: object, now: int, cause: int) -> None:
        """Send a message; it arrives later, or never."""
        direction = (sender, node)
        if direction in self.lose_next:
            self.lose_next.discard(direction)
            return
        link = self.links.get(direction)
        connection = self.connection(sender, node)
        if link is not None and (link.cut or link.held):
            link.waiting.append((connection, message, cause))
            return
        if not self.alive.get(node, False):
            back = self.links.get((node, sender))
            if back is None or not back.cut:
                self.scheduler.add(now + 2 * self.latency, sender, node, connection, Disconnected(node), cause)
            return
        self._transmit(sender, node, link, connection, message, now, cause)

    def _transmit(self, sender: str, node: str, link: LinkState | None, connection: int, message: object, now: int, cause: int) -> None:
        if link is None:
            if not self.jitter and not self.loss_ppm:
                self.scheduler.add(now + self.latency, node, sender, connection, message, cause)
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
        self.scheduler.add(arrival, node, sender, connection, message, cause)

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

    def release(self, direction: Direction, now: int) -> int:
        """Let held messages go; returns how many there were, -1 if none were held back."""
        link = self.links.get(direction)
        if link is None or not link.held:
            return -1
        link.held = False
        count = len(link.waiting)
        self._deliver_waiting(direction, link, now)
        return count

    def _deliver_waiting(self, direction: Direction, link: LinkState, now: int) -> None:
        if link.cut or link.held:
            return
        waiting, link.waiting = link.waiting, []
        sender, node = direction
        for connection, message, cause in waiting:
            if connection == self.connection(sender, node) and self.alive.get(node, False):
                self._transmit(sender, node, link, connection, message, now, cause)

    def process_died(self, node: str, now: int, cause: int) -> None:
        """A process ended: its connections break, and the other ends notice where the network lets them."""
        self.alive[node] = False
        self.lives[node] = self.lives.get(node, 0) + 1
        for other, alive in self.alive.items():
            if alive and other != node:
                link = self.links.get((node, other))
                if link is None or not (link.cut or link.held):
                    latency = self.latency if link is None else link.latency
                    self.scheduler.add(now + latency, other, node, self.connection(node, other), Disconnected(node), cause)
