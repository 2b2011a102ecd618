"""The traffic between servers, counted in the same way for all models.

A message counts when it arrives at another server. Messages between clients and servers don't count, and neither do messages that are
dropped because a process is dead or a connection is broken. The size of a message is `OVERHEAD` bytes plus `ROW_BYTES` for each row that it
carries (`core.models.client_messages`).
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Final

from core.models.client_messages import wire_bytes
from core.sim.agenda import Entry
from core.sim.kernel_messages import Disconnected, Opened, Opening
from core.sim.simulation import Simulation


class Traffic:
    """The traffic between the servers of a simulation.

    Attributes:
        servers: the names of the servers. All other nodes are clients.
        size: the function that returns the size of a message, in bytes.
        messages, bytes: the number of messages that arrived, and the sum of their sizes.
    """

    __slots__ = ("bytes", "messages", "servers", "size")

    servers: Final[Container[str]]
    size: Final[Callable[[object], int]]

    def __init__(self, servers: Container[str], size: Callable[[object], int] = wire_bytes) -> None:
        self.servers = servers
        self.size = size
        self.messages = 0
        self.bytes = 0

    def count(self, simulation: Simulation, entry: Entry) -> None:
        """Count an agenda entry that is about to be handled, if it is a message from another server."""
        sender, node = entry.sender, entry.node
        if (
            sender != node
            and sender in self.servers
            and node in self.servers
            and node not in simulation.paused
            and type(entry.message) not in (Disconnected, Opening, Opened)
            and simulation.network.is_open(sender, node, entry.connection)
        ):
            self.messages += 1
            self.bytes += self.size(entry.message)
