"""A toy protocol: a primary writes the values that a client sends, and copies them to a backup, which takes over when the primary dies."""

from __future__ import annotations

from typing import NamedTuple

from core.sim.agenda import Agenda
from core.sim.journal import Journal, Sink, null_sink
from core.sim.kernel_messages import Disconnected
from core.sim.network import Network
from core.sim.node import Node
from core.sim.random_stream import RandomStream
from core.sim.simulation import Simulation


class Write(NamedTuple):
    """A request of a client to write a value."""

    value: int


class Copy(NamedTuple):
    """A request of the primary to the backup to write a value."""

    value: int


class Copied(NamedTuple):
    """The backup's response after it has written the value."""

    value: int


class Written(NamedTuple):
    """The primary's response to the client."""

    value: int


class Server(Node):
    """A primary or a backup. If `hasty` is set, a primary responds before it sends the value to the backup."""

    def __init__(self, address: str, other: str, network: Network, journal: Journal, *, primary: bool, hasty: bool) -> None:
        super().__init__(address, network, journal)
        self.other = other
        self.primary = primary
        self.hasty = hasty
        self.alone = False
        self.values: list[int] = []
        self.timers = {"copy": self._send_copy}
        self.handlers = {Write: self._write, Copy: self._copy, Copied: self._copied, Disconnected: self._disconnected}

    def _write(self, write: Write, sender: str) -> None:
        if not self.primary:
            return
        self.values.append(write.value)
        self.journal.emit("written", self.address, write.value)
        if self.hasty and not self.alone:
            self.timer(1, "copy", write.value)
        elif not self.alone:
            self._send_copy(write.value)
        if self.alone or self.hasty:
            self.reply("client", Written(write.value))

    def _send_copy(self, value: int) -> None:
        self.send(self.other, Copy(value))

    def _copy(self, copy: Copy, sender: str) -> None:
        self.values.append(copy.value)
        self.journal.emit("copied", self.address, copy.value)
        self.reply(sender, Copied(copy.value))

    def _copied(self, copied: Copied, sender: str) -> None:
        if not self.hasty:
            self.reply("client", Written(copied.value))

    def _disconnected(self, gone: Disconnected, sender: str) -> None:
        self.primary = self.alone = True
        self.journal.emit("primary", self.address)


class Client(Node):
    """A client that writes 1, 2, 3, … to the server that it considers the primary, one value every 10 µs."""

    def __init__(self, servers: list[str], values: int, network: Network, journal: Journal) -> None:
        super().__init__("client", network, journal)
        self.servers = servers
        self.left = list(range(1, values + 1))
        self.acknowledged: set[int] = set()
        self.handlers = {Written: self._written, Disconnected: self._disconnected}
        self.timers = {"write": self._next}
        self.timer(10, "write")

    def _next(self, about: object) -> None:
        self.send(self.servers[0], Write(self.left.pop(0)))
        if self.left:
            self.timer(10, "write")

    def _written(self, written: Written, sender: str) -> None:
        self.acknowledged.add(written.value)
        self.journal.emit("acknowledged", written.value)

    def _disconnected(self, gone: Disconnected, sender: str) -> None:
        self.servers = [each for each in self.servers if each != gone.node]


class Toy(Simulation):
    """A client and two servers."""

    def __init__(self, *, hasty: bool, values: int = 2, sink: Sink = null_sink) -> None:
        journal, agenda = Journal(sink), Agenda()
        network = Network(agenda, 3, 0, 0, RandomStream("toy"))
        super().__init__(journal, agenda, network)
        self.servers = [
            Server("a", "b", network, journal, primary=True, hasty=hasty),
            Server("b", "a", network, journal, primary=False, hasty=hasty),
        ]
        self.client = Client(["a", "b"], values, network, journal)
        self.nodes |= {node.address: node for node in (*self.servers, self.client)}

    def kill(self, server: Server) -> None:
        """End a server's process, which loses its memory."""
        server.incarnation += 1
        server.primary = False
        server.values.clear()
        self.network.process_died(server.address, self.now, 0)

    def lost(self) -> str:
        """Return the acknowledged values that no primary has, after there is a primary again."""
        primaries = [server for server in self.servers if server.primary]
        lost = [value for value in sorted(self.client.acknowledged) if primaries and value not in primaries[0].values]
        return f"lost {lost}" if lost else ""
