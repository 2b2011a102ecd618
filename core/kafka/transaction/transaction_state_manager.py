"""The transactional IDs that a broker coordinates, and their log (Kafka: `TransactionStateManager`).

A broker coordinates the IDs in those partitions of `__transaction_state` that it leads. The leader epoch of a partition of
`__transaction_state` is also the coordinator epoch for the partition's IDs. The broker loads a partition's IDs from the local log when its
leadership begins, and drops them when its leadership ends.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from core.kafka import errors, events
from core.kafka.ids import TopicPartition
from core.kafka.log.leader_term import BatchFields
from core.kafka.transaction.coordinator_context import CoordinatorContext, InternalTopics
from core.kafka.transaction.transaction_log import (
    TRANSACTION_STATE_TOPIC,
    can_be_stored,
    check_transit,
    partition_for,
    partition_of,
    record_bytes,
    replayed,
    tombstone_batches,
)
from core.kafka.transaction.transaction_metadata import NO_PRODUCER_EPOCH, TransactionMetadata, TransactionTransit
from core.kafka.transaction.transaction_state import TransactionState
from core.sim.units import SECOND

LOG_WRITER: Final = "transaction-coordinator"
"""The name that appears as the producer of the records in `__transaction_state`."""

TOMBSTONE_TIMEOUT: Final = 30 * SECOND
"""How long a write of tombstones can wait to be replicated, in µs (the broker's request.timeout.ms)."""

APPEND_ERRORS: Final = {
    errors.UNKNOWN_TOPIC_OR_PARTITION: errors.COORDINATOR_NOT_AVAILABLE,
    errors.NOT_ENOUGH_REPLICAS: errors.COORDINATOR_NOT_AVAILABLE,
    errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND: errors.COORDINATOR_NOT_AVAILABLE,
    errors.REQUEST_TIMED_OUT: errors.COORDINATOR_NOT_AVAILABLE,
    errors.NOT_LEADER_OR_FOLLOWER: errors.NOT_COORDINATOR,
    errors.KAFKA_STORAGE_ERROR: errors.NOT_COORDINATOR,
    errors.MESSAGE_TOO_LARGE: errors.UNKNOWN_SERVER_ERROR,
}
"""Maps an error from the transaction log to the error that clients get (`TransactionStateManager#appendTransactionToLog`)."""


class Coordinator(Protocol):
    """The interface through which a state manager uses its coordinator."""

    def continue_with(self, step: str, about: Any, error: str, /) -> None:
        """Perform `step`, which follows a write to the transaction log. If the write succeeded, `error` is NONE."""


class CoordinatorCache:
    """The transactional IDs in one partition of `__transaction_state`, as loaded in the leader epoch `coordinator_epoch`
    (`TxnMetadataCacheEntry`)."""

    __slots__ = ("coordinator_epoch", "entries")

    coordinator_epoch: Final[int]
    entries: Final[dict[str, TransactionMetadata]]

    def __init__(self, coordinator_epoch: int) -> None:
        self.coordinator_epoch = coordinator_epoch
        self.entries = {}


class TransactionLogAppend:
    """A state that is being written to the transaction log, and the step that follows the write.

    Attributes:
        retries: whether the state stays pending after COORDINATOR_NOT_AVAILABLE, in which case the caller writes it again.
    """

    __slots__ = ("about", "coordinator_epoch", "manager", "partition", "retries", "step", "transactional_id", "transit")

    def __init__(
        self,
        manager: TransactionStateManager,
        partition: int,
        coordinator_epoch: int,
        transactional_id: str,
        transit: TransactionTransit,
        step: str,
        about: object,
        *,
        retries: bool,
    ) -> None:
        self.manager = manager
        self.partition = partition
        self.coordinator_epoch = coordinator_epoch
        self.transactional_id = transactional_id
        self.transit = transit
        self.step = step
        self.about = about
        self.retries = retries

    def append_completed(self, error: str) -> None:
        """Handle the result of the write: complete or abandon the transition, and then perform the next step."""
        self.manager.append_completed(self, error)


class TombstonesAppend:
    """The tombstones of one partition's expired IDs, which are being written to the transaction log."""

    __slots__ = ("coordinator_epoch", "manager", "partition", "removed")

    def __init__(
        self,
        manager: TransactionStateManager,
        partition: int,
        coordinator_epoch: int,
        removed: tuple[TransactionTransit, ...],
        ids: tuple[str, ...],
    ) -> None:
        self.manager = manager
        self.partition = partition
        self.coordinator_epoch = coordinator_epoch
        self.removed = dict(zip(ids, removed, strict=True))

    def append_completed(self, error: str) -> None:
        """Remove the expired transactional IDs or, if the write failed, leave them for the next check."""
        self.manager.tombstones_completed(self, error)


class TransactionStateManager:
    """The transactional IDs that one broker coordinates.

    Attributes:
        replicas: the partitions of `__transaction_state` that the broker hosts.
        caches: the transactional IDs, by partition of `__transaction_state`.
        clients: the address from which each ID was last initialized.
        opened: the event that last opened a transaction of each ID.
    """

    __slots__ = ("broker", "caches", "clients", "coordinator", "opened", "replicas")

    broker: Final[CoordinatorContext]
    replicas: Final[InternalTopics]
    caches: Final[dict[int, CoordinatorCache]]
    coordinator: Final[Coordinator]
    clients: Final[dict[str, str]]
    opened: Final[dict[str, int]]

    def __init__(self, broker: CoordinatorContext, replicas: InternalTopics, coordinator: Coordinator) -> None:
        self.broker = broker
        self.replicas = replicas
        self.caches = {}
        self.coordinator = coordinator
        self.clients = {}
        self.opened = {}

    # --- the IDs ---------------------------------------------------------------------------------------------------

    def partition_for(self, transactional_id: str) -> int:
        """Return the partition of `__transaction_state` that holds an ID."""
        return partition_for(transactional_id, max(len(self.broker.metadata_cache.topic_leaders(TRANSACTION_STATE_TOPIC)), 1))

    def cache_of(self, transactional_id: str) -> CoordinatorCache | None:
        """Return the cache that an ID belongs to; None if this broker does not coordinate it."""
        return self.caches.get(self.partition_for(transactional_id))

    def get(self, transactional_id: str) -> TransactionMetadata | None:
        """Return the state of an ID; None if this broker does not know the ID (`#getTransactionState`)."""
        cache = self.cache_of(transactional_id)
        return None if cache is None else cache.entries.get(transactional_id)

    def timed_out(self, now: int) -> list[TransactionMetadata]:
        """Return the open transactions that have exceeded their timeout and have no pending transition (`#timedOutTransactions`)."""
        return [
            each
            for cache in self.caches.values()
            for each in cache.entries.values()
            if each.state is TransactionState.ONGOING and each.pending_state is None and each.start_time + each.timeout_us < now
        ]

    def expired(self, now: int, expiration: int) -> list[TransactionMetadata]:
        """Return the transactional IDs that have had no transaction for at least `expiration` µs (`#removeExpiredTransactionalIds`)."""
        return [
            each
            for cache in self.caches.values()
            for each in cache.entries.values()
            if each.pending_state is None
            and (each.state is TransactionState.EMPTY or each.state.is_complete)
            and each.update_time <= now - expiration
            and (each.producer_epoch != NO_PRODUCER_EPOCH or self.broker.release.expires_uninitialized_ids)
        ]

    # --- leadership ------------------------------------------------------------------------------------------------

    def load(self, partition: int, coordinator_epoch: int) -> CoordinatorCache:
        """Load the transactional IDs in a partition of `__transaction_state` from its log, up to the LEO
        (`#loadTransactionsForTxnTopicPartition`)."""
        cache = self.caches[partition] = CoordinatorCache(coordinator_epoch)
        for transactional_id, stored in replayed(self.replicas.contents(partition_of(partition))).items():
            cache.entries[transactional_id] = TransactionMetadata.loaded(transactional_id, stored)
        self.broker.journal.emit(
            events.CoordinatorLoaded.kind, self.broker.id, TRANSACTION_STATE_TOPIC, partition, coordinator_epoch, len(cache.entries)
        )
        return cache

    def unload(self, partition: int) -> bool:
        """Drop the transactional IDs in a partition of `__transaction_state`. Return False if the partition was not loaded
        (`#removeTransactionsForTxnTopicPartition`)."""
        cache = self.caches.pop(partition, None)
        if cache is None:
            return False
        self.broker.journal.emit(
            events.CoordinatorUnloaded.kind, self.broker.id, TRANSACTION_STATE_TOPIC, partition, cache.coordinator_epoch
        )
        return True

    # --- the log ---------------------------------------------------------------------------------------------------

    def append(
        self, transactional_id: str, coordinator_epoch: int, transit: TransactionTransit, step: str, about: object, *, retries: bool = False
    ) -> None:
        """Write a prepared state to the log, and then perform the next step (`#appendTransactionToLog`).

        If the state cannot be stored, the transition stays pending, because Kafka throws the corresponding exception only after it has
        prepared the transition.
        """
        check_transit(transit)
        partition = self.partition_for(transactional_id)
        write = TransactionLogAppend(self, partition, coordinator_epoch, transactional_id, transit, step, about, retries=retries)
        cache = self.caches.get(partition)
        if cache is None or cache.coordinator_epoch != coordinator_epoch:
            self.coordinator.continue_with(step, about, errors.NOT_COORDINATOR)
            return
        if not can_be_stored(transit, self.broker.metadata_cache.transaction_version):
            self.coordinator.continue_with(step, about, errors.UNSUPPORTED_VERSION)
            return
        size, now = record_bytes(transactional_id, transit), self.broker.journal.now

        def batch(base: int) -> BatchFields:
            return (base, 1, size, LOG_WRITER, 0, now, -1, -1, -1, False, ((transactional_id, transit),))

        self.replicas.append_internally(TopicPartition(TRANSACTION_STATE_TOPIC, partition), batch, now + transit.timeout_us, write)

    def append_completed(self, write: TransactionLogAppend, error: str) -> None:
        """Handle the result of a write to `__transaction_state`. If the write was committed, the written state becomes the ID's state."""
        outcome = APPEND_ERRORS.get(error, error)
        cache = self.caches.get(write.partition)
        metadata = None if cache is None else cache.entries.get(write.transactional_id)
        if cache is None or metadata is None or cache.coordinator_epoch != write.coordinator_epoch:
            outcome = errors.NOT_COORDINATOR
        elif outcome == errors.NONE:
            former = metadata.state
            metadata.complete_transition(write.transit)
            self._report(metadata, former)
        elif not (write.retries and outcome == errors.COORDINATOR_NOT_AVAILABLE):
            metadata.pending_state = None
        journal = self.broker.journal
        before = journal.cause
        self.coordinator.continue_with(write.step, write.about, outcome)
        journal.cause = before

    def remove_expired(self, now: int, expiration: int) -> None:
        """Write tombstones, several in one batch, for the IDs that have expired (`#removeExpiredTransactionalIds`)."""
        expired = self.expired(now, expiration)
        for partition, cache in list(self.caches.items()):
            here = [each for each in expired if cache.entries.get(each.transactional_id) is each]
            for ids, size in tombstone_batches([each.transactional_id for each in here]):
                removed = tuple(cache.entries[each].prepare_dead() for each in ids)
                write = TombstonesAppend(self, partition, cache.coordinator_epoch, removed, ids)
                content = tuple((each, None) for each in ids)

                def batch(base: int, ids: tuple[str, ...] = ids, size: int = size, content: object = content) -> BatchFields:
                    return (base, len(ids), size, LOG_WRITER, 0, now, -1, -1, -1, False, content)

                self.replicas.append_internally(partition_of(partition), batch, self.broker.journal.now + TOMBSTONE_TIMEOUT, write)

    def tombstones_completed(self, write: TombstonesAppend, error: str) -> None:
        """Handle the result of writing tombstones. Remove each ID whose state has not changed since the write began."""
        cache = self.caches.get(write.partition)
        if cache is None or cache.coordinator_epoch != write.coordinator_epoch:
            return
        journal = self.broker.journal
        cause = journal.cause
        for transactional_id, target in write.removed.items():
            journal.cause = cause
            metadata = cache.entries[transactional_id]
            if error != errors.NONE:
                metadata.pending_state = None
                continue
            former = metadata.state
            metadata.complete_transition(target)
            del cache.entries[transactional_id]
            self._report(metadata, former)
        journal.cause = cause

    def _report(self, metadata: TransactionMetadata, former: TransactionState) -> None:
        journal = self.broker.journal
        journal.cause = journal.emit(
            events.TransactionStateChanged.kind, self.broker.id, metadata.transactional_id, metadata.producer_id, metadata.producer_epoch,
            former.value, metadata.state.value, ",".join(str(tp) for tp in metadata.partitions),
        )  # fmt: skip
        if metadata.state is TransactionState.ONGOING and former is not TransactionState.ONGOING:
            self.opened[metadata.transactional_id] = journal.cause
