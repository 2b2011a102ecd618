"""The worked examples of the Elasticsearch model, with their numbers. Each name cites the example.

n1 has the primary, n2 and n3 have copies. Times are in ms.
"""

from __future__ import annotations

from typing import Any

import pytest

from core.models import acts
from core.models.account import FAIL, OK, UNKNOWN
from core.models.client import WriteLoop
from core.models.elasticsearch.node import SEARCH
from core.models.elasticsearch.settings import ElasticsearchSettings
from core.models.elasticsearch.system import Elasticsearch
from core.sim.errors import ActRefused
from core.sim.units import SECOND
from core.sim.units import US_PER_MS as MS


def cluster(seed: int = 0, **settings: Any) -> Elasticsearch:
    return Elasticsearch(ElasticsearchSettings(**settings), seed)


def at(system: Elasticsearch, ms: float) -> None:
    """Run until everything that is due by then has happened."""
    system.run_until(int(ms * MS))


def outcome(system: Elasticsearch, key: str, version: int = 1) -> tuple[str, float]:
    """How a write ended, and when."""
    (record,) = [each for each in system.account.writes if each.row.key == key and each.row.version == version]
    return record.outcome, record.ended / MS


def seqnos(system: Elasticsearch, name: str) -> list[int]:
    return sorted(system.node(name).shard.indexed)


def test_e01_a_get_sees_a_write_before_it_is_acknowledged() -> None:
    system = cluster(master="n2")
    client, reader = system.add_client("c", ("n1",)), system.add_client("r")
    client.write("k")
    for ms, server in ((1, "n1"), (2, "n1"), (2.5, "n2"), (3, "n2")):
        at(system, ms)
        reader.read("k", server)
    at(system, 10)
    assert outcome(system, "k") == (OK, 4)
    first, second, third, fourth = system.account.reads
    assert [each.row.version for each in system.account.reads] == [1, 1, 0, 1]
    assert first.unacknowledged
    assert second.unacknowledged
    assert fourth.unacknowledged
    assert (third.backward, third.stale) == (1, 0)
    for server in system.servers:
        client.read("k", server)
    at(system, 11)
    report = system.report()
    assert (report.stale, report.own_broken) == (0, 0)


PHASES = (0, 300 * MS, 600 * MS)


def test_e02_a_search_sees_a_write_after_the_refresh_of_its_copy() -> None:
    system = cluster(refresh_phases=PHASES)
    client, reader = system.add_client("c", ("n1",)), system.add_client("r")
    at(system, 100)
    client.write("k")
    stale = {}
    for ms in range(110, 1_020, 5):
        at(system, ms - 1)
        for server in system.servers:
            reader.read("k", server, how=SEARCH)
        at(system, ms)
        for each in system.account.reads[-3:]:
            if each.stale:
                stale[each.server] = each.invoked
    seen = {"n2": 300, "n3": 600, "n1": 1000}
    assert outcome(system, "k") == (OK, 104)
    assert {server: time - 104 for server, time in seen.items()} == {"n2": 196, "n3": 496, "n1": 896}
    for server, time in seen.items():
        assert time - 6 <= stale[server] / MS < time


def test_e02_a_search_goes_back_when_it_changes_the_copy() -> None:
    system = cluster(refresh_phases=PHASES)
    client, reader = system.add_client("c", ("n1",)), system.add_client("r")
    at(system, 100)
    client.write("k")
    for ms, server in ((350, "n2"), (400, "n1")):
        at(system, ms)
        reader.read("k", server, how=SEARCH)
    at(system, 401)
    assert [(each.row.version, each.backward) for each in system.account.reads] == [(1, 0), (0, 1)]


def test_e02_wait_for_refresh() -> None:
    system = cluster(refresh_phases=PHASES, wait_for_refresh=True)
    client = system.add_client("c", ("n1",))
    at(system, 100)
    client.write("k")
    at(system, 1_000)
    assert outcome(system, "k") == (OK, 1_000)
    for server in system.servers:
        client.read("k", server, how=SEARCH)
    at(system, 1_001)
    assert system.report().stale == 0


