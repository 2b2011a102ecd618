"""The network between nodes: connections keep messages in order, and can stall, break, or be refused.

The delay of a message is the link's latency plus jitter. Nodes can be at sites, such as data centers, and links between nodes at different
sites can have another latency than the other links. Connections work as in TCP, which retransmits lost data. Therefore, each random
loss only adds a retransmission timeout, which doubles each time. On a cut link, messages wait until the link heals, because TCP keeps
retransmitting. A process that is not running refuses connections immediately.

A node opens a connection to another node for its requests, and replies travel back on it. The operating system of a machine, not the
process, sends and receives the bytes. The end of a connection is the message `Disconnected`, which arrives after everything that was sent
before it:

* The sender's process dies: its operating system still sends what the process had sent, also across a link that heals later, and then the
  end of the connection. The receiver handles everything, even if it is paused meanwhile.
* The receiver's process dies: what arrived but was not handled, and what arrives later, is lost. Its next process has new sockets and
  never sees these messages. The node at the other end is told that the connection ended.
* The sender's machine loses power: what is on its way or in the network arrives. What still had to be transmitted is gone: messages on a
  cut link, and those that wait for a retransmission. No end of the connection follows.
* The receiver's machine loses power: messages to it wait, as on a cut link, until the machine is back. Its new process answers those of
  an old connection with a reset, so their sender learns of the end then. Before that, only the timeouts of the other nodes help.
* The receiver is paused: messages and the ends of connections wait in order until it resumes.
* The sender is paused: what it sent before arrives.
* The node that opened a connection closes it, for example after a timeout: the other node still handles the requests that were sent. Its
  replies to them are dropped. Requests that had not left because the connection was not yet open are dropped, too.
* The node that accepted a connection closes it: replies that were sent arrive, followed by the end of the connection. Requests that have
  not been handled are dropped.
* A link is cut or held, in one direction or in both: the messages in this direction wait, also the end of a connection and a refusal.

The first connection between two nodes is open from the beginning. Every later connection costs a round trip before the first request
leaves. A node in `greets` then also waits for an answer from the other process, which a paused process does not give.

TCP delivers messages once and in order. However, a proxy between a client and a server can repeat a request (`proxied`), or spread requests
over several connections of its own. With such a proxy, a server can receive a request twice, or receive requests out of order. Only one
response to each request takes effect, because a client drops responses to requests that are not outstanding.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from core.sim.agenda import Agenda
from core.sim.disturbances import DEAD, PAUSED, STORAGE, Disturbances
from core.sim.kernel_messages import Disconnected, Opened, Opening
from core.sim.long_polling import LongPolls
from core.sim.random_stream import RandomStream

RETRANSMISSION: Final = 200_000
"""TCP's minimum retransmission timeout, in µs (Linux TCP_RTO_MIN)."""

MAX_RETRANSMISSION: Final = 6_400_000
"""The maximum retransmission timeout, in µs, up to which the timeout doubles with each retransmission."""

PROXY_DELAY: Final = 20_000
"""The maximum delay of a duplicate, or of a request that other requests overtake, in µs."""

Direction = tuple[str, str]
"""The addresses of the sender and the receiver."""


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


class Connection:
    """The connections that one node, the opener, has opened to another node, the acceptor, one after the other.

    The first connection has the number 0, and exists from the beginning.

    Attributes:
        number: the number of the opener's latest connection. The opener receives replies only on this connection.
        established: whether the latest connection is open for requests.
        unsent: the requests that wait until the latest connection is open, each as (message, cause).
        accepted: the number of the connection on which the acceptor last received something. It replies on this connection.
        oldest: the oldest connection on which the acceptor still receives requests; it has closed the connections before.
    """

    __slots__ = ("accepted", "established", "number", "oldest", "unsent")

    def __init__(self) -> None:
        self.number = 0
        self.established = True
        self.unsent: list[tuple[object, int]] = []
        self.accepted = 0
        self.oldest = 0

    @property
    def is_settled(self) -> bool:
        """Whether both ends use the latest connection."""
        return self.established and self.accepted == self.number >= self.oldest

    @property
    def is_opened(self) -> bool:
        """Whether the opener has begun to open the latest connection."""
        return self.established or bool(self.unsent)

    def end(self) -> None:
        """End the latest connection at the opener. The next request opens a new connection."""
        self.number += 1
        self.established = False
        self.unsent.clear()


