"""The log of one replica, by Kafka's own vectors: HW, EPO, and FOL for a single log (UnifiedLogTest, PartitionTest), and its checkpoint."""

from __future__ import annotations

import pytest

from core.kafka.broker.disk import Disk
from core.kafka.ids import TopicPartition
from core.kafka.log.leader_epoch_cache import LeaderEpochCache
from core.kafka.log.leader_term import Batch, Term, fetched_ranges
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.release import RELEASES
from tests.core.node_bench import log_of


def grow(log: ReplicaLog, records: int, term: Term) -> None:
    log.append_as_leader(term, Batch(log.leo, records, 100 * records, "p", log.leo, 0))


def replicate(log: ReplicaLog, start: int, end: int, term: Term) -> None:
    log.append_as_follower((start, end, term, 100 * (end - start), None))


# The high watermark


def test_hw_10_maintenance() -> None:
    log, term = ReplicaLog(), Term(0, 1)
    assert log.high_watermark == 0
    grow(log, 3, term)
    assert (log.high_watermark, log.leo) == (0, 3)
    log.update_high_watermark(1)
    assert log.high_watermark == 1
    log.update_high_watermark(5)
    assert log.high_watermark == 3, "clamped to the LEO"
    replicate(log, 3, 6, term)
    log.update_high_watermark(6)
    assert log.high_watermark == 6
    log.truncate_to(3)
    assert log.high_watermark == 3
    grow(log, 3, Term(1, 1))
    assert (log.high_watermark, log.leo) == (3, 6)
    log.truncate_fully_and_start_at(4)
    assert (log.leo, log.log_start, log.high_watermark) == (4, 4, 4)


def test_hw_12_checkpoint_keeps_each_partitions_own() -> None:
    disk = Disk()
    first, second = TopicPartition("a", 0), TopicPartition("b", 0)
    for tp in (first, second):
        disk.logs[tp] = log_of((0, 0), leo=20)
    assert disk.checkpoint_high_watermarks() == 0
    disk.load()
    assert disk.logs[first].high_watermark == 0, "no entry in the file means 0"
    for tp, offset in ((first, 5), (first, 10), (second, 15)):
        disk.logs[tp].update_high_watermark(offset)
        disk.checkpoint_high_watermarks()
        assert disk.high_watermarks[tp] == offset
    assert disk.high_watermarks == {first: 10, second: 15}
    disk.logs[first].update_high_watermark(12)
    disk.load()
    assert (disk.logs[first].high_watermark, disk.logs[second].high_watermark) == (10, 15)


def test_hw_12_loaded_high_watermark_is_clamped_to_the_log() -> None:
    disk = Disk(logs={TopicPartition("a", 0): log_of((0, 0), leo=3)}, high_watermarks={TopicPartition("a", 0): 8})
    disk.load()
    assert disk.logs[TopicPartition("a", 0)].high_watermark == 3


@pytest.mark.parametrize(
    ("entries", "leo", "loaded"),
    [
        (((0, 0), (1, 3)), 3, ((0, 0),)),
        (((0, 0), (1, 6), (3, 12)), 12, ((0, 0), (1, 6))),
        (((0, 0), (2, 5)), 8, ((0, 0), (2, 5))),
        (((4, 0),), 0, ()),
    ],
)
def test_loading_cuts_epochs_that_begin_where_no_record_is(
    entries: tuple[tuple[int, int], ...], leo: int, loaded: tuple[tuple[int, int], ...]
) -> None:
    """`LogLoader#load`: the recordings show the entries of 4.1.1 (FC-2, t-c-1 of b3) and 2.8.2 (drill 908, t-c-1 of b3) after a restart."""
    tp = TopicPartition("a", 0)
    disk = Disk(logs={tp: log_of(*entries, leo=leo)})
    assert disk.logs[tp].epochs.entries() == entries, "the file keeps them until a process loads the log"
    disk.load()
    assert disk.logs[tp].epochs.entries() == loaded


def test_loading_moves_the_first_epoch_to_the_log_start() -> None:
    tp = TopicPartition("a", 0)
    disk = Disk(logs={tp: log_of((0, 0), (2, 5), leo=8)}, log_starts={tp: 6})
    disk.load()
    assert (disk.logs[tp].log_start, disk.logs[tp].epochs.entries()) == (6, ((2, 6),))


def test_hw_16_update_as_follower_tells_whether_it_moved() -> None:
    log = log_of((0, 0), leo=100)
    moves = [(log.update_high_watermark(offset), log.high_watermark) for offset in (99, 99, 100, 100, 101)]
    assert moves == [(True, 99), (False, 99), (True, 100), (False, 100), (False, 100)]


# Truncation and the epoch cache


