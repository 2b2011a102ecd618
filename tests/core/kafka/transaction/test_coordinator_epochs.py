"""Which leader epochs of `__transaction_state` begin another coordinator epoch: ZooKeeper and KRaft differ."""

from __future__ import annotations

import pytest

from core.kafka import events
from core.kafka.ids import TopicPartition
from core.kafka.release import RELEASES
from core.kafka.topic_spec import TopicSpec
from core.kafka.transaction.transaction_log import TRANSACTION_STATE_TOPIC, partition_for
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND


@pytest.mark.parametrize("release", ["2.4", "4.3"])
def test_a_dead_follower_does_not_reload_the_coordinator(release: str) -> None:
    """With ZooKeeper, the leader epoch rises when a follower dies (`ReplicaManager#makeLeaders` skips the present leader). In KRaft, it
    does not.
    """
    loaded: list[tuple] = []

    def sink(event: tuple) -> None:
        if event[3] == events.CoordinatorLoaded.kind:
            loaded.append(event[4:])

    spec = ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3)), (TopicSpec("t", 1, 3),))
    cluster = Cluster(spec, RELEASES[release], sink=sink)
    cluster.do(acts.InitTransactions("t", "a"))
    cluster.run_until(5 * SECOND)
    number = partition_for("a", 50)
    ((leader, _, _, epoch, _),) = [each for each in loaded if each[2] == number]
    tp = TopicPartition(TRANSACTION_STATE_TOPIC, number)
    follower = next(each for each in (1, 2, 3) if each != leader)
    cluster.do(acts.Kill(follower))
    cluster.run_until(60 * SECOND)
    broker = cluster.brokers[leader]
    assert broker.partitions[tp].leader_epoch == epoch + (release == "2.4")
    assert len([each for each in loaded if each[2] == number]) == 1
    cache = broker.transactions.states.caches[number]
    assert (cache.coordinator_epoch, list(cache.entries)) == (epoch, ["a"])