def test_e03_the_slowest_copy_decides() -> None:
    system = cluster()
    system.do(acts.SlowDisk("n3", 800 * MS))
    client = system.add_client("c", ("n1",))
    client.start(WriteLoop("k", MS, until=80_200 * MS))
    at(system, 80_400)
    assert outcome(system, "k") == (OK, 803)
    assert system.account.acked["k"] == 100
    assert outcome(system, "k", 100)[1] == pytest.approx(80_300, abs=100)
    assert system.node("n1").state.in_sync == ("n1", "n2", "n3")


def test_e04_a_copy_is_removed_before_the_write_is_acknowledged() -> None:
    system = cluster(master="n2")
    at(system, 99.5)
    system.network.close("n1", "n3", system.now, 0)
    system.network.close("n3", "n1", system.now, 0)
    client = system.add_client("c", ("n1",))
    at(system, 100)
    client.write("k")
    at(system, 110)
    assert outcome(system, "k") == (OK, 105)
    assert system.node("n1").state.in_sync == ("n1", "n2")
    at(system, 20_000)
    assert system.node("n1").state.in_sync == ("n1", "n2", "n3")
    assert seqnos(system, "n3") == [0]


@pytest.mark.parametrize("closes", [False, True])
def test_e05_a_silent_copy_is_removed_after_33_s(closes: bool) -> None:
    system = cluster(master="n2")
    probe = system.add_client("probe", ("n1",))
    probe.start(WriteLoop("p", 100 * MS, limit=SECOND, probe=True))
    late = system.add_client("c", ("n1",))
    system.do(acts.Isolate("n3", closes=closes))
    late.write("k")
    at(system, 40_000)
    kind, time = outcome(system, "k")
    assert kind == OK
    outages = system.report().write_outages
    if closes:
        assert time < 100
        assert not outages
    else:
        assert 31_900 < time < 33_100
        assert outages[0].start == 0
        assert 31_900 < outages[0].end / MS < 33_100
    assert system.settle().lost == 0


def in_flight(master: str) -> Elasticsearch:
    """Operations 0 to 9 are everywhere, and operation 10 is on n1 and n2 when n1 dies."""
    system = cluster(master=master)
    client = system.add_client("c", ("n1",))
    for number in range(10):
        client.write(f"k{number}")
    at(system, 100)
    assert [system.node(name).shard.global_checkpoint for name in system.servers] == [9, 9, 9]
    system.network.lose("n1", "n3")
    client.write("k10")
    at(system, 102.5)
    reader = system.add_client("r", ("n2",))
    at(system, 103)
    reader.read("k10")
    at(system, 103.5)
    assert [seqnos(system, name)[-1] for name in system.servers] == [10, 10, 9]
    system.do(acts.Kill("n1"))
    return system


@pytest.mark.parametrize("promoted", ["n2", "n3"])
def test_e06_what_is_in_flight_is_kept_or_not(promoted: str) -> None:
    system = in_flight(promoted)
    at(system, 1_000)
    assert system.authority() == promoted
    assert system.node(promoted).state.primary_term == 2
    last = 10 if promoted == "n2" else 9
    assert [seqnos(system, name)[-1] for name in ("n2", "n3")] == [last, last]
    report = system.settle()
    assert (report.lost, report.divergence) == (0, 0)
    assert (report.unknown_present, report.unknown_absent) == ((1, 0) if promoted == "n2" else (0, 1))
    assert report.dirty == (promoted == "n3")


