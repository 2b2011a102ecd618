"""`kafka-cluster unregister`: which brokers can be unregistered, and the effect on their ISRs and processes
(`ReplicationControlManager#unregisterBroker`).
"""

from __future__ import annotations

import pytest

from core.kafka.ids import TopicPartition
from core.kafka.release import RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND

TP = TopicPartition("t", 0)


def made(*controllers: str, release: str = "4.1") -> tuple[Cluster, list[tuple]]:
    events: list[tuple] = []
    spec = ClusterSpec(
        tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
        (TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)),), config=(("min.insync.replicas", "2"),)),),
        controllers=controllers,
    )
    cluster = Cluster(spec, RELEASES[release], sink=events.append)
    cluster.run_until(SECOND)
    return cluster, events


@pytest.mark.parametrize("controllers", [(), ("c1", "c2", "c3")])
def test_an_unregistered_broker_leaves_its_isrs_and_is_unknown(controllers: tuple[str, ...]) -> None:
    cluster, events = made(*controllers)
    epoch = cluster.brokers[1].context.broker_epoch
    cluster.do(acts.Unregister(1))
    cluster.run_until(2 * SECOND)
    view = cluster.partition_view(TP)
    assert (view.leader, view.isr, view.replicas) == (2, (2, 3), (1, 2, 3))
    assert [event[3:6] for event in events if event[3] == "broker-unregistered"] == [("broker-unregistered", 1, epoch)]
    for broker in cluster.brokers.values():
        cache = broker.context.metadata_cache
        assert cache.alive_broker_epoch(1) == -1
        assert not cache.has_alive_broker(1)
        assert not cache.is_isr_eligible(1, -1)
    with pytest.raises(ActRefused, match="Broker ID 1 is not currently registered"):
        cluster.do(acts.Unregister(1))
    cluster.run_until(60 * SECOND)
    assert cluster.partition_view(TP).isr == (2, 3), "it fetches, and may not come back"
    assert not [event for event in events if event[3] in ("broker-fenced", "broker-registered")], "there is no session to run out"
    cluster.do(acts.Kill(1))
    cluster.do(acts.Start(1))
    cluster.run_until(90 * SECOND)
    assert cluster.partition_view(TP).isr == (2, 3, 1)
    assert cluster.brokers[2].context.metadata_cache.alive_broker_epoch(1) == cluster.brokers[1].context.broker_epoch > epoch


def test_below_min_isr_who_is_unregistered_stays_eligible_but_is_not_elected() -> None:
    """The broker leaves the ELR only because of an unclean shutdown, which `#handleBrokerUnregistered` does not report."""
    cluster, _ = made()
    for broker in (3, 2):
        cluster.do(acts.Unregister(broker))
        cluster.run_until(cluster.now + SECOND)
    view = cluster.partition_view(TP)
    assert (view.leader, view.isr, view.elr) == (1, (1,), (2,))
    cluster.do(acts.Unregister(1))
    cluster.run_until(cluster.now + SECOND)
    assert cluster.partition_view(TP).leader == -1


def test_two_that_ask_at_once_are_served_once() -> None:
    """In a quorum, the second request finds that the broker is already gone when the first is committed."""
    cluster, events = made("c1", "c2", "c3")
    cluster.do(acts.Unregister(3))
    cluster.do(acts.Unregister(3))
    cluster.run_until(2 * SECOND)
    assert len([event for event in events if event[3] == "broker-unregistered"]) == 1


def test_a_session_that_runs_out_while_the_registration_is_on_its_way_out() -> None:
    """Both changes are written before either is committed. The second change finds no broker to fence."""
    cluster, events = made("c1", "c2", "c3")
    active = cluster.controller_address
    others = [voter for voter in ("c1", "c2", "c3") if voter != active]
    cluster.do(acts.Kill(3))
    cluster.run_until(cluster.now + 4 * SECOND)
    due = cluster.controller.heartbeats.next_check_time()
    cluster.run_until(due - 500_000)
    for voter in others:
        cluster.do(acts.Hold((voter, active)))
    cluster.do(acts.Unregister(3))
    cluster.run_until(due + cluster.controller.heartbeats.fencing_period + 1)
    for voter in others:
        cluster.do(acts.Release((voter, active)))
    cluster.run_until(cluster.now + 20 * SECOND)
    assert cluster.quorum is not None
    written = [type(entry.write).__name__ for entry in cluster.quorum.log.committed]
    assert written[written.index("UnregisterBroker") + 1] == "FenceStaleBroker"
    assert "broker-unregistered" in [event[3] for event in events]
    assert "broker-fenced" not in [event[3] for event in events]


def test_zookeeper_has_no_such_thing() -> None:
    cluster, _ = made(release="2.8")
    with pytest.raises(ActRefused, match="does not support the broker unregistration API"):
        cluster.do(acts.Unregister(3))
