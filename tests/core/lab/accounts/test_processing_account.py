"""The account of processes reads each stable part of a log once, and finds the same as an account that reads everything again."""

from __future__ import annotations

import random

import pytest

from core.kafka.ids import TopicPartition
from core.kafka.release import RELEASES
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.accounts.processing_account import Harm, Processing, ProcessingAccount
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND

PROCESSING = Processing("app", "in", "out", 2)


def compare(run: Cluster) -> None:
    """Compare the account of a run with a new one."""
    logs, in_hand = run.account.leader_logs(), run.clients.records_in_hand("app")
    fresh = ProcessingAccount(run.journal)
    fresh.commits.update(run.account.processing.commits)
    counts = run.account.processing.counts(PROCESSING, logs, in_hand)
    assert counts == fresh.counts(PROCESSING, logs, in_hand)
    harms = run.account.processing.harms(PROCESSING, logs, in_hand)
    assert harms == fresh.harms(PROCESSING, logs, in_hand)
    assert (counts.twice, counts.half, counts.never) == tuple(records(harms, kind) for kind in ("twice", "half", "never"))


def records(harms: tuple[Harm, ...], kind: str) -> int:
    """Return the number of different input records with a harm."""
    return len({(harm.source, offset) for harm in harms if harm.kind == kind for offset in range(harm.start, harm.end)})


@pytest.mark.parametrize(
    ("release", "delivery"),
    [("0.11", "exactly-once"), ("2.7", "exactly-once"), ("4.3", "exactly-once"), ("0.11", "at-least-once"), ("4.3", "at-most-once")],
)
def test_truncations_and_restarts_leave_the_account_exact(release: str, delivery: str) -> None:
    draw = random.Random(f"{release} {delivery}")
    config = (("unclean.leader.election.enable", "true"), ("min.insync.replicas", "1"))
    settings = (
        ("offsets.topic.num.partitions", "1"),
        ("transaction.state.log.num.partitions", "1"),
        ("transaction.state.log.min.isr", "1"),
    )
    topics = (TopicSpec("in", 1, 2, config=config), TopicSpec("out", 2, 2, config=config))
    run = Cluster(ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3)), topics, settings=settings), RELEASES[release])
    run.do(acts.Load("in", 20, acks="1"))
    for _ in range(12):
        process = run.clients.process("app")
        tries: list[acts.Act] = [acts.Kill(draw.randrange(1, 4)), acts.Start(draw.randrange(1, 4)), acts.Start(draw.randrange(1, 4))]
        if process is None or not process.running:
            tries = [acts.StartProcess("in", "out", "app", delivery=delivery, copies=2)]
        elif draw.random() < 0.3:
            tries = [acts.KillProcess("app")]
        for act in tries:
            try:
                run.do(act)
            except ActRefused:
                continue
            break
        for _ in range(3):
            run.run_until(run.now + draw.randrange(1, 4 * SECOND))
            compare(run)


def test_a_commit_is_noted_once() -> None:
    account = ProcessingAccount(Cluster(ClusterSpec((BrokerSpec(1),))).journal)
    tp = TopicPartition("in", 0)
    for offset, event in ((5, 1), (5, 2), (7, 3), (5, 4)):
        account.offset_committed("g", tp, offset, event)
    assert account.commits["g", tp] == [(5, 1), (7, 3), (5, 4)]
    assert account.committed("g", tp) == 5
    assert account.committed("g", TopicPartition("in", 1)) == 0
