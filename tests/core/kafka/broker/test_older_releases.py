"""Rules that only some releases have, read from the sources at their tags: semantics 1.5, 1.7, 1.8, 2.3, and 2.5."""

from __future__ import annotations

import pytest

from core.kafka import errors, events
from core.kafka.ids import TopicPartition, broker_address
from core.kafka.messages import FetchRequest, FetchResponse, ListOffsetsRequest, ListOffsetsResponse
from core.kafka.release import RELEASES, Release
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND, US_PER_MS
from tests.core.node_bench import TP, BrokerBench, log_of


def without_zookeeper(name: str) -> Release:
    """Return the release with the KRaft controller instead of ZooKeeper, to test its data plane on a bench."""
    return Release.named(name).without(["zookeeper"])


# 1.5: isr-expiration


@pytest.mark.parametrize("release", RELEASES)
def test_1_5_how_often_isr_expiration_runs(release: str) -> None:
    """A follower that stopped right after the start is found late after two halves of the lag time, or after two whole lag times."""
    bench = BrokerBench(without_zookeeper(release), settings={"replica.lag.time.max.ms": 10_000})
    bench.partition_is((1, 2), (1, 2))
    bench.produce(1)
    period = 10_000 if release in ("0.8.2", "0.9") else 5_000
    bench.run(10_000 + period - 1)
    assert bench.told(events.IsrShrinkProposed) == []
    bench.run(1)
    assert len(bench.told(events.IsrShrinkProposed)) == 1


# 1.8: the high watermark on its way to followers (KIP-392, KAFKA-9952)


@pytest.mark.parametrize(("release", "at_once"), [("2.1", False), ("2.4", True), ("2.7", False), ("4.1", False)])
def test_1_8_a_waiting_fetch_returns_for_the_high_watermark_in_2_4_only(release: str, at_once: bool) -> None:
    bench = BrokerBench(without_zookeeper(release))
    bench.partition_is((1, 2, 3), (1, 2, 3))
    bench.produce(1)
    bench.fetch(2, 1)
    bench.broker.handle(bench.fetch_request(2, 1, max_wait_ms=500), broker_address(2))
    assert bench.answered(2) is None
    bench.broker.handle(bench.fetch_request(3, 1, max_wait_ms=500), broker_address(3))
    assert bench.log.high_watermark == 1
    answers = [bench.answered(follower) for follower in (2, 3)]
    if at_once:
        assert [answer and [part.high_watermark for part in answer.parts()] for answer in answers] == [[1], [1]]
    else:
        assert answers == [None, None]


def test_1_8_in_2_4_one_more_fetch_returns_empty_handed() -> None:
    """The high watermark that was sent is recorded as of the fetch's arrival, so the fetch after one that was completed by the high
    watermark returns immediately.
    """
    bench = BrokerBench(without_zookeeper("2.4"))
    bench.partition_is((1, 2), (1, 2))
    bench.produce(1)
    first = bench.fetch_request(2, 1, max_wait_ms=500)
    bench.broker.handle(first, broker_address(2))
    told = bench.answered(2)
    assert told is not None
    assert [part.high_watermark for part in told.parts()] == [1]
    again = FetchRequest(*first._replace(correlation=98, full=False, changed=()))
    bench.broker.handle(again, broker_address(2))
    assert bench.answered(2) == FetchResponse(98, 0, errors.NONE, ())
    bench.broker.handle(again._replace(correlation=99), broker_address(2))
    assert bench.answered(2) is None


# 1.8: a new leader's stale high watermark (KIP-207)


@pytest.mark.parametrize(("release", "latest"), [("2.1", (errors.NONE, 2)), ("2.4", (errors.OFFSET_NOT_AVAILABLE, -1))])
def test_1_8_a_stale_high_watermark_is_hidden_from_clients_since_2_2(release: str, latest: tuple[str, int]) -> None:
    bench = BrokerBench(without_zookeeper(release), log=log_of((4, 0), leo=5, high_watermark=2))
    bench.broker.disk.high_watermarks[TP] = 2
    bench.partition_is((1, 2), (1, 2))
    answer = bench.list_offsets()
    assert (answer.error, answer.latest, answer.earliest) == (*latest, 0)


# 1.7, 2.3: epochs without records (KIP-279)


@pytest.mark.parametrize(("release", "entries"), [("0.11", ((4, 0),)), ("1.1", ((4, 0),)), ("2.0", ((4, 0), (5, 3)))])
def test_1_7_a_leader_notes_an_epoch_without_records_since_2_0(release: str, entries: tuple[tuple[int, int], ...]) -> None:
    bench = BrokerBench(without_zookeeper(release), log=log_of((4, 0), leo=3))
    bench.partition_is((1, 2), (1, 2), leader_epoch=5)
    assert bench.log.epochs.entries() == entries
    bench.produce(1)
    assert bench.log.epochs.entries() == ((4, 0), (5, 3))


