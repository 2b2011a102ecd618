"""The network between nodes: connections keep messages in order, and can stall, break, or be refused.

The delay of a message is the link's latency plus jitter. Kafka's protocol uses TCP, which retransmits lost data. Therefore, each random
loss only adds a retransmission timeout, which doubles each time. On a cut link, messages wait until the link heals, because TCP keeps
retransmitting. Messages are dropped if the sender closes the connection or if a process at either end dies. A process that is not running
refuses connections immediately.

TCP delivers messages once and in order. However, a proxy between a client and a server can repeat a request (`proxied`), or spread requests
over several connections of its own. With such a proxy, a server can receive a request twice, or receive requests out of order. Only one
response to each request takes effect, because a client drops responses to requests that are not outstanding.
"""

from __future__ import annotations

from typing import Final

from core.sim.agenda import Agenda
from core.sim.disturbances import DEAD, PAUSED, Disturbances
from core.sim.long_polling import LongPolls
from core.sim.messages import Disconnected
from core.sim.random_stream import RandomStream

RETRANSMISSION: Final = 200_000
"""TCP's minimum retransmission timeout, in µs (Linux TCP_RTO_MIN)."""

MAX_RETRANSMISSION: Final = 6_400_000
"""The maximum retransmission timeout, in µs, up to which the timeout doubles with each retransmission."""

PROXY_DELAY: Final = 20_000
"""The maximum delay of a duplicate, or of a request that other requests overtake, in µs."""

Direction = tuple[str, str]
"""The addresses of the sender and the receiver."""

SENT_BEFORE_CLOSE: Final = -2
"""The ticket of a request that was held back when its sender closed the connection. The request still arrives if the receiver's process is
running.
"""


