"""Truncation, fetching, and error handling of a follower, by Kafka's own vectors: FOL (AbstractFetcherThreadTest,
ReplicaFetcherThreadTest).

The follower is a real broker (2). The test plays its leader (1) with real messages.
"""

from __future__ import annotations

import pytest

from core.kafka import errors, events
from core.kafka.broker.follower.fetcher_manager import fetcher_id
from core.kafka.ids import TopicPartition
from core.kafka.log.leader_term import Batch, FetchedRecords, Term
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.messages import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
)
from core.kafka.release import CURRENT, RELEASES, Release
from tests.core.node_bench import TP, BrokerBench, log_of

OTHER = TopicPartition("t", 1)
ROUNDS = RELEASES["2.4"]
"""A release in which followers truncate by OffsetsForLeaderEpoch in rounds (KIP-279)."""


class Follower(BrokerBench):
    """Broker 2, which follows broker 1."""

    def __init__(
        self, release: Release = CURRENT, log: ReplicaLog | None = None, *, leader_epoch: int = 0, other: ReplicaLog | None = None
    ):
        super().__init__(release, me=2, log=log)
        if other is not None:
            self.broker.disk.logs[OTHER] = other
        self.follow(leader_epoch, *((TP, OTHER) if other is not None else (TP,)))

    def follow(self, leader_epoch: int, *tps: TopicPartition, partition_epoch: int = 1) -> None:
        for tp in tps or (TP,):
            self.partition_is((1, 2), (1, 2), leader=1, leader_epoch=leader_epoch, partition_epoch=partition_epoch, tp=tp)

    def asks(self) -> FetchPartition:
        """Return the fetch of one partition that the follower has sent."""
        self.request = self.one_sent(FetchRequest, "b1")
        (part,) = self.request.changed
        return FetchPartition._make(part)

    def answer(self, **part: object) -> None:
        """Let the leader answer the fetch that `asks` returned."""
        fields: dict = {"error": errors.NONE, "records": None, "high_watermark": 0, "diverging_epoch": -1, "diverging_end": -1, **part}
        error, records, high_watermark, diverging, end = fields.values()
        failure = None if (error, diverging) == (errors.NONE, -1) else (error, diverging, end)
        asked = FetchPartition._make(self.request.changed[0])
        answer = (asked.tp, failure, asked.offset, records, high_watermark, 0, 0)
        self.broker.handle(FetchResponse(self.request.correlation, 0, errors.NONE, (answer,)), "b1")

    def asks_epochs(self) -> dict[TopicPartition, tuple[int, int]]:
        """Return (current leader epoch, requested epoch) by partition of the OffsetsForLeaderEpoch request that the follower has sent."""
        self.epochs_request = self.one_sent(OffsetsForLeaderEpochRequest, "b1")
        return {tp: (current, asked) for tp, current, asked in self.epochs_request.partitions}

    def answer_epochs(self, *ends: tuple[int, int], error: str = errors.NONE) -> None:
        """Let the leader answer with (epoch, end offset) for the requested partitions, in order."""
        items = tuple((tp, error, *end) for (tp, _, _), end in zip(self.epochs_request.partitions, ends, strict=True))
        self.broker.handle(OffsetsForLeaderEpochResponse(self.epochs_request.correlation, 0, items), "b1")

    def state(self) -> str:
        return self.broker.fetcher_manager.fetch_state(TP)

    def idle(self) -> bool:
        """Return whether the follower has sent nothing but metadata fetches."""
        return not (self.sent(FetchRequest) or self.sent(OffsetsForLeaderEpochRequest) or self.sent(ListOffsetsRequest))

    def truncations(self) -> list[tuple[int, int]]:
        """Return (new LEO, old LEO) of each truncation so far."""
        return [(columns[4], columns[5]) for columns in self.told(events.Truncated)]


def records(start: int, end: int, epoch: int = 0) -> FetchedRecords:
    term = Term(epoch, 1)
    term.append(Batch(start, end - start, 100 * (end - start), "p", 1, 0))
    return (start, end, term, 100 * (end - start), None)


# Fetching


def test_fol_01_simple_fetch() -> None:
    follower = Follower()
    assert follower.asks() == FetchPartition(TP, 0, 0, -1, 0)
    follower.answer(records=records(0, 2), high_watermark=2)
    assert (follower.log.leo, follower.log.high_watermark, follower.log.epochs.entries()) == (2, 2, ((0, 0),))
    asked = follower.asks()
    assert (asked.offset, asked.leader_epoch, asked.last_fetched_epoch) == (2, 0, 0)


