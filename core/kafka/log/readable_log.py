"""The records that can be read from a replica's log, from the first offset on disk to the LEO, as runs of one term each.

A run is a pair (start offset, term), which means that the replica has the term's records from the start offset up to the start of the next
run. An append only extends the last run, so it takes as long to append ten million records as to append ten.
"""

from __future__ import annotations

from bisect import bisect_right

from core.kafka.log.leader_term import FetchedRecords, Run, Term
from core.sim.journal import Column


class ReadableLog:
    """The runs of a log, and everything that can be read from them. `ReplicaLog` changes them.

    Attributes:
        leo: the log end offset, which is the offset of the next record.
        log_start: the first readable offset; records below it are waiting to be deleted.
        starts, terms: the start offsets and the terms of the runs, in offset order, starting at the first segment's base. Like `bases`,
            `starts` and `terms` are immutable tuples, which snapshots share.
        tail: the term of the last records; None if the log is empty.
        bases: the base offsets of segments that have been computed so far (`ReplicaLog.roll`); None means a single segment that starts at
            the first offset.
    """

    __slots__ = ("bases", "leo", "log_start", "starts", "tail", "terms")

    def __init__(self) -> None:
        self.leo = 0
        self.log_start = 0
        self.starts: tuple[int, ...] = ()
        self.terms: tuple[Term, ...] = ()
        self.tail: Term | None = None
        self.bases: tuple[int, ...] | None = None

    def read(self, start: int, end: int, max_bytes: int, max_records: int = 0) -> FetchedRecords | None:
        """Return the records from `start` up to `end` that fit the limits, but at least one record if there is any (`UnifiedLog#read`,
        minOneMessage).

        If log compaction removed the records at `start`, the result begins with the next batch.
        """
        if max_records:
            compacted = any(term.compacted for term in self.terms)
            end = min(end, (self.next_record(start) if compacted else start) + max_records)
        term = self.tail
        if term is not None:
            latest = term.latest
            if start == latest[0] and end == latest[1] and latest[3] <= max_bytes:
                return latest
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
        for run in self.physical_runs(start):
            low, high = max(start, run.start), min(end, run.end)
            if low < high:
                total += run.term.bytes_before(high) - run.term.bytes_before(low)
        return total

    @property
    def first_offset(self) -> int:
        """The first offset on disk, which is the base of the oldest segment."""
        if self.bases is not None:
            return self.bases[0]
        return self.starts[0] if self.starts else self.log_start

    @property
    def size(self) -> int:
        """The size of the log on disk, in bytes."""
        return self.bytes_between(self.first_offset, self.leo)

    def next_record(self, offset: int) -> int:
        """Return the first offset at or after `offset` whose record log compaction has not removed; the LEO if there is none."""
        for run in self.physical_runs(offset):
            if not run.term.compacted:
                return max(offset, run.start)
            for low, _ in run.term.surviving(max(offset, run.start), run.end):
                return low
        return self.leo

    def physical_runs(self, offset: int) -> tuple[Run, ...]:
        """Return the runs on disk, starting with the run that contains an offset. Records below the log start are included.

        Where the log was cleaned or was copied from a cleaned log, the term of a run is a `CompactedTerm`.
        """
        starts = self.starts
        if not starts:
            return ()
        first = max(bisect_right(starts, offset) - 1, 0)
        ends = [*starts[first + 1 :], self.leo]
        return tuple(
            Run(start, end, term) for start, end, term in zip(starts[first:], ends, self.terms[first:], strict=True) if start < end
        )

    def runs(self) -> tuple[Run, ...]:
        """Return all runs at and above the log start, including the records that log compaction has removed."""
        runs = self.readable_runs()
        return _originals(runs) if any(run.term.compacted for run in runs) else runs

    def readable_runs(self) -> tuple[Run, ...]:
        """Return all runs at and above the log start. Where the log was cleaned, the term of a run is a `CompactedTerm`."""
        start = self.log_start
        runs = self.physical_runs(start)
        if runs and runs[0].start < start:
            runs = (runs[0]._replace(start=start), *runs[1:])
        return runs if not runs or runs[0].start < runs[0].end else runs[1:]

    def term_at(self, offset: int) -> Term | None:
        """Return the term of the record at an offset, even if log compaction has removed the record; None if there was no record."""
        if not self.log_start <= offset < self.leo:
            return None
        return self.terms[bisect_right(self.starts, offset) - 1].origin

    def offset_for_timestamp(self, timestamp: int) -> int:
        """Return the offset of the first record, at or above the log start, whose timestamp is at or after a time in µs; -1 if there is
        none.

        Kafka: `UnifiedLog#fetchOffsetByTimestamp`.
        """
        for run in self.runs():
            found = run.term.first_since(run.start, run.end, timestamp)
            if found >= 0:
                return found
        return -1

    def differences(self, other: ReadableLog) -> list[tuple[int, int]]:
        """Return the offset ranges [start, end) in which both logs have records, but the records differ."""
        if self.starts == other.starts and self.terms == other.terms:
            return []
        at = max(self.log_start, other.log_start)
        end = min(self.leo, other.leo)
        found: list[tuple[int, int]] = []
        mine, theirs = self.runs(), other.runs()
        i = j = 0
        while at < end:
            while mine[i].end <= at:
                i += 1
            while theirs[j].end <= at:
                j += 1
            stop = min(mine[i].end, theirs[j].end, end)
            if mine[i].term is not theirs[j].term:
                if found and found[-1][1] == at:
                    found[-1] = (found[-1][0], stop)
                else:
                    found.append((at, stop))
            at = stop
        return found


def _originals(runs: tuple[Run, ...]) -> tuple[Run, ...]:
    """Return the runs of a log, with each term as its leader wrote it, before log compaction."""
    found: list[Run] = []
    for start, end, term in runs:
        if found and found[-1].term is term.origin:
            found[-1] = Run(found[-1].start, end, term.origin)
        else:
            found.append(Run(start, end, term.origin))
    return tuple(found)
