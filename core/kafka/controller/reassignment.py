"""The rules for partition reassignments: the replica lists, and when a reassignment is completed, reverted, or refused."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import attrs

from core.kafka.errors import INVALID_REPLICA_ASSIGNMENT, KafkaError
from core.kafka.ids import TopicPartition
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.release import DeadTarget, ReassignmentCompletion, Release
from core.sim.repr_mixin import ReprMixin


@attrs.frozen(repr=False)
class CompletedReassignment(ReprMixin):
    """The replicas and the ISR of a partition whose reassignment is complete (Kafka: `CompletedReassignment`)."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@attrs.frozen(repr=False)
class PartitionReassignmentReplicas(ReprMixin):
    """The replica lists of a partition that might be in a reassignment (Kafka: `PartitionReassignmentReplicas`).

    Attributes:
        replicas: all replicas, first the target replicas in the requested order, and then the replicas to remove.
        adding: the replicas that were not assigned before, in ascending order.
        removing: the replicas that are not in the target, in ascending order.
    """

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @staticmethod
    def between(current: tuple[int, ...], target: tuple[int, ...]) -> PartitionReassignmentReplicas:
        """Return the replica lists for a reassignment from the current replicas to a target."""
        removing = tuple(sorted(set(current).difference(target)))
        adding = tuple(sorted(set(target).difference(current)))
        return PartitionReassignmentReplicas((*target, *removing), adding, removing)

    @staticmethod
    def of(partition: PartitionRegistration) -> PartitionReassignmentReplicas:
        """Return the replica lists from a partition's registration."""
        return PartitionReassignmentReplicas(partition.replicas, partition.adding, partition.removing)

    @property
    def in_progress(self) -> bool:
        """Whether a replica is being added or removed (Kafka: `#isReassignmentInProgress`). A change that affects only the order of the
        replicas is not a reassignment.
        """
        return bool(self.adding or self.removing)

    @property
    def original_replicas(self) -> tuple[int, ...]:
        """The replicas before the reassignment (Kafka: `#originalReplicas`). The replicas are in their current order, because their former
        order is not stored.
        """
        return _without(self.replicas, self.adding)

    def maybe_complete(self, isr: tuple[int, ...], rule: ReassignmentCompletion) -> CompletedReassignment | None:
        """Return the completed reassignment if the replicas that `rule` names are in `isr`; otherwise, None (Kafka:
        `#maybeCompleteReassignment`)."""
        if not self.in_progress:
            return None
        replicas, left = _without(self.replicas, self.removing), _without(isr, self.removing)
        if self.removing and not (replicas and left):
            return None
        added_only = rule is ReassignmentCompletion.ADDED or (
            rule is ReassignmentCompletion.ADDED_OR_ALL_TARGETS and len(self.adding) >= len(self.removing)
        )
        if not set(left).issuperset(self.adding if added_only else replicas):
            return None
        return CompletedReassignment(replicas, left)


@attrs.frozen(repr=False)
class PartitionReassignmentRevert(ReprMixin):
    """The state of a partition after its reassignment is canceled (Kafka: `PartitionReassignmentRevert`).

    Attributes:
        replicas: the current replicas, except those that the reassignment is adding.
        isr: the current ISR, except for replicas that the reassignment is adding. If no ISR member is left, the ISR consists of the first
            replica in `replicas`.
        unclean: whether all ISR members are replicas that the reassignment is adding. If `unclean` is true, the caller must check that
            unclean leader election is enabled.
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    unclean: bool

    @staticmethod
    def of(partition: PartitionRegistration) -> PartitionReassignmentRevert:
        """Return the state of a partition after its reassignment is canceled.

        Raises:
            KafkaError: INVALID_REPLICA_ASSIGNMENT, if the reassignment is adding every replica, in which case there is no earlier
                assignment to restore.
        """
        replicas = PartitionReassignmentReplicas.of(partition).original_replicas
        isr = _without(partition.isr, partition.adding)
        if isr:
            return PartitionReassignmentRevert(replicas, isr, unclean=False)
        if not replicas:
            raise KafkaError(INVALID_REPLICA_ASSIGNMENT, "Invalid replica assignment: addingReplicas contains all replicas.")
        return PartitionReassignmentRevert(replicas, replicas[:1], unclean=True)


def dead_target_error(release: Release, tp: TopicPartition, replicas: Sequence[int], live: Collection[int]) -> str:
    """Return the error message for a reassignment to brokers that are not alive. If the reassignment is allowed in the given release, the
    error message is empty.

    Kafka: `ReassignPartitionsCommand#verifyBrokerIds`; before 2.6, `parseAndValidate`; before 0.10.1, an error message in the controller's
    log.
    """
    dead = [replica for replica in replicas if replica not in live]
    if not dead or release.dead_target is DeadTarget.AWAITED:
        return ""
    if release.dead_target is DeadTarget.UNKNOWN:
        return f"Unknown broker id {dead[0]}"
    if release.dead_target is DeadTarget.NOT_EXISTENT:
        return f"The proposed assignment contains non-existent brokerIDs: {_listed(dead)}"
    alive = [replica for replica in replicas if replica in live]
    return (
        f"Only {_listed(alive)} replicas out of the new set of replicas {_listed(replicas)} for partition [{tp.topic},{tp.partition}] "
        "to be reassigned are alive. Failing partition reassignment"
    )


def _listed(replicas: Sequence[int]) -> str:
    return ",".join(map(str, replicas))


def _without(replicas: tuple[int, ...], gone: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(replica for replica in replicas if replica not in gone)
