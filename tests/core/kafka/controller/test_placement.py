"""Replica placement, by Kafka's own vectors: PLC (StripedReplicaPlacerTest, AdminRackAwareTest)."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.kafka.controller.placement import (
    Assignment,
    BrokerList,
    RackList,
    StripedReplicaPlacer,
    UsableBroker,
    assign_replicas_to_brokers,
    rack_alternated_brokers,
)
from core.kafka.errors import INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR, KafkaError


class MockRandom:
    """The random number generator of Kafka's tests: a 64-bit LCG, with the arithmetic of java.util.Random and Collections.shuffle."""

    def __init__(self) -> None:
        self._state = 17

    def _next(self, bits: int) -> int:
        self._state = (self._state * 2862933555777941757 + 3037000493) % 2**64
        return self._state >> (64 - bits)

    def randrange(self, stop: int, /) -> int:
        drawn = self._next(31)
        if stop & (stop - 1) == 0:
            return (stop * drawn) >> 31
        while drawn - drawn % stop + stop - 1 >= 2**31:
            drawn = self._next(31)
        return drawn % stop

    def shuffle(self, x: list[Any], /) -> None:
        for size in range(len(x), 1, -1):
            other = self.randrange(size)
            x[size - 1], x[other] = x[other], x[size - 1]


def up(*brokers: int, rack: str | None = None) -> list[UsableBroker]:
    return [UsableBroker(broker, rack) for broker in brokers]


def fenced(*brokers: int, rack: str | None = None) -> list[UsableBroker]:
    return [UsableBroker(broker, rack, fenced=True) for broker in brokers]


def test_plc_01_broker_list() -> None:
    brokers = BrokerList([0, 1, 2, 3])
    assert [brokers.next(0) for _ in range(6)] == [0, 1, 2, 3, None, None]
    assert [brokers.next(1) for _ in range(5)] == [1, 2, 3, 0, None]
    assert BrokerList().next(1) is None


def test_plc_01_a_fenced_broker_comes_last() -> None:
    racks = RackList(MockRandom(), [*up(3), *fenced(1), *up(2)])
    assert (racks.total_brokers, racks.unfenced_brokers, racks.rack_names) == (3, 2, [None])
    assert [racks.place(3) for _ in range(4)] == [(3, 2, 1), (2, 3, 1), (3, 2, 1), (2, 3, 1)]


def test_plc_01_many_partitions_on_a_single_unfenced_broker() -> None:
    assert StripedReplicaPlacer(MockRandom()).place(3, 1, [*up(0), *fenced(1)]) == ((0,), (0,), (0,))


def test_plc_02_fenced_brokers_are_avoided_on_a_single_rack() -> None:
    racks = RackList(MockRandom(), [*up(3), *fenced(1), *up(0, 4, 2)])
    assert (racks.total_brokers, racks.unfenced_brokers) == (5, 4)
    placed = [racks.place(4) for _ in range(5)]
    assert placed == [(3, 4, 0, 2), (4, 0, 2, 3), (0, 2, 3, 4), (2, 3, 4, 0), (0, 4, 3, 2)]


def test_several_racks() -> None:
    racks = RackList(MockRandom(), [*up(11, 10, rack="1"), *up(30, 31, rack="3"), *up(21, rack="2"), *fenced(20, rack="2")])
    assert (racks.total_brokers, racks.unfenced_brokers, racks.rack_names) == (6, 5, ["1", "2", "3"])
    assert [racks.place(4) for _ in range(3)] == [(11, 21, 31, 10), (21, 30, 10, 20), (31, 11, 21, 30)]


def test_the_order_of_racks_is_drawn_anew_when_every_broker_has_led() -> None:
    class Reversing(MockRandom):
        def randrange(self, stop: int, /) -> int:
            return 0

        def shuffle(self, x: list[Any], /) -> None:
            x.reverse()

    racks = RackList(Reversing(), [*up(10, rack="1"), *up(20, rack="2")])
    assert [racks.place(1) for _ in range(6)] == [(10,), (20,), (20,), (10,), (10,), (20,)]


def test_plc_04_racks_of_fenced_brokers_get_no_leader() -> None:
    racks = RackList(
        MockRandom(),
        [*up(11, 10, rack="1"), *fenced(30, 31, rack="3"), *fenced(20, 21, rack="2"), *up(41, rack="4"), *fenced(40, rack="4")],
    )
    assert (racks.total_brokers, racks.unfenced_brokers, racks.rack_names) == (8, 3, ["1", "2", "3", "4"])
    assert [racks.place(4) for _ in range(3)] == [(41, 11, 21, 30), (10, 20, 31, 41), (41, 21, 30, 11)]


def test_successful_placement() -> None:
    placed = StripedReplicaPlacer(MockRandom()).place(5, 3, up(0, 3, 2, 1))
    assert placed == ((2, 3, 0), (3, 0, 1), (0, 1, 2), (1, 2, 3), (1, 0, 2))


def test_plc_06_even_distribution() -> None:
    placed = StripedReplicaPlacer(MockRandom()).place(200, 2, up(0, 1, 2, 3))
    pairs = Counter("".join(map(str, replicas)) for replicas in placed)
    expected = "01:14 02:22 03:14 10:17 12:17 13:16 20:13 21:17 23:20 30:20 31:19 32:11"
    assert pairs == {pair: int(count) for pair, count in (part.split(":") for part in expected.split())}
    assert Counter(replicas[0] for replicas in placed) == dict.fromkeys(range(4), 50)


