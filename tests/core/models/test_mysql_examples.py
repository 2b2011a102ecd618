"""Semi-synchronous replication keeps what it acknowledged, whenever the source dies. The scenarios `mysql-m*` are the worked examples."""

from __future__ import annotations

import pytest

from core.models import acts
from core.models.account import OK, UNKNOWN
from core.models.mysql.settings import MySQLSettings
from core.models.mysql.system import Follow, MySQL, Rebuild
from core.sim.units import SECOND
from core.sim.units import US_PER_MS as MS

SEMI_SYNC = MySQLSettings(replicas=1, semi_sync=True)


def at(system: MySQL, ms: float) -> None:
    """Run until everything that is due by then has happened."""
    system.run_until(int(ms * MS))


def outcome(system: MySQL, key: str, version: int = 1) -> tuple[str, float]:
    """Return the outcome of a write, and its time."""
    (record,) = [each for each in system.account.writes if each.row.key == key and each.row.version == version]
    return record.outcome, record.ended / MS


def visible(system: MySQL, name: str) -> int:
    return len(system.server(name).engine)


@pytest.mark.parametrize("dies", range(12))
def test_m04_after_sync_loses_nothing_that_it_acknowledged(dies: int) -> None:
    system = MySQL(SEMI_SYNC)
    client = system.add_client("c", ("n1",))
    client.write("k")
    at(system, dies / 2 + 0.1)
    seen = visible(system, "n1")
    assert seen == (dies / 2 + 0.1 >= 3)
    system.do(acts.Kill("n1"))
    system.dead_for_good.add("n1")
    at(system, 10)
    system.do(acts.Promote("n2"))
    report = system.settle()
    assert report.lost == 0
    assert outcome(system, "k")[0] == (OK if dies >= 6 else UNKNOWN)
    assert report.unknown_present == (2 <= dies < 6)  # sent, and not acknowledged yet: what a killed process had sent still arrives
    if dies >= 6:
        assert outcome(system, "k") == (OK, 3)


def test_a_rebuilt_source_forgets_the_commits_that_waited() -> None:
    system = MySQL(SEMI_SYNC)
    client = system.add_client("c", ("n1",))
    system.do(acts.Isolate("n1", ("c",)))
    client.write("k", limit=20 * SECOND)
    at(system, 1_000)
    system.do(acts.Promote("n2"))
    system.do(acts.HealAll())
    system.do(Rebuild("n1"))
    at(system, 21_000)
    assert len(system.server("n1").binlog) == 0
    report = system.settle()
    assert (outcome(system, "k")[0], report.unknown_absent, report.lost) == (UNKNOWN, 1, 0)


@pytest.mark.parametrize("paused_for", [1, 100])
@pytest.mark.parametrize("semi_sync", [False, True])
def test_a_paused_replica_has_what_the_dead_source_had_sent(semi_sync: bool, paused_for: int) -> None:
    """What reached the kernel of the replica's machine is read after the pause, also if the pause was longer than the replica's timeout."""
    system = MySQL(MySQLSettings(replicas=2, semi_sync=semi_sync))
    client = system.add_client("c", ("n1",))
    at(system, 1_000)
    system.do(acts.Pause("n2"))
    for number in range(5):
        client.write(f"k{number}")
    at(system, 1_300)
    system.do(acts.Kill("n1"))
    at(system, 1_000 + paused_for * 1_000)
    assert [system.server(name).received() for name in ("n1", "n2", "n3")] == [5, 0, 5]
    system.do(acts.Resume("n2"))
    at(system, 1_100 + paused_for * 1_000)
    assert system.server("n2").received() == 5
    system.do(acts.Promote("n2"))
    assert system.settle().lost == 0


def test_the_end_of_a_connection_to_a_source_does_not_end_the_connection_of_a_replica() -> None:
    """Two servers replicate from each other. One loses power and comes back, and the other acknowledges what its former process had sent."""
    system = MySQL(SEMI_SYNC)
    client, other = system.add_client("c", ("n1",)), system.add_client("d", ("n2",))
    system.do(Follow("n1", "n2"))
    system.do(acts.SlowLink("n1", "n2", 100 * MS))
    at(system, 1_000)
    client.write("a")
    at(system, 1_050)
    system.do(acts.Pause("n2"))
    at(system, 1_150)
    system.do(acts.PowerLoss(("n1",)))
    at(system, 2_000)
    system.do(acts.Restart("n1"))
    at(system, 3_000)
    system.do(acts.Resume("n2"))
    at(system, 3_500)
    assert system.server("n2").received() == 1
    system.do(acts.Promote("n2"))
    other.write("b")
    at(system, 4_000)
    assert visible(system, "n1") == visible(system, "n2") == 2
