"""The controller's partitions: creation, elections, ISR changes, and reassignments (Kafka: `ReplicationControlManager`).

`partition_change` builds every change. This module commits each change to the metadata log, emits its event, and updates the indexes
for later lookups.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import attrs

from core.kafka import errors, events
from core.kafka.admin_requests import ElectionMode
from core.kafka.controller.metadata_log import BrokerRegistration, ConfigRecord, MetadataLog, PartitionRecord
from core.kafka.controller.partition_change import PartitionChange, build_partition_change, merge
from core.kafka.controller.placement import StripedReplicaPlacer, UsableBroker
from core.kafka.controller.reassignment import PartitionReassignmentReplicas, PartitionReassignmentRevert
from core.kafka.health import effective_min_isr
from core.kafka.ids import NO_EPOCH, NO_LEADER, TopicPartition
from core.kafka.messages import AlterPartitionItem
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.release import Release
from core.kafka.settings import SETTINGS, Settings
from core.kafka.topic_spec import TopicSpec
from core.sim.journal import Journal
from core.sim.random_stream import RandomStream
from core.sim.repr_mixin import ReprMixin

if TYPE_CHECKING:
    from core.kafka.durability_observer import DurabilityObserver

MAX_ELECTIONS: Final = 1_000
"""The maximum number of elections in one pass of a periodic task (`ReplicationControlManager.MAX_ELECTIONS_PER_IMBALANCE`)."""


@attrs.define(slots=True, repr=False)
class Topic(ReprMixin):
    """A topic.

    Attributes:
        name: the topic's name.
        topic_id: the topic id, as Kafka prints it.
        config: the topic's own settings, as they were written.
        partitions: the topic's partitions, by number.
    """

    name: str
    topic_id: str
    config: dict[str, str]
    partitions: list[TopicPartition]


class ReplicationControlManager:
    """The partitions and topics of the controller.

    Attributes:
        settings: the settings as the controller sees them.
        release: the rules of the release.
        account: the durability account.
        metadata: the metadata log.
        journal: the event journal.
        brokers: the broker registrations by id.
        racks: the rack of each broker.
        partitions: the registrations by partition, in the order of creation.
        topics: the topics by name.
        brokers_to_isrs: for each broker, the partitions whose ISR contains it (ordered sets; Kafka: `BrokersToIsrs`).
        leader_counts: the number of partitions that each broker leads.
        replica_counts: the number of replicas that each broker has.
        directories: for brokers with several log directories, the directory of each replica.
        leaderless: the partitions without a leader (ordered set).
        unbalanced: the partitions whose leader is not the preferred one (ordered set).
        controller_node: the broker whose process runs the active controller; None if the controller has its own process.
        log_ends: returns a replica's (log end, last epoch); called only if the longest log leads (guard `elect-from-isr` off).
    """

    __slots__ = (
        "_ids", "_placer", "account", "brokers", "brokers_to_isrs", "controller_node", "directories", "journal", "leader_counts",
        "leaderless", "log_ends", "metadata", "partitions", "racks", "release", "replica_counts", "settings", "topics", "unbalanced",
    )  # fmt: skip

    settings: Final[Settings]
    release: Final[Release]
    account: Final[DurabilityObserver]
    metadata: Final[MetadataLog]
    journal: Final[Journal]
    brokers: Final[dict[int, BrokerRegistration]]
    racks: Final[dict[int, str | None]]
    partitions: Final[dict[TopicPartition, PartitionRegistration]]
    topics: Final[dict[str, Topic]]
    brokers_to_isrs: Final[dict[int, dict[TopicPartition, None]]]
    leader_counts: Final[dict[int, int]]
    replica_counts: Final[dict[int, int]]
    directories: Final[dict[int, dict[TopicPartition, str]]]
    leaderless: Final[dict[TopicPartition, None]]
    unbalanced: Final[dict[TopicPartition, None]]
    _placer: Final[StripedReplicaPlacer]
    _ids: Final[RandomStream]

    def __init__(
        self,
        settings: Settings,
        metadata: MetadataLog,
        journal: Journal,
        account: DurabilityObserver,
        brokers: dict[int, BrokerRegistration],
        racks: dict[int, str | None],
        seed: int,
    ) -> None:
        self.settings = settings
        self.release = settings.release
        self.metadata = metadata
        self.journal = journal
        self.account = account
        self.brokers = brokers
        self.racks = racks
        self.partitions = {}
        self.topics = {}
        self.brokers_to_isrs = {}
        self.leader_counts = {}
        self.replica_counts = {}
        self.directories = {}
        self.leaderless = {}
        self.unbalanced = {}
        self.controller_node: int | None = None
        self.log_ends: Callable[[int, TopicPartition], tuple[int, int]] = _no_logs
        self._placer = StripedReplicaPlacer(RandomStream(f"{seed}:placement"))
        self._ids = RandomStream(f"{seed}:topic-ids")

    # --- who may lead ----------------------------------------------------------------------------------------------

    def is_active(self, broker: int) -> bool:
        """Whether a broker is registered, unfenced, and not shutting down (`ClusterControlManager#isActive`)."""
        registration = self.brokers.get(broker)
        return registration is not None and not registration.fenced and not registration.in_controlled_shutdown

    def has_online_dir(self, broker: int, tp: TopicPartition) -> bool:
        """Whether the log directory of a replica works (`#isAcceptableLeader`)."""
        directory = self.directories.get(broker, {}).get(tp)
        registration = self.brokers.get(broker)
        return directory is None or registration is None or registration.has_online_dir(directory)

    def min_isr(self, tp: TopicPartition) -> int:
        """Return the effective `min.insync.replicas` of a partition's topic (`#getTopicEffectiveMinIsr`).

        Since 3.7, it is at most the replication factor of the topic's first partition.
        """
        configured = self.settings.integer("min.insync.replicas", topic=tp.topic, broker=self.controller_node)
        first = self.partitions[self.topics[tp.topic].partitions[0]]
        return effective_min_isr(configured, len(first.replicas), capped=self.release.capped_min_isr)

    def election_mode(self, tp: TopicPartition) -> ElectionMode:
        """Return UNCLEAN if unclean leader election is enabled for the topic, else ONLINE.

        If the topic does not override the setting, the configuration of the controller's own node applies, which can differ from the cluster's
        (`ConfigurationControlManager#uncleanLeaderElectionEnabledForTopic`).
        """
        unclean = self.settings.flag("unclean.leader.election.enable", topic=tp.topic, broker=self.controller_node)
        return ElectionMode.UNCLEAN if unclean else ElectionMode.ONLINE

    # --- topics ----------------------------------------------------------------------------------------------------

    def create_topic(self, spec: TopicSpec) -> None:
        """Create a topic (`#createTopic`). The topic's assignment places it; if there is none, the controller places it.

        Raises:
            KafkaError: Kafka refuses the topic. Nothing has changed.
            ValueError: a setting of the topic is wrong. Nothing has changed.
        """
        if spec.name in self.topics:
            raise errors.KafkaError(errors.TOPIC_ALREADY_EXISTS, f"Topic '{spec.name}' already exists.")
        for name, value in spec.config:
            if name in SETTINGS:
                SETTINGS[name].parse(value)
        registrations = [self.manual_assignment(spec, number) for number in range(len(spec.assignment))] or self._place_replicas(spec)
        for name, value in spec.config:
            if name in SETTINGS:
                self.settings.set(name, value, topic=spec.name)
                self.metadata.append(ConfigRecord(name, value, spec.name, None))
        topic_id = spec.topic_id or base64.urlsafe_b64encode(self._ids.randbytes(16)).decode().rstrip("=")
        topic = self.topics[spec.name] = Topic(spec.name, topic_id, dict(spec.config), [])
        journal = self.journal
        before = journal.cause
        journal.cause = journal.emit(
            events.TopicCreated.kind, spec.name, topic_id, len(registrations), len(registrations[0].replicas) if registrations else 0
        )
        for number, registration in enumerate(registrations):
            tp = TopicPartition(spec.name, number)
            topic.partitions.append(tp)
            self._commit_registration(tp, None, registration, "created")
        journal.cause = before

    def _place_replicas(self, spec: TopicSpec) -> list[PartitionRegistration]:
        if spec.partitions < 1:
            raise errors.KafkaError(errors.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value.")
        usable = [
            UsableBroker(broker, self.racks.get(broker), registration.fenced)
            for broker, registration in sorted(self.brokers.items())
            if not registration.in_controlled_shutdown
        ]
        try:
            if spec.replication_factor > 0 and len(usable) < len(self.brokers) and all(broker.fenced for broker in usable):
                raise errors.KafkaError(errors.INVALID_REPLICATION_FACTOR, "All brokers are currently fenced or in controlled shutdown.")
            placed = self._placer.place(spec.partitions, spec.replication_factor, usable)
        except errors.KafkaError as refusal:
            raise errors.KafkaError(
                refusal.code, f"Unable to replicate the partition {spec.replication_factor} time(s): {refusal.message}"
            ) from None
        return [self._build_partition_registration(tuple(replicas)) for replicas in placed]

    def place_additional_partitions(self, name: str, count: int, factor: int) -> list[PartitionRegistration]:
        """Return registrations for `count` more partitions of a topic."""
        return self._place_replicas(TopicSpec(name, count, factor))

    def partitions_created(self, name: str) -> None:
        """Do nothing, because the metadata log already has the new partitions. In ZooKeeper mode, this method writes the topic's znode here."""

    def partition_created(self, tp: TopicPartition, registration: PartitionRegistration) -> None:
        """Commit the registration of a new partition."""
        self._commit_registration(tp, None, registration, "created")

    def manual_assignment(self, spec: TopicSpec, number: int) -> PartitionRegistration:
        """Return the registration of a partition whose replicas are assigned manually.

        Raises:
            KafkaError: INVALID_REPLICA_ASSIGNMENT, if a broker is not registered or no broker of the assignment is active.
        """
        given = spec.assignment[number]
        for broker in given.replicas:
            if broker not in self.brokers:
                raise errors.KafkaError(
                    errors.INVALID_REPLICA_ASSIGNMENT,
                    f"The manual partition assignment includes broker {broker}, but no such broker is registered.",
                )
        if given.isr is None and given.leader is None:
            if not any(self.is_active(broker) for broker in given.replicas):
                raise errors.KafkaError(
                    errors.INVALID_REPLICA_ASSIGNMENT,
                    f"All brokers specified in the manual partition assignment for partition {number} are fenced or in controlled shutdown.",
                )
            fresh = self._build_partition_registration(given.replicas)
            return attrs.evolve(fresh, leader_epoch=given.leader_epoch) if given.leader_epoch else fresh
        isr = given.isr if given.isr is not None else tuple(b for b in given.replicas if self.is_active(b))
        leader = given.leader if given.leader is not None else next((b for b in isr if self.is_active(b)), NO_LEADER)
        return PartitionRegistration(given.replicas, isr, leader, given.leader_epoch, 0, elr=given.elr, last_known_elr=given.last_known_elr)

    def _build_partition_registration(self, replicas: tuple[int, ...]) -> PartitionRegistration:
        """Return a new partition whose ISR is its active replicas; the first of them leads (`#buildPartitionRegistration`)."""
        isr = tuple(broker for broker in replicas if self.is_active(broker))
        return PartitionRegistration(replicas, isr, isr[0], 0, 0)

    # --- changes ---------------------------------------------------------------------------------------------------

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
        """Build and commit the change of one partition. Returns False if nothing changes.

        Args:
            tp: the partition.
            reason: the reason to give in the events.
            election: the kind of election; None to take it from the topic's configuration.
            target_isr: the ISR to set.
            target: the replica lists to set.
            removal: whether the controller itself removes a replica from the ISR.
            recovered: whether the leader reports that it has recovered (KIP-704).
            unclean_shutdown: the brokers that had an unclean shutdown, which leave the ELR.
            acceptable: returns whether a broker can lead; by default, whether it is active.
        """
        old = self.partitions[tp]
        may_lead = acceptable or self.is_active
        if self.directories:
            alive = may_lead

            def may_lead(broker: int) -> bool:
                return alive(broker) and self.has_online_dir(broker, tp)

        change = build_partition_change(
            old,
            acceptable=may_lead,
            election=election or self.election_mode(tp),
            target_isr=target_isr,
            target_replicas=None if target is None else target.replicas,
            target_adding=None if target is None else target.adding,
            target_removing=None if target is None else target.removing,
            target_recovering=False if recovered and old.recovering else None,
            min_isr=self.min_isr(tp),
            elr_enabled=self.release.elr,
            unclean_shutdown=unclean_shutdown,
            bump_epoch_on_shrink=self.release.bump_epoch_on_shrink or (removal and self.release.bump_epoch_on_removal),
            recovery_state=self.release.recovery_state,
            longest_log=None if self.release.elect_from_isr else lambda replica: self.log_ends(replica, tp),
        )
        if change is None:
            return False
        new = merge(old, change)
        journal = self.journal
        before = journal.cause
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
        self._commit_registration(tp, old, new, reason)
        journal.cause = before
        return True

    def _commit_registration(self, tp: TopicPartition, old: PartitionRegistration | None, new: PartitionRegistration, reason: str) -> None:
        journal = self.journal
        cause = journal.emit(
            events.PartitionChanged.kind,
            tp.topic, tp.partition, new.leader, new.leader_epoch, new.partition_epoch, new.replicas, new.isr, new.elr,
            new.last_known_elr, new.adding, new.removing, new.recovering, reason,
        )  # fmt: skip
        if old is not None and old.leader != new.leader:
            cause = journal.cause
        self.partitions[tp] = new
        self.metadata.append(PartitionRecord(tp, new, cause))
        for broker in old.isr if old is not None else ():
            if broker not in new.isr:
                self.brokers_to_isrs[broker].pop(tp, None)
        for broker in new.isr:
            self.brokers_to_isrs.setdefault(broker, {})[tp] = None
        if old is None or old.replicas != new.replicas:
            for broker in old.replicas if old is not None else ():
                self.replica_counts[broker] -= 1
            for broker in new.replicas:
                self.replica_counts[broker] = self.replica_counts.get(broker, 0) + 1
        if old is None or old.leader != new.leader:
            if old is not None and old.leader != NO_LEADER:
                self.leader_counts[old.leader] -= 1
            if new.leader != NO_LEADER:
                self.leader_counts[new.leader] = self.leader_counts.get(new.leader, 0) + 1
        _set_membership(self.leaderless, tp, not new.has_leader)
        _set_membership(self.unbalanced, tp, not new.has_preferred_leader)
        self.account.partition_changed(tp, new)

    # --- events of brokers -----------------------------------------------------------------------------------------

    def remove_from_isrs(self, broker: int, reason: str, *, unclean_shutdown: bool = False) -> None:
        """Remove a broker from every ISR, and elect new leaders for the partitions that it leads.

        After an unclean shutdown, the broker also leaves every ELR. Kafka: `#handleBrokerFenced`, `#handleBrokerUncleanShutdown`.
        """

        def acceptable(candidate: int) -> bool:
            return candidate != broker and self.is_active(candidate)

        unclean = (broker,) if unclean_shutdown else ()
        for tp in list(self.brokers_to_isrs.get(broker, ())):
            isr = tuple(member for member in self.partitions[tp].isr if member != broker)
            self.change(tp, reason, target_isr=isr, removal=True, unclean_shutdown=unclean, acceptable=acceptable)
        if unclean_shutdown:
            for tp, registration in list(self.partitions.items()):
                if broker in registration.elr:
                    self.change(tp, reason, unclean_shutdown=unclean, acceptable=acceptable)

    def handle_broker_unfenced(self, reason: str) -> None:
        """Try to elect a leader for every partition without one, because a broker is back (`#handleBrokerUnfenced`)."""
        for tp in list(self.leaderless):
            self.change(tp, reason)

    def handle_directories_offline(self, broker: int, offline: tuple[str, ...]) -> tuple[str, ...]:
        """Remove a broker from the ISRs and leaderships of the replicas in its failed log directories (`#handleDirectoriesOffline`).

        Directories that are not in the broker's registration are ignored.

        Returns:
            The directories that still work, for the broker's registration.
        """
        registration = self.brokers[broker]
        journal = self.journal

        def acceptable(candidate: int) -> bool:
            return candidate != broker and self.is_active(candidate)

        for directory in registration.directories:
            if directory not in offline:
                continue
            there = [
                tp
                for tp, assigned in self.directories.get(broker, {}).items()
                if assigned == directory and (self.partitions[tp].leader == broker or broker in self.partitions[tp].isr)
            ]
            before = journal.cause
            number = int(directory.split("-")[1])
            journal.cause = journal.emit(events.DirectoriesOffline.kind, broker, number, len(there))
            for tp in there:
                isr = tuple(member for member in self.partitions[tp].isr if member != broker)
                reason = f"log directory {number} of b{broker} failed"
                self.change(tp, reason, target_isr=isr, removal=True, acceptable=acceptable)
            journal.cause = before
        return tuple(directory for directory in registration.directories if directory not in offline)

    def assign_replicas_to_dirs(self, broker: int, assignments: tuple[tuple[TopicPartition, str], ...]) -> None:
        """Record the log directories of a broker's replicas (`#handleAssignReplicasToDirs`)."""
        known = self.directories.setdefault(broker, {})
        for tp, directory in assignments:
            known[tp] = directory
            if tp in self.leaderless:
                self.change(tp, f"b{broker} has it in a log directory that works")
            self.account.check_exposure(tp)

    # --- AlterPartition --------------------------------------------------------------------------------------------

    def alter_partition(self, broker: int, item: AlterPartitionItem) -> str:
        """Validate and commit an ISR that a leader proposes (`#alterPartition`, `#validateAlterPartitionData`). Returns the error code."""
        error = self._validate(broker, item)
        if error != errors.NONE:
            self.journal.emit(events.AlterPartitionRefused.kind, broker, item.tp.topic, item.tp.partition, item.isr, error)
            return error
        before = self.partitions[item.tp]
        self.change(item.tp, f"b{broker} asked for it", target_isr=item.isr, recovered=not item.recovering)
        after = self.partitions[item.tp]
        if after.leader != before.leader:
            return errors.NEW_LEADER_ELECTED if self.release.alter_partition_v2 else errors.FENCED_LEADER_EPOCH
        return errors.NONE

    def _validate(self, broker: int, item: AlterPartitionItem) -> str:
        current = self.partitions.get(item.tp)
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
                registration = self.brokers.get(member)
                stale = self.release.broker_epoch_in_isr and registration is not None and epoch not in (-1, registration.epoch)
                if not self.is_active(member) or stale:
                    return errors.INELIGIBLE_REPLICA
        return errors.NONE

    # --- reassignment ----------------------------------------------------------------------------------------------

    def check_reassignment(self, tp: TopicPartition, replicas: tuple[int, ...] | None) -> None:
        """Check a request to move a partition to other replicas, or to cancel its reassignment if `replicas` is None.

        The brokers must be registered, but can be fenced (`#validateManualPartitionAssignment`). Only Kafka's tool refuses fenced brokers.

        Raises:
            KafkaError: Kafka refuses the request.
        """
        current = self.partitions.get(tp)
        if current is None:
            raise errors.KafkaError(errors.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {tp.topic}:{tp.partition}.")
        if replicas is None:
            if not PartitionReassignmentReplicas.of(current).in_progress:
                raise errors.KafkaError(errors.NO_REASSIGNMENT_IN_PROGRESS, errors.NO_REASSIGNMENT)
            if PartitionReassignmentRevert.of(current).unclean and self.election_mode(tp) is not ElectionMode.UNCLEAN:
                raise errors.KafkaError(
                    errors.INVALID_REPLICA_ASSIGNMENT,
                    f"Unable to revert partition assignment for {tp.topic}:{tp.partition} because it would require an unclean leader election.",
                )
            return
        if not replicas:
            raise errors.KafkaError(errors.INVALID_REPLICA_ASSIGNMENT, "The manual partition assignment includes an empty replica list.")
        before = None
        for broker in sorted(replicas):
            if broker not in self.brokers:
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
        """Move a partition to other replicas (`#changePartitionReassignment`). Returns False if nothing changes.

        All current replicas count as the original ones, even those that a running reassignment is adding. Original replicas that the new target
        lacks can lead until this reassignment is complete, and are then removed. If the new adding list is empty, the adding list of a running
        reassignment stays; the same holds for the removing list.
        """
        current = self.partitions[tp]
        lists = PartitionReassignmentReplicas.between(current.replicas, replicas)
        target = attrs.evolve(lists, adding=lists.adding or current.adding, removing=lists.removing or current.removing)
        return self.change(tp, "reassignment", target=target, election=ElectionMode.ONLINE)

    def cancel_reassignment(self, tp: TopicPartition) -> bool:
        """Cancel a running reassignment (`#cancelPartitionReassignment`)."""
        revert = PartitionReassignmentRevert.of(self.partitions[tp])
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
            The error code of each partition. If all partitions were requested, those with ELECTION_NOT_NEEDED are omitted.
        """
        results = []
        for each in [tp] if tp is not None else list(self.partitions):
            error = self._elect_leader(each, election)
            if tp is not None or error != errors.ELECTION_NOT_NEEDED:
                results.append((each, error))
                if error != errors.NONE:
                    name = "preferred" if election is ElectionMode.PREFERRED else "unclean"
                    self.journal.emit(events.ElectionRefused.kind, each.topic, each.partition, name, error)
        return results

    def _elect_leader(self, tp: TopicPartition, election: ElectionMode) -> str:
        current = self.partitions.get(tp)
        if current is None:
            return errors.UNKNOWN_TOPIC_OR_PARTITION
        preferred = election is ElectionMode.PREFERRED
        if (preferred and current.has_preferred_leader) or (not preferred and current.has_leader):
            return errors.ELECTION_NOT_NEEDED
        if preferred and not (current.preferred_replica in current.isr and self.is_active(current.preferred_replica)):
            return errors.PREFERRED_LEADER_NOT_AVAILABLE
        if not self.change(tp, "asked for", election=election):
            return errors.PREFERRED_LEADER_NOT_AVAILABLE if preferred else errors.ELIGIBLE_LEADERS_NOT_AVAILABLE
        return errors.NONE

    def maybe_balance_partition_leaders(self) -> bool:
        """Return leadership to preferred replicas in the ISR (`#maybeBalancePartitionLeaders`). Returns True if it stopped at its limit."""
        elected = 0
        for tp in list(self.unbalanced):
            if elected >= MAX_ELECTIONS:
                return True
            current = self.partitions[tp]
            if current.preferred_replica in current.isr and self.is_active(current.preferred_replica):
                elected += self.change(tp, "leader balancing", election=ElectionMode.PREFERRED)
        return False

    def maybe_elect_unclean_leaders(self) -> bool:
        """Elect leaders for leaderless partitions whose topic now allows unclean election. Returns True if it stopped at its limit.

        Kafka: `#maybeElectUncleanLeaders`.
        """
        elected = 0
        for tp in list(self.leaderless):
            if elected >= MAX_ELECTIONS:
                return True
            if self.election_mode(tp) is ElectionMode.UNCLEAN:
                elected += self.change(tp, "unclean.leader.election.enable is true", election=ElectionMode.UNCLEAN)
        return False

    def min_isr_changed(self, topic: str | None) -> None:
        """Clear the ELRs of a topic, or of all topics if `topic` is None, because `min.insync.replicas` was set (KIP-966: `ClearElrRecord`).

        The ELR depends on the earlier value, so Kafka clears it regardless of the new value.
        """
        if self.release.elr:
            for tp, old in list(self.partitions.items()):
                if (old.elr or old.last_known_elr) and topic in (None, tp.topic):
                    self._commit_registration(
                        tp, old, merge(old, PartitionChange(elr=(), last_known_elr=())), "min.insync.replicas was set"
                    )


def _no_logs(broker: int, tp: TopicPartition) -> tuple[int, int]:
    """Return the (log end, last epoch) of an empty log. This is the default of `log_ends`, used if the logs are unknown."""
    return (0, NO_EPOCH)


def _set_membership(index: dict[TopicPartition, None], tp: TopicPartition, wanted: bool) -> None:
    if wanted:
        index[tp] = None
    else:
        index.pop(tp, None)