def test_fol_01_the_followers_high_watermark_is_clamped_to_its_log_and_may_fall() -> None:
    follower = Follower()
    follower.asks()
    follower.answer(records=records(0, 2), high_watermark=9)
    assert follower.log.high_watermark == 2
    follower.asks()
    follower.answer(high_watermark=1)
    assert follower.log.high_watermark == 1


def test_fol_06_fenced_fetch_waits_for_new_metadata() -> None:
    follower = Follower()
    follower.asks()
    follower.answer(records=records(0, 2), high_watermark=2)
    follower.asks()
    follower.answer(error=errors.FENCED_LEADER_EPOCH)
    assert (follower.state(), list(follower.broker.fetcher_manager.failed_partitions)) == ("failed", [TP])
    follower.run(5_000)
    assert follower.idle()
    assert follower.log.leo == 2
    follower.follow(1, partition_epoch=2)
    assert follower.state() == "fetching"
    asked = follower.asks()
    assert (asked.offset, asked.leader_epoch) == (2, 1)


def test_fol_06_fenced_truncation() -> None:
    follower = Follower(ROUNDS, log_of((0, 0), leo=2))
    assert follower.asks_epochs() == {TP: (0, 0)}
    follower.answer_epochs((-1, -1), error=errors.FENCED_LEADER_EPOCH)
    assert (follower.state(), follower.log.leo) == ("failed", 2)
    follower.run(5_000)
    assert follower.idle()


@pytest.mark.parametrize("release", [ROUNDS, CURRENT], ids=["FOL-06-2.4", "FOL-06-4.1"])
def test_fol_06_a_fence_that_was_meant_for_the_epoch_before_is_only_a_delay(release: Release) -> None:
    """`AbstractFetcherThread#onPartitionFenced`: the partition fails only if the fenced request had the follower's current epoch."""
    follower = Follower(release)
    follower.asks()
    follower.follow(1, partition_epoch=2)
    follower.answer(error=errors.FENCED_LEADER_EPOCH)
    assert list(follower.broker.fetcher_manager.failed_partitions) == []
    follower.run(1_000)
    assert follower.asks().leader_epoch == 1


def test_fol_07_unknown_leader_epoch_while_truncating() -> None:
    follower = Follower(ROUNDS, log_of((0, 0), leo=1), leader_epoch=1)
    assert follower.asks_epochs() == {TP: (1, 0)}
    follower.answer_epochs((-1, -1), error=errors.UNKNOWN_LEADER_EPOCH)
    assert follower.state() == "delayed"
    follower.run(999)
    assert follower.idle()
    follower.run(1)
    assert follower.state() == "truncating"
    assert follower.asks_epochs() == {TP: (1, 0)}
    follower.answer_epochs((0, 1))
    assert (follower.state(), follower.log.leo) == ("fetching", 1)
    assert follower.asks().offset == 1


def test_fol_07_unknown_leader_epoch_while_fetching() -> None:
    follower = Follower(leader_epoch=1)
    assert follower.asks().leader_epoch == 1
    follower.answer(error=errors.UNKNOWN_LEADER_EPOCH)
    assert (follower.state(), follower.log.leo) == ("delayed", 0)
    follower.run(1_000)
    assert follower.state() == "fetching"
    assert follower.asks().offset == 0
    follower.answer(records=records(0, 2, 1), high_watermark=0)
    assert follower.log.leo == 2


@pytest.mark.parametrize("error", [errors.NOT_LEADER_OR_FOLLOWER, errors.UNKNOWN_LEADER_EPOCH, errors.UNKNOWN_TOPIC_OR_PARTITION])
def test_fol_13_backs_off_after_an_error(error: str) -> None:
    follower = Follower()
    follower.configure("replica.fetch.backoff.ms", "250")
    follower.asks()
    follower.answer(error=error)
    assert follower.idle()
    follower.run(249)
    assert follower.idle()
    follower.run(1)
    assert follower.asks().offset == 0


