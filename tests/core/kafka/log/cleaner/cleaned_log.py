"""A log of keyed records, and the cleaner that is run on it by hand."""

from __future__ import annotations

from core.kafka.ids import NO_OFFSET
from core.kafka.log.cleaner.cleanable_offsets import OffsetsToClean, log_to_clean
from core.kafka.log.cleaner.cleaner import Cleaned, clean, held_batches
from core.kafka.log.cleaner.offset_map import OffsetMap
from core.kafka.log.control_record import ABORT, COMMIT, MARKER_BYTES, EndTransactionMarker
from core.kafka.log.leader_term import Batch, Term
from core.kafka.log.log_config import LogConfig
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.release import CURRENT, Release
from core.sim.units import US_PER_MS

RETENTION = 86_400_000 * US_PER_MS
"""delete.retention.ms, in µs."""

NEVER = 2**62
"""A time after every delete horizon, in µs."""


class CleanedLog:
    """A log with one leader that appends keyed records."""

    def __init__(self, release: Release = CURRENT, **config: int) -> None:
        self.release = release
        self.log = ReplicaLog()
        self.log.configure(LogConfig(compact=True, delete=False, **config))
        self.term = Term(0, 1)
        self.now = 1_000_000
        self.dirty = 0
        self._sequences: dict[tuple[int, int], int] = {}

    def put(
        self, *keys: object, pid: int = -1, epoch: int = 0, txn: bool = False, value: object = "v", at: int | None = None, seq: int = -1
    ) -> None:
        """Append one batch with a record for each key. A value of None makes tombstones."""
        if pid >= 0:
            seq = self._sequences.get((pid, epoch), 0) if seq < 0 else seq
            self._sequences[pid, epoch] = seq + len(keys)
        content = tuple((key, value) for key in keys)
        self._append(len(keys), 61 + 12 * len(keys), pid, epoch, seq, txn, content, self.now if at is None else at)

    def commit(self, pid: int, epoch: int = 0) -> None:
        self._append(1, MARKER_BYTES, pid, epoch, -1, True, EndTransactionMarker(COMMIT, 0), self.now)

    def abort(self, pid: int, epoch: int = 0) -> None:
        self._append(1, MARKER_BYTES, pid, epoch, -1, True, EndTransactionMarker(ABORT, 0), self.now)

    def _append(self, records: int, size: int, pid: int, epoch: int, seq: int, txn: bool, content: object, at: int) -> None:
        log, term = self.log, self.term
        term.has_producer_ids |= pid >= 0
        term.stamped |= at != self.now
        log.append_as_leader(term, (log.leo, records, size, "p", log.leo, at, pid, epoch, seq, txn, content))
        log.update_high_watermark(log.leo)

    def roll(self) -> None:
        """Close the active segment."""
        self.log.bases = (*self.log.roll(), self.log.leo)

    def clean(self, dirty: int = 0, *, now: int | None = None, slots: int = 1000) -> Cleaned:
        """Run one pass from a dirty offset to the active segment, and record the next dirty offset."""
        log = self.log
        to_clean = log_to_clean(log, OffsetsToClean(dirty, log.roll()[-1], False), self.now)
        done = clean(to_clean, OffsetMap(slots), self.now if now is None else now, self.release)
        self.dirty = done.end
        return done

    def clean_twice(self, dirty: int = 0) -> None:
        """Run one pass now, and another pass after every delete horizon."""
        self.clean(dirty)
        self.clean(dirty, now=NEVER)

    @property
    def offsets(self) -> list[int]:
        """Return the offsets of all records and markers."""
        return [offset for _, each in held_batches(self.log, 0, self.log.leo) for offset in each.offsets]

    @property
    def batches(self) -> list[int]:
        """Return the last offset of each batch."""
        return [each.end - 1 for _, each in held_batches(self.log, 0, self.log.leo)]

    @property
    def keys(self) -> list[object]:
        """Return the keys of all records."""
        found = []
        for _, each in held_batches(self.log, 0, self.log.leo):
            found += [record[0] for offset in each.offsets if (record := each.record(offset)) is not None]
        return found

    @property
    def horizons(self) -> dict[int, int]:
        """Return the delete horizon of each batch that has one, by last offset, in µs."""
        return {each.end - 1: each.horizon for _, each in held_batches(self.log, 0, self.log.leo) if each.horizon >= 0}

    @property
    def aborted(self) -> list[tuple[int, ...]]:
        """Return the entries of the transaction index."""
        producers = self.log.producer_state()
        return [] if producers is None else [tuple(entry) for entry in producers.aborted]

    def last_sequences(self) -> dict[int, int]:
        """Return the last sequence number of each producer, as a new process finds it in the log."""
        self.log.producers = None
        producers = self.log.producer_state()
        assert producers is not None
        return {pid: entry.last_sequence for pid, entry in producers.entries.items()}

    def repeat(self, pid: int, seq: int, records: int) -> tuple[int, int] | None:
        """Return the offsets with which a leader answers a repeated batch, or None if it does not know the batch."""
        producers = self.log.producer_state()
        found = None if producers is None else producers.duplicate(pid, 0, seq, records)
        return None if found is None else (found.first_offset, found.last_offset)

    def committed(self, below: int = NO_OFFSET) -> dict[object, object]:
        """Return the last committed value of each key below an offset, including tombstones."""
        end = self.log.leo if below == NO_OFFSET else below
        return committed_values(self.log, end)


def committed_values(log: ReplicaLog, end: int) -> dict[object, object]:
    """Return the last value of each key below an offset that a consumer with isolation level read_committed reads, or None for a tombstone."""
    producers = log.producer_state()
    aborted = [] if producers is None else producers.aborted
    found: dict[object, object] = {}
    for _, each in held_batches(log, log.log_start, end):
        batch: Batch = each.batch
        if batch.transactional and any(
            entry.producer_id == batch.producer_id and entry.first_offset <= batch.base < entry.last_offset for entry in aborted
        ):
            continue
        for offset in each.offsets:
            record = each.record(offset)
            if record is not None:
                found[record[0]] = record[1]
    return found
