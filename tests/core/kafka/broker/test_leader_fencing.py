"""Which requests a leader answers, and where it tells followers that logs diverge, by Kafka's own vectors: EPF, DIV, ISR-28 (PartitionTest,
ReplicaManagerTest).
"""

from __future__ import annotations

import pytest

from core.kafka import errors
from core.kafka.messages import MetadataRequest, MetadataResponse, OffsetsForLeaderEpochRequest, OffsetsForLeaderEpochResponse
from core.kafka.release import RELEASES
from tests.core.node_bench import TP, BrokerBench, log_of


@pytest.fixture
def bench() -> BrokerBench:
    bench = BrokerBench()
    bench.partition_is((1, 2), (1, 2), leader_epoch=5)
    bench.produce(4)
    return bench


EPOCHS = [
    pytest.param(-1, errors.NONE, id="EPF-01-none"),
    pytest.param(5, errors.NONE, id="EPF-01-current"),
    pytest.param(4, errors.FENCED_LEADER_EPOCH, id="EPF-01-older"),
    pytest.param(6, errors.UNKNOWN_LEADER_EPOCH, id="EPF-01-newer"),
]


@pytest.mark.parametrize(("epoch", "error"), EPOCHS)
def test_epf_01_every_read_is_fenced_by_the_leader_epoch(bench: BrokerBench, epoch: int, error: str) -> None:
    assert bench.fetch(2, 0, leader_epoch=epoch).error == error
    part = bench.consume(9, leader_epoch=epoch)
    assert part is not None
    assert part.error == (error if error != errors.NONE else errors.OFFSET_OUT_OF_RANGE)
    assert bench.list_offsets(leader_epoch=epoch).error == error
    assert bench.list_offsets(2, leader_epoch=epoch).error == error
    bench.broker.handle(OffsetsForLeaderEpochRequest(1, 2, 0, ((TP, epoch, 5),)), "b2")
    ((_, answered, *_),) = bench.one_sent(OffsetsForLeaderEpochResponse).partitions
    assert answered == error


@pytest.mark.parametrize(
    ("epoch", "error"),
    [
        (-1, errors.NOT_LEADER_OR_FOLLOWER),
        (5, errors.NOT_LEADER_OR_FOLLOWER),
        (4, errors.FENCED_LEADER_EPOCH),
        (6, errors.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_epf_01_a_follower_fences_first_and_then_says_that_it_does_not_lead(epoch: int, error: str) -> None:
    bench = BrokerBench()
    bench.partition_is((2, 1, 3), (2, 1, 3), leader=2, leader_epoch=5)
    assert bench.fetch(3, 0, leader_epoch=epoch).error == error
    part = bench.consume(0, leader_epoch=epoch)
    assert part is not None
    assert part.error == error


@pytest.mark.parametrize(
    ("epoch", "error"),
    [
        pytest.param(5, errors.UNKNOWN_LEADER_EPOCH, id="EPF-03-with-epoch"),
        pytest.param(-1, errors.NOT_LEADER_OR_FOLLOWER, id="EPF-03-without"),
    ],
)
def test_epf_03_fetch_of_a_broker_without_a_replica(bench: BrokerBench, epoch: int, error: str) -> None:
    assert bench.fetch(3, 0, leader_epoch=epoch).error == error


def test_epf_04_stale_broker_epoch(bench: BrokerBench) -> None:
    assert bench.fetch(2, 2).error == errors.NONE
    old = bench.epochs[2]
    bench.register(2)
    assert bench.fetch(2, 2).error == errors.NONE
    part = bench.fetch(2, 4, broker_epoch=old)
    assert (part.error, part.records, bench.remote(2).leo) == (errors.NOT_LEADER_OR_FOLLOWER, (), 2)


# Diverging logs


@pytest.fixture
def history() -> BrokerBench:
    """Build a leader in leader epoch 10 with the epochs {0@0, 3@2, 4@8, 7@13, 9@14, 10@17} and LEO 17."""
    bench = BrokerBench(log=log_of((0, 0), (3, 2), (4, 8), (7, 13), (9, 14), leo=17))
    bench.partition_is((1, 2), (1, 2), leader_epoch=10)
    assert bench.log.epochs.entries() == ((0, 0), (3, 2), (4, 8), (7, 13), (9, 14), (10, 17))
    return bench


@pytest.mark.parametrize(
    ("last_epoch", "offset", "diverging"),
    [
        pytest.param(2, 5, (0, 2), id="DIV-01"),
        pytest.param(0, 4, (0, 2), id="DIV-02"),
        pytest.param(6, 6, (4, 13), id="DIV-03"),
        pytest.param(5, 9, (4, 13), id="DIV-04"),
        pytest.param(10, 18, (10, 17), id="DIV-05"),
        pytest.param(0, 2, (-1, -1), id="DIV-06-0"),
        pytest.param(7, 14, (-1, -1), id="DIV-06-7"),
        pytest.param(9, 17, (-1, -1), id="DIV-06-9"),
        pytest.param(10, 17, (-1, -1), id="DIV-06-10"),
    ],
)
def test_div_01_to_06(history: BrokerBench, last_epoch: int, offset: int, diverging: tuple[int, int]) -> None:
    part = history.fetch(2, offset, last_epoch=last_epoch)
    assert (part.error, (part.diverging_epoch, part.diverging_end)) == (errors.NONE, diverging)
    if diverging == (-1, -1):
        assert sum(run.end - run.start for run in part.records) == 17 - offset
        assert history.remote(2).leo == offset
    else:
        assert (part.records, history.remote(2).leo) == ((), -1)


def test_div_07_an_epoch_the_leader_never_heard_of(history: BrokerBench) -> None:
    part = history.fetch(2, 5, last_epoch=11)
    assert (part.error, part.records, history.remote(2).leo) == (errors.OFFSET_OUT_OF_RANGE, (), -1)


def test_div_before_2_8_a_fetch_tells_no_epoch_and_only_the_range_is_checked() -> None:
    bench = BrokerBench(RELEASES["2.4"], log=log_of((0, 0), (3, 2), leo=17))
    bench.partition_is((1, 2), (1, 2), leader_epoch=10)
    assert bench.fetch(2, 5, last_epoch=2).diverging_epoch == -1
    assert bench.fetch(2, 18, last_epoch=2).error == errors.OFFSET_OUT_OF_RANGE


def test_isr_28_a_fetch_that_fails_or_diverges_changes_nothing_about_the_follower() -> None:
    bench = BrokerBench()
    bench.partition_is((1, 2), (1, 2), leader_epoch=5)
    bench.produce(5)
    bench.fetch(2, 0)
    remote = bench.remote(2)
    assert (remote.leo, remote.log_start) == (0, 0)
    assert bench.fetch(2, 3, leader_epoch=4).error == errors.FENCED_LEADER_EPOCH
    assert remote.leo == 0
    part = bench.fetch(2, 3, leader_epoch=5, last_epoch=4)
    assert (part.error, part.diverging_epoch, part.diverging_end) == (errors.NONE, 4, 0)
    assert remote.leo == 0
    bench.fetch(2, 3, leader_epoch=5, last_epoch=5)
    assert remote.leo == 3


def test_a_broker_tells_clients_who_leads(bench: BrokerBench) -> None:
    bench.broker.handle(MetadataRequest(1, "t"), "client")
    assert bench.one_sent(MetadataResponse).leaders == ((1, 5),)
    bench.broker.handle(MetadataRequest(2, "unknown"), "client")
    assert bench.one_sent(MetadataResponse).leaders == ()
