"""The control plane of a ZooKeeper cluster: ZooKeeper, its contents, and the tools that write to it.

There is no controller node, because one of the brokers is the controller. Screens show the contents of ZooKeeper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.kafka.controller.cluster_control_manager import ClusterControlManager
from core.kafka.controller.configuration_control_manager import ConfigurationControlManager
from core.kafka.controller.metadata_log import BrokerRegistration, Record
from core.kafka.controller.topic_registry import TopicRegistry
from core.kafka.durability_observer import DurabilityObserver
from core.kafka.ids import broker_address, broker_at
from core.kafka.settings.settings import Settings
from core.kafka.zookeeper_mode.admin_zk_client import AdminZkClient
from core.kafka.zookeeper_mode.znode_observer import BrokerDisks, ZnodeObserver
from core.kafka.zookeeper_server import paths
from core.kafka.zookeeper_server.paths import ConfigChange, PartitionState, ReplicaAssignment, state_path
from core.kafka.zookeeper_server.protocol import OK, Create, GetChildren, GetData
from core.kafka.zookeeper_server.server import ZooKeeper
from core.sim.journal import Journal
from core.sim.network import Network

if TYPE_CHECKING:
    from core.kafka.zookeeper_mode.broker import ZooKeeperBroker


class NoRecords:
    """Takes the place of a metadata log, which a ZooKeeper cluster does not have. What changes is in the znodes."""

    __slots__ = ()

    def append(self, record: Record) -> int:
        """Do nothing."""
        return 0


class ZooKeeperControlPlane:
    """ZooKeeper and its contents. One of the brokers is the controller.

    Attributes:
        settings: the current settings, which the administrator's tools use.
        journal: the event journal.
        nodes: the broker processes by id.
        cluster_control: the brokers; a broker that has no znode counts as fenced.
        configuration_control: the settings that the administrator's tools know.
        registry: the partitions and topics.
        directories: the disks of the brokers.
        observer: what keeps the registry up to date with the znodes.
        zookeeper: the ZooKeeper node.
        replication: the administrator's tools.
    """

    __slots__ = (
        "cluster_control", "configuration_control", "directories", "journal", "nodes", "observer", "registry", "replication", "settings",
        "zookeeper",
    )  # fmt: skip

    settings: Final[Settings]
    journal: Final[Journal]
    nodes: Final[dict[int, ZooKeeperBroker]]

    def __init__(
        self, settings: Settings, network: Network, journal: Journal, account: DurabilityObserver, racks: dict[int, str | None], *,
        seed: int, by_hand: bool,
    ) -> None:  # fmt: skip
        self.settings = settings
        self.journal = journal
        self.nodes = {}
        records = NoRecords()
        self.cluster_control = ClusterControlManager(racks, records, account)
        self.configuration_control = ConfigurationControlManager(settings)
        self.registry = TopicRegistry(settings, records, journal, account, seed)
        self.directories = BrokerDisks(self.nodes)
        self.observer = ZnodeObserver(
            self.registry, self.cluster_control, self.configuration_control, self.directories, network.disturbances
        )
        self.zookeeper = ZooKeeper(network, journal, by_hand=by_hand, observer=self.observer.written)
        self.replication = AdminZkClient(self.registry, self.cluster_control, self.configuration_control, self.zookeeper, seed)

    @property
    def last_contact(self) -> dict[int, int]:
        """For each broker that has a session, the time, in µs, at which ZooKeeper last received a request from that broker."""
        return {int(session.address[1:]): session.last_heard for session in self.zookeeper.sessions.values()}

    @property
    def active(self) -> str:
        """The address of the broker in /controller; '' if there is none."""
        found = self.zookeeper.apply(GetData(paths.CONTROLLER_PATH))
        return broker_address(found.data) if found.error == OK else ""

    @property
    def controller_epoch(self) -> int:
        """The number of controllers that have been elected so far."""
        epoch: int = self.zookeeper.apply(GetData(paths.CONTROLLER_EPOCH)).data
        return epoch

    @property
    def active_count(self) -> int:
        """The number of brokers that consider themselves the controller, which is the sum of ActiveControllerCount over all brokers."""
        return sum(1 for broker in self.nodes.values() if broker.kafka_controller.active)

    def publish(self) -> None:
        """Do nothing, because the controller itself sends metadata to the brokers."""

    def leaders(self, topic: str) -> tuple[tuple[int, int], ...]:
        """Return (leader, leader epoch) for each partition of a topic."""
        known = self.registry.topics.get(topic)
        states = [] if known is None else [self.registry.partitions[tp] for tp in known.partitions]
        return tuple((state.leader, state.leader_epoch) for state in states)

    # --- the start -------------------------------------------------------------------------------------------------

    def boot_broker(self, broker: int, *, up: bool) -> None:
        """Register a broker at the start of the simulation, whether it is running or not."""
        epoch = -1
        if up:
            session = self.zookeeper.open_session(broker_address(broker), self.settings.us("zookeeper.session.timeout.ms", broker=broker))
            epoch = self.zookeeper.apply(Create(paths.broker_path(broker), ephemeral=True), self.zookeeper.sessions[session]).created
        self.cluster_control.register(BrokerRegistration(broker, epoch, 0, fenced=not up))

    def boot(self, controller: str) -> None:
        """Write the states of the initial partitions, make one broker the controller, and give each broker its roles.

        Raises:
            ValueError: `controller` names a broker that is not running.
        """
        zookeeper, states = self.zookeeper, self.registry.partitions
        for tp, state in states.items():
            zookeeper.apply(Create(state_path(tp), PartitionState(state.leader, state.leader_epoch, state.isr, 1, "created")))
        self.observer.booting = False
        up = [broker for broker, registration in self.cluster_control.brokers.items() if not registration.fenced]
        first = broker_at(controller) if controller else up[0] if up else None
        if controller and first not in up:
            raise ValueError(f"controller {controller} cannot be active; the running brokers are {', '.join(map(broker_address, up))}")
        items = tuple(states.items())
        zookeeper.apply(Create(paths.CONTROLLER_EPOCH, 1 if up else 0))
        for broker in up:
            node = self.nodes[broker]
            session = zookeeper.session_of(node.address)
            assert session is not None
            zookeeper.apply(GetChildren(paths.CONFIG_CHANGES, watch=True), session)
            node.boot_with(session.number, self.cluster_control.brokers[broker].epoch)
            node.channel.epoch = 1
            assert first is not None
            node.channel.controller = broker_address(first)
            node.update_metadata_cache(tuple(up), items)
            mine = tuple((tp, state, 0) for tp, state in states.items() if broker in state.replicas)
            node.replicas.become_leader_or_follower(mine, tuple(up))
            node.replicas.announce_roles()
            if broker == first:
                zookeeper.apply(Create(paths.CONTROLLER_PATH, broker, ephemeral=True), session)
                assignments = {tp: ReplicaAssignment(state.replicas) for tp, state in states.items()}
                for op in node.kafka_controller.watches(self.registry.topics):
                    zookeeper.apply(op, session)
                node.kafka_controller.boot(1, {each: self.cluster_control.brokers[each].epoch for each in up}, assignments, dict(states))
            else:
                node.kafka_controller.elect()

    # --- what people do --------------------------------------------------------------------------------------------

    def fence(self, broker: int, *, by_session: bool) -> None:
        """Expire a broker's session now."""
        session = self.zookeeper.session_of(broker_address(broker))
        if session is not None:
            self.zookeeper.expire(session.number)

    def broker_bounced(self, broker: int) -> None:
        """Make the controller send roles to a broker whose process restarted in by-hand mode without losing its session."""
        for node in self.nodes.values():
            if node.kafka_controller.active:
                node.kafka_controller.broker_changes.send_roles(broker)

    def config_changed(self, name: str, value: str, topic: str | None, broker: int | None) -> None:
        """Publish a changed setting to the brokers through /config/changes."""
        self.replication.write_config_change(ConfigChange(name, value, topic, broker))
