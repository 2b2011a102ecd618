"""The administrator's tools of a ZooKeeper cluster, which write to ZooKeeper what the controller shall do (Kafka: `AdminZkClient`, before 1.1
`AdminUtils`; `TopicCommand`, `PreferredReplicaLeaderElectionCommand`, `ReassignPartitionsCommand`)."""

from __future__ import annotations

from typing import Final

from core.kafka import errors, events
from core.kafka.admin_requests import ElectionMode
from core.kafka.controller import create_topics
from core.kafka.controller.cluster_control_manager import ClusterControlManager
from core.kafka.controller.configuration_control_manager import ConfigurationControlManager
from core.kafka.controller.placement import UsableBroker, assign_replicas_to_brokers
from core.kafka.controller.topic_registry import TopicRegistry
from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.release import Release
from core.kafka.settings.registry import SETTINGS
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.kafka.zookeeper_mode.controller.reassignments import reassign_to
from core.kafka.zookeeper_server import paths
from core.kafka.zookeeper_server.paths import ConfigChange, ReplicaAssignment, deletion_path, topic_path
from core.kafka.zookeeper_server.protocol import OK, Create, GetData, SetData
from core.kafka.zookeeper_server.server import ZooKeeper
from core.sim.random_stream import RandomStream


def unled_partition(replicas: tuple[int, ...]) -> PartitionRegistration:
    """Return a new partition, which has no leader until the controller elects one."""
    return PartitionRegistration(replicas, (), NO_LEADER, -1, -1)


