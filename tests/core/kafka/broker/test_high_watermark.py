"""How a leader's high watermark moves, and what can be read below it, by Kafka's own vectors: HW (PartitionTest, ReplicaManagerTest),
EPF-06, CON.
"""

from __future__ import annotations

import pytest

from core.kafka import errors, events
from core.kafka.ids import CONTROLLER
from core.kafka.messages import AlterPartitionRequest, BrokerRegistrationRequest, BrokerRegistrationResponse
from core.kafka.release import RELEASES
from tests.core.node_bench import TP, BrokerBench, log_of


@pytest.fixture
def bench() -> BrokerBench:
    return BrokerBench()


def led_with_two_followers(bench: BrokerBench) -> None:
    """Build the initial state of HW-01: f1 (2) is outside the ISR, and f2 (3) is in it. Both have fetched the first two of five records,
    whose timestamps are 10, 11, and three times 20 ms.
    """
    bench.partition_is((1, 2, 3), (1, 3), leader_epoch=8, partition_epoch=1)
    bench.wait(10)
    bench.produce(1)
    bench.wait(1)
    bench.produce(1)
    bench.wait(9)
    bench.produce(3)
    assert bench.log.high_watermark == 0
    for follower in (2, 3):
        bench.fetch(follower, 0)
        bench.fetch(follower, 2)


def test_hw_01_the_least_leo_of_the_isr(bench: BrokerBench) -> None:
    led_with_two_followers(bench)
    assert (bench.log.high_watermark, bench.log.leo) == (2, 5)
    assert bench.list_offsets(replica=2).latest == 5
    answer = bench.list_offsets()
    assert (answer.error, answer.latest) == (errors.NONE, 2)
    none = bench.list_offsets(since_ms=30)
    assert (none.error, none.found) == (errors.NONE, -1)
    assert bench.list_offsets(since_ms=20).found == -1, "a client is not told of what is not committed"
    assert bench.list_offsets(replica=2, since_ms=20).found == 2
    assert [bench.list_offsets(since_ms=since).found for since in (0, 10, 11, 12)] == [0, 0, 1, -1]


def test_the_slowest_replicas_are_those_that_hold_the_high_watermark_back(bench: BrokerBench) -> None:
    led_with_two_followers(bench)
    assert bench.partition().slowest_replicas() == (2, 3)
    bench.fetch(2, 4)
    assert bench.partition().slowest_replicas() == (3,)
    bench.fetch(3, 5)
    assert bench.partition().slowest_replicas() == (2,)
    bench.fetch(2, 5)
    assert bench.partition().slowest_replicas() == (1,), "all have all"


def test_hw_02_a_new_leader_hides_its_stale_high_watermark_from_clients(bench: BrokerBench) -> None:
    led_with_two_followers(bench)
    bench.partition_is((1, 2, 3), (1, 2, 3), leader=3, leader_epoch=9, partition_epoch=4)
    bench.partition_is((1, 2, 3), (1, 2, 3), leader_epoch=10, partition_epoch=5)
    assert bench.partition().leader_epoch_start_offset == 5
    assert bench.log.high_watermark == 2, "a change of role does not move it"
    answer = bench.list_offsets()
    assert (answer.error, answer.latest) == (errors.OFFSET_NOT_AVAILABLE, -1)
    assert answer.earliest == 0, "the earliest offset is always to be had"
    assert (bench.list_offsets(since_ms=11).error, bench.list_offsets(since_ms=11).found) == (errors.NONE, 1)
    for hidden in (20, 100):
        answer = bench.list_offsets(since_ms=hidden)
        assert (answer.error, answer.found) == (errors.OFFSET_NOT_AVAILABLE, -1), "it may be that another leader had committed one"
    answer = bench.list_offsets()
    assert bench.list_offsets(replica=2) == answer._replace(correlation=bench._correlation, error=errors.NONE, latest=5)


def test_hw_03_available_again_once_the_high_watermark_reaches_the_epoch(bench: BrokerBench) -> None:
    led_with_two_followers(bench)
    bench.partition_is((1, 2, 3), (1, 2, 3), leader=3, leader_epoch=9, partition_epoch=4)
    bench.partition_is((1, 2, 3), (1, 2, 3), leader_epoch=10, partition_epoch=5)
    bench.fetch(2, 5)
    assert (bench.log.high_watermark, bench.list_offsets().error) == (2, errors.OFFSET_NOT_AVAILABLE)
    bench.fetch(3, 4)
    assert (bench.log.high_watermark, bench.list_offsets().error) == (4, errors.OFFSET_NOT_AVAILABLE)
    bench.fetch(3, 5)
    assert bench.log.high_watermark == 5
    answer = bench.list_offsets()
    assert (answer.error, answer.earliest, answer.latest) == (errors.NONE, 0, 5)
    assert bench.list_offsets().latest == 5
    answer = bench.list_offsets(since_ms=100)
    assert (answer.error, answer.found) == (errors.NONE, -1)
    assert bench.list_offsets(since_ms=20).found == 2


