"""The class that builds the record for a change to a partition: a new ISR, new replicas, or an election.

The steps and their order are the same as in Kafka's `PartitionChangeBuilder#build`. `PartitionRegistration#merge` applies the record to the
registration of the partition.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final, Literal

import attrs

from core.kafka.admin_requests import ElectionMode
from core.kafka.controller.reassignment import PartitionReassignmentReplicas
from core.kafka.ids import NO_LEADER
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.release import ReassignmentCompletion
from core.sim.repr_mixin import ReprMixin

ElectionKind = Literal["", "clean", "unclean", "preferred", "eligible", "last-known", "none"]
"""How the leader in a record was elected; '' if the record elects no leader."""

_NO_ELECTION: Final = ""


@attrs.frozen(repr=False)
class PartitionChange(ReprMixin):
    """A `PartitionChangeRecord`. If a field is None, the record does not contain it, and the partition keeps its current value.

    Attributes:
        replicas: the new replica list.
        isr: the new ISR.
        leader: the new leader. `leader` is not None if the leader changes, even to NO_LEADER, or if only the leader epoch must rise.
        elr: the new list of eligible leader replicas (KIP-966).
        last_known_elr: the last known leader, or the other former ISR members; see `PartitionChangeBuilder`.
        adding: the replicas that a reassignment adds.
        removing: the replicas that a reassignment removes.
        recovering: whether the leader is in the RECOVERING state (KIP-704).
        election: how the leader was elected: clean, unclean, preferred (the first replica, on request), eligible (from the ELR),
            last-known, or none (no replica can lead). `election` is an empty string if no election changed the leader.
    """

    replicas: tuple[int, ...] | None = None
    isr: tuple[int, ...] | None = None
    leader: int | None = None
    elr: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    adding: tuple[int, ...] | None = None
    removing: tuple[int, ...] | None = None
    recovering: bool | None = None
    election: ElectionKind = _NO_ELECTION


@attrs.frozen(repr=False)
class ElectionResult(ReprMixin):
    """The result of an election: the leader, and how it was elected (Kafka: `PartitionChangeBuilder.ElectionResult`)."""

    node: int
    kind: ElectionKind

    @property
    def unclean(self) -> bool:
        """Whether the new leader becomes the only member of the ISR, in which case all records that this leader lacks are lost."""
        return self.kind in ("unclean", "last-known")


def is_valid_new_leader(replica: int, isr: Collection[int], elr: Collection[int], acceptable: Callable[[int], bool]) -> bool:
    """Return whether a replica can lead without losing records (Kafka: `#isValidNewLeader`). A replica that cannot lose committed records
    must be in the ISR or, if the ISR is empty, in the ELR.
    """
    return (replica in isr or (not isr and replica in elr)) and acceptable(replica)


def can_elect_last_known_leader(
    partition: PartitionRegistration, isr: Collection[int], elr: Collection[int], acceptable: Callable[[int], bool]
) -> bool:
    """Return whether only the last known leader is left and can lead (Kafka: `#canElectLastKnownLeader`, with the fix of KAFKA-19522)."""
    return not isr and not elr and len(partition.last_known_elr) == 1 and acceptable(partition.last_known_elr[0])


def elect_leader(
    partition: PartitionRegistration,
    *,
    replicas: tuple[int, ...],
    isr: tuple[int, ...],
    elr: tuple[int, ...],
    acceptable: Callable[[int], bool],
    election: ElectionMode,
    last_known_leader: bool,
    longest_log: Callable[[int], tuple[int, int]] | None = None,
) -> ElectionResult:
    """Elect a leader for the given target replicas, ISR, and ELR (Kafka: `PartitionChangeBuilder#electLeader`).

    Args:
        partition: the partition before the change.
        replicas: the target replicas.
        isr: the target ISR.
        elr: the target ELR.
        acceptable: a function that returns whether a broker is active and its log directory is online.
        election: the requested kind of election.
        last_known_leader: whether the last known leader can be elected. An election of the last known leader requires the ELR.
        longest_log: a function that returns a replica's (log end, last epoch). If `longest_log` is not None, the replica with the longest
            log becomes leader, even if that replica is not in sync.
    """
    if longest_log is not None and not acceptable(partition.leader):
        living = [replica for replica in replicas if acceptable(replica)]
        if living:
            longest = max(living, key=longest_log)
            return ElectionResult(longest, "clean" if longest in isr else "unclean")
    preferred = replicas[0] if election is ElectionMode.PREFERRED and replicas else NO_LEADER
    candidates = (preferred, partition.leader, *replicas) if preferred != NO_LEADER else (partition.leader, *replicas)
    for replica in candidates:
        if is_valid_new_leader(replica, isr, elr, acceptable):
            if replica not in isr:
                return ElectionResult(replica, "eligible")
            return ElectionResult(replica, "preferred" if replica == preferred else "clean")
    if last_known_leader and can_elect_last_known_leader(partition, isr, elr, acceptable):
        return ElectionResult(partition.last_known_elr[0], "last-known")
    if election is ElectionMode.UNCLEAN:
        for replica in replicas:
            if acceptable(replica):
                return ElectionResult(replica, "unclean")
    return ElectionResult(NO_LEADER, "none")


def target_elr(
    partition: PartitionRegistration, isr: tuple[int, ...], min_isr: int, unclean_shutdown: Collection[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the ELR and the other former ISR members for a target ISR (Kafka: `PartitionChangeBuilder#maybePopulateTargetElr`).

    If the ISR has at least `min_isr` members, both returned lists are empty. Otherwise, each replica that leaves the ISR joins the ELR,
    unless it had an unclean shutdown. The returned lists are in ascending order, because Kafka's hash sets of small IDs iterate in that
    order.
    """
    if len(isr) >= min_isr:
        return (), ()
    candidates = {*partition.elr, *partition.isr}.difference(isr)
    elr = tuple(sorted(candidates.difference(unclean_shutdown)))
    last_known = candidates.union(partition.last_known_elr).difference(isr, elr)
    return elr, tuple(sorted(last_known))


