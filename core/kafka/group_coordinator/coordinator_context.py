"""The part of a broker's interface that the group coordinator uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from core.kafka.durability_observer import DurabilityObserver
from core.kafka.ids import TopicPartition
from core.kafka.log.leader_term import Batch, BatchFields
from core.kafka.transaction.coordinator_context import Completion, CoordinatorContext
from core.kafka.transaction.verification import TransactionalBatch, VerificationCompletion


class GroupCoordinatorContext(CoordinatorContext, Protocol):
    """The part of the broker's interface that the group coordinator uses."""

    @property
    def account(self) -> DurabilityObserver:
        """The durability account."""

    def internal_batches(self, tp: TopicPartition, /) -> Iterable[Batch]:
        """Return the batches in a partition of an internal topic, including markers, from the log start to the LEO."""

    def verify_transaction(self, batch: TransactionalBatch, completion: VerificationCompletion, /) -> None:
        """Verify that a batch's partition belongs to its transaction or, with transaction.version 2, add the partition to the transaction.

        If neither verifying nor adding the partition is necessary, `completion` is called immediately.
        """

    def append_offsets(
        self,
        tp: TopicPartition,
        make: Callable[[int], BatchFields],
        deadline: int,
        completion: Completion,
        guard: int,
        /,
        *,
        below_min_isr: bool,
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
