"""What a ZooKeeper-mode controller knows about the cluster: live brokers, partitions, and replicas in failed log directories.

Kafka: `ControllerContext`.
"""

from __future__ import annotations

from core.kafka.ids import TopicPartition
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.zookeeper_server.paths import PartitionState, ReplicaAssignment
from core.kafka.zookeeper_server.protocol import OK, Result


class ControllerContext:
    """What one controller knows about the cluster.

    Attributes:
        epoch: the controller epoch in which the controller was elected.
        epoch_version: the version of the znode that contains the controller epoch.
        live: the live brokers, each with the zxid of its znode's creation.
        shutting_down: the brokers that have asked to shut down (ordered set).
        assignments: the replica assignment of each partition.
        states: the last known state of each partition.
        offline: the replicas in failed log directories, by broker (ordered sets; Kafka: `replicasOnOfflineDirs`).
        offline_partitions: the partitions that have lost their leader and have no new leader (state OfflinePartition; ordered set). When a
            broker starts, the controller elects leaders only for partitions in `offline_partitions`. A partition whose leader was removed
            by a reassignment is not in `offline_partitions`, and gets a leader when another broker fails, when a new controller starts, or
            when an administrator requests an election.
        topics_to_delete: for each topic that is being deleted and each of its partitions, the brokers that have deleted their replicas.
    """

    def __init__(self) -> None:
        self.epoch = 0
        self.epoch_version = 0
        self.live: dict[int, int] = {}
        self.shutting_down: dict[int, None] = {}
        self.assignments: dict[TopicPartition, ReplicaAssignment] = {}
        self.states: dict[TopicPartition, PartitionRegistration] = {}
        self.offline: dict[int, dict[TopicPartition, None]] = {}
        self.offline_partitions: dict[TopicPartition, None] = {}
        self.topics_to_delete: dict[str, dict[TopicPartition, dict[int, None]]] = {}

    def clear(self) -> None:
        """Drop all state except the controller epoch."""
        for known in (
            self.live,
            self.shutting_down,
            self.assignments,
            self.states,
            self.offline,
            self.offline_partitions,
            self.topics_to_delete,
        ):
            known.clear()

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        """Return the partitions of a topic."""
        return [tp for tp in self.assignments if tp.topic == topic]

    def remove_topic(self, topic: str) -> None:
        """Remove a deleted topic (`#removeTopic`)."""
        for tp in self.partitions_of(topic):
            del self.assignments[tp]
            self.states.pop(tp, None)
            self.offline_partitions.pop(tp, None)
            for offline in self.offline.values():
                offline.pop(tp, None)
        del self.topics_to_delete[topic]

    def may_lead(self, tp: TopicPartition | None = None) -> dict[int, int]:
        """Return the brokers that can lead a partition: those that are live, are not shutting down, and have the replica in a working log
        directory.

        Kafka: `#isReplicaOnline`.
        """
        usable = {broker: epoch for broker, epoch in self.live.items() if broker not in self.shutting_down}
        if tp is not None and self.offline:
            return {broker: epoch for broker, epoch in usable.items() if tp not in self.offline.get(broker, ())}
        return usable

    def lacks_leader(self, tp: TopicPartition) -> bool:
        """Return whether a partition's recorded leader is unable to lead."""
        return self.states[tp].leader not in self.may_lead(tp)

    def take_assignment(self, topic: str, data: tuple[ReplicaAssignment, ...]) -> None:
        """Store the assignment that was read from a topic's znode."""
        for number, assignment in enumerate(data):
            self.assignments[TopicPartition(topic, number)] = assignment

    def registration(self, tp: TopicPartition, state: PartitionState, version: int) -> PartitionRegistration:
        """Return a partition's registration, from its state znode and its assignment."""
        replicas, adding, removing = self.assignments[tp]
        return PartitionRegistration(replicas, state.isr, state.leader, state.leader_epoch, version, adding=adding, removing=removing)

    def take_states(self, results: tuple[Result, ...], tps: list[TopicPartition]) -> None:
        """Store the states that were read from the state znodes of partitions."""
        for tp, result in zip(tps, results, strict=True):
            if result.error == OK:
                self.states[tp] = self.registration(tp, result.data, result.version)
