"""The leader's view of a follower against Kafka's own vectors: REP (ReplicaTest)."""

from __future__ import annotations

import pytest

from core.kafka import errors, events
from core.kafka.broker.replica import NEVER, Replica
from core.kafka.ids import broker_address
from core.kafka.release import RELEASES
from core.sim.units import US_PER_MS
from tests.core.node_bench import BrokerBench

LAG_MAX = 30_000 * US_PER_MS
T1, T2, T3 = (n * 100 * US_PER_MS for n in (1, 2, 3))


def fetched(offset: int, leader_leo: int, now: int, replica: Replica | None = None) -> Replica:
    replica = Replica(2) if replica is None else replica
    replica.update_fetch_state(offset, 0, now, leader_leo, 7)
    return replica


def test_rep_01_initial_state() -> None:
    replica = Replica(2)
    assert (replica.log_start, replica.leo, replica.last_caught_up_time) == (-1, -1, NEVER)
    assert (replica.last_fetch_leader_leo, replica.last_fetch_time, replica.broker_epoch) == (0, NEVER, -1)


def test_rep_02_fetch_behind_the_leader() -> None:
    replica = fetched(5, 10, T1)
    assert (replica.leo, replica.log_start, replica.broker_epoch) == (5, 0, 7)
    assert (replica.last_caught_up_time, replica.last_fetch_leader_leo, replica.last_fetch_time) == (NEVER, 10, T1)


def test_rep_04_caught_up_as_of_the_last_fetch_then_now() -> None:
    replica = fetched(5, 10, T1)
    fetched(10, 15, T2, replica)
    assert (replica.leo, replica.last_caught_up_time) == (10, T1)
    assert (replica.last_fetch_leader_leo, replica.last_fetch_time) == (15, T2)
    fetched(15, 15, T3, replica)
    assert (replica.leo, replica.last_caught_up_time) == (15, T3)


@pytest.mark.parametrize(
    ("new_leader", "in_isr", "leo", "caught_up", "leader_leo", "fetch_time"),
    [
        pytest.param(False, True, 10, T2, 11, T2, id="REP-05-reelected-in-sync"),
        pytest.param(False, False, 10, NEVER, 11, NEVER, id="REP-06-reelected-not-in-sync"),
        pytest.param(True, True, -1, T2, -1, NEVER, id="REP-07-new-leader-in-sync"),
        pytest.param(True, False, -1, NEVER, -1, NEVER, id="REP-08-new-leader-not-in-sync"),
    ],
)
def test_rep_05_to_08_reset(new_leader: bool, in_isr: bool, leo: int, caught_up: int, leader_leo: int, fetch_time: int) -> None:
    replica = fetched(10, 10, T1)
    replica.reset(T2, 11, new_leader=new_leader, in_isr=in_isr)
    assert (replica.leo, replica.log_start) == (leo, -1 if new_leader else 0)
    assert (replica.last_caught_up_time, replica.last_fetch_leader_leo, replica.last_fetch_time) == (caught_up, leader_leo, fetch_time)
    assert replica.broker_epoch == (-1 if new_leader else 7)


def test_rep_09_at_the_leo_it_stays_caught_up() -> None:
    assert not Replica(2).is_caught_up(10, T1, LAG_MAX)
    replica = fetched(10, 10, T1)
    assert replica.is_caught_up(10, T1, LAG_MAX)
    assert replica.is_caught_up(10, T1 + LAG_MAX + US_PER_MS, LAG_MAX)


def test_rep_10_behind_the_leo_time_decides() -> None:
    replica = fetched(5, 10, T1)
    assert not replica.is_caught_up(10, T1, LAG_MAX)
    fetched(10, 15, T2, replica)
    assert replica.is_caught_up(16, T2, LAG_MAX)
    assert replica.is_caught_up(16, T1 + LAG_MAX, LAG_MAX), "the last moment counts"
    assert not replica.is_caught_up(16, T1 + LAG_MAX + 1, LAG_MAX)
    assert not replica.is_caught_up(16, T2 + LAG_MAX + US_PER_MS, LAG_MAX)


