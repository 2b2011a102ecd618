"""A broker-level unclean.leader.election.enable affects elections if it is set for the active controller's node, but not if it is set for
another broker.

Kafka: `ConfigurationControlManager#getTopicConfig`: the topic's value comes first, then the value of the controller's node, and then the
cluster's value.
"""

from __future__ import annotations

import pytest

from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.release import RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND

TP = TopicPartition("t", 0)

UNCLEAN = "unclean.leader.election.enable"

COMBINED = ("b1", "b2", "b3")


def leader_after_both_die(release: str, controllers: tuple[str, ...], *before: acts.Act, own: dict[int, str] | None = None) -> int:
    """Return the leader one minute after broker 3, the last ISR member, died. Broker 4 is outside the ISR, and brokers 1 and 2 have no
    replica.
    """
    spec = ClusterSpec(
        tuple(BrokerSpec(broker, settings=((UNCLEAN, (own or {}).get(broker, "false") == "true"),)) for broker in (1, 2, 3, 4)),
        (TopicSpec("t", assignment=(PartitionSpec((3, 4)),)),),
        controllers=controllers,
    )
    cluster = Cluster(spec, RELEASES[release])
    cluster.run_until(SECOND)
    assert cluster.controller_address == {(): "b1", COMBINED: "b1", ("c1", "c2", "c3"): "c1"}[controllers]
    cluster.do(acts.Kill(4))
    cluster.run_until(30 * SECOND)
    for act in before:
        cluster.do(act)
    cluster.do(acts.Produce("t", 5))
    cluster.run_until(31 * SECOND)
    cluster.do(acts.Kill(3))
    cluster.do(acts.Start(4))
    cluster.run_until(120 * SECOND)
    return cluster.partition_view(TP).leader


@pytest.mark.parametrize(("release", "controllers"), [("4.0", COMBINED), ("4.3", COMBINED), ("2.4", ()), ("2.8", ())])
@pytest.mark.parametrize(("node", "leader"), [(1, 4), (2, NO_LEADER), (4, NO_LEADER)])
def test_only_the_controllers_own_node_counts(release: str, controllers: tuple[str, ...], node: int, leader: int) -> None:
    assert leader_after_both_die(release, controllers, acts.Set(UNCLEAN, "true", broker=node)) == leader
    assert leader_after_both_die(release, controllers, own={node: "true"}) == leader


def test_a_dedicated_controller_has_a_node_of_its_own() -> None:
    assert leader_after_both_die("4.3", ("c1", "c2", "c3"), acts.Set(UNCLEAN, "true", broker=1)) == NO_LEADER


def test_the_topics_value_comes_first() -> None:
    off = acts.Set(UNCLEAN, "false", topic="t")
    assert leader_after_both_die("4.3", COMBINED, acts.Set(UNCLEAN, "true", broker=1), off) == NO_LEADER


def test_another_controller_brings_its_own_node() -> None:
    """If broker 1 is gone, broker 2 or 3 becomes the active controller, and from then on its own value applies."""
    spec = ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3)), (TopicSpec("t", replication_factor=1),), controllers=COMBINED)
    cluster = Cluster(spec)
    cluster.run_until(SECOND)
    assert cluster.controller.configuration_control.controller_node == 1
    cluster.do(acts.Kill(1))
    cluster.run_until(20 * SECOND)
    assert cluster.controller_address == f"b{cluster.controller.configuration_control.controller_node}" != "b1"
