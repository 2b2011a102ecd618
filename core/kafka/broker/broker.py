"""A broker process: how it starts, registers, sends heartbeats, applies metadata, runs periodic tasks, and shuts down.

A broker's replicas are in `replica_manager`, the requests that it serves in `requests`, and its fetchers in `follower`. `disk` holds the
data that survives the process.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from core.kafka import errors, events
from core.kafka.broker.broker_setup import BrokerSetup
from core.kafka.broker.broker_state import BrokerState
from core.kafka.broker.context import BrokerContext
from core.kafka.broker.controller_requests.alter_partition_manager import AlterPartitionManager
from core.kafka.broker.controller_requests.auto_topic_creation_manager import AutoTopicCreationManager, TopicCreation
from core.kafka.broker.controller_requests.broker_registration import BrokerRegistration
from core.kafka.broker.controller_requests.controller_channel import ControllerChannel
from core.kafka.broker.controller_requests.producer_id_manager import ProducerIdManager
from core.kafka.broker.disk import DRAWN, Disk
from core.kafka.broker.follower.fetcher_manager import ReplicaFetcherManager
from core.kafka.broker.hosted_partitions import HostedPartitions
from core.kafka.broker.kraft_metadata_cache import KRaftMetadataCache
from core.kafka.broker.log_manager.log_directories import LogDirectories
from core.kafka.broker.log_manager.log_manager import LogManager
from core.kafka.broker.partition import Partition
from core.kafka.broker.replica_manager import ReplicaManager
from core.kafka.broker.requests.fetch_manager import FetchManager
from core.kafka.group_coordinator.group_coordinator import GroupCoordinator
from core.kafka.ids import NO_LEADER, TopicPartition, broker_address
from core.kafka.messages import (
    AllocateProducerIdsRequest,
    ApiVersionsRequest,
    ApiVersionsResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    MetadataFetchResponse,
)
from core.kafka.transaction.transaction_coordinator import TransactionCoordinator
from core.kafka.transaction.transaction_log import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC, partition_for
from core.kafka.transaction.transaction_messages import FindCoordinatorRequest, FindCoordinatorResponse
from core.sim.kernel_messages import Disconnected
from core.sim.node import Node
from core.sim.units import SECOND, US_PER_MS

if TYPE_CHECKING:
    from core.kafka.controller.quorum.kafka_raft_client import KafkaRaftClient

SHUTDOWN_AGAIN: Final = 50 * US_PER_MS
"""The delay between the first response in a controlled shutdown and the next heartbeat, in µs (`BrokerLifecycleManager`)."""

SHUTDOWN_TIMEOUT: Final = 300 * SECOND
"""The time after which a broker shuts down without the controller's consent, in µs (`BrokerServer#shutdown`)."""


