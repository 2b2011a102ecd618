"""The rows of the common workload in Kafka's logs. Each row is a record in a separate batch, and the batch's ID is the row's uid."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from core.kafka.log.leader_term import Term
from core.kafka.log.replica_log import ReplicaLog
from core.models.client_messages import NOTHING, Row


class TermRows:
    """The rows that a leader appended in one term. Batches are only added to a term, and all replicas share the term.

    Attributes:
        read: the number of the term's batches that have been read so far.
        offsets: the offset of each row, by uid.
        rows: the offsets and the rows, in order.
        by_key: the offsets and the rows of each key, in order.
    """

    __slots__ = ("by_key", "offsets", "read", "rows")

    def __init__(self) -> None:
        self.read = 0
        self.offsets: dict[int, int] = {}
        self.rows: list[tuple[int, Row]] = []
        self.by_key: dict[str, tuple[list[int], list[Row]]] = {}

    def add(self, offset: int, row: Row) -> None:
        """Add the next row."""
        self.offsets[row.uid] = offset
        self.rows.append((offset, row))
        offsets, rows = self.by_key.setdefault(row.key, ([], []))
        offsets.append(offset)
        rows.append(row)


class RowIndex:
    """An index of the rows in all logs of a partition. The index reads each batch once, however many replicas hold the batch."""

    def __init__(self) -> None:
        self._terms: Final[dict[Term, TermRows]] = {}

    def _of(self, term: Term) -> TermRows:
        known = self._terms.get(term)
        if known is None:
            known = self._terms[term] = TermRows()
        while known.read < term.count:
            batch = term.batch(known.read)
            known.read += 1
            if type(batch.content) is tuple:
                for number, (key, value) in enumerate(batch.content):
                    known.add(batch.base + number, Row(key, int(value), batch.batch_id))
        return known

    def latest(self, log: ReplicaLog, key: str, end: int) -> Row:
        """Return the latest version of a key below an end offset. The versions of a key increase with the offset."""
        for run in reversed(log.runs()):
            offsets, rows = self._of(run.term).by_key.get(key, ((), ()))
            place = bisect_left(offsets, min(run.end, end))
            if place and offsets[place - 1] >= run.start:
                return rows[place - 1]
        return NOTHING

    def has(self, log: ReplicaLog, row: Row) -> bool:
        """Return whether a log has a row."""
        return any(run.start <= self._of(run.term).offsets.get(row.uid, -1) < run.end for run in log.runs())

    def rows(self, log: ReplicaLog, end: int, start: int = 0) -> Iterator[tuple[int, Row]]:
        """Yield the offsets and rows of a log from a start offset up to but not including an end offset, in order."""
        for run in log.runs():
            if run.end > start and run.start < end:
                rows = self._of(run.term).rows
                first, last = bisect_left(rows, (max(run.start, start),)), bisect_left(rows, (min(run.end, end),))
                yield from rows[first:last]