@attrs.define(kw_only=True, eq=False, repr=False)
class PartitionChangeBuilder(ReprMixin):
    """Builds the record that changes a partition to its target (Kafka: `PartitionChangeBuilder`).

    If a target is None, the current value is kept. If all target replicas of a reassignment are in the target ISR, the record also
    completes the reassignment.

    Attributes:
        partition: the partition before the change.
        acceptable: a function that returns whether a broker can lead, which means that it is active and its log directory is online
            (`ReplicationControlManager#isAcceptableLeader`).
        election: PREFERRED if a preferred election was requested; otherwise UNCLEAN if the topic's `unclean.leader.election.enable` is
            true, and ONLINE if it is false.
        target_isr: the new ISR.
        target: the new lists of replicas, of replicas that a reassignment is adding, and of those that it is removing.
        target_recovering: the new leader recovery state.
        min_isr: the effective `min.insync.replicas` of the topic (`effective_min_isr`).
        elr_enabled: whether eligible leader replicas are kept; the ISR can then become empty (KIP-966).
        unclean_shutdown: the brokers that returned after an unclean shutdown, which removes them from the ELR.
        bump_epoch_on_shrink: whether an ISR shrink raises the leader epoch (before 3.6, KAFKA-15021).
        reassignment_completion: the replicas that must be in the ISR before a reassignment is complete.
        recovery_state: whether an unclean election marks the leader as RECOVERING (KIP-704, since 3.2).
        use_last_known_leader: whether lastKnownElr holds only the last known leader, which can be elected when no other replica is left.
        longest_log: if the guard `elect-from-isr` is off, the argument `longest_log` of `elect_leader`; otherwise None.
    """

    partition: PartitionRegistration = attrs.field(kw_only=False)
    acceptable: Callable[[int], bool]
    min_isr: int
    elr_enabled: bool
    bump_epoch_on_shrink: bool
    reassignment_completion: ReassignmentCompletion
    election: ElectionMode = ElectionMode.ONLINE
    target_isr: tuple[int, ...] | None = None
    target: PartitionReassignmentReplicas | None = None
    target_recovering: bool | None = None
    unclean_shutdown: Collection[int] = ()
    recovery_state: bool = True
    use_last_known_leader: bool = True
    longest_log: Callable[[int], tuple[int, int]] | None = None

    _isr: tuple[int, ...] = attrs.field(init=False)
    _replicas: PartitionReassignmentReplicas = attrs.field(init=False)
    _elr: tuple[int, ...] = attrs.field(init=False)
    _last_known_elr: tuple[int, ...] = attrs.field(init=False)
    _record: PartitionChange = attrs.field(init=False)

    def build(self) -> PartitionChange | None:
        """Return the record; None if nothing changes (`#build`)."""
        partition = self.partition
        self._isr = partition.isr if self.target_isr is None else self.target_isr
        self._replicas = self.target or PartitionReassignmentReplicas.of(partition)
        self._elr, self._last_known_elr = partition.elr, partition.last_known_elr
        self._record = PartitionChange()
        self._complete_reassignment_if_needed()
        if self.elr_enabled:
            self._elr, self._last_known_elr = target_elr(partition, self._isr, self.min_isr, self.unclean_shutdown)
        self._try_election()
        self._bump_leader_epoch_for_replica_reassignment()
        self._update_record_elr()
        # Without ELR, the last member stays in the ISR, because otherwise no record would say which replica has the data.
        if self._record.isr is None and (self._isr or self.elr_enabled):
            self._add(isr=_if_changed(self._isr, partition.isr))
        self._bump_leader_epoch_for_isr_shrink()
        self._update_last_known_leader()
        self._set_assignment_changes()
        if self.target_recovering is not None and self.target_recovering != partition.recovering:
            self._add(recovering=self.target_recovering)
        return None if self._record == _NOTHING else self._record

    def _add(self, **fields: Any) -> None:
        """Set fields of the record."""
        self._record = attrs.evolve(self._record, **fields)

    def _complete_reassignment_if_needed(self) -> None:
        """Complete a reassignment whose target replicas are in the target ISR (`#completeReassignmentIfNeeded`)."""
        completed = self._replicas.maybe_complete(self._isr, self.reassignment_completion)
        if completed is not None:
            self._replicas, self._isr = PartitionReassignmentReplicas(completed.replicas, (), ()), completed.isr

    def _try_election(self) -> None:
        """Elect a leader. A leader that was elected uncleanly or from the ELR becomes the only member of the ISR (`#tryElection`)."""
        partition = self.partition
        result = elect_leader(
            partition,
            replicas=self._replicas.replicas,
            isr=self._isr,
            elr=self._elr,
            acceptable=self.acceptable,
            election=self.election,
            last_known_leader=self.elr_enabled and self.use_last_known_leader,
            longest_log=self.longest_log,
        )
        if result.node == partition.leader:
            return
        self._add(leader=result.node, election=result.kind)
        if result.unclean:
            self._add(isr=(result.node,))
            if self.recovery_state and not partition.recovering:
                self._add(recovering=True)
        elif result.kind == "eligible":
            self._isr = (result.node,)
            self._elr = tuple(replica for replica in self._elr if replica != result.node)

    def _bump_leader_epoch_for_replica_reassignment(self) -> None:
        """Raise the leader epoch if replicas are removed, so that a removed replica does not keep fetching in the same leader epoch
        (`#triggerLeaderEpochBumpForReplicaReassignmentIfNeeded`)."""
        if self._record.leader is None and not set(self._replicas.replicas).issuperset(self.partition.replicas):
            self._add(leader=self.partition.leader)

    def _update_record_elr(self) -> None:
        """Record the ELR, which an unclean election clears (`#maybeUpdateRecordElr`)."""
        if self._record.isr is not None or not self.elr_enabled:
            self._elr, self._last_known_elr = (), ()
        self._add(elr=_if_changed(self._elr, self.partition.elr))
        if not self.use_last_known_leader:
            self._add(last_known_elr=_if_changed(self._last_known_elr, self.partition.last_known_elr))

    def _bump_leader_epoch_for_isr_shrink(self) -> None:
        """Raise the leader epoch if the ISR shrinks (`#triggerLeaderEpochBumpForIsrShrinkIfNeeded`).

        Kafka compares the target ISR, so the epoch also rises if the last member leaves, which then stays in the ISR.
        """
        if self.bump_epoch_on_shrink and self._record.leader is None and not set(self._isr).issuperset(self.partition.isr):
            self._add(leader=self.partition.leader)

    def _update_last_known_leader(self) -> None:
        """Record the last known leader when the ISR becomes empty, and clear it when there is a leader (`#maybeUpdateLastKnownLeader`)."""
        partition, record = self.partition, self._record
        if not (self.use_last_known_leader and self.elr_enabled):
            return
        if record.isr == () and partition.leader != NO_LEADER and partition.last_known_elr != (partition.leader,):
            self._add(last_known_elr=(partition.leader,))
            return
        leader = partition.leader if record.leader is None else record.leader
        if leader != NO_LEADER and partition.last_known_elr:
            self._add(last_known_elr=())

    def _set_assignment_changes(self) -> None:
        """Record the changes to the lists of replicas (`#setAssignmentChanges`)."""
        replicas, partition = self._replicas, self.partition
        self._add(
            replicas=_if_changed(replicas.replicas, partition.replicas) if replicas.replicas else None,
            adding=_if_changed(replicas.adding, partition.adding),
            removing=_if_changed(replicas.removing, partition.removing),
        )


def merge(partition: PartitionRegistration, change: PartitionChange) -> PartitionRegistration:
    """Return the partition after applying a record to it (Kafka: `PartitionRegistration#merge`).

    The partition epoch rises by one. The leader epoch rises by one if the record contains a leader.
    """
    return PartitionRegistration(
        replicas=partition.replicas if change.replicas is None else change.replicas,
        isr=partition.isr if change.isr is None else change.isr,
        leader=partition.leader if change.leader is None else change.leader,
        leader_epoch=partition.leader_epoch + (change.leader is not None),
        partition_epoch=partition.partition_epoch + 1,
        elr=partition.elr if change.elr is None else change.elr,
        last_known_elr=partition.last_known_elr if change.last_known_elr is None else change.last_known_elr,
        adding=partition.adding if change.adding is None else change.adding,
        removing=partition.removing if change.removing is None else change.removing,
        recovering=partition.recovering if change.recovering is None else change.recovering,
    )


_NOTHING: Final = PartitionChange()


def _if_changed(target: tuple[int, ...], now: tuple[int, ...]) -> tuple[int, ...] | None:
    return None if target == now else target
