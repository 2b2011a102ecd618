"""Clients on a running cluster, by Kafka's own vectors: UNC (UncleanLeaderElectionTest), HW-13 (LogRecoveryTest); and a consumer alone:
CON-05, HW-02.
"""

from __future__ import annotations

import pytest

from core.kafka import errors, events
from core.kafka.clients.client_context import ClientContext
from core.kafka.clients.consumer.consumer import Consumer
from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.log.leader_term import FetchedRange, Term
from core.kafka.messages import (
    LATEST,
    ConsumerFetchRequest,
    ConsumerFetchResponse,
    FetchedPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
)
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from tests.core.node_bench import NodeBench

TP = TopicPartition("t", 0)


class Run:
    """A cluster of two brokers with one partition on both, led by 1."""

    def __init__(self, *, settings: dict | None = None, config: dict[str, str] | None = None) -> None:
        self.events: list[tuple] = []
        topic = TopicSpec("t", assignment=(PartitionSpec((1, 2)),), config=tuple((config or {}).items()))
        spec = ClusterSpec((BrokerSpec(1), BrokerSpec(2)), (topic,), settings=tuple((settings or {}).items()))
        self.cluster = Cluster(spec, sink=self.events.append)

    def do(self, *them: acts.Act, then: int = 1) -> None:
        for act in them:
            self.cluster.do(act)
        self.cluster.run_until(self.cluster.now + then * SECOND)

    def consumed(self, consumer: str) -> int:
        """Return the number of records that a consumer has read."""
        return sum(event[9] - event[8] for event in self.events if event[3] == events.Consumed.kind and event[4] == consumer)

    def leader(self) -> int:
        return self.cluster.partition_view(TP).leader

    def high_watermarks(self) -> list[int]:
        return [broker.disk.logs[TP].high_watermark for broker in self.cluster.brokers.values()]

    def checkpoints(self) -> list[int]:
        return [broker.disk.high_watermarks.get(TP, 0) for broker in self.cluster.brokers.values()]


def first_and_second(run: Run) -> None:
    """Create UNC's initial state: "first" is on both replicas, "second" only on the leader, then the leader is gone and the follower is
    back.
    """
    run.do(acts.Produce("t", 1, acks="1"))
    run.do(acts.Shutdown(2), then=10)
    run.do(acts.Produce("t", 1, acks="1"))
    run.do(acts.Consume("t", "early"), then=2)
    assert run.consumed("early") == 2
    assert run.cluster.account.elections.get("unclean", 0) == 0
    run.do(acts.Kill(1), then=15)
    run.do(acts.Start(2), then=10)


@pytest.mark.parametrize(
    ("settings", "config"),
    [
        pytest.param({"unclean.leader.election.enable": "true"}, {}, id="UNC-01"),
        pytest.param(
            {"unclean.leader.election.enable": "false"}, {"unclean.leader.election.enable": "true"}, id="UNC-03-topic-over-broker"
        ),
    ],
)
def test_unc_01_03_an_unclean_leader_goes_on_without_what_it_lacks(settings: dict, config: dict) -> None:
    run = Run(settings=settings, config=config)
    first_and_second(run)
    assert (run.leader(), run.cluster.account.elections["unclean"]) == (2, 1)
    run.do(acts.Produce("t", 1, acks="1"), acts.Consume("t", "late"), then=3)
    assert run.consumed("late") == 2
    log = run.cluster.brokers[2].disk.logs[TP]
    assert [(piece.start, piece.end, piece.term.leader) for piece in log.runs()] == [(0, 1, 1), (1, 2, 2)], "first, third"
    assert run.cluster.account.lost == 1
    run.do(acts.Start(1), then=10)
    assert run.cluster.brokers[1].disk.logs[TP].runs() == log.runs(), "the old leader cuts off what it alone had"


def test_unc_03_a_topic_may_forbid_what_the_broker_allows() -> None:
    run = Run(settings={"unclean.leader.election.enable": "true"}, config={"unclean.leader.election.enable": "false"})
    first_and_second(run)
    assert (run.leader(), run.cluster.account.elections.get("unclean", 0)) == (NO_LEADER, 0)
    run.do(acts.Start(1), then=10)
    assert (run.leader(), run.cluster.account.lost) == (1, 0)
    run.do(acts.Consume("t", "late"), then=3)
    assert run.consumed("late") == 2


