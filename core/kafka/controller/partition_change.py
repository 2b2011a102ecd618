"""How the controller turns a wish (another ISR, other replicas, an election) into the record that changes a partition.

The steps and their order are those of Kafka's `PartitionChangeBuilder#build`; applying the record is `PartitionRegistration#merge`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, Literal

import attrs

from core.kafka.admin_requests import ElectionMode
from core.kafka.controller.reassignment import PartitionReassignmentReplicas
from core.kafka.ids import NO_LEADER
from core.kafka.partition_registration import PartitionRegistration
from core.sim.repr_mixin import ReprMixin

ElectionKind = Literal["", "clean", "unclean", "preferred", "eligible", "last-known", "none"]
"""How a record's leader came about; '' where the record elects nobody."""

_NO_ELECTION: Final = ""


@attrs.frozen(repr=False)
class PartitionChange(ReprMixin):
    """A `PartitionChangeRecord`: None means the field is not in the record and stays as it is.

    Attributes:
        leader: set on every change of leader, NO_LEADER included, and to the same leader just to raise the leader epoch.
        election: how the leader came about: clean, unclean, preferred (the first replica, asked for), eligible (from the
            ELR), last-known, or none (nobody may lead); '' if no election changed the leader.
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
    """Who leads after an election, and how that came about (Kafka: `PartitionChangeBuilder.ElectionResult`)."""

    node: int
    kind: ElectionKind

    @property
    def unclean(self) -> bool:
        """Whether the ISR is forced to the new leader alone: what it lacks is lost."""
        return self.kind in ("unclean", "last-known")


def is_valid_new_leader(replica: int, isr: Collection[int], elr: Collection[int], acceptable: Callable[[int], bool]) -> bool:
    """Whether a replica may lead without loss: in the ISR, or in the ELR if the ISR is empty (Kafka: `#isValidNewLeader`)."""
    return (replica in isr or (not isr and replica in elr)) and acceptable(replica)


def can_elect_last_known_leader(
    partition: PartitionRegistration, isr: Collection[int], elr: Collection[int], acceptable: Callable[[int], bool]
) -> bool:
    """Whether the last known leader is all that is left, and up (Kafka: `#canElectLastKnownLeader`, with KAFKA-19522's fix)."""
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
    """Who leads, given the target replicas, ISR and ELR (Kafka: `PartitionChangeBuilder#electLeader`).

    Args:
        acceptable: whether a broker is active and its log directory online.
        last_known_leader: whether the last known leader may be elected at all (ELR is kept).
        longest_log: a replica's (log end, last epoch), if the longest log is to lead whoever is in sync.
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
    """The ELR for a target ISR, and who else was once in the ISR (Kafka: `PartitionChangeBuilder#maybePopulateTargetElr`).

    At min ISR or above both are empty. Below, whoever leaves the ISR becomes eligible, except after an unclean shutdown.
    Ascending, as Kafka's sets of small ids come out.
    """
    if len(isr) >= min_isr:
        return (), ()
    candidates = {*partition.elr, *partition.isr}.difference(isr)
    elr = tuple(sorted(candidates.difference(unclean_shutdown)))
    last_known = candidates.union(partition.last_known_elr).difference(isr, elr)
    return elr, tuple(sorted(last_known))


def build_partition_change(
    partition: PartitionRegistration,
    *,
    acceptable: Callable[[int], bool],
    election: ElectionMode = ElectionMode.ONLINE,
    target_isr: tuple[int, ...] | None = None,
    target_replicas: tuple[int, ...] | None = None,
    target_adding: tuple[int, ...] | None = None,
    target_removing: tuple[int, ...] | None = None,
    target_recovering: bool | None = None,
    min_isr: int,
    elr_enabled: bool,
    unclean_shutdown: Collection[int] = (),
    bump_epoch_on_shrink: bool,
    recovery_state: bool = True,
    use_last_known_leader: bool = True,
    longest_log: Callable[[int], tuple[int, int]] | None = None,
) -> PartitionChange | None:
    """The record that takes a partition to its target, or None if nothing changes (Kafka: `PartitionChangeBuilder#build`).

    A target left None is what the partition has now. A reassignment whose target replicas are all in the target ISR is
    completed in the same record.

    Args:
        acceptable: whether a broker may lead: active, and its log directory online (`RCM#isAcceptableLeader`).
        election: UNCLEAN where the topic's unclean.leader.election.enable is true, ONLINE otherwise, PREFERRED on request.
        min_isr: effective min.insync.replicas of the topic (`effective_min_isr`).
        elr_enabled: eligible leader replicas are kept, and the ISR may become empty (KIP-966).
        unclean_shutdown: brokers that came back without a clean shutdown; they leave the ELR.
        bump_epoch_on_shrink: an ISR shrink raises the leader epoch (before 3.6, KAFKA-15021).
        recovery_state: an unclean election marks the leader RECOVERING (KIP-704, from 3.2).
        longest_log: elect by the length of the logs (guard `elect-from-isr` off); see `elect_leader`.
        use_last_known_leader: lastKnownElr holds just the last known leader, which may be elected when all else is gone.
    """
    isr = partition.isr if target_isr is None else target_isr
    replicas = partition.replicas if target_replicas is None else target_replicas
    adding = partition.adding if target_adding is None else target_adding
    removing = partition.removing if target_removing is None else target_removing

    completed = PartitionReassignmentReplicas(replicas, adding, removing).maybe_complete(isr)
    if completed is not None:
        replicas, isr, adding, removing = completed.replicas, completed.isr, (), ()

    elr, last_known = partition.elr, partition.last_known_elr
    if elr_enabled:
        elr, last_known = target_elr(partition, isr, min_isr, unclean_shutdown)

    result = elect_leader(
        partition,
        replicas=replicas,
        isr=isr,
        elr=elr,
        acceptable=acceptable,
        election=election,
        last_known_leader=elr_enabled and use_last_known_leader,
        longest_log=longest_log,
    )
    record_leader: int | None = None
    record_isr: tuple[int, ...] | None = None
    record_recovering: bool | None = None
    kind: ElectionKind = _NO_ELECTION
    if result.node != partition.leader:
        record_leader, kind = result.node, result.kind
        if result.unclean:
            record_isr = (result.node,)
            if recovery_state and not partition.recovering:
                record_recovering = True
        elif result.kind == "eligible":
            isr = (result.node,)
            elr = tuple(replica for replica in elr if replica != result.node)

    # A replica that leaves the list must not go on fetching in the same leader epoch.
    if record_leader is None and not set(replicas).issuperset(partition.replicas):
        record_leader = partition.leader

    if record_isr is not None or not elr_enabled:
        elr, last_known = (), ()
    record_elr = _if_changed(elr, partition.elr)
    record_last_known = None if use_last_known_leader else _if_changed(last_known, partition.last_known_elr)

    # Without ELR the last member stays in the ISR, else nobody could tell later who holds the data.
    if record_isr is None and (isr or elr_enabled):
        record_isr = _if_changed(isr, partition.isr)

    if bump_epoch_on_shrink and record_leader is None and record_isr is not None and not set(record_isr).issuperset(partition.isr):
        record_leader = partition.leader

    if use_last_known_leader and elr_enabled:
        record_last_known = _last_known_leader(partition, record_isr, record_leader)

    if target_recovering is not None and target_recovering != partition.recovering:
        record_recovering = target_recovering

    change = PartitionChange(
        replicas=_if_changed(replicas, partition.replicas) if replicas else None,
        isr=record_isr,
        leader=record_leader,
        elr=record_elr,
        last_known_elr=record_last_known,
        adding=_if_changed(adding, partition.adding),
        removing=_if_changed(removing, partition.removing),
        recovering=record_recovering,
        election=kind,
    )
    return None if change == _NOTHING else change


def merge(partition: PartitionRegistration, change: PartitionChange) -> PartitionRegistration:
    """The partition after a record (Kafka: `PartitionRegistration#merge`).

    The partition epoch always rises by one, the leader epoch iff the record carries the leader field.
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


def _last_known_leader(partition: PartitionRegistration, isr: tuple[int, ...] | None, leader: int | None) -> tuple[int, ...] | None:
    """What lastKnownElr becomes: set when the ISR runs empty, cleared once there is a leader (Kafka: `#maybeUpdateLastKnownLeader`)."""
    if isr == () and partition.leader != NO_LEADER and partition.last_known_elr != (partition.leader,):
        return (partition.leader,)
    leads = partition.leader if leader is None else leader
    if leads != NO_LEADER and partition.last_known_elr:
        return ()
    return None


def _if_changed(target: tuple[int, ...], now: tuple[int, ...]) -> tuple[int, ...] | None:
    return None if target == now else target