def test_epo_21_truncate_to_the_end_clears_empty_epochs() -> None:
    log = log_of((19, 27), leo=29)
    log.epochs.assign(20, 29)
    assert log.epochs.latest_epoch == 20
    log.truncate_to(29)
    assert (log.epochs.entries(), log.leo) == (((19, 27),), 29)
    log.epochs.assign(24, 29)
    log.truncate_to(30)
    assert (log.epochs.entries(), log.leo) == (((19, 27),), 29)


@pytest.mark.parametrize(("release", "entries"), [("2.4", ((19, 27), (24, 29))), ("2.7", ((19, 27),))])
def test_an_unused_epoch_stays_before_2_6_1(release: str, entries: tuple[tuple[int, int], ...]) -> None:
    """KAFKA-10706: `Log#truncateTo` returned before it truncated the epoch cache. Only a new process dropped the entry."""
    log = ReplicaLog(release=RELEASES[release])
    grow(log, 29, Term(19, 1))
    log.epochs = LeaderEpochCache.of(((19, 27), (24, 29)))
    assert not log.truncate_to(29)
    assert log.epochs.entries() == entries


@pytest.mark.parametrize(
    ("offset", "entries"), [(20, 3), (11, 2), (10, 1), (0, 0)], ids=["EPO-22-20", "EPO-22-11", "EPO-22-10", "EPO-22-0"]
)
def test_epo_22_truncation_takes_epochs_along(offset: int, entries: int) -> None:
    log = log_of((0, 0), (1, 10), (2, 16), leo=20)
    log.truncate_to(offset)
    assert len(log.epochs.entries()) == entries
    assert log.leo == offset


def test_epo_22_one_truncation_after_the_other() -> None:
    log = log_of((0, 0), (1, 10), (2, 16), leo=20)
    counts = []
    for offset in (20, 11, 10, 0):
        log.truncate_to(offset)
        counts.append(len(log.epochs.entries()))
    assert counts == [3, 2, 1, 0]


@pytest.mark.parametrize(("offset", "leo"), [(10, 10), (11, 10), (5, 5), (0, 0)], ids=["FOL-24-LEO", "FOL-24-past", "FOL-24", "FOL-24-all"])
def test_fol_24_truncate_to(offset: int, leo: int) -> None:
    log = log_of((0, 0), leo=10)
    assert log.truncate_to(offset) == (leo < 10)
    assert log.leo == leo
    assert sum(run.end - run.start for run in log.runs()) == leo


def test_fol_24_truncate_fully_and_below_the_first_offset() -> None:
    log = log_of((0, 0), leo=10)
    log.truncate_fully_and_start_at(1)
    assert (log.leo, log.runs()) == (1, ())
    grow(log, 10, Term(1, 1))
    assert (log.leo, log.log_start) == (11, 1)
    log.truncate_to(0)
    assert (log.leo, log.runs()) == (0, ())


def test_fol_24_negative_offsets_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot truncate the log to offset -1"):
        log_of((0, 0), leo=10).truncate_to(-1)


def test_fol_23_only_an_append_at_the_leo_is_taken() -> None:
    log, term = ReplicaLog(), Term(0, 9)
    log.truncate_fully_and_start_at(5)
    for wrong in (3, 7):
        with pytest.raises(ValueError, match=f"cannot append records at offset {wrong}: the log ends at 5"):
            replicate(log, wrong, wrong + 1, term)
    replicate(log, 5, 7, term)
    replicate(log, 7, 8, term)
    with pytest.raises(ValueError, match="cannot append records at offset 3: the log ends at 8"):
        replicate(log, 3, 4, term)
    replicate(log, 8, 9, term)
    assert (log.leo, log.log_start) == (9, 5)


def test_con_06_a_read_ends_at_its_bound() -> None:
    log = log_of((0, 0), (1, 4), leo=10)
    ends = {bound: [each.end for each in fetched_ranges(log.records.read(0, bound, 10_000))] for bound in (0, 3, 4, 7, 10)}
    assert ends == {0: [], 3: [3], 4: [4], 7: [4, 7], 10: [4, 10]}
    assert log.records.read(7, 7, 10_000) is None


def test_stretches_of_different_records_that_touch_are_one() -> None:
    terms = [Term(epoch, epoch + 1) for epoch in range(5)]
    mine, theirs = ReplicaLog(), ReplicaLog()
    for log, others in ((mine, (0, 1, 2)), (theirs, (0, 3, 4))):
        for number in others:
            replicate(log, log.leo, log.leo + 10, terms[number])
    replicate(theirs, theirs.leo, theirs.leo + 10, terms[4])
    assert mine.differences(theirs) == theirs.differences(mine) == [(10, 30)]
    assert mine.differences(mine) == []
