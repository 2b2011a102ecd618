"""The topics and partitions of a KRaft controller, and how it changes them: creation, elections, ISR changes, and reassignments (Kafka:
`ReplicationControlManager`).

`partition_change` builds every change of a partition. `replication_control_manager` commits the change and, if a leader was elected,
records the event.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import attrs

from core.kafka import errors, events
from core.kafka.admin_requests import ElectionMode
from core.kafka.controller import create_topics
from core.kafka.controller.cluster_control_manager import ClusterControlManager
from core.kafka.controller.configuration_control_manager import ConfigurationControlManager
from core.kafka.controller.partition_change import PartitionChange, PartitionChangeBuilder, merge
from core.kafka.controller.placement import StripedReplicaPlacer, UsableBroker
from core.kafka.controller.reassignment import PartitionReassignmentReplicas, PartitionReassignmentRevert
from core.kafka.controller.replica_directories import ReplicaDirectories
from core.kafka.controller.topic_registry import TopicRegistry
from core.kafka.ids import NO_EPOCH, NO_LEADER, TopicPartition
from core.kafka.messages import AlterPartitionItem
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.release import Release
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.sim.journal import Journal
from core.sim.random_stream import RandomStream

if TYPE_CHECKING:
    from core.kafka.durability_observer import DurabilityObserver


MAX_ELECTIONS: Final = 1_000
"""The maximum number of elections in one pass of a periodic task (`ReplicationControlManager.MAX_ELECTIONS_PER_IMBALANCE`)."""


class ReplicationControlManager:
    """The rules by which a KRaft controller changes topics and partitions.

    Attributes:
        release: the rules of the simulated Kafka release.
        journal: the event journal.
        account: the durability account.
        registry: the topics and partitions.
        cluster_control: the brokers.
        configuration_control: the settings that the controller applies to topics.
        directories: the log directories of the replicas.
        refused_topics: for each internal topic whose creation a broker requested in vain, the error code of the last refusal.
        log_ends: a function that returns a replica's (log end, last epoch). `log_ends` is called only if the guard `elect-from-isr` is off;
            elections then choose the replica with the longest log.
    """

    __slots__ = (
        "_placer", "account", "cluster_control", "configuration_control", "directories", "journal", "log_ends", "refused_topics", "registry", "release",
    )  # fmt: skip

    release: Final[Release]
    journal: Final[Journal]
    account: Final[DurabilityObserver]
    registry: Final[TopicRegistry]
    cluster_control: Final[ClusterControlManager]
    configuration_control: Final[ConfigurationControlManager]
    directories: Final[ReplicaDirectories]
    refused_topics: Final[dict[str, str]]
    _placer: Final[StripedReplicaPlacer]

    def __init__(
        self,
        registry: TopicRegistry,
        cluster_control: ClusterControlManager,
        configuration_control: ConfigurationControlManager,
        directories: ReplicaDirectories,
        seed: int,
    ) -> None:
        self.release = configuration_control.settings.release
        self.journal = registry.journal
        self.account = registry.account
        self.registry = registry
        self.cluster_control = cluster_control
        self.configuration_control = configuration_control
        self.directories = directories
        self.refused_topics = {}
        self.log_ends: Callable[[int, TopicPartition], tuple[int, int]] = _no_logs
        self._placer = StripedReplicaPlacer(RandomStream(f"{seed}:placement"))

    # --- topics ----------------------------------------------------------------------------------------------------

    def create_topic(self, spec: TopicSpec) -> None:
        """Create a topic (`#createTopic`). If the request contains no replica assignment, the controller places the replicas.

        Raises:
            KafkaError: Kafka refuses the topic. In this case, nothing changes.
            ValueError: a setting of the topic is wrong. In this case, nothing changes.
        """
        create_topics.check_creation(self.registry, spec)
        if spec.assignment:
            registrations = create_topics.manual_assignment(self.cluster_control, spec.assignment, self._new_partition)
        else:
            registrations = self._place_replicas(spec.partitions, spec.replication_factor)
        self.registry.register_topic(spec, registrations)
        self.refused_topics.pop(spec.name, None)

    def create_internal_topic(self, spec: TopicSpec) -> str:
        """Create an internal topic for a broker, unless it exists (`ControllerApis#handleCreateTopics`). Return the error code.

        A broker repeats the request each time that a client needs the topic. Therefore, only the first of equal refusals emits an event, and
        it is no refusal if another broker has created the topic.
        """
        code, message = create_topics.try_creation(self, spec)
        if code not in (errors.NONE, errors.TOPIC_ALREADY_EXISTS, self.refused_topics.get(spec.name)):
            self.journal.emit(events.TopicRefused.kind, spec.name, code, message)
        if code != errors.NONE:
            self.refused_topics[spec.name] = code
        return code

    def create_partitions(self, name: str, count: int, assignment: tuple[tuple[int, ...], ...]) -> None:
        """Add partitions to a topic until it has `count` partitions (`#createPartitions`). `assignment` contains the replicas of the new
        partitions; if it is empty, the controller places the replicas.

        Raises:
            KafkaError: Kafka refuses the request. In this case, nothing changes.
        """
        added = create_topics.check_new_partitions(self.registry, name, count, assignment)
        tps = self.registry.topics[name].partitions
        if assignment:
            specs = [PartitionSpec(replicas) for replicas in assignment]
            registrations = create_topics.manual_assignment(self.cluster_control, specs, self._new_partition, len(tps))
        else:
            registrations = self._place_replicas(added, len(self.registry.partitions[tps[0]].replicas))
        self.registry.add_partitions(name, registrations)

    def _new_partition(self, replicas: tuple[int, ...]) -> PartitionRegistration:
        return create_topics.led_partition(self.cluster_control, replicas)

    def _place_replicas(self, partitions: int, factor: int) -> list[PartitionRegistration]:
        if partitions < 1:
            raise errors.KafkaError(errors.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value.")
        cluster = self.cluster_control
        usable = [
            UsableBroker(broker, cluster.racks.get(broker), registration.fenced)
            for broker, registration in sorted(cluster.brokers.items())
            if not registration.in_controlled_shutdown
        ]
        try:
            if factor > 0 and len(usable) < len(cluster.brokers) and all(broker.fenced for broker in usable):
                raise errors.KafkaError(errors.INVALID_REPLICATION_FACTOR, "All brokers are currently fenced or in controlled shutdown.")
            placed = self._placer.place(partitions, factor, usable)
        except errors.KafkaError as refusal:
            raise errors.KafkaError(refusal.code, f"Unable to replicate the partition {factor} time(s): {refusal.message}") from None
        return [self._new_partition(replicas) for replicas in placed]

    def check_deletion(self, name: str) -> None:
        """Check a request to delete a topic.

        Raises:
            KafkaError: Kafka refuses the request.
        """
        create_topics.check_deletion(self.registry, name, enabled=self.configuration_control.deletes_topics)

    def delete_topic(self, name: str) -> None:
        """Delete a topic (`#deleteTopic`). The brokers delete their replicas when they read the RemoveTopicRecord."""
        tps = self.registry.topics[name].partitions
        self.registry.remove_topic(name)
        self.directories.remove(tps)

    # --- partitions ------------------------------------------------------------------------------------------------

    def min_isr(self, tp: TopicPartition) -> int:
        """Return the effective `min.insync.replicas` of a partition's topic (`#getTopicEffectiveMinIsr`)."""
        first = self.registry.partitions[self.registry.topics[tp.topic].partitions[0]]
        return self.configuration_control.min_isr(tp.topic, len(first.replicas))

    def change(
        self,
        tp: TopicPartition,
        reason: str,
        *,
        election: ElectionMode | None = None,
        target_isr: tuple[int, ...] | None = None,
        target: PartitionReassignmentReplicas | None = None,
        removal: bool = False,
        recovered: bool = False,
        unclean_shutdown: tuple[int, ...] = (),
        acceptable: Callable[[int], bool] | None = None,
    ) -> bool:
        """Build and commit a change to one partition. Return False if nothing changes.

        Args:
            tp: the partition.
            reason: the reason to give in the events.
            election: the kind of election; None means that the topic's configuration determines it.
            target_isr: the new ISR.
            target: the new replica lists.
            removal: whether the controller itself removes a replica from the ISR.
            recovered: whether the leader reports that it has recovered (KIP-704).
            unclean_shutdown: the brokers that had an unclean shutdown, which removes them from the ELR.
            acceptable: a function that returns whether a broker can lead; by default, whether it is active.
        """
        old = self.registry.partitions[tp]
        alive = acceptable or self.cluster_control.is_active

        def may_lead(broker: int) -> bool:
            return alive(broker) and self.directories.has_online_dir(broker, tp)

        change = PartitionChangeBuilder(
            old,
            acceptable=may_lead,
            election=election or self.configuration_control.election_mode(tp.topic),
            target_isr=target_isr,
            target=target,
            target_recovering=False if recovered and old.recovering else None,
            min_isr=self.min_isr(tp),
            elr_enabled=self.release.elr,
            unclean_shutdown=unclean_shutdown,
            bump_epoch_on_shrink=self.release.bump_epoch_on_shrink or (removal and self.release.bump_epoch_on_removal),
            reassignment_completion=self.release.reassignment_completion,
            recovery_state=self.release.recovery_state,
            longest_log=None if self.release.elect_from_isr else lambda replica: self.log_ends(replica, tp),
        ).build()
        if change is None:
            return False
        new = merge(old, change)
        journal = self.journal
        before = journal.cause
        if target is None and (old.adding or old.removing) and not (new.adding or new.removing):
            journal.blame(tuple(dict.fromkeys(cause for cause in (self.account.last_move(tp), before) if cause)))
        if change.election not in ("", "none"):
            journal.cause = journal.emit(
                events.LeaderElected.kind,
                tp.topic,
                tp.partition,
                new.leader,
                old.leader,
                new.leader_epoch,
                new.isr,
                change.election,
                reason,
            )
            self.account.leader_elected(change.election)
        elif new.leader == NO_LEADER and old.leader != NO_LEADER:
            journal.cause = journal.emit(
                events.PartitionOffline.kind, tp.topic, tp.partition, old.leader, new.leader_epoch, new.isr, reason
            )
        self.registry.commit_registration(tp, old, new, reason)
        journal.cause = before
        return True

    # --- AlterPartition --------------------------------------------------------------------------------------------

    def alter_partition(self, broker: int, item: AlterPartitionItem) -> str:
        """Validate and commit an ISR that a leader proposes (`#alterPartition`, `#validateAlterPartitionData`). Return the error code of
        the response."""
        error = self._validate(broker, item)
        if error != errors.NONE:
            self.journal.emit(events.AlterPartitionRefused.kind, broker, item.tp.topic, item.tp.partition, item.isr, error)
            return error
        before = self.registry.partitions[item.tp]
        self.change(item.tp, f"b{broker} asked for it", target_isr=item.isr, recovered=not item.recovering)
        after = self.registry.partitions[item.tp]
        if after.leader != before.leader:
            return errors.NEW_LEADER_ELECTED if self.release.alter_partition_v2 else errors.FENCED_LEADER_EPOCH
        return errors.NONE

    def _validate(self, broker: int, item: AlterPartitionItem) -> str:
        current = self.registry.partitions.get(item.tp)
        if current is None:
            return errors.UNKNOWN_TOPIC_ID if self.release.alter_partition_v2 else errors.UNKNOWN_TOPIC_OR_PARTITION
        if item.leader_epoch > current.leader_epoch or item.partition_epoch > current.partition_epoch:
            return errors.NOT_CONTROLLER
        if item.leader_epoch < current.leader_epoch:
            return errors.FENCED_LEADER_EPOCH
        if broker != current.leader:
            return errors.INVALID_REQUEST
        if item.partition_epoch < current.partition_epoch and self.release.partition_epoch_check:
            return errors.INVALID_UPDATE_VERSION
        if len(set(item.isr)) != len(item.isr) or not set(item.isr) <= set(current.replicas) or current.leader not in item.isr:
            return errors.INVALID_REQUEST
        if item.recovering and (len(item.isr) > 1 or not current.recovering):
            return errors.INVALID_REQUEST
        if self.release.isr_eligibility:
            for member, epoch in zip(item.isr, item.broker_epochs, strict=True):
                registration = self.cluster_control.brokers.get(member)
                stale = self.release.broker_epoch_in_isr and registration is not None and epoch not in (-1, registration.epoch)
                if not self.cluster_control.is_active(member) or stale:
                    return errors.INELIGIBLE_REPLICA
        return errors.NONE

    # --- reassignment ----------------------------------------------------------------------------------------------

    def check_reassignment(self, tp: TopicPartition, replicas: tuple[int, ...] | None) -> None:
        """Check a request to move a partition to other replicas or, if `replicas` is None, to cancel the partition's reassignment.

        The assigned brokers must be registered, but they can be fenced (`#validateManualPartitionAssignment`). Only Kafka's command-line
        tool refuses fenced brokers.

        Raises:
            KafkaError: Kafka refuses the request.
        """
        current = self.registry.partitions.get(tp)
        if current is None:
            raise errors.KafkaError(errors.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {tp.topic}:{tp.partition}.")
        if replicas is None:
            if not PartitionReassignmentReplicas.of(current).in_progress:
                raise errors.KafkaError(errors.NO_REASSIGNMENT_IN_PROGRESS, errors.NO_REASSIGNMENT)
            if (
                PartitionReassignmentRevert.of(current).unclean
                and self.configuration_control.election_mode(tp.topic) is not ElectionMode.UNCLEAN
            ):
                raise errors.KafkaError(
                    errors.INVALID_REPLICA_ASSIGNMENT,
                    f"Unable to revert partition assignment for {tp.topic}:{tp.partition} because it would require an unclean leader election.",
                )
            return
        if not replicas:
            raise errors.KafkaError(errors.INVALID_REPLICA_ASSIGNMENT, "The manual partition assignment includes an empty replica list.")
        before = None
        for broker in sorted(replicas):
            if broker not in self.cluster_control.brokers:
                raise errors.KafkaError(
                    errors.INVALID_REPLICA_ASSIGNMENT,
                    f"The manual partition assignment includes broker {broker}, but no such broker is registered.",
                )
            if broker == before:
                raise errors.KafkaError(
                    errors.INVALID_REPLICA_ASSIGNMENT, f"The manual partition assignment includes the broker {broker} more than once."
                )
            before = broker

    def reassign(self, tp: TopicPartition, replicas: tuple[int, ...]) -> bool:
        """Move a partition to other replicas (`#changePartitionReassignment`). Return False if nothing changes.

        All current replicas count as original replicas, even those that a running reassignment is adding. Original replicas that are not in
        the new target can lead until the new reassignment is complete. When the new reassignment is complete, replicas that are not in the
        new target are removed. If the new reassignment adds no replicas, the running reassignment's list of replicas to add stays in
        effect. If the new reassignment removes no replicas, the running reassignment's list of replicas to remove also stays in effect.
        """
        current = self.registry.partitions[tp]
        lists = PartitionReassignmentReplicas.between(current.replicas, replicas)
        target = attrs.evolve(lists, adding=lists.adding or current.adding, removing=lists.removing or current.removing)
        return self.change(tp, "reassignment", target=target, election=ElectionMode.ONLINE)

    def cancel_reassignment(self, tp: TopicPartition) -> bool:
        """Cancel a running reassignment (`#cancelPartitionReassignment`)."""
        revert = PartitionReassignmentRevert.of(self.registry.partitions[tp])
        return self.change(
            tp,
            "reassignment cancelled",
            target=PartitionReassignmentReplicas(revert.replicas),
            target_isr=revert.isr,
            election=ElectionMode.UNCLEAN if revert.unclean else None,
        )

    # --- elections asked for ---------------------------------------------------------------------------------------

    def elect_leaders(self, tp: TopicPartition | None, election: ElectionMode) -> list[tuple[TopicPartition, str]]:
        """Run `kafka-leader-election` for one partition or for all partitions (`#electLeaders`).

        Returns:
            The error code for each partition. If the request was for all partitions, the result omits partitions with the error
                ELECTION_NOT_NEEDED.
        """
        results = []
        for each in [tp] if tp is not None else list(self.registry.partitions):
            error = self._elect_leader(each, election)
            if tp is not None or error != errors.ELECTION_NOT_NEEDED:
                results.append((each, error))
                if error != errors.NONE:
                    name = "preferred" if election is ElectionMode.PREFERRED else "unclean"
                    self.journal.emit(events.ElectionRefused.kind, each.topic, each.partition, name, error)
        return results

    def _elect_leader(self, tp: TopicPartition, election: ElectionMode) -> str:
        current = self.registry.partitions.get(tp)
        if current is None:
            return errors.UNKNOWN_TOPIC_OR_PARTITION
        preferred = election is ElectionMode.PREFERRED
        if (preferred and current.has_preferred_leader) or (not preferred and current.has_leader):
            return errors.ELECTION_NOT_NEEDED
        if preferred and not (current.preferred_replica in current.isr and self.cluster_control.is_active(current.preferred_replica)):
            return errors.PREFERRED_LEADER_NOT_AVAILABLE
        if not self.change(tp, "asked for", election=election):
            return errors.PREFERRED_LEADER_NOT_AVAILABLE if preferred else errors.ELIGIBLE_LEADERS_NOT_AVAILABLE
        return errors.NONE

    def maybe_balance_partition_leaders(self) -> bool:
        """Return leadership to preferred replicas in the ISR (`#maybeBalancePartitionLeaders`). Return True if the pass stopped because it
        reached its limit."""
        elected = 0
        for tp in list(self.registry.index.unbalanced):
            if elected >= MAX_ELECTIONS:
                return True
            current = self.registry.partitions[tp]
            if current.preferred_replica in current.isr and self.cluster_control.is_active(current.preferred_replica):
                elected += self.change(tp, "leader balancing", election=ElectionMode.PREFERRED)
        return False

    def maybe_elect_unclean_leaders(self) -> bool:
        """Elect leaders for partitions that have no leader and whose topic now allows unclean election. Return True if the pass stopped
        because it reached its limit.

        Kafka: `#maybeElectUncleanLeaders`.
        """
        elected = 0
        for tp in list(self.registry.index.leaderless):
            if elected >= MAX_ELECTIONS:
                return True
            if self.configuration_control.election_mode(tp.topic) is ElectionMode.UNCLEAN:
                elected += self.change(tp, "unclean.leader.election.enable is true", election=ElectionMode.UNCLEAN)
        return False

    def min_isr_changed(self, topic: str | None) -> None:
        """Clear the ELRs of a topic, or of all topics if `topic` is None, because `min.insync.replicas` has been set (KIP-966:
        `ClearElrRecord`).

        The ELR depends on the former value of `min.insync.replicas`, so Kafka clears the ELR regardless of the new value.
        """
        if self.release.elr:
            for tp, old in list(self.registry.partitions.items()):
                if (old.elr or old.last_known_elr) and topic in (None, tp.topic):
                    self.registry.commit_registration(
                        tp, old, merge(old, PartitionChange(elr=(), last_known_elr=())), "min.insync.replicas was set"
                    )


def _no_logs(broker: int, tp: TopicPartition) -> tuple[int, int]:
    """Return the (log end, last epoch) of an empty log. `_no_logs` is the default for `log_ends`, and is used if the logs of the replicas
    are unknown.
    """
    return (0, NO_EPOCH)
