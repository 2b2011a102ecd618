"""The number of records in a replica's log after log compaction, and the value of a key."""

from __future__ import annotations

import attrs

from core.kafka.broker.disk import Disk
from core.kafka.ids import TopicPartition
from core.kafka.log.cleaner.compacted_term import retained_within
from core.kafka.log.index.transaction_index import AbortedTransaction
from core.kafka.log.leader_term import Run
from core.sim.repr_mixin import ReprMixin

NO_VALUE = "none"
"""The value of a key that has no record, or whose last record is a tombstone."""


@attrs.frozen(repr=False)
class LogContents(ReprMixin):
    """The contents of a compacted log. The contents refer to the batches of the running cluster, so use them immediately.

    Attributes:
        runs: the ranges of records in the log, in offset order from the log start.
        stable: the last stable offset of the log.
        aborted: the aborted transactions in the log's transaction index.
    """

    runs: tuple[Run, ...]
    stable: int
    aborted: tuple[AbortedTransaction, ...]

    @staticmethod
    def of(disk: Disk, tp: TopicPartition) -> LogContents | None:
        """Return the contents of a log on a disk; None if the disk has no such log, or if the topic is not compacted."""
        log = disk.logs.get(tp) or disk.offline.get(tp)
        if log is None or not log.config.compact:
            return None
        stable = log.last_stable_offset()
        return LogContents(log.readable_runs(), stable, () if log.producers is None else tuple(log.producers.aborted))

    def records(self) -> int:
        """Return the number of records, not counting transaction markers."""
        return sum(
            len(each.offsets) for run in self.runs for each in retained_within(run.term, run.start, run.end) if each.batch.marker is None
        )

    def value(self, key: str) -> str:
        """Return the last committed value of a key, as a consumer with isolation level read_committed finds it if it reads from the log start."""
        found = NO_VALUE
        for run in self.runs:
            for each in retained_within(run.term, run.start, min(run.end, self.stable)) if run.start < self.stable else ():
                if not each.batch.transactional or not self._is_aborted(each.batch.producer_id, each.batch.base):
                    for offset in each.offsets:
                        record = each.record(offset)
                        if record is not None and record[0] == key:
                            found = NO_VALUE if record[1] is None else str(record[1])
        return found

    def _is_aborted(self, producer_id: int, base: int) -> bool:
        return any(entry.producer_id == producer_id and entry.first_offset <= base < entry.last_offset for entry in self.aborted)
