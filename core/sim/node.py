"""What a node of the simulation is: a state machine that handles one message at a time and answers by messages.

No node reads another's fields; all goes through the network, where it can be delayed, held or lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from core.sim.journal import Journal
from core.sim.long_polling import LongPoll
from core.sim.messages import Timer
from core.sim.network import Network

Handler = Callable[[Any, str], None]
"""Handles a message from a sender."""


class Node:
    """Base of all nodes.

    Attributes:
        address: name on the network.
        incarnation: counts the node's processes; a timer of a former process is dropped.
        handlers: by message type.
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
        """Handle one message; the journal holds the time and its cause."""
        if type(message) is Timer:
            self.timers[message.name](message.about)
        else:
            self.handlers[type(message)](message, sender)

    def send(self, node: str, message: object) -> None:
        """Send a message, caused by what the journal's cause says."""
        journal = self.journal
        self.network.send(self.address, node, message, journal.now, journal.cause)

    def reply(self, node: str, message: object) -> None:
        """Answer a message that came from a node, on the connection it opened."""
        journal = self.journal
        self.network.send(self.address, node, message, journal.now, journal.cause, reply=True)

    def long_poll(self, client: str, server: str, number: int, rank: int) -> LongPoll:
        """A handle of the polls of a client at a server (`LongPolls.between`); this node is one of the two."""
        return self.network.polls.between(client, server, number, rank, self.journal)

    def timer(self, delay: int, name: str, about: object = None) -> None:
        """Have `timers[name]` called after a delay in µs; a restart of the process forgets it."""
        journal = self.journal
        self.network.agenda.add(journal.now + delay, self.address, self.address, self.incarnation, Timer(name, about), journal.cause)
