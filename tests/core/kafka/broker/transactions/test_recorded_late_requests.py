"""Late batches and late markers, as brokers of 3.5.2, 4.1.1, and 4.3.1 answered them (drills-transactions: j-late-*; stories T1 to T3)."""

from __future__ import annotations

import pytest

from core.kafka import errors
from core.kafka.release import RELEASES
from tests.core.kafka.transaction.coordinator_bench import CoordinatorBench

STALE = errors.INVALID_PRODUCER_EPOCH
BOTH = pytest.mark.parametrize("release", ["4.1", "4.3"])
ALL = pytest.mark.parametrize("release", ["3.3", "4.1", "4.3"])


def bench_of(release: str, version: int = 0) -> CoordinatorBench:
    return CoordinatorBench(RELEASES[release], version)


def stable(bench: CoordinatorBench) -> int:
    return bench.data().log.last_stable_offset()


def test_t1_a_late_batch_hangs_before_verification() -> None:
    """T1, LSO-07, j-late-3.5.2: the batch of an aborted transaction opens a transaction that only the tool ends."""
    bench = bench_of("3.3")
    pid = bench.ongoing()
    assert bench.send(pid, 0, 0) == ("NONE", 0)
    assert bench.end(pid, 0, commit=False)[0] == "NONE"
    assert bench.send(pid, 0, 1) == ("NONE", 2)
    bench.produce(2)
    assert (bench.data().log.high_watermark, stable(bench)) == (5, 2)
    assert bench.state()[0] == "CompleteAbort"
    assert bench.marker(pid, 0, commit=False, ce=0) == "NONE"
    assert stable(bench) == 6


@BOTH
def test_t1_verification_refuses_the_late_batch(release: str) -> None:
    """T1, j-late: since 3.8, the error is TRANSACTION_ABORTABLE, and nothing is appended."""
    bench = bench_of(release)
    pid = bench.ongoing()
    bench.send(pid, 0, 0)
    bench.end(pid, 0, commit=False)
    assert bench.send(pid, 0, 1) == (errors.TRANSACTION_ABORTABLE, -1)
    assert stable(bench) == bench.data().log.leo == 2


@pytest.mark.parametrize(
    ("release", "error"), [("3.6", errors.INVALID_TXN_STATE), ("3.7", errors.INVALID_TXN_STATE), ("3.9", errors.TRANSACTION_ABORTABLE)]
)
def test_txn_07_the_error_by_release(release: str, error: str) -> None:
    """TXN-07: before 3.8, the error is INVALID_TXN_STATE."""
    bench = bench_of(release)
    pid = bench.init()[1]
    assert bench.send(pid, 0, 0) == (error, -1)


@ALL
def test_t2_a_late_batch_takes_the_place_of_the_next_one(release: str) -> None:
    """T2, j-late: with the old protocol the late batch joins the next transaction, whose own first batch counts as its duplicate."""
    bench = bench_of(release)
    pid = bench.ongoing()
    bench.send(pid, 0, 0)
    bench.end(pid, 0, commit=False)
    bench.add(pid, 0)
    assert bench.send(pid, 0, 1) == ("NONE", 2)
    assert bench.send(pid, 0, 1) == ("NONE", 2)
    assert bench.end(pid, 0)[0] == "NONE"
    assert (bench.data().log.leo, stable(bench)) == (4, 4)


@ALL
def test_t3_a_late_marker_ends_the_next_transaction(release: str) -> None:
    """T3, j-late: with the old protocol, the first half is aborted and the rest is committed. The test then sends markers of all kinds."""
    bench = bench_of(release)
    pid = bench.ongoing(1)
    assert bench.send(pid, 1, 0) == ("NONE", 0)
    bench.end(pid, 1, commit=False)
    bench.add(pid, 1)
    assert bench.send(pid, 1, 1) == ("NONE", 2)
    assert stable(bench) == 2
    assert bench.marker(pid, 1, commit=False, ce=0) == "NONE"
    assert stable(bench) == 4
    assert bench.send(pid, 1, 2) == ("NONE", 4)
    assert bench.end(pid, 1)[0] == "NONE"
    assert stable(bench) == 6
    answers = [
        bench.marker(pid, 1, commit=True, ce=-1),
        bench.marker(pid, 0, commit=True, ce=0),
        bench.marker(pid, -1, commit=True, ce=0),
        bench.marker(pid, 1, commit=True, ce=0),
        bench.marker(pid, 1, commit=False, ce=0),
        bench.marker(pid, 4, commit=False, ce=0),
        bench.marker(777_777, 0, commit=False, ce=0),
    ]
    assert answers == [errors.TRANSACTION_COORDINATOR_FENCED, STALE, errors.UNKNOWN_SERVER_ERROR, "NONE", "NONE", "NONE", "NONE"]
    rows = [
        (each.producer_id, each.producer_epoch, each.coordinator_epoch, each.last_sequence)
        for each in bench.data().log.ensure_producer_state().active_producers()
    ]
    assert rows == [(pid, 4, 0, -1), (777_777, 0, 0, -1)]
    assert bench.send(pid, 1, 3) == (STALE, -1)
    assert [entry[:3] for entry in bench.data().log.ensure_producer_state().aborted] == [(pid, 0, 1), (pid, 2, 3)]


@BOTH
def test_version_2_fences_late_batches(release: str) -> None:
    """T1 and T2 under transaction.version 2, j-late: every transaction has its own epoch."""
    bench = bench_of(release, 2)
    pid = bench.init()[1]
    assert bench.send(pid, 0, 0) == ("NONE", 0)
    assert bench.end(pid, 0, commit=False) == ("NONE", pid, 1)
    assert bench.send(pid, 0, 1) == (STALE, -1)
    assert bench.send(pid, 1, 1) == (errors.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert bench.send(pid, 1, 0) == ("NONE", 2)
    assert bench.send(pid, 0, 1) == (STALE, -1)
    assert bench.end(pid, 1) == ("NONE", pid, 2)


@pytest.mark.parametrize(("release", "error", "following"), [("4.1", "NONE", 4), ("4.3", STALE, 3)])
def test_t3_under_version_2_by_release(release: str, error: str, following: int) -> None:
    """T3, j-late: 4.1.1 accepts the late marker of the same epoch, 4.3.1 refuses it (KIP-1228)."""
    bench = bench_of(release, 2)
    pid = bench.init()[1]
    bench.send(pid, 0, 0)
    bench.end(pid, 0, commit=False)
    assert bench.send(pid, 1, 0) == ("NONE", 2)
    assert bench.marker(pid, 1, commit=False, ce=0, version=2) == error
    assert bench.send(pid, 1, 1) == ("NONE", following)
    assert bench.end(pid, 1) == ("NONE", pid, 2)


@pytest.mark.parametrize(("release", "error"), [("2.1", "NONE"), ("2.4", errors.TRANSACTION_COORDINATOR_FENCED)])
def test_t8_an_old_coordinator_after_a_marker_without_time(release: str, error: str) -> None:
    """T8: the next periodic check forgets the coordinator epoch of an entry that only a marker created (KAFKA-9144)."""
    bench = bench_of(release)
    assert bench.marker(7, 3, commit=False, ce=5) == "NONE"
    assert bench.marker(7, 3, commit=False, ce=4) == errors.TRANSACTION_COORDINATOR_FENCED
    bench.wait(600_000)
    assert bench.marker(7, 3, commit=False, ce=4) == error
