"""Brokers' answers to ListTransactions and DescribeTransactions, and the search for hanging transactions (KIP-664).

The functions in this module do not change any state. Kafka: `TransactionStateManager#listTransactionStates`,
`TransactionCoordinator#handleDescribeTransactions`, `TransactionsCommand.FindHangingTransactionsCommand`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from core.kafka.ids import NO_OFFSET, TopicPartition
from core.kafka.log.producer_state import ActiveProducer
from core.kafka.transaction.transaction_metadata import TransactionMetadata
from core.kafka.transaction.transaction_state import TransactionState
from core.kafka.transaction.transaction_state_manager import TransactionStateManager


class OpenTransaction(NamedTuple):
    """A transaction that is open on a partition, according to a replica's producer state."""

    tp: TopicPartition
    producer: ActiveProducer


def list_transactions(
    states: TransactionStateManager, now: int, *, producer_ids: Collection[int] = (), longer_than: int = -1
) -> list[TransactionMetadata]:
    """Return the transactional IDs that a coordinator manages, by partition of `__transaction_state`. An ID that is being removed is not
    listed.

    Args:
        states: the transactional IDs that a broker coordinates.
        now: the current time, in µs.
        producer_ids: the producer IDs to list. If `producer_ids` is empty, transactions of all producer IDs are listed.
        longer_than: list only transactions that began more than this many µs ago; -1 lists all. An ID that has no start time is always
            listed (since 3.8).
    """
    return [
        each
        for _, cache in sorted(states.caches.items())
        for each in cache.entries.values()
        if each.state is not TransactionState.DEAD
        and (not producer_ids or each.producer_id in producer_ids)
        and (longer_than < 0 or each.start_time < 0 or now - each.start_time > longer_than)
    ]


def describe_transaction(states: TransactionStateManager, transactional_id: str) -> TransactionMetadata | None:
    """Return the state of a transactional ID; None if this broker does not coordinate it, does not know it, or is removing it."""
    found = states.get(transactional_id)
    return None if found is None or found.state is TransactionState.DEAD else found


def open_transactions(tp: TopicPartition, producers: Iterable[ActiveProducer], now: int, idle_for: int) -> list[OpenTransaction]:
    """Return the open transactions on a replica, limited to those whose producers have been idle for more than `idle_for` µs."""
    return [OpenTransaction(tp, each) for each in producers if each.open_from != NO_OFFSET and now - each.last_timestamp > idle_for]


def is_hanging(tp: TopicPartition, owner: TransactionMetadata | None) -> bool:
    """Return whether a transaction that is open on a partition is hanging, which means that no coordinator will ever end it.

    Args:
        tp: the partition.
        owner: the coordinator's state for the transactional ID that uses the producer ID; None if no coordinator knows such an ID.
    """
    return owner is None or tp not in owner.partitions


def hanging_transactions(
    candidates: Iterable[OpenTransaction], owner_of: Mapping[int, TransactionMetadata | None]
) -> list[OpenTransaction]:
    """Return the open transactions that no coordinator will ever end.

    Args:
        candidates: the open transactions.
        owner_of: for each producer ID, the coordinator's state for the transactional ID that uses the producer ID.
    """
    return [each for each in candidates if is_hanging(each.tp, owner_of.get(each.producer.producer_id))]
