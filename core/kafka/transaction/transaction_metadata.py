"""The coordinator's state for one transactional.id, and its transitions (Kafka: `TransactionMetadata`, `TxnTransitMetadata`).

When a request prepares a transition, the target state becomes pending and is written to the transaction log. The target state becomes the
current state only when the write is committed. While a transition is pending, other requests for the ID get CONCURRENT_TRANSACTIONS.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from core.kafka import errors
from core.kafka.ids import TopicPartition
from core.kafka.transaction.transaction_state import VALID_PREVIOUS_STATES, TransactionState

NO_PRODUCER_ID: Final = -1
"""The value that stands for a missing producer ID."""

NO_PRODUCER_EPOCH: Final = -1
"""The value that stands for a missing producer epoch."""

MAX_EPOCH: Final = 2**15 - 1
"""The largest producer epoch.

Only a marker can have the largest epoch, because a producer gets a new producer ID before it reaches the largest epoch
(`TransactionMetadata#isEpochExhausted`).
"""


class TransactionTransit(NamedTuple):
    """The values that a transactional.id gets when a transition completes. The fields are those of `TransactionMetadata`."""

    producer_id: int
    previous_producer_id: int
    next_producer_id: int
    producer_epoch: int
    last_producer_epoch: int
    timeout_us: int
    state: TransactionState
    partitions: tuple[TopicPartition, ...]
    start_time: int
    update_time: int
    client_version: int


class TransactionMetadata:
    """The state of one transactional.id.

    Attributes:
        transactional_id: the transactional.id.
        producer_id: the producer ID; NO_PRODUCER_ID before the first one.
        previous_producer_id: the producer ID that was replaced when its epochs were exhausted.
        next_producer_id: the producer ID that replaces the current one, whose epochs are exhausted, when the transaction is complete
            (transaction.version 2).
        producer_epoch: the epoch of the current producer.
        last_producer_epoch: the epoch before the last bump, which identifies a retry of InitProducerId. The records in the transaction log
            do not contain `last_producer_epoch`.
        timeout_us: the producer's transaction.timeout.ms, in µs.
        state: the last state that was committed to the log.
        partitions: those partitions of the transaction whose marker is not confirmed yet, in the order in which they were added.
        start_time: the time when the transaction's first partition was added, in µs; -1 if it has no partitions.
        update_time: the time of the last change, in µs.
        client_version: the transaction.version that was used by the client that added the partitions.
        pending_state: the state that is being written; None if no transition is pending.
        has_failed_epoch_fence: whether the epoch was already bumped for an abort whose write failed (KAFKA-9666).
    """

    __slots__ = (
        "client_version", "has_failed_epoch_fence", "last_producer_epoch", "next_producer_id", "partitions", "pending_state",
        "previous_producer_id", "producer_epoch", "producer_id", "start_time", "state", "timeout_us", "transactional_id", "update_time",
    )  # fmt: skip

    transactional_id: Final[str]

    def __init__(self, transactional_id: str, producer_id: int, timeout_us: int, now: int) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.previous_producer_id = NO_PRODUCER_ID
        self.next_producer_id = NO_PRODUCER_ID
        self.producer_epoch = NO_PRODUCER_EPOCH
        self.last_producer_epoch = NO_PRODUCER_EPOCH
        self.timeout_us = timeout_us
        self.state = TransactionState.EMPTY
        self.partitions: tuple[TopicPartition, ...] = ()
        self.start_time = -1
        self.update_time = now
        self.client_version = 0
        self.pending_state: TransactionState | None = None
        self.has_failed_epoch_fence = False

    @classmethod
    def loaded(cls, transactional_id: str, stored: TransactionTransit) -> TransactionMetadata:
        """Return the state that a record in the transaction log contains. The record does not contain `last_producer_epoch`."""
        made = cls(transactional_id, stored.producer_id, stored.timeout_us, stored.update_time)
        made._apply(stored)
        made.last_producer_epoch = NO_PRODUCER_EPOCH
        return made

    @property
    def is_epoch_exhausted(self) -> bool:
        """Whether the next producer needs a new producer ID (`#isProducerEpochExhausted`)."""
        return self.producer_epoch >= MAX_EPOCH - 1

    def current(self) -> TransactionTransit:
        """Return the current state as the target of a transition."""
        return TransactionTransit(
            self.producer_id, self.previous_producer_id, self.next_producer_id, self.producer_epoch, self.last_producer_epoch,
            self.timeout_us, self.state, self.partitions, self.start_time, self.update_time, self.client_version,
        )  # fmt: skip

    # --- preparing a transition ------------------------------------------------------------------------------------

    def prepare_increment_epoch(self, timeout_us: int, expected_epoch: int, now: int) -> TransactionTransit | None:
        """Prepare the next epoch for a producer that is initializing. Return None if the producer is fenced
        (`#prepareIncrementProducerEpoch`).

        Args:
            timeout_us: the producer's transaction.timeout.ms, in µs.
            expected_epoch: the epoch that the producer believes it has; NO_PRODUCER_EPOCH if the request contains no epoch.
            now: the current time, in µs.
        """
        if self.producer_epoch >= MAX_EPOCH:
            raise ValueError(f"{self.transactional_id}: the producer epoch {self.producer_epoch} cannot be incremented")
        bumped = self.producer_epoch + 1
        if expected_epoch == NO_PRODUCER_EPOCH:
            epoch, last = bumped, NO_PRODUCER_EPOCH
        elif self.producer_epoch in (NO_PRODUCER_EPOCH, expected_epoch):
            epoch, last = bumped, self.producer_epoch
        elif expected_epoch == self.last_producer_epoch:  # a retry of a request whose response was lost
            epoch, last = self.producer_epoch, self.last_producer_epoch
        else:
            return None
        return self._prepare(
            self.current()._replace(
                state=TransactionState.EMPTY,
                producer_epoch=epoch,
                last_producer_epoch=last,
                timeout_us=timeout_us,
                partitions=(),
                start_time=-1,
                update_time=now,
            )
        )

    def prepare_new_producer_id(self, producer_id: int, timeout_us: int, now: int, *, record_last_epoch: bool) -> TransactionTransit:
        """Prepare a new producer ID in epoch 0, because the epochs are exhausted (`#prepareProducerIdRotation`)."""
        return self._prepare(
            self.current()._replace(
                state=TransactionState.EMPTY,
                producer_id=producer_id,
                previous_producer_id=self.producer_id,
                next_producer_id=NO_PRODUCER_ID,
                producer_epoch=0,
                last_producer_epoch=self.producer_epoch if record_last_epoch else NO_PRODUCER_EPOCH,
                timeout_us=timeout_us,
                partitions=(),
                start_time=-1,
                update_time=now,
            )
        )

    def prepare_add_partitions(self, added: tuple[TopicPartition, ...], now: int, *, version: int) -> TransactionTransit:
        """Prepare to add partitions to a transaction. The transaction begins when the first partitions are added
        (`#prepareAddPartitions`)."""
        begins = self.state is TransactionState.EMPTY or self.state.is_complete
        partitions = tuple(dict.fromkeys((*self.partitions, *added)))
        return self._prepare(
            self.current()._replace(
                state=TransactionState.ONGOING,
                partitions=partitions,
                start_time=now if begins else self.start_time,
                update_time=now,
                client_version=version,
            )
        )

    def prepare_fence(self, now: int, *, bump_again: bool = False) -> TransactionTransit:
        """Prepare the transition of an open transaction to PREPARE_ABORT, because its producer is fenced (`#prepareFenceProducerEpoch`,
        `#prepareAbortOrCommit`).

        The producer epoch rises by one. With transaction.version 2, the former epoch is kept as the last epoch, so that the producer can
        recognize the abort and continue. With transaction.version 0 or 1, the epoch rises in memory even if the write fails.

        Args:
            now: the current time, in µs.
            bump_again: whether the epoch rises again if it already rose in an earlier attempt that failed (before 2.6).

        Raises:
            ValueError: the epoch cannot rise.
        """
        if self.producer_epoch >= MAX_EPOCH:
            raise ValueError(f"{self.transactional_id}: the producer epoch {self.producer_epoch} cannot be incremented")
        epoch, last = self.producer_epoch + 1, self.producer_epoch
        if self.client_version < 2:
            if self.has_failed_epoch_fence and not bump_again:
                epoch = self.producer_epoch
            self.producer_epoch, self.last_producer_epoch = epoch, NO_PRODUCER_EPOCH
            last = NO_PRODUCER_EPOCH
        return self._prepare(
            self.current()._replace(state=TransactionState.PREPARE_ABORT, producer_epoch=epoch, last_producer_epoch=last, update_time=now)
        )

    def prepare_end(
        self, state: TransactionState, now: int, *, version: int, next_producer_id: int = NO_PRODUCER_ID, empty: bool = False
    ) -> TransactionTransit:
        """Prepare the transition to PREPARE_COMMIT or PREPARE_ABORT, which bumps the producer epoch if transaction.version is 2
        (`#prepareAbortOrCommit`).

        Args:
            state: PREPARE_COMMIT or PREPARE_ABORT.
            now: the current time, in µs.
            version: the transaction.version of the client.
            next_producer_id: the producer ID to use next if the epochs are exhausted.
            empty: whether no partition was ever added to the transaction.
        """
        epoch, last = self.producer_epoch, self.last_producer_epoch
        if version >= 2:
            epoch, last = self.producer_epoch + 1, self.producer_epoch
        return self._prepare(
            self.current()._replace(
                state=state,
                producer_epoch=epoch,
                last_producer_epoch=last,
                next_producer_id=next_producer_id,
                update_time=now,
                start_time=now if empty else self.start_time,
                client_version=version,
            )
        )

    def prepare_complete(self, now: int) -> TransactionTransit:
        """Prepare COMPLETE_COMMIT or COMPLETE_ABORT after the last marker. If the epochs are exhausted, the reserved producer ID replaces
        the current one (`#prepareComplete`)."""
        state = TransactionState.COMPLETE_COMMIT if self.state is TransactionState.PREPARE_COMMIT else TransactionState.COMPLETE_ABORT
        target = self.current()._replace(state=state, partitions=(), update_time=now)
        if self.next_producer_id != NO_PRODUCER_ID:
            target = target._replace(
                producer_id=self.next_producer_id, previous_producer_id=self.producer_id, next_producer_id=NO_PRODUCER_ID, producer_epoch=0
            )
        self.has_failed_epoch_fence = False
        return self._prepare(target)

    def prepare_dead(self) -> TransactionTransit:
        """Prepare the removal of an expired transactional ID (`#prepareDead`)."""
        return self._prepare(self.current()._replace(state=TransactionState.DEAD, partitions=()))

    def _prepare(self, target: TransactionTransit) -> TransactionTransit:
        """Make a transition pending (`TransactionMetadata#prepareTransitionTo`).

        Raises:
            ValueError: another transition is pending, or the target state cannot follow the current state.
        """
        if self.pending_state is not None:
            raise ValueError(f"{self.transactional_id}: {target.state.value} while {self.pending_state.value} is pending")
        if self.state not in VALID_PREVIOUS_STATES[target.state]:
            raise ValueError(f"{self.transactional_id}: {target.state.value} cannot follow {self.state.value}")
        self.pending_state = target.state
        return target

    # --- completing a transition -----------------------------------------------------------------------------------

    def complete_transition(self, target: TransactionTransit) -> None:
        """Make a target state the current state after it has been committed to the log (`TransactionMetadata#completeTransitionTo`).

        Raises:
            ValueError: the transition to the target state is not pending, or the target's epoch is wrong.
        """
        if self.pending_state is not target.state:
            raise ValueError(f"{self.transactional_id}: {target.state.value} was not prepared")
        if target.producer_epoch not in (self.producer_epoch, self.producer_epoch + 1) and target.producer_epoch != 0:
            raise ValueError(f"{self.transactional_id}: epoch {target.producer_epoch} cannot follow {self.producer_epoch}")
        self._apply(target)

    def _apply(self, target: TransactionTransit) -> None:
        (
            self.producer_id, self.previous_producer_id, self.next_producer_id, self.producer_epoch, self.last_producer_epoch,
            self.timeout_us, self.state, self.partitions, self.start_time, self.update_time, self.client_version,
        ) = target  # fmt: skip
        self.pending_state = None

    def remove_partition(self, tp: TopicPartition) -> None:
        """Record that the marker of a partition has been written (`TransactionMetadata#removePartition`)."""
        self.partitions = tuple(each for each in self.partitions if each != tp)

    # --- checks ----------------------------------------------------------------------------------------------------

    def error_of_expected(self, producer_id: int, epoch: int) -> str:
        """Return the error for an InitProducerId request that contains the given producer ID and epoch, or NONE
        (`TransactionCoordinator#isValidProducerId`).
        """
        if producer_id == NO_PRODUCER_ID or self.producer_epoch == NO_PRODUCER_EPOCH or producer_id == self.producer_id:
            return errors.NONE
        if producer_id == self.previous_producer_id and epoch >= MAX_EPOCH - 1:  # a retry after the epochs were exhausted
            return errors.NONE
        return errors.PRODUCER_FENCED
