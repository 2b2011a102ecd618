"""The throttle of a reassignment: bursts around the rate, added replicas only, at the leader and at the follower (A4)."""

from __future__ import annotations

import pytest

from core import acts
from core.broker.replication_quota import ReplicationQuota
from core.ids import TopicPartition
from core.sim.cluster import Cluster
from core.spec import BrokerSpec, ClusterSpec, PartitionSpec, TopicSpec

TP = TopicPartition("t", 0)
SECOND = 1_000_000


def test_the_rate_is_that_of_the_last_eleven_seconds() -> None:
    quota = ReplicationQuota(100)
    assert not quota.is_exceeded(0)
    quota.record(0, 500)
    assert quota.is_exceeded(1 * SECOND)
    assert quota.is_exceeded(4 * SECOND)
    assert not quota.is_exceeded(5 * SECOND), "500 bytes in five seconds are 100 a second"
    quota.record(6 * SECOND, 10_000)
    assert quota.is_exceeded(16 * SECOND)
    assert not quota.is_exceeded(17 * SECOND), "samples older than the window do not count"


def copied(setting: str | None, replicas: tuple[int, ...]) -> int:
    """How far broker 4's new replica is, six seconds into a move."""
    settings = () if setting is None else ((setting, 100_000),)
    spec = ClusterSpec(
        tuple(BrokerSpec(broker) for broker in (1, 2, 3, 4)),
        (TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)),)),),
        settings=(("replica.fetch.max.bytes", 50_000), *settings),
    )
    cluster = Cluster(spec)
    cluster.do(acts.Produce("t", 2_000, bytes=1_000))
    cluster.run_until(2 * SECOND)
    assert cluster.brokers[2].disk.logs[TP].leo == 2_000, "a member of the ISR is never held back"
    cluster.do(acts.Reassign(TP, replicas))
    cluster.run_until(8 * SECOND)
    cluster.do(acts.Produce("t", 500, bytes=1_000))
    cluster.run_until(10 * SECOND)
    assert cluster.brokers[2].disk.logs[TP].leo == 2_500
    return cluster.brokers[4].disk.logs[TP].leo


@pytest.mark.parametrize("setting", ["leader.replication.throttled.rate", "follower.replication.throttled.rate"])
def test_a_throttled_copy_goes_at_its_rate(setting: str) -> None:
    assert copied(None, (1, 2, 4)) == 2_500
    assert 600 <= copied(setting, (1, 2, 4)) <= 1_000
