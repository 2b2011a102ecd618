"""The state machine that changes the leaders and ISRs of partitions (Kafka: `PartitionStateMachine`, `ReplicaStateMachine`).

The controller first writes a change to ZooKeeper. The write succeeds only if this broker is still the controller and no other process has
changed the partition. After the write, the controller informs the brokers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import attrs

from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.zookeeper_mode.controller.controller_component import ControllerComponent
from core.kafka.zookeeper_mode.controller.election_algorithms import (
    Elected,
    controlled_shutdown_partition_leader_election,
    offline_partition_leader_election,
    preferred_replica_partition_leader_election,
    reassign_partition_leader_election,
)
from core.kafka.zookeeper_mode.controller.event_manager import Callback
from core.kafka.zookeeper_server import paths
from core.kafka.zookeeper_server.paths import PartitionState, state_path
from core.kafka.zookeeper_server.protocol import OK, Create, GetData, Multi, Result, SetData

Decision = tuple[int, tuple[int, ...], str]
"""A partition's new leader, its new ISR, and the kind of election."""

_Batch = tuple[tuple[TopicPartition, int], ...]
"""Partitions whose new state has been written to ZooKeeper but not yet sent to the brokers, each with the event that records the change.

Kafka: `ControllerBrokerRequestBatch`.
"""

Decide = Callable[[TopicPartition, PartitionRegistration], Decision | None]
"""A function that decides the new leader and ISR of a partition. The function returns None if the partition does not change."""


