"""The responses of a leader that cannot accept a client's request, and their times: semantics 1.8 and 4.1, in addition to Kafka's own
vectors.
"""

from __future__ import annotations

import pytest

from core.kafka import errors, events
from core.kafka.broker.requests.leader_append import delete_records
from core.kafka.ids import TopicPartition, broker_address
from core.kafka.messages import FetchRequest, FetchResponse, ProduceRequest, ProduceResponse
from core.kafka.release import RELEASES
from core.kafka.settings.registry import SETTINGS
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.kernel_messages import Disconnected
from core.sim.units import SECOND, US_PER_MS
from tests.core.node_bench import CLIENT, TP, BrokerBench


@pytest.fixture
def bench() -> BrokerBench:
    """Build a bench in which broker 1 leads, and brokers 2 and 3 follow."""
    bench = BrokerBench()
    bench.partition_is((1, 2, 3), (1, 2, 3))
    return bench


def cluster(*topics: TopicSpec, brokers: int = 3, release: str = "4.1") -> Cluster:
    return Cluster(ClusterSpec(tuple(BrokerSpec(each) for each in range(1, brokers + 1)), topics), RELEASES[release])


# acks=0


def test_4_1_an_error_on_acks_0_closes_the_connection(bench: BrokerBench) -> None:
    bench.partition_is((1, 2, 3), (2, 3), leader=2, leader_epoch=6, partition_epoch=2)
    assert bench.produce(1, acks=0) is None
    assert bench.sent(Disconnected) == [Disconnected("b1", only_opened=True)]


def test_4_1_acks_0_without_an_error_leaves_it_open(bench: BrokerBench) -> None:
    assert bench.produce(1, acks=0) is None
    assert (bench.log.leo, bench.sent(Disconnected)) == (1, [])


def test_4_1_a_producer_with_acks_0_finds_the_new_leader() -> None:
    run = cluster(TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)),)))
    run.do(acts.Load("t", 100, producer="p", acks="0"))
    run.run_until(2 * SECOND)
    run.do(acts.Reassign(TP, (2, 1, 3)))
    run.do(acts.Elect("preferred", TP))
    run.run_until(4 * SECOND)
    producer = run.clients.producer("p")
    assert producer is not None
    assert producer.leader_of(0) == 2
    assert run.account.accepted >= producer.metrics.sent - 20, "only what was sent before the connection was closed is gone"


# partitions that are not here


def test_4_1_a_partition_that_the_metadata_do_not_have_is_unknown(bench: BrokerBench) -> None:
    assert bench.produce(1, tp=TopicPartition("new", 0)) == ProduceResponse(1, ("new", 0), errors.UNKNOWN_TOPIC_OR_PARTITION, -1, None)
    bench.partition_is((2, 3), (2, 3), leader=2, tp=TopicPartition("new", 0))
    answer = bench.produce(1, tp=TopicPartition("new", 0))
    assert answer is not None
    assert answer.error == errors.NOT_LEADER_OR_FOLLOWER, "it is elsewhere"


@pytest.mark.parametrize("leader", [2, -1])
def test_4_1_what_waits_on_a_replica_that_is_deleted_is_answered(bench: BrokerBench, leader: int) -> None:
    assert bench.produce(1, acks=-1) is None
    bench.broker.handle(bench.fetch_request(2, 1, max_wait_ms=500), broker_address(2))
    bench.partition_is((2, 3), (2, 3), leader=leader, leader_epoch=6, partition_epoch=2)
    assert TP not in bench.broker.partitions
    answer = bench.produced()
    assert answer is not None
    assert answer.error == errors.NOT_LEADER_OR_FOLLOWER
    waiting = bench.answered(2)
    assert waiting is not None
    assert [part.error for part in waiting.parts()] == [errors.NOT_LEADER_OR_FOLLOWER]


def test_4_1_a_leader_that_is_moved_away_is_kept_in_the_account() -> None:
    """The log of an unclean successor is compared with the records that the former leader knew to be committed."""
    bench = BrokerBench()
    bench.partition_is((1, 2), (1, 2))
    bench.produce(3)
    bench.fetch(2, 3)
    bench.partition_is((2, 3), (2,), leader=2, leader_epoch=6, partition_epoch=2)
    assert bench.account.of(TP).committed_end == 3


# time-outs


def test_4_1_each_write_is_timed_out_by_its_own_request(bench: BrokerBench) -> None:
    assert bench.produce(1, acks=-1, timeout_ms=30_000) is None
    assert bench.produce(1, acks=-1, timeout_ms=1_000) is None
    bench.run(1_000)
    assert bench.produced() == ProduceResponse(2, TP, errors.REQUEST_TIMED_OUT, -1, None)
    bench.run(28_999)
    assert bench.produced() is None
    bench.run(1)
    assert bench.produced() == ProduceResponse(1, TP, errors.REQUEST_TIMED_OUT, -1, None)


