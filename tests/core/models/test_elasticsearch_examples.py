"""Which operations fill a gap, with their terms. The scenarios `elasticsearch-e*` are the worked examples.

n1 has the primary, n2 and n3 have copies. Times are in ms.
"""

from __future__ import annotations

from typing import Any

from core.models import acts
from core.models.elasticsearch.settings import ElasticsearchSettings
from core.models.elasticsearch.system import Elasticsearch
from core.sim.units import US_PER_MS as MS


def cluster(seed: int = 0, **settings: Any) -> Elasticsearch:
    return Elasticsearch(ElasticsearchSettings(**settings), seed)


def at(system: Elasticsearch, ms: float) -> None:
    """Run until everything that is due by then has happened."""
    system.run_until(int(ms * MS))


def seqnos(system: Elasticsearch, name: str) -> list[int]:
    return sorted(system.node(name).shard.indexed)


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
