"""The group coordinator of a broker, which serves commits of offsets, fetches of committed offsets, and the group protocols (Kafka:
`GroupCoordinator`)."""

from __future__ import annotations

from typing import Final

from core.kafka import errors, events
from core.kafka.group_coordinator.classic_group_coordinator.classic_group_coordinator import ClassicGroupCoordinator
from core.kafka.group_coordinator.consumer_group_coordinator.consumer_group_coordinator import ConsumerGroupCoordinator
from core.kafka.group_coordinator.coordinator_context import GroupCoordinatorContext
from core.kafka.group_coordinator.deferred_responses import TIMER, timed_out
from core.kafka.group_coordinator.group_metadata import GroupMetadata
from core.kafka.group_coordinator.group_metadata_manager import GroupMetadataManager
from core.kafka.group_coordinator.group_requests import (
    NO_GENERATION,
    NOT_A_MEMBER,
    GroupMembership,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from core.kafka.group_coordinator.offset_commit import OffsetCommit
from core.kafka.group_coordinator.offset_deletion import OffsetDeletion
from core.kafka.group_coordinator.offset_expiry import OffsetExpiry
from core.kafka.group_coordinator.offset_tombstones import OffsetTombstones
from core.kafka.group_coordinator.offsets_log import partition_of
from core.kafka.ids import NO_EPOCH, NO_OFFSET, TopicPartition
from core.kafka.log.producer_state import NO_GUARD
from core.kafka.transaction.coordinator_context import InternalTopics
from core.kafka.transaction.verification import OffsetsBatch


class GroupCoordinator:
    """The group coordinator of one broker.

    Attributes:
        replicas: the partitions of `__consumer_offsets` that the broker hosts.
        groups: the groups that the broker coordinates.
        classic: the component that serves the classic protocol.
        consumer: the component that serves the consumer protocol (KIP-848).
        expiry: the component that expires offsets.
        deletion: the component that deletes offsets and groups for administrators.
    """

    __slots__ = ("broker", "classic", "consumer", "deletion", "expiry", "groups", "replicas")

    broker: Final[GroupCoordinatorContext]
    replicas: Final[InternalTopics]
    groups: Final[GroupMetadataManager]
    classic: Final[ClassicGroupCoordinator]
    consumer: Final[ConsumerGroupCoordinator]
    expiry: Final[OffsetExpiry]
    deletion: Final[OffsetDeletion]

    def __init__(self, broker: GroupCoordinatorContext, replicas: InternalTopics) -> None:
        self.broker = broker
        self.replicas = replicas
        self.groups = GroupMetadataManager(broker, replicas)
        self.classic = ClassicGroupCoordinator(broker, self.groups)
        self.consumer = ConsumerGroupCoordinator(broker, self.groups, self.classic)
        self.expiry = OffsetExpiry(broker, self.groups)
        self.deletion = OffsetDeletion(broker, self.groups)
        broker.node.handlers.update(
            {
                OffsetCommitRequest: self._commit,
                TxnOffsetCommitRequest: self._commit_in_transaction,
                OffsetFetchRequest: self._fetch,
            }
        )
        broker.node.timers.update({"offset-commit-timeout": self._commit_timed_out, "load-groups": self._load, TIMER: timed_out})

    # --- leadership of __consumer_offsets --------------------------------------------------------------------------

    def elected(self, partition: int, coordinator_epoch: int) -> None:
        """Start to coordinate the groups in a partition of `__consumer_offsets` (`#onElection`)."""
        known = self.groups.caches.get(partition)
        if known is None or known.coordinator_epoch != coordinator_epoch:
            if known is not None:
                del self.groups.caches[partition]
                self.classic.unloaded(known)
                known.deferred.unloaded()
            self.groups.begin_loading(partition, coordinator_epoch)

    def finish_loading(self) -> None:
        """Load the groups in all partitions immediately, without simulating the time that loading takes."""
        for about in list(self.groups.loading.items()):
            self._load(about)

    def _load(self, about: object) -> None:
        assert isinstance(about, tuple)
        cache = self.groups.load(*about)
        if cache is not None:
            self.classic.loaded(cache)
            self.consumer.loaded(cache)
            self.expiry.arm(cache)

    def resigned(self, partition: int) -> None:
        """Stop coordinating the groups in a partition of `__consumer_offsets` (`#onResignation`)."""
        cache = self.groups.unload(partition)
        if cache is not None:
            self.classic.unloaded(cache)
            cache.deferred.unloaded()

    def partitions_deleted(self, tps: tuple[TopicPartition, ...]) -> None:
        """Delete the offsets that groups have committed for the partitions of a deleted topic (`#onPartitionsDeleted`)."""
        for cache in self.groups.caches.values():
            for group in list(cache.groups.values()):
                deleted = tuple(tp for tp in tps if tp in group.offsets)
                if deleted:
                    OffsetTombstones(self.broker, self.groups, cache, group, deleted, False, events.OffsetDeleted.kind).start()

    def transaction_completed(self, partition: int, producer_id: int, *, commit: bool) -> None:
        """Apply or drop the pending offsets of a transaction (`#scheduleHandleTxnCompletion`)."""
        self.groups.transaction_completed(partition, producer_id, commit=commit)

    def reset(self) -> None:
        """Drop all state, because the process has ended."""
        self.groups.reset()

    # --- OffsetCommit ----------------------------------------------------------------------------------------------

    def _commit(self, request: OffsetCommitRequest, sender: str) -> None:
        """Commit offsets outside of a transaction (`#handleCommitOffsets`)."""
        unknown = errors.GROUP_ID_NOT_FOUND if self.broker.release.unknown_group_not_found else errors.ILLEGAL_GENERATION
        error = self._commit_error(request.group, request.membership, unknown, transactional=False)
        if error != errors.NONE:
            self._refuse("OffsetCommit", request.group, error)
            self.broker.node.reply(sender, OffsetCommitResponse(request.correlation, error))
            return
        cache = self.groups.cache_of(request.group)
        if cache is not None and request.group in cache.groups:
            self.classic.committed(cache, cache.groups[request.group].classic, request.membership)
        self._commit_to(sender, request).append(NO_GUARD)

    def _commit_to(self, sender: str, request: OffsetCommitRequest | TxnOffsetCommitRequest) -> OffsetCommit:
        cache = self.groups.cache_of(request.group)
        assert cache is not None, "checked before"
        tp = partition_of(self.groups.partition_for(request.group))
        return OffsetCommit(self.broker, self.groups, sender, request, tp, cache.coordinator_epoch)

    def _commit_error(self, group: str, membership: GroupMembership, unknown: str, *, transactional: bool) -> str:
        """Check a commit, and return the error that the check finds, or NONE. `unknown` is the error to return if the commit contains a
        generation but its group is unknown.
        """
        if (error := self.groups.error_of(group)) != errors.NONE:
            return error
        known = self._group(group)
        if known is None:
            return errors.NONE if membership.generation == NO_GENERATION else unknown
        if known.consumer is not None:
            return known.consumer.commit_error(membership, transactional=transactional)
        return known.classic.commit_error(membership, transactional=transactional)

    def _group(self, name: str) -> GroupMetadata | None:
        cache = self.groups.cache_of(name)
        return None if cache is None else cache.groups.get(name)

    def _commit_timed_out(self, commit: object) -> None:
        assert isinstance(commit, OffsetCommit)
        commit.timed_out()

    # --- TxnOffsetCommit -------------------------------------------------------------------------------------------

    def _commit_in_transaction(self, request: TxnOffsetCommitRequest, sender: str) -> None:
        """Write offsets that take effect when the producer's transaction is committed (`#handleTxnCommitOffsets`)."""
        release = self.broker.release
        membership = request.membership if release.transactional_commits_name_members else NOT_A_MEMBER
        error = self._commit_error(request.group, membership, errors.ILLEGAL_GENERATION, transactional=True)
        if error != errors.NONE:
            self._refuse("TxnOffsetCommit", request.group, error)
            self.broker.node.reply(sender, TxnOffsetCommitResponse(request.correlation, error))
            return
        commit = self._commit_to(sender, request)
        if release.verifies_offset_commits:
            batch = OffsetsBatch(commit.tp, request.transactional_id, request.producer_id, request.producer_epoch, 0, request.version >= 2)
            self.replicas.verify_transaction(batch, commit)
        else:
            commit.append(NO_GUARD)

    # --- OffsetFetch -----------------------------------------------------------------------------------------------

    def _fetch(self, request: OffsetFetchRequest, sender: str) -> None:
        """Return the committed offsets of a group (`#handleFetchOffsets`)."""
        error = self.groups.error_of(request.group)
        group = self._group(request.group)
        if error == errors.NONE and group is not None and group.consumer is not None:
            error = group.consumer.fetch_error(request.membership)
        if error != errors.NONE:
            self._refuse("OffsetFetch", request.group, error)
            self.broker.node.reply(sender, OffsetFetchResponse(request.correlation, error, ()))
            return
        found = tuple(self._committed(group, tp, request) for tp in request.partitions)
        if any(each[3] != errors.NONE for each in found):
            self._refuse("OffsetFetch", request.group, errors.UNSTABLE_OFFSET_COMMIT)
        stored = [(tp, None if group is None else group.committed(tp)) for tp in request.partitions]
        metadata = tuple((tp, each.metadata) for tp, each in stored if each is not None and each.metadata)
        self.broker.node.reply(sender, OffsetFetchResponse(request.correlation, errors.NONE, found, metadata))

    def _committed(
        self, group: GroupMetadata | None, tp: TopicPartition, request: OffsetFetchRequest
    ) -> tuple[TopicPartition, int, int, str]:
        release = self.broker.release
        if group is None:
            return (tp, NO_OFFSET, NO_EPOCH, errors.NONE)
        stable = request.require_stable and release.stable_offsets
        if stable and group.is_unstable(tp, plain_commits_count=release.plain_commits_unstable):
            return (tp, NO_OFFSET, NO_EPOCH, errors.UNSTABLE_OFFSET_COMMIT)
        committed = group.committed(tp)
        if committed is None:
            return (tp, NO_OFFSET, NO_EPOCH, errors.NONE)
        return (tp, committed.offset, committed.leader_epoch, errors.NONE)

    def _refuse(self, request: str, group: str, error: str) -> None:
        """Record that a request was refused."""
        self.broker.journal.emit(events.GroupRequestRefused.kind, self.broker.id, group, request, error)
