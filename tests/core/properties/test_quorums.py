"""Random kills, pauses, and cuts of voters never lead to two committed records at one offset or to two leaders of one epoch. A healed
cluster becomes whole.
"""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from core.kafka.events import explain
from core.lab.cluster import Cluster
from core.sim.errors import ActRefused
from tests.core.properties.quorums import QuorumLife, QuorumWatch, heal, play, quorum_lives, whole


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(quorum_lives())
def test_one_committed_log(life: QuorumLife) -> None:
    """D9: whatever happens to voters, there is a single committed log and a single leader in an epoch. After healing, everything converges."""
    watch = QuorumWatch()
    cluster = play(life, watch)
    whole(cluster, heal(cluster, watch))


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(quorum_lives())
def test_the_same_life_gives_the_same_events(life: QuorumLife) -> None:
    """The events are the same byte for byte."""

    def events() -> list[tuple]:
        taken: list[tuple] = []
        cluster = life.cluster()
        cluster.journal.sink = taken.append
        for wait, act in life.steps:
            cluster.run_until(cluster.now + wait)
            try:
                cluster.do(act)
            except ActRefused as refusal:
                taken.append((str(refusal),))
        Cluster.run_until(cluster, cluster.now + 20_000_000)
        return taken

    first = events()
    assert first == events()
    assert all(explain(event) for event in first if len(event) > 3)