def test_fol_08_the_same_leader_epoch_brings_no_truncation() -> None:
    follower = Follower(ROUNDS, log_of((0, 0), (3, 2), leo=4, high_watermark=2))
    follower.asks_epochs()
    follower.answer_epochs((3, 4))
    asked = follower.asks()
    assert (asked.offset, follower.truncations()) == (4, [])
    follower.follow(0, partition_epoch=2)
    assert follower.idle(), "the fetch under way goes on"
    assert (follower.state(), follower.log.leo, follower.log.high_watermark) == ("fetching", 4, 2)


@pytest.mark.parametrize("release", [ROUNDS, CURRENT], ids=["FOL-09-2.4", "FOL-09-4.1"])
def test_fol_09_out_of_range_high_takes_the_leaders_end(release: Release) -> None:
    follower = Follower(release)
    follower.asks()
    follower.answer(records=records(0, 3), high_watermark=3)
    assert follower.asks().offset == 3
    follower.answer(error=errors.OFFSET_OUT_OF_RANGE)
    question = follower.one_sent(ListOffsetsRequest, "b1")
    assert (question.replica, question.tp, question.leader_epoch) == (2, TP, 0)
    follower.broker.handle(ListOffsetsResponse(question.correlation, 0, TP, errors.NONE, 0, 0), "b1")
    assert (follower.log.leo, follower.log.log_start, follower.log.high_watermark) == (0, 0, 0)
    assert follower.asks().offset == 0


def test_fol_09_out_of_range_low_starts_anew_at_the_leaders_start() -> None:
    follower = Follower(log=log_of((0, 0), leo=3))
    follower.asks()
    follower.answer(error=errors.OFFSET_OUT_OF_RANGE)
    question = follower.one_sent(ListOffsetsRequest, "b1")
    follower.broker.handle(ListOffsetsResponse(question.correlation, 0, TP, errors.NONE, 7, 10), "b1")
    assert (follower.log.leo, follower.log.log_start, follower.log.high_watermark) == (7, 7, 7)
    assert follower.asks().offset == 7


# Truncation


@pytest.mark.parametrize("release", ["0.10.2", "1.1", "2.4", "4.1"])
def test_fol_05_without_epochs_it_truncates_to_its_high_watermark(release: str) -> None:
    follower = Follower(RELEASES[release], log_of((0, 0), leo=3, high_watermark=2, keeps_epochs=False), leader_epoch=5)
    assert (follower.log.leo, follower.state(), follower.truncations()) == (2, "fetching", [(2, 3)])
    assert follower.asks().offset == 2


def test_fol_12_an_answer_to_the_epoch_before_is_ignored() -> None:
    follower = Follower(ROUNDS, log_of((0, 0), (3, 100), leo=200), leader_epoch=4)
    assert follower.asks_epochs() == {TP: (4, 3)}
    follower.follow(5, partition_epoch=2)
    follower.answer_epochs((3, 150))
    assert (follower.log.leo, follower.state()) == (200, "truncating")
    assert follower.asks_epochs() == {TP: (5, 3)}
    follower.answer_epochs((3, 160))
    assert (follower.log.leo, follower.state()) == (160, "fetching")


def test_fol_12_a_fence_of_the_epoch_before_does_not_fail_the_new_one() -> None:
    follower = Follower(ROUNDS, log_of((0, 0), (3, 100), leo=200), leader_epoch=4)
    follower.asks_epochs()
    follower.follow(5, partition_epoch=2)
    follower.answer_epochs((-1, -1), error=errors.FENCED_LEADER_EPOCH)
    assert list(follower.broker.fetcher_manager.failed_partitions) == []
    assert follower.asks_epochs() == {TP: (5, 3)}


@pytest.mark.parametrize("leader_end", [156, 172])
def test_fol_14_truncates_to_the_leaders_end_of_the_epoch(leader_end: int) -> None:
    follower = Follower(ROUNDS, log_of((5, 0), leo=200), leader_epoch=6)
    assert follower.asks_epochs() == {TP: (6, 5)}
    follower.answer_epochs((5, leader_end))
    assert (follower.log.leo, follower.truncations()) == (leader_end, [(leader_end, 200)])
    assert follower.asks().offset == leader_end


