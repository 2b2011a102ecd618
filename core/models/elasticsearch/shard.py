"""A copy of the shard on a node: its operations, its checkpoints, and the documents that reads return."""

from __future__ import annotations

from collections.abc import Sequence

from core.models.client_messages import Row
from core.models.elasticsearch.elasticsearch_messages import Op
from core.models.server import Rows


class ShardCopy:
    """A copy.

    Attributes:
        translog: the operations on this node, by sequence number.
        synced: the sequence numbers of the operations that are on disk, if operations are not synced immediately.
        indexed: the operations in the index. After a rollback, the translog still has operations that the index lacks.
        primary_term: the highest primary term that the copy knows.
        local_checkpoint: the highest sequence number up to which all operations are indexed; -1 if there is none.
        global_checkpoint: the highest sequence number that all in-sync copies have, according to the last message from the primary.
        documents: the documents that a GET by ID returns.
        searchable: the documents that a search finds, which are those at the last refresh.
    """

    __slots__ = ("documents", "global_checkpoint", "indexed", "local_checkpoint", "primary_term", "searchable", "synced", "translog")

    def __init__(self) -> None:
        self.translog: dict[int, Op] = {}
        self.synced: set[int] = set()
        self.indexed: dict[int, Op] = {}
        self.primary_term = 0
        self.local_checkpoint = -1
        self.global_checkpoint = -1
        self.documents = Rows()
        self.searchable = Rows()

    @property
    def max_seqno(self) -> int:
        """The highest sequence number of an indexed operation; -1 if there is none."""
        return max(self.indexed, default=-1)

    def index(self, op: Op) -> None:
        """Index an operation. Of two operations with the same number, the one with the higher term wins."""
        known = self.indexed.get(op.seqno)
        if known is not None and known.term > op.term:
            return
        self.translog[op.seqno] = self.indexed[op.seqno] = op
        if op.row is not None:
            self.documents.add(op.row)
        while self.local_checkpoint + 1 in self.indexed:
            self.local_checkpoint += 1

    def above(self, checkpoint: int) -> tuple[Op, ...]:
        """Return the indexed operations whose sequence numbers are above a given one, in order."""
        return tuple(self.indexed[seqno] for seqno in sorted(self.indexed) if seqno > checkpoint)

    def learn_global_checkpoint(self, checkpoint: int) -> None:
        """Learn the global checkpoint, which never goes back."""
        self.global_checkpoint = max(self.global_checkpoint, checkpoint)

    def roll_back(self) -> int:
        """Drop the operations above the global checkpoint from the index, and return how many there were. The translog keeps the dropped
        operations.
        """
        gone = [seqno for seqno in self.indexed if seqno > self.global_checkpoint]
        for seqno in gone:
            del self.indexed[seqno]
        self._reset()
        return len(gone)

    def trim_translog(self) -> None:
        """Drop from the translog the operations that are not indexed."""
        self.translog = dict(self.indexed)

    def restore_from_translog(self) -> None:
        """Index all operations in the translog (`Engine#restoreLocalHistoryFromTranslog`)."""
        self.indexed = dict(self.translog)
        self._reset()

    def clear(self) -> None:
        """Drop everything."""
        self.translog.clear()
        self.indexed.clear()
        self.global_checkpoint = -1
        self._reset()

    def _reset(self) -> None:
        self.documents.reset(op.row for seqno, op in sorted(self.indexed.items()) if op.row is not None)
        self.local_checkpoint = -1
        while self.local_checkpoint + 1 in self.indexed:
            self.local_checkpoint += 1

    def gaps(self) -> list[int]:
        """Return the gaps: the sequence numbers that have no indexed operation and are below the highest indexed sequence number."""
        return [seqno for seqno in range(self.max_seqno) if seqno not in self.indexed]

    def refresh(self) -> None:
        """Make the documents visible to searches."""
        self.searchable.become(self.documents)

    def documents_in_order(self) -> Sequence[Row]:
        """Return the documents in the order of their operations."""
        return [op.row for _, op in sorted(self.indexed.items()) if op.row is not None]

    def sync(self) -> None:
        """Sync the translog to disk."""
        self.synced = set(self.translog)

    def lose_power(self) -> int:
        """Drop the operations that were not synced. Return the number of dropped operations."""
        gone = [seqno for seqno in self.translog if seqno not in self.synced]
        for seqno in gone:
            del self.translog[seqno]
        self.restore_from_translog()
        self.global_checkpoint = min(self.global_checkpoint, self.local_checkpoint)
        return len(gone)
