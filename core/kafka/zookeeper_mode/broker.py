"""A broker in ZooKeeper mode. The broker registers by creating an ephemeral znode, gets its roles from the controller, and can be the
controller itself.

Every request from a controller carries the controller epoch. If the controller epoch in a request is older than the newest one that the
broker has seen, the broker refuses the request (STALE_CONTROLLER_EPOCH). Therefore, a controller that does not know that it has been
replaced has no effect.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from core.kafka import errors, events
from core.kafka.broker.broker import Broker
from core.kafka.broker.broker_setup import BrokerSetup
from core.kafka.broker.broker_state import BrokerState
from core.kafka.broker.controller_requests.broker_registration import REGISTRATION_RETRY
from core.kafka.ids import PRODUCER_ID_BLOCK_SIZE, TopicPartition
from core.kafka.messages import AllocateProducerIdsResponse
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.zookeeper_mode.client import ZooKeeperClient
from core.kafka.zookeeper_mode.controller.controller_channel_manager import ControlRequest
from core.kafka.zookeeper_mode.controller.kafka_controller import KafkaController
from core.kafka.zookeeper_mode.controller.requests import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    ControlResponse,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from core.kafka.zookeeper_mode.isr_manager import ZooKeeperIsrManager
from core.kafka.zookeeper_mode.topic_creation import ZooKeeperTopicCreation
from core.kafka.zookeeper_mode.zk_metadata_cache import ZkMetadataCache
from core.kafka.zookeeper_server import paths
from core.kafka.zookeeper_server.paths import ConfigChange, broker_path
from core.kafka.zookeeper_server.protocol import OK, Create, GetChildren, GetData, Result, SetData
from core.sim.kernel_messages import Disconnected, Timer
from core.sim.units import SECOND

if TYPE_CHECKING:
    pass

LOCAL_DELIVERY_DELAY: Final = 1
"""The time that a broker's message to the controller on the same broker takes, in µs.

