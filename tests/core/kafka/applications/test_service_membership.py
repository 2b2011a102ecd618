"""Services and processes as members of groups: assignors, protocols, static members, and max.poll.interval.ms."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from core.kafka import events
from core.kafka.applications.processes.consuming_process import ConsumingProcess
from core.kafka.release import Release
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND

SETTINGS = (
    ("offsets.topic.num.partitions", "1"),
    ("group.initial.rebalance.delay.ms", "500"),
    ("transaction.state.log.num.partitions", "1"),
    ("offsets.topic.replication.factor", "1"),
    ("transaction.state.log.replication.factor", "1"),
    ("transaction.state.log.min.isr", "1"),
)
CONFIG = (("session.timeout.ms", "6000"), ("max.poll.interval.ms", "10000"))
SERVICE = acts.StartRetryService("orders", ("1s",), partitions=4, commit_every=SECOND, instances=2, config=CONFIG)
FAST, SLOW = "app-orders-2", "app-orders-1"


class Run:
    """A cluster with services or processes that share a topic, and the events."""

    def __init__(self, release: str, *openings: acts.Act) -> None:
        self.heard: list[Any] = []
        topics = (TopicSpec("orders", 4, 1), TopicSpec("out", 4, 1))
        self.cluster = Cluster(
            ClusterSpec((BrokerSpec(1),), topics=topics, settings=SETTINGS), Release.named(release), sink=self.heard.append
        )
        self.cluster.run_until(SECOND)
        for act in openings:
            self.cluster.do(act)
        self.cluster.run_until(14 * SECOND)

    def owned(self, *names: str) -> list[list[int]]:
        """Return the partitions that each of these workers or processes owns."""
        found = []
        for name in names:
            client = self.cluster.clients[name]
            assert isinstance(client, ConsumingProcess)
            found.append(sorted(client.consumer.assigned))
        return found

    def happened(self, kind: str, client: str) -> int:
        """Return how many events of a kind a client has recorded."""
        return sum(event[3] == kind and event[4] == client for event in self.heard)


@pytest.mark.parametrize(
    ("release", "fields"),
    [
        ("0.11", {"assignors": ("roundrobin",)}),
        ("4.1", {"assignors": ("cooperative-sticky",), "transactional": True}),
        ("4.3", {"protocol": "consumer", "config": CONFIG[1:]}),
        ("4.3", {"protocol": "consumer", "config": CONFIG[1:], "transactional": True, "remote_assignor": "range"}),
    ],
)
def test_a_slow_instance_leaves_its_group_and_handles_records_again(release: str, fields: dict[str, Any]) -> None:
    run = Run(release, attrs.evolve(SERVICE, **fields))
    assert sorted(map(len, run.owned(FAST, SLOW))) == [2, 2]
    run.cluster.do(acts.ProcessingTime(SLOW, record_time=2 * SECOND))
    run.cluster.do(acts.Produce("orders", 40))
    run.cluster.run_until(30 * SECOND)
    # Its heartbeats have continued, but it has not called poll(). The other instance now owns all partitions.
    assert run.happened(events.PollTooLate.kind, SLOW) == 1
    assert run.owned(FAST) == [[0, 1, 2, 3]]
    (view,) = run.cluster.view().retries
    assert view.succeeded == 40
    # The slow instance still handles the records that it polled before.
    run.cluster.run_until(44 * SECOND)
    (view,) = run.cluster.view().retries
    assert view.succeeded_twice in (5, 6)
    assert view.dropped == 0
    # In its next poll(), it loses its partitions and joins again.
    run.cluster.do(acts.ProcessingTime(SLOW, record_time=0))
    run.cluster.run_until(75 * SECOND)
    assert run.happened(events.PartitionsLost.kind, SLOW) == 1
    assert sorted(map(len, run.owned(FAST, SLOW))) == [2, 2]
    # An instance that keeps partitions in a rebalance does not handle their records again.
    assert run.happened(events.SucceededTwice.kind, FAST) <= 4


def test_a_static_instance_keeps_its_partitions_when_it_restarts_in_time() -> None:
    run = Run("4.1", attrs.evolve(SERVICE, instance_id="host"))
    before = run.owned(FAST, SLOW)
    run.cluster.do(acts.StopService("app", SLOW))
    run.cluster.run_until(16 * SECOND)
    run.cluster.do(attrs.evolve(SERVICE, instance_id="host"))
    run.cluster.run_until(22 * SECOND)
    assert run.owned(FAST, SLOW) == before
    assert not run.happened(events.PartitionsRevoked.kind, FAST)


def test_a_static_instance_that_was_fenced_ends() -> None:
    first = acts.StartProcess("orders", "out", "one", "g", "at-least-once", subscribe=True, instance_id="host", config=CONFIG)
    run = Run("4.1", first)
    run.cluster.do(attrs.evolve(first, process="two"))
    run.cluster.run_until(22 * SECOND)
    ended = [events.decode(event) for event in run.heard if event[3] == events.ProcessEnded.kind]
    assert [(each.process, each.how, each.error) for each in ended] == [("one", "failed", "FencedInstanceIdException")]  # type: ignore[attr-defined]
    assert run.owned("two") == [[0, 1, 2, 3]]


@pytest.mark.parametrize(("release", "delivery", "protocol"), [("2.8", "at-least-once", "classic"), ("4.3", "exactly-once", "consumer")])
def test_a_slow_process_leaves_its_group_and_its_round_is_repeated(release: str, delivery: str, protocol: str) -> None:
    config = CONFIG[1:] if protocol == "consumer" else CONFIG
    slow = acts.StartProcess("orders", "out", "slow", "g", delivery, subscribe=True, protocol=protocol, config=config)
    run = Run(release, slow, attrs.evolve(slow, process="fast"))
    run.cluster.do(acts.ProcessingTime("slow", record_time=2 * SECOND))
    run.cluster.do(acts.Produce("orders", 40))
    run.cluster.run_until(80 * SECOND)
    assert run.happened(events.PollTooLate.kind, "slow") == 1
    view = next(each for each in run.cluster.view().processes if each.name == "fast")
    assert view.processed == 40
    assert view.never_processed == 0
    # With at-least-once, the output of the slow process exists, too. With exactly-once, its transaction is aborted.
    assert (view.processed_twice > 0) == (delivery == "at-least-once")
    assert sorted(map(len, run.owned("fast", "slow"))) == [2, 2]


@pytest.mark.parametrize(
    ("release", "fields"),
    [
        ("0.11", {"transactional": True, "instances": 1, "config": ()}),
        ("4.1", {"assignors": ("cooperative-sticky",)}),
        ("4.3", {"transactional": True, "protocol": "consumer", "config": CONFIG[1:]}),
    ],
)
def test_the_number_of_tries_moves_with_the_partition(release: str, fields: dict[str, Any]) -> None:
    """A record kills the instance that tries it, and then the next owner of its partition. The third owner sends it to the dead-letter topic."""
    service = attrs.evolve(SERVICE, count_tries="before", **fields)
    run = Run(release, service)
    run.cluster.do(acts.FailProcessing(1_000_000, kills=True))
    run.cluster.do(acts.Produce("orders", 1, partition=0))
    run.cluster.run_until(100 * SECOND)
    (view,) = run.cluster.view().retries
    assert view.tried == ({1: 1} if service.instances == 1 else {1: 2})
    for _ in range(2 if service.instances == 1 else 1):
        if service.instances == 1:
            run.cluster.do(acts.KillService("app"))
        run.cluster.do(service)
        run.cluster.run_until(run.cluster.now + 60 * SECOND)
    run.cluster.do(acts.FailProcessing(0))
    run.cluster.do(acts.Produce("orders", 10))
    run.cluster.run_until(run.cluster.now + 20 * SECOND)
    (view,) = run.cluster.view().retries
    assert (view.tried[1], view.failed[1], view.dead, view.succeeded, view.dropped) == (12, 2, 1, 10, 0)


def test_a_stalled_worker_leaves_its_group() -> None:
    run = Run("4.1", SERVICE)
    run.cluster.do(acts.StallConsumer(15 * SECOND, SLOW))
    run.cluster.run_until(28 * SECOND)
    assert run.happened(events.PollTooLate.kind, SLOW) == 1
    assert run.owned(FAST) == [[0, 1, 2, 3]]
    run.cluster.run_until(38 * SECOND)
    assert sorted(map(len, run.owned(FAST, SLOW))) == [2, 2]


def test_impossible_memberships_are_refused() -> None:
    run = Run("3.9")
    for act, why in (
        (attrs.evolve(SERVICE, instances=1, protocol="consumer"), "give the service several instances"),
        (attrs.evolve(SERVICE, assignors=("uniform",)), "the assignors range, roundrobin, sticky, cooperative-sticky, not uniform"),
        (attrs.evolve(SERVICE, protocol="consumer"), "has only the classic protocol"),
        (attrs.evolve(SERVICE, remote_assignor="uniform"), "'remote-assignor' needs 'protocol: consumer'"),
        (acts.StartProcess("orders", "out", instance_id="host"), "add 'subscribe: true'"),
    ):
        with pytest.raises(ActRefused, match=why):
            run.cluster.do(act)
