"""The active controller (Kafka: `QuorumController`), which handles broker registrations, heartbeats, and AlterPartition requests, and
writes the metadata log.

Brokers fetch the metadata log by long polling. If the link between a broker and the controller is cut, the broker continues to act on the
metadata that it has already read.
"""

from __future__ import annotations

import random
from typing import Final

import attrs

from core.kafka import errors, events
from core.kafka.controller.broker_fencing import (
    handle_broker_fenced,
    handle_broker_in_controlled_shutdown,
    handle_broker_unfenced,
    handle_broker_unregistered,
    remove_from_isrs,
)
from core.kafka.controller.broker_heartbeat_manager import BrokerControlState, BrokerHeartbeatManager
from core.kafka.controller.cluster_control_manager import ClusterControlManager
from core.kafka.controller.configuration_control_manager import ConfigurationControlManager
from core.kafka.controller.directory_failures import assign_replicas_to_dirs, handle_directories_offline
from core.kafka.controller.metadata_log import BrokerRegistration, ConfigRecord, MetadataLog
from core.kafka.controller.partition_index import PartitionIndex
from core.kafka.controller.replica_directories import ReplicaDirectories
from core.kafka.controller.replication_control_manager import ReplicationControlManager
from core.kafka.controller.topic_registry import TopicRegistry
from core.kafka.durability_observer import DurabilityObserver
from core.kafka.ids import CONTROLLER, NO_EPOCH, PRODUCER_ID_BLOCK_SIZE, broker_address
from core.kafka.messages import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    AlterPartitionRequest,
    AlterPartitionResponse,
    AssignReplicasToDirsRequest,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    MetadataFetchRequest,
    MetadataFetchResponse,
)
from core.kafka.settings.settings import Settings
from core.sim.journal import Journal
from core.sim.kernel_messages import Disconnected
from core.sim.network import Network
from core.sim.node import Node
from core.sim.units import SECOND, US_PER_MS

CONTINUE_DELAY: Final = 10 * US_PER_MS
"""The delay before a periodic task continues after it reached the maximum number of elections in one pass, in µs."""

BALANCE_LEADERS: Final = "balance"
"""The name of the periodic task that returns leadership to preferred replicas."""

ELECT_UNCLEAN: Final = "unclean"
"""The name of the periodic task that elects leaders for partitions where unclean leader election is now allowed."""