The delivery delay ensures that the effects of an act occur after the act itself.
"""

SHUTDOWN_TRIES: Final = 3
"""The maximum number of times that a broker requests a controlled shutdown (controlled.shutdown.max.retries)."""

SHUTDOWN_BACKOFF: Final = 5 * SECOND
"""The delay between two requests for a controlled shutdown, in µs (controlled.shutdown.retry.backoff.ms)."""


class ZooKeeperBroker(Broker):
    """A broker in ZooKeeper mode.

    Attributes:
        zk: the broker's ZooKeeper client.
        kafka_controller: this broker's controller. Only one broker's controller is active.
        isr_manager: the object that writes ISRs to ZooKeeper (before 2.7); otherwise None.
        unanswered: while fetchers that must end are waiting for their last fetch, the response to the LeaderAndIsr request that ended them,
            with its receiver; otherwise None.
        held_requests: the requests from controllers that arrived while `unanswered` was not None, with their senders and causes.
    """

    __slots__ = ("_configs_read", "_shutdown_tries", "held_requests", "isr_manager", "kafka_controller", "unanswered", "zk")

    zk: Final[ZooKeeperClient]
    kafka_controller: Final[KafkaController]
    held_requests: Final[deque[tuple[ControlRequest, str, int]]]

    def __init__(self, setup: BrokerSetup) -> None:
        super().__init__(setup)
        context = self.context
        self.channel.controller = self.address
        self.channel.epoch = 0
        self.zk = ZooKeeperClient(context, self)
        self.kafka_controller = KafkaController(context, self.zk, self.channel)
        self.isr_manager: ZooKeeperIsrManager | None = None
        if context.release.leader_writes_isr:
            self.isr_manager = context.alter_partition = ZooKeeperIsrManager(context, self.zk, self.channel, self.partitions)
        self.topic_creation = ZooKeeperTopicCreation(context, self.zk, setup.seed)
        self._configs_read = 0
        self._shutdown_tries = 0
        self.unanswered: tuple[str, LeaderAndIsrResponse] | None = None
        self.held_requests = deque()
        self.handlers.update(
            {
                LeaderAndIsrRequest: self._controller_request,
                StopReplicaRequest: self._controller_request,
                UpdateMetadataRequest: self._controller_request,
                ControlledShutdownResponse: self._shutdown_answered,
            }
        )
        self.timers.update(
            {"register": self._register_again, "controlled-shutdown": self._ask_shutdown, "leave-anyway": self._close_timed_out}
        )

    # --- messages to itself ----------------------------------------------------------------------------------------

    def send(self, node: str, message: object) -> None:
        """Send a message. If the receiver is the controller on this broker, the message does not use the network."""
        if node == self.address:
            due = self.journal.now + (0 if self.context.by_hand else LOCAL_DELIVERY_DELAY)
            self.network.agenda.add(due, node, node, self.incarnation, message, self.journal.cause)
        else:
            super().send(node, message)

    # --- life of the process ---------------------------------------------------------------------------------------

    def boot_with(self, session: int, broker_epoch: int) -> None:
        """At the start of the simulation, let the broker run with the given session and broker epoch."""
        self.context.state = BrokerState.RUNNING
        self.context.fenced = False
        self.context.broker_epoch = broker_epoch
        self.registration.incarnation = self.incarnation
        self.disk.clean_shutdown = False
        self._arm_timers(0)
        self.zk.adopt(session)

    def _arm_timers(self, heartbeat_phase: int) -> None:
        super()._arm_timers(heartbeat_phase)
        if self.isr_manager is not None and not self.context.by_hand:
            self.isr_manager.arm()

    def load(self) -> None:
        """Open the logs, and drop all state that the previous process got from a controller."""
        super().load()
        self._configs_read = 0
        self._shutdown_tries = 0

    def stop(self, how: str) -> None:
        """End the process. The broker's session lasts until it expires, unless it was closed."""
        self.zk.reset()
        self.kafka_controller.reset()
        self.unanswered = None
        self.held_requests.clear()
        super().stop(how)
        self.channel.epoch = 0

    def bounce(self, keep: tuple[tuple[TopicPartition, int], ...], *, clean: bool) -> None:
        """Restart the process in by-hand mode so quickly that its session survives. After the restart, the controller sends the broker its
        roles."""
        super().stop("power-loss" if keep else "shutdown" if clean else "killed")
        if keep:
            self.lose_unflushed(keep)
        clean = clean and not keep
        self.registration.started_clean = clean
        self.network.process_started(self.address, self.journal.now)
        self.disk.load()
        self.journal.cause = self.journal.emit(events.BrokerStarted.kind, self.id, clean, 0)
        self.load()
        self.registration.incarnation = self.incarnation
        self.context.state = BrokerState.RUNNING

    # --- registration ----------------------------------------------------------------------------------------------

    def register(self) -> None:
        """Open a session, and register in ZooKeeper when the session is established."""
        if self.registration.is_current:
            return
        if not self.zk.session:
            self.zk.connect()
        else:
            self.zk.submit((Create(broker_path(self.id), ephemeral=True),), self._registered_in_zookeeper)

    def _register_again(self, _: object) -> None:
        self.register()

    def session_established(self) -> None:
        """Register in the new session."""
        self.register()

    def _registered_in_zookeeper(self, results: tuple[Result, ...]) -> None:
        """Complete the registration (`KafkaZkClient#registerBroker`). If the znode of an earlier session still exists, retry later."""
        if results[0].error != OK:
            self.journal.emit(events.RegistrationRefused.kind, self.id, results[0].error)
            self.timer(REGISTRATION_RETRY, "register")
            return
        self.registration.incarnation = self.incarnation
        self.withdraw_idle_fetches()
        self.context.broker_epoch = results[0].created
        self.context.fenced = False
        if self.context.state is BrokerState.STARTING:
            self.context.state = BrokerState.RUNNING
        self.zk.submit((GetChildren(paths.CONFIG_CHANGES, watch=True),), self._configs_listed)
        self.kafka_controller.elect()

    def session_expired(self) -> None:
        """Resign as controller, fail pending ISR writes, and open a new session to register again.

        Kafka: `KafkaController#processRegisterBrokerAndReelect`.
        """
        self.context.fenced = True
        self.registration.incarnation = -1
        self.kafka_controller.resign("its ZooKeeper session has expired")
        if self.isr_manager is not None:
            self.isr_manager.session_expired()
        self.topic_creation.reset()
        self.zk.connect()

    def watch_fired(self, path: str) -> None:
        """Read changed settings, or pass the notification on to the controller."""
        if path == paths.CONFIG_CHANGES:
            self.zk.submit((GetChildren(paths.CONFIG_CHANGES, watch=True),), self._configs_listed)
        else:
            self.kafka_controller.watch_fired(path)

    def _configs_listed(self, results: tuple[Result, ...]) -> None:
        names = results[0].data[self._configs_read :]
        self._configs_read += len(names)
        if names:
            self.zk.submit(tuple(GetData(f"{paths.CONFIG_CHANGES}/{name}") for name in names), self._configs_changed)

    def _configs_changed(self, results: tuple[Result, ...]) -> None:
        changes: list[ConfigChange] = [result.data for result in results]
        for change in changes:
            self.context.settings.set(change.name, change.value, broker=change.broker, topic=change.topic)
        self.refresh_settings()
        for change in changes:
            self.kafka_controller.config_changed(change)

    def request_producer_ids(self) -> None:
        """Take a block of producer IDs from ZooKeeper (`ZkProducerIdManager#generateNewProducerIdBlock`)."""
        self.zk.submit((GetData(paths.PRODUCER_IDS),), self._producer_ids_read)

    def _producer_ids_read(self, results: tuple[Result, ...]) -> None:
        there = results[0].error == OK
        start: int = results[0].data if there else 0
        end = start + PRODUCER_ID_BLOCK_SIZE
        op = SetData(paths.PRODUCER_IDS, end, results[0].version) if there else Create(paths.PRODUCER_IDS, end)
        self.zk.submit((op,), self._producer_ids_taken, start)

    def _producer_ids_taken(self, results: tuple[Result, ...], start: int) -> None:
        if results[0].error == OK:
            self.handle(AllocateProducerIdsResponse(start, PRODUCER_ID_BLOCK_SIZE), self.address)
        else:
            self.request_producer_ids()

    def send_heartbeat(self) -> None:
        """Do nothing, because the session's pings serve as heartbeats."""

    def propagate_directory_failure(self, directory: str) -> None:
        """Report the failure of a log directory in ZooKeeper, so that the controller asks the broker for its offline replicas
        (`KafkaZkClient#propagateLogDirEvent`)."""
        self.zk.submit((Create(f"{paths.LOG_DIR_EVENTS}/log_dir_event_", self.id, sequential=True),), _ignore_results)

    # --- shutdown --------------------------------------------------------------------------------------------------

    def begin_shutdown(self) -> None:
        """Ask the controller up to `SHUTDOWN_TRIES` times to move the leadership of this broker's partitions to other brokers, and then
        stop (`KafkaServer#controlledShutdown`)."""
        self.context.state = BrokerState.STOPPING
        self._shutdown_tries = 0
        if self.context.settings.flag("controlled.shutdown.enable", broker=self.id):
            self._ask_shutdown(None)
        else:
            self._close_session()

    def _ask_shutdown(self, _: object) -> None:
        if self.context.state is not BrokerState.STOPPING:
            return
        if self._shutdown_tries == SHUTDOWN_TRIES:
            self._close_session()
            return
        self._shutdown_tries += 1
        self.send(self.channel.controller, ControlledShutdownRequest(self.id))
        self.timer(SHUTDOWN_BACKOFF, "controlled-shutdown")

    def _shutdown_answered(self, response: ControlledShutdownResponse, _: str) -> None:
        if self.context.state is BrokerState.STOPPING and response.error == errors.NONE and not response.remaining:
            self._close_session()

    def _close_session(self) -> None:
        self._shutdown_tries = SHUTDOWN_TRIES
        if self.kafka_controller.active:
            self.kafka_controller.resign("it shuts down")
        self.zk.close()
        self.timer(SHUTDOWN_BACKOFF, "leave-anyway")

    def _close_timed_out(self, _: object) -> None:
        self.session_closed()

    def session_closed(self) -> None:
        """Stop the process if it is shutting down."""
        if self.context.state is BrokerState.STOPPING:
            self.stop("shutdown")

    # --- the controller's requests ---------------------------------------------------------------------------------

    def _is_stale(self, request: LeaderAndIsrRequest | StopReplicaRequest | UpdateMetadataRequest, what: str) -> bool:
        """Return whether an earlier request had a newer controller epoch, in which case the broker refuses the current request
        (STALE_CONTROLLER_EPOCH)."""
        if request.controller_epoch < self.channel.epoch and self.context.release.controller_epoch_fencing:
            self.journal.emit(
                events.ControllerRequestRefused.kind, self.id, request.controller, what, request.controller_epoch, self.channel.epoch
            )
            return True
        self.channel.epoch = max(self.channel.epoch, request.controller_epoch)
        return False

    def _controller_request(self, request: ControlRequest, sender: str) -> None:
        """Handle a request from a controller. The broker handles one of these requests at a time (`ReplicaManager#replicaStateChangeLock`)."""
        if self.unanswered is not None:
            self.held_requests.append((request, sender, self.journal.cause))
        elif isinstance(request, LeaderAndIsrRequest):
            self._leader_and_isr(request, sender)
        elif isinstance(request, StopReplicaRequest):
            self._stop_replica(request, sender)
        else:
            self._update_metadata(request, sender)

    def _leader_and_isr(self, request: LeaderAndIsrRequest, sender: str) -> None:
        error = errors.STALE_CONTROLLER_EPOCH
        items: tuple[tuple[TopicPartition, str], ...] = ()
        if not self._is_stale(request, "LeaderAndIsr"):
            error, items = errors.NONE, self.replicas.become_leader_or_follower(request.items, request.live)
        self.unanswered = (sender, LeaderAndIsrResponse(request.controller_epoch, error, items, request.correlation))
        if not self.fetcher_manager.shutting_down:
            self._complete_leader_and_isr()

    def _complete_leader_and_isr(self) -> None:
        assert self.unanswered is not None
        sender, response = self.unanswered
        self.unanswered = None
        self.replicas.announce_roles()
        self.reply(sender, response)

    def fetchers_shut_down(self) -> None:
        """Complete the LeaderAndIsr request that ended the fetchers, and then handle the requests that have arrived in the meantime."""
        self._complete_leader_and_isr()
        journal = self.journal
        ended = journal.cause
        while self.held_requests and self.unanswered is None:
            request, sender, journal.cause = self.held_requests.popleft()
            self._controller_request(request, sender)
        journal.cause = ended

    def _stop_replica(self, request: StopReplicaRequest, sender: str) -> None:
        deleted: tuple[TopicPartition, ...] = ()
        if not self._is_stale(request, "StopReplica"):
            of_deleted_topics = tuple(
                tp for tp, delete, _epoch in request.items if delete and self.context.metadata_cache.is_deleted(tp.topic)
            )
            for tp, delete, _epoch in request.items:
                if tp not in of_deleted_topics:
                    self.replicas.stop_replica(tp, delete=delete)
            self.replicas.delete_replicas(of_deleted_topics)
            deleted = tuple(tp for tp, delete, _epoch in request.items if delete)
        self.reply(sender, ControlResponse(request.correlation, request.controller_epoch, deleted))

    def _update_metadata(self, request: UpdateMetadataRequest, sender: str) -> None:
        if not self._is_stale(request, "UpdateMetadata"):
            self.channel.controller = sender
            self.update_metadata_cache(request.live, request.items)
        self.reply(sender, ControlResponse(request.correlation))

    def update_metadata_cache(self, live: tuple[int, ...], items: tuple[tuple[TopicPartition, PartitionRegistration], ...]) -> None:
        """Store the live brokers and the states of partitions, and forget the settings and offsets of deleted topics
        (`ReplicaManager#maybeUpdateMetadataCache`)."""
        assert isinstance(self.context.metadata_cache, ZkMetadataCache)
        self.context.metadata_cache.live = live
        removed = self.context.metadata_cache.update(items)
        if removed:
            for topic in dict.fromkeys(tp.topic for tp in removed):
                self.context.settings.remove_topic(topic)
            self.refresh_settings()
            self.groups.partitions_deleted(removed)

    def controller_request_timed_out(self) -> None:
        """Close the connection to the controller, and send the broker's pending requests again."""
        if self.channel.controller != self.address:
            self.network.disconnect(self.address, self.channel.controller)
        self.context.alter_partition.disconnected()

    def _disconnected(self, message: Disconnected, _: str) -> None:
        if message.node == self.channel.controller:
            self.context.alter_partition.disconnected()
        self.kafka_controller.channels.disconnected(message.node)
        self.replicas.disconnected(message.node, only_opened=message.only_opened)
        self.transactions.disconnected(message.node)

    def handle(self, message: object, sender: str) -> None:
        """Handle one message. Ignore a response to a request from the previous process, because the current process has no handler for
        it."""
        if type(message) is Timer or type(message) in self.handlers:
            super().handle(message, sender)


def _ignore_results(_results: tuple[Result, ...]) -> None:
    """Do nothing with the results, because the controller learns about the new znode from its watch on the parent znode."""