def test_hw_04_follower_within_the_first_batch(bench: BrokerBench) -> None:
    bench.partition_is((1, 2, 3), (1, 3))
    bench.produce(2)
    bench.produce(3)
    bench.fetch(3, 0)
    bench.fetch(3, 1)
    assert bench.log.high_watermark == 1


@pytest.mark.parametrize(("release", "joins_at"), [("1.1", 1), ("2.0", 5), ("4.1", 5)], ids=["HW-04-1.1", "HW-04-2.0", "HW-04-4.1"])
def test_hw_04_a_follower_joins_at_the_start_of_the_leaders_epoch(release: str, joins_at: int) -> None:
    """The whole of testFollowerDoesNotJoinISRUntilCaughtUpToOffsetWithinCurrentLeaderEpoch (KAFKA-7128, since 2.0)."""
    bench = BrokerBench(RELEASES[release])
    bench.partition_is((1, 2, 3), (1, 3), leader_epoch=8)
    bench.produce(2)
    bench.produce(3)
    bench.fetch(3, 0)
    bench.fetch(3, 1)
    assert bench.log.high_watermark == 1
    bench.partition_is((1, 2, 3), (1, 3), leader=3, leader_epoch=9, partition_epoch=2)
    bench.partition_is((1, 2, 3), (1, 3), leader_epoch=10, partition_epoch=3)
    proposed = []
    for offset in (0, 1, 4, 5):
        bench.fetch(2, offset)
        proposed += [offset for request in bench.sent(AlterPartitionRequest) if request.items[0].isr == (1, 3, 2)]
    assert proposed == [joins_at]


def test_hw_07_isr_07_a_shrink_moves_it_only_when_committed(bench: BrokerBench) -> None:
    bench.partition_is((1, 2, 3), (1, 2, 3))
    bench.produce(10)
    bench.wait(1)
    bench.fetch(2, 10)
    bench.broker.check_isr()
    assert bench.partition().pending == "", "nobody is late yet"
    bench.wait(30_001)
    bench.broker.check_isr()
    request = bench.proposal()
    (item,) = request.items
    assert item.isr == (1, 2)
    assert item.broker_epochs == (bench.epochs[1], bench.epochs[2])
    assert bench.partition().isr == bench.partition().maximal_isr == (1, 2, 3)
    assert bench.log.high_watermark == 0
    bench.decide(request)
    assert bench.partition().isr == bench.partition().maximal_isr == (1, 2)
    assert bench.log.high_watermark == 10
    assert (bench.account.shrinks, bench.account.expands) == ({1: 1}, {})


def test_hw_08_a_shrink_that_fails_is_sent_again(bench: BrokerBench) -> None:
    bench.partition_is((1, 2), (1, 2))
    bench.produce(10)
    bench.wait(30_001)
    bench.broker.check_isr()
    first = bench.proposal()
    bench.decide(first, errors.NETWORK_EXCEPTION)
    assert (bench.partition().isr, bench.partition().partition_epoch, bench.log.high_watermark) == ((1, 2), 1, 0)
    assert bench.told(events.IsrChangeFailed) == [(1, "t", 0, (1,), errors.NETWORK_EXCEPTION)]
    again = bench.proposal()
    assert again.items == first.items
    bench.decide(again)
    assert (bench.partition().isr, bench.partition().partition_epoch, bench.log.high_watermark) == ((1,), 2, 10)
    assert bench.account.shrinks == {1: 1}


def test_hw_09_follows_the_slowest_member(bench: BrokerBench) -> None:
    bench.partition_is((1, 2), (1, 2))
    bench.produce(5)
    bench.produce(5)
    bench.fetch(2, 5)
    assert bench.log.high_watermark == 5
    bench.produce(5)
    bench.wait(500)
    bench.fetch(2, 10)
    assert (bench.log.leo, bench.log.high_watermark) == (15, 10)


def test_hw_11_starts_from_the_checkpoint() -> None:
    bench = BrokerBench(log=log_of((0, 0), leo=6))
    bench.broker.disk.high_watermarks[TP] = 4
    bench.broker.stop("killed")
    bench.broker.start(0, 0, 0)
    bench.run(1)
    assert bench.one_sent(BrokerRegistrationRequest).clean is False
    bench.broker.handle(BrokerRegistrationResponse(errors.NONE, bench.register(1, tell=False)), CONTROLLER)
    bench.partition_is((1, 2), (1, 2), leader=2)
    assert (bench.log.leo, bench.log.high_watermark) == (6, 4)