@pytest.mark.parametrize(("leader_end", "leo"), [(120, 120), (130, 130), (155, 130)])
def test_fol_14_the_shorter_of_both_ends_of_the_epoch(leader_end: int, leo: int) -> None:
    follower = Follower(ROUNDS, log_of((4, 0), (5, 130), leo=200), leader_epoch=6)
    follower.asks_epochs()
    follower.answer_epochs((4, leader_end))
    assert (follower.log.leo, follower.state()) == (leo, "fetching")


@pytest.mark.parametrize(("leader_end", "leo"), [(156, 156), (202, 200)])
def test_fol_15_when_the_follower_knows_nothing_of_that_epoch(leader_end: int, leo: int) -> None:
    follower = Follower(ROUNDS, log_of((3, 0), leo=200), leader_epoch=6)
    follower.asks_epochs()
    follower.answer_epochs((4, leader_end))
    assert (follower.log.leo, follower.state()) == (leo, "fetching")


def test_fol_16_asks_again_about_an_epoch_both_may_know() -> None:
    follower = Follower(ROUNDS, log_of((3, 0), (5, 120), leo=200), leader_epoch=6, other=log_of((3, 0), (5, 120), leo=200))
    # The first partition's question was under way before the second was followed.
    assert follower.asks_epochs() == {TP: (6, 5)}
    follower.answer_epochs((4, 155))
    assert (follower.log.leo, follower.state()) == (120, "truncating")
    assert not follower.sent(OffsetsForLeaderEpochRequest, "b1"), "no partition can be fetched, so the thread backs off (`#maybeFetch`)"
    follower.run(1_000)
    assert follower.asks_epochs() == {TP: (6, 3), OTHER: (6, 5)}
    follower.answer_epochs((3, 101), (4, 143))
    other = follower.partition(OTHER).log
    assert (follower.log.leo, follower.state(), other.leo) == (101, "fetching", 120)
    asked = follower.asks()
    assert (asked.tp, asked.offset) == (TP, 101), "what can be fetched is fetched before the next question"
    follower.answer()
    assert follower.asks_epochs() == {OTHER: (6, 3)}
    follower.answer_epochs((3, 102))
    assert other.leo == 102
    asked = follower.asks()
    assert (asked.tp, asked.offset) == (OTHER, 102)


def test_fol_18_a_diverging_answer_truncates_and_leaves_the_high_watermark() -> None:
    follower = Follower(log=log_of((4, 0), (5, 140), leo=150, high_watermark=130), leader_epoch=6)
    asked = follower.asks()
    assert (asked.offset, asked.last_fetched_epoch) == (150, 5)
    follower.answer(high_watermark=160, diverging_epoch=4, diverging_end=140)
    assert follower.truncations() == [(140, 150)]
    assert (follower.log.leo, follower.log.high_watermark) == (140, 130)
    asked = follower.asks()
    assert (asked.offset, asked.last_fetched_epoch) == (140, 4)


@pytest.mark.parametrize("leader_end", [155, 143])
@pytest.mark.parametrize("release", ["1.1", "2.0"])
def test_fol_19_an_answer_without_an_epoch_is_the_end_itself(release: str, leader_end: int) -> None:
    follower = Follower(RELEASES[release], log_of((5, 0), leo=200), leader_epoch=6)
    follower.asks_epochs()
    follower.answer_epochs((-1, leader_end))
    assert (follower.log.leo, follower.state()) == (leader_end, "fetching")


def test_fol_19_kip_101_takes_no_notice_of_the_epoch_in_the_answer() -> None:
    follower = Follower(RELEASES["1.1"], log_of((3, 0), (5, 120), leo=200), leader_epoch=6)
    follower.asks_epochs()
    follower.answer_epochs((4, 155))
    assert (follower.log.leo, follower.state()) == (155, "fetching")


@pytest.mark.parametrize("release", ["1.1", "2.4"])
def test_fol_20_an_undefined_answer_means_the_own_high_watermark(release: str) -> None:
    follower = Follower(RELEASES[release], log_of((5, 0), leo=200, high_watermark=100), leader_epoch=6)
    follower.asks_epochs()
    follower.answer_epochs((-1, -1))
    assert (follower.log.leo, follower.state()) == (100, "fetching")
    assert follower.asks().offset == 100


# The session and the connection


def test_an_idle_follower_fetches_again_without_naming_what_has_not_changed() -> None:
    follower = Follower()
    follower.asks()
    follower.broker.handle(FetchResponse(follower.request.correlation, 0, errors.NONE, ()), "b1")
    again = follower.one_sent(FetchRequest, "b1")
    assert (again.full, again.changed, again.forgotten) == (False, (), ())


