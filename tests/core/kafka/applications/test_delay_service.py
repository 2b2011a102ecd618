"""Delay services: levels, the queue of held records, and the percentiles of lateness. The scenarios `k1-*` show the services at work."""

from __future__ import annotations

import pytest

from core.kafka.applications.services.delay_levels import LEVELS, level_for, level_us
from core.kafka.applications.services.delay_worker import DelayWorker
from core.kafka.applications.services.held_queue import HeldQueue
from core.kafka.applications.services.service_records import HeldRecords
from core.kafka.release import Release
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.accounts.service_account import mean, percentile
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND

ROUTES = {
    1: 5, 5: 5, 6: 10, 11: 30, 17: 30, 30: 30, 31: 60, 150: 300, 601: 1200, 2701: 3600, 3601: 7200, 7200: 7200,
}  # fmt: skip
"""P-01: wanted delay → level, s."""


def test_p_01_records_go_to_the_smallest_level_that_is_long_enough() -> None:
    """P-01: also, the mean rounding over all whole seconds, and the worst ratio."""
    assert {wanted: level_us(level_for(wanted * SECOND, LEVELS)) // SECOND for wanted in ROUTES} == ROUTES
    with pytest.raises(ValueError, match="longer than the longest level, which is 2h"):
        level_for(7201 * SECOND, LEVELS)
    rounding = {wanted: level_us(level_for(wanted * SECOND, LEVELS)) // SECOND - wanted for wanted in range(1, 7201)}
    assert round(sum(rounding.values()) / 7200, 2) == 1070.84
    assert max(rounding.values()) == 3599
    assert max(range(5, 7201), key=lambda wanted: rounding[wanted] / wanted) == 11


def test_p_01_chained_levels_take_the_longest_level_first() -> None:
    """P-01: 7201 s becomes 7200 s and 5 s. The scenario `k1-chain` shows the service at work."""
    assert level_for(7201 * SECOND, LEVELS, chained=True) == "2h"
    assert level_for(1 * SECOND, LEVELS, chained=True) == "5s"


def _held(due: int, partition: int, start: int) -> HeldRecords:
    return HeldRecords(due, partition, start, start + 1, 0, start, 0, None)


def test_p_04_a_priority_queue_orders_by_due_time_and_a_fifo_queue_does_not() -> None:
    """P-04: partition 0 is due at 30 and 34, partition 1 at 31, and partition 0 is polled first."""
    for fifo, order in ((False, [30, 31, 34]), (True, [30, 34, 31])):
        queue = HeldQueue(fifo=fifo)
        for records in (_held(30, 0, 0), _held(34, 0, 1), _held(31, 1, 0)):
            queue.push(records)
        assert [queue.count(0), queue.count(1)] == [2, 1]
        assert [queue.pop().due for _ in range(3)] == order


def test_percentiles_are_by_nearest_rank() -> None:
    """§3.1: sorted[⌈p·n⌉ − 1]. Each sample stands for several records."""
    samples = [(10, 50), (20, 45), (30, 5)]
    assert [percentile(samples, percent) for percent in (50, 51, 95, 96, 100)] == [10, 20, 20, 30, 30]
    assert mean(samples) == 15
    assert percentile([], 50) is None
    assert mean([]) is None


def test_impossible_acts_are_refused() -> None:
    """Each refusal says what would be possible."""
    cluster = Cluster(ClusterSpec((BrokerSpec(1),), topics=(TopicSpec("orders", 1, 1),)), Release.named("4.3"))
    for act, words in (
        (acts.StartDelayService("orders", ("10s", "5s")), "ascending order"),
        (acts.StartDelayService("orders", ("soon",)), "a level is a whole number with the unit"),
        (acts.StartDelayService("orders", ("5s",), bound=0), "must be at least 1"),
        (acts.StartDelayService("orders", ("5s",), over_max="wait"), "over-max must be refuse or chain, not wait"),
        (acts.StartDelayService("orders", ("5s",), delays="record", over_max="chain"), "waits in one level for its whole delay"),
        (acts.ProduceDelayed(SECOND, 1), "there is no delay service"),
        (acts.KillService(), "no worker of service"),
    ):
        with pytest.raises(ActRefused, match=words):
            cluster.do(act)


def _cluster(topic: TopicSpec) -> Cluster:
    topics = ("offsets.topic", "transaction.state.log")
    settings = tuple((f"{each}.{name}", "1") for each in topics for name in ("num.partitions", "replication.factor"))
    settings = (*settings, ("transaction.state.log.min.isr", "1"))
    return Cluster(ClusterSpec((BrokerSpec(1),), settings=settings, topics=(topic,)), Release.named("4.3"))


def test_a_transactional_service_sends_refused_records_to_the_dead_letter_topic() -> None:
    """The refusal aborts the first transaction. The next transaction contains the dead letters, the other records, and the offsets."""
    cluster = _cluster(TopicSpec("orders", 1, 1, config=(("max.message.bytes", "50"),)))
    cluster.do(acts.StartDelayService("orders", ("5s",), transactional=True, commit_every=SECOND, dead_letters="orders-dlt"))
    cluster.run_until(5 * SECOND)
    cluster.do(acts.ProduceDelayed(5 * SECOND, 10))
    cluster.do(acts.ProduceDelayed(4 * SECOND, 3, bytes=40))
    cluster.run_until(20 * SECOND)
    view = cluster.view().services[0]
    assert (view.dead, view.dead_twice, view.forwarded, view.never_forwarded, view.held) == (10, 0, 3, 0, 0)
    worker = cluster.clients.workers("delay")[0]
    assert isinstance(worker, DelayWorker)
    assert (worker.committed, worker.refused, worker.dead) == ({0: 13}, {0: []}, [])


def test_a_worker_has_a_timer_only_while_it_holds_records() -> None:
    cluster = _cluster(TopicSpec("orders", 1, 1))
    cluster.do(acts.StartDelayService("orders", ("5s",)))
    cluster.run_until(5 * SECOND)
    worker = cluster.clients.workers("delay")[0]
    assert isinstance(worker, DelayWorker)
    assert worker.due_timer == -1
    cluster.do(acts.ProduceDelayed(5 * SECOND, 1))
    cluster.run_until(8 * SECOND)
    (held,) = worker.queue.entries
    assert worker.due_timer == held.due
    cluster.run_until(12 * SECOND)
    assert (worker.queue.entries, worker.due_timer) == ([], -1)


def test_instances_of_a_transactional_service_chain_levels() -> None:
    """A record that waits for 12 s in levels of 5 s, 5 s, and 2 s arrives once, even if an instance dies between two levels."""
    cluster = _cluster(TopicSpec("orders", 2, 1))
    start = acts.StartDelayService(
        "orders", ("2s", "5s"), partitions=2, transactional=True, commit_every=SECOND, instances=2, over_max="chain"
    )
    cluster.do(start)
    cluster.run_until(5 * SECOND)
    cluster.do(acts.ProduceDelayed(12 * SECOND, 4, partition=0))
    cluster.do(acts.ProduceDelayed(12 * SECOND, 4, partition=1))
    cluster.run_until(12 * SECOND)
    cluster.do(acts.KillService(worker="delay-5s-1"))
    cluster.do(start)
    cluster.run_until(60 * SECOND)
    view = cluster.view().services[0]
    assert (view.forwarded, view.forwarded_twice, view.never_forwarded, view.held, view.too_early) == (24, 0, 0, 0, 0)
    logs = cluster.account.leader_logs()
    visible = sum(cluster.account.processing.visible(tp, log).count() for tp, log in logs.items() if tp.topic == "orders")
    assert visible == 8
    assert view.rounding["max"] == 0


def test_records_for_a_deleted_topic_become_dead_letters() -> None:
    """Without a dead-letter topic, the worker holds the records, and forwards them when the topic exists again."""
    config = (("delivery.timeout.ms", "4000"), ("request.timeout.ms", "2000"))
    cluster = _cluster(TopicSpec("orders", 1, 1))
    for service, dead_letters in (("delay", None), ("careful", "orders-dlt")):
        cluster.do(
            acts.StartDelayService("orders", ("5s" if service == "delay" else "6s",), service, config=config, dead_letters=dead_letters)
        )
        cluster.run_until(cluster.now + 2 * SECOND)
        cluster.do(acts.ProduceDelayed(5 * SECOND, 10, service, producer=f"app-{service}"))
    cluster.do(acts.DeleteTopic("orders"))
    cluster.run_until(30 * SECOND)
    views = {view.name: view for view in cluster.view().services}
    assert (views["delay"].held, views["delay"].dead) == (10, 0)
    assert (views["careful"].held, views["careful"].dead, views["careful"].never_forwarded) == (0, 10, 0)
    cluster.do(acts.CreateTopic("orders", 1, 1))
    cluster.run_until(45 * SECOND)
    assert {view.name: view.forwarded for view in cluster.view().services if not view.source} == {"delay": 10, "careful": 0}


def test_a_commit_counts_when_the_coordinator_has_acknowledged_it() -> None:
    """The broker does not run while the commit is due, so the worker has not reached the step after which it crashes."""
    cluster = _cluster(TopicSpec("orders", 1, 1))
    cluster.do(acts.StartDelayService("orders", ("5s",), commit_every=20 * SECOND, crash_after="commit"))
    cluster.run_until(5 * SECOND)
    cluster.do(acts.ProduceDelayed(5 * SECOND, 3))
    cluster.run_until(15 * SECOND)
    worker = cluster.clients.workers("delay")[0]
    assert isinstance(worker, DelayWorker)
    assert (cluster.view().services[0].forwarded, worker.committed) == (3, {})
    cluster.do(acts.Pause(1))
    cluster.run_until(25 * SECOND)
    assert (worker.running, worker.committed) == (True, {})
    cluster.do(acts.Resume(1))
    cluster.run_until(26 * SECOND)
    assert (worker.running, worker.committed) == (False, {0: 3})