def test_unc_03_an_invalid_value_is_refused() -> None:
    with pytest.raises(ValueError, match=r"unclean\.leader\.election\.enable takes true or false, not 'maybe'"):
        Run(config={"unclean.leader.election.enable": "maybe"})


def test_hw_13_recovery_of_the_high_watermark() -> None:
    run = Run()
    run.do(acts.Produce("t", 1), then=2)
    assert run.high_watermarks() == [1, 1]
    run.do(acts.Shutdown(1), then=10)
    assert (run.checkpoints()[0], run.leader()) == (1, 2)
    run.do(acts.Start(1), then=10)
    run.do(acts.Shutdown(2), then=10)
    assert (run.checkpoints()[1], run.leader()) == (1, 1)
    run.do(acts.Start(2), then=10)
    run.do(acts.Produce("t", 1), then=3)
    assert run.high_watermarks() == [2, 2]
    run.do(acts.Shutdown(2), acts.Shutdown(1), then=10)
    assert run.checkpoints() == [2, 2]


@pytest.mark.parametrize("records", [20, 2])
def test_hw_13_recovery_after_a_hard_failure(records: int) -> None:
    run = Run()
    run.do(acts.Produce("t", records), then=6)
    run.do(acts.Kill(1), then=15)
    assert run.leader() == 2
    run.do(acts.Start(1), then=15)
    run.do(acts.Produce("t", 2), then=7)
    assert run.high_watermarks() == run.checkpoints() == [records + 2, records + 2]


# A consumer alone; the test plays its brokers


class ConsumerBench(NodeBench):
    """A consumer of t, whose only partition is led by broker 1 in epoch 3."""

    def __init__(self, reset: str) -> None:
        super().__init__()
        self.network.alive["b1"] = True
        self.node = self.consumer = Consumer("c", "t", reset, ClientContext((1,), self.network, self.journal, self.account))
        self.consumer.start()
        asked = self.one_sent(MetadataRequest, "b1")
        self.consumer.handle(MetadataResponse(asked.correlation, "t", ((1, 3),)), "b1")

    def fetches(self) -> tuple[int, int]:
        """Return (position, leader epoch) of the fetch that the consumer has sent."""
        self.request = self.one_sent(ConsumerFetchRequest, "b1")
        ((_, position, epoch),) = self.request.partitions
        return position, epoch

    def answer(self, error: str) -> None:
        position = self.request.partitions[0][1]
        part = FetchedPartition(TP, error, position, (), -1, -1, -1, -1, 0)
        self.consumer.handle(ConsumerFetchResponse(self.request.correlation, (part,)), "b1")

    def offsets(self, error: str, earliest: int, latest: int) -> None:
        asked = self.one_sent(ListOffsetsRequest, "b1")
        assert (asked.replica, asked.leader_epoch) == (-1, 3)
        self.consumer.handle(ListOffsetsResponse(asked.correlation, 0, TP, error, earliest, latest), "b1")


def test_metadata_of_a_broker_that_has_just_started_are_requested_again() -> None:
    """An empty metadata cache is no answer: the consumer asks again after retry.backoff.ms, not only after metadata.max.age.ms."""
    bench = NodeBench()
    bench.network.alive["b1"] = True
    bench.node = consumer = Consumer("c", "t", "earliest", ClientContext((1,), bench.network, bench.journal, bench.account))
    consumer.start()
    consumer.handle(MetadataResponse(bench.one_sent(MetadataRequest, "b1").correlation, "t", ()), "b1")
    assert bench.sent(MetadataRequest) == []
    bench.run(100)
    consumer.handle(MetadataResponse(bench.one_sent(MetadataRequest, "b1").correlation, "t", ((1, 3),)), "b1")
    assert bench.one_sent(ConsumerFetchRequest, "b1").partitions[0][1:] == (0, 3)


