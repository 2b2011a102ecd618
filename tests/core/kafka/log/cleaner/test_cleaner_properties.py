"""Whatever is appended, cleaned, and truncated, cleaning never changes a key's last committed value or a producer's last sequence number."""

from __future__ import annotations

import random

import pytest

from core.kafka.log.cleaner.cleanable_offsets import cleanable_offsets, log_to_clean
from core.kafka.log.cleaner.cleaner import clean, held_batches
from core.kafka.log.cleaner.offset_map import OffsetMap
from core.kafka.log.control_record import ABORT, COMMIT, EndTransactionMarker
from core.kafka.log.leader_term import Batch, Term, fetched_ranges
from core.kafka.log.log_config import LogConfig
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.release import Release
from tests.core.kafka.log.cleaner.cleaned_log import committed_values

CONFIG = LogConfig(compact=True, delete=False, segment_bytes=300, delete_retention_us=40)


class Logs:
    """A log that is cleaned, and the same log without cleaning."""

    def __init__(self, seed: int, release: str) -> None:
        self.draw = random.Random(f"{seed} {release}")
        self.release = Release.named(release)
        self.cleaned, self.whole = ReplicaLog(), ReplicaLog()
        for log in (self.cleaned, self.whole):
            log.configure(CONFIG)
        self.term = Term(0, 1)
        self.now = 0
        self.checkpoint: int | None = None
        self.sequences = dict.fromkeys(range(3), 0)
        self.open: set[int] = set()
        self.decided: dict[int, int] = {}  # the results of transactions whose markers were truncated, by producer ID
        self.truncated = False

    def append(self, records: int, pid: int, sequence: int, transactional: bool, content: object) -> None:
        self.term.has_producer_ids |= pid >= 0
        base = self.whole.leo
        batch = Batch(base, records, 61 + 10 * records, "p", base, self.now, pid, 0, sequence, transactional, content)
        end = self.whole.append_as_leader(self.term, batch)
        size = self.term.bytes_before(end) - self.term.bytes_before(base)
        self.cleaned.append_as_follower((base, end, self.term, size, None))

    def produce(self) -> None:
        pid, records = self.draw.randrange(-1, 3), self.draw.randrange(1, 4)
        content = tuple((self.draw.randrange(4), self.draw.choice([None, self.draw.random()])) for _ in range(records))
        if pid < 0:
            self.append(records, -1, -1, False, content)
            return
        if pid in self.decided:
            return
        transactional = pid in self.open or self.draw.random() < 0.5
        if transactional:
            self.open.add(pid)
        self.append(records, pid, self.sequences[pid], transactional, content)
        self.sequences[pid] += records

    def end(self) -> None:
        if self.open:
            pid = self.draw.choice(sorted(self.open))
            self.open.discard(pid)
            result = self.decided.pop(pid, self.draw.choice([COMMIT, ABORT]))
            self.append(1, pid, -1, True, EndTransactionMarker(result, 0))

    def replicate(self) -> None:
        mark = self.draw.randrange(self.whole.high_watermark, self.whole.leo + 1)
        for log in (self.cleaned, self.whole):
            log.update_high_watermark(mark)
            if log.producers is not None:
                log.producers.high_watermark_updated(mark)

    def truncate(self) -> None:
        if self.whole.high_watermark < self.whole.leo and self.release.cleans_below_high_watermark:
            to = self.draw.randrange(self.whole.high_watermark, self.whole.leo)
            for batch in reversed([each.batch for _, each in held_batches(self.whole, to, self.whole.leo)]):
                if batch.marker is not None:
                    self.decided[batch.producer_id] = batch.marker.control_type
            for log in (self.cleaned, self.whole):
                log.truncate_to(to)
            self.truncated = True
            self.term = Term(self.term.epoch + 1, 1)
            producers = self.whole.producer_state()
            self.open = set() if producers is None else set(producers.ongoing.values())
            self.decided = {pid: result for pid, result in self.decided.items() if pid in self.open}
            for pid in self.sequences:
                entry = None if producers is None else producers.entries.get(pid)
                self.sequences[pid] = 0 if entry is None else entry.last_sequence + 1

    def clean(self) -> None:
        offsets = cleanable_offsets(self.cleaned, self.checkpoint, self.now, self.release)
        to_clean = log_to_clean(self.cleaned, offsets, self.now)
        if to_clean.cleanable_bytes:
            self.checkpoint = clean(to_clean, OffsetMap(self.draw.choice([2, 3, 100])), self.now, self.release).end

    def step(self) -> None:
        self.now += self.draw.randrange(1, 20)
        acts = [self.produce] * 8 + [self.end] * 3 + [self.replicate] * 3 + [self.clean] * 2 + [self.truncate]
        self.draw.choice(acts)()

    def check(self) -> None:
        cleaned_end = self.checkpoint or 0
        stable = self.whole.last_stable_offset()
        if stable >= cleaned_end or not self.release.cleans_below_high_watermark:
            for end in (cleaned_end, max(cleaned_end, stable)):
                assert values(self.cleaned, end) == values(self.whole, end)
        if not self.truncated:
            assert sequences(self.cleaned) == sequences(self.whole)

    def copy(self) -> ReplicaLog:
        """Return a follower's log, fetched piece by piece from the cleaned log."""
        follower = ReplicaLog()
        follower.configure(CONFIG)
        while (records := self.cleaned.records.read(follower.leo, self.cleaned.leo, self.draw.randrange(1, 400))) is not None:
            assert next(fetched_ranges(records)).start == follower.leo
            follower.append_as_follower(records)
        return follower


def values(log: ReplicaLog, end: int) -> dict[object, object]:
    return {key: value for key, value in committed_values(log, end).items() if value is not None}


def sequences(log: ReplicaLog) -> dict[int, int]:
    """Return the last sequence numbers that a new process without snapshots finds in the log."""
    kept, log.producers = log.producers, None
    producers = log.producer_state()
    log.producers = kept
    return {} if producers is None else {pid: entry.last_sequence for pid, entry in producers.entries.items() if entry.batches}


@pytest.mark.parametrize("release", ["2.8", "3.3", "4.0", "4.3"])
def test_cleaning_changes_no_last_value_and_no_last_sequence(release: str) -> None:
    removed = 0
    for seed in range(60):
        logs = Logs(seed, release)
        for _ in range(60):
            logs.step()
            logs.check()
        removed += logs.whole.size - logs.cleaned.size
        follower = logs.copy()
        stable = max(logs.whole.last_stable_offset(), logs.checkpoint or 0)
        if follower.leo >= stable and logs.whole.last_stable_offset() >= (logs.checkpoint or 0):
            assert values(follower, stable) == values(logs.whole, stable)
        assert [each for _, each in held_batches(follower, 0, follower.leo)] == [
            each for _, each in held_batches(logs.cleaned, 0, logs.cleaned.leo)
        ]
        assert follower.size == logs.cleaned.size
        assert follower.differences(logs.whole) == []
    assert removed > 60 * 300
