"""A whole cluster: builds the nodes from a spec, carries out acts, and takes views.

The same spec, release, seed and acts give the same events, byte for byte.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from core.kafka.broker.broker import Broker
from core.kafka.broker.quiet import QuietRounds
from core.kafka.clients.client import Client
from core.kafka.clients.client_config import CONSUMER, PRODUCER, client_config
from core.kafka.clients.consumer import Consumer
from core.kafka.clients.producer import Producer
from core.kafka.controller.controller import Controller
from core.kafka.controller.metadata_log import MetadataLog
from core.kafka.features import finalized
from core.kafka.ids import TopicPartition
from core.kafka.messages import PROXIED, Administration
from core.kafka.release import CURRENT, Release
from core.kafka.settings import Settings, setting_named
from core.lab import act_handlers as deeds
from core.lab import pace
from core.lab.account import Account
from core.lab.acts import Act
from core.lab.exposure import Exposure
from core.lab.history import keyframe
from core.lab.history.keyframe import Keyframe
from core.lab.history.moving import MOST_MOVED, PLAIN, PLAIN_TIMERS, gather
from core.lab.planes import plane_of
from core.lab.spec import ClusterSpec, ControlPlane, Pace
from core.lab.staging import resume_leaderships
from core.lab.views import observe
from core.lab.views.view import ClusterView, PartitionView
from core.sim.agenda import Agenda, Entry
from core.sim.journal import Journal, Sink
from core.sim.messages import Timer
from core.sim.network import Network
from core.sim.simulation import Simulation

if TYPE_CHECKING:
    from core.kafka.controller.quorum import ControllerNode, Quorum
    from core.kafka.controller.zookeeper.control import ZooKeeperControl
    from core.lab.views.detail import Harm, PartitionDetail

ENDLESS: Final = "; a latency of 0 with replica.fetch.wait.max.ms 0, for example, takes no time: make one of them larger"
"""How a cluster may be busy without end at one moment."""


class Cluster(Simulation):
    """A running cluster.

    Attributes:
        spec, seed, elides: what it was built from.
        release: the rules in force: those of the release, with the features that the spec turns on or off.
        by_hand: whether it moves by single steps; `turn` changes that.
        zookeeper: whether a ZooKeeper-era controller runs it.
        account, settings: the durability account, the controller's settings.
        exposure: who may be elected and lacks committed records.
        quiet_rounds: which empty fetch rounds are not played out.
        page_cache: draws how much of an unflushed tail outlives a loss of power.
        brokers, controller, clients: the nodes; in a quorum `controller` is the state that its committed log makes.
        quorum: the controllers' quorum; None with the one controller that does not fail.
        controllers: the processes of dedicated controllers by name.
    """

    def __init__(
        self, spec: ClusterSpec, release: Release = CURRENT, seed: int = 0, sink: Sink | None = None, *, elide: bool = True
    ) -> None:
        """Build a steady cluster at time 0: brokers registered, topics placed, leaders made.

        `elide`: fetch rounds that carry nothing are not played out (`core.kafka.broker.quiet`); it is only slower without.

        Raises:
            ValueError: the spec is no cluster, or a setting is wrong.
            KafkaError: a topic is refused, as Kafka would refuse it.
        """
        spec.check()
        self.spec = spec
        self.release = release = finalized(release, spec.features)
        for kind in (PRODUCER, CONSUMER):
            client_config(kind, spec.clients, release)
        self.seed = seed
        self.by_hand = spec.pace is Pace.BY_HAND
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
            random.Random(f"{seed}:network"),
            0 if quiet else net.duplicate_ppm,
            0 if quiet else net.reorder_ppm,
            PROXIED,
        )
        super().__init__(journal, agenda, network)
        self.account = Account(journal)
        self.account.repeats = net.duplicate_ppm > 0
        self.metadata = MetadataLog()
        self.settings = self.settings_of_spec()
        self.zookeeper = release.zookeeper and not spec.controllers and spec.control_plane is ControlPlane.BY_RELEASE
        plane = plane_of(self)
        self.controller: Controller | ZooKeeperControl = plane.make_controller(self)
        self.brokers: dict[int, Broker] = {}
        self.clients: dict[str, Client] = {}
        self.quorum: Quorum | None = None
        self.controllers: dict[str, ControllerNode] = {}
        self.page_cache = random.Random(f"{seed}:page-cache")
        self.exposure = Exposure(self)
        self.quiet_rounds = QuietRounds(self.journal, self.network, self.brokers, self.nodes, self.paused)
        plane.build(self)
        resume_leaderships(self)
        if self.by_hand:
            self.settle()
        if elide and not self.by_hand:
            for broker in self.brokers.values():
                broker.quiet_rounds = self.quiet_rounds

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

    # --- time ------------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """By hand: deliver every message that is under way now."""
        self.run_until(self.journal.now)

    @property
    def turned_by_hand(self) -> bool:
        """Whether loads wait until it runs by itself again; in one that was built to be moved by hand they follow virtual time."""
        return self.network.at_once

    def turn(self, *, by_hand: bool) -> None:
        """Move by single steps from here on, or by itself again (`core.lab.pace`)."""
        pace.turn(self, by_hand=by_hand)

    def handle(self, entry: Entry) -> None:
        """Hand a node what is due, and note what the next keyframe has to know of it."""
        message = entry[5]
        if type(message) not in PLAIN:
            journal = self.journal
            if type(message) is not Timer or message.name not in PLAIN_TIMERS:
                journal.stirred = True
            elif len(journal.moved) > MOST_MOVED:
                gather(journal)
        if self.paused and entry.node in self.paused:
            self.journal.stirred = True
        Simulation.handle(self, entry)  # quicker than super()

    @property
    def controller_address(self) -> str:
        """Address of the active controller: a node of its own, or in ZooKeeper clusters a broker; empty if there is none."""
        if self.quorum is not None:
            active = self.quorum.active()
            return "" if active is None else active.name
        return self.controller.active

    # --- acts and views --------------------------------------------------------------------------------------------

    def do(self, act: Act) -> int:
        """Carry an act out now; returns the seq of its `act` event.

        Raises:
            ActRefused: it is impossible as things stand; nothing was changed.
        """
        self.journal.stirred = True
        return deeds.carry_out(self, act)

    def administer(self, act: Act) -> None:
        """Do what an administrator asked of the active controller; in a quorum, when it is committed."""
        active = None if self.quorum is None else self.quorum.active()
        if active is None:
            self.administration(act)
        else:
            active.append(Administration(act))

    def administration(self, act: Act) -> None:
        """Do it now."""
        deeds.administration.carry_out(self, act)

    def snapshot(self) -> Keyframe:
        """The whole state between two steps, as a value (`core.lab.history.keyframe`)."""
        return keyframe.take(self)

    @staticmethod
    def restore(snapshot: Keyframe, sink: Sink | None = None) -> Cluster:
        """A cluster that goes on from a snapshot byte for byte; the one it was taken of is not touched. Its events go to `sink`."""
        return keyframe.restore(snapshot, sink)

    def go_back(self, snapshot: Keyframe, sink: Sink | None = None) -> None:
        """Stand again where a snapshot was taken of this very cluster, which takes a fraction of the time. Its events go to `sink`.

        Raises:
            ValueError: it was taken of another one.
        """
        keyframe.go_back(self, snapshot, sink)

    @staticmethod
    def bring_back(snapshot: Keyframe, sink: Sink | None = None, at_hand: Cluster | None = None) -> Cluster:
        """The cluster at hand, gone back to a snapshot, if that was taken of it; otherwise a new one."""
        if at_hand is None or not snapshot.is_of(at_hand):
            return Cluster.restore(snapshot, sink)
        at_hand.go_back(snapshot, sink)
        return at_hand

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

    def view(self) -> ClusterView:
        """A frozen snapshot of everything."""
        return observe.cluster_view(self)

    def partition_view(self, tp: TopicPartition) -> PartitionView:
        """A frozen snapshot of one partition.

        Raises:
            KeyError: there is none of that name.
        """
        return observe.partition_view(self, tp)

    def partition_detail(self, tp: TopicPartition) -> PartitionDetail:
        """One partition in full: disks, the leader's view of its followers, what waits. Made for the one that is looked at.

        Raises:
            KeyError: there is none of that name.
        """
        from core.lab.views import details as detail

        return detail.partition_detail(self, tp)

    def harm(self) -> Harm:
        """What is lost and what is exposed now, by partition and producer, with the events behind it."""
        from core.lab.views import details as detail

        return detail.harm(self)