def test_e07_a_gap_is_filled_with_a_no_op() -> None:
    system = cluster(master="n2")
    client = system.add_client("c", ("n1",))
    for number in range(9):
        client.write(f"k{number}")
    at(system, 100)
    client.write("k9")
    at(system, 100.5)
    system.network.lose("n1", "n2")
    at(system, 101.5)
    system.network.lose("n1", "n3")
    client.write("k10")
    at(system, 104.6)
    assert (seqnos(system, "n2")[-2:], seqnos(system, "n3")[-1]) == ([8, 10], 9)
    system.do(acts.Kill("n1"))
    at(system, 1_000)
    for name in ("n2", "n3"):
        ops = system.node(name).shard.indexed
        assert (ops[9].row, ops[9].term) == (None, 2)
        assert (ops[10].row.key, ops[10].term) == ("k10", 1)  # type: ignore[union-attr]
    system.add_client("d", ("n2",)).write("next")
    at(system, 1_100)
    op = system.node("n3").shard.indexed[11]
    assert (op.row.key, op.term) == ("next", 2)  # type: ignore[union-attr]
    report = system.settle()
    assert (report.lost, report.unknown_present, report.unknown_absent) == (0, 1, 1)


@pytest.mark.parametrize(("closes", "is_master", "promoted"), [
    (False, True, (64_000, 67_000)), (False, False, (31_900, 33_100)), (True, True, (0, 3_400)), (True, False, (0, 2_000)),
])  # fmt: skip
def test_e08_the_primary_is_in_the_minority(closes: bool, is_master: bool, promoted: tuple[int, int]) -> None:
    system = cluster(master="n1" if is_master else "n2")
    a, b = system.add_client("A", ("n1",)), system.add_client("B", ("n2", "n3"))
    b.write("b")
    at(system, 90)
    system.do(acts.Isolate("n1", ("A",), closes=closes))
    at(system, 100)
    a.write("a", limit=3 * SECOND)
    at(system, 102)
    a.read("a", "n1")
    b.write("b", limit=120 * SECOND)
    while system.node("n2").state.primary_term == 1:
        system.step()
    assert promoted[0] <= system.now / MS <= promoted[1]
    at(system, 70_000)
    assert outcome(system, "a")[0] == UNKNOWN
    assert outcome(system, "b", 2)[0] == OK
    a.read("b", "n1")
    at(system, 70_001)
    on_a, on_b = system.account.reads
    assert (on_a.row.version, on_a.unacknowledged) == (1, True)
    assert (on_b.row.version, on_b.stale) == (1, 1)
    assert system.node("n1").coordination.mode == "candidate"
    report = system.settle()
    assert (report.lost, report.divergence, report.duplicates) == (0, 0, 0)
    assert report.unknown_present + report.unknown_absent == 1
    assert report.dirty == report.unknown_absent


def test_e08_a_silent_master_steps_down_after_62_s() -> None:
    system = cluster()
    system.do(acts.Isolate("n1"))
    while system.node("n1").coordination.mode == "master":
        system.step()
    assert 61_900 < system.now / MS < 63_100
    (elected,) = [name for name in ("n2", "n3") if system.node(name).coordination.mode == "master"]
    assert system.node(elected).state.primary_term == 1


def test_e09_a_stale_copy_is_forced() -> None:
    system = cluster(copies=2, master="n3")
    client = system.add_client("c")
    client.write("first")
    at(system, 100)
    system.do(acts.Kill("n2"))
    at(system, 1_000)
    for number in range(50):
        client.write(f"k{number}", "n3")
    at(system, 2_000)
    assert len(system.account.oks) == 51
    system.do(acts.Kill("n1"))
    system.dead_for_good.add("n1")
    system.do(acts.Restart("n2"))
    at(system, 10_000)
    state = system.node("n3").state
    assert (state.primary, state.in_sync) == ("", ("n1",))
    assert (system.authority(), system.report().lost) == ("", 0)
    client.read("first", "n2")
    at(system, 10_001)
    assert system.account.reads[-1].outcome == FAIL
    with pytest.raises(ActRefused, match="accept_data_loss"):
        system.do(acts.Promote("n2"))
    system.do(acts.Promote("n2", accept_data_loss=True))
    at(system, 11_000)
    assert system.report().lost == 50
    system.dead_for_good.clear()
    report = system.settle()
    assert (report.lost, report.divergence) == (50, 0)
    assert seqnos(system, "n1") == seqnos(system, "n2") == [0]


