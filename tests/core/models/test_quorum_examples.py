"""An entry of an old term, leases, and the death of a leader. The scenarios `raft-q*` are the other worked examples. Times are in ms."""

from __future__ import annotations

from typing import Any

import pytest

from core.models import acts
from core.models.client import WriteLoop
from core.models.quorum.quorum_messages import Appended, Entry
from core.models.quorum.settings import QuorumSettings
from core.models.quorum.system import Quorum, StartElection
from core.sim.units import SECOND
from core.sim.units import US_PER_MS as MS


def elected(seed: int = 0, **settings: Any) -> Quorum:
    system = Quorum(QuorumSettings(**settings), seed)
    system.elect_first()
    return system


def after(system: Quorum, ms: float) -> None:
    system.run_until(system.now + int(ms * MS))


@pytest.mark.parametrize("commits_old_terms", [False, True])
def test_q04_an_entry_of_an_old_term(commits_old_terms: bool) -> None:
    """Figure 8 of the Raft paper: n1 leads term 4, and an entry of term 2 is on three of five nodes; n5 has one of term 3."""
    system = Quorum(QuorumSettings(nodes=5, automatic=False, commit_old_terms=commits_old_terms))
    old, other = system.account.new_row("old"), system.account.new_row("other")
    for name, end in (("n1", Entry(2, old)), ("n2", Entry(2, old)), ("n3", Entry(2, old)), ("n4", None), ("n5", Entry(3, other))):
        node = system.node(name)
        node.log.entries += [Entry(1, None)] if end is None else [Entry(1, None), end]
        node.term, node.log.written = 3, len(node.log)
    n1, n5 = system.node("n1"), system.node("n5")
    system.do(acts.Kill("n5"))
    system.do(acts.SlowDisk("n1", SECOND))
    system.do(StartElection("n1"))
    for name in ("n2", "n3", "n4"):
        system.network.cut(("n1", name))  # the votes reach n1, and the entry of term 4 reaches nobody
    while n1.role != "leader":
        system.step()
    for name in ("n2", "n3", "n4"):
        n1.handle(Appended(4, True, 2 if name != "n4" else 1, 0), name)
    assert n1.commit == (2 if commits_old_terms else 0)
    system.do(acts.Kill("n1"))
    system.do(acts.Restart("n5"))
    n5.term = 4
    system.do(StartElection("n5"))
    after(system, 20)
    assert n5.role == "leader"
    assert [entry.term for entry in system.node("n2").log.entries] == [1, 3, 5]
    assert n5.commit == 3
    system.do(acts.Restart("n1"))
    assert (n1.engine.read("old").version, n5.engine.read("old").version) == ((1, 0) if commits_old_terms else (0, 0))


def test_a_lease_answers_at_once_and_ends_before_another_leader_begins() -> None:
    system = elected(lease=True)
    a, b = system.add_client("A", ("n1",)), system.add_client("B", ("n2", "n3"))
    a.write("k")
    after(system, 100)
    a.read("k", how="lease")
    after(system, 0)
    assert system.account.reads[0].row.version == 1
    system.do(acts.Isolate("n1", ("A",)))
    for _ in range(100):
        after(system, 10)
        b.write("k", limit=5 * MS)
        a.read("k", how="lease", limit=5 * MS)
    assert system.account.acked["k"] > 2
    assert system.settle().stale == 0


def test_the_leader_is_killed() -> None:
    """RQ-01: a write that a follower has forwarded to the dead leader waits for the server's time limit, and its outcome is unknown."""
    system = elected(seed=3)
    client = system.add_client("c")
    client.start(WriteLoop("k", 10 * MS))
    client.start(WriteLoop("p", 100 * MS, limit=SECOND, probe=True))
    after(system, 1_000)
    system.do(acts.Kill("n1"))
    after(system, 5_000)
    assert len([each for each in client.pending.values() if not each.probe]) == 1
    after(system, 5_000)
    report = system.settle()
    assert (report.lost, report.phantom, report.duplicates, report.divergence) == (0, 0, 0, 0)
    assert report.acked > 400
    assert report.unknown >= 2
    assert 100 * MS < report.write_unavailable_us < SECOND


def test_a_follower_forwards_writes_and_linearizable_reads() -> None:
    """As etcd's servers do: the client stays at its follower, which answers when it has applied the write, or the log up to the index of the
    read.
    """
    system = elected()
    client = system.add_client("c", ("n2",))
    client.write("k")
    after(system, 100)
    client.read("k", how="quorum")
    client.read("k", how="lease")
    after(system, 100)
    report = system.report()
    assert (report.acked, report.failed, report.unknown, report.reads, report.stale) == (1, 0, 0, 2, 0)
    assert (client.target, client.pending) == ("n2", {})


def test_a_follower_that_is_alone_leaves_the_outcome_of_a_write_open() -> None:
    system = elected()
    client = system.add_client("c", ("n2",))
    for name in ("n1", "n3"):
        system.do(acts.Kill(name))
    client.write("k")
    after(system, 5_000)
    assert len(client.pending) == 1
    after(system, 1_000)
    assert (client.pending, system.report().unknown) == ({}, 1)
    client.write("k")
    client.read("k", how="quorum")
    after(system, 100)
    assert (client.pending, system.report().failed) == ({}, 1)


def test_a_read_at_a_follower_survives_a_change_of_leader() -> None:
    """The follower asks again every 500 ms (`readIndexRetryTime`)."""
    system = elected(seed=3)
    client = system.add_client("c", ("n2",))
    client.write("k")
    after(system, 100)
    system.do(acts.Kill("n1"))
    client.read("k", how="quorum")
    after(system, 3_000)
    assert client.pending == {}
    assert system.report().unknown == 0
