"""Becoming leader and follower against Kafka's own vectors: ISR-23..27, EPF-05, FOL-25 (PartitionTest, ReplicaManagerTest)."""

from __future__ import annotations

import pytest

from core.kafka.broker.leadership import make_follower, make_leader
from core.kafka.messages import FetchRequest
from core.kafka.partition_registration import PartitionRegistration
from tests.core.node_bench import TP, BrokerBench, log_of


@pytest.fixture
def bench() -> BrokerBench:
    return BrokerBench(me=0, brokers=(0, 1, 2, 3, 4, 5))


def remotes(bench: BrokerBench) -> list[int]:
    return sorted(replica.broker for replica in bench.partition().remotes)


def test_isr_23_remote_replicas_follow_the_assignment(bench: BrokerBench) -> None:
    bench.partition_is((0, 1, 2, 3), (0, 1, 2, 3))
    assert remotes(bench) == [1, 2, 3]
    bench.partition_is((0, 3, 4, 5), (0, 3, 4, 5), partition_epoch=2)
    assert (remotes(bench), bench.partition().isr) == ([3, 4, 5], (0, 3, 4, 5))
    bench.partition_is((1, 2, 3, 4, 0), (1, 2, 3, 4), leader=1, leader_epoch=6, partition_epoch=3)
    assert (remotes(bench), bench.partition().isr) == ([], ())


def test_isr_24_state_of_followers_is_kept_within_a_leader_epoch(bench: BrokerBench) -> None:
    bench.partition_is((0, 1), (0, 1), leader_epoch=8)
    bench.produce(4)
    bench.wait(500)
    bench.fetch(1, 4)
    before = (bench.remote(1).leo, bench.remote(1).caught_up_time())
    bench.wait(500)
    bench.partition_is((0, 1), (0, 1), leader_epoch=8, partition_epoch=2)
    assert (bench.remote(1).leo, bench.remote(1).caught_up_time()) == before == (4, 500_000)


def test_isr_24_epoch_start_stays_within_a_leader_epoch(bench: BrokerBench) -> None:
    bench.partition_is((0, 1), (0, 1), leader_epoch=8)
    assert (bench.partition().leader_epoch_start_offset, bench.log.epochs.entries()) == (0, ((8, 0),))
    bench.produce(2)
    assert make_leader(bench.partition(), PartitionRegistration((0, 1), (0, 1), 0, 8, 2)) is False
    assert (bench.partition().leader_epoch_start_offset, bench.log.epochs.entries()) == (0, ((8, 0),))


@pytest.mark.parametrize("leader", [0, 1], ids=["ISR-25-leader", "ISR-25-follower"])
def test_isr_25_older_partition_epochs_are_ignored(bench: BrokerBench, leader: int) -> None:
    bench.partition_is((0, 1, 2), (0, 1, 2), leader=leader, partition_epoch=5)
    partition = bench.partition()
    change = make_leader if leader == 0 else make_follower
    before = (partition.isr, partition.partition_epoch, partition.leader_epoch)
    assert change(partition, PartitionRegistration((0, 1, 2), (0, 1), leader, 6, 4)) is False
    assert (partition.isr, partition.partition_epoch, partition.leader_epoch) == before
    assert change(partition, PartitionRegistration((0, 1, 2), (0, 1), leader, 6, 5)) is True, "an equal one is taken"
    assert partition.isr == ((0, 1) if leader == 0 else ())


def test_isr_26_a_follower_has_no_remote_replicas(bench: BrokerBench) -> None:
    bench.partition_is((0, 1, 2), (0, 1, 2))
    assert remotes(bench) == [1, 2]
    bench.partition_is((0, 1, 2), (0, 1, 2), leader=1, leader_epoch=6, partition_epoch=2)
    assert remotes(bench) == []


def test_isr_27_make_follower_tells_whether_a_leader_epoch_began(bench: BrokerBench) -> None:
    bench.partition_is((0, 1), (0, 1), leader=1, leader_epoch=1)
    partition = bench.partition()
    assert make_follower(partition, PartitionRegistration((0, 1), (0, 1), 1, 4, 2)) is True
    assert make_follower(partition, PartitionRegistration((0, 1), (0, 1), 1, 4, 2)) is False


def test_epf_05_a_new_leader_notes_its_epoch_even_without_data() -> None:
    bench = BrokerBench(log=log_of((0, 0), leo=4))
    bench.partition_is((1, 2), (1, 2), leader_epoch=8)
    assert bench.log.end_offset_for_epoch(8) == (8, 4)
    assert bench.log.epochs.entries() == ((0, 0), (8, 4))
    assert bench.partition().leader_epoch_start_offset == 4


def test_fol_25_only_a_new_leader_epoch_restarts_the_fetcher() -> None:
    bench = BrokerBench(log=log_of((0, 0), leo=4))
    bench.partition_is((2, 1), (2, 1), leader=2, leader_epoch=1)
    first = bench.one_sent(FetchRequest, "b2")
    assert [(part.offset, part.leader_epoch) for part in first.changed] == [(4, 1)]
    (fetcher,) = bench.broker.fetcher_manager.fetchers.values()
    state = fetcher.states[TP]
    bench.partition_is((2, 1), (2,), leader=2, leader_epoch=1, partition_epoch=2)
    assert fetcher.states[TP] is state
    assert bench.sent(FetchRequest) == []
    bench.partition_is((2, 1), (2,), leader=2, leader_epoch=2, partition_epoch=3)
    assert fetcher.states[TP] is not state
    assert fetcher.states[TP].leader_epoch == 2
    bench.partition_is((2, 1, 3), (3,), leader=3, leader_epoch=3, partition_epoch=4)
    moved = bench.one_sent(FetchRequest, "b3")
    assert [(part.offset, part.leader_epoch) for part in moved.changed] == [(4, 3)]
