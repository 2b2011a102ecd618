"""Instances of a service that are members of a group. The scenarios `k1-instances`, `k1-zombie`, and `k1-zombie-fenced` show more."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from core.kafka import events
from core.kafka.clients.group_member.member_consumer import MemberConsumer
from core.kafka.release import Release
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND, US_PER_MS

SETTINGS = (
    ("offsets.topic.num.partitions", "1"),
    ("group.initial.rebalance.delay.ms", "500"),
    ("transaction.state.log.num.partitions", "1"),
)
SERVICE = acts.StartRetryService(
    "orders", ("1s",), partitions=2, commit_every=SECOND, instances=2, config=(("session.timeout.ms", "6000"),)
)


class Run:
    """A cluster with a retry service of two instances, and everything that happens in it."""

    def __init__(self, service: acts.StartRetryService = SERVICE) -> None:
        self.heard: list[Any] = []
        spec = ClusterSpec(tuple(BrokerSpec(each) for each in (1, 2, 3)), topics=(TopicSpec("orders", 2, 3),), settings=SETTINGS)
        self.cluster = Cluster(spec, Release.named("4.1"), sink=self.heard.append)
        self.cluster.run_until(SECOND)
        self.cluster.do(service)
        self.cluster.do(acts.FailProcessing(500_000, tries=1))
        self.cluster.do(acts.Load("orders", 100, every=100 * US_PER_MS))
        self.cluster.run_until(5 * SECOND)

    def owned(self, *numbers: int) -> list[list[int]]:
        """Return the partitions of `orders` that each of these instances owns."""
        consumers = [self.cluster.clients[f"app-orders-{number}"].consumer for number in numbers]  # type: ignore[attr-defined]
        assert all(isinstance(each, MemberConsumer) and each.member is not None for each in consumers)
        return [sorted(each.assigned) for each in consumers]


@pytest.fixture(scope="module")
def story() -> Run:
    """One instance is killed and starts again, is stopped and starts again; then the load ends."""
    run = Run()
    assert run.owned(1, 2) == [[0], [1]]
    run.cluster.run_until(5_600 * US_PER_MS)  # between two commits
    run.cluster.do(acts.KillService("app", "app-orders-1"))
    run.cluster.run_until(16 * SECOND)
    assert run.owned(2) == [[0, 1]]
    run.cluster.do(SERVICE)
    run.cluster.run_until(22 * SECOND)
    assert run.owned(1, 2) == [[0], [1]]
    run.cluster.do(acts.StopService("app", "app-orders-2"))
    run.cluster.run_until(26 * SECOND)
    assert run.owned(1) == [[0, 1]]
    run.cluster.do(acts.StopLoad())
    run.cluster.run_until(32 * SECOND)
    return run


def test_the_others_take_over_and_nothing_is_dropped(story: Run) -> None:
    (view,) = story.cluster.view().retries
    assert view.succeeded == sum(log.high_watermark for tp, log in story.cluster.account.leader_logs().items() if tp.topic == "orders")
    assert view.dropped == view.waiting == view.dead == 0
    # What the killed instance has tried since its last commit is tried again.
    assert 0 < view.succeeded_twice <= 100


def test_a_stopped_instance_leaves_its_group_and_commits_first(story: Run) -> None:
    kinds = [each for each in story.heard if each[3] in (events.ServiceEnded.kind, events.GroupMemberRemoved.kind)]
    killed, expired, left, stopped = (events.decode(each) for each in kinds)
    assert (killed.how, stopped.how) == ("killed", "stopped")  # type: ignore[attr-defined]
    assert expired.why == "session-timeout"  # type: ignore[attr-defined]
    assert left.why != "session-timeout"  # type: ignore[attr-defined]


def test_a_transactional_service_repeats_nothing_that_readers_see() -> None:
    run = Run(attrs.evolve(SERVICE, transactional=True))
    run.cluster.run_until(5_600 * US_PER_MS)
    run.cluster.do(acts.KillService("app", "app-orders-1"))
    run.cluster.run_until(14 * SECOND)
    run.cluster.do(acts.StopLoad())
    run.cluster.run_until(20 * SECOND)
    (view,) = run.cluster.view().retries
    # The dead instance tried records whose transaction was aborted. So they reach the retry topic once, although they were tried twice.
    assert view.failed[1] > view.tried[2] > 0
    assert view.dropped == view.dead_twice == 0


def test_a_restored_cluster_continues_byte_for_byte() -> None:
    run = Run()
    again: list[Any] = []
    copy = Cluster.restore(run.cluster.snapshot(), again.append)
    before = len(run.heard)
    for cluster in (run.cluster, copy):
        cluster.do(acts.KillService("app", "app-orders-1"))
        cluster.run_until(13 * SECOND)
    assert run.heard[before:] == again


def test_impossible_instances_are_refused() -> None:
    run = Run(attrs.evolve(SERVICE, instances=1, config=()))
    for act, why in (
        (attrs.evolve(SERVICE, service="other", instances=0), "instances must be from 1 to 100"),
        (acts.KillService("app", "app-orders-3"), "no running worker app-orders-3"),
        (attrs.evolve(SERVICE, service="other", instances=1), "session.timeout.ms is a setting of consumers, not of producers"),
    ):
        with pytest.raises(ActRefused, match=why):
            run.cluster.do(act)


def test_instances_give_up_the_partitions_of_a_deleted_topic() -> None:
    run = Run()
    run.cluster.do(acts.DeleteTopic("orders"))
    run.cluster.run_until(12 * SECOND)
    assert run.owned(1, 2) == [[], []]
