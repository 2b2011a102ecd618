"""What a ZooKeeper controller knows (Kafka: `ControllerContext`): who lives, the partitions, and the replicas in failed log directories."""

from __future__ import annotations

from core.kafka.ids import TopicPartition
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.zookeeper.paths import PartitionState, ReplicaAssignment
from core.kafka.zookeeper.protocol import OK, Result


class ControllerContext:
    """The controller's memory.

    Attributes:
        epoch: the controller epoch it was elected in; epoch_version the version of its znode.
        live: the brokers that have a znode, with the zxid that made it.
        shutting_down: those that asked to shut down (ordered set).
        assignments, states: what it knows of the partitions.
        offline: replicas in failed log directories, by broker (ordered sets; `replicasOnOfflineDirs`).
        offline_partitions: those that lost their leader and found no other (state OfflinePartition; ordered set). A broker that starts brings
            a leader to these only: not to one whose leader a move has dropped, which waits for the next broker that fails, the next controller,
            or an election that somebody asks for.
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

    def clear(self) -> None:
        """Forget everything."""
        for known in (self.live, self.shutting_down, self.assignments, self.states, self.offline, self.offline_partitions):
            known.clear()

    def may_lead(self, tp: TopicPartition | None = None) -> dict[int, int]:
        """Live brokers that are not shutting down, and whose replica of a partition is not in a failed log directory.

        Kafka: `#isReplicaOnline`.
        """
        usable = {broker: epoch for broker, epoch in self.live.items() if broker not in self.shutting_down}
        if tp is not None and self.offline:
            return {broker: epoch for broker, epoch in usable.items() if tp not in self.offline.get(broker, ())}
        return usable

    def lacks_leader(self, tp: TopicPartition) -> bool:
        """Whether whoever leads a partition by what was written last cannot."""
        return self.states[tp].leader not in self.may_lead(tp)

    def take_assignment(self, topic: str, data: tuple[ReplicaAssignment, ...]) -> None:
        """A topic's znode was read."""
        for number, assignment in enumerate(data):
            self.assignments[TopicPartition(topic, number)] = assignment

    def registration(self, tp: TopicPartition, state: PartitionState, version: int) -> PartitionRegistration:
        """A partition as its state znode and its assignment have it."""
        replicas, adding, removing = self.assignments[tp]
        return PartitionRegistration(replicas, state.isr, state.leader, state.leader_epoch, version, adding=adding, removing=removing)

    def take_states(self, results: tuple[Result, ...], tps: list[TopicPartition]) -> None:
        """Partitions' state znodes were read."""
        for tp, result in zip(tps, results, strict=True):
            if result.error == OK:
                self.states[tp] = self.registration(tp, result.data, result.version)
