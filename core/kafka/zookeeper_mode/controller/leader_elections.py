"""Requested elections and the periodic balancing of leaders in a ZooKeeper-mode controller.

Kafka: `KafkaController#processReplicaLeaderElection`, `#checkAndTriggerAutoLeaderRebalance`.
"""

from __future__ import annotations

from core.kafka import errors, events
from core.kafka.admin_requests import ElectionMode
from core.kafka.ids import TopicPartition
from core.kafka.zookeeper_mode.controller.controller_component import ControllerComponent, SharedParts
from core.kafka.zookeeper_mode.controller.election_algorithms import imbalance_ratio
from core.kafka.zookeeper_mode.controller.partition_state_machine import PartitionStateMachine
from core.kafka.zookeeper_server import paths
from core.kafka.zookeeper_server.protocol import OK, Delete, GetData, Result
from core.sim.units import SECOND


class LeaderElections(ControllerComponent):
    """Runs requested elections, and moves leadership back to preferred replicas."""

    def __init__(self, shared: SharedParts, partitions: PartitionStateMachine) -> None:
        super().__init__(shared)
        self.partitions = partitions

    def process_requested_elections(self) -> None:
        """Run the elections that an administrator has requested (`#processReplicaLeaderElection`)."""
        self.queue.submit((GetData(paths.PREFERRED_ELECTION), Delete(paths.PREFERRED_ELECTION), GetData(paths.PREFERRED_ELECTION, watch=True)),
                  self._elections_read)  # fmt: skip

    def _elections_read(self, results: tuple[Result, ...]) -> None:
        wanted: tuple[tuple[TopicPartition, str], ...] = results[0].data if results[0].error == OK else ()
        preferred = [tp for tp, election in wanted if election == ElectionMode.PREFERRED.name and tp in self.context.states]
        unclean = [tp for tp, election in wanted if election != ElectionMode.PREFERRED.name and tp in self.context.states]
        self.partitions.change(preferred, self.partitions.elect_preferred, "asked for", self._preferred_elected, preferred, unclean)

    def _preferred_elected(self, preferred: list[TopicPartition], unclean: list[TopicPartition]) -> None:
        for tp in preferred:
            if not self.context.states[tp].has_preferred_leader:
                self.journal.emit(events.ElectionRefused.kind, tp.topic, tp.partition, "preferred", errors.PREFERRED_LEADER_NOT_AVAILABLE)
        self.partitions.change(unclean, self.partitions.elect_unclean_for_offline, "asked for", self._unclean_elected, unclean)

    def _unclean_elected(self, unclean: list[TopicPartition]) -> None:
        for tp in unclean:
            if not self.context.states[tp].has_leader:
                self.journal.emit(events.ElectionRefused.kind, tp.topic, tp.partition, "unclean", errors.ELIGIBLE_LEADERS_NOT_AVAILABLE)
        self.queue.done()

    def balance_interval(self) -> int:
        """Return leader.imbalance.check.interval.seconds in µs."""
        return self.broker.settings.integer("leader.imbalance.check.interval.seconds") * SECOND

    def balance_due(self, term: object) -> None:
        """Schedule the next check, and move leadership to preferred replicas if auto.leader.rebalance.enable is true."""
        if term == self.queue.generation and self.queue.active and not self.broker.by_hand:
            self.broker.node.timer(self.balance_interval(), "auto-leader-rebalance", term)
            if self.broker.settings.flag("auto.leader.rebalance.enable"):
                self.queue.put(self._balance)

    def imbalanced(self) -> list[TopicPartition]:
        """Return the partitions whose leadership should move to the preferred replica (`#checkAndTriggerAutoLeaderRebalance`).

        The partitions whose preferred leader is a given broker are included if other brokers lead more than the allowed share of these
        partitions. The result is empty while any partition is being reassigned.
        """
        if any(assignment.adding or assignment.removing for assignment in self.context.assignments.values()):
            return []
        allowed = self.broker.settings.integer("leader.imbalance.per.broker.percentage") / 100
        found: list[TopicPartition] = []
        preferring: dict[int, list[TopicPartition]] = {}
        for tp, state in self.context.states.items():
            preferring.setdefault(state.preferred_replica, []).append(tp)
        live = self.context.may_lead()
        for broker, tps in preferring.items():
            elsewhere = [tp for tp in tps if self.context.states[tp].leader != broker]
            if broker in live and imbalance_ratio(len(tps), len(elsewhere)) > allowed:
                found += [tp for tp in elsewhere if broker in self.context.states[tp].isr]
        return found

    def _balance(self) -> None:
        self.partitions.change(self.imbalanced(), self.partitions.elect_preferred, "leader balancing", self.queue.done)
