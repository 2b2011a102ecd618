"""The requests from a transactional producer to its coordinators, and how it handles the responses (Kafka: `TxnRequestHandler`)."""

from __future__ import annotations

import enum
from abc import ABCMeta, abstractmethod
from typing import Any, ClassVar, Final, Protocol

from core.kafka import errors
from core.kafka.ids import TopicPartition, broker_address
from core.kafka.release import Release
from core.kafka.transaction.transaction_messages import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    InitTransactionalIdRequest,
    InitTransactionalIdResponse,
)
from core.sim.units import US_PER_MS

ADD_PARTITIONS_RETRY_BACKOFF: Final = 20 * US_PER_MS
"""The backoff before a transaction's first AddPartitionsToTxn is repeated while the previous transaction is being completed, in µs
(KAFKA-5477)."""

FENCED: Final = frozenset({errors.PRODUCER_FENCED, errors.INVALID_PRODUCER_EPOCH})
"""The errors from a coordinator that mean that another producer has taken over the transactional.id."""

MOVED: Final = frozenset({errors.NOT_COORDINATOR, errors.COORDINATOR_NOT_AVAILABLE})
"""The errors after which the producer looks up the coordinator again."""

WAITING: Final = frozenset({errors.COORDINATOR_LOAD_IN_PROGRESS, errors.CONCURRENT_TRANSACTIONS})
"""The errors after which the producer repeats the request."""

UNKNOWN_PRODUCER: Final = frozenset({errors.UNKNOWN_PRODUCER_ID, errors.INVALID_PRODUCER_ID_MAPPING})
"""The errors that mean that the coordinator does not know the producer ID."""


class Priority(enum.IntEnum):
    """The order in which waiting requests are sent (`TransactionManager.Priority`)."""

    FIND_COORDINATOR = 0
    INIT_PRODUCER_ID = 1
    ADD_PARTITIONS_OR_OFFSETS = 2
    END_TXN = 3
    EPOCH_BUMP = 4


class RequestContext(Protocol):
    """The part of the transaction manager's interface that requests use."""

    transactional_id: str
    timeout_us: int
    version: int
    partitions: dict[TopicPartition, None]

    @property
    def name(self) -> str:
        """The name of the producer."""

    @property
    def release(self) -> Release:
        """The rules of the simulated Kafka release."""

    @property
    def producer_id(self) -> int:
        """The producer ID."""

    @property
    def producer_epoch(self) -> int:
        """The producer epoch."""

    def found_coordinator(self, key: str, group: bool, node: str, /) -> None:
        """Record the coordinator of a transactional.id or a group."""

    def look_up_coordinator(self, key: str, group: bool, /) -> None:
        """Forget a coordinator, and look it up again."""

    def retry(self, request: TxnRequest, /, backoff: int | None = None) -> None:
        """Send a request again after a backoff in µs, which is retry.backoff.ms by default."""

    def fail(self, error: str, /) -> None:
        """Put the producer into the fatal error state."""

    def fail_transaction(self, error: str, /, *, bump: bool = False) -> None:
        """Put the producer into the abortable error state. If `bump` is true, the producer must get a new epoch after the abort. If the
        producer cannot get a new epoch, put it into the fatal error state.
        """

    def initialized(self, producer_id: int, producer_epoch: int, /, *, bumped: bool) -> None:
        """Adopt the producer ID and epoch from InitProducerId."""

    def partitions_added(self, partitions: tuple[TopicPartition, ...], /) -> None:
        """Record that the coordinator added partitions to the transaction."""

    def offsets_added(self, commit: TxnRequest, /) -> None:
        """Send the offsets of a group, because the coordinator has added the group's partition of `__consumer_offsets` to the
        transaction."""

    def offsets_committed(self) -> None:
        """Record that the group coordinator has the offsets in the transaction."""

    def ended(self, producer_id: int, producer_epoch: int, /) -> None:
        """Record that the coordinator has decided to commit or abort the transaction. With transaction.version 2, adopt the producer ID and
        epoch for the next transaction.
        """


class TxnRequest(metaclass=ABCMeta):
    """A request that is waiting to be sent or is in flight.

    Attributes:
        priority: the priority of the request among the waiting requests.
        group: the group whose coordinator gets the request; empty for the transaction coordinator.
        backoff: the time to wait before the request is sent, in µs; 0 for a first attempt.
    """

    __slots__ = ("backoff", "group", "priority")

    needs_coordinator: ClassVar[bool] = True
    priority: Final[Priority]
    group: Final[str]

    def __init__(self, priority: Priority, group: str = "") -> None:
        self.priority = priority
        self.group = group
        self.backoff = 0

    @abstractmethod
    def message(self, correlation: int, manager: RequestContext) -> Any:
        """Return the message to send."""

    @abstractmethod
    def answered(self, manager: RequestContext, response: Any) -> None:
        """Handle the response."""

    def failed(self, manager: RequestContext, error: str) -> None:
        """Handle the errors that most requests have in common."""
        if error in MOVED:
            manager.look_up_coordinator(self.group or manager.transactional_id, bool(self.group))
            manager.retry(self)
        elif error in WAITING:
            manager.retry(self)
        elif error in FENCED:
            manager.fail(errors.PRODUCER_FENCED if manager.release.producer_fenced else errors.INVALID_PRODUCER_EPOCH)
        elif error in UNKNOWN_PRODUCER:
            manager.fail_transaction(error, bump=True)
        elif error == errors.TRANSACTION_ABORTABLE:
            manager.fail_transaction(error)
        else:
            manager.fail(error)