def test_a_lost_session_is_opened_anew() -> None:
    follower = Follower(log=log_of((0, 0), leo=3))
    follower.asks()
    follower.broker.handle(FetchResponse(follower.request.correlation, 0, errors.FETCH_SESSION_ID_NOT_FOUND, ()), "b1")
    assert follower.asks().offset == 3
    assert follower.request.full


def test_an_answer_nobody_waits_for_is_dropped() -> None:
    follower = Follower()
    follower.asks()
    follower.request = follower.request._replace(correlation=follower.request.correlation + 7)
    follower.answer(records=records(0, 2), high_watermark=2)
    assert follower.log.leo == 0


def test_an_answer_about_epochs_nobody_waits_for_is_dropped() -> None:
    follower = Follower(ROUNDS, log_of((5, 0), leo=200), leader_epoch=6)
    follower.asks_epochs()
    follower.epochs_request = follower.epochs_request._replace(correlation=follower.epochs_request.correlation + 7)
    follower.answer_epochs((5, 156))
    assert (follower.log.leo, follower.state()) == (200, "truncating")


def run_of(start: int, end: int, term: Term) -> FetchedRecords:
    return (start, end, term, 100 * (end - start), None)


def test_fol_11_corrupt_records_are_not_appended_and_fetched_again() -> None:
    follower, term = Follower(), Term(0, 1)
    term.append(Batch(0, 2, 200, "client", 1, 0))
    asked = follower.asks()
    part = (TP, None, 0, run_of(0, 2, term), 2, 0, 0)
    follower.broker.handle(FetchResponse(follower.request.correlation, 0, errors.NONE, (part,), corrupt=True), "b1")
    assert (follower.log.leo, follower.log.high_watermark, follower.state()) == (0, 0, "delayed")
    assert [columns[-1] for columns in follower.told(events.FetchFailed)] == [errors.CORRUPT_MESSAGE]
    follower.run(1_000)
    assert follower.asks().offset == asked.offset == 0
    follower.answer(records=run_of(0, 2, term), high_watermark=2)
    assert (follower.log.leo, follower.log.high_watermark) == (2, 2)


def test_fol_11_what_is_whole_in_the_answer_is_taken() -> None:
    follower = Follower(log=log_of((0, 0), leo=5))
    follower.asks()
    part = (TP, None, 5, None, 5, 0, 0)
    follower.broker.handle(FetchResponse(follower.request.correlation, 0, errors.NONE, (part,), corrupt=True), "b1")
    assert (follower.log.high_watermark, follower.state()) == (5, "fetching")


def test_fol_21_the_lag_is_unknown_until_an_answer_comes() -> None:
    follower = Follower()
    fetcher = follower.broker.fetcher_manager.fetcher_of(TP)
    assert fetcher is not None
    state = fetcher.states[TP]
    follower.asks()
    assert state.lag is None
    follower.answer()
    assert state.lag == 0


def test_fol_21_the_lag_is_what_is_committed_and_not_there() -> None:
    follower, term = Follower(), Term(0, 1)
    term.append(Batch(0, 10, 1_000, "client", 1, 0))
    fetcher = follower.broker.fetcher_manager.fetcher_of(TP)
    assert fetcher is not None
    state = fetcher.states[TP]
    lags = []
    for start, end, high_watermark in ((0, 4, 9), (4, 8, 10), (8, 10, 10)):
        follower.asks()
        follower.answer(records=run_of(start, end, term), high_watermark=high_watermark)
        lags.append(state.lag)
    assert lags == [5, 2, 0]
    assert [columns[-2:] for columns in follower.told(events.FetcherLags)] == [(4, 9), (8, 10)]


def test_which_fetcher_follows_a_partition() -> None:
    """`AbstractFetcherManager#getFetcherId`, with `String#hashCode`. `Utils#abs` of the smallest int is 0."""
    assert [fetcher_id(TopicPartition("t", number), 3) for number in (0, 1, 2)] == [2, 0, 1]
    assert fetcher_id(TopicPartition("t", 2**31 - 31 * ord("t")), 3) == 0
    assert fetcher_id(TopicPartition("t", 2**31 - 31 * ord("t") + 1), 3) == (2**31 - 1) % 3