class Broker(Node):
    """A broker (Kafka: `BrokerServer`, `BrokerLifecycleManager`).

    Attributes:
        id: the broker ID.
        context: what the parts of the broker share.
        disk: the data that survives the process.
        voter: the controller in the same process (`process.roles=broker,controller`); None if the process is only a broker.
        channel: the connection to the active controller.
        shutdown_by: the event because of which the broker shuts down.
        topic_creation: creates internal topics when a client first needs them.
    """

    __slots__ = (
        "_shutdown_heard",
        "channel",
        "context",
        "disk",
        "fetch_manager",
        "fetcher_manager",
        "groups",
        "id",
        "log_directories",
        "log_manager",
        "partitions",
        "producer_id_manager",
        "registration",
        "replicas",
        "shutdown_by",
        "topic_creation",
        "transactions",
        "voter",
    )  # fmt: skip

    id: Final[int]
    context: Final[BrokerContext]
    disk: Final[Disk]
    channel: Final[ControllerChannel]
    producer_id_manager: Final[ProducerIdManager]
    registration: Final[BrokerRegistration]
    log_directories: Final[LogDirectories]
    log_manager: Final[LogManager]
    replicas: Final[ReplicaManager]
    fetch_manager: Final[FetchManager]
    fetcher_manager: Final[ReplicaFetcherManager]
    partitions: Final[dict[TopicPartition, Partition]]
    transactions: Final[TransactionCoordinator]
    groups: Final[GroupCoordinator]

    def __init__(self, setup: BrokerSetup) -> None:
        super().__init__(broker_address(setup.broker_id), setup.network, setup.journal)
        self.id = setup.broker_id
        self.context = context = BrokerContext(setup, self)
        self.disk = context.disk
        self._shutdown_heard = False
        self.shutdown_by = 0
        self.voter: KafkaRaftClient | None = None
        self.channel = ControllerChannel(context, setup.controllers, self.ask_controller_again)
        self.topic_creation: TopicCreation = AutoTopicCreationManager(context, self.channel)
        self.producer_id_manager = ProducerIdManager(context, self.request_producer_ids)
        self.log_directories = LogDirectories(context, self.channel, self)
        self.registration = BrokerRegistration(context, self.channel, self.log_directories.online_ids, self.registered)
        hosted = HostedPartitions(context)
        self.partitions = hosted.online
        self.log_manager = LogManager(context, self.partitions)
        self.replicas = ReplicaManager(context, hosted, self.log_manager, self.log_directories, self)
        self.fetch_manager = self.replicas.fetch_manager
        self.fetcher_manager = self.replicas.fetcher_manager
        self.transactions = TransactionCoordinator(context, self.replicas, self.producer_id_manager)
        self.groups = GroupCoordinator(context, self.replicas)
        self.replicas.coordinators[TRANSACTION_STATE_TOPIC] = self.transactions
        self.replicas.coordinators[GROUP_METADATA_TOPIC] = self.groups
        context.alter_partition = AlterPartitionManager(context, self.channel, self.partitions, self.controller_request_timed_out)
        self.handlers.update(
            {
                BrokerHeartbeatResponse: self._heartbeat_answered,
                MetadataFetchResponse: self._metadata_arrived,
                Disconnected: self._disconnected,
                FindCoordinatorRequest: self._find_coordinator,
                ApiVersionsRequest: self._api_versions,
            }
        )
        self.timers.update(
            {
                "started": self._started,
                "heartbeat": self._heartbeat_due,
                "shutdown-heartbeat": self._shutdown_heartbeat,
                "shutdown-timeout": self._shutdown_timeout,
                "isr-expiration": self._isr_expiration,
            }
        )
        self.refresh_settings()

    def refresh_settings(self) -> None:
        """Let each part read its settings again, because they might have changed."""
        self.withdraw_idle_fetches()
        timeout = self.context.config.fetch_timeout
        self.context.config.refresh()
        self.log_manager.refresh_configs()
        self.replicas.refresh_settings(timeout_changed=timeout != self.context.config.fetch_timeout)

    # --- life of the process ---------------------------------------------------------------------------------------

    def boot(self, broker_epoch: int, heartbeat_phase: int, metadata_end: int) -> None:
        """Start as a broker that has been running for a long time: registered, unfenced, and with the metadata below `metadata_end`."""
        self.context.state = BrokerState.RUNNING
        self.context.fenced = False
        self.context.broker_epoch = broker_epoch
        self.disk.clean_shutdown = False
        self._arm_timers(heartbeat_phase)
        self._apply_metadata(metadata_end)
        self._fetch_metadata()

    def start(self, startup: int, recovery: int, disk_speed: int) -> None:
        """Start the process. The process registers after its startup time, and after log recovery if the last shutdown was unclean.

        Args:
            startup: the time that each start of the process takes, in µs.
            recovery: the time that a log recovery takes in addition to reading the logs, in µs.
            disk_speed: the number of bytes per second that a recovery thread reads; 0 in by-hand mode, where nothing takes time.
        """
        for tp in self.disk.mount_repaired():
            self.context.account.check_exposure(tp)
        clean = self.disk.clean_shutdown
        self.registration.started_clean = clean
        self.incarnation += 1
        self.context.state = BrokerState.STARTING
        threads = self.context.settings.integer("num.recovery.threads.per.data.dir", broker=self.id)
        recoveries = [] if clean or not disk_speed else self.disk.recovery(threads, disk_speed)
        spent = 0 if clean else recovery + max([each.duration for each in recoveries], default=0)
        self.disk.load()
        self.journal.cause = self.journal.emit(events.BrokerStarted.kind, self.id, clean, spent)
        for each in recoveries:
            if each.logs:
                self.journal.emit(events.LogsRecovered.kind, self.id, *each)
        self.timer(startup + spent, "started")

    def _started(self, _: object) -> None:
        self.network.process_started(self.address, self.journal.now)
        self.load()
        self._arm_timers(0)
        if self.voter is not None:
            self.voter.start()
        self.register()
        self.log_directories.resume_moves()

    def load(self) -> None:
        """Open the logs, delete the clean-shutdown file, and forget the previous process's metadata and its pending shutdown."""
        self.disk.clean_shutdown = False
        self.context.metadata_cache.clear()
        self.context.want_shutdown = self._shutdown_heard = False
        self.shutdown_by = 0
        self.registration.reset()

    def _arm_timers(self, heartbeat_phase: int) -> None:
        if not self.context.by_hand:
            if heartbeat_phase:
                self.timer(heartbeat_phase, "heartbeat")
            self.timer(self.context.config.isr_check_interval, "isr-expiration")
            self.log_manager.arm()

    def forget_fetches(self) -> None:
        """Drop all pending fetches that this broker has sent or received. Each fetcher then begins a new fetch session."""
        self.fetch_manager.drop_parked()
        self.fetcher_manager.forget_fetches()

    def run_by_itself(self, armed: set[str]) -> None:
        """Leave by-hand mode: arm all timers except those in `armed`, which are already armed."""
        if self.context.state is BrokerState.STOPPED:
            return
        if "isr-expiration" not in armed:
            self._arm_timers(0)
        elif "log-cleaner" not in armed:
            self.log_manager.reset()
            self.log_manager.arm_cleaner()
        if not self.registration.is_current:
            self.register()
        elif "heartbeat" not in armed:
            self.timer(1, "heartbeat")
        for fetcher in self.fetcher_manager.fetchers.values():
            fetcher.wake_now()

    def stop(self, how: str) -> None:
        """End the process; `how` is `killed`, `power-loss`, `halted`, `unheard`, `exited`, or `shutdown`.

        A shutdown flushes the logs and writes the checkpoints and the clean-shutdown file.
        """
        self.withdraw_idle_fetches()
        if how == "shutdown":
            self.disk.close()
        self.journal.cause = self.journal.emit(events.BrokerStopped.kind, self.id, how)
        for tp, partition in self.partitions.items():
            if partition.is_leader:
                self.context.account.leadership_ended(tp, partition.log)
        self.context.state = BrokerState.STOPPED
        self.incarnation += 1
        self.replicas.reset()
        self.producer_id_manager.reset()
        self.transactions.reset()
        self.groups.reset()
        self.log_directories.reset()
        self.log_manager.reset()
        self.context.alter_partition.reset()
        self.topic_creation.reset()
        self.channel.reset()
        if self.voter is not None:
            self.voter.process_ended()
        self.network.process_died(self.address, self.journal.now, self.journal.cause, power=how == "power-loss")

    def lose_unflushed(self, keep: tuple[tuple[TopicPartition, int], ...], how: str = DRAWN, draw: random.Random | None = None) -> None:
        """Simulate the loss of the page cache. After the loss, each log ends where its data on disk ends (`Disk#lose_unflushed`)."""
        for tp, held, offset, flushed in self.disk.lose_unflushed(dict(keep), how, draw):
            lost = self.journal.emit(events.UnflushedLost.kind, self.id, tp.topic, tp.partition, offset, held[-1].end, flushed)
            self.context.account.log_truncated(tp, self.id, held, held[-1].end, offset, lost)

    def bounce(self, keep: tuple[tuple[TopicPartition, int], ...], *, clean: bool) -> None:
        """In by-hand mode, restart the process before the controller notices that the process has ended.

        If `keep` is not empty, it maps logs to new end offsets. The broker's machine then loses power, and each log in `keep` loses the
        records at and above its new end offset.
        """
        self.stop("power-loss" if keep else "shutdown" if clean else "killed")
        if keep:
            self.lose_unflushed(keep)
        clean = clean and not keep
        self.registration.started_clean = clean
        self.network.process_started(self.address, self.journal.now)
        self.disk.load()
        self.journal.cause = self.journal.emit(events.BrokerStarted.kind, self.id, clean, 0)
        known = self.context.metadata_cache.offset
        self.load()
        self.registration.incarnation = self.incarnation  # the controller did not notice the restart
        self.context.state = BrokerState.RUNNING
        self._apply_metadata(known)
        self._fetch_metadata()

    def begin_shutdown(self) -> None:
        """Ask the controller for a controlled shutdown; if controlled shutdown is disabled, end the process immediately."""
        if not self.context.settings.flag("controlled.shutdown.enable", broker=self.id):
            self.stop("shutdown")
            return
        self.context.want_shutdown = True
        self.shutdown_by = self.journal.cause
        self.context.state = BrokerState.STOPPING
        self.send_heartbeat()
        self.timer(SHUTDOWN_TIMEOUT, "shutdown-timeout")

    def _shutdown_heartbeat(self, _: object) -> None:
        self.send_heartbeat()

    def _shutdown_timeout(self, _: object) -> None:
        self.stop("shutdown")

    # --- the controller --------------------------------------------------------------------------------------------

    def register(self) -> None:
        """Register the current process with the controller."""
        self.registration.register()

    def registered(self) -> None:
        """Fetch the metadata, and begin to send heartbeats."""
        self._fetch_metadata()
        if not self.context.by_hand:
            self.timer(self.context.config.heartbeat_interval, "heartbeat")

    def _heartbeat_due(self, _: object) -> None:
        self.timer(self.context.config.heartbeat_interval, "heartbeat")
        self.send_heartbeat()

    def send_heartbeat(self) -> None:
        """Send a heartbeat to the controller, with the log directories that have failed."""
        before = self.journal.cause
        if self.context.want_shutdown:
            self.journal.cause = self.shutdown_by
        self.channel.send(
            BrokerHeartbeatRequest(
                self.id,
                self.context.broker_epoch,
                self.context.metadata_cache.offset,
                self.context.want_shutdown,
                self.log_directories.offline_ids(),
            )
        )
        self.journal.cause = before

    def withdraw_idle_fetches(self) -> None:
        """Stop eliding the idle fetches that this broker sends or serves, because they might no longer be idle."""
        self.fetch_manager.break_silence()
        self.fetcher_manager.withdraw_idle_fetches()

    def is_disk_slow(self) -> bool:
        """Return whether a write takes time."""
        return self.log_directories.is_slow()

    def fetchers_shut_down(self) -> None:
        """Do nothing, because only a request of a ZooKeeper controller waits for fetchers to end."""

    def take_offline(self, gone: list[TopicPartition]) -> None:
        """Take the replicas in a failed log directory offline."""
        self.replicas.take_offline(gone)

    def propagate_directory_failure(self, directory: str) -> None:
        """Report a failed log directory to the controller."""
        self.log_directories.report(directory)

    def report_directories(self) -> None:
        """Send a heartbeat that names the failed log directories, if the process is registered."""
        if self.registration.is_current:
            self.send_heartbeat()

    def _heartbeat_answered(self, response: BrokerHeartbeatResponse, _: str) -> None:
        if response.error == errors.STALE_BROKER_EPOCH:
            return
        self.context.fenced = response.fenced
        if response.offline_dirs:
            self.log_directories.reported(response.offline_dirs)
        if self.context.state is BrokerState.STOPPING:
            if response.may_shut_down:
                self.stop("shutdown")
            elif not self._shutdown_heard:
                self._shutdown_heard = True
                self.timer(SHUTDOWN_AGAIN, "shutdown-heartbeat")
        elif not response.fenced and self.context.state is BrokerState.STARTING:
            self.context.state = BrokerState.RUNNING

    def controller_request_timed_out(self) -> None:
        """Reconnect to a controller that has not responded in time, and send all pending requests again."""
        self.channel.disconnect()
        self.ask_controller_again()

    def ask_controller_again(self) -> None:
        """Send all pending requests again, because the controller or the connection to it has changed."""
        self.context.alter_partition.disconnected()
        self.topic_creation.reset()
        if self.registration.is_current:
            self._fetch_metadata()
        elif self.context.state is BrokerState.STARTING:
            self.registration.send()

    def request_producer_ids(self) -> None:
        """Ask the controller for a block of producer IDs."""
        self.channel.send(AllocateProducerIdsRequest(self.id))

    def _api_versions(self, _: ApiVersionsRequest, sender: str) -> None:
        """Respond with the finalized feature levels (`KafkaApis#handleApiVersionsRequest`)."""
        self.reply(sender, ApiVersionsResponse(self.context.metadata_cache.offset, self.context.metadata_cache.transaction_version))

    # --- transactions ----------------------------------------------------------------------------------------------

    def _find_coordinator(self, request: FindCoordinatorRequest, sender: str) -> None:
        """Respond with the broker that coordinates a transactional.id or a group (`KafkaApis#handleFindCoordinatorRequest`)."""
        topic = GROUP_METADATA_TOPIC if request.group else TRANSACTION_STATE_TOPIC
        leaders = self.context.metadata_cache.topic_leaders(topic)
        if not leaders:
            self.topic_creation.create_topic(topic)
        leader = leaders[partition_for(request.key, len(leaders))][0] if leaders else NO_LEADER
        available = leader != NO_LEADER and self.context.metadata_cache.has_alive_broker(leader)
        error = errors.NONE if available else errors.COORDINATOR_NOT_AVAILABLE
        self.reply(sender, FindCoordinatorResponse(request.correlation, request.key, error, leader if available else NO_LEADER))

    # --- metadata --------------------------------------------------------------------------------------------------

    def _fetch_metadata(self) -> None:
        self.channel.fetch_metadata(self.context.metadata_cache.offset)

    def _metadata_arrived(self, response: MetadataFetchResponse, _: str) -> None:
        if not self.registration.is_current:
            return  # a response to this broker's former process; the current process fetches once it is registered
        known = self.context.metadata_cache.offset
        if response.end > known:
            self._apply_metadata(response.end)
            if known <= self.context.broker_epoch < response.end:
                self.send_heartbeat()
        self._fetch_metadata()

    def _apply_metadata(self, end: int) -> None:
        """Apply the metadata log up to `end`. All changes to a partition are applied as a single change (`BrokerMetadataPublisher`)."""
        assert isinstance(self.context.metadata_cache, KRaftMetadataCache)
        delta = self.context.metadata_cache.publish(end)
        if delta.apply_settings(self.context.settings):
            self.refresh_settings()
        journal = self.journal
        arrived = journal.cause
        for offset, record in delta.removed_topics(self.disk.deletions_applied):
            journal.cause = record.cause
            self.disk.deletions_applied = offset + 1
            self.replicas.delete_replicas(record.partitions)
            self.groups.partitions_deleted(record.partitions)
        for tp, cause in delta.changed_partitions(self.id).items():
            registration = delta.partition(tp)
            if registration is not None:
                journal.cause = cause
                self.replicas.apply(tp, registration)
        journal.cause = arrived
        self.fetcher_manager.shut_down_idle_fetchers()
        self.log_directories.send_assignments()

    # --- periodic tasks --------------------------------------------------------------------------------------------

    def _isr_expiration(self, _: object) -> None:
        self.timer(self.context.config.isr_check_interval, "isr-expiration")
        self.check_isr()

    def check_isr(self) -> None:
        """Run the `isr-expiration` task (`ReplicaManager#maybeShrinkIsr`)."""
        for partition in self.replicas.out_of_sync_partitions():
            partition.maybe_shrink_isr()

    def _disconnected(self, message: Disconnected, _: str) -> None:
        if message.node == self.channel.controller:
            self.context.alter_partition.disconnected()
            self.topic_creation.reset()
            self.channel.disconnected()
        if self.voter is not None:
            self.voter.disconnected(message.node, only_opened=message.only_opened)
        if message.node not in self.channel.dedicated:
            self.replicas.disconnected(message.node, only_opened=message.only_opened)
            self.transactions.disconnected(message.node)