@pytest.mark.parametrize(("reset", "position"), [("earliest", 4), ("latest", 9)])
def test_con_05_out_of_range_resets_by_policy(reset: str, position: int) -> None:
    bench = ConsumerBench(reset)
    if reset == "latest":
        bench.offsets(errors.NONE, 0, 20)
    assert bench.fetches() == (20 if reset == "latest" else 0, 3)
    bench.answer(errors.OFFSET_OUT_OF_RANGE)
    bench.offsets(errors.NONE, 4, 9)
    assert bench.fetches() == (position, 3)
    assert [columns[-2:] for columns in bench.told(events.ConsumerReset)] == [(errors.OFFSET_OUT_OF_RANGE, reset)]


def test_hw_02_the_earliest_offset_is_taken_while_the_latest_is_not_to_be_had() -> None:
    bench = ConsumerBench("earliest")
    bench.fetches()
    bench.answer(errors.OFFSET_OUT_OF_RANGE)
    bench.offsets(errors.OFFSET_NOT_AVAILABLE, 4, -1)
    assert bench.fetches() == (4, 3)


def test_hw_02_the_latest_offset_is_asked_for_again() -> None:
    bench = ConsumerBench("latest")
    bench.offsets(errors.OFFSET_NOT_AVAILABLE, 4, -1)
    assert bench.sent(ConsumerFetchRequest) == []
    bench.run(100)
    bench.offsets(errors.NONE, 4, 9)
    assert bench.fetches() == (9, 3)


def test_con_05_out_of_range_at_a_follower_sends_back_to_the_leader() -> None:
    """The follower may only lag: the position is kept, and the reset policy is not used (`FetchCollector#handleInitializeErrors`)."""
    bench = ConsumerBench("latest")
    bench.offsets(errors.NONE, 0, 20)
    bench.network.alive["b2"] = True
    bench.consumer.client_rack = "b"
    bench.fetches()
    bench.consumer.handle(ConsumerFetchResponse(bench.request.correlation, (), ((TP, 2),)), "b1")
    asked = bench.one_sent(ConsumerFetchRequest, "b2")
    part = FetchedPartition(TP, errors.OFFSET_OUT_OF_RANGE, 20, (), -1, -1, -1, -1, 0)
    bench.consumer.handle(ConsumerFetchResponse(asked.correlation, (part,)), "b2")
    assert bench.fetches() == (20, 3)
    assert bench.sent(ListOffsetsRequest) == []
    assert [columns[3:] for columns in bench.told(events.ReadReplica)] == [(1, 2, "b", ""), (1, 1, "b", errors.OFFSET_OUT_OF_RANGE)]


@pytest.mark.parametrize(("error", "goes_back"), [(errors.NOT_LEADER_OR_FOLLOWER, True), (errors.UNKNOWN_LEADER_EPOCH, False)])
def test_a_follower_s_errors_send_back_or_wait(error: str, goes_back: bool) -> None:
    bench = ConsumerBench("earliest")
    bench.network.alive["b2"] = True
    bench.fetches()
    bench.consumer.handle(ConsumerFetchResponse(bench.request.correlation, (), ((TP, 2),)), "b1")
    asked = bench.one_sent(ConsumerFetchRequest, "b2")
    part = FetchedPartition(TP, error, 0, (), -1, -1, -1, -1, 0)
    bench.consumer.handle(ConsumerFetchResponse(asked.correlation, (part,)), "b2")
    bench.run(100)
    assert [len(bench.sent(ConsumerFetchRequest, node)) for node in ("b1", "b2")] == ([1, 0] if goes_back else [0, 1])


def test_where_to_read_is_asked_anew_when_another_leads() -> None:
    """`SubscriptionState#maybeValidatePositionForCurrentLeader` clears the preferred read replica."""
    bench = ConsumerBench("earliest")
    bench.network.alive["b2"] = True
    bench.fetches()
    bench.consumer.handle(ConsumerFetchResponse(bench.request.correlation, (), ((TP, 2),)), "b1")
    asked = bench.one_sent(ConsumerFetchRequest, "b2")
    bench.consumer.refresh_metadata()
    metadata = bench.one_sent(MetadataRequest)
    bench.consumer.handle(MetadataResponse(metadata.correlation, "t", ((1, 4),)), "b1")
    bench.consumer.handle(ConsumerFetchResponse(asked.correlation, ()), "b2")
    assert bench.fetches() == (0, 4)
    assert [columns[-1] for columns in bench.told(events.ReadReplica)] == ["", "another leader epoch"]


