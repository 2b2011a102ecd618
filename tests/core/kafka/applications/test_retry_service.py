"""Retry services: the names of topics, and the rule that lets records fail. The scenarios `k2-*` show the services at work."""

from __future__ import annotations

import pytest

from core.kafka import events
from core.kafka.applications.services.retry_topics import chain, suffixes
from core.kafka.applications.services.retry_worker import MILLION, FailureRule, RetryWorker
from core.kafka.applications.services.service_worker import Phase
from core.kafka.ids import TopicPartition
from core.kafka.log.offset_set import OffsetSet
from core.kafka.release import Release
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND


def test_the_names_are_those_of_spring_kafka() -> None:
    """§2.3: by delay, by index, and with an index behind equal delays."""
    assert chain("orders", (SECOND, 2 * SECOND, 4 * SECOND), by_index=False) == (
        "orders", "orders-retry-1000", "orders-retry-2000", "orders-retry-4000", "orders-dlt",
    )  # fmt: skip
    assert suffixes((SECOND, 2 * SECOND), by_index=True) == ("-retry-0", "-retry-1")
    assert suffixes((SECOND, 16 * SECOND, 16 * SECOND), by_index=False) == ("-retry-1000", "-retry-16000-0", "-retry-16000-1")


def test_p_12_the_delays_of_rocketmq() -> None:
    """P-12: the delays of levels 3 to 18. `k2-rocketmq` plays them in thousandths, because all workers poll the whole time."""
    delays = (10, 30, *range(60, 601, 60), 1200, 1800, 3600, 7200)
    assert (len(delays), sum(delays)) == (16, 17140)


def test_a_rule_applies_to_the_first_tries_and_for_some_time() -> None:
    rule = FailureRule(500_000, tries=2, until=10 * SECOND)
    assert [rule.applies(number, 0) for number in (1, 2, 3)] == [True, True, False]
    assert not rule.applies(1, 10 * SECOND)
    assert not FailureRule().applies(1, 0)


def test_impossible_acts_are_refused() -> None:
    """Each refusal says what would be possible."""
    cluster = Cluster(ClusterSpec((BrokerSpec(1),), topics=(TopicSpec("orders", 1, 1),)), Release.named("0.10.2"))
    for act, words in (
        (acts.StartRetryService("orders", dead_letters=False), "only a blocking service"),
        (acts.StartRetryService("orders", ("soon",)), "is not a duration"),
        (acts.StartRetryService("orders", transactional=True), "use 0.11 or later"),
        (acts.StartRetryService("orders", blocking=True, count_tries="before"), "must have retry topics and 'commit: done'"),
        (acts.StartRetryService("orders", dlt_strategy="never"), "must be always-retry or fail"),
        (acts.StartRetryService("orders", blocking=True, dead_letters=False, dlt_strategy="fail"), "no dead-letter topic to read"),
        (acts.StartRetryService("orders", count_tries="never"), "must be after or before"),
        (acts.FailProcessing(1), "there is no retry service"),
    ):
        with pytest.raises(ActRefused, match=words):
            cluster.do(act)


def test_tries_in_a_retry_topic_are_counted_before_they_start() -> None:
    """Half of the records fail once, without killing the process. Then the first of them kills it in the retry topic, where one try is left."""
    settings = (("offsets.topic.num.partitions", "1"), ("offsets.topic.replication.factor", "1"))
    cluster = Cluster(ClusterSpec((BrokerSpec(1),), settings=settings, topics=(TopicSpec("orders", 1, 1),)), Release.named("4.3"))
    start = acts.StartRetryService("orders", ("5s",), count_tries="before")
    cluster.do(start)
    cluster.do(acts.FailProcessing(500_000))
    cluster.run_until(5 * SECOND)
    cluster.do(acts.Produce("orders", 10))
    cluster.run_until(9 * SECOND)
    view = cluster.view().retries[0]
    assert (view.tried, view.failed, view.succeeded, view.waiting) == ({1: 10}, {1: 5}, 5, 5)
    cluster.do(acts.FailProcessing(MILLION, kills=True))
    cluster.run_until(12 * SECOND)
    cluster.do(acts.KillService("app"))
    cluster.do(start)
    cluster.do(acts.FailProcessing(0))
    cluster.run_until(20 * SECOND)
    view = cluster.view().retries[0]
    assert (view.tried, view.failed, view.succeeded) == ({1: 10, 2: 5}, {1: 5, 2: 1}, 9)
    assert (view.dead, view.dead_twice, view.dropped, view.succeeded_twice) == (1, 0, 0, 0)


