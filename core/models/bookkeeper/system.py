"""BookKeeper with its bookies, its metadata store, and two writers, one of which owns the open ledger."""

from __future__ import annotations

from typing import ClassVar, Final

from core.models import acts
from core.models.bookkeeper.bookie import Bookie, MetadataStore
from core.models.bookkeeper.settings import BookKeeperSettings
from core.models.bookkeeper.writer import Writer
from core.models.client import Client
from core.models.system import ReplicationSystem
from core.sim.errors import ActRefused
from core.sim.journal import Sink, null_sink

WRITERS: Final = ("w1", "w2")
"""The writers. The first writer opens the first ledger."""

STORE: Final = "metadata"
"""The metadata store."""


class BookKeeper(ReplicationSystem):
    """Bookies `n1`, `n2`, and so on, the writers `w1` and `w2`, and the metadata store. Clients talk to writers."""

    model = "bookkeeper"
    READS: ClassVar = ("confirmed",)

    __slots__ = ("settings",)

    settings: Final[BookKeeperSettings]

    def __init__(self, settings: BookKeeperSettings | None = None, seed: int = 0, sink: Sink = null_sink) -> None:
        super().__init__(seed, sink)
        self.settings = settings = settings or BookKeeperSettings()
        bookies = tuple(f"n{number}" for number in range(1, settings.bookies + 1))
        names = (*bookies, *WRITERS, STORE)
        for name in bookies:
            self.add_server(Bookie(name, names, self.network, self.journal))
        for name in WRITERS:
            self.add_server(Writer(name, names, STORE, settings, self.network, self.journal))
        self.add_server(MetadataStore(STORE, names, self.network, self.journal))

    def open_first(self) -> None:
        """Have the first writer open a ledger."""
        self.writer(WRITERS[0]).take_over()
        while self.authority() != WRITERS[0]:
            self.step()

    def add_client(self, name: str, servers: tuple[str, ...] = (), *, session: bool = False) -> Client:
        return super().add_client(name, servers or WRITERS, session=session)

    def writer(self, name: str) -> Writer:
        """Return a writer."""
        writer = self.servers[name]
        assert isinstance(writer, Writer)
        return writer

    def bookie(self, name: str) -> Bookie:
        """Return a bookie."""
        bookie = self.servers[name]
        assert isinstance(bookie, Bookie)
        return bookie

    def authority(self) -> str:
        owners = [(writer.ledger.number, name) for name in WRITERS if self.network.alive[name] and (writer := self.writer(name)).ledger]
        return max(owners)[1] if owners else ""

    def electable(self) -> tuple[str, ...]:
        """Return the running bookies, from which a writer that recovers the ledger can read the acknowledged entries."""
        return tuple(name for name in self.running() if isinstance(self.servers[name], Bookie))

    def check_promotion(self, act: acts.Promote) -> None:
        name = act.server or self._standby()
        if name not in WRITERS:
            raise ActRefused(f"only a writer can take over: {', '.join(WRITERS)}")
        if not self.network.alive[name]:
            raise ActRefused(f"the process of {name} is not running")
        if self.writer(name).ledger is not None:
            raise ActRefused(f"{name} already owns a ledger")

    def promote(self, act: acts.Promote) -> None:
        self.writer(act.server or self._standby()).take_over()

    def _standby(self) -> str:
        return next((name for name in WRITERS if self.network.alive[name] and self.writer(name).ledger is None), WRITERS[-1])
