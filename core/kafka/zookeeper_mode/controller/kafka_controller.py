"""The controller of ZooKeeper clusters: one of the brokers, elected by making /controller (Kafka: `KafkaController`).

Here are its election, what it reads when it takes over, and what it watches; what it does then is in the modules beside:
partition states, brokers that come and go, ISR changes, moves, elections that somebody asks for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from core.kafka import events
from core.kafka.broker.context import BrokerContext
from core.kafka.broker.controller_channel import ControllerChannel
from core.kafka.ids import TopicPartition, broker_address
from core.kafka.messages import AlterPartitionRequest
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.zookeeper import paths
from core.kafka.zookeeper.paths import ConfigChange, ReplicaAssignment, state_path, topic_path
from core.kafka.zookeeper.protocol import OK, Create, GetChildren, GetData, Op, Result, SetData
from core.kafka.zookeeper_mode.client import ZooKeeperClient
from core.kafka.zookeeper_mode.controller.broker_changes import BrokerChanges
from core.kafka.zookeeper_mode.controller.controller_base import Controllership
from core.kafka.zookeeper_mode.controller.isr_changes import IsrChanges
from core.kafka.zookeeper_mode.controller.leader_elections import AskedElections
from core.kafka.zookeeper_mode.controller.partition_state_machine import PartitionStateMachine
from core.kafka.zookeeper_mode.controller.reassignments import Moves
from core.kafka.zookeeper_mode.controller.requests import ControlledShutdownRequest, LeaderAndIsrResponse
from core.sim.units import SECOND

FIRST_BALANCE: Final = 5 * SECOND
"""µs from a controller's election to its first look for leaders that are not the preferred ones."""


_WATCHED: Final = (
    GetChildren(paths.BROKER_IDS, watch=True),
    GetChildren(paths.TOPICS, watch=True),
    GetChildren(paths.ISR_CHANGES, watch=True),
    GetData(paths.PREFERRED_ELECTION, watch=True),
    GetData(paths.REASSIGNMENT, watch=True),
    GetChildren(paths.LOG_DIR_EVENTS, watch=True),
)
"""What a new controller reads first, beside the topics, and watches."""