@pytest.mark.parametrize(
    ("replication_factor", "brokers", "message"),
    [
        pytest.param(0, up(10, 11), "Invalid replication factor 0: the replication factor must be positive.", id="PLC-07-zero"),
        pytest.param(-1, up(10, 11), "Invalid replication factor -1: the replication factor must be positive.", id="PLC-07-negative"),
        pytest.param(1, fenced(10, 11), "All brokers are currently fenced.", id="PLC-07-fenced"),
        pytest.param(1, [], "All brokers are currently fenced.", id="PLC-07-none"),
        pytest.param(
            3,
            up(10, 11),
            "The target replication factor of 3 cannot be reached because only 2 broker(s) are registered.",
            id="PLC-07-few",
        ),
    ],
)
def test_plc_07_refusals(replication_factor: int, brokers: list[UsableBroker], message: str) -> None:
    with pytest.raises(KafkaError) as refused:
        StripedReplicaPlacer(MockRandom()).place(1, replication_factor, brokers)
    assert (refused.value.code, refused.value.message) == (INVALID_REPLICATION_FACTOR, message)
    if brokers:
        with pytest.raises(KafkaError) as refused:
            RackList(MockRandom(), brokers).place(replication_factor)
        assert refused.value.message == message


def test_plc_08_assignment_without_racks() -> None:
    placed = assign_replicas_to_brokers(up(4, 3, 2, 1, 0), 10, 3, MockRandom(), fixed_start_index=0)
    assert placed == (
        (0, 1, 2),
        (1, 2, 3),
        (2, 3, 4),
        (3, 4, 0),
        (4, 0, 1),
        (0, 2, 3),
        (1, 3, 4),
        (2, 4, 0),
        (3, 0, 1),
        (4, 1, 2),
    )
    added = assign_replicas_to_brokers(up(0, 1, 2, 3, 4), 2, 3, MockRandom(), fixed_start_index=0, start_partition=3)
    assert added == placed[3:5]


@pytest.mark.parametrize(
    ("partitions", "replication_factor", "code"),
    [(1, 0, INVALID_REPLICATION_FACTOR), (1, 6, INVALID_REPLICATION_FACTOR), (0, 1, INVALID_PARTITIONS)],
)
def test_plc_08_refusals(partitions: int, replication_factor: int, code: str) -> None:
    with pytest.raises(KafkaError) as refused:
        assign_replicas_to_brokers(up(0, 1, 2, 3, 4), partitions, replication_factor, MockRandom(), fixed_start_index=0)
    assert refused.value.code == code


RACKS: dict[int, str | None] = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}


def in_racks() -> list[UsableBroker]:
    return [UsableBroker(broker, rack) for broker, rack in RACKS.items()]


def test_rack_aware_assignment_as_the_documentation_of_admin_utils_shows_it() -> None:
    assert rack_alternated_brokers(RACKS) == (0, 3, 1, 5, 4, 2)
    placed = assign_replicas_to_brokers(in_racks(), 7, 3, MockRandom(), fixed_start_index=0)
    assert placed == ((0, 3, 1), (3, 1, 5), (1, 5, 4), (5, 4, 2), (4, 2, 0), (2, 0, 3), (0, 4, 2))


def test_rack_aware_assignment_needs_all_racks() -> None:
    with pytest.raises(KafkaError, match="Not all brokers have rack information"):
        assign_replicas_to_brokers([*in_racks(), UsableBroker(6)], 1, 1, MockRandom())


def racks_used(replicas: Assignment, rack_of: dict[int, str | None]) -> int:
    return len({rack_of[replica] for replica in replicas})


@given(seed=st.integers(0, 1000), brokers=st.integers(1, 12), racks=st.integers(1, 4), factor=st.integers(1, 6), zookeeper=st.booleans())
def test_any_seed_gives_distinct_replicas_spread_over_racks(seed: int, brokers: int, racks: int, factor: int, zookeeper: bool) -> None:
    usable = [UsableBroker(broker, f"r{broker % racks}") for broker in range(brokers)]
    rack_of = {each.broker: each.rack for each in usable}
    factor, racks = min(factor, brokers), len(set(rack_of.values()))
    source = random.Random(f"{seed}:placement")
    if zookeeper:
        placed = assign_replicas_to_brokers(usable, 20, factor, source)
    else:
        placed = StripedReplicaPlacer(source).place(20, factor, usable)
    for replicas in placed:
        assert len(set(replicas)) == factor
        assert racks_used(replicas, rack_of) == min(factor, racks)
    again = random.Random(f"{seed}:placement")
    same = assign_replicas_to_brokers(usable, 20, factor, again) if zookeeper else StripedReplicaPlacer(again).place(20, factor, usable)
    assert same == placed


@given(seed=st.integers(0, 1000), down=st.sets(st.integers(0, 8), max_size=8), rounds=st.integers(1, 4))
def test_any_seed_spreads_leaders_evenly_over_unfenced_brokers(seed: int, down: set[int], rounds: int) -> None:
    usable = [UsableBroker(broker, fenced=broker in down) for broker in range(9)]
    live = [broker for broker in range(9) if broker not in down]
    placed = StripedReplicaPlacer(random.Random(f"{seed}:placement")).place(rounds * len(live), 3, usable)
    assert Counter(replicas[0] for replicas in placed) == dict.fromkeys(live, rounds)
    for replicas in placed:
        assert sum(replica in down for replica in replicas) == max(0, 3 - len(live))