@pytest.mark.parametrize(
    ("release", "older", "newer"),
    [("1.1", (-1, -1), (-1, -1)), ("2.0", (1, 3), (-1, -1))],
)
def test_2_3_what_a_leader_answers_about_epochs_it_has_nothing_of(release: str, older: tuple[int, int], newer: tuple[int, int]) -> None:
    bench = BrokerBench(without_zookeeper(release), log=log_of((2, 3), (4, 6), leo=8))
    bench.partition_is((1, 2), (1, 2), leader_epoch=9)
    partition = bench.partition()
    assert (partition.last_offset_for_leader_epoch(1), partition.last_offset_for_leader_epoch(10)) == (older, newer)
    assert partition.last_offset_for_leader_epoch(3) == (2, 6)


# 2.5: out of range


def lookup(release: str, *, settings: dict[str, object] | None = None) -> tuple[BrokerBench, ListOffsetsRequest]:
    """Build a bench in which broker 1 follows broker 2 with ten records, is told that its offset is out of range, and has requested the
    bounds.
    """
    bench = BrokerBench(without_zookeeper(release), settings=settings, log=log_of((4, 0), leo=10, high_watermark=10))
    bench.broker.disk.high_watermarks[TP] = 10
    bench.partition_is((2, 1), (2, 1), leader=2, leader_epoch=5)
    fetcher = bench.broker.fetcher_manager.fetchers[2, 0]
    state = fetcher.states[TP]
    state.state, state.out_of_range = "fetching", True
    fetcher.update_preparing(state)
    fetcher.abandon()
    bench.sent(FetchRequest)
    fetcher.maybe_send()
    return bench, bench.one_sent(ListOffsetsRequest, "b2")


def answer(bench: BrokerBench, request: ListOffsetsRequest, error: str, earliest: int = 0, latest: int = 0) -> None:
    bench.broker.handle(ListOffsetsResponse(request.correlation, request.fetcher, TP, error, earliest, latest), "b2")


@pytest.mark.parametrize(
    ("release", "unclean", "exits"),
    [("0.10.2", None, False), ("0.10.2", "false", True), ("0.11", None, True), ("1.1", None, True), ("1.1", "true", False), ("2.0", None, False)],
)  # fmt: skip
def test_2_5_a_broker_exits_rather_than_cut_its_log_to_1_1(release: str, unclean: str | None, exits: bool) -> None:
    bench, request = lookup(release, settings={} if unclean is None else {"unclean.leader.election.enable": unclean})
    answer(bench, request, errors.NONE, 0, 6)
    assert bench.told(events.BrokerStopped) == ([(1, "exited")] if exits else [])
    assert bench.broker.disk.logs[TP].leo == (10 if exits else 6)


def test_2_5_a_fenced_question_for_the_bounds_fails_the_partition() -> None:
    bench, request = lookup("4.1")
    answer(bench, request, errors.FENCED_LEADER_EPOCH)
    assert bench.broker.fetcher_manager.fetch_state(TP) == "failed"
    bench.run(60_000)
    assert bench.sent(ListOffsetsRequest) == []


@pytest.mark.parametrize("error", [errors.UNKNOWN_LEADER_EPOCH, errors.NOT_LEADER_OR_FOLLOWER])
def test_2_5_after_another_error_it_fetches_again(error: str) -> None:
    bench, request = lookup("4.1")
    answer(bench, request, error)
    assert bench.broker.fetcher_manager.fetch_state(TP) == "delayed"
    bench.run(1_000)
    assert bench.sent(ListOffsetsRequest) == []
    assert [part.offset for part in bench.one_sent(FetchRequest, "b2").changed] == [10]


def test_the_high_watermark_reaches_an_idle_follower_sooner_in_2_4() -> None:
    """After a single batch, the high watermark reaches the follower after a round trip in 2.4, and after the fetch wait of 500 ms in 2.7."""
    found = {}
    for release in ("2.4", "2.7"):
        spec = ClusterSpec((BrokerSpec(1), BrokerSpec(2)), (TopicSpec("t", assignment=(PartitionSpec((1, 2)),)),))
        run = Cluster(spec, RELEASES[release])
        run.run_until(2 * SECOND + 100 * US_PER_MS)
        run.do(acts.Produce("t", 1))
        start = run.now
        log = run.brokers[2].disk.logs[TopicPartition("t", 0)]
        while log.high_watermark < 1:
            run.run_until(run.now + US_PER_MS)
        found[release] = (run.now - start) // US_PER_MS
    assert found["2.4"] <= 20 < 400 <= found["2.7"] <= 520
