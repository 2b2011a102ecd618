"""The network between nodes: connections keep messages in order, and can stall, break, or be refused.

A message takes the link's latency, plus jitter, plus a doubling retransmission timeout for each loss that is drawn: below the
protocol, TCP repeats what is lost. On a cut link, messages wait until the link heals, as TCP keeps retransmitting. They are gone if
the sender gives the connection up before, or if a process at either end dies. A process that does not run refuses connections at once.

TCP delivers once and in order, so it duplicates and reorders nothing. But there may be a proxy between a client and a server, which
can repeat a request (`proxied`), or spread requests over several connections of its own. Such a request arrives twice, or later
requests overtake it. Only one response goes back: a client drops a response to a request that it did not send.
"""

from __future__ import annotations

from typing import Final

from core.sim.agenda import Agenda
from core.sim.long_polling import LongPolls
from core.sim.messages import Disconnected
from core.sim.random_stream import RandomStream

RETRANSMISSION: Final = 200_000
"""TCP's minimum retransmission timeout, µs (Linux TCP_RTO_MIN)."""

MAX_RETRANSMISSION: Final = 6_400_000
"""The maximum that the timeout doubles to, µs."""

PROXY_DELAY: Final = 20_000
"""Maximum delay of a duplicate or of an overtaken request, µs."""

Direction = tuple[str, str]
"""(from, to)."""


class LinkState:
    """One direction of a link.

    Attributes:
        latency, jitter: µs.
        loss_ppm, duplicate_ppm, reorder_ppm: messages lost, duplicated and reordered, parts per million.
        cut: messages wait until the link heals.
        held: messages wait until they are released.
        waiting: the messages that wait.
        last_arrival: when the last message arrives, virtual µs; later ones do not overtake it.
    """

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
        """(connection ticket, message, cause) of messages that wait while the link is cut or held."""
        self.last_arrival = 0


class Network:
    """All links. A direction has a `LinkState` only if it differs from the defaults or has ever been slow, cut or held.

    Attributes:
        latency, jitter: of a link with the defaults, µs.
        loss_ppm, duplicate_ppm, reorder_ppm: of a link with the defaults.
        plain: whether a link with the defaults takes its latency and nothing else.
        proxied: the types of messages that a proxy may repeat or reorder.
        alive: whether a node's process runs, by address.
        deaths: how often each process has died; part of a connection's ticket.
        given_up: how often the opener of a connection gave it up, by (opener, other).
        at_once: in by-hand mode, no message takes time, whatever the link.
        lose_next: directions that lose their next message for good (by hand).
        polls: long polls over the network. Their elision ends before a link or connection changes.
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
        self, agenda: Agenda, latency: int, jitter: int, loss_ppm: int, random: RandomStream, duplicate_ppm: int = 0, reorder_ppm: int = 0,
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
        """The state of a direction. It is created if the direction has had only the defaults."""
        state = self.links.get(direction)
        if state is None:
            self.polls.interrupt(*direction)
            state = self.links[direction] = LinkState(self.latency, self.jitter, self.loss_ppm, self.duplicate_ppm, self.reorder_ppm)
        return state

    def ticket(self, sender: str, node: str, *, reply: bool) -> int:
        """The number that identifies the connection of a message. It changes when the connection breaks; it is odd for replies.

        A request travels on the connection that its sender opened, a reply on the one that its receiver opened.
        """
        if not self.deaths and not self.given_up:
            return int(reply)
        number = self.deaths.get(sender, 0) + self.deaths.get(node, 0)
        if self.given_up:
            number += self.given_up.get((node, sender) if reply else (sender, node), 0)
        return 2 * number + reply

    def is_open(self, sender: str, node: str, ticket: int) -> bool:
        """Whether the connection of a ticket is still open and the receiver's process runs."""
        if not self.alive.get(node, False):
            return False
        if not self.deaths and not self.given_up:
            return True
        return ticket == self.ticket(sender, node, reply=bool(ticket & 1))

    def disconnect(self, opener: str, other: str) -> None:
        """Give up a connection from its opener's side. Messages under way or waiting on it are gone."""
        self.polls.interrupt(opener, other)
        self.given_up[opener, other] = self.given_up.get((opener, other), 0) + 1

    def close(self, acceptor: str, opener: str, now: int, cause: int) -> None:
        """Close a connection from the side that accepted it. The opener is notified if the link lets the notification through."""
        self.disconnect(opener, acceptor)
        link = self.links.get((acceptor, opener))
        if link is None or not (link.cut or link.held):
            latency = 0 if self.at_once else self.latency if link is None else link.latency
            self.agenda.add(now + latency, opener, acceptor, self.ticket(acceptor, opener, reply=True), Disconnected(acceptor), cause)

    def send(self, sender: str, node: str, message: object, now: int, cause: int, *, reply: bool = False) -> None:
        """Send a message. It arrives later, or never. `reply`: it responds to a message from that node."""
        if self.plain and not (self.at_once or self.links or self.deaths or self.given_up or self.lose_next) and self.alive.get(node):
            self.agenda.add(now + self.latency, node, sender, 1 if reply else 0, message, cause)  # nothing has failed yet
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
        """Lose the next message of a direction for good."""
        self.polls.interrupt(sender, node)
        self.lose_next.add((sender, node))

    def steady_latency(self, sender: str, node: str) -> int:
        """How long every message of a direction takes, µs; -1 if that is not known for certain."""
        direction = (sender, node)
        if self.at_once or not self.plain or direction in self.links or direction in self.lose_next:
            return -1
        return self.latency

    def _forget_if_plain(self, direction: Direction, link: LinkState, now: int) -> None:
        """Drop the state of a direction that has the defaults again."""
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
        """Cut a direction; False if it was cut already."""
        link = self.link(direction)
        before, link.cut = link.cut, True
        return not before

    def heal(self, direction: Direction, now: int) -> bool:
        """Heal a direction and retransmit what waits; False if it was not cut."""
        link = self.links.get(direction)
        if link is None or not link.cut:
            return False
        link.cut = False
        self._deliver_waiting(direction, link, now)
        self._forget_if_plain(direction, link, now)
        return True

    def hold(self, direction: Direction) -> bool:
        """Hold the messages of a direction; False if they were held already."""
        link = self.link(direction)
        before, link.held = link.held, True
        return not before

    def release(self, direction: Direction, now: int, messages: int | None = None) -> int:
        """Release held messages. With `messages`, release only that many, oldest first, and keep holding the others.

        Returns:
            How many messages were released; -1 if the direction was not held.
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
        """Break the connections of a process that ended. The other ends are notified where their link lets the notification through."""
        self.polls.process_died(node)
        self.alive[node] = False
        self.deaths[node] = self.deaths.get(node, 0) + 1
        for other, alive in self.alive.items():
            if alive and other != node:
                link = self.links.get((node, other))
                if link is None or not (link.cut or link.held):
                    latency = 0 if self.at_once else self.latency if link is None else link.latency
                    self.agenda.add(now + latency, other, node, self.ticket(node, other, reply=False), Disconnected(node), cause)