class AdminZkClient:
    """The tools that write to ZooKeeper.

    Attributes:
        release: the rules of the simulated Kafka release.
        registry: the topics and partitions that are in ZooKeeper.
        cluster_control: the brokers.
        configuration_control: the settings that the tools know.
        zookeeper: the ZooKeeper node.
    """

    __slots__ = ("_placement", "cluster_control", "configuration_control", "registry", "release", "zookeeper")

    release: Final[Release]
    registry: Final[TopicRegistry]
    cluster_control: Final[ClusterControlManager]
    configuration_control: Final[ConfigurationControlManager]
    zookeeper: Final[ZooKeeper]
    _placement: Final[RandomStream]

    def __init__(
        self,
        registry: TopicRegistry,
        cluster_control: ClusterControlManager,
        configuration_control: ConfigurationControlManager,
        zookeeper: ZooKeeper,
        seed: int,
    ) -> None:
        self.release = configuration_control.settings.release
        self.registry = registry
        self.cluster_control = cluster_control
        self.configuration_control = configuration_control
        self.zookeeper = zookeeper
        self._placement = RandomStream(f"{seed}:placement")

    # --- topics ----------------------------------------------------------------------------------------------------

    def create_topic(self, spec: TopicSpec) -> None:
        """Write a new topic's settings and assignment to ZooKeeper, so that the controller elects leaders for the topic's partitions.

        Raises:
            KafkaError: Kafka refuses the topic.
            ValueError: a setting of the topic is wrong.
        """
        self._register(spec, unled_partition)
        for name, value in spec.config:
            if name in SETTINGS:
                self.write_config_change(ConfigChange(name, value, spec.name, None))
        self._write_assignment(spec.name)

    def boot_topic(self, spec: TopicSpec) -> None:
        """Write a topic to ZooKeeper while a steady cluster is being built. Its partitions have leaders already.

        Raises:
            KafkaError: Kafka refuses the topic.
            ValueError: a setting of the topic is wrong.
        """
        self._register(spec, lambda replicas: create_topics.led_partition(self.cluster_control, replicas))
        self._write_assignment(spec.name)

    def _register(self, spec: TopicSpec, new_partition: create_topics.NewPartition) -> None:
        create_topics.check_creation(self.registry, spec)
        if spec.assignment:
            registrations = create_topics.manual_assignment(self.cluster_control, spec.assignment, new_partition)
        else:
            placed = assign_replicas_to_brokers(self._usable_brokers(), spec.partitions, spec.replication_factor, self._placement)
            registrations = [new_partition(replicas) for replicas in placed]
        self.registry.register_topic(spec, registrations)

    def _write_assignment(self, name: str) -> None:
        states = [self.registry.partitions[tp] for tp in self.registry.topics[name].partitions]
        self.zookeeper.apply(Create(topic_path(name), tuple(ReplicaAssignment(state.replicas) for state in states)))

    def _usable_brokers(self) -> list[UsableBroker]:
        cluster = self.cluster_control
        return [UsableBroker(broker, cluster.racks.get(broker)) for broker in sorted(cluster.brokers) if cluster.is_active(broker)]

    def create_partitions(self, name: str, count: int, assignment: tuple[tuple[int, ...], ...]) -> None:
        """Add partitions to a topic until it has `count` partitions, and write them to the topic's znode, from which the controller reads
        them (`#addPartitions`). If `assignment` is empty, the replicas are placed, starting from the leader of the topic's first partition.

        Raises:
            KafkaError: Kafka refuses the request. In this case, nothing changes.
        """
        registry = self.registry
        added = create_topics.check_new_partitions(registry, name, count, assignment)
        tps = registry.topics[name].partitions
        if assignment:
            specs = [PartitionSpec(replicas) for replicas in assignment]
            registrations = create_topics.manual_assignment(self.cluster_control, specs, unled_partition, len(tps))
        else:
            first, usable = registry.partitions[tps[0]].replicas, self._usable_brokers()
            start = max(0, next((index for index, broker in enumerate(usable) if broker.broker >= first[0]), -1))
            placed = assign_replicas_to_brokers(
                usable, added, len(first), self._placement, fixed_start_index=start, start_partition=len(tps)
            )
            registrations = [unled_partition(replicas) for replicas in placed]
        before = registry.journal.cause
        registry.journal.cause = registry.add_partitions(name, registrations)
        states = [registry.partitions[tp] for tp in tps]
        data = tuple(ReplicaAssignment(state.replicas, state.adding, state.removing) for state in states)
        self.zookeeper.apply(SetData(topic_path(name), data))
        registry.journal.cause = before

    def check_deletion(self, name: str) -> None:
        """Check a request to delete a topic.

        Raises:
            KafkaError: Kafka refuses the request, or a reassignment of the topic is running.
        """
        create_topics.check_deletion(self.registry, name, enabled=self.configuration_control.deletes_topics)
        for tp in self.registry.topics[name].partitions:
            if self.registry.partitions[tp].adding or self.registry.partitions[tp].removing:
                raise errors.KafkaError(
                    errors.INVALID_REQUEST,
                    f"{tp} is being reassigned. With ZooKeeper, Kafka deletes its topic when the reassignment is complete; request the deletion then.",
                )

    def delete_topic(self, name: str) -> None:
        """Request the deletion of a topic in ZooKeeper, so that the controller deletes the topic (`TopicCommand`,
        `AdminManager#deleteTopics`)."""
        for tp in self.registry.topics[name].partitions:
            self.registry.account.partition_deleted(tp)
        self.zookeeper.apply(Create(deletion_path(name)))

    def write_config_change(self, change: ConfigChange) -> None:
        """Write a changed setting to ZooKeeper, from which the brokers read it."""
        self.zookeeper.apply(Create(f"{paths.CONFIG_CHANGES}/config_change_", change, sequential=True))

    # --- elections and reassignments -------------------------------------------------------------------------------

    def _needs_no_preferred_election(self, partition: PartitionRegistration) -> bool:
        release = self.release
        leads = partition.has_preferred_leader and not release.elects_preferred_again
        return leads and not (release.preferred_leader_is_online and self.cluster_control.brokers[partition.leader].fenced)

    def elect_leaders(self, tp: TopicPartition | None, election: ElectionMode) -> list[tuple[TopicPartition, str]]:
        """Request elections in ZooKeeper. Return an error code for each partition.

        If an election is not necessary, the request is refused immediately, unless the release elects preferred leaders again. Events report the results of the elections that are not
        refused.
        """
        wanted = []
        answers = []
        preferred = election is ElectionMode.PREFERRED
        for each in [tp] if tp is not None else list(self.registry.partitions):
            current = self.registry.partitions.get(each)
            if current is None:
                answers.append((each, errors.UNKNOWN_TOPIC_OR_PARTITION))
            elif self._needs_no_preferred_election(current) if preferred else current.has_leader:
                if tp is not None:
                    self.registry.journal.emit(
                        events.ElectionRefused.kind,
                        each.topic, each.partition, "preferred" if preferred else "unclean", errors.ELECTION_NOT_NEEDED,
                    )  # fmt: skip
                    answers.append((each, errors.ELECTION_NOT_NEEDED))
            else:
                wanted.append((each, election.name))
                answers.append((each, errors.NONE))
        if wanted:
            self._add_to(paths.PREFERRED_ELECTION, tuple(wanted))
        return answers

    def check_reassignment(self, tp: TopicPartition, replicas: tuple[int, ...] | None) -> None:
        """Check a request to move a partition, or to cancel its reassignment if `replicas` is None (`KafkaController#validateReplicas`).

        Raises:
            KafkaError: Kafka refuses the request.
        """
        now = self.registry.partitions.get(tp)
        if now is None:
            raise errors.KafkaError(errors.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
        if replicas is None:
            if not (now.adding or now.removing):
                raise errors.KafkaError(errors.NO_REASSIGNMENT_IN_PROGRESS, errors.NO_REASSIGNMENT)
            return
        wrong = ""
        if not replicas:
            wrong = "Empty replica list specified in partition reassignment."
        elif len(set(replicas)) != len(replicas):
            wrong = f"Duplicate replica ids in partition reassignment replica list: {list(replicas)}"
        elif self.release.alters_reassignments:
            adding = reassign_to(tuple(replica for replica in now.replicas if replica not in now.adding), replicas).adding
            live = [broker for broker, registration in self.cluster_control.brokers.items() if not registration.fenced]
            if not set(adding) <= set(live):
                wrong = f"Replica assignment has brokers that are not alive. Replica list: {list(adding)}, live broker list: {sorted(live)}"
        if wrong:
            raise errors.KafkaError(errors.INVALID_REPLICA_ASSIGNMENT, wrong)

    def reassign(self, tp: TopicPartition, replicas: tuple[int, ...]) -> bool:
        """Request a reassignment in ZooKeeper."""
        self._add_to(paths.REASSIGNMENT, ((tp, replicas),))
        return True

    def cancel_reassignment(self, tp: TopicPartition) -> bool:
        """Request the cancellation of a running reassignment in ZooKeeper."""
        self._add_to(paths.REASSIGNMENT, ((tp, None),))
        return True

    def _add_to(self, path: str, entries: tuple[object, ...]) -> None:
        there = self.zookeeper.apply(GetData(path))
        if there.error == OK:
            self.zookeeper.apply(SetData(path, there.data + entries))
        else:
            self.zookeeper.apply(Create(path, entries))
