"""A quorum of controllers from outside: which quorums are refused, which controller is active, and that nothing changes without a majority."""

from __future__ import annotations

import pytest

from core.kafka.controller.quorum.kafka_raft_client import Role
from core.kafka.controller.quorum.raft_messages import VoteResponse
from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec, Pace
from core.sim.errors import ActRefused
from core.sim.units import SECOND


def cluster_of(*controllers: str) -> Cluster:
    """Build a cluster of three brokers with one partition that has a replica on each of them."""
    topic = TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)),))
    return Cluster(ClusterSpec(tuple(BrokerSpec(b) for b in (1, 2, 3)), (topic,), controllers=controllers), seed=4)


@pytest.mark.parametrize(
    ("controllers", "pace", "what"),
    [(("c1", "c1"), Pace.TIMELINE, "twice"), (("b7",), Pace.TIMELINE, "does not have"), (("x",), Pace.TIMELINE, "not a valid name"), (("c1",), Pace.BY_HAND, "by-hand")],
)  # fmt: skip
def test_what_is_no_quorum_is_refused(controllers: tuple[str, ...], pace: Pace, what: str) -> None:
    """The message names what is wrong."""
    with pytest.raises(ValueError, match=what):
        Cluster(ClusterSpec((BrokerSpec(1),), pace=pace, controllers=controllers))


def test_fc_5_a_combined_controller_dies_with_its_broker() -> None:
    """Two of three nodes are down: there is no majority, no broker is fenced, no ISR changes, and all administrative requests fail."""
    cluster = cluster_of("b1", "b2", "b3")
    with pytest.raises(ActRefused, match="process of broker 2"):
        cluster.do(acts.KillController("b2"))
    cluster.do(acts.Kill(2))
    cluster.do(acts.Kill(3))
    cluster.run_until(60 * SECOND)
    view = cluster.view()
    assert (view.controller, view.active_controllers, view.majority) == ("", 0, False)
    assert view.partition(TopicPartition("t", 0)).isr == (1, 2, 3)
    assert not view.broker(2).fenced
    with pytest.raises(ActRefused, match="no active controller"):
        cluster.do(acts.Elect())


def test_d8_a_failover_raises_the_controller_epoch() -> None:
    """In an act, `controller` means the active controller. Its successor has a higher epoch, and the brokers find the successor."""
    cluster = cluster_of("c1", "c2", "c3")
    assert (cluster.view().controller, cluster.view().controller_epoch) == ("c1", 1)
    cluster.do(acts.KillController("controller"))
    cluster.run_until(20 * SECOND)
    view = cluster.view()
    assert view.controller in ("c2", "c3")
    assert view.controller_epoch > 1
    assert {broker.channel.controller for broker in cluster.brokers.values()} == {view.controller}
    assert not any(broker.fenced for broker in view.brokers)


def test_the_only_voter_is_active_as_soon_as_it_has_started() -> None:
    """It waits for no timeout, because no other controller can be active (`KafkaRaftClient#initialize`)."""
    cluster = cluster_of("c1")
    cluster.run_until(10 * SECOND)
    cluster.do(acts.KillController("c1"))
    cluster.do(acts.StartController("c1"))
    cluster.run_until(10 * SECOND + cluster.spec.startup - 1)
    assert cluster.view().controller == ""
    cluster.run_until(10 * SECOND + cluster.spec.startup)
    assert (cluster.view().controller, cluster.view().controller_epoch) == ("c1", 2)


def test_voters_that_start_after_the_others_make_a_majority() -> None:
    """A voter that has never run knows neither an epoch nor a leader from disk (`KafkaRaftClient#initialize`)."""
    topic = TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)),))
    brokers = (BrokerSpec(1), BrokerSpec(2, up=False), BrokerSpec(3, up=False))
    cluster = Cluster(ClusterSpec(brokers, (topic,), controllers=("b1", "b2", "b3")), seed=4)
    cluster.run_until(20 * SECOND)
    assert (cluster.view().controller, cluster.view().majority) == ("", False)
    cluster.do(acts.Start(2))
    cluster.run_until(60 * SECOND)
    assert cluster.quorum is not None
    assert cluster.view().controller in ("b1", "b2")
    assert cluster.quorum.voters["b1"].leader == cluster.quorum.voters["b2"].leader == cluster.view().controller


def test_a_voter_follows_the_leader_of_a_higher_epoch_that_a_vote_response_names() -> None:
    """A response that names no leader only raises the epoch (`KafkaRaftClient#maybeHandleCommonResponse`)."""
    cluster = cluster_of("c1", "c2", "c3")
    assert cluster.quorum is not None
    voter = cluster.quorum.voters["c1"]
    voter._handle_vote_response(VoteResponse(7, "", granted=False, pre=False), "c2")
    assert (voter.epoch, voter.role, voter.leader) == (7, Role.UNATTACHED, "")
    voter._handle_vote_response(VoteResponse(8, "c3", granted=False, pre=False), "c2")
    assert (voter.epoch, voter.role, voter.leader) == (8, Role.FOLLOWER, "c3")


def test_a_former_leader_knows_only_what_it_has_committed() -> None:
    """Before 3.7, a leader that is cut off does not resign. What the others commit meanwhile gives it no work to do."""
    topic = TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)),))
    spec = ClusterSpec(tuple(BrokerSpec(b) for b in (1, 2, 3)), (topic,), controllers=("c1", "c2", "c3"))
    cluster = Cluster(spec, Release.named("3.6"), seed=4)
    assert cluster.quorum is not None
    former = cluster.quorum.voters["c1"].active
    assert former is not None
    for other in ("c2", "c3"):
        cluster.do(acts.Cut(("c1", other)))
    cluster.run_until(10 * SECOND)
    cluster.do(acts.Kill(1))
    cluster.run_until(40 * SECOND)
    (partition,) = cluster.view().partitions
    assert partition.leader != partition.replicas[0], "the new controller has elected another leader"
    assert cluster.quorum.voters["c1"].active is former
    former.publish()
    assert former.scheduled == {}
    known = former.quorum.registrations(former.voter.high_watermark)
    assert [broker for broker, registration in known.items() if registration.fenced] == []
    assert not former.quorum.leads_partitions(partition.leader, former.voter.high_watermark)
