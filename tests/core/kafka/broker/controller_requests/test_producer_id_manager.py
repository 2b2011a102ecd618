"""Blocks of producer IDs: TXM-13 (ZooKeeper) and TXM-14 (ProducerIdManagerTest)."""

from __future__ import annotations

import pytest

from core.kafka import events
from core.kafka.messages import AllocateProducerIdsRequest, AllocateProducerIdsResponse, InitProducerIdRequest
from core.kafka.release import RELEASES
from core.kafka.topic_spec import TopicSpec
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from tests.core.node_bench import BrokerBench


def requests(bench: BrokerBench) -> int:
    return len(bench.sent(AllocateProducerIdsRequest))


def answer(bench: BrokerBench, start: int, size: int) -> None:
    bench.broker.handle(AllocateProducerIdsResponse(start, size), "controller")


@pytest.mark.parametrize("release", ["2.1", "4.3"])
def test_txm_13_two_brokers_alternate_blocks(release: str) -> None:
    """TXM-13: testGetProducerIdZk. With KRaft, blocks alternate in the same way."""
    spec = ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2)), (TopicSpec("t", 1, 2),))
    given: list[tuple[int, int]] = []

    def sink(event: tuple) -> None:
        if event[3] == events.ProducerIdGiven.kind:
            given.append((event[4], event[6]))

    cluster = Cluster(spec, RELEASES[release], sink=sink)
    cluster.run_until(SECOND)

    def ask(broker: int, times: int) -> None:
        for _ in range(times):
            cluster.brokers[broker].handle(InitProducerIdRequest(1, "p"), "client")
        cluster.run_until(cluster.now + 3 * SECOND)

    for broker, times in ((1, 1), (2, 1), (1, 999), (2, 999), (1, 1), (2, 1)):
        ask(broker, times)
    assert [number for broker, number in given if broker == 1] == [*range(1_000), 2_000]
    assert [number for broker, number in given if broker == 2] == [*range(1_000, 2_000), 3_000]


@pytest.mark.parametrize(("start", "size"), [(-1, 10), (0, -1), (2**63 - 2, 10)])
def test_txm_14_after_an_invalid_block_the_broker_waits(start: int, size: int) -> None:
    """TXM-14: testRetryBackoff, testInvalidRanges: the broker returns no ID and sends no request for 50 ms. Then it uses the next block."""
    bench = BrokerBench()
    assert bench.broker.producer_id_manager.generate_producer_id() == -1
    assert requests(bench) == 1
    answer(bench, start, size)
    assert bench.broker.producer_id_manager.generate_producer_id() == -1
    bench.wait(49)
    assert bench.broker.producer_id_manager.generate_producer_id() == -1
    assert requests(bench) == 0
    bench.wait(1)
    assert bench.broker.producer_id_manager.generate_producer_id() == -1
    assert requests(bench) == 1
    answer(bench, 0, 1)
    assert bench.broker.producer_id_manager.generate_producer_id() == 0
    assert bench.broker.producer_id_manager.generate_producer_id() == -1


def test_the_next_block_is_requested_when_most_of_the_present_one_is_used() -> None:
    bench = BrokerBench()
    bench.broker.producer_id_manager.generate_producer_id()
    answer(bench, 0, 10)
    bench.sent(AllocateProducerIdsRequest)
    asked = []
    for _ in range(9):
        bench.broker.producer_id_manager.generate_producer_id()
        asked.append(requests(bench))
    assert asked == [0] * 8 + [1]
    answer(bench, 50, 10)
    assert [bench.broker.producer_id_manager.generate_producer_id() for _ in range(3)] == [9, 50, 51]


def test_a_request_without_answer_is_repeated_after_a_second() -> None:
    bench = BrokerBench()
    bench.broker.producer_id_manager.generate_producer_id()
    bench.wait(999)
    bench.broker.producer_id_manager.generate_producer_id()
    assert requests(bench) == 1
    bench.wait(1)
    bench.broker.producer_id_manager.generate_producer_id()
    assert requests(bench) == 1
    bench.broker.producer_id_manager.reset()
    bench.broker.producer_id_manager.generate_producer_id()
    assert requests(bench) == 1


def test_producers_that_wait_for_a_block_share_its_request() -> None:
    bench = BrokerBench()
    for number in (1, 2):
        bench.broker.handle(InitProducerIdRequest(number, f"p{number}"), "client")
    assert requests(bench) == 1
    answer(bench, 0, 10)
    assert bench.told(events.ProducerIdGiven) == [(1, "p1", 0), (1, "p2", 1)]
