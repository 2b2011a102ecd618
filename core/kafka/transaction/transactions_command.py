"""What `kafka-transactions` lists, as functions of the state of coordinators and leaders (Kafka: `TransactionsCommand`, KIP-664, 3.0).

Each row has the columns that the tool prints. The times of rows are in ms, like those of the tool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from core.kafka import errors
from core.kafka.ids import NO_OFFSET, TopicPartition
from core.kafka.log.producer_state import ActiveProducer
from core.kafka.transaction.transaction_metadata import TransactionMetadata
from core.kafka.transaction.transaction_state import TransactionState
from core.kafka.transaction.transaction_state_manager import TransactionStateManager
from core.sim.units import US_PER_MS

MAX_TRANSACTION_TIMEOUT: Final = 15 * 60_000 * US_PER_MS
"""The default of `find-hanging --max-transaction-timeout`, µs."""

MS_PER_MINUTE: Final = 60_000


def _ms(time: int) -> int:
    """A time of the simulation in ms; -1 means none."""
    return time // US_PER_MS if time >= 0 else -1


def _cell(value: object) -> str:
    return "None" if value is None else str(value)


LIST_COLUMNS: Final = ("TransactionalId", "Coordinator", "ProducerId", "TransactionState")
"""The columns of `list`."""


class TransactionListing(NamedTuple):
    """A row of `list`."""

    transactional_id: str
    coordinator: int
    producer_id: int
    state: TransactionState

    def cells(self) -> tuple[str, ...]:
        """The cells as the tool prints them."""
        return (self.transactional_id, str(self.coordinator), str(self.producer_id), self.state.value)


def list_transactions(
    managers: Iterable[TransactionStateManager],
    now: int,
    *,
    states: frozenset[TransactionState] = frozenset(),
    producer_ids: frozenset[int] = frozenset(),
    longer_than: int = -1,
) -> tuple[TransactionListing, ...]:
    """The transactional.ids of these coordinators, except those that are being removed (`TransactionStateManager#listTransactionStates`).

    Args:
        now: the present time, µs.
        states: only IDs in one of these states; empty means any.
        producer_ids: only IDs with one of these producer IDs; empty means any.
        longer_than: only IDs whose last transaction began more than this many µs ago, or that had none; negative means any (KIP-994, 3.8).
    """
    return tuple(
        TransactionListing(each.transactional_id, manager.broker.id, each.producer_id, each.state)
        for manager in managers
        for cache in manager.caches.values()
        for each in cache.entries.values()
        if each.state is not TransactionState.DEAD
        and (not states or each.state in states)
        and (not producer_ids or each.producer_id in producer_ids)
        and (longer_than < 0 or each.start_time < 0 or now - each.start_time > longer_than)
    )


DESCRIBE_COLUMNS: Final = (
    "CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState", "TransactionTimeoutMs",
    "CurrentTransactionStartTimeMs", "TransactionDurationMs", "TopicPartitions",
)  # fmt: skip
"""The columns of `describe`."""


class TransactionDescription(NamedTuple):
    """A row of `describe`. The start time and duration are None if the ID has had no transaction since its producer was initialized."""

    coordinator: int
    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: TransactionState
    timeout_ms: int
    start_time_ms: int | None
    duration_ms: int | None
    partitions: tuple[TopicPartition, ...]

    def cells(self) -> tuple[str, ...]:
        """The cells as the tool prints them."""
        state, partitions = self.state.value, ",".join(str(tp) for tp in self.partitions)
        return tuple(_cell(each) for each in (*self[:4], state, *self[5:8], partitions))


def describe_transaction(manager: TransactionStateManager, transactional_id: str, now: int) -> tuple[str, TransactionDescription | None]:
    """The error, or NONE and the description of an ID (`TransactionCoordinator#handleDescribeTransactions`)."""
    if not transactional_id:
        return errors.INVALID_REQUEST, None
    if manager.cache_of(transactional_id) is None:
        return errors.NOT_COORDINATOR, None
    metadata = manager.get(transactional_id)
    if metadata is None or metadata.state is TransactionState.DEAD:
        return errors.TRANSACTIONAL_ID_NOT_FOUND, None
    return errors.NONE, _described(manager.broker.id, metadata, now)


def _described(coordinator: int, metadata: TransactionMetadata, now: int) -> TransactionDescription:
    begun = metadata.start_time >= 0
    return TransactionDescription(
        coordinator,
        metadata.transactional_id,
        metadata.producer_id,
        metadata.producer_epoch,
        metadata.state,
        metadata.timeout_us // US_PER_MS,
        _ms(metadata.start_time) if begun else None,
        _ms(now - metadata.start_time) if begun else None,
        metadata.partitions,
    )


PRODUCER_COLUMNS: Final = (
    "ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch", "LastSequence", "LastTimestamp", "CurrentTransactionStartOffset",
)  # fmt: skip
"""The columns of `describe-producers`."""


class ProducerDescription(NamedTuple):
    """A row of `describe-producers`. The start offset is None if no transaction is open."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    start_offset: int | None

    def cells(self) -> tuple[str, ...]:
        """The cells as the tool prints them."""
        return tuple(_cell(each) for each in self)