def test_rep_11_stale_broker_epoch_is_fenced_and_leaves_no_trace() -> None:
    bench = BrokerBench()
    bench.partition_is((1, 2), (1, 2))
    bench.produce(10)
    old = bench.epochs[2]
    bench.register(2)
    part = bench.fetch(2, 5, broker_epoch=old)
    assert part.error == errors.NOT_LEADER_OR_FOLLOWER
    remote = bench.remote(2)
    assert (remote.leo, remote.log_start, remote.last_fetch_time, remote.broker_epoch) == (-1, -1, NEVER, -1)
    assert bench.fetch(2, 5, broker_epoch=-1).error == errors.NONE, "a fetch without a broker epoch is always accepted"
    assert remote.leo == 5


def test_rep_11_a_fenced_broker_has_no_epoch_that_could_be_newer() -> None:
    """`KRaftMetadataCache#getAliveBrokerEpoch` leaves out fenced brokers: until the broker is unfenced, fetches of its former process
    count.
    """
    bench = BrokerBench()
    bench.partition_is((1, 2), (1, 2))
    bench.produce(10)
    old = bench.epochs[2]
    bench.register(2, fenced=True)
    assert bench.fetch(2, 5, broker_epoch=old).error == errors.NONE
    bench.register(2, anew=False)
    assert bench.fetch(2, 6, broker_epoch=old).error == errors.NOT_LEADER_OR_FOLLOWER
    assert (bench.remote(2).leo, bench.remote(2).broker_epoch) == (5, old)


def test_rep_11_what_is_read_comes_before_the_stale_broker_epoch() -> None:
    """The follower's state is updated after the read (`Partition#fetchRecords`), so if the read has an error or finds a diverging epoch,
    that is the response.
    """
    bench = BrokerBench()
    bench.partition_is((1, 2), (1, 2))
    bench.produce(10)
    old = bench.epochs[2]
    bench.register(2)
    assert bench.fetch(2, 11, broker_epoch=old).error == errors.OFFSET_OUT_OF_RANGE
    part = bench.fetch(2, 12, last_epoch=5, broker_epoch=old)
    assert (part.error, part.diverging_epoch, part.diverging_end) == (errors.NONE, 5, 10)
    assert bench.remote(2).leo == -1


def test_rep_11_a_waiting_fetch_is_read_anew_but_not_fenced_anew() -> None:
    """`DelayedFetch#onComplete` reads without updating the follower's state, so it does not check the broker epoch."""
    bench = BrokerBench()
    bench.partition_is((1, 2), (1, 2))
    bench.broker.handle(bench.fetch_request(2, 0, max_wait_ms=500), broker_address(2))
    bench.register(2)
    bench.produce(10)
    answer = bench.answered(2)
    assert answer is not None
    assert [(part.error, [fetched.end for fetched in part.records]) for part in answer.parts()] == [(errors.NONE, [10])]


def test_1_2_a_follower_that_has_not_fetched_from_this_leader_is_not_eligible() -> None:
    """`Partition#isBrokerEpochIsrEligible` requires a stored broker epoch. A follower that returns within the lag time does not yet hold
    back the high watermark.
    """
    bench = BrokerBench()
    bench.partition_is((1, 2, 3), (1, 2, 3))
    bench.produce(10)
    bench.register(3, fenced=True)
    bench.partition_is((1, 2, 3), (1, 2), partition_epoch=2)
    bench.register(3, anew=False)
    bench.fetch(2, 10)
    assert bench.log.high_watermark == 10


def test_before_kafka_4485_only_a_fetch_from_the_end_counts() -> None:
    """Since 0.10.2, a follower that is always one batch behind is caught up as of its last fetch. In 0.9, it leaves the ISR."""
    found = {}
    for release in ("0.9", "0.10.2"):
        bench = BrokerBench(RELEASES[release], settings={"replica.lag.time.max.ms": 10_000})
        bench.partition_is((1, 2), (1, 2))
        bench.produce(10)
        for second in range(1, 25):
            bench.fetch(2, 10 * second - 10)
            bench.produce(10)
            bench.wait(1_000)
            bench.broker.check_isr()
        found[release] = bool(bench.told(events.IsrShrinkProposed))
    assert found == {"0.9": True, "0.10.2": False}


def test_rep_11_before_kip_903_a_stale_broker_epoch_is_accepted() -> None:
    bench = BrokerBench(RELEASES["2.8"])
    bench.partition_is((1, 2), (1, 2))
    bench.produce(10)
    old = bench.epochs[2]
    bench.register(2)
    assert bench.fetch(2, 5, broker_epoch=old).error == errors.NONE
    assert bench.remote(2).leo == 5
