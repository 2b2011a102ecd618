"""The nodes of a cluster with their network, and what is known of them from outside: what acts, control planes and views work on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.kafka.admin_requests import AdminRequest
from core.kafka.broker.broker import Broker
from core.kafka.broker.quiet import QuietRounds
from core.kafka.clients.client import Client
from core.kafka.clients.client_config import CONSUMER, PRODUCER, client_config
from core.kafka.clients.consumer import Consumer
from core.kafka.clients.producer import Producer
from core.kafka.controller.administration import administer
from core.kafka.controller.controller import Controller
from core.kafka.controller.metadata_log import MetadataLog
from core.kafka.features import finalized
from core.kafka.ids import TopicPartition
from core.kafka.messages import PROXIED
from core.kafka.release import Release
from core.kafka.settings import Settings, setting_named
from core.lab.durability_account import DurabilityAccount
from core.lab.exposure import Exposure
from core.lab.spec import ClusterSpec, ControlPlane, Pace
from core.sim.agenda import Agenda
from core.sim.journal import Journal, Sink
from core.sim.network import Network
from core.sim.simulation import Simulation
from core.sim.snapshot import Snapshots
from core.sim.stream import Stream

if TYPE_CHECKING:
    from core.kafka.controller.quorum import ControllerNode, Quorum
    from core.kafka.zookeeper_mode.controller.control import ZooKeeperControl

ENDLESS: Final = "; a latency of 0 with replica.fetch.wait.max.ms 0, for example, takes no time: make one of them larger"
"""How a cluster may be busy without end at one moment."""


class ClusterNodes(Simulation):
    """Base of a cluster; it knows nothing of what is done with one, so that whoever does it can know it.

    Attributes:
        spec, seed, elides: what it was built from.
        release: the rules in force: those of the release, with the features that the spec turns on or off.
        by_hand: whether it moves by single steps; `turn` changes that.
        settles: whether an act by hand comes with all that it leads to; otherwise that is left to happen (`core.sim.choices`).
        zookeeper: whether a ZooKeeper-era controller runs it.
        account, settings: the durability account, the controller's settings.
        exposure: who may be elected and lacks committed records.
        quiet_rounds: which empty fetch rounds are not played out.
        snapshots: takes those of it; no part of its state.
        page_cache: draws how much of an unflushed tail outlives a loss of power.
        brokers, controller, clients: the nodes; in a quorum `controller` is the state that its committed log makes.
        quorum: the controllers' quorum; None with the one controller that does not fail.
        controllers: the processes of dedicated controllers by name.
    """

    __slots__ = (
        "account", "brokers", "by_hand", "clients", "controller", "controllers", "elides", "exposure", "metadata", "page_cache", "quiet_rounds",
        "quorum", "release", "seed", "settings", "settles", "snapshots", "spec", "zookeeper",
    )  # fmt: skip

    spec: Final[ClusterSpec]
    seed: Final[int]
    elides: Final[bool]
    metadata: Final[MetadataLog]
    brokers: Final[dict[int, Broker]]
    clients: Final[dict[str, Client]]
    controllers: Final[dict[str, ControllerNode]]
    snapshots: Final[Snapshots]
    page_cache: Final[Stream]

    controller: Controller | ZooKeeperControl
    exposure: Exposure

    def __init__(self, spec: ClusterSpec, release: Release, seed: int, sink: Sink | None, *, elide: bool) -> None:
        spec.check()
        self.spec = spec
        self.release = release = finalized(release, spec.features)
        for kind in (PRODUCER, CONSUMER):
            client_config(kind, spec.clients, release)
        self.seed = seed
        self.by_hand = spec.pace is Pace.BY_HAND
        self.settles = True
        self.elides = elide
        journal = Journal() if sink is None else Journal(sink=sink)
        agenda = Agenda(len(spec.brokers), ENDLESS)
        net = spec.network
        quiet = self.by_hand
        network = Network(
            agenda,
            0 if quiet else net.latency,
            0 if quiet else net.jitter,
            0 if quiet else net.loss_ppm,
            Stream(f"{seed}:network"),
            0 if quiet else net.duplicate_ppm,
            0 if quiet else net.reorder_ppm,
            PROXIED,
        )
        super().__init__(journal, agenda, network)
        self.account = DurabilityAccount(journal)
        self.account.repeats = net.duplicate_ppm > 0
        self.metadata = MetadataLog()
        self.settings = self.settings_of_spec()
        self.zookeeper = release.zookeeper and not spec.controllers and spec.control_plane is ControlPlane.BY_RELEASE
        self.brokers = {}
        self.clients = {}
        self.quorum: Quorum | None = None
        self.controllers = {}
        self.snapshots = Snapshots()
        self.page_cache = Stream(f"{seed}:page-cache")
        self.quiet_rounds = QuietRounds(self.journal, self.network, self.brokers, self.nodes, self.paused)

    def settings_of_spec(self) -> Settings:
        """The settings that it is built with."""
        settings = Settings(self.release)
        for name, value in self.spec.settings:
            settings.set(name, value)
        for broker in self.spec.brokers:
            for name, value in broker.settings:
                setting_named(name)
                settings.set(name, value, broker=broker.id)
        return settings

    def log_end(self, broker: int, tp: TopicPartition) -> tuple[int, int]:
        """A replica's log end and last epoch, as an all-knowing controller would elect by (guard `elect-from-isr` off)."""
        log = self.brokers[broker].disk.logs.get(tp)
        return (0, -1) if log is None else (log.leo, log.terms[-1].epoch if log.terms else -1)

    def settle(self) -> None:
        """By hand: deliver every message that is under way now, unless somebody else chooses what comes next."""
        if self.settles:
            self.run_until(self.journal.now)

    @property
    def turned_by_hand(self) -> bool:
        """Whether loads wait until it runs by itself again; in one that was built to be moved by hand they follow virtual time."""
        return self.network.at_once

    @property
    def controller_address(self) -> str:
        """Address of the active controller: a node of its own, or in ZooKeeper clusters a broker; empty if there is none."""
        if self.quorum is not None:
            active = self.quorum.active()
            return "" if active is None else active.name
        return self.controller.active

    def administer(self, request: AdminRequest) -> None:
        """Have the active controller do what an administrator asks; in a quorum, when it is committed."""
        active = None if self.quorum is None else self.quorum.active()
        if active is None:
            administer(self.controller, request)
        else:
            active.append(request)

    def add_client(self, client: Client) -> None:
        """Take a client into the network."""
        client.by_hand = self.by_hand
        self.clients[client.name] = client
        self.nodes[client.address] = client

    def producer(self, name: str) -> Producer | None:
        """The producer of that name."""
        client = self.clients.get(name)
        return client if isinstance(client, Producer) else None

    def consumer(self, name: str) -> Consumer | None:
        """The consumer of that name."""
        client = self.clients.get(name)
        return client if isinstance(client, Consumer) else None