def validating() -> tuple[ConsumerBench, OffsetsForLeaderEpochRequest]:
    """Build a bench with a consumer that has read 20 records of epoch 2 and is validating its position."""
    bench = ConsumerBench("earliest")
    bench.consumer.validates = True
    bench.fetches()
    part = FetchedPartition(TP, errors.NONE, 0, (FetchedRange(0, 20, Term(2, 1), 2_000),), 20, 0, -1, -1, 0)
    bench.consumer.handle(ConsumerFetchResponse(bench.request.correlation, (part,)), "b1")
    asked = bench.one_sent(OffsetsForLeaderEpochRequest, "b1")
    return bench, asked


@pytest.mark.parametrize(
    ("epoch", "end", "position"),
    [
        pytest.param(2, 25, 20, id="not-cut"),
        pytest.param(2, 15, 15, id="cut"),
        pytest.param(2, 0, 0, id="cut-to-nothing"),
        pytest.param(1, 15, 15, id="cut-and-an-older-epoch"),
        pytest.param(1, 25, 20, id="an-older-epoch-that-goes-on-past-the-position"),
    ],
)
def test_kip_320_only_an_end_below_the_position_tells_of_a_truncation(epoch: int, end: int, position: int) -> None:
    """`SubscriptionState#maybeCompleteValidation` compares offsets, not epochs."""
    bench, asked = validating()
    assert asked.partitions == ((TP, 3, 2),)
    bench.consumer.handle(OffsetsForLeaderEpochResponse(asked.correlation, 0, ((TP, errors.NONE, epoch, end),)), "b1")
    assert bench.fetches() == (position, 3)
    assert len(bench.told(events.ConsumerTruncated)) == (position != 20)


def test_what_comes_while_a_position_is_validated_is_thrown_away() -> None:
    """`SubscriptionState#isFetchable`: a fetch from the former leader is answered during the validation. A response for position 20 must
    not be applied to position 30.
    """
    bench, asked = validating()
    bench.consumer.in_flight["b2"] = (77, 0)
    part = FetchedPartition(TP, errors.NONE, 20, (FetchedRange(20, 30, Term(3, 1), 1_000),), 30, 0, -1, -1, 0)
    bench.consumer.handle(ConsumerFetchResponse(77, (part,)), "b2")
    assert bench.consumer.positions == [20]
    bench.consumer.handle(OffsetsForLeaderEpochResponse(asked.correlation, 0, ((TP, errors.NONE, 2, 20),)), "b1")
    assert bench.fetches() == (20, 3)
    assert bench.told(events.ConsumerTruncated) == []


@pytest.mark.parametrize(("epoch", "end"), [(-1, -1), (-1, 25), (2, -1)])
def test_kip_320_an_answer_without_epoch_or_end_resets(epoch: int, end: int) -> None:
    bench, asked = validating()
    bench.consumer.handle(OffsetsForLeaderEpochResponse(asked.correlation, 0, ((TP, errors.NONE, epoch, end),)), "b1")
    bench.offsets(errors.NONE, 4, 9)
    assert bench.fetches() == (4, 3)


def test_where_to_read_is_asked_anew_after_metadata_max_age() -> None:
    bench = ConsumerBench("earliest")
    bench.network.alive["b2"] = True
    bench.fetches()
    bench.consumer.handle(ConsumerFetchResponse(bench.request.correlation, (), ((TP, 2),)), "b1")
    for waited, node in ((300_000, "b2"), (1, "b1")):
        bench.wait(waited)
        asked = bench.one_sent(ConsumerFetchRequest, "b2")
        bench.consumer.handle(ConsumerFetchResponse(asked.correlation, ()), "b2")
        assert [entry.node for entry in bench.agenda.entries if type(entry.message) is ConsumerFetchRequest] == [node]


