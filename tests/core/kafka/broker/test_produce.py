"""The responses to producers, by Kafka's own vectors: PRD (ReplicaManagerTest, DelayedProduce)."""

from __future__ import annotations

import pytest

from core.kafka import errors
from core.kafka.messages import ProduceResponse
from core.kafka.release import RELEASES
from tests.core.node_bench import BrokerBench


@pytest.fixture
def bench() -> BrokerBench:
    """Build a bench in which broker 1 leads, brokers 2 and 3 follow, and min.insync.replicas is 2."""
    bench = BrokerBench(settings={"min.insync.replicas": 2})
    bench.partition_is((1, 2, 3), (1, 2, 3))
    return bench


def error_of(answer: ProduceResponse | None) -> str:
    assert answer is not None, "no answer yet"
    return answer.error


def test_prd_01_only_three_values_of_acks_are_known(bench: BrokerBench) -> None:
    assert error_of(bench.produce(1, acks=3)) == errors.INVALID_REQUIRED_ACKS
    assert bench.log.leo == 0


@pytest.mark.parametrize("leader", [2, -1], ids=["PRD-02-another-leader", "PRD-02-no-leader"])
def test_prd_02_a_waiting_write_ends_with_the_leadership(bench: BrokerBench, leader: int) -> None:
    assert bench.produce(1, acks=-1) is None
    bench.partition_is((1, 2, 3), (2, 3), leader=leader, leader_epoch=6, partition_epoch=2)
    assert error_of(bench.produced()) == errors.NOT_LEADER_OR_FOLLOWER
    bench.run(60_000)
    assert bench.produced() is None, "answered once"


def test_prd_02_a_write_waits_on_while_only_the_isr_changes(bench: BrokerBench) -> None:
    bench.fetch(3, 0)
    assert bench.produce(1, acks=-1) is None
    bench.partition_is((1, 2, 3), (1, 2), partition_epoch=2)
    bench.fetch(2, 1)
    assert bench.produced() is None, "3 left the ISR but counts for replica.lag.time.max.ms, as this leader knows its broker epoch"
    bench.fetch(3, 1)
    assert bench.produced() == ProduceResponse(2, ("t", 0), errors.NONE, 0, bench.partition().term)


def test_prd_03_acks_all_below_min_isr_appends_nothing(bench: BrokerBench) -> None:
    bench.partition_is((1, 2, 3), (1,), partition_epoch=2)
    assert error_of(bench.produce(1, acks=-1)) == errors.NOT_ENOUGH_REPLICAS
    assert bench.log.leo == 0
    assert error_of(bench.produce(1, acks=1)) == errors.NONE
    assert bench.produce(1, acks=0) is None
    assert bench.log.leo == 2


def test_prd_03_acks_all_is_answered_when_the_high_watermark_has_passed(bench: BrokerBench) -> None:
    assert bench.produce(2, acks=-1) is None
    bench.fetch(2, 2)
    assert bench.produced() is None
    bench.fetch(3, 1)
    assert (bench.log.high_watermark, bench.produced()) == (1, None)
    bench.fetch(3, 2)
    assert error_of(bench.produced()) == errors.NONE


def test_prd_03_a_write_that_waits_too_long_is_timed_out_and_stays_in_the_log(bench: BrokerBench) -> None:
    assert bench.produce(2, acks=-1, timeout_ms=1_000) is None
    bench.run(999)
    assert bench.produced() is None
    bench.run(1)
    assert error_of(bench.produced()) == errors.REQUEST_TIMED_OUT
    assert bench.log.leo == 2
    for follower in (2, 3):
        bench.fetch(follower, 2)
    assert (bench.log.high_watermark, bench.produced()) == (2, None)


def after_append(release: str) -> BrokerBench:
    """Build a bench in which an acks=all write waits while the ISR falls below min.insync.replicas, and the last member has all records."""
    bench = BrokerBench(RELEASES[release], settings={"min.insync.replicas": 2})
    bench.partition_is((1, 2), (1, 2))
    assert bench.produce(1, acks=-1, timeout_ms=60_000) is None
    bench.run(45_001)
    bench.decide(bench.proposal())
    assert bench.partition().isr == (1,)
    return bench


def test_prd_03_isr_too_small_after_the_append_before_3_7() -> None:
    bench = after_append("3.6")
    assert error_of(bench.produced()) == errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    assert (bench.log.leo, bench.log.high_watermark) == (1, 1)


def test_prd_03_isr_too_small_after_the_append_since_3_7() -> None:
    bench = after_append("3.7")
    assert (bench.produced(), bench.log.high_watermark) == (None, 0)
    bench.run(20_000)
    assert error_of(bench.produced()) == errors.REQUEST_TIMED_OUT


def test_prd_03_a_min_isr_raised_meanwhile_counts(bench: BrokerBench) -> None:
    bench.partition_is((1, 2, 3), (1, 2), partition_epoch=2)
    assert bench.produce(1, acks=-1) is None
    bench.configure("min.insync.replicas", "3")
    bench.fetch(2, 1)
    assert (bench.log.high_watermark, bench.produced()) == (0, None), "strict min ISR: nothing moves"
    assert error_of(bench.produce(1, acks=-1)) == errors.NOT_ENOUGH_REPLICAS


def test_a_broker_that_does_not_lead_refuses(bench: BrokerBench) -> None:
    bench.partition_is((1, 2, 3), (2, 3), leader=2, leader_epoch=6, partition_epoch=2)
    for acks in (1, -1):
        assert error_of(bench.produce(1, acks=acks)) == errors.NOT_LEADER_OR_FOLLOWER
    assert bench.log.leo == 0
