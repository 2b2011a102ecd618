"""The requests with which a producer commits the offsets of a group in its transaction (Kafka: `AddOffsetsToTxnHandler`,
`TxnOffsetCommitHandler`)."""

from __future__ import annotations

from typing import Final

from core.kafka import errors
from core.kafka.clients.producer.transactional_requests import Priority, RequestContext, TxnRequest
from core.kafka.group_coordinator.group_requests import GroupMembership, OffsetToCommit, TxnOffsetCommitRequest, TxnOffsetCommitResponse
from core.kafka.transaction.transaction_messages import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse

NOT_OWNED: Final = frozenset({errors.ILLEGAL_GENERATION, errors.UNKNOWN_MEMBER_ID, errors.FENCED_INSTANCE_ID})
"""The errors that mean that a member has lost its partitions (`CommitFailedException`)."""


class CommitOffsets(TxnRequest):
    """A request to commit the offsets of a group as part of the transaction."""

    __slots__ = ("membership", "offsets")

    membership: Final[GroupMembership]
    offsets: Final[tuple[OffsetToCommit, ...]]

    def __init__(self, group: str, membership: GroupMembership, offsets: tuple[OffsetToCommit, ...]) -> None:
        super().__init__(Priority.ADD_PARTITIONS_OR_OFFSETS, group)
        self.membership = membership
        self.offsets = offsets

    def message(self, correlation: int, manager: RequestContext) -> TxnOffsetCommitRequest:
        """Return the message to send."""
        return TxnOffsetCommitRequest(
            correlation, manager.transactional_id, manager.producer_id, manager.producer_epoch, self.group, self.membership, self.offsets,
            manager.version,
        )  # fmt: skip

    def answered(self, manager: RequestContext, response: TxnOffsetCommitResponse) -> None:
        """Record that the offsets have been written, or repeat the request after a retriable error."""
        if response.error == errors.NONE:
            manager.offsets_committed()
        elif response.error == errors.UNKNOWN_TOPIC_OR_PARTITION:
            manager.retry(self)
        elif response.error in NOT_OWNED:
            manager.fail_transaction(response.error)
        else:
            self.failed(manager, response.error)


class AddOffsets(TxnRequest):
    """A request to add the `__consumer_offsets` partition of a group to the transaction (before transaction.version 2)."""

    __slots__ = ("commit",)

    commit: Final[CommitOffsets]

    def __init__(self, commit: CommitOffsets) -> None:
        super().__init__(Priority.ADD_PARTITIONS_OR_OFFSETS)
        self.commit = commit

    def message(self, correlation: int, manager: RequestContext) -> AddOffsetsToTxnRequest:
        """Return the message to send."""
        return AddOffsetsToTxnRequest(correlation, manager.transactional_id, manager.producer_id, manager.producer_epoch, self.commit.group)

    def answered(self, manager: RequestContext, response: AddOffsetsToTxnResponse) -> None:
        """If the partition was added, send the offsets; after a retriable error, repeat the request."""
        if response.error == errors.NONE:
            manager.offsets_added(self.commit)
        else:
            self.failed(manager, response.error)
