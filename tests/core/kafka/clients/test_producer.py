"""A producer alone, with brokers played by the test: when it requests metadata, how long it backs off, and when it gives up (`Sender`,
`RecordAccumulator`, `Metadata`).
"""

from __future__ import annotations

import pytest

from core.kafka import errors, events
from core.kafka.clients.client_config import client_config
from core.kafka.clients.client_context import ClientContext
from core.kafka.clients.client_settings import PRODUCER
from core.kafka.clients.producer.keyed_records import TOMBSTONE, KeyedRecords, keys_of
from core.kafka.clients.producer.producer import Producer
from core.kafka.messages import MetadataRequest, MetadataResponse, ProduceRequest, ProduceResponse
from core.kafka.release import RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec, Pace
from core.sim.kernel_messages import Disconnected
from core.sim.units import SECOND
from tests.core.node_bench import TP, NodeBench


class ProducerBench(NodeBench):
    """A producer of one partition, led by broker 1 in epoch 5; brokers 1 and 2 run."""

    def __init__(self, *, newer: bool = True, acks: int = -1) -> None:
        super().__init__()
        for broker in ("b1", "b2"):
            self.network.alive[broker] = True
        self.node = self.producer = Producer("p", "t", acks, ClientContext((1, 2), self.network, self.journal, self.account))
        self.producer.config = client_config(PRODUCER, (), RELEASES["3.7" if newer else "3.6"])
        self.producer.refresh_metadata()
        self.leads(1, 5)

    def leads(self, broker: int, epoch: int) -> None:
        """Answer the metadata request that is in flight."""
        (entry,) = [entry for entry in self.agenda.entries if type(entry.message) is MetadataRequest]
        self.agenda.entries.remove(entry)
        assert isinstance(entry.message, MetadataRequest)
        self.producer.handle(MetadataResponse(entry.message.correlation, "t", ((broker, epoch),)), entry.node)

    def fails(self, request: ProduceRequest, error: str) -> None:
        """Answer a batch with an error."""
        self.producer.handle(ProduceResponse(request.correlation, TP, error, -1, None), "b1")


@pytest.mark.parametrize(
    ("newer", "waits"), [(True, [100, 200, 400, 800, 1_000, 1_000]), (False, [100, 100, 100, 100, 100, 100])], ids=["3.7", "before-3.7"]
)
def test_the_back_off_doubles_since_3_7(newer: bool, waits: list[int]) -> None:
    bench = ProducerBench(newer=newer)
    bench.producer.produce(1, 100, 0)
    found = []
    for _ in waits:
        bench.fails(bench.one_sent(ProduceRequest), errors.NOT_ENOUGH_REPLICAS)
        waited = 0
        while not any(type(entry.message) is ProduceRequest for entry in bench.agenda.entries):
            bench.run(50)
            waited += 50
        found.append(waited)
    assert found == waits


@pytest.mark.parametrize(("release", "doubles"), [("3.6", False), ("3.7", True)])
def test_the_client_is_as_old_as_the_brokers(release: str, doubles: bool) -> None:
    told: list[tuple] = []
    spec = ClusterSpec(
        (BrokerSpec(1), BrokerSpec(2)),
        (TopicSpec("t", assignment=(PartitionSpec((1, 2)),)),),
        settings=(("min.insync.replicas", 2),),
    )
    run = Cluster(spec, RELEASES[release], sink=told.append)
    run.do(acts.Kill(2))
    run.run_until(20 * SECOND)
    run.do(acts.Produce("t", 1, acks="all"))
    run.run_until(24 * SECOND)
    failed = sum(event[3] == events.ProduceFailed.kind for event in told)
    assert failed == 7 if doubles else 35 <= failed <= 40


def test_a_retry_waits_no_longer_once_another_leader_is_known() -> None:
    for newer, at_once in ((True, True), (False, False)):
        bench = ProducerBench(newer=newer)
        bench.producer.produce(1, 100, 0)
        bench.fails(bench.one_sent(ProduceRequest), errors.NOT_LEADER_OR_FOLLOWER)
        bench.producer.refresh_metadata()
        bench.leads(2, 6)
        assert len(bench.sent(ProduceRequest, "b2")) == at_once