def test_what_an_aborted_transaction_has_retried_is_not_reported() -> None:
    """The records of the aborted transaction are tried again, and the next transaction sends them to the retry topic once."""
    settings = tuple((f"{name}.replication.factor", "1") for name in ("offsets.topic", "transaction.state.log"))
    settings += (
        ("offsets.topic.num.partitions", "1"),
        ("transaction.state.log.num.partitions", "1"),
        ("transaction.state.log.min.isr", "1"),
    )
    cluster = Cluster(ClusterSpec((BrokerSpec(1),), settings=settings, topics=(TopicSpec("orders", 1, 1),)), Release.named("4.3"))
    cluster.do(acts.StartRetryService("orders", ("60s",), transactional=True))
    cluster.do(acts.FailProcessing(MILLION))
    cluster.run_until(5 * SECOND)
    (worker,) = (each for each in cluster.clients.workers("app") if isinstance(each, RetryWorker) and each.plan.number == 1)
    cluster.do(acts.Produce("orders", 10))
    while not worker.reports:
        assert cluster.step()
    worker._abort("it has lost its partitions")
    assert not worker.reports
    cluster.run_until(20 * SECOND)
    view = cluster.view().retries[0]
    assert (view.tried, view.failed, view.waiting) == ({1: 20}, {1: 20}, 10)


def retried(seconds: int, **fields: object) -> Cluster:
    """Return a cluster in which 4 records, all of whose tries fail, have reached the end of a retry service."""
    settings = (("offsets.topic.num.partitions", "1"), ("offsets.topic.replication.factor", "1"))
    cluster = Cluster(ClusterSpec((BrokerSpec(1),), settings=settings, topics=(TopicSpec("orders", 1, 1),)), Release.named("4.3"))
    cluster.do(acts.StartRetryService("orders", **fields))  # type: ignore[arg-type]
    cluster.do(acts.FailProcessing(MILLION))
    cluster.run_until(5 * SECOND)
    cluster.do(acts.Produce("orders", 4))
    cluster.run_until(seconds * SECOND)
    return cluster


def test_a_handler_of_dead_letters_continues_the_numbers_of_the_tries() -> None:
    """Two tries have sent the records to the dead-letter topic, so the handler makes the third one, and then it gives up (`DltStrategy`)."""
    view = retried(20, delays=("1s",), dlt_strategy="fail").view().retries[0]
    assert (view.tried, view.failed) == ({1: 4, 2: 4, 3: 4}, {1: 4, 2: 4, 3: 4})
    assert (view.dead, view.succeeded) == (4, 0)


def test_a_blocking_service_without_a_dead_letter_topic_skips_records_and_commits_past_them() -> None:
    cluster = retried(20, delays=("1s",), blocking=True, dead_letters=False)
    view = cluster.view().retries[0]
    assert (view.tried, view.failed) == ({1: 4, 2: 4}, {1: 4, 2: 4})
    tp = TopicPartition("orders", 0)
    assert cluster.account.retries.of("app").skipped == {tp: OffsetSet.of([(0, 4)])}
    assert (view.succeeded, view.dead) == (0, 0)
    assert cluster.account.processing.committed("app", tp) == 4


def test_a_worker_that_crashes_after_it_has_committed_the_number_of_a_try_polls_no_more_records() -> None:
    """The records arrive while the worker waits for the coordinator, so they are in the consumer and not held by the worker."""
    topics = (TopicSpec("orders", assignment=(PartitionSpec((1,)),)), TopicSpec("__consumer_offsets", assignment=(PartitionSpec((2,)),)))
    told: list[tuple] = []
    cluster = Cluster(ClusterSpec((BrokerSpec(1), BrokerSpec(2)), topics=topics), Release.named("4.3"), sink=told.append)
    cluster.do(acts.StartRetryService("orders", ("5s",), count_tries="before", crash_after="commit"))
    cluster.run_until(5 * SECOND)
    (worker,) = (each for each in cluster.clients.workers("app") if isinstance(each, RetryWorker) and each.plan.number == 1)
    cluster.do(acts.Produce("orders", 10))
    while worker.phase is not Phase.COUNTING:
        assert cluster.step()
    cluster.do(acts.Pause(2))
    cluster.do(acts.Produce("orders", 10))
    cluster.run_until(cluster.now + 2 * SECOND)
    assert (worker.phase, worker.running) == (Phase.COUNTING, True)
    cluster.do(acts.Resume(2))
    cluster.run_until(cluster.now + SECOND)
    (ended,) = (events.decode(event) for event in told if event[3] == events.ServiceEnded.kind)
    assert (ended.how, ended.held) == ("crashed", 10)  # type: ignore[attr-defined]
    assert cluster.view().retries[0].tried == {}
