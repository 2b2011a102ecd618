"""The topics and partitions that a control plane knows: how they are created, their registrations, and indexes for lookups."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

import attrs

from core.kafka import errors, events
from core.kafka.admin_requests import ElectionMode
from core.kafka.controller.metadata_log import BrokerRegistration, ConfigRecord, MetadataLog, PartitionRecord, RemoveTopicRecord
from core.kafka.controller.partition_index import PartitionIndex
from core.kafka.controller.placement import StripedReplicaPlacer, UsableBroker
from core.kafka.health import effective_min_isr
from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.release import Release
from core.kafka.settings.registry import SETTINGS
from core.kafka.settings.settings import Settings
from core.kafka.topic_spec import TopicSpec
from core.sim.journal import Journal
from core.sim.random_stream import RandomStream
from core.sim.repr_mixin import ReprMixin

if TYPE_CHECKING:
    from core.kafka.durability_observer import DurabilityObserver


@attrs.define(slots=True, repr=False)
class Topic(ReprMixin):
    """A topic.

    Attributes:
        name: the topic's name.
        topic_id: the topic ID, in the form in which Kafka prints it.
        config: the topic's own settings, in the form in which they were written.
        partitions: the topic's partitions, keyed by number.
    """

    name: str
    topic_id: str
    config: dict[str, str]
    partitions: list[TopicPartition]


class TopicRegistry:
    """The topics and partitions that a control plane keeps.

    The subclass for KRaft is `ReplicationControlManager`, and the subclass for ZooKeeper is `ZooKeeperReplication`.

    Attributes:
        settings: the settings that the controller uses.
        release: the rules of the simulated Kafka release.
        account: the durability account.
        metadata: the metadata log.
        journal: the event journal.
        brokers: the broker registrations, keyed by broker ID.
        racks: the rack of each broker.
        partitions: the registrations, keyed by partition, in the order in which the partitions were created.
        topics: the topics, keyed by name.
        index: the indexes of the registrations.
        directories: the directory of each replica on brokers that have several log directories.
        refused_topics: for each internal topic whose creation a broker requested in vain, the error code of the last refusal.
        controller_node: the broker whose process runs the active controller; None if the controller has its own process.
    """

    __slots__ = (
        "_ids", "_placer", "account", "brokers", "controller_node", "directories", "index", "journal", "metadata", "partitions", "racks",
        "refused_topics", "release", "settings", "topics",
    )  # fmt: skip

    settings: Final[Settings]
    release: Final[Release]
    account: Final[DurabilityObserver]
    metadata: Final[MetadataLog]
    journal: Final[Journal]
    brokers: Final[dict[int, BrokerRegistration]]
    racks: Final[dict[int, str | None]]
    partitions: Final[dict[TopicPartition, PartitionRegistration]]
    topics: Final[dict[str, Topic]]
    directories: Final[dict[int, dict[TopicPartition, str]]]
    index: Final[PartitionIndex]
    refused_topics: Final[dict[str, str]]
    _placer: Final[StripedReplicaPlacer]
    _ids: Final[RandomStream]

    def __init__(
        self,
        settings: Settings,
        metadata: MetadataLog,
        journal: Journal,
        account: DurabilityObserver,
        brokers: dict[int, BrokerRegistration],
        racks: dict[int, str | None],
        seed: int,
    ) -> None:
        self.settings = settings
        self.release = settings.release
        self.metadata = metadata
        self.journal = journal
        self.account = account
        self.brokers = brokers
        self.racks = racks
        self.partitions = {}
        self.topics = {}
        self.directories = {}
        self.index = PartitionIndex()
        self.refused_topics = {}
        self.controller_node: int | None = None
        self._placer = StripedReplicaPlacer(RandomStream(f"{seed}:placement"))
        self._ids = RandomStream(f"{seed}:topic-ids")

    # --- who may lead ----------------------------------------------------------------------------------------------

    def is_active(self, broker: int) -> bool:
        """Return whether a broker is registered, unfenced, and not shutting down (`ClusterControlManager#isActive`)."""
        registration = self.brokers.get(broker)
        return registration is not None and not registration.fenced and not registration.in_controlled_shutdown

    def has_online_dir(self, broker: int, tp: TopicPartition) -> bool:
        """Return whether the log directory of a replica is working (`#isAcceptableLeader`)."""
        directory = self.directories.get(broker, {}).get(tp)
        registration = self.brokers.get(broker)
        return directory is None or registration is None or registration.has_online_dir(directory)

    def min_isr(self, tp: TopicPartition) -> int:
        """Return the effective `min.insync.replicas` of a partition's topic (`#getTopicEffectiveMinIsr`).

        Since 3.7, the effective value is at most the replication factor of the topic's first partition.
        """
        configured = self.settings.integer("min.insync.replicas", topic=tp.topic, broker=self.controller_node)
        first = self.partitions[self.topics[tp.topic].partitions[0]]
        return effective_min_isr(configured, len(first.replicas), capped=self.release.capped_min_isr)

    def election_mode(self, tp: TopicPartition) -> ElectionMode:
        """Return UNCLEAN if unclean leader election is enabled for the topic; otherwise, ONLINE.

        If the topic does not override unclean.leader.election.enable, the configuration of the controller's own node applies. The node's
        configuration can differ from the cluster-wide configuration. In releases whose controllers ignore the setting, the mode is always
        ONLINE (`ConfigurationControlManager#uncleanLeaderElectionEnabledForTopic`, KAFKA-12670).
        """
        unclean = self.release.applies_unclean_setting and self.settings.flag(
            "unclean.leader.election.enable", topic=tp.topic, broker=self.controller_node
        )
        return ElectionMode.UNCLEAN if unclean else ElectionMode.ONLINE

    # --- topics ----------------------------------------------------------------------------------------------------

    def create_topic(self, spec: TopicSpec) -> None:
        """Create a topic (`#createTopic`). If the request contains no replica assignment, the controller places the replicas.

        Raises:
            KafkaError: Kafka refuses the topic. In this case, nothing changes.
            ValueError: a setting of the topic is wrong. In this case, nothing changes.
        """
        if spec.name in self.topics:
            raise errors.KafkaError(errors.TOPIC_ALREADY_EXISTS, f"Topic '{spec.name}' already exists.")
        for name, value in spec.config:
            if name in SETTINGS:
                SETTINGS[name].parse(value)
        registrations = [self.manual_assignment(spec, number) for number in range(len(spec.assignment))] or self._place_replicas(spec)
        self.register_topic(spec, registrations)

    def register_topic(self, spec: TopicSpec, registrations: list[PartitionRegistration]) -> None:
        """Add a new topic with its partitions and settings, and emit the events of its creation."""
        for name, value in spec.config:
            if name in SETTINGS:
                self.settings.set(name, value, topic=spec.name)
                self.metadata.append(ConfigRecord(name, value, spec.name, None))
        topic_id = spec.topic_id or base64.urlsafe_b64encode(self._ids.randbytes(16)).decode().rstrip("=")
        topic = self.topics[spec.name] = Topic(spec.name, topic_id, dict(spec.config), [])
        journal = self.journal
        before = journal.cause
        journal.cause = journal.emit(
            events.TopicCreated.kind, spec.name, topic_id, len(registrations), len(registrations[0].replicas) if registrations else 0
        )
        for number, registration in enumerate(registrations):
            tp = TopicPartition(spec.name, number)
            topic.partitions.append(tp)
            self.commit_registration(tp, None, registration, "created")
        journal.cause = before

    def _place_replicas(self, spec: TopicSpec) -> list[PartitionRegistration]:
        if spec.partitions < 1:
            raise errors.KafkaError(errors.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value.")
        usable = [
            UsableBroker(broker, self.racks.get(broker), registration.fenced)
            for broker, registration in sorted(self.brokers.items())
            if not registration.in_controlled_shutdown
        ]
        try:
            if spec.replication_factor > 0 and len(usable) < len(self.brokers) and all(broker.fenced for broker in usable):
                raise errors.KafkaError(errors.INVALID_REPLICATION_FACTOR, "All brokers are currently fenced or in controlled shutdown.")
            placed = self._placer.place(spec.partitions, spec.replication_factor, usable)
        except errors.KafkaError as refusal:
            raise errors.KafkaError(
                refusal.code, f"Unable to replicate the partition {spec.replication_factor} time(s): {refusal.message}"
            ) from None
        return [self._build_partition_registration(tuple(replicas)) for replicas in placed]

    def place_additional_partitions(self, name: str, count: int, factor: int) -> list[PartitionRegistration]:
        """Return registrations for `count` more partitions of a topic."""
        return self._place_replicas(TopicSpec(name, count, factor))

    def partitions_created(self, name: str) -> None:
        """Do nothing, because the metadata log already has the new partitions.

        In ZooKeeper mode, the overriding method writes the topic's znode.
        """

    def partition_created(self, tp: TopicPartition, registration: PartitionRegistration) -> None:
        """Commit the registration of a new partition."""
        self.commit_registration(tp, None, registration, "created")

    def manual_assignment(self, spec: TopicSpec, number: int) -> PartitionRegistration:
        """Return the registration of a partition whose replicas are assigned manually.

        Raises:
            KafkaError: INVALID_REPLICA_ASSIGNMENT, if a broker is not registered or no broker in the assignment is active.
        """
        given = spec.assignment[number]
        for broker in given.replicas:
            if broker not in self.brokers:
                raise errors.KafkaError(
                    errors.INVALID_REPLICA_ASSIGNMENT,
                    f"The manual partition assignment includes broker {broker}, but no such broker is registered.",
                )
        if given.isr is None and given.leader is None:
            if not any(self.is_active(broker) for broker in given.replicas):
                raise errors.KafkaError(
                    errors.INVALID_REPLICA_ASSIGNMENT,
                    f"All brokers specified in the manual partition assignment for partition {number} are fenced or in controlled shutdown.",
                )
            fresh = self._build_partition_registration(given.replicas)
            return attrs.evolve(fresh, leader_epoch=given.leader_epoch) if given.leader_epoch else fresh
        isr = given.isr if given.isr is not None else tuple(b for b in given.replicas if self.is_active(b))
        leader = given.leader if given.leader is not None else next((b for b in isr if self.is_active(b)), NO_LEADER)
        return PartitionRegistration(given.replicas, isr, leader, given.leader_epoch, 0, elr=given.elr, last_known_elr=given.last_known_elr)

    def _build_partition_registration(self, replicas: tuple[int, ...]) -> PartitionRegistration:
        """Return a new partition. The ISR of the new partition consists of its active replicas, and the first of these replicas is the
        leader (`#buildPartitionRegistration`)."""
        isr = tuple(broker for broker in replicas if self.is_active(broker))
        return PartitionRegistration(replicas, isr, isr[0], 0, 0)

    def check_deletion(self, name: str) -> None:
        """Check a request to delete a topic.

        Raises:
            KafkaError: Kafka refuses the request.
        """
        if name not in self.topics:
            raise errors.KafkaError(errors.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")
        if not self.settings.flag("delete.topic.enable", broker=self.controller_node):
            raise errors.KafkaError(errors.TOPIC_DELETION_DISABLED, "Topic deletion is disabled.")

    def delete_topic(self, name: str) -> None:
        """Delete a topic (`#deleteTopic`). The brokers delete their replicas when they read the RemoveTopicRecord."""
        topic = self.topics[name]
        event = self.journal.emit(events.TopicDeleted.kind, name, topic.topic_id, len(topic.partitions))
        self.metadata.append(RemoveTopicRecord(name, tuple(topic.partitions), event))
        self.forget_topic(name)

    def forget_topic(self, name: str) -> None:
        """Remove a deleted topic, its partitions, and its settings from the indexes."""
        for tp in self.topics.pop(name).partitions:
            registration = self.partitions.pop(tp)
            self.index.remove(tp, registration)
            for broker in registration.replicas:
                self.directories.get(broker, {}).pop(tp, None)
            self.account.partition_deleted(tp)
        self.settings.remove_topic(name)

    # --- registrations ---------------------------------------------------------------------------------------------

    def commit_registration(self, tp: TopicPartition, old: PartitionRegistration | None, new: PartitionRegistration, reason: str) -> None:
        """Write a partition's new registration to the metadata log, emit its event, and update the indexes."""
        journal = self.journal
        cause = journal.emit(
            events.PartitionChanged.kind,
            tp.topic, tp.partition, new.leader, new.leader_epoch, new.partition_epoch, new.replicas, new.isr, new.elr,
            new.last_known_elr, new.adding, new.removing, new.recovering, reason,
        )  # fmt: skip
        if old is not None and old.leader != new.leader:
            cause = journal.cause
        self.partitions[tp] = new
        self.metadata.append(PartitionRecord(tp, new, cause))
        self.index.update(tp, old, new)
        self.account.partition_changed(tp, new)

    # --- what an administrator asks for ----------------------------------------------------------------------------

    def elect_leaders(self, tp: TopicPartition | None, election: ElectionMode) -> list[tuple[TopicPartition, str]]:
        """Elect leaders or request their election, either for one partition or, if `tp` is None, for all partitions.

        Return the affected partitions, each with an error code.
        """
        raise NotImplementedError

    def check_reassignment(self, tp: TopicPartition, replicas: tuple[int, ...] | None) -> None:
        """Check a request to move a partition to other replicas or, if `replicas` is None, to cancel the partition's reassignment.

        Raises:
            KafkaError: Kafka refuses the request.
        """
        raise NotImplementedError

    def reassign(self, tp: TopicPartition, replicas: tuple[int, ...]) -> bool:
        """Move a partition to other replicas, or request the move. Return False if nothing changes."""
        raise NotImplementedError

    def cancel_reassignment(self, tp: TopicPartition) -> bool:
        """Cancel a running reassignment, or request the cancellation. Return False if nothing changes."""
        raise NotImplementedError
