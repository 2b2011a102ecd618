"""Two replicas under random appends, markers, fetches, restarts, and leader changes: properties that the producer state always has.

Reference: the state that a new replica builds from the same records, and the stable offset computed from all batches.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.kafka.log.leader_term import Batch, Term
from core.kafka.log.log_config import LogConfig
from core.kafka.log.producer_state import ProducerStateManager
from core.kafka.log.producer_state_entry import ProducerStateEntry, increment_sequence
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.log.segments import batch_boundary
from core.kafka.release import CURRENT
from tests.core.kafka.log.producers import ProducerLog

PIDS = (1, 2, 3)

SEND = st.tuples(st.just("send"), st.sampled_from(PIDS), st.integers(1, 4), st.booleans())
MARK = st.tuples(st.just("mark"), st.sampled_from(PIDS), st.booleans(), st.booleans())
COMMIT = st.just(("commit",))

STEPS = st.one_of(
    SEND,
    SEND,
    SEND,
    MARK,
    MARK,
    COMMIT,
    COMMIT,
    st.tuples(st.just("plain"), st.integers(1, 3)),
    st.tuples(st.just("fetch"), st.integers(1, 12)),
    st.tuples(st.just("change-leader")),
    st.tuples(st.just("restart"), st.booleans()),
    st.tuples(st.just("snapshot"), st.booleans()),
    st.tuples(st.just("roll"), st.booleans()),
    st.tuples(st.just("look"), st.booleans()),
)


def new_log() -> ProducerLog:
    log = ProducerLog()
    log.configure(LogConfig(segment_bytes=900))
    return log


@dataclass
class Replicas:
    """A leader and its only follower."""

    leader: ProducerLog = field(default_factory=new_log)
    follower: ProducerLog = field(default_factory=new_log)
    floor: int = 0
    reloaded: bool = False

    def do(self, step: tuple) -> None:
        leader, follower = self.leader, self.follower
        leader.now += 1_000
        match step:
            case "send", pid, records, txn:
                entry = leader.state.entries.get(pid)
                epoch = 0 if entry is None else entry.epoch
                sequence = 0 if entry is None else increment_sequence(entry.last_sequence, 1)
                txn = txn or (entry is not None and entry.open_from >= 0)
                assert leader.send(sequence, records, pid=pid, epoch=epoch, txn=txn) == "NONE"
            case "mark", pid, commit, bump:
                entry = leader.state.entries.get(pid)
                epoch = (0 if entry is None else entry.epoch) + bump
                assert leader.end(commit=commit, pid=pid, epoch=epoch) == "NONE"
            case "plain", records:
                leader.plain(records)
            case "fetch", records:
                self.fetch(follower.leo + records)
            case ("commit",):
                self.fetch(leader.leo - 1)
                leader.update_high_watermark(max(leader.high_watermark, follower.leo))
                follower.update_high_watermark(leader.high_watermark)
            case ("change-leader",):
                self.change_leader()
            case "restart", leads:
                log = leader if leads else follower
                log.reopen()
                self.reloaded = self.reloaded or leads
            case "snapshot", leads:
                (leader if leads else follower).take_producer_snapshot()
            case "roll", leads:
                (leader if leads else follower).roll()
            case "look", leads:
                (leader if leads else follower).last_stable_offset()

    def fetch(self, end: int) -> None:
        """Let the follower fetch up to an offset, which can lie within a batch."""
        records = self.leader.records.read(self.follower.leo, min(end, self.leader.leo), 10_000_000)
        if records is not None:
            self.follower.append_as_follower(records)

    def change_leader(self) -> None:
        """Make the follower the leader, starting at the end of its last whole batch. The former leader truncates to that offset."""
        old, new = self.leader, self.follower
        boundary = batch_boundary(old, new.leo)
        if boundary < new.leo:
            self.fetch(next(end for run in old.runs() for each in run.term.batches if (end := each.base + each.records) >= new.leo))
        new.term, new.now = Term(old.term.epoch + 1, 3 - old.term.leader), old.now
        old.truncate_to(new.leo)
        new.truncate_to(new.leo)
        self.leader, self.follower = new, old
        self.floor, self.reloaded = 0, True

    def check(self) -> None:
        for log in (self.leader, self.follower):
            assert_same_state(log.ensure_producer_state(), rebuilt(log))
            assert log.last_stable_offset() <= log.high_watermark
        stable, walked = self.leader.last_stable_offset(), walk(self.leader)
        assert stable >= self.floor, "it never falls while a leader leads"
        assert stable == walked or (self.reloaded and stable > walked)
        self.floor = stable


def rebuilt(log: ReplicaLog) -> ProducerStateManager:
    """Return the state that a new replica builds from the records of a log."""
    new = ReplicaLog(release=CURRENT)
    records = log.records.read(0, log.leo, 10_000_000)
    if records is not None:
        new.append_as_follower(records)
    return new.ensure_producer_state()


def assert_same_state(state: ProducerStateManager, other: ProducerStateManager) -> None:
    """Assert that producers, transactions, and index are the same. After a reload, all batches except the newest can be missing."""
    assert {pid: fields(entry) for pid, entry in state.entries.items()} == {pid: fields(entry) for pid, entry in other.entries.items()}
    for pid, entry in state.entries.items():
        kept, all_of_them = list(entry.batches), list(other.entries[pid].batches)
        assert kept == all_of_them[len(all_of_them) - len(kept) :]
        assert bool(kept) == bool(all_of_them)
    assert state.ongoing == other.ongoing
    assert list(state.ongoing) == sorted(state.ongoing)
    assert state.aborted == other.aborted
    assert state.end_offset == other.end_offset


def fields(entry: ProducerStateEntry) -> tuple[int, ...]:
    return entry.epoch, entry.last_sequence, entry.last_data_offset, entry.coordinator_epoch, entry.open_from, entry.last_timestamp


def whole_batches(log: ReplicaLog) -> list[Batch]:
    found = []
    for run in log.runs():
        found += [
            each for each in run.term.batches_within(run.start, run.end) if run.start <= each.base and each.base + each.records <= run.end
        ]
    return found


def walk(log: ReplicaLog) -> int:
    """Compute the last stable offset by its definition."""
    open_from: dict[int, int] = {}
    unstable = []
    for batch in whole_batches(log):
        if batch.marker is not None:
            first = open_from.pop(batch.producer_id, None)
            if first is not None and batch.base >= log.high_watermark:
                unstable.append(first)
        elif batch.transactional:
            open_from.setdefault(batch.producer_id, batch.base)
    return min([*open_from.values(), *unstable, log.high_watermark])


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STEPS, min_size=8, max_size=60))
def test_the_state_is_that_of_the_log(steps: list[tuple]) -> None:
    replicas = Replicas()
    for step in steps:
        replicas.do(step)
        replicas.check()


@settings(max_examples=100, deadline=None)
@given(st.lists(STEPS, max_size=40), st.integers(0, 100))
def test_the_state_after_a_truncation_is_that_of_what_is_left(steps: list[tuple], percent: int) -> None:
    replicas = Replicas()
    for step in steps:
        replicas.do(step)
    log = replicas.leader
    log.truncate_to(log.leo * percent // 100)
    assert_same_state(log.ensure_producer_state(), rebuilt(log))
    log.truncate_to(log.leo * percent // 100)
    log.reopen()
    assert_same_state(log.ensure_producer_state(), rebuilt(log))


@settings(max_examples=100, deadline=None)
@given(st.lists(STEPS, max_size=40), st.integers(0, 100))
def test_deleted_records_neither_lower_nor_break_the_stable_offset(steps: list[tuple], percent: int) -> None:
    """A deletion keeps the producers (KAFKA-7190), and the LSO remains between the batch of the log start and the high watermark."""
    replicas = Replicas()
    for step in steps:
        replicas.do(step)
    log = replicas.leader
    before, known = log.last_stable_offset(), list(log.state.entries)
    start = log.high_watermark * percent // 100
    log.maybe_increment_log_start(start)
    stable = log.last_stable_offset()
    assert before <= stable <= log.high_watermark
    assert stable >= batch_boundary(log, start)
    assert list(log.state.entries) == known