class FindCoordinator(TxnRequest):
    """A request that asks any broker for the coordinator of a transactional.id or a group (`FindCoordinatorHandler`)."""

    __slots__ = ("key",)

    needs_coordinator = False
    key: Final[str]

    def __init__(self, key: str, group: str = "") -> None:
        super().__init__(Priority.FIND_COORDINATOR, group)
        self.key = key

    def message(self, correlation: int, manager: RequestContext) -> FindCoordinatorRequest:
        """Return the message to send."""
        return FindCoordinatorRequest(correlation, self.key, bool(self.group))

    def answered(self, manager: RequestContext, response: FindCoordinatorResponse) -> None:
        """If the coordinator was found, record it; after a retriable error, repeat the request."""
        if response.error == errors.NONE:
            manager.found_coordinator(self.key, bool(self.group), broker_address(response.broker))
        elif response.error == errors.COORDINATOR_NOT_AVAILABLE:
            manager.retry(self)
        else:
            self.failed(manager, response.error)


class InitProducerId(TxnRequest):
    """A request for a producer ID, or for the next epoch after an abort (`InitProducerIdHandler`).

    Attributes:
        producer_id: the producer's current ID; -1 if it has none.
        producer_epoch: the producer's current epoch; -1 if it has none.
    """

    __slots__ = ("producer_epoch", "producer_id")

    producer_id: Final[int]
    producer_epoch: Final[int]

    def __init__(self, producer_id: int, producer_epoch: int) -> None:
        super().__init__(Priority.INIT_PRODUCER_ID if producer_id < 0 else Priority.EPOCH_BUMP)
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch

    def message(self, correlation: int, manager: RequestContext) -> InitTransactionalIdRequest:
        """Return the message to send."""
        return InitTransactionalIdRequest(
            correlation, manager.name, manager.transactional_id, manager.timeout_us, self.producer_id, self.producer_epoch, manager.version
        )

    def answered(self, manager: RequestContext, response: InitTransactionalIdResponse) -> None:
        """Adopt the producer ID and epoch in the response, or handle the error in it."""
        if response.error == errors.NONE:
            manager.initialized(response.producer_id, response.producer_epoch, bumped=self.producer_id >= 0)
        elif response.error in UNKNOWN_PRODUCER:
            manager.fail(response.error)
        else:
            self.failed(manager, response.error)


class AddPartitions(TxnRequest):
    """A request to add partitions to the transaction before the first batch for each of them is sent (`AddPartitionsToTxnHandler`)."""

    __slots__ = ("partitions",)

    partitions: Final[tuple[TopicPartition, ...]]

    def __init__(self, partitions: tuple[TopicPartition, ...]) -> None:
        super().__init__(Priority.ADD_PARTITIONS_OR_OFFSETS)
        self.partitions = partitions

    def message(self, correlation: int, manager: RequestContext) -> AddPartitionsToTxnRequest:
        """Return the message to send."""
        return AddPartitionsToTxnRequest(
            correlation, manager.transactional_id, manager.producer_id, manager.producer_epoch, self.partitions, version=manager.version
        )

    def answered(self, manager: RequestContext, response: AddPartitionsToTxnResponse) -> None:
        """Record that the partitions were added, or repeat the request after a retriable error. If a partition is refused, the transaction
        fails."""
        found = [error for _, error in response.results if error not in (errors.NONE, errors.OPERATION_NOT_ATTEMPTED)]
        if errors.CONCURRENT_TRANSACTIONS in found:
            first = not manager.partitions and manager.release.retries_first_partition_soon
            manager.retry(self, ADD_PARTITIONS_RETRY_BACKOFF if first else None)
        elif errors.UNKNOWN_TOPIC_OR_PARTITION in found:
            manager.retry(self)
        elif errors.TOPIC_AUTHORIZATION_FAILED in found:
            manager.fail_transaction(errors.TOPIC_AUTHORIZATION_FAILED)
        elif found:
            self.failed(manager, found[0])
        elif any(error != errors.NONE for _, error in response.results):
            manager.fail_transaction(errors.OPERATION_NOT_ATTEMPTED)
        else:
            manager.partitions_added(self.partitions)


class EndTxn(TxnRequest):
    """A request to commit or abort the transaction (`EndTxnHandler`).

    Attributes:
        commit: whether to commit the transaction; otherwise, it is aborted.
        version: the transaction.version that was in effect when the transaction began.
    """

    __slots__ = ("commit", "version")

    commit: Final[bool]
    version: Final[int]

    def __init__(self, *, commit: bool, version: int) -> None:
        super().__init__(Priority.END_TXN)
        self.commit = commit
        self.version = version

    def message(self, correlation: int, manager: RequestContext) -> EndTxnRequest:
        """Return the message to send."""
        return EndTxnRequest(correlation, manager.transactional_id, manager.producer_id, manager.producer_epoch, self.commit, self.version)

    def answered(self, manager: RequestContext, response: EndTxnResponse) -> None:
        """If the request succeeded, complete the transaction; after a retriable error, repeat the request."""
        if response.error == errors.NONE:
            manager.ended(response.producer_id, response.producer_epoch)
        else:
            self.failed(manager, response.error)
