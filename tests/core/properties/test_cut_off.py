"""A broker that is cut off from the controller gives the same answers, whatever the controller does meanwhile: it knows only the metadata
that it has received.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

from core.kafka import events
from core.kafka.group_coordinator.classic_group.classic_group_messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from core.kafka.group_coordinator.consumer_group.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from core.kafka.group_coordinator.group_requests import (
    NOT_A_MEMBER,
    DeleteGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    TxnOffsetCommitRequest,
)
from core.kafka.ids import TopicPartition
from core.kafka.log.control_record import EndTransactionMarker
from core.kafka.messages import (
    ApiVersionsRequest,
    ConsumerFetchRequest,
    FetchRequest,
    FetchResponse,
    InitProducerIdRequest,
    ListOffsetsRequest,
    MetadataRequest,
    OffsetsForLeaderEpochRequest,
    ProduceRequest,
)
from core.kafka.release import RELEASES, Release
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.kafka.transaction.transaction_messages import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    FindCoordinatorRequest,
    InitTransactionalIdRequest,
    TxnMarkerEntry,
    WriteTxnMarkersRequest,
)
from core.kafka.zookeeper_mode.control_plane import ZooKeeperControlPlane
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.journal import Journal
from core.sim.network import Network
from core.sim.node import Node
from core.sim.units import SECOND
from scenarios.releases import release_named

PROBE: Final = "probe"
KNOWN: Final = TopicPartition("orders", 0)
LATER: Final = (TopicPartition("orders", 2), TopicPartition("new", 0), TopicPartition("old", 0))
"""Partitions that the controller creates or deletes after the broker was cut off."""

EVERY: Final = (KNOWN, *LATER)

FROM_THE_CONTROLLER: Final = frozenset(
    {
        "Disconnected", "ConnectResponse", "SessionResponse", "WatchEvent", "CloseResponse", "AlterPartitionRequest", "ControlledShutdownRequest",
        "LeaderAndIsrRequest", "StopReplicaRequest", "UpdateMetadataRequest",
    }
)  # fmt: skip
"""Messages that a broker handles, and that a client or another broker does not send."""

FOREVER: Final = 60 * SECOND

QUESTIONS: Final[tuple[Any, ...]] = (
    ApiVersionsRequest(),
    *(MetadataRequest(2, topic, ("old", "new")) for topic in ("orders", "new", "old")),
    *(FindCoordinatorRequest(3, key, group) for key in ("g", "g2", "t") for group in (True, False)),
    InitProducerIdRequest(4, PROBE),
    *(ProduceRequest(10 + i, PROBE, tp, 1, 100, acks, SECOND, i, 1) for i, tp in enumerate(EVERY) for acks in (1, -1)),
    *(FetchRequest(20 + i, 2, i, -1, True, ((tp, 0, 0, 0, 0),), (), 0, 0, 10**6, 10**6, 0) for i, tp in enumerate(EVERY)),
    ConsumerFetchRequest(30, PROBE, tuple((tp, 0, -1) for tp in EVERY), 0),
    *(ListOffsetsRequest(40 + i, -1, 0, tp, -1) for i, tp in enumerate(EVERY)),
    OffsetsForLeaderEpochRequest(50, -1, 0, tuple((tp, -1, 0) for tp in EVERY)),
    OffsetCommitRequest(60, PROBE, "g2", NOT_A_MEMBER, tuple((tp, 1, -1) for tp in EVERY)),
    OffsetFetchRequest(61, "g2", EVERY, False),
    OffsetDeleteRequest(62, "g2", EVERY),
    DeleteGroupsRequest(63, "g3"),
    JoinGroupRequest(70, PROBE, "g4", "", "", 10 * SECOND, 10 * SECOND, (("range", ("orders", "new", "old")),)),
    SyncGroupRequest(71, "g4", 1, "nobody", "", "range", ()),
    HeartbeatRequest(72, "g4", 1, "nobody", ""),
    LeaveGroupRequest(73, "g4", (("nobody", ""),)),
    ConsumerGroupHeartbeatRequest(80, PROBE, "g", "first", 0, "", None, SECOND, ("orders", "new", "old"), None, ()),
    ConsumerGroupHeartbeatRequest(81, PROBE, "g", "second", 0, "", None, SECOND, ("orders", "new", "old"), None, ()),
    InitTransactionalIdRequest(90, PROBE, "t", FOREVER, -1, -1, 0),
    AddPartitionsToTxnRequest(91, "t", 0, 0, EVERY),
    AddOffsetsToTxnRequest(92, "t", 0, 0, "g2"),
    TxnOffsetCommitRequest(93, "t", 0, 0, "g2", NOT_A_MEMBER, tuple((tp, 1, -1) for tp in EVERY)),
    WriteTxnMarkersRequest(94, tuple(TxnMarkerEntry("t", 0, 0, EndTransactionMarker(True, 0), (tp,), 0) for tp in EVERY)),
    EndTxnRequest(95, "t", 0, 0, True, 0),
)


class Probe(Node):
    """A client that asks one broker, and keeps the answers with the times at which they arrived."""

    def __init__(self, network: Network, journal: Journal) -> None:
        super().__init__(PROBE, network, journal)
        self.answers: list[str] = []

    def handle(self, message: object, sender: str) -> None:
        if isinstance(message, FetchResponse):  # the last field is the number of an event
            message = message._replace(partitions=tuple(each[:6] for each in message.partitions))
        self.answers.append(f"{self.journal.now}: {message}")


def cluster_of(release: Release) -> Cluster:
    """Return a cluster under load in which broker 1, which is not the controller, leads partitions of every topic."""
    topics = tuple(TopicSpec(name, 2, 3, assignment=(PartitionSpec((1, 2, 3)), PartitionSpec((2, 3, 1)))) for name in ("orders", "old"))
    spec = ClusterSpec(
        tuple(map(BrokerSpec, (1, 2, 3))),
        topics,
        settings=(("delete.topic.enable", True),),
        controller="b2" if uses_zookeeper(release) else "",
    )
    cluster = Cluster(spec, release, seed=1)
    for topic in ("orders", "old"):
        cluster.do(acts.Load(topic, 20, producer=f"to-{topic}"))
    if release.name not in ("0.8.2",):
        cluster.do(acts.JoinGroup(("orders", "old"), "member", "g0"))
    cluster.run_until(3 * SECOND)
    return cluster


def uses_zookeeper(release: Release) -> bool:
    return isinstance(Cluster(ClusterSpec(tuple(map(BrokerSpec, (1, 2, 3)))), release, seed=1).controller, ZooKeeperControlPlane)


def answers(release: Release, *meanwhile: acts.Act) -> list[str]:
    """Return what broker 1 answers after it was cut off and the acts were done."""
    cluster = cluster_of(release)
    cluster.do(acts.Isolate("b1"))
    cluster.run_until(4 * SECOND)
    for act in meanwhile:
        cluster.do(act)
    cluster.run_until(5 * SECOND)
    probe = cluster.nodes[PROBE] = Probe(cluster.network, cluster.journal)
    for question in QUESTIONS:
        probe.send("b1", question)
        cluster.run_until(cluster.now + SECOND // 20)
    cluster.run_until(cluster.now + 3 * SECOND)
    return probe.answers


CONTROLLER_GOES_ON: Final = (
    acts.CreatePartitions("orders", 4),
    acts.CreateTopic("new", 2, 3),
    acts.DeleteTopic("old"),
    acts.Set("min.insync.replicas", "3", topic="orders"),
)


@pytest.mark.parametrize("release", RELEASES.values(), ids=lambda release: release.name)
def test_a_broker_that_is_cut_off_answers_from_the_metadata_that_it_has_received(release: Release) -> None:
    before = answers(release)
    assert len(before) >= 20
    assert answers(release, *CONTROLLER_GOES_ON) == before


def test_every_request_that_a_client_or_a_broker_can_send_is_asked() -> None:
    for release in RELEASES.values():
        handled = {each.__name__ for each in cluster_of(release).brokers[1].handlers if not each.__name__.endswith("Response")}
        assert handled - FROM_THE_CONTROLLER == {type(each).__name__ for each in QUESTIONS}


def test_a_coordinator_that_is_cut_off_assigns_no_partition_that_it_does_not_know() -> None:
    """KIP-848: the coordinator assigns partitions from its own metadata image."""
    taken: list[tuple] = []
    cluster = Cluster(ClusterSpec(tuple(map(BrokerSpec, (1, 2, 3))), (TopicSpec("orders", 2, 3),)), release_named("4.3"), 1, taken.append)
    cluster.do(acts.JoinGroup(("orders",), "one", "g", protocol="consumer"))
    cluster.run_until(5 * SECOND)
    first = next(each for each in map(events.decode, taken) if isinstance(each, events.TargetAssigned))
    cluster.do(acts.Cut((f"b{first.broker}", "controller")))
    cluster.do(acts.CreatePartitions("orders", 4))
    cluster.do(acts.JoinGroup(("orders",), "two", "g", protocol="consumer"))
    cluster.run_until(8 * SECOND)
    targets = [
        each for each in map(events.decode, taken) if isinstance(each, events.TargetAssigned) and each.group_epoch > first.group_epoch
    ]
    assert targets
    assert not [each for each in targets if "orders-2" in str(each) or "orders-3" in str(each)]