def test_hw_15_con_05_consumers_see_nothing_between_high_watermark_and_leo(bench: BrokerBench) -> None:
    bench.partition_is((1, 2, 3), (1, 2, 3))
    bench.produce(2)
    part = bench.fetch(2, 1)
    assert (part.error, [(run.start, run.end) for run in part.records]) == (errors.NONE, [(1, 2)])
    assert bench.log.high_watermark == 0
    assert bench.consume(1) is None, "no error and no records: nothing to say"
    assert bench.consume(2) is None
    beyond = bench.consume(3)
    assert beyond is not None
    assert beyond.error == errors.OFFSET_OUT_OF_RANGE


def test_con_06_fetch_is_bounded_by_the_readers_isolation(bench: BrokerBench) -> None:
    bench.partition_is((1, 2), (1, 2))
    bench.produce(3)
    bench.fetch(2, 1)
    read = bench.consume(0)
    assert read is not None
    assert [(run.start, run.end) for run in read.records] == [(0, 1)]
    assert [(run.start, run.end) for run in bench.fetch(2, 0).records] == [(0, 3)]
    assert bench.consume(1) is None, "a fetch at the bound is empty"


def test_epf_06_latest_offset_by_isolation(bench: BrokerBench) -> None:
    bench.partition_is((1, 2), (1, 2))
    bench.produce(3)
    assert (bench.list_offsets(replica=2).latest, bench.list_offsets().latest) == (3, 0)
    bench.fetch(2, 1)
    assert (bench.list_offsets(replica=2).latest, bench.list_offsets().latest) == (3, 1)


# What the rules say beside the vectors (semantics 1.1, 1.8): who counts, by release, and the answer's snapshot


def test_answer_carries_the_high_watermark_of_before_the_fetch(bench: BrokerBench) -> None:
    bench.partition_is((1, 2), (1, 2))
    bench.produce(4)
    assert bench.fetch(2, 4).high_watermark == 0
    assert bench.log.high_watermark == 4
    assert bench.fetch(2, 4).high_watermark == 4


@pytest.mark.parametrize(("release", "high_watermark"), [("0.9", 10), ("0.10.2", 5), ("3.6", 5), ("4.1", 5)])
def test_a_caught_up_replica_outside_the_isr_holds_it_back_since_0_10_2(release: str, high_watermark: int) -> None:
    bench = BrokerBench(RELEASES[release])
    bench.partition_is((1, 2, 3), (1, 2))
    bench.produce(5)
    bench.fetch(2, 5)
    bench.fetch(3, 5)
    # new metadata undo the proposal to take f2 in, so it stays outside while it is caught up
    bench.partition_is((1, 2, 3), (1, 2), partition_epoch=2)
    bench.produce(5)
    bench.fetch(2, 10)
    assert bench.log.high_watermark == high_watermark


@pytest.mark.parametrize(("release", "high_watermark"), [("3.3", 5), ("3.6", 10)])
def test_a_fenced_replica_outside_the_isr_holds_it_back_only_before_3_6(release: str, high_watermark: int) -> None:
    bench = BrokerBench(RELEASES[release])
    bench.partition_is((1, 2, 3), (1, 2))
    bench.register(3, fenced=True, anew=False)
    bench.produce(5)
    bench.fetch(2, 5)
    bench.fetch(3, 5)
    bench.produce(5)
    bench.fetch(2, 10)
    assert bench.log.high_watermark == high_watermark


@pytest.mark.parametrize(("release", "high_watermark"), [("3.6", 10), ("3.7", 0)])
def test_below_min_isr_it_stands_still_since_3_7(release: str, high_watermark: int) -> None:
    bench = BrokerBench(RELEASES[release], settings={"min.insync.replicas": 2})
    bench.partition_is((1, 2, 3), (1,))
    answer = bench.produce(10)
    assert answer is not None
    assert (answer.error, bench.log.high_watermark) == (errors.NONE, high_watermark)
    assert (bench.consume(0) is None) == (high_watermark == 0)


def test_min_isr_is_capped_by_the_replication_factor() -> None:
    bench = BrokerBench(settings={"min.insync.replicas": 3})
    bench.partition_is((1,), (1,))
    answer = bench.produce(2, acks=-1)
    assert answer is not None
    assert (answer.error, bench.log.high_watermark) == (errors.NONE, 2)


def test_a_waiting_fetch_does_not_return_for_the_high_watermark_alone(bench: BrokerBench) -> None:
    bench.partition_is((1, 2, 3), (1, 2, 3))
    bench.produce(3)
    for follower in (2, 3):
        bench.fetch(follower, 0)
    bench.fetch(2, 3)
    request = bench.fetch_request(2, 3, max_wait_ms=500)
    bench.broker.handle(request, "b2")
    bench.fetch(3, 3)
    assert bench.log.high_watermark == 3
    assert bench.answered(2) is None
    bench.run(500)
    late = bench.answered(2)
    assert late is not None
    assert [(part.high_watermark, part.records) for part in late.parts()] == [(3, ())]
