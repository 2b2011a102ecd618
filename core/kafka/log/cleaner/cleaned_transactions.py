"""The transactions that the cleaner encounters while it reads a log (Kafka: `CleanedTransactionMetadata`).

The cleaner drops the records of aborted transactions. The cleaner keeps a transaction's marker at least until no record of that transaction
remains.
"""

from __future__ import annotations

from collections.abc import Iterable

from core.kafka.log.cleaner.compacted_term import RetainedBatch
from core.kafka.log.index.transaction_index import AbortedTransaction


class CleanedTransactions:
    """The state of the transactions at one point in a cleaning pass.

    Attributes:
        index: the entries of the transaction index that remain, in the order of their markers.
    """

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._coming = sorted(aborted, key=lambda each: each.first_offset, reverse=True)
        self._ongoing_committed: set[int] = set()
        self._ongoing_aborted: dict[int, AbortedTransaction] = {}
        self._with_batches: set[int] = set()  # the producer IDs of ongoing aborted transactions from which a batch was read
        self.index: list[AbortedTransaction] = []

    def starting_anew(self, aborted: Iterable[AbortedTransaction]) -> CleanedTransactions:
        """Return a new state that knows only the given aborted transactions. The new state adds its index entries to this state's index."""
        anew = CleanedTransactions(aborted)
        anew.index = self.index
        return anew

    def read_batch(self, retained: RetainedBatch) -> bool:
        """Register a batch of records. Return whether the records can be removed, which is the case if their transaction is aborted."""
        batch = retained.batch
        self._begin_up_to(retained.end)
        if not batch.transactional:
            return False
        if batch.producer_id in self._ongoing_aborted:
            self._with_batches.add(batch.producer_id)
            return True
        self._ongoing_committed.add(batch.producer_id)
        return False

    def read_marker(self, retained: RetainedBatch) -> bool:
        """Read a transaction marker. Return whether the marker can be removed, which is the case if no batch of its transaction was
        read."""
        self._begin_up_to(retained.end)
        marker = retained.batch.marker
        if not retained.offsets or marker is None:
            return True
        producer_id = retained.batch.producer_id
        if marker.commits:
            removable = producer_id not in self._ongoing_committed
            self._ongoing_committed.discard(producer_id)
            return removable
        entry = self._ongoing_aborted.pop(producer_id, None)
        if entry is None or producer_id not in self._with_batches:
            return True
        self._with_batches.remove(producer_id)
        self.index.append(entry)
        return False

    def _begin_up_to(self, end: int) -> None:
        while self._coming and self._coming[-1].first_offset < end:
            entry = self._coming.pop()
            self._ongoing_aborted.setdefault(entry.producer_id, entry)
