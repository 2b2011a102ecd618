"""`eligible.leader.replicas.version` independently of the release: in an upgraded cluster, it can be off, and in a cluster of 4.0, it can
be on. The level of `transaction.version` can also change while a cluster runs.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from core.kafka.clients.producer.producer_transaction_state import COMMIT
from core.kafka.features import ELR_VERSION, TRANSACTION_VERSION, finalized
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
    state = cluster.controller.registry.partitions[TP]
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


def _with_producer(release: str, level: int | None = None) -> Cluster:
    """Return a cluster with a transactional producer that has committed a transaction."""
    features = () if level is None else ((TRANSACTION_VERSION, level),)
    spec = ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3)), (TopicSpec("t", replication_factor=3),), features=features)
    cluster = Cluster(spec, release_named(release))
    cluster.do(acts.InitTransactions("t", "app", "app"))
    cluster.run_until(SECOND)
    _commit(cluster)
    return cluster


def _commit(cluster: Cluster) -> tuple[str, int, int]:
    """Commit a transaction. Return the state, the epoch, and the transaction.version of the producer."""
    cluster.do(acts.BeginTransaction("app"))
    cluster.do(acts.Produce("t", 1, producer="app"))
    cluster.run_until(cluster.now + SECOND)
    producer = cluster.clients.producer("app")
    assert producer is not None
    assert producer.transactions is not None
    if not producer.transactions.refusal(COMMIT):
        cluster.do(acts.CommitTransaction("app"))
        cluster.run_until(cluster.now + SECOND)
    return producer.transactions.state.value, producer.transactions.producer_epoch, producer.transactions.version


def test_a_producer_follows_a_new_level_after_its_next_connection() -> None:
    """The recordings v-feature-raise and v-feature-change, and what a new producer and a restored cluster learn."""
    cluster = _with_producer("4.1", 0)
    cluster.do(acts.UpdateFeature(TRANSACTION_VERSION, 2))
    cluster = Cluster.restore(cluster.snapshot())
    assert _commit(cluster) == ("READY", 0, 0)
    for broker in (1, 2, 3):
        cluster.do(acts.Shutdown(broker))
        cluster.run_until(cluster.now + 5 * SECOND)
        cluster.do(acts.Start(broker))
        cluster.run_until(cluster.now + 15 * SECOND)
    assert _commit(cluster) == ("READY", 1, 2)  # another epoch from InitProducerId
    assert _commit(cluster) == ("READY", 2, 2)
    cluster.do(acts.InitTransactions("t", "other", "other"))
    cluster.run_until(cluster.now + SECOND)
    other = cluster.clients.producer("other")
    assert other is not None
    assert other.transactions is not None
    assert other.transactions.version == 2
    cluster.do(acts.UpdateFeature(TRANSACTION_VERSION, 0))
    cluster.run_until(cluster.now + SECOND)
    assert _commit(cluster)[0] == "FATAL_ERROR"  # the coordinator cannot store the state of a client with level 2


def test_a_quorum_commits_a_feature_level() -> None:
    spec = ClusterSpec((BrokerSpec(1),), (TopicSpec("t", replication_factor=1),), controllers=("c1", "c2", "c3"))
    heard: list[Any] = []
    cluster = Cluster(spec, release_named("4.3"), sink=heard.append)
    cluster.run_until(5 * SECOND)
    cluster.do(acts.UpdateFeature(TRANSACTION_VERSION, 1))
    cluster.run_until(6 * SECOND)
    assert [event[4:] for event in heard if event[3] == "feature-level-changed"] == [(TRANSACTION_VERSION, 2, 1)]
    assert cluster.brokers[1].context.metadata_cache.transaction_version == 1


@pytest.mark.parametrize(
    ("release", "act", "words"),
    [
        ("4.3", (TRANSACTION_VERSION, 1, "upgrade"), "Could not upgrade transaction.version to 1. Invalid update version 1 for feature "
         "transaction.version. Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade."),
        ("4.3", (TRANSACTION_VERSION, 3), "Could not upgrade transaction.version to 3. Invalid update version 3 for feature transaction.version. "
         "Local controller 0 only supports versions 0-2"),
        ("4.3", (TRANSACTION_VERSION, 1, "sideways"), "there is no upgrade type sideways; use upgrade, safe-downgrade, unsafe-downgrade"),
        ("4.3", (ELR_VERSION, 0), "isrlab changes eligible.leader.replicas.version only at the start of a cluster"),
        ("4.3", ("transaction.versoin", 0), "unknown feature 'transaction.versoin'; did you mean 'transaction.version'?"),
        ("3.9", (TRANSACTION_VERSION, 1), "Could not upgrade transaction.version to 1. Invalid update version 1 for feature transaction.version. "
         "Local controller 0 does not support this feature."),
        ("2.8", (TRANSACTION_VERSION, 1), "release 2.8 has no feature levels; use release 3.3 or later"),
    ],
)  # fmt: skip
def test_an_impossible_level_is_refused(release: str, act: tuple[Any, ...], words: str) -> None:
    with pytest.raises(ActRefused, match=re.escape(words)):
        Cluster(ClusterSpec((BrokerSpec(1),)), release_named(release)).do(acts.UpdateFeature(*act))
