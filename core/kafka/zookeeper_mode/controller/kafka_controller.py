"""The controller of a ZooKeeper cluster: the broker that was elected by creating /controller (Kafka: `KafkaController`).

This module contains the controller's election, failover, and watches. Other modules in this folder handle partition states, broker changes,
ISR changes, reassignments, and elections.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from core.kafka import events
from core.kafka.broker.context import BrokerContext
from core.kafka.broker.controller_requests.controller_channel import ControllerChannel
from core.kafka.ids import TopicPartition, broker_address
from core.kafka.messages import AlterPartitionRequest
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.zookeeper_mode.client import ZooKeeperClient
from core.kafka.zookeeper_mode.controller.broker_changes import BrokerChanges
from core.kafka.zookeeper_mode.controller.controller_channel_manager import ControllerChannelManager
from core.kafka.zookeeper_mode.controller.controller_component import SharedParts
from core.kafka.zookeeper_mode.controller.controller_context import ControllerContext
from core.kafka.zookeeper_mode.controller.event_manager import ControllerEventManager
from core.kafka.zookeeper_mode.controller.isr_changes import IsrChanges
from core.kafka.zookeeper_mode.controller.leader_elections import LeaderElections
from core.kafka.zookeeper_mode.controller.partition_state_machine import PartitionStateMachine
from core.kafka.zookeeper_mode.controller.reassignments import PartitionReassignments
from core.kafka.zookeeper_mode.controller.request_sender import ControllerRequestSender
from core.kafka.zookeeper_mode.controller.requests import ControlledShutdownRequest, ControlResponse, LeaderAndIsrResponse
from core.kafka.zookeeper_mode.controller.topic_deletion_manager import TopicDeletionManager
from core.kafka.zookeeper_server import paths
from core.kafka.zookeeper_server.paths import ConfigChange, ReplicaAssignment, state_path, topic_path
from core.kafka.zookeeper_server.protocol import OK, Create, GetChildren, GetData, Op, Result, SetData
from core.sim.units import SECOND

FIRST_BALANCE: Final = 5 * SECOND
"""The delay between a controller's election and its first check for leaders that are not the preferred leaders, in µs."""


_WATCHED: Final = (
    GetChildren(paths.BROKER_IDS, watch=True),
    GetChildren(paths.TOPICS, watch=True),
    GetChildren(paths.ISR_CHANGES, watch=True),
    GetData(paths.PREFERRED_ELECTION, watch=True),
    GetData(paths.REASSIGNMENT, watch=True),
    GetChildren(paths.LOG_DIR_EVENTS, watch=True),
    GetChildren(paths.DELETE_TOPICS, watch=True),
)
"""The operations with which a new controller reads and watches the cluster, except for those that concern topics."""


