"""The number of copies that are needed to tolerate losses: compares the models' tables with runs that lose that many copies."""

from __future__ import annotations

from typing import Any

import pytest

from core.lab.model_comparison.kafka_system import KafkaSettings, KafkaSystem
from core.lab.model_comparison.systems import Compared, variant_named
from core.models import acts, tolerance
from core.models.account import OK
from core.models.elasticsearch.settings import ElasticsearchSettings
from core.models.elasticsearch.system import Elasticsearch
from core.models.mysql.settings import MySQLSettings
from core.models.mysql.system import MySQL
from core.models.quorum.settings import QuorumSettings
from core.models.quorum.system import Quorum
from core.models.tolerance import CopiesNeeded, Tolerance
from core.sim.units import SECOND

KAFKA = [(2, 1), (2, 2), (3, 1), (3, 2), (3, 3), (4, 2)]


@pytest.mark.parametrize(("variant", "one", "two"), [
    ("kafka", (2, 3), (3, 5)), ("kafka-acks-1", (0, 0), (0, 0)), ("mysql", (0, 0), (0, 0)), ("mysql-semi-sync", (2, 3), (3, 5)),
    ("elasticsearch", (0, 0), (0, 0)), ("quorum", (3, 3), (5, 5)),
])  # fmt: skip
def test_copies_needed(variant: str, one: tuple[int, int], two: tuple[int, int]) -> None:
    known = variant_named(variant)
    assert known.copies_needed(1) == CopiesNeeded(*one)
    assert known.copies_needed(2) == CopiesNeeded(*two)


def quorum(nodes: int) -> Quorum:
    system = Quorum(QuorumSettings(nodes))
    system.elect_first()
    return system


SYSTEMS: list[tuple[str, Any, int, Tolerance]] = [
    *((f"kafka {n} {m}", lambda n=n, m=m: KafkaSystem(KafkaSettings(n, min_isr=m)), n, tolerance.isr(n, m)) for n, m in KAFKA),
    *((f"quorum {n}", lambda n=n: quorum(n), n, tolerance.majority(n)) for n in (2, 3, 4, 5)),
    *((f"semi-sync {n} {c}", lambda n=n, c=c: MySQL(MySQLSettings(n - 1, semi_sync=True, wait_for_replica_count=c)), n, tolerance.semi_sync(n, c))
      for n, c in ((2, 1), (3, 1), (3, 2), (4, 2))),
    *((f"elasticsearch {n}", lambda n=n: Elasticsearch(ElasticsearchSettings(5, n, "n5")), n, tolerance.in_sync_copies(n)) for n in (2, 3)),
]  # fmt: skip


def written(system: Compared, limit: int) -> bool:
    """Return whether a write is acknowledged within a time."""
    before = len(system.account.oks)
    client = system.add_client(f"c{len(system.account.writes)}")
    system.run_until(system.now + SECOND // 10)
    client.write("k", limit=limit)  # type: ignore[attr-defined]
    system.run_until(system.now + limit + SECOND)
    return len(system.account.oks) > before


def lose(system: Compared, name: str) -> None:
    """Kill a process whose machine does not come back."""
    system.do(acts.Kill(name))
    system.dead_for_good.add(name.replace("n", "b") if isinstance(system, KafkaSystem) else name)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("build", "copies", "said"), [each[1:] for each in SYSTEMS], ids=[each[0] for each in SYSTEMS])
def test_writes_go_on_after_as_many_losses_as_the_model_says_and_not_after_one_more(build: Any, copies: int, said: Tolerance) -> None:
    """The primary survives, because in MySQL a person decides who replaces it. A semi-synchronous write that waits for its timeout has
    stalled.
    """
    system = build()
    limit = 9 * SECOND if isinstance(system, MySQL) else 12 * SECOND
    for number in range(said.write):
        lose(system, f"n{copies - number}")
    system.run_until(system.now + 40 * SECOND)
    assert written(system, limit)
    if said.write + 1 < copies:
        lose(system, f"n{copies - said.write}")
        system.run_until(system.now + 40 * SECOND)
        assert not written(system, limit)


@pytest.mark.parametrize(("build", "copies", "said"), [each[1:] for each in SYSTEMS], ids=[each[0] for each in SYSTEMS])
def test_an_acknowledged_write_survives_as_many_losses_as_the_model_says_and_not_surely_one_more(
    build: Any, copies: int, said: Tolerance
) -> None:
    """The write is acknowledged while as few copies take part as the model allows. Then these copies are lost, the primary first."""
    for losses in (said.keep, said.keep + 1):
        system = build()
        away = [f"n{copies - number}" for number in range(said.write)]
        for name in away:
            system.do(acts.Kill(name))
        system.run_until(system.now + 40 * SECOND)
        assert written(system, 9 * SECOND)
        (row,) = [each.row for each in system.account.writes if each.outcome == OK]
        taking_part = [f"n{number + 1}" for number in range(copies - said.write)]
        for name in taking_part[:losses]:
            lose(system, name)
        left = [*taking_part[losses:], *away]
        held = [name for name in left if system.holds(name, row)]
        if losses == said.keep:
            assert held
        else:
            assert not held or isinstance(system, Quorum)
            assert not isinstance(system, Quorum) or 2 * len(left) <= copies, "a majority is gone"