@pytest.mark.parametrize(("since", "position"), [(0, 0), (3_000_000, 10), (4_100_000, 20), (60_000_000, 30)])
def test_a_consumer_begins_at_a_time(since: int, position: int) -> None:
    """The consumer calls `offsetsForTimes` and then seeks. If no record is recent enough, it starts at the end."""
    run = Run()
    for at in (2, 4, 6):
        run.cluster.run_until(at * SECOND)
        run.cluster.do(acts.Produce("t", 10))
    run.cluster.run_until(8 * SECOND)
    run.cluster.do(acts.Consume("t", since=since))
    run.cluster.run_until(8 * SECOND + 1)
    consumer = run.cluster.clients["consumer"]
    first: list[int] = []
    while not first or first[0] < 0:
        run.cluster.step()
        first = list(consumer.positions)
    assert first == [position]


# A consumer whose requests get no response


def test_a_fetch_without_a_response_is_given_up_after_request_timeout_ms() -> None:
    """`NetworkClient#handleTimedOutRequests` closes the connection and asks for metadata. After retry.backoff.ms, the consumer fetches anew."""
    bench = ConsumerBench("earliest")
    bench.fetches()
    bench.run(29_900)
    assert bench.consumer.in_flight
    assert bench.sent(MetadataRequest) == []
    bench.run(200)
    asked = bench.one_sent(MetadataRequest)
    bench.consumer.handle(MetadataResponse(asked.correlation, "t", ((1, 3),)), "b1")
    bench.run(200)
    late = bench.request
    assert bench.fetches() == (0, 3)
    part = FetchedPartition(TP, errors.NONE, 0, (FetchedRange(0, 20, Term(3, 1), 2_000),), 20, 0, -1, -1, 0)
    bench.consumer.handle(ConsumerFetchResponse(late.correlation, (part,)), "b1")
    assert bench.consumer.positions == [0], "the response to the former request comes too late"
    bench.consumer.handle(ConsumerFetchResponse(bench.request.correlation, (part,)), "b1")
    assert bench.consumer.positions == [20]


@pytest.mark.parametrize("loses", ["response", "connection"])
def test_a_validation_without_a_response_is_asked_again(loses: str) -> None:
    """`OffsetsForLeaderEpochClient`: a failed request is retried after retry.backoff.ms; the position stays unvalidated."""
    bench, _ = validating()
    if loses == "connection":
        bench.consumer.connection_lost("b1")
    else:
        bench.run(29_900)
        assert bench.sent(OffsetsForLeaderEpochRequest) == []
    bench.run(400)
    assert [asked.partitions for asked in bench.sent(OffsetsForLeaderEpochRequest)] == [((TP, 3, 2),)]
    assert bench.sent(ConsumerFetchRequest) == []


def test_a_validation_with_an_error_is_asked_again() -> None:
    bench, asked = validating()
    bench.consumer.handle(OffsetsForLeaderEpochResponse(asked.correlation, 0, ((TP, errors.FENCED_LEADER_EPOCH, -1, -1),)), "b1")
    assert bench.sent(OffsetsForLeaderEpochRequest) == []
    bench.run(100)
    again = bench.one_sent(OffsetsForLeaderEpochRequest)
    assert again.partitions == ((TP, 3, 2),)
    bench.consumer.handle(OffsetsForLeaderEpochResponse(asked.correlation, 0, ((TP, errors.NONE, -1, -1),)), "b1")
    assert bench.sent(ListOffsetsRequest) == [], "this was a response to the former request"


def test_a_lost_connection_repeats_the_request_for_an_offset() -> None:
    """`OffsetFetcher#resetPositionsAsync`."""
    bench = ConsumerBench("latest")
    bench.one_sent(ListOffsetsRequest, "b1")
    bench.consumer.connection_lost("b1")
    bench.run(100)
    bench.offsets(errors.NONE, 0, 20)
    assert bench.fetches() == (20, 3)


