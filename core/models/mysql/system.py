"""A MySQL source with its replicas, and the acts of an operator on them."""

from __future__ import annotations

from typing import Final

import attrs

from core.models import acts
from core.models.mysql.server import MySQLServer
from core.models.mysql.settings import MySQLSettings
from core.models.mysql.transactions import Gtid
from core.models.system import ReplicationSystem
from core.sim.errors import ActRefused
from core.sim.journal import Sink, null_sink


@attrs.frozen
class PromoteAtOnce(acts.Act):
    """Make a replica the source without waiting until its relay log is applied.

    Attributes:
        drop_relay_log: whether the replica drops the transactions that it has received but not applied (RESET REPLICA), instead of applying
            them later.
    """

    word = "promote-at-once"
    server: str
    drop_relay_log: bool = False

    def text(self) -> str:
        return f"promote {self.server} at once" + (" and drop its relay log" if self.drop_relay_log else "")


@attrs.frozen
class Follow(acts.Act):
    """Make a server replicate from a source, or restart its replication."""

    word = "follow"
    server: str
    source: str

    def text(self) -> str:
        return f"have {self.server} replicate from {self.source}"


@attrs.frozen
class StopApplier(acts.Act):
    """Stop applying received transactions at a replica, which continues to receive and to acknowledge transactions."""

    word = "stop-applier"
    server: str

    def text(self) -> str:
        return f"stop the applier of {self.server}"


@attrs.frozen
class StartApplier(acts.Act):
    """Continue to apply received transactions at a replica."""

    word = "start-applier"
    server: str

    def text(self) -> str:
        return f"start the applier of {self.server}"


@attrs.frozen
class Rebuild(acts.Act):
    """Replace the data of a server with the data of the source, and make the server replicate from the source."""

    word = "rebuild"
    server: str

    def text(self) -> str:
        return f"rebuild {self.server} from the source"


@attrs.frozen
class PurgeBinlogs(acts.Act):
    """Delete a server's current binary logs."""

    word = "purge-binlogs"
    server: str

    def text(self) -> str:
        return f"purge the binary logs of {self.server}"


class MySQL(ReplicationSystem):
    """A source `n1` and its replicas `n2`, `n3`, and so on.

    Attributes:
        source: the server that the operator last made the source.
    """

    model = "mysql"
    READS = ("committed",)

    __slots__ = ("settings", "source")

    settings: Final[MySQLSettings]

    def __init__(self, settings: MySQLSettings | None = None, seed: int = 0, sink: Sink = null_sink) -> None:
        super().__init__(seed, sink)
        self.settings = settings = settings or MySQLSettings()
        names = tuple(f"n{number}" for number in range(1, settings.replicas + 2))
        self.source = names[0]
        for name in names:
            source = "" if name == self.source else self.source
            self.add_server(MySQLServer(name, names, source, settings, self.network, self.journal))
        for name in names:
            if name != self.source:
                source_server = self.server(self.source)
                source_server.dumps[name] = frozenset()
                source_server.semi_sync.connected(name, 0)
        for server in self.servers.values():
            assert isinstance(server, MySQLServer)
            source, server.source = server.source, ""
            server.begin()
            server.source = source

    def server(self, name: str) -> MySQLServer:
        """Return a server."""
        server = self.servers[name]
        assert isinstance(server, MySQLServer)
        return server

    def authority(self) -> str:
        return self.source if self.network.alive[self.source] else ""

    def electable(self) -> tuple[str, ...]:
        """Return the running replicas of the current source, which an operator could promote."""
        return tuple(name for name in self.running() if self.server(name).source == self.source)

    def errant(self, name: str) -> list[Gtid]:
        """Return the GTIDs that a server has executed and the source has not."""
        return sorted(self.server(name).executed - self.server(self.source).executed)

    def best_replica(self) -> str:
        """Return the running replica that has received the most transactions."""
        running = [name for name in self.running() if name != self.source]
        return max(running, key=lambda name: self.server(name).received(), default="")

    def check(self, act: acts.Act) -> None:
        super().check(act)
        match act:
            case (
                PromoteAtOnce(server) | Follow(server) | Rebuild(server) | PurgeBinlogs(server) | StopApplier(server) | StartApplier(server)
            ) if not self.network.alive[server]:
                raise ActRefused(f"the process of {server} is not running")
            case StopApplier(server) if self.server(server).applier_stopped:
                raise ActRefused(f"the applier of {server} is already stopped")
            case StopApplier(server) if not self.server(server).source:
                raise ActRefused(f"{server} is not a replica")
            case StartApplier(server) if not self.server(server).applier_stopped:
                raise ActRefused(f"the applier of {server} is not stopped")
            case PromoteAtOnce(server) if server == self.source:
                raise ActRefused(f"{server} is already the source")
            case Follow(server, source) if server == source:
                raise ActRefused(f"{server} cannot replicate from itself")
            case Rebuild(server) if server == self.source:
                raise ActRefused(f"{server} is the source; only replicas can be rebuilt")

    def check_promotion(self, act: acts.Promote) -> None:
        name = act.server or self.best_replica()
        if not name:
            raise ActRefused("there is no running replica to promote")
        if not self.network.alive[name]:
            raise ActRefused(f"the process of {name} is not running")
        if name == self.source:
            raise ActRefused(f"{name} is already the source")

    def promote(self, act: acts.Promote) -> None:
        self._promote(act.server or self.best_replica(), drain=True)

    def execute(self, act: acts.Act) -> None:
        match act:
            case PromoteAtOnce(name, drop):
                if drop:
                    self.server(name).drop_relay_log()
                self._promote(name, drain=False)
            case Follow(name, source):
                self.server(name).follow(source)
            case Rebuild(name):
                self.server(name).clone(self.server(self.source).binlog)
                self.server(name).follow(self.source)
            case acts.SlowDisk(name, write_time):
                super().execute(act)
                self.server(name).apply_time = max(self.settings.apply_time, write_time)
            case StopApplier(name):
                self.server(name).stop_applier()
            case StartApplier(name):
                self.server(name).start_applier()
            case acts.Shutdown(name):
                self.server(name).shut_down()
                self._end(name, power=False)
            case PurgeBinlogs(name):
                self.server(name).purged = len(self.server(name).binlog)
            case _:
                super().execute(act)

    def _promote(self, name: str, *, drain: bool) -> None:
        """Promote a replica, and redirect the other replicas and the clients to it if they can reach it."""
        former, self.source = self.source, name
        self.server(name).promote(drain=drain)
        for other in self.running():
            if other not in (name, former) and not self.is_cut(other, name):
                self.server(other).follow(name)
        for client in self.clients.values():
            if name in client.reachable and not self.is_cut(client.address, name):
                client.servers = (name,)
                client.target = name

    def repair(self) -> None:
        """End all faults, and make all servers replicate from the current source, as a careless operator would."""
        super().repair()
        for name in self.running():
            if self.server(name).applier_stopped:
                self.do(StartApplier(name))
            if name != self.source and self.server(name).source != self.source:
                self.do(Follow(name, self.source))
