"""The worked examples of the majority log, with their numbers. Each name cites the example. Times are in ms from the first request on."""

from __future__ import annotations

from typing import Any

import pytest

from core.models import acts
from core.models.account import FAIL, OK, UNKNOWN
from core.models.client import WriteLoop
from core.models.quorum.messages import Appended, Entry
from core.models.quorum.settings import QuorumSettings
from core.models.quorum.system import Quorum, StartElection
from core.sim.errors import ActRefused
from core.sim.units import SECOND
from core.sim.units import US_PER_MS as MS


def elected(seed: int = 0, **settings: Any) -> Quorum:
    system = Quorum(QuorumSettings(**settings), seed)
    system.elect_first()
    return system


def after(system: Quorum, ms: float) -> None:
    system.run_until(system.now + int(ms * MS))


def took(system: Quorum, key: str = "k") -> tuple[str, float]:
    (record,) = [each for each in system.account.writes if each.row.key == key]
    return record.outcome, (record.ended - record.invoked) / MS


@pytest.mark.parametrize(("nodes", "slow", "ms"), [(3, 0, 3), (3, 1, 3), (5, 2, 3), (5, 3, 802)])
def test_q01_q02_a_write_takes_as_long_as_the_median(nodes: int, slow: int, ms: int) -> None:
    system = elected(nodes=nodes)
    for number in range(slow):
        system.do(acts.SlowDisk(f"n{nodes - number}", 800 * MS))
    system.add_client("c").write("k")
    after(system, 1_000)
    assert took(system) == (OK, ms)


@pytest.mark.parametrize("how", ["quorum", "leader", "local", "uncommitted"])
def test_q03_a_leader_that_is_cut_off(how: str) -> None:
    system = elected(check_quorum=how != "leader")
    a, b = system.add_client("A", ("n1",)), system.add_client("B", ("n2", "n3", "n1"))
    b.write("b")
    after(system, 10)
    system.do(acts.Isolate("n1", ("A",)))
    a.write("a", limit=7 * SECOND)
    after(system, 20)
    a.read("a", how=how)
    after(system, 480)
    leader = system.authority()
    assert leader in ("n2", "n3")
    assert system.node(leader).term > 1
    b.write("b", leader)
    after(system, 10)
    assert system.account.acked["b"] == 2
    a.read("b", how=how, limit=SECOND)
    after(system, 10_000)
    report = system.settle()
    assert (report.lost, report.unknown_absent, report.divergence) == (0, 1, 0)
    on_a, on_b = [each for each in system.account.reads if each.client == "A"]
    assert report.dirty == (how == "uncommitted")
    if how == "quorum":
        assert on_a.outcome != OK
        assert on_b.outcome != OK
    else:
        assert on_b.stale == 1
    assert report.stale == (how != "quorum")


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
    while n1.role != "leader":
        system.step()
    for name in ("n2", "n3", "n4"):
        system.do(acts.Cut("n1", name))  # the entry of term 4 reaches nobody
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


def test_q05_two_of_three_crash() -> None:
    system = elected()
    client = system.add_client("c", ("n1",))
    client.write("k")
    after(system, 10)
    system.do(acts.Kill("n2"))
    system.do(acts.Kill("n3"))
    client.write("k", limit=7 * SECOND)
    client.read("k", how="quorum", limit=7 * SECOND)
    client.read("k", how="local")
    after(system, 8_000)
    client.write("k2")
    after(system, 1)
    outcomes = [(each.row.key, each.row.version, each.outcome) for each in system.account.writes]
    assert outcomes == [("k", 1, OK), ("k", 2, UNKNOWN), ("k2", 1, FAIL)]
    local, fresh = system.account.reads
    assert (local.outcome, local.row.version, fresh.outcome) == (OK, 1, FAIL)
    system.do(acts.Restart("n2"))
    report = system.settle()
    assert (report.lost, report.unknown_present, report.phantom) == (0, 1, 0)


def test_q06_one_of_three_is_left() -> None:
    system = elected()
    client = system.add_client("c")
    client.write("k")
    after(system, 10)
    for name in ("n1", "n2"):
        system.do(acts.Kill(name))
        system.dead_for_good.add(name)
    report = system.settle()
    assert system.authority() == ""
    assert (report.lost, len(list(system.node("n3").stored_rows()))) == (0, 1)
    with pytest.raises(ActRefused, match="elect their leader"):
        system.do(acts.Promote("n3"))


def test_q07_a_single_node_acknowledges_nothing() -> None:
    system = elected()
    for name in ("n2", "n3"):
        system.do(acts.Kill(name))
    system.add_client("c", ("n1",)).start(WriteLoop("k", 10 * MS, until=system.now + SECOND))
    after(system, 1_000)
    assert "k" not in system.account.acked
    system.do(acts.Kill("n1"))
    system.dead_for_good.add("n1")
    assert system.settle().lost == 0


@pytest.mark.parametrize("session", [True, False])
def test_q10_a_session_refuses_servers_that_are_behind(session: bool) -> None:
    system = elected()
    writer = system.add_client("w", ("n1",))
    reader = system.add_client("r", ("n2", "n3"), session=session)
    system.do(acts.Cut("n1", "n3"))
    writer.write("k")
    after(system, 60)
    reader.read("k", "n2", how="local")
    after(system, 1)
    reader.read("k", "n3", how="local")
    after(system, 1)
    first, second = system.account.reads
    assert first.row.version == 1
    assert (second.row.version, second.backward, second.server) == ((1, 0, "n2") if session else (0, 1, "n3"))


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
    system = elected(seed=3)
    client = system.add_client("c")
    client.start(WriteLoop("k", 10 * MS))
    client.start(WriteLoop("p", 100 * MS, limit=SECOND, probe=True))
    after(system, 1_000)
    system.do(acts.Kill("n1"))
    after(system, 5_000)
    report = system.settle()
    assert (report.lost, report.phantom, report.duplicates, report.divergence) == (0, 0, 0, 0)
    assert report.acked > 400
    assert 100 * MS < report.write_unavailable_us < SECOND
