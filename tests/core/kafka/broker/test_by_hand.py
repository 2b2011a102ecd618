"""The fetcher of a by-hand cluster. The user decides when the fetcher takes a turn, so no backoff may suppress this turn."""

from __future__ import annotations

import pytest

from core.kafka.ids import TopicPartition
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec, Pace

TP = TopicPartition("t", 0)


@pytest.fixture
def cluster() -> Cluster:
    topic = TopicSpec("t", assignment=(PartitionSpec((1, 2)),))
    return Cluster(ClusterSpec((BrokerSpec(1), BrokerSpec(2)), (topic,), pace=Pace.BY_HAND))


def test_a_fetch_after_the_leader_was_bounced_under_a_waiting_one(cluster: Cluster) -> None:
    cluster.do(acts.Arrive(2))
    cluster.do(acts.Bounce(1))
    cluster.do(acts.Produce("t", 5, acks="1"))
    cluster.do(acts.Fetch(2))
    assert cluster.brokers[2].disk.logs[TP].leo == 5


def test_a_fetch_that_has_arrived_waits_for_a_command_however_much_is_appended(cluster: Cluster) -> None:
    cluster.do(acts.Arrive(2))
    cluster.do(acts.Produce("t", 2**62, acks="1", bytes=1_000))
    assert cluster.brokers[2].disk.logs[TP].leo == 0
    cluster.do(acts.Answer(2, records=5))
    assert cluster.brokers[2].disk.logs[TP].leo == 5