class KafkaController:
    """A broker's controller, active or not.

    Attributes:
        broker: the broker that hosts the controller.
        journal: the event journal.
        queue: the event queue.
        context: what the controller knows about the cluster.
        channels: the connections to the brokers.
        requests: the sender of requests to the brokers.
        partitions: the partition state machine.
        reassignments: the component that handles reassignments.
        isr_changes: the component that handles ISR changes.
        broker_changes: the component that handles broker changes.
        elections: the component that handles requested elections and balances leaders.
        deletions: the component that handles topic deletions.
    """

    def __init__(self, broker: BrokerContext, zk: ZooKeeperClient, channel: ControllerChannel) -> None:
        self.broker = broker
        self.journal = broker.journal
        self._channel = channel
        self.queue = ControllerEventManager(broker.journal, zk)
        self.context = ControllerContext()
        self.channels = ControllerChannelManager(broker)
        self.requests = ControllerRequestSender(broker, self.context, self.channels)
        shared = SharedParts(broker, self.queue, self.context, self.channels, self.requests, self.resign)
        self.partitions = PartitionStateMachine(shared)
        self.reassignments = PartitionReassignments(shared, self.partitions)
        self.isr_changes = IsrChanges(shared, self.partitions, self.reassignments)
        self.deletions = TopicDeletionManager(shared)
        self.broker_changes = BrokerChanges(shared, self.partitions, self.reassignments, self.deletions)
        self.elections = LeaderElections(shared, self.partitions)
        broker.node.handlers.update(
            {
                AlterPartitionRequest: self.isr_changes.handle_alter_partition,
                ControlledShutdownRequest: self.broker_changes.handle_controlled_shutdown,
                LeaderAndIsrResponse: self.broker_changes.handle_leader_and_isr_response,
                ControlResponse: self.deletions.handle_control_response,
            }
        )
        broker.node.timers.update({"auto-leader-rebalance": self.elections.balance_due})

    @property
    def active(self) -> bool:
        """Whether this broker considers itself the controller."""
        return self.queue.active

    def resign(self, reason: str) -> None:
        """Resign as controller (`#onControllerResignation`)."""
        if self.active:
            self.journal.emit(events.ControllerResigned.kind, self.broker.node.address, self.context.epoch, reason, 0)
        self.reset()

    def reset(self) -> None:
        """Drop the events, the queued requests, and what the controller knows about the cluster."""
        self.queue.clear()
        self.channels.clear()
        self.context.clear()

    # --- election --------------------------------------------------------------------------------------------------

    def elect(self) -> None:
        """Try to become the controller, and watch /controller (`#elect`)."""
        self.queue.submit(
            (Create(paths.CONTROLLER_PATH, self.broker.id, ephemeral=True), GetData(paths.CONTROLLER_PATH, watch=True)),
            self._election_completed,
        )

    def _election_completed(self, results: tuple[Result, ...]) -> None:
        winner = results[1].data
        self._channel.controller = broker_address(winner)
        if winner == self.broker.id and not self.active:
            self.queue.submit((GetData(paths.CONTROLLER_EPOCH),), self._epoch_read)
        elif winner != self.broker.id and self.active:
            self.resign(f"b{winner} is controller")

    def _epoch_read(self, results: tuple[Result, ...]) -> None:
        self.context.epoch = results[0].data + 1
        self.queue.submit((SetData(paths.CONTROLLER_EPOCH, self.context.epoch, results[0].version),), self._failover)

    def _failover(self, results: tuple[Result, ...]) -> None:
        """Become the controller: read the state of the cluster, inform the brokers, and elect leaders for offline partitions.

        Kafka: `#onControllerFailover`.
        """
        if results[0].error != OK:
            self.elect()
            return
        self.context.epoch_version = results[0].version
        self.queue.begin_failover()
        self.journal.cause = self.journal.emit(events.ControllerElected.kind, self.broker.node.address, self.context.epoch, 0, 0)
        self.queue.submit(_WATCHED, self._names_read)

    def _names_read(self, results: tuple[Result, ...]) -> None:
        brokers, topics = results[0].data, results[1].data
        if results[5].data:
            self.queue.add(self.broker_changes.process_log_dir_event_notification)
        ops = [GetData(f"{paths.BROKER_IDS}/{name}") for name in brokers] + [GetData(topic_path(name), watch=True) for name in topics]
        about = bool(results[2].data), results[3].error == OK, results[4].error == OK, results[6].data
        self.queue.submit(ops, self._cluster_read, brokers, topics, *about)

    def _cluster_read(
        self, results: tuple[Result, ...], brokers: tuple[str, ...], topics: tuple[str, ...], isr: bool, election: bool, reassignments: bool,
        deletions: tuple[str, ...],
    ) -> None:  # fmt: skip
        for name, result in zip(brokers, results, strict=False):
            if result.error == OK:
                self.context.live[int(name)] = result.created
        for topic, result in zip(topics, results[len(brokers) :], strict=True):
            self.context.take_assignment(topic, result.data)
        if isr:
            self.queue.add(self.isr_changes.process_isr_change_notification)
        if election:
            self.queue.add(self.elections.process_requested_elections)
        if reassignments:
            self.queue.add(self.reassignments.process_requested_reassignments)
        if self.deletions.enqueue(deletions):
            self.queue.add(self.deletions.continue_deletions)
        tps = list(self.context.assignments)
        self.queue.submit((GetData(state_path(tp)) for tp in tps), self._loaded, tps)

    def _loaded(self, results: tuple[Result, ...], tps: list[TopicPartition]) -> None:
        self.context.take_states(results, tps)
        self.requests.update_metadata(tps)
        self.requests.leader_and_isr(list(self.context.states), dict(self.context.live))
        assigned = {replica for assignment in self.context.assignments.values() for replica in assignment.replicas}
        dead = assigned.difference(self.context.live) if self.broker.release.takes_out_dead_at_start else ()
        reason, hosted = f"b{self.broker.id} is the new controller", self.partitions.partitions_on_brokers(dead)
        self.partitions.remove_replicas_from_isr(dead, hosted, reason, self._bring_online)

    def _bring_online(self) -> None:
        self.partitions.mark_partitions_offline()
        self.partitions.trigger_online_state_change("new controller", self._failover_completed)

    def _failover_completed(self) -> None:
        self.broker.node.timer(FIRST_BALANCE, "auto-leader-rebalance", self.queue.generation)
        self.reassignments.resume(self.queue.done, begin=None)

    def boot(self, epoch: int, live: dict[int, int], assignments: dict[TopicPartition, ReplicaAssignment],
             states: dict[TopicPartition, PartitionRegistration]) -> None:  # fmt: skip
        """Become the controller at the start of the simulation, without a failover."""
        self.queue.activate()
        context = self.context
        context.epoch = epoch
        context.live.update(live)
        context.assignments.update(assignments)
        context.states.update(states)
        if not self.broker.by_hand:
            self.broker.node.timer(self.elections.balance_interval(), "auto-leader-rebalance", self.queue.generation)

    @staticmethod
    def watches(topics: Iterable[str]) -> tuple[Op, ...]:
        """Return the operations that set a controller's watches."""
        return (
            *(GetData(topic_path(topic), watch=True) for topic in topics),
            GetData(paths.CONTROLLER_PATH, watch=True),
            *_WATCHED,
        )

    def watch_fired(self, path: str) -> None:
        """Handle a change to a watched znode."""
        if path == paths.CONTROLLER_PATH:
            self.elect()
        elif self.active:
            handler = {
                paths.BROKER_IDS: self.broker_changes.process_broker_change,
                paths.TOPICS: self._topics_changed,
                paths.ISR_CHANGES: self.isr_changes.process_isr_change_notification,
                paths.LOG_DIR_EVENTS: self.broker_changes.process_log_dir_event_notification,
                paths.PREFERRED_ELECTION: self.elections.process_requested_elections,
                paths.REASSIGNMENT: self.reassignments.process_requested_reassignments,
                paths.DELETE_TOPICS: self.deletions.process_topic_deletion,
            }.get(path)
            moving = paths.partition_of(path)
            if handler is not None:
                self.queue.put(handler)
            elif moving is not None:
                self.queue.put(self.reassignments.state_written, moving)
            elif path.startswith(f"{paths.TOPICS}/"):
                self.queue.put(self._partitions_modified, path.rpartition("/")[2])

    # --- topics and settings ---------------------------------------------------------------------------------------

    def _topics_changed(self) -> None:
        self.queue.submit((GetChildren(paths.TOPICS, watch=True),), self._topics_listed)

    def _topics_listed(self, results: tuple[Result, ...]) -> None:
        known = {tp.topic for tp in self.context.assignments}
        new = tuple(name for name in results[0].data if name not in known)
        self.queue.submit((GetData(topic_path(name), watch=True) for name in new), self._topics_read, new)

    def _topics_read(self, results: tuple[Result, ...], names: tuple[str, ...]) -> None:
        for name, result in zip(names, results, strict=True):
            self.context.take_assignment(name, result.data)
        self.partitions.initialize_leader_and_isr(self.queue.done)

    def _partitions_modified(self, topic: str) -> None:
        """Read a topic's znode, which might contain new partitions (`#processPartitionModifications`)."""
        self.queue.submit((GetData(topic_path(topic), watch=True),), self._partitions_read, topic)

    def _partitions_read(self, results: tuple[Result, ...], topic: str) -> None:
        if results[0].error != OK or topic in self.context.topics_to_delete:
            self.queue.done()
            return
        for number, assignment in enumerate(results[0].data):
            self.context.assignments.setdefault(TopicPartition(topic, number), assignment)
        self.partitions.initialize_leader_and_isr(self.queue.done)

    def config_changed(self, change: ConfigChange) -> None:
        """If unclean leader election has been enabled, elect leaders immediately (`#processTopicUncleanLeaderElectionEnable`)."""
        if self.active and change.name == "unclean.leader.election.enable" and change.value == "true":
            self.queue.put(self._elect_unclean, change.topic)

    def _elect_unclean(self, topic: str | None) -> None:
        tps = [tp for tp in self.context.offline_partitions if topic in (None, tp.topic)]
        self.partitions.change(tps, self.partitions.elect_for_offline, "unclean.leader.election.enable is true", self.queue.done)