class Network:
    """All links between nodes. If a direction of a link has no `LinkState`, the default values apply.

    Attributes:
        latency, jitter: the default delays of a link, in µs.
        sites: the site of each node that has one, by address.
        distances: the default latency of links from one site to another, in µs, if it differs from `latency`.
        loss_ppm, duplicate_ppm, reorder_ppm: the default shares of messages that a link loses, duplicates, and reorders, in parts per
            million.
        plain: whether every message on a link with the default values arrives after exactly the link's latency.
        uniform: whether every message on a link with the default values arrives after exactly `latency`.
        proxied: the types of messages that a proxy can repeat or reorder.
        alive: whether each node's process is running, by address.
        off: the addresses of the nodes whose machines have lost power.
        greets: the addresses of the nodes that wait for an answer from the other process before they send the first request on a new
            connection.
        connections: the connections by (opener, acceptor). A pair of nodes is missing as long as its first connection is untouched.
        zero_latency: whether messages take no time on any link, as in by-hand mode.
        lose_next: the directions of links in which the next message is lost for good, in by-hand mode.
        polls: the long polls over the network. The elision of a poll ends before a link or connection changes.
        disturbances: what made nodes and links silent or slow.
    """

    __slots__ = (
        "agenda",
        "alive",
        "connections",
        "distances",
        "disturbances",
        "duplicate_ppm",
        "greets",
        "jitter",
        "latency",
        "links",
        "lose_next",
        "loss_ppm",
        "off",
        "plain",
        "polls",
        "proxied",
        "random",
        "reorder_ppm",
        "sites",
        "uniform",
        "zero_latency",
    )  # fmt: skip

    def __init__(
        self, agenda: Agenda, latency: int, jitter: int, loss_ppm: int, random: RandomStream, duplicate_ppm: int = 0, reorder_ppm: int = 0,
        proxied: frozenset[type] = frozenset(), sites: Mapping[str, str] = MappingProxyType({}),
        distances: Mapping[tuple[str, str], int] = MappingProxyType({}),
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
        self.off: set[str] = set()
        self.greets: set[str] = set()
        self.connections: dict[Direction, Connection] = {}
        self.lose_next: set[Direction] = set()
        self.zero_latency = False
        self.sites = dict(sites)
        self.distances = dict(distances)
        self.plain = not (jitter or loss_ppm or duplicate_ppm or reorder_ppm)
        self.uniform = self.plain and not distances
        self.polls = LongPolls(self)
        self.disturbances = Disturbances()

    def link(self, direction: Direction) -> LinkState:
        """Return the state of one direction of a link. If the direction has no state, create a state with the default values."""
        state = self.links.get(direction)
        if state is None:
            self.polls.interrupt(*direction)
            latency = self.default_latency(*direction)
            state = self.links[direction] = LinkState(latency, self.jitter, self.loss_ppm, self.duplicate_ppm, self.reorder_ppm)
        return state

    def default_latency(self, sender: str, node: str) -> int:
        """Return the latency of one direction of a link that nothing has changed, in µs."""
        if not self.distances:
            return self.latency
        sites = self.sites
        return self.distances.get((sites.get(sender, ""), sites.get(node, "")), self.latency)

    def has_default_values(self, direction: Direction, link: LinkState) -> bool:
        """Whether the latency, the jitter, and the shares of lost, duplicated, and reordered messages of a link are the default values."""
        return (link.latency, link.jitter, link.loss_ppm, link.duplicate_ppm, link.reorder_ppm) == (
            self.default_latency(*direction), self.jitter, self.loss_ppm, self.duplicate_ppm, self.reorder_ppm,
        )  # fmt: skip

    @property
    def is_timeless(self) -> bool:
        """Whether messages take no time, as in by-hand mode: connections are open at once, and nodes that wait for a timeout would wait for
        ever.
        """
        return self.zero_latency or not (self.latency or self.distances)

    def connection(self, opener: str, acceptor: str) -> Connection:
        """Return the connections that one node has opened to another."""
        found = self.connections.get((opener, acceptor))
        if found is None:
            found = self.connections[opener, acceptor] = Connection()
        return found

    def ticket(self, sender: str, node: str, *, reply: bool) -> int:
        """Return the number that identifies a message's connection; it is odd for replies.

        A request travels on the connection that its sender opened. A reply travels on the connection that its receiver opened.
        """
        if not self.connections:
            return int(reply)
        connection = self.connections.get((node, sender) if reply else (sender, node))
        if connection is None:
            return int(reply)
        return 2 * connection.accepted + 1 if reply else 2 * connection.number

    def is_open(self, sender: str, node: str, ticket: int) -> bool:
        """Return whether the receiver's end of the connection of a ticket is still open, and its process is running."""
        if not self.alive.get(node, False):
            return False
        if not self.connections:
            return True
        connection = self.connections.get((node, sender) if ticket & 1 else (sender, node))
        if connection is None:
            return True
        return ticket >> 1 == connection.number if ticket & 1 else ticket >> 1 >= connection.oldest

    def is_latest(self, sender: str, node: str, ticket: int) -> bool:
        """Return whether a ticket belongs to the latest connection of its opener."""
        connection = self.connections.get((node, sender) if ticket & 1 else (sender, node))
        return ticket >> 1 == (0 if connection is None else connection.number)

    def is_reset(self, sender: str, node: str, ticket: int) -> bool:
        """Return whether a request arrives at a machine that has closed its connection while the request's sender still uses it. TCP then
        resets the connection.
        """
        closed = not ticket & 1 and self.alive.get(node, False) and not self.is_open(sender, node, ticket)
        return closed and self.is_latest(sender, node, ticket)

    def backlogs(self, now: int) -> tuple[tuple[str, int, int], ...]:
        """Return how long the network interfaces of machines are busy; in this network, they never are."""
        return ()

    def is_settled(self, opener: str, acceptor: str) -> bool:
        """Return whether a request can leave at once, and both ends use the same connection."""
        connection = self.connections.get((opener, acceptor))
        return connection is None or connection.is_settled

    def disconnect(self, opener: str, other: str) -> None:
        """Close a connection from the side that opened it. The other node still handles the requests that were sent."""
        self.polls.interrupt(opener, other)
        self.connection(opener, other).end()

    def close(self, acceptor: str, opener: str, now: int, cause: int) -> None:
        """Close a connection from the side that accepted it. The node that opened the connection is notified after the replies that were
        sent."""
        self.polls.interrupt(opener, acceptor)
        connection = self.connection(opener, acceptor)
        connection.oldest = max(connection.oldest, connection.accepted + 1)
        self._carry(acceptor, opener, 2 * connection.accepted + 1, Disconnected(acceptor, only_opened=True), now, cause)

    def send(self, sender: str, node: str, message: object, now: int, cause: int, *, reply: bool = False) -> None:
        """Send a message, which arrives later or never. If `reply` is set, the message responds to a message from the receiver."""
        if self.uniform and not (self.zero_latency or self.links or self.connections or self.lose_next) and self.alive.get(node):
            self.agenda.add(now + self.latency, node, sender, 1 if reply else 0, message, cause)  # nothing has failed yet
            return
        direction = (sender, node)
        if direction in self.lose_next:
            self.lose_next.discard(direction)
            return
        if reply:
            connection = self.connections.get((node, sender))
            if connection is None or connection.accepted >= connection.oldest:
                self._carry(sender, node, 1 if connection is None else 2 * connection.accepted + 1, message, now, cause)
            return
        connection = self.connections.get(direction)
        if connection is None:
            self._carry(sender, node, 0, message, now, cause)
            return
        if connection.established or self.is_timeless:
            connection.established = True
            self._carry(sender, node, 2 * connection.number, message, now, cause)
            return
        connection.unsent.append((message, cause))
        if len(connection.unsent) == 1:
            self._carry(sender, node, 2 * connection.number, Opening(greets=False), now, cause)

    def receive(self, sender: str, node: str, ticket: int, message: object, now: int, cause: int) -> bool:
        """Receive a message at the machine of a node. Return whether the node's process handles the message."""
        if not self.alive.get(node, False):
            if node in self.off:
                self.link((sender, node)).waiting.append((ticket, message, cause))
            return False
        number = ticket >> 1
        if ticket & 1:
            connection = self.connections.get((node, sender))
            if connection is None:
                return True
            if number != connection.number:
                return False
            if type(message) is Disconnected:
                connection.end()
            elif type(message) is Opened:
                self._opened(node, sender, message, now, cause)
                return False
            return True
        connection = self.connections.get((sender, node))
        if connection is None:
            return True
        if number < connection.oldest:
            if number == connection.number:
                self._carry(node, sender, ticket + 1, Disconnected(node, only_opened=True), now, cause)
            return False
        if number > connection.accepted:
            connection.accepted = number
        if type(message) is Opening:
            self._carry(node, sender, ticket + 1, Opened(message.greets), now, cause)
            return False
        return True

    def _opened(self, opener: str, acceptor: str, answer: Opened, now: int, cause: int) -> None:
        """Send the requests that have waited until the connection was open."""
        connection = self.connection(opener, acceptor)
        ticket = 2 * connection.number
        if opener in self.greets and not answer.greets:
            self._carry(opener, acceptor, ticket, Opening(greets=True), now, cause)
            return
        connection.established = True
        unsent, connection.unsent = connection.unsent, []
        for message, its_cause in unsent:
            self._carry(opener, acceptor, ticket, message, now, its_cause)

    def _carry(self, sender: str, node: str, ticket: int, message: object, now: int, cause: int) -> None:
        """Transmit a message, or let it wait while the link is cut or held or the receiver's machine has no power. A process that is not
        running refuses a request."""
        link = self.links.get((sender, node))
        if node in self.off or (link is not None and (link.cut or link.held)):
            self.link((sender, node)).waiting.append((ticket, message, cause))
        elif self.alive.get(node, False):
            self._transmit(sender, node, link, ticket, message, now, cause)
        else:
            self._refuse(sender, node, link, ticket, now, cause)

    def _refuse(self, sender: str, node: str, link: LinkState | None, ticket: int, now: int, cause: int) -> None:
        """Refuse a request to a process that is not running. A reply to such a process is lost."""
        if not ticket & 1:
            self.connection(sender, node)
            cause = self.disturbances.current(node, DEAD) or cause
            there = 0 if self.zero_latency else self.default_latency(sender, node) if link is None else link.latency
            self._carry(node, sender, ticket + 1, Disconnected(node, only_opened=True), now + there, cause)

    def lose(self, sender: str, node: str) -> None:
        """Permanently lose the next message in one direction of a link."""
        self.polls.interrupt(sender, node)
        self.lose_next.add((sender, node))

    def steady_latency(self, sender: str, node: str) -> int:
        """Return the time that every message in one direction of a link takes, in µs; -1 if that time is not certain."""
        direction = (sender, node)
        if self.zero_latency or not self.plain or direction in self.links or direction in self.lose_next:
            return -1
        return self.default_latency(sender, node)

    def _forget_if_plain(self, direction: Direction, link: LinkState, now: int) -> None:
        """Drop the state of one direction of a link if all of its values are the defaults again."""
        if (
            not (link.cut or link.held or link.waiting)
            and self.has_default_values(direction, link)
            and link.last_arrival <= now + link.latency
        ):
            del self.links[direction]

    def _transmit(self, sender: str, node: str, link: LinkState | None, ticket: int, message: object, now: int, cause: int) -> None:
        if self.zero_latency:
            self.agenda.add(now, node, sender, ticket, message, cause)
            return
        if link is None:
            if self.plain:
                self.agenda.add(now + self.default_latency(sender, node), node, sender, ticket, message, cause)
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
            self._send_on(direction, going, now)
            return len(going)
        link.held = False
        count = len(link.waiting)
        self._deliver_waiting(direction, link, now)
        self._forget_if_plain(direction, link, now)
        return count

    def _deliver_waiting(self, direction: Direction, link: LinkState, now: int) -> None:
        if not (link.cut or link.held or direction[1] in self.off):
            waiting, link.waiting = link.waiting, []
            self._send_on(direction, waiting, now)

    def _send_on(self, direction: Direction, waiting: list[tuple[int, object, int]], now: int) -> None:
        """Transmit messages that have waited. A process that is not running refuses requests."""
        sender, node = direction
        for ticket, message, cause in waiting:
            if self.alive.get(node, False):
                self._transmit(sender, node, self.links.get(direction), ticket, message, now, cause)
            else:
                self._refuse(sender, node, self.links.get(direction), ticket, now, cause)

    def process_died(self, node: str, now: int, cause: int, *, power: bool = False) -> None:
        """End the connections of a process that died. Its operating system notifies the nodes at the other ends, unless the machine has
        lost its power. In by-hand mode, in which no timeout elapses, it notifies them in any case.
        """
        self.polls.process_died(node)
        self.disturbances.end(node, PAUSED, now)
        self.disturbances.begin(node, DEAD, cause, now)
        self.alive[node] = False
        silent = power and not self.is_timeless
        if silent:
            self._lose_untransmitted(node, now)
            self.off.add(node)
        for other, alive in self.alive.items():
            if other != node:
                own, theirs = self.connection(node, other), self.connection(other, node)
                ticket = 2 * theirs.number + 1 if theirs.is_opened else 2 * own.number
                theirs.oldest = theirs.number + theirs.is_opened
                own.end()
                if alive and not silent:
                    self._carry(node, other, ticket, Disconnected(node), now, cause)

    def _lose_untransmitted(self, node: str, now: int) -> None:
        """Lose the messages that the machine of a node has not yet transmitted successfully."""
        latest: dict[str, int] = {}
        for (sender, receiver), link in self.links.items():
            if sender == node:
                if link.cut or receiver in self.off:
                    link.waiting.clear()
                if link.loss_ppm:
                    latest[receiver] = now + link.latency + link.jitter
        if latest:
            agenda = self.agenda
            agenda.entries[:] = [e for e in agenda.entries if e.sender != node or e.time <= latest.get(e.node, e.time)]
            heapq.heapify(agenda.entries)

    def process_started(self, node: str, now: int) -> None:
        """Let the process of a node run. If its machine had lost power, the messages that wait for the machine arrive now."""
        self.alive[node] = True
        self.disturbances.end(node, DEAD, now)
        self.disturbances.end(node, STORAGE, now)
        if node in self.off:
            self.off.discard(node)
            for direction, link in list(self.links.items()):
                if direction[1] == node:
                    self._deliver_waiting(direction, link, now)
                    self._forget_if_plain(direction, link, now)
