"""Which metadata a client believes (`Metadata#updateLatestMetadata` and its predecessors at 2.1.1, 2.4.1, 2.7.2, 2.8.2, and 3.8.0)."""

from __future__ import annotations

import pytest

from core.kafka import errors
from core.kafka.clients.client_config import client_config
from core.kafka.clients.client_context import ClientContext
from core.kafka.clients.client_settings import PRODUCER
from core.kafka.clients.producer.producer import Producer
from core.kafka.ids import TopicPartition
from core.kafka.messages import MetadataRequest, MetadataResponse
from core.kafka.release import RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from tests.core.node_bench import NodeBench

Leaders = tuple[tuple[int, int], ...]
"""(leader, leader epoch) for each partition."""


class Bench(NodeBench):
    """A producer of topics `t` and `u`. The test answers its metadata requests."""

    def __init__(self, release: str) -> None:
        super().__init__()
        self.network.alive["b1"] = True
        self.node = self.producer = Producer("p", "t", -1, ClientContext((1,), self.network, self.journal, self.account))
        self.producer.configure(client_config(PRODUCER, (), RELEASES[release]), RELEASES[release])
        self.producer.write_topic("u")
        self.answers: dict[str, bool] = {}

    def told(self, leaders: Leaders, error: str = errors.NONE) -> list[tuple[int, int]]:
        """Let the producer ask for metadata, and answer the same for both topics. Return what it then knows of the second topic."""
        self.producer.refresh_metadata()
        asked = self.one_sent(MetadataRequest)
        response = MetadataResponse(asked.correlation, "t", leaders, error, (("u", leaders, error),), (1, 2))
        self.producer.handle(response._replace(**self.answers), "b1")
        assert self.producer.leaders_of("t") == self.producer.leaders_of("u")
        return self.producer.leaders_of("u")


@pytest.mark.parametrize(
    ("release", "believes"), [("0.11", True), ("2.1", True), ("2.4", False), ("2.7", False), ("2.8", False), ("4.3", False)]
)
def test_clients_ignore_metadata_with_an_older_epoch_since_2_4(release: str, believes: bool) -> None:
    bench = Bench(release)
    bench.told(((2, 5), (1, 3)))
    assert bench.told(((1, 4), (2, 3))) == ([(1, 4), (2, 3)] if believes else [(2, 5), (2, 3)])


@pytest.mark.parametrize(("release", "finds"), [("2.1", True), ("2.4", False), ("2.7", False), ("2.8", True), ("4.3", True)])
def test_clients_ignore_a_topic_that_was_created_again_from_2_4_to_2_7(release: str, finds: bool) -> None:
    """Without the ID of a topic, the new topic looks like old metadata, until its epochs are as new as those of the deleted topic."""
    bench = Bench(release)
    bench.told(((2, 5), (1, 0)))
    assert bench.told((), errors.UNKNOWN_TOPIC_OR_PARTITION) == []
    assert bench.told(((1, 0),)) == ([(1, 0)] if finds else [])
    assert bench.told(((1, 4), (1, 1))) == ([(1, 4), (1, 1)] if finds else [(-1, -1), (1, 1)])
    assert bench.told(((1, 5), (1, 1))) == [(1, 5), (1, 1)]


def test_the_rules_depend_on_the_brokers_too() -> None:
    """A newer client believes brokers that send no reliable epochs, and cannot tell topics apart that have no IDs."""
    bench = Bench("3.9")
    bench.told(((2, 5),))
    bench.answers = {"topic_ids": False}
    assert bench.told((), errors.UNKNOWN_TOPIC_OR_PARTITION) == []
    assert bench.told(((1, 4),)) == []
    bench = Bench("3.9")
    bench.told(((2, 5),))
    bench.answers = {"reliable_epochs": False}
    assert bench.told(((1, 4),)) == [(1, 4)]


@pytest.mark.parametrize(("release", "written"), [("2.4", 0), ("2.7", 0), ("2.8", 5), ("4.3", 5)])
def test_records_for_a_topic_that_was_created_again(release: str, written: int) -> None:
    topic = TopicSpec("t", assignment=(PartitionSpec((1, 2)),))
    run = Cluster(ClusterSpec(tuple(BrokerSpec(each) for each in (1, 2, 3)), (topic,)), RELEASES[release], sink=lambda _: None)
    run.do(acts.Produce("t", 1, producer="app", config=(("metadata.max.age.ms", "5000"),)))
    run.do(acts.Shutdown(1))
    run.run_until(20 * SECOND)
    run.do(acts.Start(1))
    run.run_until(60 * SECOND)
    run.do(acts.DeleteTopic("t"))
    run.run_until(90 * SECOND)
    run.do(acts.CreateTopic("t", 1, 2, ((1, 2),)))
    run.run_until(100 * SECOND)
    run.do(acts.Produce("t", 5, producer="app"))
    run.run_until(110 * SECOND)
    assert run.partition_view(TopicPartition("t", 0)).replica_on(1).leo == written
