"""The nodes and the network of a cluster: the part of `Cluster` that act handlers, control planes, and view builders use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.kafka.admin_requests import AdminRequest
from core.kafka.broker.broker import Broker
from core.kafka.clients.client_config import client_config
from core.kafka.clients.client_settings import CONSUMER, PRODUCER
from core.kafka.controller.admin_request_handler import handle_admin_request
from core.kafka.controller.metadata_log import MetadataLog
from core.kafka.controller.quorum_controller import QuorumController
from core.kafka.features import finalized
from core.kafka.ids import broker_address
from core.kafka.message_size import size_of
from core.kafka.messages import PROXIED
from core.kafka.release import Release
from core.kafka.settings.registry import setting_named
from core.kafka.settings.settings import Settings
from core.lab.accounts.durability_account import DurabilityAccount
from core.lab.accounts.exposed_records import ExposureMonitor
from core.lab.cluster_clients import ClusterClients
from core.lab.observed_replicas import ObservedReplicas
from core.lab.spec import ClusterSpec, ControlPlane, Pace
from core.sim.agenda import Agenda
from core.sim.journal import Journal, Sink
from core.sim.limited_network import LimitedNetwork
from core.sim.network import Network
from core.sim.random_stream import RandomStream
from core.sim.simulation import Simulation
from core.sim.state.snapshot import Snapshots

if TYPE_CHECKING:
    from core.kafka.controller.quorum.controller_server import ControllerServer
    from core.kafka.controller.quorum.metadata_quorum import MetadataQuorum
    from core.kafka.zookeeper_mode.control_plane import ZooKeeperControlPlane

ENDLESS_HINT: Final = (
    "; for example, fetches take no time if the network latency and replica.fetch.wait.max.ms are both 0; increase one of them"
)
"""The hint that the error message contains if a cluster never finishes the events of one moment."""


class ClusterNodes(Simulation):
    """The base class of `Cluster`. This module imports no act handlers, control planes, or view builders, so that those modules can import
    it.

    Attributes:
        spec: the specification that the cluster was built from.
        seed: the seed of the cluster's random streams.
        release: the rules of the release, with the features that the spec turns on or off.
        by_hand: whether the cluster is in by-hand mode (`core.lab.by_hand_mode` switches it).
        delivers_at_once: whether an act in by-hand mode includes all of its effects. If `delivers_at_once` is False, the caller chooses
            what happens next (`core.sim.exploration.choices`).
        zookeeper: whether the cluster runs with ZooKeeper.
        account: the durability account of the cluster.
        settings: the Kafka settings that the controller knows.
        exposure: the monitor that finds committed records that the next election can lose.
        snapshots: the object that takes snapshots of the cluster; not part of the cluster's state.
        page_cache: the random stream that decides how much of an unflushed tail survives a power loss.
        brokers: the brokers, by broker ID.
        controller: the controller of the cluster. In a quorum, the controller is the state that results from the committed log.
        clients: the producers and consumers, by name.
        quorum: the metadata quorum; None if there is none.
        controllers: the processes of dedicated controllers, by name.
    """

    __slots__ = (
        "account", "brokers", "by_hand", "clients", "controller", "controllers", "delivers_at_once", "exposure", "metadata",
        "page_cache", "quorum", "release", "seed", "settings", "snapshots", "spec", "zookeeper",
    )  # fmt: skip

    spec: Final[ClusterSpec]
    seed: Final[int]
    metadata: Final[MetadataLog]
    brokers: Final[dict[int, Broker]]
    clients: Final[ClusterClients]
    controllers: Final[dict[str, ControllerServer]]
    snapshots: Final[Snapshots]
    page_cache: Final[RandomStream]

    controller: QuorumController | ZooKeeperControlPlane
    exposure: ExposureMonitor

    def __init__(self, spec: ClusterSpec, release: Release, seed: int, sink: Sink | None, *, elide: bool) -> None:
        spec.check()
        self.spec = spec
        self.release = release = finalized(release, spec.features)
        for kind in (PRODUCER, CONSUMER):
            client_config(kind, spec.clients, release)
        self.seed = seed
        self.by_hand = spec.pace is Pace.BY_HAND
        self.delivers_at_once = True
        journal = Journal() if sink is None else Journal(sink=sink)
        agenda = Agenda(len(spec.brokers), ENDLESS_HINT)
        net = spec.network
        timeless = self.by_hand
        sites: dict[str, str] = {} if timeless else {node: zone.name for zone in spec.zones for node in zone.nodes}
        distances = {} if timeless else {pair: latency for a, b, latency in net.between_zones for pair in ((a, b), (b, a))}
        network = Network(
            agenda,
            0 if timeless else net.latency,
            0 if timeless else net.jitter,
            0 if timeless else net.loss_ppm,
            RandomStream(f"{seed}:network"),
            0 if timeless else net.duplicate_ppm,
            0 if timeless else net.reorder_ppm,
            PROXIED,
            sites,
            distances,
        )
        if net.bandwidth and not timeless:
            rates = {broker_address(broker.id): net.bandwidth for broker in spec.brokers}
            random = RandomStream(f"{seed}:network")
            network = LimitedNetwork(agenda, net.latency, net.jitter, net.loss_ppm, random, rates, size_of, sites, distances)
        network.polls.elides = elide
        super().__init__(journal, agenda, network)
        self.account = DurabilityAccount(journal)
        self.account.requests_may_repeat = net.duplicate_ppm > 0
        self.metadata = MetadataLog()
        self.settings = self.initial_settings()
        self.zookeeper = release.zookeeper and not spec.controllers and spec.control_plane is ControlPlane.BY_RELEASE
        self.brokers = {}
        self.clients = ClusterClients(self.nodes, self.brokers, network, journal, self.account, self.metadata, release)
        self.quorum: MetadataQuorum | None = None
        self.controllers = {}
        self.snapshots = Snapshots()
        self.page_cache = RandomStream(f"{seed}:page-cache")
        self.account.records_in_hand = self.clients.records_in_hand
        self.account.polled_by_members = self.clients.polled_by_members
        self.account.followers_behind = ObservedReplicas(self.brokers, network, self.account).followers_behind

    def initial_settings(self) -> Settings:
        """Return the settings that the cluster is built with."""
        settings = Settings(self.release)
        for name, value in self.spec.settings:
            settings.set(name, value)
        for broker in self.spec.brokers:
            for name, value in broker.settings:
                setting_named(name)
                settings.set(name, value, broker=broker.id)
        return settings

    def deliver_pending(self) -> None:
        """Handle everything that is due at the current virtual time, unless the caller chooses what happens next."""
        if self.delivers_at_once:
            self.run_until(self.journal.now)

    @property
    def switched_to_by_hand(self) -> bool:
        """Whether a cluster that was built to run automatically has been switched to by-hand mode. In by-hand mode, the cluster's loads are
        paused.
        """
        return self.network.zero_latency

    @property
    def controller_address(self) -> str:
        """The address of the active controller, which is a separate node or, in a ZooKeeper cluster, a broker; empty if there is none."""
        if self.quorum is not None:
            active = self.quorum.active()
            return "" if active is None else active.name
        return self.controller.active

    def submit_admin_request(self, request: AdminRequest) -> None:
        """Pass an administrator's request to the active controller. In a quorum, the request is handled after it is committed."""
        active = None if self.quorum is None else self.quorum.active()
        if active is None:
            handle_admin_request(self.controller, request)
        else:
            active.append(request)