class QuorumController(Node):
    """The controller node.

    Attributes:
        settings: the settings that the controller uses; changes reach the brokers through the metadata log.
        metadata: the metadata log.
        cluster_control: the brokers.
        configuration_control: the settings that the controller applies to topics.
        registry: the topics and partitions.
        directories: the log directories of the replicas.
        heartbeats: the heartbeat state of the brokers.
        replication: the rules by which topics and partitions change.
        last_contact: the arrival time of each broker's last heartbeat, in µs.
        next_producer_id: the start of the next block of producer IDs.
        scheduled: the due time of each scheduled periodic task, in µs.
        active: the address of the active controller.
    """

    __slots__ = (
        "_check_due", "_waiting_fetches", "by_hand", "cluster_control", "configuration_control", "directories", "heartbeats", "last_contact",
        "metadata", "next_producer_id", "registry", "replication", "scheduled", "settings",
    )  # fmt: skip

    settings: Final[Settings]
    metadata: Final[MetadataLog]
    cluster_control: Final[ClusterControlManager]
    configuration_control: Final[ConfigurationControlManager]
    registry: Final[TopicRegistry]
    directories: Final[ReplicaDirectories]
    replication: Final[ReplicationControlManager]
    _waiting_fetches: Final[dict[int, int]]
    scheduled: Final[dict[str, int]]

    active = CONTROLLER

    def __init__(
        self,
        settings: Settings,
        metadata: MetadataLog,
        network: Network,
        journal: Journal,
        account: DurabilityObserver,
        racks: dict[int, str | None],
        *,
        seed: int,
        by_hand: bool,
    ) -> None:
        super().__init__(CONTROLLER, network, journal)
        self.settings = settings
        self.metadata = metadata
        self.by_hand = by_hand
        self.heartbeats = BrokerHeartbeatManager(settings.us("broker.session.timeout.ms"))
        self.cluster_control = ClusterControlManager(racks, metadata, account)
        self.configuration_control = ConfigurationControlManager(settings)
        self.registry = TopicRegistry(settings, metadata, journal, account, seed)
        self.directories = ReplicaDirectories(self.cluster_control)
        self.replication = ReplicationControlManager(
            self.registry, self.cluster_control, self.configuration_control, self.directories, seed
        )
        self.last_contact: dict[int, int] = {}
        self.next_producer_id = 0
        self._waiting_fetches = {}
        self._check_due = -1
        self.scheduled = {}
        self.handlers.update(
            {
                BrokerRegistrationRequest: self._register,
                BrokerHeartbeatRequest: self._heartbeat,
                AlterPartitionRequest: self._alter_partition,
                MetadataFetchRequest: self._metadata_fetch,
                AllocateProducerIdsRequest: self._allocate_producer_ids,
                CreateTopicsRequest: self._create_topics,
                AssignReplicasToDirsRequest: self._assign_replicas_to_dirs,
                Disconnected: self._disconnected,
            }
        )
        self.timers.update({"session-check": self._session_check, "periodic": self._periodic_due})

    def handle(self, message: object, sender: str) -> None:
        """Handle a message, and then send the committed metadata to waiting brokers."""
        super().handle(message, sender)
        self.publish()

    def publish(self) -> None:
        """Respond to brokers that are waiting for metadata, as a Raft leader completes waiting fetches. Schedule the periodic tasks that
        have work to do."""
        end = len(self.metadata)
        for broker, offset in list(self._waiting_fetches.items()):
            if offset < end:
                del self._waiting_fetches[broker]
                self.reply(broker_address(broker), MetadataFetchResponse(end))
        if not self.by_hand and (self.registry.index.unbalanced or self.registry.index.leaderless):
            for task, interval in self.periodic_tasks(self.registry.index):
                if task not in self.scheduled:
                    self._schedule(task, interval)

    # --- the start -------------------------------------------------------------------------------------------------

    def boot_broker(self, broker: int, *, up: bool, directories: tuple[str, ...] = ()) -> int:
        """Register a broker at the start of the simulation. Return the broker's epoch."""
        registration = BrokerRegistration(broker, len(self.metadata), 0, fenced=not up, directories=directories)
        self.cluster_control.register(registration)
        self.heartbeats.touch(broker, not up, -1, self.journal.now)
        self.last_contact[broker] = self.journal.now
        return registration.epoch

    def broker_bounced(self, broker: int) -> None:
        """Do nothing. In by-hand mode, a restarted process has missed no heartbeat and has already read the metadata log again."""

    def boot(self, seed: int) -> None:
        """Schedule the periodic tasks at the start of the simulation.

        The simulation starts with a controller that has been active for a while, so the time of the next session check is drawn at random.
        """
        if not self.by_hand:
            if self.settings.release.fences_periodically and self._check_due < 0:
                self._schedule_session_check(1 + random.Random(f"{seed}:fencing").randrange(self.heartbeats.fencing_period))
            else:
                self._arm_session_check()
            self.publish()

    # --- registration and heartbeats -------------------------------------------------------------------------------

    def _register(self, request: BrokerRegistrationRequest, sender: str) -> None:
        """Register a broker process (`ClusterControlManager#registerBroker`)."""
        broker, journal = request.broker, self.journal
        known = self.cluster_control.brokers.get(broker)
        if known is not None and known.incarnation == request.incarnation:
            self.reply(sender, BrokerRegistrationResponse(errors.NONE, known.epoch))
            return
        if known is not None and not self.by_hand and not known.fenced and self.heartbeats.has_valid_session(broker, journal.now):
            journal.emit(events.RegistrationRefused.kind, broker, errors.DUPLICATE_BROKER_REGISTRATION)
            self.reply(sender, BrokerRegistrationResponse(errors.DUPLICATE_BROKER_REGISTRATION, NO_EPOCH))
            return
        registration = BrokerRegistration(broker, len(self.metadata), request.incarnation, directories=request.directories)
        journal.cause = journal.emit(events.BrokerRegistered.kind, broker, registration.epoch)
        self.cluster_control.register(registration)
        release = self.settings.release
        unclean = release.elr and release.unclean_broker_leaves_elr and not request.clean
        # By hand, no session expires, so a restarted broker was not fenced before.
        if release.registration_leaves_isrs or self.by_hand:
            remove_from_isrs(self.replication, broker, f"b{broker} registered anew", unclean_shutdown=unclean)
        self.heartbeats.remove(broker)
        self.heartbeats.touch(broker, True, -1, journal.now)
        self.last_contact[broker] = journal.now
        self.reply(sender, BrokerRegistrationResponse(errors.NONE, registration.epoch))

    def _heartbeat(self, request: BrokerHeartbeatRequest, sender: str) -> None:
        """Process a broker's heartbeat (`ReplicationControlManager#processBrokerHeartbeat`)."""
        broker = request.broker
        registration = self.cluster_control.brokers.get(broker)
        if registration is None or registration.epoch != request.broker_epoch:
            self.reply(sender, BrokerHeartbeatResponse(errors.STALE_BROKER_EPOCH, True, False))
            return
        if request.offline_dirs and any(directory in registration.directories for directory in request.offline_dirs):
            left = handle_directories_offline(self.replication, broker, request.offline_dirs)
            registration = attrs.evolve(self.cluster_control.brokers[broker], directories=left)
            self.cluster_control.register(registration)
        last_read = request.metadata_offset - 1
        states = self.heartbeats.next_state(
            broker,
            want_fence=False,
            want_shut_down=request.want_shutdown,
            metadata_offset=last_read,
            registration_offset=registration.epoch,
            has_leaderships=lambda: self.registry.index.leader_counts.get(broker, 0) > 0,
        )
        if states.next is not states.current:
            if states.next is BrokerControlState.UNFENCED:
                if not self.journal.cause:
                    self.journal.blame(self.network.disturbances.last_of(sender) or self.why_silent(sender, self.journal.now))
                handle_broker_unfenced(self.replication, registration)
            elif states.next is BrokerControlState.CONTROLLED_SHUTDOWN:
                handle_broker_in_controlled_shutdown(self.replication, registration)
            elif not registration.fenced:
                self.fence(broker, by_session=False)
        fenced = states.next in (BrokerControlState.FENCED, BrokerControlState.SHUTDOWN_NOW)
        self.heartbeats.touch(broker, fenced, last_read, self.journal.now)
        self.last_contact[broker] = self.journal.now
        if states.next is BrokerControlState.CONTROLLED_SHUTDOWN:
            self.heartbeats.maybe_update_controlled_shutdown_offset(broker, len(self.metadata) - 1)
        self._arm_session_check()
        self.reply(
            sender, BrokerHeartbeatResponse(errors.NONE, fenced, states.next is BrokerControlState.SHUTDOWN_NOW, request.offline_dirs)
        )

    def fence(self, broker: int, *, by_session: bool) -> None:
        """Fence a broker, for example because its session has expired."""
        silent = self.journal.now - self.last_contact.get(broker, self.journal.now)
        limit = self.settings.us("broker.session.timeout.ms") if by_session else -1
        if by_session:
            address, since, disturbances = broker_address(broker), self.journal.now - silent, self.network.disturbances
            found = disturbances.between(address, self.address, since, self.journal.now, one_way=True)
            self.journal.blame(found or disturbances.last_of(address) or self.why_silent(address, since))
        handle_broker_fenced(self.replication, broker, silent, limit)
        self.heartbeats.fence(broker)

    def check_registered(self, broker: int) -> BrokerRegistration:
        """Return a broker's registration.

        Raises:
            KafkaError: the broker is not registered.
        """
        registration = self.cluster_control.brokers.get(broker)
        if registration is None:
            raise errors.KafkaError(errors.BROKER_ID_NOT_REGISTERED, f"Broker ID {broker} is not currently registered")
        return registration

    def unregister(self, broker: int) -> None:
        """Remove a broker from every ISR, and then delete its registration (`ReplicationControlManager#unregisterBroker`).

        Raises:
            KafkaError: the broker is not registered.
        """
        handle_broker_unregistered(self.replication, self.check_registered(broker))
        self.heartbeats.remove(broker)
        self.last_contact.pop(broker, None)

    def _arm_session_check(self, *, fenced: bool = False) -> None:
        if self._check_due >= 0 or self.by_hand:
            return
        periodic = self.settings.release.fences_periodically
        delay = self.heartbeats.next_check_in(self.journal.now, periodic=periodic, fenced=fenced)
        if delay is not None:
            self._schedule_session_check(delay)

    def _schedule_session_check(self, delay: int) -> None:
        self._check_due = self.journal.now + delay
        self.timer(delay, "session-check")

    def _session_check(self, _: object) -> None:
        """If the session of the broker whose last heartbeat is the oldest has expired, fence this broker
        (`ReplicationControlManager#maybeFenceOneStaleBroker`).

        If several sessions have expired, Kafka 4.0 and later fence the brokers in the order of a hash table, which cannot be predicted.
        """
        self._check_due = -1
        if self.by_hand:
            return
        stale = self.heartbeats.stale_broker(self.journal.now)
        if stale is not None:
            self.fence(stale, by_session=True)
        self._arm_session_check(fenced=stale is not None)

    # --- periodic tasks --------------------------------------------------------------------------------------------

    def periodic_tasks(self, index: PartitionIndex) -> tuple[tuple[str, int], ...]:
        """Return the periodic tasks that have work to do on the partitions of an index, each with the delay until it runs, in µs.

        Kafka: `#maybeScheduleNextBalancePartitionLeaders`, `#maybeScheduleNextElectUncleanLeaders`. No task is needed while every partition
        is led by its preferred replica.
        """
        settings, wanted = self.settings, []
        if index.unbalanced and settings.flag("auto.leader.rebalance.enable"):
            wanted.append((BALANCE_LEADERS, settings.integer("leader.imbalance.check.interval.seconds") * SECOND))
        if index.leaderless and settings.release.elects_unclean_later:
            wanted.append((ELECT_UNCLEAN, settings.us("unclean.leader.election.interval.ms")))
        return tuple(wanted)

    def run_periodic_task(self, task: str) -> bool:
        """Run a periodic task. Return True if the task reached its limit and must continue after `CONTINUE_DELAY`."""
        if task == ELECT_UNCLEAN:
            return self.replication.maybe_elect_unclean_leaders()
        return self.settings.flag("auto.leader.rebalance.enable") and self.replication.maybe_balance_partition_leaders()

    def _schedule(self, task: str, delay: int) -> None:
        self.scheduled[task] = self.journal.now + delay
        self.timer(delay, "periodic", task)

    def _periodic_due(self, task: object) -> None:
        assert isinstance(task, str)
        del self.scheduled[task]
        if self.run_periodic_task(task):
            self._schedule(task, CONTINUE_DELAY)

    # --- requests of brokers ---------------------------------------------------------------------------------------

    def _alter_partition(self, request: AlterPartitionRequest, sender: str) -> None:
        registration = self.cluster_control.brokers.get(request.broker)
        if registration is None or registration.epoch != request.broker_epoch:
            self.reply(sender, AlterPartitionResponse(request.correlation, errors.STALE_BROKER_EPOCH, ()))
            return
        journal = self.journal
        request_cause = journal.cause
        answers = []
        for item in request.items:
            journal.cause = item.cause or request_cause
            before = journal.seq
            error = self.replication.alter_partition(request.broker, item)
            cause = journal.seq if journal.seq > before else journal.cause
            answers.append((item.tp, error, self.registry.partitions.get(item.tp), cause))
        journal.cause = request_cause
        self.reply(sender, AlterPartitionResponse(request.correlation, errors.NONE, tuple(answers)))

    def _assign_replicas_to_dirs(self, request: AssignReplicasToDirsRequest, sender: str) -> None:
        registration = self.cluster_control.brokers.get(request.broker)
        if registration is not None and registration.epoch == request.broker_epoch:
            assign_replicas_to_dirs(self.replication, request.broker, request.assignments)

    def _metadata_fetch(self, request: MetadataFetchRequest, sender: str) -> None:
        self._waiting_fetches[request.broker] = request.offset

    def _allocate_producer_ids(self, request: AllocateProducerIdsRequest, sender: str) -> None:
        """Assign the next block of producer IDs to a broker (`ProducerIdControlManager#generateNextProducerId`)."""
        start, self.next_producer_id = self.next_producer_id, self.next_producer_id + PRODUCER_ID_BLOCK_SIZE
        self.reply(sender, AllocateProducerIdsResponse(start, PRODUCER_ID_BLOCK_SIZE))

    def _create_topics(self, request: CreateTopicsRequest, sender: str) -> None:
        """Create an internal topic for a broker (`ControllerApis#handleCreateTopics`)."""
        self.reply(sender, CreateTopicsResponse(request.topic.name, self.replication.create_internal_topic(request.topic)))

    def _disconnected(self, message: Disconnected, _: str) -> None:
        for broker in list(self._waiting_fetches):
            if broker_address(broker) == message.node:
                del self._waiting_fetches[broker]

    active_count = 1
    """The number of controllers that consider themselves active."""

    controller_epoch = 0
    """The controller epoch, which is always 0, because this single controller never fails over."""

    def leaders(self, topic: str) -> tuple[tuple[int, int], ...]:
        """Return (leader, leader epoch) for each partition of a topic."""
        return self.metadata.leaders(topic, len(self.metadata))

    # --- administration --------------------------------------------------------------------------------------------

    def refresh_session_timeout(self) -> None:
        """Read `broker.session.timeout.ms` again, and convert it to the controller's own clock."""
        self.heartbeats.session_timeout_us = self.settings.us("broker.session.timeout.ms")

    def config_changed(self, name: str, value: str, topic: str | None, broker: int | None) -> None:
        """Write a changed setting to the metadata log, from which brokers read it, and apply the setting to this controller."""
        self.metadata.append(ConfigRecord(name, value, topic, broker))
        if name == "broker.session.timeout.ms":
            self.refresh_session_timeout()
        if name == "min.insync.replicas":
            self.replication.min_isr_changed(topic)
