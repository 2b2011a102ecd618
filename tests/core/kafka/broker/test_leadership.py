"""Becoming leader and follower against Kafka's own vectors: ISR-23..27, EPF-05, FOL-25 (PartitionTest, ReplicaManagerTest)."""

from __future__ import annotations

import pytest

from core.kafka import errors
from core.kafka.broker.leadership import make_follower, make_leader, mark_offline
from core.kafka.broker.replica import NEVER
from core.kafka.ids import broker_address
from core.kafka.messages import FetchRequest
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.release import RELEASES
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


def follower_1_has_4_and_follower_2_has_2(bench: BrokerBench) -> None:
    bench.partition_is((0, 1, 2), (0, 1, 2))
    bench.produce(4)
    bench.fetch(1, 4)
    bench.fetch(2, 2)
    assert bench.log.high_watermark == 2
    bench.wait(500)


def test_a_leader_that_is_elected_again_keeps_what_its_followers_have(bench: BrokerBench) -> None:
    """`Partition#makeLeader`, `Replica#resetReplicaState` (`isNewLeader` is false): the follower that held back the high watermark is no
    longer in the ISR, so the offset that the other one fetched before the new epoch becomes the high watermark at once.
    """
    follower_1_has_4_and_follower_2_has_2(bench)
    epoch = bench.remote(1).broker_epoch
    bench.partition_is((0, 1, 2), (0, 1), leader_epoch=6, partition_epoch=2)
    assert bench.log.high_watermark == 4
    assert (bench.remote(1).leo, bench.remote(1).broker_epoch, bench.remote(1).last_fetch_leader_leo) == (4, epoch, 4)
    assert bench.remote(1).caught_up_time() == bench.remote(1).last_fetch_time == 500_000
    assert (bench.remote(2).leo, bench.remote(2).caught_up_time(), bench.remote(2).last_fetch_time) == (2, NEVER, NEVER)


def test_a_leader_that_was_a_follower_in_between_knows_nothing_of_its_followers(bench: BrokerBench) -> None:
    """`Partition#makeLeader`, `Replica#resetReplicaState` (`isNewLeader` is true): the high watermark rises when they have fetched."""
    follower_1_has_4_and_follower_2_has_2(bench)
    bench.partition_is((0, 1, 2), (0, 1, 2), leader=1, leader_epoch=6, partition_epoch=2)
    bench.partition_is((0, 1, 2), (0, 1), leader_epoch=7, partition_epoch=3)
    assert bench.log.high_watermark == 2
    for follower, caught_up in ((1, 500_000), (2, NEVER)):
        remote = bench.remote(follower)
        assert (remote.leo, remote.broker_epoch, remote.last_fetch_leader_leo, remote.last_fetch_time) == (-1, -1, -1, NEVER)
        assert remote.caught_up_time() == caught_up, "a follower in the ISR counts as caught up at the start of the epoch"
    bench.fetch(1, 4)
    assert bench.log.high_watermark == 4


def test_a_replica_that_a_reassignment_adds_in_a_new_epoch_has_not_fetched(bench: BrokerBench) -> None:
    """`Partition#updateAssignmentAndIsr`: it does not hold back the high watermark before it is in the ISR."""
    follower_1_has_4_and_follower_2_has_2(bench)
    bench.partition_is((0, 1, 3), (0, 1), leader_epoch=6, partition_epoch=2)
    assert remotes(bench) == [1, 3]
    assert bench.log.high_watermark == 4
    assert (bench.remote(3).leo, bench.remote(3).caught_up_time(), bench.remote(3).last_fetch_time) == (-1, NEVER, NEVER)


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


@pytest.mark.parametrize(("release", "answered"), [("4.3", True), ("2.1", True), ("2.0", False), ("1.1", False)])
def test_a_new_epoch_of_the_same_leader_answers_waiting_fetches_if_they_carry_the_epoch(release: str, answered: bool) -> None:
    """`DelayedFetch#tryComplete`: since KIP-320, the leader epoch in the fetch is too old. Before, the fetch goes on waiting."""
    bench = BrokerBench(RELEASES[release])
    bench.partition_is((1, 2), (1, 2))
    bench.broker.handle(bench.fetch_request(2, 0, max_wait_ms=500), broker_address(2))
    bench.partition_is((1, 2), (1, 2), leader_epoch=6, partition_epoch=2)
    answer = bench.answered(2)
    assert (answer is not None) is answered
    if answer is not None:
        assert [part.error for part in answer.parts()] == [errors.FENCED_LEADER_EPOCH]


@pytest.mark.parametrize(("release", "answered"), [("2.1", False), ("2.4", False), ("2.7", True)])
def test_before_2_5_a_waiting_fetch_of_a_session_carries_no_epoch(release: str, answered: bool) -> None:
    """`CachedPartition#reqData` at 2.1.1 and 2.4.1 (KAFKA-9338): only the fetch that begins a session is fenced."""
    bench = BrokerBench(RELEASES[release])
    bench.partition_is((1, 2), (1, 2))
    bench.broker.handle(bench.fetch_request(2, 0), broker_address(2))
    assert bench.answered(2) is not None
    bench.broker.handle(bench.fetch_request(2, 0, max_wait_ms=500)._replace(full=False, changed=()), broker_address(2))
    bench.partition_is((1, 2), (1, 2), leader_epoch=6, partition_epoch=2)
    assert (bench.answered(2) is not None) is answered


def test_a_consumer_that_waits_at_a_follower_is_answered_when_the_follower_becomes_the_leader() -> None:
    """`Partition#makeLeader`, `DelayedFetch#tryComplete`: whatever waited at the former role is read anew."""
    bench = BrokerBench(me=2)
    bench.partition_is((1, 2), (1, 2), leader=1)
    assert bench.ask(0, "", max_wait_ms=500, leader_epoch=5) is None
    bench.partition_is((1, 2), (2,), leader_epoch=6, partition_epoch=2)
    answer = bench.told_consumer()
    assert answer is not None
    assert [part.error for part in answer.partitions] == [errors.FENCED_LEADER_EPOCH]


def test_a_failed_directory_answers_what_waits() -> None:
    """`Partition#markOffline`, `DelayedProduce#tryComplete`: the producer learns of KAFKA_STORAGE_ERROR at once."""
    bench = BrokerBench()
    bench.partition_is((1, 2), (1, 2))
    assert bench.produce(1, acks=-1) is None
    mark_offline(bench.partition())
    answer = bench.produced()
    assert answer is not None
    assert answer.error == errors.KAFKA_STORAGE_ERROR
    assert not bench.partition().is_leader