class LinkState:
    """One direction of a link.

    Attributes:
        latency, jitter: the fixed delay and the maximum random delay, in µs.
        loss_ppm, duplicate_ppm, reorder_ppm: the shares of messages that are lost, duplicated, and reordered, in parts per million.
        cut: whether messages wait until the link heals.
        held: whether messages wait until they are released.
        waiting: the messages that are waiting until the link heals or is released.
        last_arrival: the virtual time at which the last message arrives, in µs; messages that are sent later arrive no earlier.
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
        """The messages that are waiting while the link is cut or held, each as (connection ticket, message, cause)."""
        self.last_arrival = 0


class Network:
    """All links between nodes. If a direction of a link has no `LinkState`, the default values apply.

    Attributes:
        latency, jitter: the default delays of a link, in µs.
        loss_ppm, duplicate_ppm, reorder_ppm: the default shares of messages that a link loses, duplicates, and reorders, in parts per
            million.
        plain: whether every message on a link with the default values arrives after exactly the link's latency.
        proxied: the types of messages that a proxy can repeat or reorder.
        alive: whether each node's process is running, by address.
        deaths: the number of times that each process has died. A connection's ticket (`ticket`) is derived from the numbers of both ends,
            so the ticket changes when a process at either end dies.
        disconnects: how many times the opener of a connection has closed the connection, by (opener, other end).
        zero_latency: whether messages take no time on any link, as in by-hand mode.
        lose_next: the directions of links in which the next message is lost for good, in by-hand mode.
        polls: the long polls over the network. The elision of a poll ends before a link or connection changes.
        disturbances: what made nodes and links silent or slow.
    """

    __slots__ = (
        "agenda",
        "alive",
        "deaths",
        "disconnects",
        "disturbances",
        "duplicate_ppm",
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
        "zero_latency",
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
        self.disconnects: dict[Direction, int] = {}
        self.lose_next: set[Direction] = set()
        self.zero_latency = False
        self.plain = not (jitter or loss_ppm or duplicate_ppm or reorder_ppm)
        self.polls = LongPolls(self)
        self.disturbances = Disturbances()

    def link(self, direction: Direction) -> LinkState:
        """Return the state of one direction of a link. If the direction has no state, create a state with the default values."""
        state = self.links.get(direction)
        if state is None:
            self.polls.interrupt(*direction)
            state = self.links[direction] = LinkState(self.latency, self.jitter, self.loss_ppm, self.duplicate_ppm, self.reorder_ppm)
        return state

    def ticket(self, sender: str, node: str, *, reply: bool) -> int:
        """Return the number that identifies a message's connection. The connection number changes when the connection breaks, and is odd
        for replies.

        A request travels on the connection that its sender opened. A reply travels on the connection that its receiver opened.
        """
        if not self.deaths and not self.disconnects:
            return int(reply)
        number = self.deaths.get(sender, 0) + self.deaths.get(node, 0)
        if self.disconnects:
            number += self.disconnects.get((node, sender) if reply else (sender, node), 0)
        return 2 * number + reply

    def is_open(self, sender: str, node: str, ticket: int) -> bool:
        """Return whether the connection of a ticket is still open and the receiver's process is running."""
        if not self.alive.get(node, False):
            return False
        if ticket == SENT_BEFORE_CLOSE or (not self.deaths and not self.disconnects):
            return True
        return ticket == self.ticket(sender, node, reply=bool(ticket & 1))

    def disconnect(self, opener: str, other: str) -> None:
        """Close a connection from the side that opened it. Messages that are in transit or waiting on the connection are dropped.

        Messages from the opener that `hold` holds back are not dropped. Messages that are held back are already in the network, and TCP
        delivers what was sent before the connection was closed.
        """
        self.polls.interrupt(opener, other)
        link = self.links.get((opener, other))
        if link is not None and link.held and not link.cut:
            link.waiting = [
                (SENT_BEFORE_CLOSE if not ticket & 1 and self.is_open(opener, other, ticket) else ticket, message, cause)
                for ticket, message, cause in link.waiting
            ]
        self.disconnects[opener, other] = self.disconnects.get((opener, other), 0) + 1

    def close(self, acceptor: str, opener: str, now: int, cause: int) -> None:
        """Close a connection from the side that accepted it. The node that opened the connection is notified, unless the link is cut or
        holds messages."""
        self.disconnect(opener, acceptor)
        link = self.links.get((acceptor, opener))
        if link is None or not (link.cut or link.held):
            latency = 0 if self.zero_latency else self.latency if link is None else link.latency
            self.agenda.add(now + latency, opener, acceptor, self.ticket(acceptor, opener, reply=True), Disconnected(acceptor), cause)

    def send(self, sender: str, node: str, message: object, now: int, cause: int, *, reply: bool = False) -> None:
        """Send a message, which arrives later or never. If `reply` is set, the message responds to a message from the receiver."""
        if (
            self.plain
            and not (self.zero_latency or self.links or self.deaths or self.disconnects or self.lose_next)
            and self.alive.get(node)
        ):
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
                cause = self.disturbances.current(node, DEAD) or cause
                self.agenda.add(now if self.zero_latency else now + 2 * self.latency, sender, node, refusal, Disconnected(node), cause)
            return
        self._transmit(sender, node, link, ticket, message, now, cause)

    def lose(self, sender: str, node: str) -> None:
        """Permanently lose the next message in one direction of a link."""
        self.polls.interrupt(sender, node)
        self.lose_next.add((sender, node))

    def steady_latency(self, sender: str, node: str) -> int:
        """Return the time that every message in one direction of a link takes, in µs; -1 if that time is not certain."""
        direction = (sender, node)
        if self.zero_latency or not self.plain or direction in self.links or direction in self.lose_next:
            return -1
        return self.latency

    def _forget_if_plain(self, direction: Direction, link: LinkState, now: int) -> None:
        """Drop the state of one direction of a link if all of its values are the defaults again."""
        if (
            not (link.cut or link.held or link.waiting)
            and (link.latency, link.jitter, link.loss_ppm) == (self.latency, self.jitter, self.loss_ppm)
            and (link.duplicate_ppm, link.reorder_ppm) == (self.duplicate_ppm, self.reorder_ppm)
            and link.last_arrival <= now + self.latency
        ):
            del self.links[direction]

    def _transmit(self, sender: str, node: str, link: LinkState | None, ticket: int, message: object, now: int, cause: int) -> None:
        if self.zero_latency:
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
        """Cut one direction of a link. Return False if the direction was already cut."""
        link = self.link(direction)
        before, link.cut = link.cut, True
        return not before

    def heal(self, direction: Direction, now: int) -> bool:
        """Heal one direction of a link, and retransmit the waiting messages. Return False if the direction was not cut."""
        link = self.links.get(direction)
        if link is None or not link.cut:
            return False
        link.cut = False
        self._deliver_waiting(direction, link, now)
        self._forget_if_plain(direction, link, now)
        return True

    def hold(self, direction: Direction) -> bool:
        """Hold the messages in one direction of a link. Return False if the messages in this direction were already held."""
        link = self.link(direction)
        before, link.held = link.held, True
        return not before

    def release(self, direction: Direction, now: int, messages: int | None = None) -> int:
        """Release held messages. If `messages` is given, release only that many messages, oldest first, and keep holding the other
        messages.

        Returns:
            The number of messages that were released, or -1 if the link was not holding messages in this direction.
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

    def process_started(self, node: str, now: int) -> None:
        """Record that a process runs again, and can be reached."""
        self.alive[node] = True
        self.disturbances.end(node, DEAD, now)

    def process_died(self, node: str, now: int, cause: int) -> None:
        """Break the connections of a process that ended. Notify the node at the other end of each connection if the link lets the
        notification through.
        """
        self.polls.process_died(node)
        self.disturbances.end(node, PAUSED, now)
        self.disturbances.begin(node, DEAD, cause, now)
        for (_, receiver), state in self.links.items():
            if receiver == node:
                state.waiting = [each for each in state.waiting if each[0] != SENT_BEFORE_CLOSE]
        self.alive[node] = False
        self.deaths[node] = self.deaths.get(node, 0) + 1
        for other, alive in self.alive.items():
            if alive and other != node:
                link = self.links.get((node, other))
                if link is None or not (link.cut or link.held):
                    latency = 0 if self.zero_latency else self.latency if link is None else link.latency
                    self.agenda.add(now + latency, other, node, self.ticket(node, other, reply=False), Disconnected(node), cause)
