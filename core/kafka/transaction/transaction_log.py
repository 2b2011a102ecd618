"""The topic `__transaction_state`, in which coordinators keep the state of each transactional.id (Kafka: `TransactionLog`)."""

from __future__ import annotations

from typing import Final

from core.kafka.ids import TopicPartition
from core.kafka.transaction.transaction_metadata import TransactionTransit
from core.kafka.transaction.transaction_state import TransactionState

TRANSACTION_STATE_TOPIC: Final = "__transaction_state"
"""The name of the topic."""

GROUP_METADATA_TOPIC: Final = "__consumer_offsets"
"""The name of the topic in which group coordinators keep groups and their offsets."""

INTERNAL_TOPICS: Final = frozenset({GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC})
"""The topics that brokers create for themselves (`Topic#isInternal`)."""

BATCH_HEADER_BYTES: Final = 61
"""The size of a record batch, excluding its records."""

MAX_TOMBSTONE_BATCH: Final = 16_384
"""The maximum size of a batch of tombstones, in bytes (`TransactionStateManager#removeExpiredTransactionalIds`)."""


def partition_for(key: str, partitions: int) -> int:
    """Return the partition of an internal topic that holds a key (`TransactionStateManager#partitionFor`, `GroupCoordinator#partitionFor`)."""
    unsigned = java_hash(key)
    value = min(unsigned, 0x1_0000_0000 - unsigned)  # the absolute value of Java's signed number
    return 0 if value == 0x8000_0000 else value % partitions  # Utils#abs


def java_hash(text: str) -> int:
    """Return Java's `String#hashCode`, as an unsigned 32-bit number."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFF_FFFF
    return value


def check_transit(transit: TransactionTransit) -> None:
    """Check that a state is allowed in the log (`TransactionLog#valueToBytes`).

    Raises:
        ValueError: the state is Empty, but has partitions.
    """
    if transit.state is TransactionState.EMPTY and transit.partitions:
        raise ValueError(f"Transaction is not expected to have any partitions since its state is {transit.state.value}: {transit}")


def can_be_stored(transit: TransactionTransit, transaction_version: int) -> bool:
    """Return whether a state can be stored at a level of `transaction.version`.

    At level 0, records have no field for the transaction.version of the client, so Kafka throws an UnsupportedVersionException for the
    state of a client with level 2 (`TransactionLog#valueToBytes`; the recording `v-feature-change` of a real cluster shows this).
    """
    return transaction_version > 0 or transit.client_version < 2


def record_bytes(transactional_id: str, transit: TransactionTransit | None) -> int:
    """Return the approximate size of a batch that contains one record, in bytes. If `transit` is None, the record is a tombstone, which has
    no value."""
    key = 4 + len(transactional_id.encode("utf-8", "surrogatepass"))
    value = 0 if transit is None else 37 + sum(6 + len(tp.topic) for tp in transit.partitions)
    return BATCH_HEADER_BYTES + 8 + key + value


def tombstone_batches(transactional_ids: list[str]) -> list[tuple[tuple[str, ...], int]]:
    """Return the batches of tombstones for some transactional IDs, each batch with its size in bytes. No batch is larger than
    MAX_TOMBSTONE_BATCH."""
    batches: list[tuple[tuple[str, ...], int]] = []
    for each in transactional_ids:
        size = record_bytes(each, None) - BATCH_HEADER_BYTES
        if batches and batches[-1][1] + size <= MAX_TOMBSTONE_BATCH:
            ids, total = batches[-1]
            batches[-1] = ((*ids, each), total + size)
        else:
            batches.append(((each,), BATCH_HEADER_BYTES + size))
    return batches


def replayed(records: tuple[tuple[str, object], ...]) -> dict[str, TransactionTransit]:
    """Return the last state of each transactional ID that has not been removed, in log order."""
    states: dict[str, TransactionTransit] = {}
    for key, value in records:
        states.pop(key, None)
        if isinstance(value, TransactionTransit):
            states[key] = value
    return states


def partition_of(number: int) -> TopicPartition:
    """Return the partition of `__transaction_state` with the given number."""
    return TopicPartition(TRANSACTION_STATE_TOPIC, number)
