"""A log whose producers are played by the test. As in the broker, a batch must pass the leader's checks before it is appended."""

from __future__ import annotations

from core.kafka import errors
from core.kafka.log.control_record import ABORT, COMMIT, EndTransactionMarker
from core.kafka.log.leader_term import Batch, Term
from core.kafka.log.producer_state import NO_GUARD, ProducerStateManager
from core.kafka.log.producer_state_entry import ProducerStateEntry
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.release import CURRENT, Release

OUT_OF_ORDER = errors.OUT_OF_ORDER_SEQUENCE_NUMBER
MS = 1_000


class ProducerLog(ReplicaLog):
    """A leader's log. `now` is the time of the next batch, in µs. Every append belongs to the current term."""

    __slots__ = ("now", "term", "verifies")

    def __init__(self, release: Release = CURRENT, *, verifies: bool = False) -> None:
        super().__init__(release=release)
        self.term = Term(0, 1)
        self.now = 0
        self.verifies = verifies

    @property
    def state(self) -> ProducerStateManager:
        """Return the state of the producers up to the LEO."""
        return self.ensure_producer_state()

    def entry(self, pid: int = 1) -> ProducerStateEntry:
        """Return the state of one producer."""
        return self.state.entries[pid]

    def put(self, batch: Batch) -> None:
        """Append a batch without any check."""
        self.append_as_leader(self.term, batch)
        self.term.has_producer_ids = self.term.has_producer_ids or batch.producer_id >= 0

    def plain(self, records: int = 1) -> None:
        """Append records of a producer without a producer ID."""
        self.put(Batch(self.leo, records, 100 * records, "n", self.leo, self.now))

    def send(self, sequence: int, records: int = 1, *, pid: int = 1, epoch: int = 0, txn: bool = False, guard: int = NO_GUARD) -> str:
        """Append a client's batch, and return NONE, DUPLICATE, or the error."""
        if self.state.duplicate(pid, epoch, sequence, records) is not None:
            return "DUPLICATE"
        error = self.state.validate(pid, epoch, sequence, transactional=txn, verified=not self.verifies, guard=guard)
        if error == errors.NONE:
            self.replicate(sequence, records, pid=pid, epoch=epoch, txn=txn)
        return error

    def replicate(self, sequence: int, records: int = 1, *, pid: int = 1, epoch: int = 0, txn: bool = False) -> None:
        """Append a batch without the leader's checks."""
        self.put(Batch(self.leo, records, 100 * records, "p", self.leo, self.now, pid, epoch, sequence, txn))

    def end(self, *, commit: bool = True, pid: int = 1, epoch: int = 0, ce: int = 0, must_rise: bool = False) -> str:
        """Append a marker, and return NONE or the error."""
        error = self.state.validate_marker(pid, epoch, ce, must_rise=must_rise)
        if error == errors.NONE:
            self.mark(commit=commit, pid=pid, epoch=epoch, ce=ce)
        return error

    def mark(self, *, commit: bool = True, pid: int = 1, epoch: int = 0, ce: int = 0) -> None:
        """Append a marker without the leader's checks."""
        marker = EndTransactionMarker(COMMIT if commit else ABORT, ce)
        self.put(Batch(self.leo, 1, 78, "c", 0, self.now, pid, epoch, -1, True, marker))

    def commit_to(self, offset: int) -> int:
        """Move the high watermark, and return the last stable offset."""
        self.update_high_watermark(offset)
        return self.last_stable_offset()

    def unstable(self) -> int:
        """Return the first unstable offset, or -1 if there is none."""
        return self.state.first_unstable_offset(self.high_watermark)

    def reopen(self) -> None:
        """Open the log in a new process."""
        self.open_at(self.log_start)
        self.reload_producers(restarted=True)
