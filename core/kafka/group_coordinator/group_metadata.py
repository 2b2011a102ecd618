"""One group: its members and its offsets (Kafka: `GroupMetadata`, `OffsetMetadataManager`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from core.kafka.group_coordinator.classic_group.classic_group import ClassicGroup
from core.kafka.group_coordinator.consumer_group.consumer_group import ConsumerGroup
from core.kafka.group_coordinator.offsets_log import CommittedOffset
from core.kafka.ids import TopicPartition


class StoredOffset(NamedTuple):
    """A committed offset, and the offset of its record in `__consumer_offsets` (Kafka: `CommitRecordMetadataAndOffset`)."""

    record_offset: int
    committed: CommittedOffset


class GroupMetadata:
    """The state of one group.

    Attributes:
        name: the group ID.
        classic: the members and the state of the group in the classic protocol.
        consumer: the group if it uses the consumer protocol; otherwise None.
        offsets: the committed offsets by partition.
        pending_commits: the number of commits that are being written, by (partition, whether the commits are transactional).
        pending_transactional: for each producer ID with an open transaction, its offsets by partition.
    """

    __slots__ = ("classic", "consumer", "name", "offsets", "pending_commits", "pending_transactional")

    name: Final[str]
    offsets: Final[dict[TopicPartition, StoredOffset]]
    pending_commits: Final[dict[tuple[TopicPartition, bool], int]]
    pending_transactional: Final[dict[int, dict[TopicPartition, StoredOffset]]]

    def __init__(self, name: str) -> None:
        self.name = name
        self.classic = ClassicGroup(name)
        self.consumer: ConsumerGroup | None = None
        self.offsets = {}
        self.pending_commits = {}
        self.pending_transactional = {}

    # --- offsets ---------------------------------------------------------------------------------------------------

    def commit_begun(self, tps: Iterable[TopicPartition], *, transactional: bool) -> None:
        """Record that offsets are being written (`#prepareOffsetCommit`, `#prepareTxnOffsetCommit`)."""
        for tp in tps:
            self.pending_commits[tp, transactional] = self.pending_commits.get((tp, transactional), 0) + 1

    def commit_ended(self, tps: Iterable[TopicPartition], *, transactional: bool) -> None:
        """Record that the write of offsets has succeeded or failed."""
        for tp in tps:
            self.pending_commits[tp, transactional] -= 1
            if not self.pending_commits[tp, transactional]:
                del self.pending_commits[tp, transactional]

    def committed(self, tp: TopicPartition) -> CommittedOffset | None:
        """Return the committed offset of a partition; None if there is none."""
        stored = self.offsets.get(tp)
        return None if stored is None else stored.committed

    def store(self, tp: TopicPartition, stored: StoredOffset) -> bool:
        """Store a committed offset, unless a later record in the log has already set it. Return True if this call stored the committed
        offset."""
        known = self.offsets.get(tp)
        if known is not None and known.record_offset > stored.record_offset:
            return False
        self.offsets[tp] = stored
        return True

    def store_pending(self, producer_id: int, tp: TopicPartition, stored: StoredOffset) -> None:
        """Keep the offset of a transaction until the transaction's marker is committed (`GroupMetadata#onTxnOffsetCommitAppend`)."""
        pending = self.pending_transactional.setdefault(producer_id, {})
        known = pending.get(tp)
        if known is None or known.record_offset < stored.record_offset:
            pending[tp] = stored

    def complete_transaction(self, producer_id: int, *, commit: bool) -> tuple[tuple[TopicPartition, StoredOffset, bool], ...]:
        """End the transaction of a producer ID.

        An offset in the transaction takes effect only if it is newer than the known committed offset (`#completePendingTxnOffsetCommit`).

        Returns:
            For each partition, the offset in the transaction, and whether it is now the committed offset.
        """
        pending = self.pending_transactional.pop(producer_id, {})
        return tuple((tp, stored, commit and self.store(tp, stored)) for tp, stored in pending.items())

    def is_unstable(self, tp: TopicPartition, *, plain_commits_count: bool) -> bool:
        """Return whether an open transaction contains an offset for a partition (`#hasPendingOffsetCommitsForTopicPartition`).

        Args:
            tp: the partition.
            plain_commits_count: whether a non-transactional commit also counts while it is being written.
        """
        if (tp, True) in self.pending_commits or (plain_commits_count and (tp, False) in self.pending_commits):
            return True
        return any(tp in offsets for offsets in self.pending_transactional.values())
