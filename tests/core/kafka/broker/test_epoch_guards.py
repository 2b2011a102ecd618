"""The guards of KIP-320 and KAFKA-7164, one by one: which requests a broker answers, which fetches count, and when a follower truncates
again.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from core.kafka.ids import CONTROLLER, TopicPartition
from core.kafka.messages import OffsetsForLeaderEpochRequest, OffsetsForLeaderEpochResponse
from core.kafka.release import Release
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec, ControlPlane, Pace
from core.sim.errors import ActRefused

TP = TopicPartition("t", 0)


def stale_follower(without: Sequence[str]) -> tuple[Cluster, list[tuple]]:
    """Build a cluster in which broker 1 leads, then broker 2 for a moment, and then broker 1 again, while broker 3 receives no news. In
    2.7, followers truncate by OffsetsForLeaderEpoch.
    """
    events: list[tuple] = []
    topic = TopicSpec("t", assignment=(PartitionSpec((1, 2, 3), isr=(1, 2, 3), leader=1),))
    spec = ClusterSpec(
        tuple(map(BrokerSpec, (1, 2, 3))),
        (topic,),
        settings=(("min.insync.replicas", 1),),
        pace=Pace.BY_HAND,
        control_plane=ControlPlane.KRAFT,
    )
    cluster = Cluster(spec, Release.named("2.7").without(without), sink=events.append)
    for act in (
        acts.Produce("t", 5),
        acts.Fetch(2),
        acts.Fetch(3),
        acts.Hold((CONTROLLER, "b3")),
        acts.Kill(1),
        acts.Fence(1),
        acts.Start(1),
        acts.Fetch(1),
        acts.Arrive(1),
        acts.Elect(),
    ):
        cluster.do(act)
    return cluster, events


def failures(events: list[tuple]) -> list[str]:
    return [event[8] for event in events if event[3] == "fetch-failed" and event[4] == 3]


@pytest.mark.parametrize("fenced", [True, False])
def test_a_question_of_another_epoch_is_fenced(fenced: bool) -> None:
    cluster, events = stale_follower(["fetch-epoch-fencing", *([] if fenced else ["truncation-epoch-fencing"])])
    epoch = cluster.brokers[1].partitions[TP].leader_epoch
    for asked in (epoch - 1, epoch, epoch + 1):
        request = OffsetsForLeaderEpochRequest(asked, 3, 0, ((TP, asked, 0),))
        cluster.network.send("b3", "b1", request, cluster.now, 0)
        (entry,) = [entry for entry in cluster.agenda.entries if entry.message is request]
        cluster.agenda.take(entry)
        cluster.handle(entry)
    answers = [entry.message for entry in cluster.agenda.entries if type(entry.message) is OffsetsForLeaderEpochResponse]
    errors = {answer.correlation - epoch: answer.partitions[0][1] for answer in answers}
    assert errors == ({-1: "FENCED_LEADER_EPOCH", 0: "NONE", 1: "UNKNOWN_LEADER_EPOCH"} if fenced else dict.fromkeys((-1, 0, 1), "NONE"))
    assert all(answer.partitions[0][2:] == (0, 5) for answer in answers if answer.partitions[0][1] == "NONE")
    assert events


def _leo_of_broker_3(cluster: Cluster) -> int:
    replica = cluster.brokers[1].partitions[TP].replica(3)
    assert replica is not None
    return replica.leo


@pytest.mark.parametrize(
    ("without", "counts"), [((), False), (("fetch-epoch-fencing",), False), (("fetch-epoch-fencing", "hw-same-epoch"), True)]
)
def test_only_followers_of_the_same_epoch_count(without: Sequence[str], counts: bool) -> None:
    cluster, events = stale_follower(without)
    before = _leo_of_broker_3(cluster)
    cluster.do(acts.Fetch(3))
    after = _leo_of_broker_3(cluster)
    assert (before, after) == (-1, 5 if counts else -1)
    assert failures(events) == ([] if without else ["FENCED_LEADER_EPOCH"])


def test_held_messages_go_one_by_one() -> None:
    cluster, _ = stale_follower(())
    link = cluster.network.links[CONTROLLER, "b3"]
    assert cluster.brokers[3].partitions[TP].leader_epoch == 0
    waiting = len(link.waiting)
    with pytest.raises(ActRefused, match="are held; release at most that many"):
        cluster.do(acts.Release((CONTROLLER, "b3"), messages=waiting + 1))
    cluster.do(acts.Release((CONTROLLER, "b3"), messages=1))
    assert link.held
    stale = cluster.brokers[3].partitions[TP].leader_epoch
    assert 0 < stale < cluster.brokers[1].partitions[TP].leader_epoch
    cluster.do(acts.Release((CONTROLLER, "b3")))
    assert cluster.brokers[3].partitions[TP].leader_epoch == cluster.brokers[1].partitions[TP].leader_epoch
