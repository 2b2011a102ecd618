"""Batches that belong to a transaction and wait until the transaction coordinator has confirmed that the transaction contains their
partition (KIP-890)."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from core.kafka.ids import TopicPartition


class TransactionalBatch(Protocol):
    """A batch that a leader asks the transaction coordinator about."""

    @property
    def tp(self) -> TopicPartition:
        """The partition."""

    @property
    def transactional_id(self) -> str:
        """The transactional.id."""

    @property
    def producer_id(self) -> int:
        """The producer ID."""

    @property
    def producer_epoch(self) -> int:
        """The producer epoch."""

    @property
    def first_sequence(self) -> int:
        """The sequence number of the first record."""

    @property
    def adds_partition(self) -> bool:
        """Whether the leader asks the coordinator to add the partition to the transaction (transaction.version 2)."""


class OffsetsBatch(NamedTuple):
    """The offsets that a producer commits in its transaction, in the form of a `TransactionalBatch`. A commit of offsets has no sequence
    number of its own, so `first_sequence` is 0."""

    tp: TopicPartition
    transactional_id: str
    producer_id: int
    producer_epoch: int
    first_sequence: int
    adds_partition: bool


class VerificationCompletion(Protocol):
    """A callback for the response from the transaction coordinator."""

    @property
    def retries_concurrent(self) -> bool:
        """Whether the leader, rather than the client, repeats the request for a limited time after the error CONCURRENT_TRANSACTIONS."""

    def verified(self, error: str, guard: int, /) -> None:
        """Handle the coordinator's response. If `error` is NONE, the batch can be appended with the given verification number."""