@pytest.mark.parametrize(
    ("error", "asks"),
    [
        (errors.NOT_LEADER_OR_FOLLOWER, True),
        (errors.UNKNOWN_TOPIC_OR_PARTITION, True),
        (errors.KAFKA_STORAGE_ERROR, True),
        (errors.FENCED_LEADER_EPOCH, True),
        (errors.REQUEST_TIMED_OUT, False),
        (errors.NOT_ENOUGH_REPLICAS, False),
        (errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND, False),
        (errors.UNKNOWN_LEADER_EPOCH, False),
    ],
)
def test_which_errors_let_it_ask_who_leads(error: str, asks: bool) -> None:
    bench = ProducerBench()
    bench.producer.produce(1, 100, 0)
    bench.fails(bench.one_sent(ProduceRequest), error)
    bench.run(100)
    assert len(bench.sent(MetadataRequest)) == asks


def test_a_broken_connection_lets_it_ask_even_without_a_batch_under_way() -> None:
    bench = ProducerBench(acks=0)
    bench.producer.produce(1, 100, 0)
    bench.producer.handle(Disconnected("b1"), "b1")
    bench.run(100)
    assert len(bench.sent(MetadataRequest)) == 1


def test_it_asks_for_metadata_at_once_if_the_last_refresh_is_older_than_the_backoff() -> None:
    """`Metadata#timeToAllowUpdate` counts from the last refresh, not from the request for an update."""
    bench = ProducerBench()
    bench.run(40)
    bench.producer.handle(Disconnected("b1"), "b1")
    assert bench.sent(MetadataRequest) == []
    bench.run(59)
    assert bench.sent(MetadataRequest) == []
    bench.run(1)
    bench.leads(1, 5)
    bench.run(100)
    bench.producer.handle(Disconnected("b1"), "b1")
    assert len(bench.sent(MetadataRequest)) == 1


def test_a_metadata_request_that_failed_is_repeated_after_the_backoff() -> None:
    """`Metadata#failedUpdate`: a broken connection and a timeout count as refreshes."""
    bench = ProducerBench()
    bench.run(1_000)
    bench.producer.refresh_metadata()
    (asked,) = [entry.node for entry in bench.agenda.entries if type(entry.message) is MetadataRequest]
    assert len(bench.sent(MetadataRequest)) == 1
    bench.producer.handle(Disconnected(asked), asked)
    bench.run(99)
    assert bench.sent(MetadataRequest) == []
    bench.run(1)
    assert len(bench.sent(MetadataRequest)) == 1
    bench.run(30_000)
    assert bench.sent(MetadataRequest) == []
    bench.run(100)
    assert len(bench.sent(MetadataRequest)) == 1


@pytest.mark.parametrize("batching", [False, True])
def test_a_topic_without_metadata_is_asked_for_after_the_back_off(batching: bool) -> None:
    """A broker that has just started knows no topic. Its response is empty, and the next request waits for retry.backoff.ms."""
    bench = ProducerBench()
    producer = bench.producer = Producer("q", "t", -1, ClientContext((1, 2), bench.network, bench.journal, bench.account))
    bench.node = producer
    if batching:
        producer.config = client_config(PRODUCER, (("linger.ms", "0"),), RELEASES["4.3"])
        producer.enable_batching(RELEASES["4.3"], "seed", 1)
    producer.produce(4, 100, None)
    for _ in range(3):
        (entry,) = [entry for entry in bench.agenda.entries if type(entry.message) is MetadataRequest]
        bench.agenda.entries.remove(entry)
        assert isinstance(entry.message, MetadataRequest)
        producer.handle(MetadataResponse(entry.message.correlation, "t", ()), entry.node)
        bench.run(99)
        assert not bench.sent(MetadataRequest)
        bench.run(1)
    bench.leads(1, 5)
    assert bench.one_sent(ProduceRequest).records == 4


def test_metadata_are_asked_for_every_five_minutes() -> None:
    """metadata.max.age.ms counts from the last response."""
    bench = ProducerBench()
    bench.run(200_000)
    bench.producer.refresh_metadata()
    bench.leads(1, 5)
    bench.run(299_999)
    assert bench.sent(MetadataRequest) == []
    bench.run(1)
    assert len(bench.sent(MetadataRequest)) == 1


def test_a_batch_under_way_is_given_up_after_delivery_timeout_ms() -> None:
    """The batch is not only abandoned when its request times out, because the last attempt may have begun late."""
    bench = ProducerBench(newer=False)
    bench.producer.produce(1, 100, 0)
    bench.run(20_000)
    bench.fails(bench.one_sent(ProduceRequest), errors.NOT_ENOUGH_REPLICAS)
    for _ in range(4):
        bench.run(24_000)
        bench.fails(bench.one_sent(ProduceRequest), errors.REQUEST_TIMED_OUT)
    bench.run(3_000)
    assert len(bench.sent(ProduceRequest)) == 1
    assert bench.producer.metrics.failed == 0
    bench.run(1_100)
    assert (bench.producer.metrics.failed, len(bench.producer.sender.in_flight.batches)) == (1, 0)


