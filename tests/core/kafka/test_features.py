"""`eligible.leader.replicas.version` independently of the release: in an upgraded cluster, it can be off, and in a cluster of 4.0, it can
be on.
"""

from __future__ import annotations

import pytest

from core.kafka.features import ELR_VERSION, finalized
from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.release import RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND
from scenarios.describe.render import from_view, render_describe
from scenarios.releases import release_named

TP = TopicPartition("t", 0)


def after_all_died(release: str, level: int | None) -> Cluster:
    """Return a cluster in which, of two replicas with min.insync.replicas 2, first the follower and then the leader died."""
    spec = ClusterSpec(
        tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
        (TopicSpec("t", assignment=(PartitionSpec((1, 2)),), config=(("min.insync.replicas", "2"),), topic_id="AAAAAAAAAAAAAAAAAAAAAA"),),
        features=() if level is None else ((ELR_VERSION, level),),
    )
    cluster = Cluster(spec, release_named(release))
    for broker in (2, 1):
        cluster.run_until(cluster.now + SECOND)
        cluster.do(acts.Kill(broker))
        cluster.run_until(cluster.now + 20 * SECOND)
    return cluster


@pytest.mark.parametrize(
    ("release", "level", "kept"),
    [("4.0", None, False), ("4.0", 1, True), ("4.1", None, True), ("4.3", 0, False), ("4.3", 1, True), ("3.9", 0, False)],
)
def test_the_level_decides_and_without_one_the_release(release: str, level: int | None, kept: bool) -> None:
    cluster = after_all_died(release, level)
    state = cluster.controller.replication.partitions[TP]
    assert (state.leader, state.isr, state.elr, state.last_known_elr) == (
        (NO_LEADER, (), (1, 2), (1,)) if kept else (NO_LEADER, (1,), (), ())
    )
    assert cluster.release.elr is kept
    assert cluster.view().release == release


def test_describe_prints_empty_columns_when_it_is_off() -> None:
    """The tool prints the columns since 3.8. The brokers send the lists, which are empty
    (`KRaftMetadataCache#getPartitionMetadataForDescribeTopicResponse`).
    """
    cluster = after_all_died("4.3", 0)
    assert render_describe(from_view(cluster.view()), cluster.release).splitlines()[1] == (
        "\tTopic: t\tPartition: 0\tLeader: none\tReplicas: 1,2\tIsr: 1\tElr: \tLastKnownElr: "
    )


def test_a_broker_level_min_isr_is_refused_only_while_it_is_on() -> None:
    spec = ClusterSpec((BrokerSpec(1),), (TopicSpec("t", replication_factor=1),), features=((ELR_VERSION, 0),))
    Cluster(spec).do(acts.Set("min.insync.replicas", "2", broker=1))
    with pytest.raises(ActRefused, match="while ELR is enabled"):
        Cluster(spec.with_features(((ELR_VERSION, 1),))).do(acts.Set("min.insync.replicas", "2", broker=1))


@pytest.mark.parametrize("release", ["2.8", "3.9", "4.3 without elr"])
def test_a_release_that_lacks_it_refuses_it(release: str) -> None:
    with pytest.raises(ValueError, match=f"release {release} has no eligible.leader.replicas.version; use release 4.0 or later"):
        finalized(release_named(release), ((ELR_VERSION, 1),))
    assert not finalized(release_named(release), ((ELR_VERSION, 0),)).elr


@pytest.mark.parametrize(
    ("features", "words"),
    [
        ((("eligible.leader.replica.version", 1),), "did you mean 'eligible.leader.replicas.version'"),
        (((ELR_VERSION, 2),), "has levels 0 to 1, not 2"),
        (((ELR_VERSION, 1), (ELR_VERSION, 0)), "feature eligible.leader.replicas.version appears twice"),
    ],
)
def test_a_wrong_feature_is_refused(features: tuple[tuple[str, int], ...], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Cluster(ClusterSpec((BrokerSpec(1),), features=features), RELEASES["4.3"])
