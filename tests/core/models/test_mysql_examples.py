"""The worked examples of the MySQL model, with their numbers. Each name cites the example.

n1 is the source, n2 and n3 are R1 and R2. Times are in ms.
"""

from __future__ import annotations

from typing import Any

import pytest

from core.models import acts
from core.models.account import OK, UNKNOWN
from core.models.client import WriteLoop
from core.models.mysql.settings import MySQLSettings, WaitPoint
from core.models.mysql.system import Follow, MySQL, PromoteAtOnce, PurgeBinlogs, Rebuild
from core.sim.units import SECOND
from core.sim.units import US_PER_MS as MS

SEMI_SYNC = MySQLSettings(replicas=1, semi_sync=True)


def asynchronous(**settings: Any) -> MySQL:
    return MySQL(MySQLSettings(**settings))


def at(system: MySQL, ms: float) -> None:
    """Run until everything that is due by then has happened."""
    system.run_until(int(ms * MS))


def outcome(system: MySQL, key: str, version: int = 1) -> tuple[str, float]:
    """How a write ended, and when."""
    (record,) = [each for each in system.account.writes if each.row.key == key and each.row.version == version]
    return record.outcome, record.ended / MS


def hundred_writers(**settings: Any) -> MySQL:
    """100 writers, each of which sends one write: the k-th at k ms."""
    system = asynchronous(**settings)
    for k in range(100):
        client = system.add_client(f"w{k}", ("n1",))
        client.start(WriteLoop(f"k{k}", 10**9, start=k * MS))
    return system


def visible(system: MySQL, name: str) -> int:
    return len(system.server(name).engine)


def test_m01_an_asynchronous_replica_is_behind() -> None:
    system = asynchronous()
    client = system.add_client("c")
    client.write("k")
    at(system, 1)
    client.read("k", "n1")
    at(system, 2)
    assert outcome(system, "k") == (OK, 1)
    assert len(system.server("n2").relay_log) == 1
    at(system, 3)
    client.read("k", "n2")
    at(system, 4)
    client.read("k", "n2")
    at(system, 5)
    first, second, third = system.account.reads
    assert (first.stale, first.row.version) == (0, 1)
    assert (second.stale, second.stale_us, second.own_missing) == (1, 2 * MS, 1)
    assert (third.stale, third.row.version) == (0, 1)