@pytest.mark.parametrize(("translog_async", "lost"), [(True, 600), (False, 0)])
def test_e10_all_machines_lose_power(translog_async: bool, lost: int) -> None:
    system = cluster(translog_async=translog_async)
    client = system.add_client("c", ("n1",))
    client.start(WriteLoop("k", 5 * MS, start=MS))
    at(system, 8_000)
    system.do(acts.PowerLoss(("n1", "n2", "n3")))
    report = system.settle()
    assert report.lost == lost
    assert report.divergence == 0


def test_e11_too_few_active_copies() -> None:
    system = cluster(nodes=5, copies=3, master="n5", wait_for_active_shards=2)
    client = system.add_client("c", ("n1",))
    system.do(acts.Kill("n2"))
    system.do(acts.Kill("n3"))
    at(system, 1_000)
    client.write("k")
    at(system, 62_000)
    assert outcome(system, "k") == (FAIL, 61_000)
    report = system.settle()
    assert (report.failed, report.phantom) == (1, 0)


def test_e11_a_copy_dies_after_the_check() -> None:
    system = cluster(nodes=3, copies=2, master="n3", wait_for_active_shards=2)
    client = system.add_client("c", ("n1",))
    client.write("k")
    at(system, 1.5)
    system.do(acts.Kill("n2"))
    at(system, 1_000)
    assert outcome(system, "k")[0] == OK
    assert system.node("n1").state.in_sync == ("n1",)


@pytest.mark.parametrize("votes", [1, 2])
def test_e12_two_masters(votes: int) -> None:
    system = cluster(nodes=2, minimum_master_nodes=votes)
    a, b = system.add_client("A", ("n1",)), system.add_client("B", ("n2",))
    system.do(acts.Cut("n1", "n2"))
    system.do(acts.Cut("A", "n2"))
    at(system, 100_000)
    for number in range(300):
        a.write(f"a{number}")
    for number in range(200):
        b.write(f"b{number}")
    at(system, 400_000)
    oks = [sum(row.key.startswith(letter) for row in system.account.oks.values()) for letter in "ab"]
    assert oks == ([300, 200] if votes == 1 else [0, 0])
    system.do(acts.HealAll())
    system.do(acts.Kill("n1"))
    system.do(acts.Restart("n1"))
    report = system.settle()
    assert report.lost == (300 if votes == 1 else 0)
    assert report.divergence == 0


@pytest.mark.parametrize(("hours", "ops", "whole"), [(10 / 60, 5000, False), (13, 6001, True)])
def test_e13_what_a_copy_that_was_away_is_sent(hours: float, ops: int, whole: bool) -> None:
    recorded: list[Any] = []
    settings = ElasticsearchSettings(check_interval=60 * SECOND, refresh_interval=3_600 * SECOND)
    system = Elasticsearch(settings, sink=recorded.append)
    client = system.add_client("c", ("n1",))
    for number in range(1001):
        client.write(f"k{number}")
    at(system, 1_000)
    assert system.node("n3").shard.global_checkpoint == 1000
    system.do(acts.Kill("n3"))
    at(system, 2_000)
    for number in range(5000):
        client.write(f"l{number}")
    at(system, hours * 3_600_000)
    system.do(acts.Restart("n3"))
    at(system, hours * 3_600_000 + 100_000)
    (recovered,) = [event for event in recorded if event[3] == "recovered"]
    assert recovered[6:8] == (ops, whole)
    assert system.node("n1").state.in_sync == ("n1", "n2", "n3")


def test_e14_a_removed_copy_serves_its_old_state() -> None:
    system = cluster(master="n2")
    client = system.add_client("c", ("n1",))
    local = system.add_client("C", ("n3",))
    client.write("k")
    at(system, 100)
    system.do(acts.Isolate("n3", ("C",)))
    at(system, 33_500)
    for _ in range(3):
        client.write("k")
    at(system, 34_000)
    assert "n3" not in system.node("n1").state.in_sync
    local.read("k", "n3")
    at(system, 34_001)
    assert (system.account.reads[0].row.version, system.account.reads[0].stale) == (1, 3)
