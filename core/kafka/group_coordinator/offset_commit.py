"""An offset commit that is being written to `__consumer_offsets` (Kafka: `GroupMetadataManager#storeOffsets`).

Outside of a transaction, the offsets take effect when their records are committed. In a transaction, the offsets are pending from the time
when their records are appended until the transaction's marker is committed.
"""

from __future__ import annotations

from typing import Final

from core.kafka import errors, events
from core.kafka.group_coordinator.append_errors import APPEND_ERRORS, FOREVER
from core.kafka.group_coordinator.coordinator_context import GroupCoordinatorContext
from core.kafka.group_coordinator.group_metadata import GroupMetadata, StoredOffset
from core.kafka.group_coordinator.group_metadata_manager import GroupMetadataManager, offset_of
from core.kafka.group_coordinator.group_requests import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from core.kafka.group_coordinator.offsets_log import LOG_WRITER, CommittedOffset, OffsetKey, OffsetRecord, records_bytes
from core.kafka.ids import TopicPartition
from core.kafka.log.leader_term import BatchFields


class OffsetCommit:
    """A commit that is being written.

    Attributes:
        sender: the address of the client.
        request: the request to commit offsets.
        tp: the partition of `__consumer_offsets`.
        coordinator_epoch: the coordinator epoch in which the request arrived.
        records: the records in the form in which they were appended.
        base: the offset of the first record; -1 before it has been appended.
        answered: whether the response has been sent.
    """

    __slots__ = ("answered", "base", "broker", "coordinator_epoch", "groups", "records", "request", "sender", "tp")

    broker: Final[GroupCoordinatorContext]
    groups: Final[GroupMetadataManager]
    request: Final[OffsetCommitRequest | TxnOffsetCommitRequest]
    tp: Final[TopicPartition]
    coordinator_epoch: Final[int]

    def __init__(
        self,
        broker: GroupCoordinatorContext,
        groups: GroupMetadataManager,
        sender: str,
        request: OffsetCommitRequest | TxnOffsetCommitRequest,
        tp: TopicPartition,
        coordinator_epoch: int,
    ) -> None:
        self.broker = broker
        self.groups = groups
        self.sender = sender
        self.request = request
        self.tp = tp
        self.coordinator_epoch = coordinator_epoch
        self.records: tuple[OffsetRecord, ...] = ()
        self.base = -1
        self.answered = False

    # --- writing ---------------------------------------------------------------------------------------------------

    @property
    def retries_concurrent(self) -> bool:
        """Whether the broker repeats the commit after CONCURRENT_TRANSACTIONS: always False, because the client repeats the commit."""
        return False

    @property
    def _is_transactional(self) -> bool:
        return isinstance(self.request, TxnOffsetCommitRequest)

    def _partitions(self) -> list[TopicPartition]:
        return [tp for tp, _, _ in self.request.offsets]

    def verified(self, error: str, guard: int) -> None:
        """Write the offsets if their partition belongs to the transaction; otherwise, refuse the commit."""
        if error == errors.NONE:
            self.append(guard)
        else:
            self._respond(APPEND_ERRORS.get(error, error))

    def append(self, guard: int) -> None:
        """Append the commit's records to the log. Respond when the records are committed, or after offsets.commit.timeout.ms."""
        cache = self.groups.caches.get(self.tp.partition)
        if cache is None or cache.coordinator_epoch != self.coordinator_epoch:
            self._respond(errors.NOT_COORDINATOR)
            return
        broker = self.broker
        timeout = broker.settings.us("offsets.commit.timeout.ms", broker=broker.id)
        deadline = broker.journal.now + timeout
        if broker.release.commits_below_min_isr:
            deadline = FOREVER
            broker.node.timer(timeout, "offset-commit-timeout", self)
        group = cache.group(self.request.group)
        group.commit_begun(self._partitions(), transactional=self._is_transactional)
        cache.deferred.append(self.tp, self._batch, deadline, self, guard, below_min_isr=broker.release.commits_below_min_isr)

    def _batch(self, base: int) -> BatchFields:
        now, request = self.broker.journal.now, self.request
        self.base = base
        texts = () if isinstance(request, TxnOffsetCommitRequest) else request.metadata
        self.records = tuple(
            (OffsetKey(request.group, tp), CommittedOffset(offset, epoch, now, text))
            for (tp, offset, epoch), text in zip(request.offsets, texts or ("",) * len(request.offsets), strict=True)
        )
        fields = (base, len(self.records), records_bytes(self.records), LOG_WRITER, 0, now)
        if isinstance(request, TxnOffsetCommitRequest):
            return (*fields, request.producer_id, request.producer_epoch, 0, True, self.records)
        return (*fields, -1, -1, -1, False, self.records)

    # --- the result ------------------------------------------------------------------------------------------------

    def append_completed(self, error: str) -> None:
        """If the records are committed, store the offsets. Then respond."""
        cache = self.groups.caches.get(self.tp.partition)
        if cache is None or cache.coordinator_epoch != self.coordinator_epoch:
            self._respond(errors.NOT_COORDINATOR)
            return
        group, journal = cache.group(self.request.group), self.broker.journal
        group.commit_ended(self._partitions(), transactional=self._is_transactional)
        before = journal.cause
        if error == errors.NONE:
            for number, (key, committed) in enumerate(self.records):
                assert committed is not None, "each record of a commit has an offset"
                self._store(group, key.tp, StoredOffset(self.base + number, committed))
        self._respond(APPEND_ERRORS.get(error, error))
        journal.cause = before

    def _store(self, group: GroupMetadata, tp: TopicPartition, stored: StoredOffset) -> None:
        request, journal = self.request, self.broker.journal
        columns = (self.broker.id, group.name, tp.topic, tp.partition, stored.committed.offset)
        if isinstance(request, TxnOffsetCommitRequest):
            group.store_pending(request.producer_id, tp, stored)
            journal.cause = journal.emit(events.OffsetPending.kind, *columns, request.producer_id, request.producer_epoch)
            return
        former = offset_of(group, tp)
        if group.store(tp, stored):
            journal.cause = journal.emit(events.OffsetCommitted.kind, *columns, former)
            self.broker.account.offset_committed(group.name, tp, stored.committed.offset, journal.cause)

    def timed_out(self) -> None:
        """Respond with an error, because offsets.commit.timeout.ms has elapsed.

        The offsets still take effect if their records are committed later.
        """
        self._respond(APPEND_ERRORS[errors.REQUEST_TIMED_OUT])

    def _respond(self, error: str) -> None:
        if self.answered:
            return
        self.answered = True
        request, broker = self.request, self.broker
        transactional = self._is_transactional
        if error != errors.NONE:
            name = "TxnOffsetCommit" if transactional else "OffsetCommit"
            broker.journal.emit(events.GroupRequestRefused.kind, broker.id, request.group, name, error)
        kind = TxnOffsetCommitResponse if transactional else OffsetCommitResponse
        broker.node.reply(self.sender, kind(request.correlation, error))
