"""Random kills and losses of power: acknowledged records are lost only if the rules allow it (L3, S11; KIP-966)."""

from __future__ import annotations

import random

import pytest

from core.kafka.broker.broker_state import BrokerState
from core.kafka.ids import TopicPartition
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND, US_PER_MS

SPEC = ClusterSpec(
    tuple(BrokerSpec(broker, log_dirs=2) for broker in (1, 2, 3)),
    (TopicSpec("t", 3, 3, config=(("segment.bytes", "30000"),)),),
    settings=(("min.insync.replicas", 2),),
)

PATIENCE = 90
"""The number of seconds after the start of its brokers by which a cluster must be whole."""


def whole(cluster: Cluster) -> bool:
    """Return whether all brokers run and are in sync, and every log is as long as its leader's high watermark."""
    if any(broker.context.state is not BrokerState.RUNNING for broker in cluster.brokers.values()):
        return False
    return all(len(registration.isr) == 3 and registration.leader > 0 for registration in cluster.controller.registry.partitions.values())


def until_whole(cluster: Cluster) -> None:
    for _ in range(PATIENCE):
        for broker in cluster.brokers.values():
            if broker.context.state is BrokerState.STOPPED:
                cluster.do(acts.Start(broker.id))
        cluster.run_until(cluster.now + SECOND)
        if whole(cluster):
            return
    raise AssertionError("the cluster does not become whole again")


def same_logs(cluster: Cluster) -> None:
    cluster.do(acts.StopLoad("p"))
    cluster.run_until(cluster.now + 5 * SECOND)
    for tp, registration in cluster.controller.registry.partitions.items():
        leader = cluster.brokers[registration.leader].disk.logs[tp]
        for replica in registration.replicas:
            log = cluster.brokers[replica].disk.logs[tp]
            assert (log.leo, log.high_watermark, log.differences(leader)) == (leader.leo, leader.leo, [])
            assert log.recovery_point <= log.leo


def begun(seed: int) -> tuple[Cluster, random.Random]:
    cluster = Cluster(SPEC, seed=seed)
    cluster.do(acts.Load("t", 300, every=20 * US_PER_MS, producer="p"))
    return cluster, random.Random(f"power {seed}")


@pytest.mark.parametrize("seed", range(6))
def test_one_outage_at_a_time_loses_nothing(seed: int) -> None:
    cluster, draw = begun(seed)
    for _ in range(6):
        cluster.run_until(cluster.now + draw.randrange(1, 12_000) * US_PER_MS)
        broker = draw.randrange(1, 4)
        how = draw.choice(("kill", "lost", "drawn", "shutdown"))
        if how == "kill":
            cluster.do(acts.Kill(broker))
        elif how == "shutdown":
            cluster.do(acts.Shutdown(broker))
        else:
            cluster.do(acts.PowerLoss(broker, unflushed=how))
        cluster.run_until(cluster.now + draw.choice((0, 1, 2_000, 15_000)) * US_PER_MS)
        until_whole(cluster)
        assert cluster.account.lost == 0
    same_logs(cluster)
    assert cluster.account.lost == 0
    assert cluster.account.acked > 5_000


@pytest.mark.parametrize("seed", range(3))
def test_kills_of_all_brokers_at_once_lose_nothing(seed: int) -> None:
    cluster, draw = begun(seed)
    for _ in range(3):
        cluster.run_until(cluster.now + draw.randrange(1, 8_000) * US_PER_MS)
        for broker in draw.sample((1, 2, 3), 3):
            cluster.do(acts.Kill(broker))
        cluster.run_until(cluster.now + draw.choice((0, 2_000, 15_000)) * US_PER_MS)
        until_whole(cluster)
    same_logs(cluster)
    assert cluster.account.lost == 0


def test_power_lost_by_all_at_once_loses_only_what_was_not_flushed() -> None:
    losses = []
    for seed in range(4):
        cluster, draw = begun(seed)
        cluster.run_until((8_000 + draw.randrange(4_000)) * US_PER_MS)
        for broker in (1, 2, 3):
            cluster.do(acts.PowerLoss(broker, unflushed="lost"))
        flushed = {tp: min(broker.disk.logs[tp].leo for broker in cluster.brokers.values()) for tp in cluster.brokers[1].disk.logs}
        cluster.run_until(cluster.now + 15 * SECOND)
        until_whole(cluster)
        same_logs(cluster)
        for tp in flushed:
            assert isinstance(tp, TopicPartition)
            for intervals in cluster.account.of(tp).lost.values():
                assert all(start >= flushed[tp] for start, _ in intervals)
        losses.append(cluster.account.lost)
    assert max(losses) > 0, "a harm that is never seen is a model that is too kind"
