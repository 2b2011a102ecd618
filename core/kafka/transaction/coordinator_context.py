"""The interface through which a transaction coordinator uses its broker."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from core.kafka.ids import TopicPartition
from core.kafka.log.leader_term import Batch, BatchFields
from core.kafka.metadata_cache import MetadataCache
from core.kafka.release import Release
from core.kafka.settings.settings import Settings
from core.kafka.transaction.verification import TransactionalBatch, VerificationCompletion
from core.sim.journal import Journal
from core.sim.node import Node


class Completion(Protocol):
    """A callback for the result of an append."""

    def append_completed(self, error: str, /) -> None:
        """Handle the result of an append; NONE means that the records are committed."""


class InternalTopics(Protocol):
    """What coordinators use of the replica manager: the partitions of internal topics."""

    def append_internally(
        self,
        tp: TopicPartition,
        make: Callable[[int], BatchFields],
        deadline: int,
        completion: Completion,
        guard: int = 0,
        /,
        *,
        below_min_isr: bool = False,
    ) -> None:
        """Append a batch to a partition that this broker leads, with acks=all.

        Args:
            tp: the partition.
            make: a function that creates the batch, given the batch's first offset.
            deadline: the time when the write times out, in µs.
            completion: the function to call with the error, or with NONE.
            guard: the verification number of a transactional batch; 0 if the batch needed no verification.
            below_min_isr: whether the batch is appended even if the ISR is smaller than min.insync.replicas.
        """

    def contents(self, tp: TopicPartition, /) -> tuple[Any, ...]:
        """Return the contents of the records in a partition of an internal topic, from the log start to the LEO."""

    def internal_batches(self, tp: TopicPartition, /) -> Iterable[Batch]:
        """Return the batches in a partition of an internal topic, including markers, from the log start to the LEO."""

    def verify_transaction(self, batch: TransactionalBatch, completion: VerificationCompletion, /) -> None:
        """Verify that a batch's partition belongs to its transaction or, with transaction.version 2, add the partition to the transaction.

        If neither verifying nor adding the partition is necessary, `completion` is called immediately.
        """


class ProducerIds(Protocol):
    """What coordinators use of the producer ID manager."""

    def generate_producer_id(self) -> int:
        """Return a new producer ID, or -1 while the broker is waiting for a block of IDs."""


class RequestTimeout(Protocol):
    """The setting of a broker that a transaction coordinator uses."""

    request_timeout: int


class CoordinatorContext(Protocol):
    """The interface through which a transaction coordinator uses its broker."""

    by_hand: bool

    @property
    def config(self) -> RequestTimeout:
        """The broker's settings."""

    @property
    def id(self) -> int:
        """The broker ID."""

    @property
    def journal(self) -> Journal:
        """The journal."""

    @property
    def settings(self) -> Settings:
        """The settings of the broker."""

    @property
    def release(self) -> Release:
        """The rules of the simulated Kafka release."""

    @property
    def metadata_cache(self) -> MetadataCache:
        """What the broker knows of the cluster."""

    @property
    def node(self) -> Node:
        """The broker as a node, which sends and receives the coordinator's messages."""

    def next_correlation(self) -> int:
        """Return a new correlation ID."""
