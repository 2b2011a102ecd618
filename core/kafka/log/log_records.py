"""The records in a replica's log, from the first offset on disk to the LEO, as runs of one term each (Kafka: the segments of `LocalLog`).

A run is a pair (start offset, term), which means that the replica has the term's records from the start offset up to the start of the next
run. An append only extends the last run, so it takes as long to append ten million records as to append ten.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from core.kafka.log.leader_term import SIZE, FetchedRecords, PackedRecords, Run, Term
from core.sim.journal import Column


class LogRecords:
    """The runs of a log. The log knows where the last run ends.

    Attributes:
        starts, terms: the start offsets and the terms of the runs, in offset order, starting at the first segment's base. `starts` and
            `terms` are immutable tuples, which snapshots share.
        tail: the term of the last records; None if the log is empty.
    """

    __slots__ = ("starts", "tail", "terms")

    def __init__(self) -> None:
        self.starts: tuple[int, ...] = ()
        self.terms: tuple[Term, ...] = ()
        self.tail: Term | None = None

    def read(self, start: int, end: int, max_bytes: int, max_records: int = 0) -> PackedRecords | None:
        """Return the records from `start` up to `end` that fit the limits, but at least one record if there is any (`UnifiedLog#read`,
        minOneMessage).

        If log compaction removed the records at `start`, the result begins with the next batch.
        """
        if max_records:
            compacted = any(term.compacted for term in self.terms)
            end = min(end, (self.next_record(start, end) if compacted else start) + max_records)
        term = self.tail
        if term is not None:
            latest: FetchedRecords = term.latest
            first: int = latest[0]
            last: int = latest[1]
            if start == first and end == last and latest[SIZE] <= max_bytes:
                return term.latest
        if start >= end:
            return None
        found: list[tuple[Column, Column, Term, int]] = []
        starts = self.starts
        i = len(starts) - 1 if starts[-1] <= start else bisect_right(starts, start) - 1
        while start < end:
            term = self.terms[i]
            i += 1
            stop = end if i == len(starts) else min(end, starts[i])
            floor = term.bytes_before(start)
            size = term.bytes_before(stop) - floor
            if size > max_bytes:
                if found and max_bytes <= 0:
                    break
                upto = term.offset_within(start, stop, floor + max_bytes)
                found.append((start, upto, term, term.bytes_before(upto) - floor))
                break
            found.append((start, stop, term, size))
            max_bytes -= size
            start = stop
        while found and found[-1][2].compacted:  # a fetch does not return offsets after its last batch
            start, stop, term, size = found.pop()
            stop = term.last_end(start, stop)
            if stop > start:
                found.append((start, stop, term, size))
                break
        total = 0
        records: FetchedRecords | None = None
        for low, high, term, size in reversed(found):
            total += size
            records = (low, high, term, total, records)
        return records

    def bytes_between(self, start: int, end: int) -> int:
        """Return the size of the records in [start, end) in bytes."""
        total = 0
        for run in self.runs_from(start, end):
            low, high = max(start, run.start), run.end
            if low < high:
                total += run.term.bytes_before(high) - run.term.bytes_before(low)
        return total

    def next_record(self, offset: int, end: int) -> int:
        """Return the first offset at or after `offset` whose record log compaction has not removed; `end` if there is none below `end`."""
        for run in self.runs_from(offset, end):
            if not run.term.compacted:
                return max(offset, run.start)
            for low, _ in run.term.surviving(max(offset, run.start), run.end):
                return low
        return end

    def runs_from(self, offset: int, end: int) -> tuple[Run, ...]:
        """Return the runs up to an end, which is at most the LEO, starting with the run that contains an offset. Records below the log start
        are included.

        Where the log was cleaned or was copied from a cleaned log, the term of a run is a `CompactedTerm`.
        """
        starts = self.starts
        if not starts:
            return ()
        first = max(bisect_right(starts, offset) - 1, 0)
        ends = [*starts[first + 1 :], end]
        return tuple(
            Run(start, min(stop, end), term)
            for start, stop, term in zip(starts[first:], ends, self.terms[first:], strict=True)
            if start < min(stop, end)
        )

    def term_of(self, offset: int) -> Term:
        """Return the term of the record at an offset at or above the first one and below the LEO."""
        return self.terms[bisect_right(self.starts, offset) - 1]

    # --- changes ---------------------------------------------------------------------------------------------------

    def begin_run(self, term: Term, start: int) -> None:
        """Start a new run at the end of the log, whose records belong to a different term."""
        if self.tail is not None:
            self.tail.close()
        self.starts = (*self.starts, start)
        self.terms = (*self.terms, term)
        self.tail = term

    def truncate_to(self, offset: int) -> None:
        """Remove all records at and above an offset."""
        left = bisect_left(self.starts, offset)
        self.starts, self.terms = self.starts[:left], self.terms[:left]
        self.tail = self.terms[-1] if self.terms else None

    def drop_below(self, offset: int) -> None:
        """Remove all records below an offset that is below the LEO."""
        count = bisect_right(self.starts, offset)
        if count:
            self.starts = (offset, *self.starts[count:])
            self.terms = self.terms[count - 1 :]

    def replace(self, runs: tuple[Run, ...]) -> None:
        """Replace all records by those of the given runs."""
        self.starts = tuple(run.start for run in runs)
        self.terms = tuple(run.term for run in runs)
        self.tail = self.terms[-1] if self.terms else None

    def clear(self) -> None:
        """Remove all records."""
        self.starts, self.terms, self.tail = (), (), None
