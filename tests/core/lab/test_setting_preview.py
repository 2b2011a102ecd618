"""The previewed effect of a change of a setting is its actual effect."""

from __future__ import annotations

import pytest

from core.kafka.health import PartitionStatus, could_elect_uncleanly
from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.lab.views.setting_preview import min_isr_change, only_on_stopped_brokers, unclean_change
from core.sim.units import SECOND


def cluster(release: str) -> Cluster:
    """Return a cluster with partitions of one, two, and three replicas, in which broker 3 is permanently down."""
    topics = tuple(TopicSpec(f"t{n}", 1, n, assignment=(PartitionSpec((1, 2, 3)[:n]),)) for n in (1, 2, 3))
    made = Cluster(ClusterSpec(tuple(BrokerSpec(i) for i in (1, 2, 3)), topics), Release.named(release))
    made.do(acts.Kill(3))
    made.run_until(60 * SECOND)
    return made


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("4.1", {1: (3, 0, 1), 2: (3, 0, 3), 3: (3, 1, 2), 4: (3, 1, 2)}),
        ("3.6", {1: (3, 0, 1), 2: (3, 1, 2), 3: (3, 3, 0), 4: (3, 3, 0)}),
    ],
)
def test_min_isr(release: str, expected: dict[int, tuple[int, int, int]]) -> None:
    made = cluster(release)
    before = made.view().partitions
    for value, told in expected.items():
        assert min_isr_change(before, value, capped=made.release.capped_min_isr) == told
        made.do(acts.Set("min.insync.replicas", str(value)))
        made.run_until(made.now + SECOND)
        after = made.view().partitions
        assert sum(p.status is PartitionStatus.UNDER_MIN_ISR for p in after) == told[1]
        assert sum(len(p.isr) == p.min_isr for p in after) == told[2]


def test_unclean_election() -> None:
    made = cluster("3.6")
    made.do(acts.Produce("t2", 30, acks="1"))
    made.run_until(made.now + SECOND)
    made.do(acts.Kill(2))
    made.run_until(made.now + 60 * SECOND)
    made.do(acts.Produce("t2", 12, acks="1"))
    made.run_until(made.now + SECOND)
    made.do(acts.Kill(1))
    made.run_until(made.now + 60 * SECOND)
    assert unclean_change(made.view().partitions, made.view().up) == (0, 0), "no replica is alive"
    made.do(acts.Start(2))
    made.run_until(made.now + 60 * SECOND)
    view = made.view()
    assert [p.tp.topic for p in view.partitions if could_elect_uncleanly(p, view.up)] == ["t2", "t3"], "the only replica of t1 is dead"
    t2 = made.partition_view(TopicPartition("t2", 0))
    assert only_on_stopped_brokers(t2) == 12
    told = unclean_change(view.partitions, view.up)
    assert told == (2, 12)
    made.do(acts.Set("unclean.leader.election.enable", "true"))
    made.do(acts.Elect("unclean"))
    made.run_until(made.now + 60 * SECOND)
    assert [p.leader for p in made.view().partitions] == [-1, 2, 2]
    assert made.partition_view(t2.tp).replica_on(2).leo == t2.replica_on(1).leo - 12
