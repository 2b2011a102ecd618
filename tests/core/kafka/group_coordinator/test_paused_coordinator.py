"""A coordinator that was paused goes on with the sessions of its members: its timers fire late."""

from __future__ import annotations

import pytest

from core.kafka import events
from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_that_dies_after_the_pause_is_removed(protocol: str) -> None:
    heard: list[tuple] = []
    settings = (("offsets.topic.num.partitions", "1"), ("group.consumer.session.timeout.ms", "45000"))
    spec = ClusterSpec(
        (BrokerSpec(1), BrokerSpec(2)), topics=(TopicSpec("t", 2, 1),), settings=(*settings, ("offsets.topic.replication.factor", "2"))
    )
    cluster = Cluster(spec, Release.named("4.1"), sink=heard.append)
    config = (("session.timeout.ms", "10000"),) if protocol == "classic" else ()
    for name in ("m1", "m2"):
        cluster.do(acts.JoinGroup(("t",), name, "g", protocol=protocol, config=config))
    cluster.run_until(20 * SECOND)
    coordinator = cluster.partition_view(TopicPartition("__consumer_offsets", 0)).leader
    cluster.do(acts.Pause(coordinator))
    # The timer of each session is due in this time.
    cluster.run_until(28 * SECOND if protocol == "classic" else 66 * SECOND)
    cluster.do(acts.Resume(coordinator))
    cluster.run_until(70 * SECOND)
    cluster.do(acts.KillConsumer("m2"))
    cluster.run_until(130 * SECOND)
    removed = [events.decode(each) for each in heard if each[3] == events.GroupMemberRemoved.kind and each[1] > 70 * SECOND]
    assert len(removed) == 1
    member = cluster.clients.member("m1")
    assert member is not None
    assert sorted(tp.partition for tp in member.coordinator.owned) == [0, 1]