def test_4_2_a_retry_that_waits_does_not_keep_others_waiting(bench: BrokerBench) -> None:
    """A duplicate waits for the offsets of its first attempt, but at most until its own deadline, which is later."""

    def write(correlation: int, sequence: int, timeout_ms: int) -> None:
        request = ProduceRequest(correlation, CLIENT, TP, 1, 100, -1, timeout_ms * US_PER_MS, correlation, 1, 7, 0, sequence)
        bench.broker.handle(request, CLIENT)

    write(1, 0, 500)
    bench.run(500)
    assert bench.produced() == ProduceResponse(1, TP, errors.REQUEST_TIMED_OUT, -1, None)
    write(2, 1, 1_000)
    write(1, 0, 60_000)
    bench.run(1_000)
    assert bench.produced() == ProduceResponse(2, TP, errors.REQUEST_TIMED_OUT, -1, None)
    for follower in (2, 3):
        bench.fetch(follower, 1)
    assert bench.produced() == ProduceResponse(1, TP, errors.NONE, 0, bench.partition().term)


# max.message.bytes


def test_4_1_a_record_above_max_message_bytes_is_refused(bench: BrokerBench) -> None:
    bench.configure("max.message.bytes", "99", "t")
    answer = bench.produce(3, acks=1)
    assert (answer, bench.log.leo) == (ProduceResponse(1, TP, errors.MESSAGE_TOO_LARGE, -1, None), 0)
    bench.configure("max.message.bytes", "100", "t")
    assert bench.produce(3, acks=1) == ProduceResponse(2, TP, errors.NONE, 0, bench.partition().term)


def test_4_1_too_few_in_sync_comes_before_too_large() -> None:
    bench = BrokerBench(settings={"min.insync.replicas": 2, "message.max.bytes": 99})
    bench.partition_is((1, 2), (1,))
    assert bench.produce(1, acks=-1) == ProduceResponse(1, TP, errors.NOT_ENOUGH_REPLICAS, -1, None)
    assert bench.produce(1, acks=1) == ProduceResponse(2, TP, errors.MESSAGE_TOO_LARGE, -1, None)


def test_1_9_message_max_bytes_by_release() -> None:
    found = {name: SETTINGS["max.message.bytes"].default_in(release) for name, release in RELEASES.items()}
    assert {name for name, value in found.items() if value == 1_000_012} == {"0.8.2", "0.9", "0.10.2", "0.11", "1.1", "2.0", "2.1", "2.4"}
    assert set(found.values()) == {1_000_012, 1_048_588}


def test_4_1_a_producer_gives_a_too_large_record_up_at_once() -> None:
    run = cluster(TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)),)))
    run.do(acts.Produce("t", 1, bytes=2_000_000, acks="all", producer="p"))
    run.run_until(SECOND)
    producer = run.clients.producer("p")
    assert producer is not None
    assert (producer.metrics.failed, producer.metrics.retries, run.account.accepted) == (1, 0, 0)


def test_a_fetch_of_a_partition_that_the_metadata_lacks_gets_an_error(bench: BrokerBench) -> None:
    request = bench.fetch_request(2, 0)
    asked = request.changed[0]._replace(tp=TopicPartition("new", 0))
    bench.broker.handle(FetchRequest(*request._replace(changed=(asked,))), broker_address(2))
    (part,) = bench.one_sent(FetchResponse, broker_address(2)).parts()
    assert part.error == errors.UNKNOWN_TOPIC_OR_PARTITION


def test_6_delete_records_below_zero_is_out_of_range(bench: BrokerBench) -> None:
    """Of all negative offsets, only -1 is valid: it means the high watermark (`Partition#deleteRecordsOnLeader`)."""
    delete_records(bench.partition(), -2)
    assert bench.told(events.DeleteRecordsRefused) == [(1, "t", 0, -2, 0, errors.OFFSET_OUT_OF_RANGE)]


@pytest.mark.parametrize(("min_bytes", "armed"), [(1, False), (1_000, True)])
def test_a_delayed_fetch_needs_no_timer_if_there_is_already_enough_to_send(bench: BrokerBench, min_bytes: int, armed: bool) -> None:
    request = bench.fetch_request(2, 0, max_wait_ms=500)._replace(min_bytes=min_bytes)
    bench.broker.handle(request, "b2")
    (session,) = bench.broker.fetch_manager.sessions.values()
    session.parked, session.timer_due = None, -1
    session.mark_to_send(session.partitions[TP])
    session.wait(request, bench.journal.now, 0)
    assert (session.timer_due >= 0) is armed
