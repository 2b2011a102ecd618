"""Calls of transactional producers that have no result after max.block.ms: they fail, and can be made again."""

from __future__ import annotations

from typing import Any

import pytest

from core.kafka import events
from core.kafka.release import RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND

CONFIG = (("max.block.ms", "5000"),)


def cluster(release: str, told: list[tuple[Any, ...]]) -> Cluster:
    topic = TopicSpec("t", assignment=(PartitionSpec((1,)),))
    settings = (
        ("transaction.state.log.num.partitions", 1),
        ("transaction.state.log.replication.factor", 1),
        ("transaction.state.log.min.isr", 1),
    )
    made = Cluster(ClusterSpec((BrokerSpec(1),), (topic,), settings), RELEASES[release], sink=told.append)
    made.run_until(SECOND)
    return made


def timed_out(told: list[tuple[Any, ...]]) -> list[tuple[int, str]]:
    return [(event[1], event[6]) for event in told if event[3] == events.TransactionCallTimedOut.kind]


@pytest.mark.parametrize(("release", "fails"), [("1.1", False), ("2.0", True), ("4.3", True)])
def test_init_transactions(release: str, fails: bool) -> None:
    """KAFKA-6446, 2.0. The second call gets the result for which the first one did not wait long enough."""
    told: list[tuple[Any, ...]] = []
    made = cluster(release, told)
    made.do(acts.Pause(1))
    made.do(acts.InitTransactions("t", "app", config=CONFIG))
    asked = made.now
    made.run_until(asked + 8 * SECOND)
    assert timed_out(told) == ([(asked + 5 * SECOND, "initTransactions")] if fails else [])
    with pytest.raises(ActRefused, match="initTransactions"):
        made.do(acts.BeginTransaction())
    made.do(acts.InitTransactions("t", "app", config=CONFIG))
    made.do(acts.Resume(1))
    made.run_until(asked + 60 * SECOND)
    made.do(acts.BeginTransaction())
    assert len(timed_out(told)) == fails


@pytest.mark.parametrize(("release", "fails"), [("2.1", False), ("2.4", True), ("4.3", True)])
def test_commit_transaction(release: str, fails: bool) -> None:
    """KAFKA-7763, 2.3."""
    told: list[tuple[Any, ...]] = []
    made = cluster(release, told)
    made.do(acts.InitTransactions("t", "app", config=CONFIG))
    made.run_until(3 * SECOND)
    made.do(acts.BeginTransaction())
    made.do(acts.Produce("t", 5))
    made.run_until(4 * SECOND)
    made.do(acts.Pause(1))
    made.do(acts.CommitTransaction())
    asked = made.now
    made.run_until(asked + 7 * SECOND)
    made.do(acts.CommitTransaction())
    made.run_until(asked + 14 * SECOND)
    expected = [(asked + wait * SECOND, "commitTransaction") for wait in (5, 12)]
    assert timed_out(told) == (expected if fails else [])
    must_repeat = (
        "Cannot attempt operation `abortTransaction` because the previous call to `commitTransaction` timed out and must be retried"
    )
    with pytest.raises(ActRefused, match=must_repeat if release == "4.3" else "only commitTransaction can be called again"):
        made.do(acts.AbortTransaction())
    made.do(acts.CommitTransaction())
    made.do(acts.Resume(1))
    made.run_until(asked + 60 * SECOND)
    ended = [event[-1] for event in told if event[3] == events.TransactionEnded.kind]
    assert ended == ["COMMIT"]
    made.do(acts.BeginTransaction())


@pytest.mark.parametrize(("release", "must_repeat"), [("2.8", False), ("3.3", True), ("4.3", True)])
def test_a_call_that_timed_out_must_be_made_again_since_3_2(release: str, must_repeat: bool) -> None:
    """KAFKA-13412 (`TransactionManager#throwIfPendingState`), even if the call has succeeded in the meantime."""
    told: list[tuple[Any, ...]] = []
    made = cluster(release, told)
    made.do(acts.InitTransactions("t", "app", config=CONFIG))
    made.run_until(3 * SECOND)
    made.do(acts.BeginTransaction())
    made.do(acts.Produce("t", 5))
    made.run_until(4 * SECOND)
    made.do(acts.Pause(1))
    made.do(acts.CommitTransaction())
    made.run_until(made.now + 7 * SECOND)
    made.do(acts.Resume(1))
    made.run_until(made.now + 5 * SECOND)
    assert [event[-1] for event in told if event[3] == events.TransactionEnded.kind] == ["COMMIT"]
    if must_repeat:
        for refused in (acts.BeginTransaction(), acts.Produce("t", 1), acts.AbortTransaction()):
            with pytest.raises(ActRefused, match="because the previous call to `commitTransaction` timed out and must be retried"):
                made.do(refused)
        made.do(acts.CommitTransaction())
    else:
        with pytest.raises(ActRefused, match="Invalid transition attempted from state READY to state COMMITTING_TRANSACTION"):
            made.do(acts.CommitTransaction())
    made.do(acts.BeginTransaction())
    made.do(acts.Produce("t", 1))
    made.do(acts.CommitTransaction())
    made.run_until(made.now + 5 * SECOND)
    assert [event[-1] for event in told if event[3] == events.TransactionEnded.kind] == ["COMMIT", "COMMIT"]
    assert len(timed_out(told)) == 1


def test_a_transactional_load_goes_on_after_a_call_that_timed_out() -> None:
    """A program makes the call again until it has a result."""
    told: list[tuple[Any, ...]] = []
    made = cluster("4.3", told)
    made.do(acts.Load("t", 10, transactional_id="app", commit_records=10, config=CONFIG))
    made.run_until(5 * SECOND)
    made.do(acts.Pause(1))
    made.run_until(15 * SECOND)
    assert timed_out(told)
    before = sum(event[3] == events.TransactionEnded.kind for event in told)
    made.do(acts.Resume(1))
    made.run_until(25 * SECOND)
    assert sum(event[3] == events.TransactionEnded.kind for event in told) > before + 3


def test_a_transactional_load_sends_its_records_at_once() -> None:
    """`Sender#runOnce` drains a batch as soon as linger.ms, which is 0, has passed; it does not wait for the end of the transaction."""
    told: list[tuple[Any, ...]] = []
    made = cluster("3.9", told)
    made.do(acts.Load("t", 10, transactional_id="app", commit_records=1000))
    made.run_until(made.now + 5 * SECOND)
    (producer,) = made.view().producers
    assert not any(event[3] == events.TransactionEnded.kind for event in told)
    assert 30 < producer.sent - 1 <= producer.acked
