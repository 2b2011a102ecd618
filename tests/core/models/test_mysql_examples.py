"""Semi-synchronous replication keeps what it acknowledged, whenever the source dies. The scenarios `mysql-m*` are the worked examples."""

from __future__ import annotations

import pytest

from core.models import acts
from core.models.account import OK, UNKNOWN
from core.models.mysql.settings import MySQLSettings
from core.models.mysql.system import MySQL, Rebuild
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