def test_by_hand_no_client_asks_for_metadata_because_they_are_old() -> None:
    """Nothing happens by itself in a by-hand cluster: once its records are acknowledged, nothing is due, so playing the cluster to its end
    terminates.
    """
    topics = (TopicSpec("t", assignment=(PartitionSpec((1, 2)),)),)
    cluster = Cluster(ClusterSpec((BrokerSpec(1), BrokerSpec(2)), topics, pace=Pace.BY_HAND))
    cluster.do(acts.Produce("t", 1, acks="1"))
    cluster.run_until(60 * SECOND)
    assert cluster.account.acked == 1
    assert cluster.next_time() is None


def test_a_batch_without_a_response_is_reported_once_and_its_waiting_time_when_it_expires() -> None:
    bench = ProducerBench()
    bench.producer.produce(3, 100, 0)
    bench.one_sent(ProduceRequest)
    bench.run(900)
    assert bench.told(events.ProduceWaiting) == []
    bench.run(4_000)
    (told,) = bench.told(events.ProduceWaiting)
    assert told[:6] == ("p", "t", 0, 3, -1, 1)
    assert SECOND < told[6] <= 2 * SECOND
    bench.run(130_000)
    (given_up,) = bench.told(events.ProduceGivenUp)
    assert given_up[6] >= 120 * SECOND
    assert len(bench.told(events.ProduceWaiting)) == 1
    assert bench.producer.sender.incomplete_batches() == []


def test_a_batch_with_an_early_response_is_not_reported() -> None:
    made = Cluster(ClusterSpec(brokers=tuple(BrokerSpec(i) for i in (1, 2, 3)), topics=(TopicSpec("t"),)), sink=(seen := []).append)
    made.do(acts.Load("t", 100))
    made.run_until(5 * SECOND)
    assert not [event for event in seen if event[3] == "produce-waiting"]
    (view,) = made.view().producers
    assert view.in_flight == len(view.waits_us)
    made.do(acts.Kill(1))
    made.do(acts.Kill(2))
    made.run_until(9 * SECOND)
    (view,) = made.view().producers
    assert view.waits_us[0] >= 4 * SECOND - 100_000
    told = {event[1] - event[-1] for event in seen if event[3] == "produce-waiting"}  # when each was first sent
    since = [made.now - wait for wait in view.waits_us]
    looked_at = max(event[1] for event in seen if event[3] == "produce-waiting")
    assert [time for time in since if looked_at - time > SECOND] == sorted(told)
    assert len(told) > 30


def test_a_broker_that_is_gone_is_tried_again_later_each_time() -> None:
    """reconnect.backoff.ms is 50, and reconnect.backoff.max.ms is 1,000, without Kafka's random 20%."""
    bench = ProducerBench()
    found = []
    for _ in range(7):
        bench.producer.connection_failed("b1")
        found.append(bench.producer.reconnect_time("b1") - bench.journal.now)
    assert found == [each * 1_000 for each in (50, 100, 200, 400, 800, 1_000, 1_000)]


def test_keys_take_turns_and_values_are_given_or_numbers() -> None:
    keys = ("a", "b", "c")
    assert KeyedRecords(keys, "").records(2, 3) == (("c", "2"), ("a", "3"), ("b", "4"))
    assert KeyedRecords(keys, "v").records(4, 2) == (("b", "v"), ("c", "v"))
    assert len(keys_of("100000")) == 100_000
    assert KeyedRecords(keys, TOMBSTONE).records(5, 2) == (("c", None), ("a", None))


@pytest.mark.parametrize(
    ("text", "keys"),
    [("3", ("k0", "k1", "k2")), ("a, b", ("a", "b")), ("1,2", ("1", "2")), ("0", None), ("100001", None), ("a,,b", None), ("", None)],
)
def test_keys_are_a_number_or_names(text: str, keys: tuple[str, ...] | None) -> None:
    if keys is None:
        with pytest.raises(ValueError, match=r"keys must be|the number of keys must be from 1 to 100000"):
            keys_of(text)
    else:
        assert keys_of(text) == keys
