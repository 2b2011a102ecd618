"""A sample of the random schedules, and the promises that need their own faults. `python -m tests.core.models.swarm` plays all seeds."""

from __future__ import annotations

from random import Random

import pytest

from core.models import acts
from core.models.client import ReadLoop, WriteLoop
from core.models.mysql.settings import MySQLSettings
from core.models.mysql.system import MySQL
from core.models.system import ReplicationSystem
from core.sim.units import SECOND
from core.sim.units import US_PER_MS as MS
from tests.core.models.swarm import BUILD, HARMS, MODELS, broken, play, swarm

KNOWN = {
    "mysql": (1, 2, 17), "elasticsearch": (3, 57), "quorum": (12, 52),
}  # fmt: skip
"""Seeds that show harms, from a run of all seeds."""


@pytest.mark.parametrize("model", MODELS)
def test_a_sample_keeps_the_promises(model: str) -> None:
    _, faults = swarm(model, range(6))
    assert not faults


@pytest.mark.parametrize("model", MODELS)
def test_known_seeds_show_their_harms(model: str) -> None:
    shown = set()
    for seed in KNOWN[model]:
        played = play(model, seed)
        assert not broken(played)
        shown |= {name for name, shows in HARMS[model].items() if shows(played)}
    assert len(shown) >= 2


def test_a_seed_plays_the_same_again() -> None:
    one, other = play("elasticsearch", 4), play("elasticsearch", 4)
    assert one.script == other.script
    assert one.report == other.report


def one_death(seed: int, *, semi_sync: bool) -> int:
    """Return the acknowledged writes that are lost when the source dies once and the best replica is promoted."""
    random = Random(seed)
    system = MySQL(MySQLSettings(semi_sync=semi_sync, connect_retry=SECOND))
    for replica in ("n2", "n3"):
        system.do(acts.SlowLink("n1", replica, random.randrange(1, 20) * MS))
    for number in range(4):
        system.add_client(f"w{number}", ("n1",)).start(WriteLoop(f"k{number}", random.randrange(1, 9) * MS))
    system.run_until(random.randrange(100, 600) * MS + random.randrange(MS))
    system.do(acts.Kill("n1"))
    system.dead_for_good.add("n1")
    system.do(acts.Promote())
    return system.settle(2 * SECOND).lost


def test_semi_synchronous_replication_loses_nothing_while_it_is_on() -> None:
    seeds = range(20)
    assert sum(one_death(seed, semi_sync=True) for seed in seeds) == 0
    assert sum(one_death(seed, semi_sync=False) > 0 for seed in seeds) > 10


@pytest.mark.parametrize("model", MODELS)
def test_without_faults_no_model_harms_anybody(model: str) -> None:
    system: ReplicationSystem = BUILD[model](Random(1), 1, lambda event: None)
    authority = system.authority()
    start = system.now
    for number in range(3):
        system.add_client(f"w{number}", (authority,)).start(WriteLoop(f"k{number}", 20 * MS, start=start, until=start + 3 * SECOND))
        system.add_client(f"r{number}", (authority,)).start(ReadLoop(f"k{number}", 7 * MS, until=start + 3 * SECOND))
    probe = system.add_client("probe", (authority,))
    probe.start(WriteLoop("p", 100 * MS, limit=SECOND, probe=True, until=start + 3 * SECOND))
    probe.start(ReadLoop("k0", 100 * MS, limit=SECOND, probe=True, until=start + 3 * SECOND))
    system.run_until(start + 4 * SECOND)
    report = system.settle(5 * SECOND)
    assert (report.acked, report.reads) > (400, 1_000)
    assert (report.lost, report.dirty, report.duplicates, report.divergence, report.phantom) == (0, 0, 0, 0, 0)
    assert (report.stale, report.own_broken, report.backward) == (0, 0, 0)
    assert (report.write_outages, report.read_outages) == ((), ())