class KafkaController(Controllership):
    """A broker's controller, active or not.

    Attributes:
        partitions, moves, isr_changes, broker_changes, elections: what it does.
    """

    def __init__(self, broker: BrokerContext, zk: ZooKeeperClient, channel: ControllerChannel) -> None:
        super().__init__(broker, zk)
        self._channel = channel
        self.partitions = PartitionStateMachine(self)
        self.moves = Moves(self, self.partitions)
        self.isr_changes = IsrChanges(self, self.partitions, self.moves)
        self.broker_changes = BrokerChanges(self, self.partitions, self.moves)
        self.elections = AskedElections(self, self.partitions)
        broker.handlers.update(
            {
                AlterPartitionRequest: self.isr_changes.alter_partition_asked,
                ControlledShutdownRequest: self.broker_changes.shutdown_asked,
                LeaderAndIsrResponse: self.broker_changes.roles_answered,
            }
        )
        broker.timers.update({"auto-leader-rebalance": self.elections.balance_due})

    # --- election --------------------------------------------------------------------------------------------------

    def elect(self) -> None:
        """Try to become controller, and watch who is (`#elect`)."""
        self.queue.ask(
            (Create(paths.CONTROLLER_PATH, self.broker.id, ephemeral=True), GetData(paths.CONTROLLER_PATH, watch=True)), self._voted
        )

    def _voted(self, results: tuple[Result, ...]) -> None:
        winner = results[1].data
        self._channel.controller = broker_address(winner)
        if winner == self.broker.id and not self.active:
            self.queue.ask((GetData(paths.CONTROLLER_EPOCH),), self._epoch_read)
        elif winner != self.broker.id and self.active:
            self.resign(f"b{winner} is controller")

    def _epoch_read(self, results: tuple[Result, ...]) -> None:
        self.context.epoch = results[0].data + 1
        self.queue.ask((SetData(paths.CONTROLLER_EPOCH, self.context.epoch, results[0].version),), self._failover)

    def _failover(self, results: tuple[Result, ...]) -> None:
        """This broker is the controller (`#onControllerFailover`): read everything, tell everybody, then elect where nobody leads."""
        if results[0].error != OK:
            self.elect()
            return
        self.context.epoch_version = results[0].version
        self.queue.open()
        self.journal.cause = self.journal.emit(events.ControllerElected.kind, self.broker.address, self.context.epoch, 0, 0)
        self.queue.ask(_WATCHED, self._names_read)

    def _names_read(self, results: tuple[Result, ...]) -> None:
        brokers, topics = results[0].data, results[1].data
        if results[5].data:
            self.queue.add(self.broker_changes.directories_failed)
        ops = [GetData(f"{paths.BROKER_IDS}/{name}") for name in brokers] + [GetData(topic_path(name), watch=True) for name in topics]
        self.queue.ask(ops, self._cluster_read, brokers, topics, bool(results[2].data), results[3].error == OK, results[4].error == OK)

    def _cluster_read(
        self, results: tuple[Result, ...], brokers: tuple[str, ...], topics: tuple[str, ...], isr: bool, election: bool, moves: bool
    ) -> None:
        for name, result in zip(brokers, results, strict=False):
            if result.error == OK:
                self.context.live[int(name)] = result.created
        for topic, result in zip(topics, results[len(brokers) :], strict=True):
            self.context.take_assignment(topic, result.data)
        if isr:
            self.queue.add(self.isr_changes.published)
        if election:
            self.queue.add(self.elections.asked)
        if moves:
            self.queue.add(self.moves.asked)
        tps = list(self.context.assignments)
        self.queue.ask((GetData(state_path(tp)) for tp in tps), self._loaded, tps)

    def _loaded(self, results: tuple[Result, ...], tps: list[TopicPartition]) -> None:
        self.context.take_states(results, tps)
        self.requests.update_metadata(tps)
        self.requests.leader_and_isr(list(self.context.states), dict(self.context.live))
        assigned = {replica for assignment in self.context.assignments.values() for replica in assignment.replicas}
        dead = assigned.difference(self.context.live) if self.broker.release.takes_out_dead_at_start else ()
        reason, hosted = f"b{self.broker.id} is the new controller", self.partitions.hosted_by(dead)
        self.partitions.take_out(dead, hosted, reason, self._bring_online)

    def _bring_online(self) -> None:
        self.partitions.leaders_lost()
        self.partitions.bring_online("new controller", self._settled)

    def _settled(self) -> None:
        self.broker.timer(FIRST_BALANCE, "auto-leader-rebalance", self.queue.term)
        self.moves.resume(self.queue.done, begin=None)

    def boot(self, epoch: int, live: dict[int, int], assignments: dict[TopicPartition, ReplicaAssignment],
             states: dict[TopicPartition, PartitionRegistration]) -> None:  # fmt: skip
        """Have been controller for long."""
        self.queue.adopt()
        context = self.context
        context.epoch = epoch
        context.live.update(live)
        context.assignments.update(assignments)
        context.states.update(states)
        if not self.broker.by_hand:
            self.broker.timer(self.elections.balance_interval(), "auto-leader-rebalance", self.queue.term)

    @staticmethod
    def watches(topics: Iterable[str]) -> tuple[Op, ...]:
        """What a controller watches."""
        return (
            *(GetData(topic_path(topic), watch=True) for topic in topics),
            GetData(paths.CONTROLLER_PATH, watch=True),
            *_WATCHED,
        )

    def watch_fired(self, path: str) -> None:
        """Something under watch has changed."""
        if path == paths.CONTROLLER_PATH:
            self.elect()
        elif self.active:
            handler = {
                paths.BROKER_IDS: self.broker_changes.changed,
                paths.TOPICS: self._topics_changed,
                paths.ISR_CHANGES: self.isr_changes.published,
                paths.LOG_DIR_EVENTS: self.broker_changes.directories_failed,
                paths.PREFERRED_ELECTION: self.elections.asked,
                paths.REASSIGNMENT: self.moves.asked,
            }.get(path)
            moving = paths.partition_of(path)
            if handler is not None:
                self.queue.put(handler)
            elif moving is not None:
                self.queue.put(self.moves.state_written, moving)
            elif path.startswith(f"{paths.TOPICS}/"):
                self.queue.put(self._partitions_modified, path.rpartition("/")[2])

    # --- topics and settings ---------------------------------------------------------------------------------------

    def _topics_changed(self) -> None:
        self.queue.ask((GetChildren(paths.TOPICS, watch=True),), self._topics_listed)

    def _topics_listed(self, results: tuple[Result, ...]) -> None:
        known = {tp.topic for tp in self.context.assignments}
        new = tuple(name for name in results[0].data if name not in known)
        self.queue.ask((GetData(topic_path(name), watch=True) for name in new), self._topics_read, new)

    def _topics_read(self, results: tuple[Result, ...], names: tuple[str, ...]) -> None:
        for name, result in zip(names, results, strict=True):
            self.context.take_assignment(name, result.data)
        self.partitions.begin_new(self.queue.done)

    def _partitions_modified(self, topic: str) -> None:
        """A topic's znode was written; it may have more partitions (`#processPartitionModifications`)."""
        self.queue.ask((GetData(topic_path(topic), watch=True),), self._partitions_read, topic)

    def _partitions_read(self, results: tuple[Result, ...], topic: str) -> None:
        for number, assignment in enumerate(results[0].data):
            self.context.assignments.setdefault(TopicPartition(topic, number), assignment)
        self.partitions.begin_new(self.queue.done)

    def config_changed(self, change: ConfigChange) -> None:
        """Unclean election was allowed: elect at once (`#processTopicUncleanLeaderElectionEnable`)."""
        if self.active and change.name == "unclean.leader.election.enable" and change.value == "true":
            self.queue.put(self._elect_unclean, change.topic)

    def _elect_unclean(self, topic: str | None) -> None:
        tps = [tp for tp in self.context.offline_partitions if topic in (None, tp.topic)]
        self.partitions.change(tps, self.partitions.online, "unclean.leader.election.enable is true", self.queue.done)