def describe_producers(producers: Iterable[ActiveProducer]) -> tuple[ProducerDescription, ...]:
    """The rows for the producers of a partition."""
    return tuple(
        ProducerDescription(*each[:4], _ms(each.last_timestamp), None if each.open_from == NO_OFFSET else each.open_from)
        for each in producers
    )


HANGING_COLUMNS: Final = (
    "Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch", "StartOffset", "LastTimestamp", "Duration(min)",
)  # fmt: skip
"""The columns of `find-hanging`."""


class HangingTransaction(NamedTuple):
    """A row of `find-hanging`."""

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    start_offset: int
    last_timestamp_ms: int
    duration_min: int

    def cells(self) -> tuple[str, ...]:
        """The cells as the tool prints them."""
        return tuple(str(each) for each in self)


def find_hanging(
    producers: Iterable[tuple[TopicPartition, ActiveProducer]],
    listed: Iterable[TransactionListing],
    describe: Callable[[str], TransactionDescription | None],
    now: int,
    max_timeout: int = MAX_TRANSACTION_TIMEOUT,
) -> tuple[HangingTransaction, ...]:
    """The transactions that are open on a partition, although their coordinator does not know of the partition.

    Args:
        producers: the producers of the partitions to search.
        listed: the transactional.ids of the cluster.
        describe: returns the description of an ID; None if its coordinator does not know it.
        now: the present time, µs.
        max_timeout: only transactions that have been idle for longer, µs.
    """
    ids = {each.producer_id: each.transactional_id for each in listed}
    found = []
    for tp, each in producers:
        idle = now - each.last_timestamp
        if each.open_from == NO_OFFSET or idle <= max_timeout:
            continue
        transactional_id = ids.get(each.producer_id)
        described = None if transactional_id is None else describe(transactional_id)
        if described is None or tp not in described.partitions:
            found.append(
                HangingTransaction(
                    tp.topic, tp.partition, each.producer_id, each.producer_epoch, each.coordinator_epoch, each.open_from,
                    _ms(each.last_timestamp), _ms(idle) // MS_PER_MINUTE,
                )
            )  # fmt: skip
    return tuple(found)


def abort_coordinator_epoch(row: HangingTransaction) -> int:
    """The coordinator epoch of the ABORT marker that `abort` writes for a row of `find-hanging`: 0 if no marker was written before."""
    return max(row.coordinator_epoch, 0)


def printed_table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """The table as the tool prints it: each cell is padded to the width of its column and followed by a tab."""
    table = [columns, *rows]
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    return "\n".join("".join(f"{cell:<{width}}\t" for cell, width in zip(row, widths, strict=True)) for row in table)
