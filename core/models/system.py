"""A running instance of any replication model: servers, clients, acts, and views. Each model extends this class; the kernel does not depend
on the models.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatchmethod
from typing import ClassVar, Final

import attrs

from core.models import acts, events
from core.models.account import Account
from core.models.client import Client
from core.models.client_messages import Row
from core.models.report import Report, counts
from core.models.server import CopyView, Server
from core.models.traffic import Traffic
from core.sim.agenda import Agenda, Entry
from core.sim.errors import ActRefused
from core.sim.journal import Journal, Sink, null_sink
from core.sim.network import Network
from core.sim.random_stream import RandomStream
from core.sim.simulation import Simulation
from core.sim.units import SECOND, US_PER_MS

QUIET: Final = 60 * SECOND
"""How long a run continues without faults and load before its final state is taken, in µs."""


class ReplicationSystem(Simulation):
    """A running instance of a replication model.

    Attributes:
        model: the name of the model.
        traffic: the traffic between the servers.
        servers, clients: the servers and clients, by name.
        account: the clients' requests and how they ended.
        dead_for_good: the servers whose machines are permanently lost.
    """

    model: ClassVar[str]
    READS: ClassVar[tuple[str, ...]]
    """The read modes that the system supports, the default mode first."""

    __slots__ = ("account", "clients", "dead_for_good", "seed", "servers", "traffic")

    account: Final[Account]
    traffic: Final[Traffic]

    def __init__(self, seed: int = 0, sink: Sink = null_sink, latency: int = US_PER_MS) -> None:
        journal, agenda = Journal(sink), Agenda()
        super().__init__(journal, agenda, Network(agenda, latency, 0, 0, RandomStream(f"{seed}:network")))
        self.seed = seed
        self.servers: dict[str, Server] = {}
        self.clients: dict[str, Client] = {}
        self.account = Account(journal)
        self.traffic = Traffic(self.servers)
        self.dead_for_good: set[str] = set()

    def add_server(self, server: Server) -> None:
        """Add a server. Call this method before the system starts."""
        self.servers[server.address] = self.nodes[server.address] = server

    def add_client(self, name: str, servers: tuple[str, ...] = (), *, session: bool = False) -> Client:
        """Add a client, which needs no time to reach the servers."""
        client = Client(name, servers or tuple(self.servers), self.account, self.network, self.journal, session=session)
        self.clients[name] = self.nodes[name] = client
        for server in self.servers:
            self.network.link((name, server)).latency = self.network.link((server, name)).latency = 0
        return client

    def handle(self, entry: Entry) -> None:
        self.traffic.count(self, entry)
        super().handle(entry)

    # --- the model's own answers --------------------------------------------------------------------------------------

    def authority(self) -> str:
        """Return the authoritative server: the leader, source, or primary; empty if there is none."""
        raise NotImplementedError

    def final_rows(self) -> list[Row]:
        """Return the rows of the authoritative server, in order."""
        name = self.authority()
        return list(self.servers[name].places().values()) if name else []

    def electable(self) -> tuple[str, ...]:
        """Return the servers that could currently replace the primary, other than the primary itself."""
        raise NotImplementedError

    def promote(self, act: acts.Promote) -> None:
        """Promote a server because an operator decided to do so."""
        raise NotImplementedError

    # --- acts ---------------------------------------------------------------------------------------------------------

    def do(self, act: acts.Act) -> int:
        """Execute an act now. Return the sequence number of the act's event.

        Raises:
            ActRefused: the act is impossible now or makes no sense in this model. A refused act changes nothing.
        """
        self.check(act)
        journal = self.journal
        journal.cause = 0
        journal.cause = seq = journal.emit(events.Acted.kind, act.word, act.text())
        self.execute(act)
        journal.cause = 0
        return seq

    def check(self, act: acts.Act) -> None:
        """Refuse an act that is impossible now."""
        for name in ("server", "a", "b"):
            node = getattr(act, name, "")
            if node and node not in self.nodes:
                raise ActRefused(f"there is no {node}; the nodes are {', '.join(self.nodes)}")
        client = getattr(act, "client", "")
        if client and client not in self.clients:
            raise ActRefused(f"there is no client {client}; the clients are {', '.join(self.clients)}")
        for node in getattr(act, "servers", ()):
            if node not in self.servers:
                raise ActRefused(f"there is no server {node}; the servers are {', '.join(self.servers)}")
        match act:
            case acts.Kill(server) | acts.Shutdown(server) | acts.Pause(server) if not self.network.alive[server]:
                raise ActRefused(f"the process of {server} is not running")
            case acts.Pause(server) if server in self.paused:
                raise ActRefused(f"{server} is already paused")
            case acts.Resume(server) if server not in self.paused:
                raise ActRefused(f"{server} is not paused")
            case acts.Restart(server) if self.network.alive[server]:
                raise ActRefused(f"the process of {server} is already running")
            case acts.Restart(server) if server in self.dead_for_good:
                raise ActRefused(f"the machine of {server} is permanently lost")
            case acts.Hold(a, b) if self.is_held(a, b):
                raise ActRefused(f"the messages from {a} to {b} are already held")
            case acts.Release(a, b) if not self.is_held(a, b):
                raise ActRefused(f"the messages from {a} to {b} are not held")
            case acts.Promote():
                self.check_promotion(act)

    def check_promotion(self, act: acts.Promote) -> None:
        """Refuse a promotion that is impossible or makes no sense in this model."""

    @singledispatchmethod
    def execute(self, act: acts.Act) -> None:
        """Execute an act that has been checked."""
        raise ActRefused(f"{self.model} has no act '{act.word}'")

    @execute.register
    def _(self, act: acts.Kill) -> None:
        self._end(act.server, power=False)

    @execute.register
    def _(self, act: acts.PowerLoss) -> None:
        for server in act.servers:
            if self.network.alive[server]:
                self._end(server, power=True)

    @execute.register
    def _(self, act: acts.Restart) -> None:
        server = self.servers[act.server]
        self.network.process_started(act.server, self.now)
        self.journal.cause = self.journal.emit(events.ProcessStarted.kind, act.server)
        server.begin()

    @execute.register
    def _(self, act: acts.Pause) -> None:
        self.pause(act.server)

    @execute.register
    def _(self, act: acts.Resume) -> None:
        self.resume(act.server)

    @execute.register
    def _(self, act: acts.Cut) -> None:
        self._cut(act.a, act.b, closes=act.closes)

    @execute.register
    def _(self, act: acts.Heal) -> None:
        self._heal(act.a, act.b)

    @execute.register
    def _(self, act: acts.KillConnection) -> None:
        server = act.server or self.clients[act.client].target
        self.network.close(server, act.client, self.now, self.journal.cause)
        self.servers[server].connection_killed(act.client)

    @execute.register
    def _(self, act: acts.Hold) -> None:
        self.network.hold((act.a, act.b))

    @execute.register
    def _(self, act: acts.Release) -> None:
        self.network.release((act.a, act.b), self.now)

    @execute.register
    def _(self, act: acts.Isolate) -> None:
        inside = {act.server, *act.clients}
        for a in self.nodes:
            for b in self.nodes:
                if a in inside and b not in inside and (a in self.servers or b in self.servers):
                    self._cut(a, b, closes=act.closes)

    @execute.register
    def _(self, act: acts.HealAll) -> None:
        for a, b in [direction for direction, link in self.network.links.items() if link.cut]:
            self.network.heal((a, b), self.now)

    @execute.register
    def _(self, act: acts.SlowLink) -> None:
        for direction in ((act.a, act.b), (act.b, act.a)):
            self.network.link(direction).latency = act.latency

    @execute.register
    def _(self, act: acts.SlowDisk) -> None:
        self.servers[act.server].write_time = act.write_time or US_PER_MS  # 0 restores the normal speed

    @execute.register
    def _(self, act: acts.Promote) -> None:
        self.promote(act)

    def _end(self, name: str, *, power: bool) -> None:
        server = self.servers[name]
        self.paused.pop(name, None)
        self.journal.cause = cause = self.journal.emit(events.ProcessDied.kind, name, power)
        server.incarnation += 1
        server.end(power=power)
        self.network.process_died(name, self.now, cause, power=power)

    def _cut(self, a: str, b: str, *, closes: bool) -> None:
        if closes and not self.is_cut(a, b):  # nothing gets through a link that is cut, not even the end of a connection
            self.network.close(a, b, self.now, self.journal.cause)
            self.network.close(b, a, self.now, self.journal.cause)
        self.network.cut((a, b))
        self.network.cut((b, a))

    def is_cut(self, a: str, b: str) -> bool:
        """Return whether the link between two nodes is cut."""
        link = self.network.links.get((a, b))
        return link is not None and link.cut

    def is_held(self, a: str, b: str) -> bool:
        """Return whether messages from one node to another are held back."""
        link = self.network.links.get((a, b))
        return link is not None and link.held

    def _heal(self, a: str, b: str) -> None:
        self.network.heal((a, b), self.now)
        self.network.heal((b, a), self.now)

    # --- the end of a run ---------------------------------------------------------------------------------------------

    def repair(self) -> None:
        """End all faults.

        Heal and release the links, resume paused servers, start dead servers that are not permanently lost, and make slow disks and links fast again.
        """
        self.do(acts.HealAll())
        for a, b in [direction for direction, link in self.network.links.items() if link.held]:
            self.do(acts.Release(a, b))
        for name in list(self.paused):
            self.do(acts.Resume(name))
        for name in self.servers:
            if not self.network.alive[name] and name not in self.dead_for_good:
                self.do(acts.Restart(name))
            if self.servers[name].write_time != US_PER_MS:
                self.do(acts.SlowDisk(name, US_PER_MS))
        for (a, b), link in list(self.network.links.items()):
            if a < b and a in self.servers and b in self.servers and link.latency != self.network.latency:
                self.do(acts.SlowLink(a, b, self.network.latency))

    def stop_load(self) -> None:
        """Stop all loops of all clients. Outstanding requests continue."""
        for client in self.clients.values():
            client.stop()

    def settle(self, quiet: int = QUIET) -> Report:
        """End all faults and the load, wait until nothing changes anymore, and return the counts."""
        self.repair()
        self.stop_load()
        self.run_until(self.now + quiet)
        return self.report()

    def report(self) -> Report:
        """Return the counts, with the current data of the authoritative server as the final state."""
        authority = self.authority()
        places = self.servers[authority].places() if authority else {}
        others = [server.places() for name, server in self.servers.items() if self._is_compared(name)]
        return counts(self.account, authority, self.final_rows(), places, others, self.traffic.bytes)

    def _is_compared(self, name: str) -> bool:
        authority = self.authority()
        return bool(authority) and name != authority and self.network.alive[name] and self.servers[name].has_copy

    def holds(self, server: str, row: Row) -> bool:
        """Return whether a server has received a row."""
        return self.servers[server].holds(row)

    def copy_state(self, server: str) -> tuple[int, int]:
        """Return a number that changes if the copy's content is replaced, and the length of the copy."""
        return self.servers[server].copy_state()

    def received_since(self, server: str, length: int) -> Iterable[Row]:
        """Return the rows that a server has received since its copy had a given length."""
        return self.servers[server].received_since(length)

    # --- views --------------------------------------------------------------------------------------------------------

    def running(self) -> Iterable[str]:
        """Return the names of the servers whose processes are running."""
        return [name for name in self.servers if self.network.alive[name]]

    def copies(self) -> tuple[CopyView, ...]:
        """Return a frozen view of each copy."""
        oks = self.account.oks
        views = []
        for name, server in self.servers.items():
            has = {row.uid for row in server.stored_rows() if row.uid in oks}
            views.append(attrs.evolve(server.view(), running=self.network.alive[name], acknowledged=len(has)))
        return tuple(views)