class PartitionStateMachine(ControllerComponent):
    """The partition state machine of one controller."""

    def change(self, tps: list[TopicPartition], decide: Decide, reason: str, callback: Callback, *about: object) -> None:
        """Read the states of partitions, decide each change, write it with the next leader epoch, inform the brokers, and call `callback`.

        Kafka: `#doElectLeaderForPartitions`.
        """
        self._change(tps, decide, reason, None, callback, about)

    def _change(
        self, tps: list[TopicPartition], decide: Decide, reason: str, batch: _Batch | None, callback: Callback, about: tuple[object, ...]
    ) -> None:
        """Change the states of partitions as `change` does, but optionally collect the changes in a batch.

        If `batch` is not None, do not inform the brokers yet, but add the changes to the batch, and pass the batch to `callback` as the
        first argument.
        """
        if tps:
            self.queue.submit((GetData(state_path(tp)) for tp in tps), self._states_read, tps, decide, reason, batch, callback, about)
        else:
            self._changed({}, batch, callback, about)

    def _states_read(
        self, results: tuple[Result, ...], tps: list[TopicPartition], decide: Decide, reason: str, batch: _Batch | None, callback: Callback,
        about: tuple[object, ...],
    ) -> None:  # fmt: skip
        self.context.take_states(results, tps)
        writes = []
        for tp, result in zip(tps, results, strict=True):
            if result.error != OK or result.data.controller_epoch > self.context.epoch:
                continue
            decided = decide(tp, self.context.states[tp])
            if decided is not None:
                leader, isr, election = decided
                state = PartitionState(leader, result.data.leader_epoch + 1, isr, self.context.epoch, reason, election)
                writes.append((tp, state, result.version))
        if not writes:
            self._changed({}, batch, callback, about)
            return
        ops = [self.with_epoch_check(SetData(state_path(tp), state, version)) for tp, state, version in writes]
        self.queue.submit(ops, self._states_written, writes, decide, reason, batch, callback, about)

    def _states_written(
        self, results: tuple[Result, ...], writes: list[tuple[TopicPartition, PartitionState, int]], decide: Decide, reason: str,
        batch: _Batch | None, callback: Callback, about: tuple[object, ...],
    ) -> None:  # fmt: skip
        if any(result.fenced for result in results):
            self.resign("ZooKeeper holds a newer controller epoch")
            return
        changed: dict[TopicPartition, int] = {}
        again = []
        for (tp, state, _version), result in zip(writes, results, strict=True):
            if result.error == OK:
                self.context.states[tp] = self.context.registration(tp, state, result.version)
                changed[tp] = result.cause
                if state.election:
                    self.context.offline_partitions.pop(tp, None)
            else:
                again.append(tp)
        if not again:
            self._changed(changed, batch, callback, about)
            return
        if batch is None:
            self._send_requests(changed)
        else:
            batch = (*batch, *changed.items())
        self._change(again, decide, reason, batch, callback, about)

    def _changed(self, changed: dict[TopicPartition, int], batch: _Batch | None, callback: Callback, about: tuple[object, ...]) -> None:
        if batch is None:
            self._send_requests(changed)
            callback(*about)
        else:
            callback((*batch, *changed.items()), *about)

    def _send_requests(self, changed: dict[TopicPartition, int]) -> None:
        if changed:
            self.requests.leader_and_isr(changed, self.context.live, changed)
            self.requests.update_metadata(changed)

    def with_epoch_check(self, op: Create | SetData) -> Multi:
        """Return a write that succeeds only if no other controller has been elected in the meantime (KAFKA-6082)."""
        return Multi(paths.CONTROLLER_EPOCH, self.context.epoch_version, op)

    # --- elections -------------------------------------------------------------------------------------------------

    def elect_for_offline(self, tp: TopicPartition, state: PartitionRegistration) -> Decision | None:
        """Elect the first live ISR member, or another replica if unclean election is enabled (`#offlinePartitionLeaderElection`)."""
        live = self.context.may_lead(tp)
        return _decision(offline_partition_leader_election(state.replicas, state.isr, live, unclean_enabled=self._unclean_enabled(tp)))

    def _unclean_enabled(self, tp: TopicPartition) -> bool:
        return self.broker.settings.flag("unclean.leader.election.enable", topic=tp.topic, broker=self.broker.id)

    def elect_unclean_for_offline(self, tp: TopicPartition, state: PartitionRegistration) -> Decision | None:
        """Do the same as `elect_for_offline`, but with unclean election enabled (`OfflinePartitionLeaderElectionStrategy(allowUnclean =
        true)`)."""
        live = self.context.may_lead(tp)
        if state.leader in live:
            return None
        return _decision(offline_partition_leader_election(state.replicas, state.isr, live, unclean_enabled=True))

    def elect_preferred(self, tp: TopicPartition, state: PartitionRegistration) -> Decision | None:
        """Elect the preferred replica if it can lead (`#leaderForPreferredReplica`). If the preferred replica already leads, only the leader
        epoch rises, and only in releases that elect it again. Before 1.1, the partition then counts as online, even if the leader is dead."""
        if state.has_preferred_leader and not self.broker.release.elects_preferred_again:
            if self.broker.release.preferred_leader_is_online:
                self.context.offline_partitions.pop(tp, None)
            return None
        elected = preferred_replica_partition_leader_election(state.replicas, state.isr, self.context.may_lead(tp))
        return _decision(elected, "" if state.has_preferred_leader else "preferred")

    def elect_for_controlled_shutdown(self, tp: TopicPartition, state: PartitionRegistration) -> Decision | None:
        """Elect another leader for a partition whose leader is shutting down (`#controlledShutdownPartitionLeaderElection`)."""
        if state.leader not in self.context.shutting_down:
            return None
        context = self.context
        live = [broker for broker in context.live if tp not in context.offline.get(broker, ())]
        order = state.isr if self.broker.release.shutdown_follows_isr else state.replicas
        return _decision(controlled_shutdown_partition_leader_election(order, state.isr, live, context.shutting_down))

    def elect_for_reassignment(self, tp: TopicPartition, state: PartitionRegistration) -> Decision | None:
        """Elect a leader from the target replicas of a reassignment (`#reassignPartitionLeaderElection`)."""
        live = self.context.may_lead(tp)
        if state.leader in state.replicas and state.leader in live:
            return state.leader, state.isr, ""
        return _decision(reassign_partition_leader_election(state.replicas, state.isr, live))

    def mark_partitions_offline(self) -> None:
        """Mark the partitions whose leader can no longer lead as offline (`KafkaController#onReplicasBecomeOffline`)."""
        deleted = self.context.topics_to_delete
        self.context.offline_partitions.update(
            (tp, None) for tp in self.context.states if self.context.lacks_leader(tp) and tp.topic not in deleted
        )

    def trigger_online_state_change(self, reason: str, callback: Callback, *about: object) -> None:
        """Elect leaders for offline partitions, and then initialize new partitions
        (`PartitionStateMachine#triggerOnlinePartitionStateChange`)."""
        self.change(list(self.context.offline_partitions), self.elect_for_offline, reason, self.initialize_leader_and_isr, callback, *about)

    def initialize_leader_and_isr(self, callback: Callback, *about: object) -> None:
        """Initialize new partitions (`#initializeLeaderAndIsrForPartitions`). The ISR consists of the live replicas, and the first of them
        becomes leader.
        """
        new = []
        for tp, assignment in self.context.assignments.items():
            if tp in self.context.states:
                continue
            live = self.context.may_lead(tp)
            isr = tuple(replica for replica in assignment.replicas if replica in live)
            if isr:
                new.append((tp, PartitionState(isr[0], 0, isr, self.context.epoch, "created")))
        if not new:
            callback(*about)
            return
        self.queue.submit(
            [self.with_epoch_check(Create(state_path(tp), state)) for tp, state in new], self._new_states_written, new, callback, about
        )

    def _new_states_written(
        self, results: tuple[Result, ...], new: list[tuple[TopicPartition, PartitionState]], callback: Callback, about: tuple[object, ...]
    ) -> None:
        if any(result.fenced for result in results):
            self.resign("ZooKeeper holds a newer controller epoch")
            return
        causes = {}
        for (tp, state), result in zip(new, results, strict=True):
            if result.error == OK:
                self.context.states[tp] = self.context.registration(tp, state, 0)
                causes[tp] = result.cause
        self.requests.leader_and_isr(causes, self.context.live, causes)
        self.requests.update_metadata(causes)
        callback(*about)

    def remove_replicas_from_isr(
        self, gone: Iterable[int], tps: Iterable[TopicPartition], reason: str, callback: Callback, *about: object
    ) -> None:
        """Remove the replicas on some brokers from the ISRs, but keep each ISR's last member; before 1.1, the last member stays only if
        unclean leader election is disabled. Partitions that a removed broker led have no leader afterward.

        The brokers are removed one at a time, in ascending order (in Kafka, ordered by the hash of their IDs). Each removal raises the
        leader epoch, even if nothing else changes. A single round of requests informs the cluster of all removals. Kafka:
        `ReplicaStateMachine#doRemoveReplicasFromIsr`; before 1.1, `KafkaController#removeReplicaFromIsr`.
        """
        known = [tp for tp in tps if tp in self.context.states]
        self._remove_next_from_isr((), tuple(sorted(gone)), known, reason, callback, about)

    def _remove_next_from_isr(
        self, batch: _Batch, gone: tuple[int, ...], tps: list[TopicPartition], reason: str, callback: Callback, about: tuple[object, ...]
    ) -> None:
        if gone:
            decide = _RemoveFromIsr(gone[0], frozenset(tp for tp in tps if self.broker.release.empties_isr and self._unclean_enabled(tp)))
            self._change(tps, decide, reason, batch, self._remove_next_from_isr, (gone[1:], tps, reason, callback, about))
        else:
            self._send_requests(dict(batch))
            callback(*about)

    def partitions_on_brokers(self, brokers: Collection[int]) -> list[TopicPartition]:
        """Return the partitions that have a replica on one of the brokers."""
        wanted = set(brokers)
        return [tp for tp, assignment in self.context.assignments.items() if not wanted.isdisjoint(assignment.replicas)]


@attrs.frozen
class _RemoveFromIsr:
    """The decision to remove a broker from an ISR.

    The decision is an object rather than a closure, so that a keyframe can store it while partition states are being read.

    Attributes:
        gone: the broker.
        emptied: the partitions from whose ISR even the last member is removed.
    """

    gone: int
    emptied: frozenset[TopicPartition]

    def __call__(self, tp: TopicPartition, state: PartitionRegistration) -> Decision | None:
        if self.gone not in state.isr:
            return None
        keep = len(state.isr) == 1 and tp not in self.emptied
        isr = state.isr if keep else tuple(member for member in state.isr if member != self.gone)
        return NO_LEADER if state.leader == self.gone else state.leader, isr, ""


def _decision(elected: Elected | None, election: str = "clean") -> Decision | None:
    return None if elected is None else (elected.leader, elected.isr, "unclean" if elected.unclean else election)
