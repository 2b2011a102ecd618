"""A node of the simulation: a state machine that handles one message at a time, and responds with messages.

No node reads another node's fields. Nodes communicate only through the network, which can delay, hold, or lose messages.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final

from core.sim.journal import Journal
from core.sim.kernel_messages import Timer
from core.sim.long_polling import LongPoll
from core.sim.network import Network

Handler = Callable[[Any, str], None]
"""A function that handles a message from a sender."""


class Node:
    """The base class of all nodes.

    Attributes:
        address: the node's name on the network.
        incarnation: the number that distinguishes the node's current process from its former processes. Timers of a former process are
            dropped.
        handlers: the functions that handle messages, by message type.
        timers: the functions of timers, by timer name.
    """

    __slots__ = ("address", "handlers", "incarnation", "journal", "network", "timers")

    address: Final[str]
    network: Final[Network]
    journal: Final[Journal]
    handlers: Final[dict[type, Handler]]
    timers: Final[dict[str, Callable[[Any], None]]]

    def __init__(self, address: str, network: Network, journal: Journal) -> None:
        self.address = address
        self.network = network
        self.journal = journal
        self.incarnation = 0
        self.handlers = {}
        self.timers = {}
        network.alive[address] = True

    def handle(self, message: object, sender: str) -> None:
        """Handle a message. The journal holds the current time and the message's cause."""
        if type(message) is Timer:
            self.timers[message.name](message.about)
        else:
            self.handlers[type(message)](message, sender)

    def send(self, node: str, message: object) -> None:
        """Send a message. The message's cause is the journal's `cause`. A message to the node itself takes no time and is not lost."""
        journal = self.journal
        if node == self.address:
            self.network.agenda.add(journal.now, node, node, self.incarnation, message, journal.cause)
            return
        self.network.send(self.address, node, message, journal.now, journal.cause)

    def reply(self, node: str, message: object) -> None:
        """Respond to a message from a node, on the connection that the node opened."""
        if node == self.address:
            self.send(node, message)
            return
        journal = self.journal
        self.network.send(self.address, node, message, journal.now, journal.cause, reply=True)

    def long_poll(self, client: str, server: str, number: int, rank: int) -> LongPoll:
        """Return the handle of a client's long polls at a server (`LongPolls.between`). This node must be the client or the server."""
        return self.network.polls.between(client, server, number, rank, self.journal)

    def why_silent(self, peer: str, since: int) -> tuple[int, ...]:
        """Return the events because of which this node has received nothing from a peer since a virtual time (`Disturbances#why_silent`)."""
        return self.network.disturbances.why_silent(peer, self.address, since, self.journal.now)

    def why_slow(self, since: int) -> tuple[int, ...]:
        """Return the events because of which this node has not done its work since a virtual time (`Disturbances#why_slow`)."""
        return self.network.disturbances.why_slow(self.address, since, self.journal.now)

    def last_change(self, what: Hashable) -> int:
        """Return the event that last changed something that several nodes know (`Disturbances#last_change`)."""
        return self.network.disturbances.last_change(what)

    def timer(self, delay: int, name: str, about: object = None) -> None:
        """Call `timers[name]` after a delay in µs, unless the process restarts before then."""
        journal = self.journal
        self.network.agenda.add(journal.now + delay, self.address, self.address, self.incarnation, Timer(name, about), journal.cause)