def test_m02_a_replica_that_applies_slowly() -> None:
    system = hundred_writers()
    at(system, 100)
    assert len(system.account.oks) == 100
    assert len(system.server("n2").relay_log) == 99
    assert visible(system, "n2") == 49
    reader = system.add_client("r")
    for k in range(100):
        reader.read(f"k{k}", "n2")
    at(system, 100)
    assert sum(each.stale for each in system.account.reads) == 51
    applied = []
    while visible(system, "n2") < 100:
        before = visible(system, "n2")
        system.step()
        if visible(system, "n2") != before:
            applied.append(system.now // MS)
    assert applied[-1] == 202
    acked = {each.row.key: each.ended // MS for each in system.account.writes}
    assert applied[-1] - acked["k99"] == 102
    assert 4 - acked["k0"] == 3


def test_m03_the_loss_is_what_the_promoted_replica_has_not_received() -> None:
    system = hundred_writers()
    at(system, 100)
    system.do(acts.Kill("n1"))
    system.dead_for_good.add("n1")
    system.do(acts.Promote("n2"))
    at(system, 200)
    assert visible(system, "n2") == 99
    assert system.settle().lost == 1


@pytest.mark.parametrize(("drop", "lost"), [(False, 1), (True, 51)])
def test_m03_promoted_without_applying_what_it_has(drop: bool, lost: int) -> None:
    system = hundred_writers()
    at(system, 100)
    system.do(acts.Kill("n1"))
    system.dead_for_good.add("n1")
    system.do(PromoteAtOnce("n2", drop_relay_log=drop))
    assert 100 - visible(system, "n2") == 51
    assert system.report().lost == 51
    assert system.settle().lost == lost


@pytest.mark.parametrize("mariadb", [False, True])
def test_m03_the_less_advanced_replica_is_promoted(mariadb: bool) -> None:
    system = hundred_writers(mariadb=mariadb)
    system.do(acts.SlowLink("n1", "n3", 5 * MS))
    at(system, 100)
    assert len(system.server("n3").relay_log) == 95
    system.do(acts.Kill("n1"))
    system.dead_for_good.add("n1")
    system.do(acts.Promote("n3"))
    report = system.settle()
    assert report.lost == 5
    assert sorted(row.key for row in report.lost_rows) == [f"k{k}" for k in range(95, 100)]
    assert [gtid.number for gtid in system.errant("n2")] == [96, 97, 98, 99]
    assert report.divergence == 4
    assert system.server("n2").error == (1236 if mariadb else 0)
    system.do(Rebuild("n2"))
    assert system.report().divergence == 0


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
    assert report.unknown_present == (4 <= dies < 6)  # received, and not acknowledged yet
    if dies >= 6:
        assert outcome(system, "k") == (OK, 3)


@pytest.mark.parametrize("point", list(WaitPoint))
def test_m05_after_commit_shows_what_can_disappear(point: WaitPoint) -> None:
    system = MySQL(MySQLSettings(replicas=1, semi_sync=True, wait_point=point))
    client, other = system.add_client("c", ("n1",)), system.add_client("other", ("n1",))
    client.write("k")
    at(system, 1.5)
    other.read("k")
    at(system, 1.9)
    system.do(acts.Kill("n1"))
    system.do(acts.Promote("n2"))
    at(system, 1_000)
    report = system.settle()
    assert (report.lost, report.unknown_absent) == (0, 1)
    assert report.dirty == (point is WaitPoint.AFTER_COMMIT)
    assert len(system.errant("n1")) == 1


def cut_off_semi_sync(until: int) -> MySQL:
    """All links of the source to its replicas are cut at 0. A client has a write due each 10 ms."""
    system = MySQL(MySQLSettings(semi_sync=True))
    for replica in ("n2", "n3"):
        system.do(acts.Cut("n1", replica))
    system.add_client("w", ("n1",)).start(WriteLoop("k", 10 * MS))
    probe = system.add_client("probe", ("n1",))
    probe.start(WriteLoop("p", 100 * MS, limit=SECOND, probe=True))
    at(system, until)
    return system


def test_m06_semi_synchronous_replication_gives_up() -> None:
    system = cut_off_semi_sync(15_005)
    assert outcome(system, "k") == (OK, 10_001)
    assert outcome(system, "k", 2) == (OK, 10_011)
    assert system.account.acked["k"] == 501
    system.do(acts.Kill("n1"))
    system.dead_for_good.add("n1")
    system.do(acts.Promote("n2"))
    report = system.settle()
    assert (report.acked, report.lost) == (501, 501)
    assert (report.write_outages[0].start, report.write_outages[0].end) == (0, 10_001 * MS)


def test_m07_semi_synchronous_again() -> None:
    system = cut_off_semi_sync(12_005)
    assert (system.account.acked["k"], outcome(system, "k", 201)) == (201, (OK, 12_001))
    probes = sum(each.probe for each in system.account.writes)
    system.do(acts.HealAll())
    at(system, 12_006)
    assert len(system.server("n2").relay_log) == 201 + probes
    assert not system.server("n1").semi_sync.on
    at(system, 12_007)
    assert system.server("n1").semi_sync.on
    at(system, 12_014)
    assert outcome(system, "k", 202) == (OK, 12_013)
    at(system, 13_000)
    system.do(acts.Kill("n1"))
    system.dead_for_good.add("n1")
    system.do(acts.Promote())
    assert system.settle().lost == 0


@pytest.mark.parametrize(("replicas", "stall"), [(2, 10_001), (3, 3)])
def test_m08_a_count_of_two(replicas: int, stall: int) -> None:
    system = MySQL(MySQLSettings(replicas=replicas, semi_sync=True, wait_for_replica_count=2))
    client = system.add_client("c", ("n1",))
    system.do(acts.Kill("n3"))
    client.write("k")
    at(system, 11_000)
    assert outcome(system, "k") == (OK, stall)
    client.write("k")
    at(system, 12_000)
    asynchronous = 11_001  # although n2 acknowledges
    assert outcome(system, "k", 2) == (OK, asynchronous if replicas == 2 else 11_003)


def test_m08_a_dead_replica_is_noticed_at_the_second_send() -> None:
    system = MySQL(MySQLSettings(replicas=1, semi_sync=True, wait_no_replica=False))
    client = system.add_client("c", ("n1",))
    system.do(acts.Kill("n2"))
    at(system, 1_000)
    assert system.server("n1").semi_sync.known_replicas == 1
    client.write("k")
    at(system, 12_000)
    assert outcome(system, "k") == (OK, 11_001)
    assert system.server("n1").semi_sync.known_replicas == 1
    client.write("k")
    at(system, 13_000)
    assert outcome(system, "k", 2) == (OK, 12_001)
    assert system.server("n1").semi_sync.known_replicas == 0


@pytest.mark.parametrize(("recovery", "mariadb"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("source_survives", [True, False])
def test_m09_received_is_not_applied(recovery: bool, mariadb: bool, source_survives: bool) -> None:
    system = MySQL(MySQLSettings(replicas=1, semi_sync=True, relay_log_recovery=recovery, mariadb=mariadb))
    for k in range(10):
        system.add_client(f"w{k}", ("n1",)).write(f"k{k}")
    while visible(system, "n2") < 6:
        system.step()
    assert (len(system.account.oks), system.server("n2").received()) == (10, 10)
    if not source_survives:
        system.do(acts.Kill("n1"))
        system.dead_for_good.add("n1")
    system.do(acts.Kill("n2"))
    system.do(acts.Restart("n2"))
    dropped = recovery or mariadb
    assert system.server("n2").received() == (6 if dropped else 10)
    if not source_survives:
        system.do(acts.Promote("n2"))
    report = system.settle()
    assert report.lost == (4 if dropped and not source_survives else 0)
    assert visible(system, "n2") == 10 - report.lost
    assert report.duplicates == report.divergence == 0


def split_brain(**settings: Any) -> MySQL:
    system = MySQL(MySQLSettings(**settings))
    a, b = system.add_client("A", ("n1",)), system.add_client("B", ("n2",))
    system.do(acts.Isolate("n1", ("A",)))
    a.start(WriteLoop("a", 100 * MS, until=4_000 * MS, limit=SECOND))
    at(system, 5_000)
    system.do(acts.Promote("n2"))
    b.start(WriteLoop("b", 50 * MS, start=5_000 * MS, until=8_000 * MS))
    at(system, 9_000)
    return system


@pytest.mark.parametrize("auto_increment", [True, False])
def test_m10_both_sides_take_writes(auto_increment: bool) -> None:
    system = split_brain(auto_increment=auto_increment)
    assert (system.account.acked["a"], system.account.acked["b"]) == (40, 60)
    report = system.settle()
    assert report.lost == 40
    assert len(system.errant("n1")) == 40
    n1 = system.server("n1")
    collisions = [key for key, gtid in n1.primary_keys.items() if system.server("n2").primary_keys[key] != gtid]
    if auto_increment:
        assert n1.error == 1062
        assert len(collisions) == 40
        assert visible(system, "n1") == 40
    else:
        assert n1.error == 0
        assert visible(system, "n1") == 100  # silently merged


def test_m10_semi_synchronous_and_fenced_in_time() -> None:
    system = split_brain(semi_sync=True)
    system.do(acts.Kill("n1"))
    assert "a" not in system.account.acked
    assert system.settle().lost == 0


def test_m11_a_source_that_comes_back_with_less() -> None:
    system = MySQL(MySQLSettings(replicas=1, sync_binlog=0, os_flush=71 * MS, connect_retry=10**9))
    for k in range(100):
        system.add_client(f"w{k}", ("n1",)).start(WriteLoop(f"k{k}", 10**9, start=(k + (k >= 70)) * MS))
    at(system, 141)
    n1, n2 = system.server("n1"), system.server("n2")
    assert (len(system.account.oks), n2.received(), n1.synced) == (100, 100, 70)
    system.do(acts.PowerLoss(("n1",)))
    system.do(acts.Restart("n1"))
    assert len(n1.binlog) == 70
    system.do(Follow("n2", "n1"))
    at(system, 500)
    assert n2.error == 1236
    late = system.add_client("late", ("n1",))
    for _ in range(30):
        late.write("new")
    at(system, 600)
    system.do(Follow("n2", "n1"))
    at(system, 700)
    assert n2.error == 0
    assert len(n1.binlog) == len(n2.binlog) == 100
    assert sum(n1.places()[place] != row for place, row in n2.places().items()) == 30


@pytest.mark.parametrize(("purge", "mariadb"), [(False, False), (True, False), (False, True), (True, True)])
def test_m12_a_transaction_of_its_own_on_a_replica(purge: bool, mariadb: bool) -> None:
    system = MySQL(MySQLSettings(mariadb=mariadb))
    client = system.add_client("c", ("n1",))
    for _ in range(5):
        client.write("k")
        at(system, system.now / MS + 10)
    system.add_client("somebody", ("n2",)).write("own")
    at(system, 100)
    client.write("k")
    at(system, 200)
    assert [gtid.server for gtid in system.errant("n2")] == ["n2"]
    assert visible(system, "n3") == 6
    if purge:
        system.do(PurgeBinlogs("n2"))
    system.do(acts.Kill("n1"))
    system.dead_for_good.add("n1")
    system.do(acts.Promote("n2"))
    report = system.settle()
    n3 = system.server("n3")
    if mariadb:
        assert (n3.error, report.divergence) == (0, 1)
    else:
        assert (n3.error, report.divergence) == ((1236, 1) if purge else (0, 0))


@pytest.mark.parametrize(("servers", "backward"), [(("n2", "n3"), 10), (("n3",), 0)])
def test_m13_two_readable_replicas(servers: tuple[str, ...], backward: int) -> None:
    system = asynchronous(apply_time=MS)
    system.do(acts.SlowLink("n1", "n3", 5 * MS))
    system.add_client("w", ("n1",)).start(WriteLoop("k", 2 * MS))
    reader = system.add_client("r")
    for ms in range(10, 30):
        at(system, ms)
        reader.read("k", servers[ms % len(servers)])
    at(system, 30)
    reads = [each for each in system.account.reads if each.client == "r"]
    assert len(reads) == 20
    assert all(each.stale for each in reads)
    assert sum(each.backward > 0 for each in reads) == backward
    assert {(each.server, each.stale) for each in reads} <= {("n2", 1), ("n3", 3)} | ({("n3", 3)} if backward else set())
