"""What is written in ZooKeeper becomes events, and is shown on screens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from core.kafka import events
from core.kafka.controller.cluster_control_manager import ClusterControlManager
from core.kafka.controller.configuration_control_manager import ConfigurationControlManager
from core.kafka.controller.metadata_log import BrokerRegistration
from core.kafka.controller.topic_registry import TopicRegistry
from core.kafka.ids import NO_LEADER, TopicPartition, broker_address
from core.kafka.last_changes import EXPIRED
from core.kafka.topic_spec import TopicSpec
from core.kafka.zookeeper_mode.admin_zk_client import unled_partition
from core.kafka.zookeeper_server import paths
from core.kafka.zookeeper_server.paths import PartitionState, ReplicaAssignment
from core.sim.disturbances import Disturbances

if TYPE_CHECKING:
    from core.kafka.zookeeper_mode.broker import ZooKeeperBroker


class BrokerDisks:
    """The disks of the brokers, which show what ZooKeeper does not contain.

    Attributes:
        nodes: the broker processes, keyed by broker ID.
    """

    __slots__ = ("nodes",)

    nodes: Final[dict[int, ZooKeeperBroker]]

    def __init__(self, nodes: dict[int, ZooKeeperBroker]) -> None:
        self.nodes = nodes

    def has_online_dir(self, broker: int, tp: TopicPartition) -> bool:
        """Return whether the log directory of a replica works."""
        node = self.nodes.get(broker)
        return node is None or tp not in node.disk.offline


class ZnodeObserver:
    """Keeps the registry of brokers, topics, and partitions up to date with the znodes, and records every change as an event.

    Attributes:
        registry: the topics and partitions.
        cluster_control: the brokers. A broker that has no znode counts as fenced.
        configuration_control: knows the broker in /controller.
        directories: the disks of the brokers.
        disturbances: the log of what disturbs nodes and links.
        topic_configs: the settings of topics that a broker is creating, by topic.
        booting: whether the cluster is being built. What is written while the cluster is being built is no change.
    """

    __slots__ = ("booting", "cluster_control", "configuration_control", "directories", "disturbances", "registry", "topic_configs")

    registry: Final[TopicRegistry]
    cluster_control: Final[ClusterControlManager]
    configuration_control: Final[ConfigurationControlManager]
    directories: Final[BrokerDisks]
    disturbances: Final[Disturbances]
    topic_configs: Final[dict[str, tuple[tuple[str, str], ...]]]

    def __init__(
        self,
        registry: TopicRegistry,
        cluster_control: ClusterControlManager,
        configuration_control: ConfigurationControlManager,
        directories: BrokerDisks,
        disturbances: Disturbances,
    ) -> None:
        self.registry = registry
        self.cluster_control = cluster_control
        self.configuration_control = configuration_control
        self.directories = directories
        self.disturbances = disturbances
        self.topic_configs = {}
        self.booting = True

    def written(self, path: str, data: object, version: int, created: int) -> int:
        """Record a write to a znode. Return the sequence number of the event that records it; 0 if there is none.

        Args:
            path: the path of the znode.
            data: the data of the znode.
            version: the version of the znode; -1 if it was deleted.
            created: the number of the transaction that created the znode.
        """
        if path == paths.CONTROLLER_PATH and isinstance(data, int):
            self.configuration_control.controller_node = data
        if self.booting:
            return 0
        if path.startswith(paths.BROKER_IDS):
            return self._broker_written(int(path.rpartition("/")[2]), there=version >= 0, epoch=created)
        tp = paths.partition_of(path)
        if tp is not None:
            return self._state_written(tp, data, version) if isinstance(data, PartitionState) else 0
        if version < 0 and path.startswith(f"{paths.TOPICS}/"):
            return self.registry.remove_topic(path.rpartition("/")[2])
        if path.startswith(f"{paths.TOPIC_CONFIGS}/") and isinstance(data, tuple):
            self.topic_configs[path.rpartition("/")[2]] = data
        if path.startswith(f"{paths.TOPICS}/") and isinstance(data, tuple):
            self._assignment_written(path.rpartition("/")[2], data)
        return 0

    def _broker_written(self, broker: int, *, there: bool, epoch: int) -> int:
        event = self.registry.journal.emit(events.BrokerJoined.kind if there else events.BrokerLeft.kind, broker, epoch)
        self.cluster_control.register(BrokerRegistration(broker, epoch, 0, fenced=not there))
        return event

    def _can_lead(self, broker: int, tp: TopicPartition) -> bool:
        return self.cluster_control.is_active(broker) and self.directories.has_online_dir(broker, tp)

    def _state_written(self, tp: TopicPartition, state: PartitionState, version: int) -> int:
        """Record a write to a partition's state znode. Return the sequence number of the event that records the write."""
        old = self.registry.partitions[tp]
        new = attrs.evolve(old, isr=state.isr, leader=state.leader, leader_epoch=state.leader_epoch, partition_epoch=version)
        journal = self.registry.journal
        before = journal.cause
        last_change = self.disturbances.last_change
        if old.leader not in (NO_LEADER, new.leader) and not self.cluster_control.is_active(old.leader):
            # The controller handles the deaths of several brokers at once. The death of the leader changes the leader.
            expired = last_change((EXPIRED, broker_address(old.leader)))
            journal.blame(tuple(dict.fromkeys(cause for cause in (expired, before) if cause)))
        if state.election:
            journal.cause = journal.emit(
                events.LeaderElected.kind, tp.topic, tp.partition, new.leader, old.leader, new.leader_epoch, new.isr, state.election, state.reason
            )  # fmt: skip
            self.registry.account.leader_elected(state.election)
        elif new.leader == NO_LEADER and old.leader != NO_LEADER and not any(self._can_lead(member, tp) for member in new.isr):
            journal.cause = journal.emit(
                events.PartitionOffline.kind, tp.topic, tp.partition, old.leader, new.leader_epoch, new.isr, state.reason
            )
        self.registry.commit_registration(tp, old, new, state.reason)
        cause = journal.cause if journal.cause != before else journal.seq
        journal.cause = before
        self.disturbances.changed(tp, cause)
        self.disturbances.changed((tp, new.leader, new.leader_epoch), cause)
        return cause

    def _assignment_written(self, topic: str, assignments: tuple[ReplicaAssignment, ...]) -> None:
        """Record a write to a topic's znode, which might create the topic or change the replicas of partitions."""
        if topic not in self.registry.topics:
            spec = TopicSpec(topic, len(assignments), len(assignments[0].replicas), config=self.topic_configs.pop(topic, ()))
            self.registry.register_topic(spec, [unled_partition(each.replicas) for each in assignments])
            return
        for number, (replicas, adding, removing) in enumerate(assignments):
            tp = TopicPartition(topic, number)
            old = self.registry.partitions.get(tp)
            if old is not None and (old.replicas, old.adding, old.removing) != (replicas, adding, removing):
                self.registry.commit_registration(
                    tp, old, attrs.evolve(old, replicas=replicas, adding=adding, removing=removing), "reassignment"
                )