def test_a_lost_connection_to_a_follower_sends_back_to_the_leader() -> None:
    """`FetchUtils#requestMetadataUpdate`, `SubscriptionState#clearPreferredReadReplica`."""
    bench = ConsumerBench("earliest")
    bench.network.alive["b2"] = True
    bench.fetches()
    bench.consumer.handle(ConsumerFetchResponse(bench.request.correlation, (), ((TP, 2),)), "b1")
    bench.one_sent(ConsumerFetchRequest, "b2")
    bench.consumer.connection_lost("b2")
    assert bench.fetches() == (0, 3)
    assert [columns[3:] for columns in bench.told(events.ReadReplica)][-1] == (1, 1, "", errors.NETWORK_EXCEPTION)


def test_a_partition_without_a_leader_is_not_fetched_until_metadata_name_one() -> None:
    """`Metadata#currentLeader`: the consumer asks for metadata after retry.backoff.ms."""
    bench = ConsumerBench("earliest")
    bench.fetches()
    bench.consumer.refresh_metadata()
    bench.consumer.handle(MetadataResponse(bench.one_sent(MetadataRequest).correlation, "t", ((NO_LEADER, 4),)), "b1")
    bench.consumer.handle(ConsumerFetchResponse(bench.request.correlation, ()), "b1")
    bench.run(100)
    assert bench.sent(ConsumerFetchRequest) == []
    bench.consumer.handle(MetadataResponse(bench.one_sent(MetadataRequest).correlation, "t", ((1, 5),)), "b1")
    assert bench.fetches() == (0, 5)


def test_records_of_a_newer_epoch_than_the_leaders_wait_for_metadata() -> None:
    """`Metadata#updateLastSeenEpochIfNewer`: the leader of epoch 3 is not asked for what follows a record of epoch 4."""
    bench = ConsumerBench("earliest")
    bench.consumer.validates = True
    bench.fetches()
    part = FetchedPartition(TP, errors.NONE, 0, (FetchedRange(0, 20, Term(4, 1), 2_000),), 20, 0, -1, -1, 0)
    bench.consumer.handle(ConsumerFetchResponse(bench.request.correlation, (part,)), "b1")
    bench.run(200)
    assert bench.sent(ConsumerFetchRequest) == []
    bench.consumer.handle(MetadataResponse(bench.one_sent(MetadataRequest).correlation, "t", ((1, 4),)), "b1")
    assert bench.fetches() == (20, 4)


def test_a_consumer_that_has_stopped_takes_nothing_and_asks_for_nothing() -> None:
    bench = ConsumerBench("earliest")
    bench.fetches()
    bench.consumer.stop()
    part = FetchedPartition(TP, errors.NONE, 0, (FetchedRange(0, 20, Term(3, 1), 2_000),), 20, 0, -1, -1, 0)
    bench.consumer.handle(ConsumerFetchResponse(bench.request.correlation, (part,)), "b1")
    bench.consumer.connection_lost("b1")
    bench.run(60_000)
    assert (bench.consumer.positions, bench.consumer.read) == ([0], 0)
    assert bench.sent(ConsumerFetchRequest) == bench.sent(MetadataRequest) == []


@pytest.mark.parametrize("committed", [False, True])
def test_requests_name_the_isolation_level(committed: bool) -> None:
    """isolation.level is a field of Fetch and of ListOffsets."""
    bench = ConsumerBench("earliest")
    bench.fetches()
    bench.consumer.read_committed = committed
    bench.answer(errors.OFFSET_OUT_OF_RANGE)
    asked = bench.one_sent(ListOffsetsRequest, "b1")
    assert asked.read_committed is committed
    bench.consumer.handle(ListOffsetsResponse(asked.correlation, 0, TP, errors.NONE, 4, 9), "b1")
    assert bench.one_sent(ConsumerFetchRequest, "b1").read_committed is committed


def test_after_an_error_the_reset_policy_counts_and_not_the_start_time() -> None:
    """`auto.offset.reset`: the application has asked for the offset of a time only once, at its start."""
    bench = ConsumerBench("earliest")
    bench.consumer.start_time = 5 * SECOND
    bench.fetches()
    bench.answer(errors.OFFSET_OUT_OF_RANGE)
    asked = bench.one_sent(ListOffsetsRequest, "b1")
    assert asked.timestamp == LATEST
    bench.consumer.handle(ListOffsetsResponse(asked.correlation, 0, TP, errors.NONE, 4, 9, 7), "b1")
    assert bench.fetches() == (4, 3)
