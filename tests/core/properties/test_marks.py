"""Whatever changes is told to the journal in the same step, and every line that tells it is needed: without it a keyframe would miss something."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

import core
from core.kafka import errors
from core.kafka.broker.fetch_session import FetchSession
from core.kafka.broker.fetched import take_partition
from core.kafka.broker.follower_fetch import link
from core.kafka.broker.zookeeper_broker import ZooKeeperBroker
from core.kafka.controller.controller import Controller
from core.kafka.ids import NO_EPOCH, NO_OFFSET, TopicPartition
from core.kafka.log.term import Term
from core.kafka.messages import AskedPartition, FetchedPartition, FetchRequest
from core.kafka.release import RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.kafka.zookeeper.protocol import SESSION_EXPIRED, SessionResponse
from core.lab import acts
from core.lab.acts import Act
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec, NetworkSpec
from core.sim.units import SECOND, US_PER_MS
from tests.core.properties.marks import Mark, Told, Watched, marks_in_source

T0 = TopicPartition("t", 0)


class Life:
    """A cluster whose every step is looked at, while it is `seen`."""

    def __init__(self, release: str, needed: set[Mark], told: Told, settings: dict[str, str], *, partitions: bool = True) -> None:
        topics = (TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)), PartitionSpec((2, 3, 1)))),) if partitions else ()
        brokers = tuple(BrokerSpec(broker, log_dirs=2) for broker in (1, 2, 3, 4))
        spec = ClusterSpec(brokers, topics, settings=tuple(settings.items()), network=NetworkSpec(latency=500))
        self.cluster = Cluster(spec, RELEASES[release])
        self.watched = Watched(self.cluster, told, needed)

    def seen(self, seconds: float) -> None:
        """So long, step by step."""
        until = self.cluster.now + round(seconds * SECOND)
        while (due := self.cluster.next_time()) is not None and due <= until:
            self.watched.step()
        self.cluster.run_until(until)

    def unseen(self, seconds: float) -> None:
        """So long, without looking."""
        self.cluster.run_until(self.cluster.now + round(seconds * SECOND))
        self.watched.begin()

    def do(self, *doings: Act | Callable[[], object]) -> None:
        """Acts, or what else may change something between two steps."""
        for doing in doings:
            self.watched.clear()
            if isinstance(doing, Act):
                self.cluster.do(doing)
            else:
                doing()
            self.watched.look()


def asks(session: FetchSession, changed: tuple[AskedPartition, ...], forgotten: tuple[TopicPartition, ...]) -> FetchRequest:
    """A follower's fetch in a session."""
    return FetchRequest(0, session.follower, 0, session.broker_epoch, False, changed, forgotten, SECOND // 2, 1, 10**7, 10**6, 0)


def kraft(life: Life) -> None:
    """Everything that a KRaft cluster tells its journal."""
    cluster = life.cluster
    life.do(acts.Kill(4))
    life.seen(3.2)
    life.do(acts.Start(4))
    life.seen(1.5)
    life.do(acts.Load("t", 5, every=SECOND, producer="all"), acts.Load("t", 3, every=1_500 * US_PER_MS, producer="sure", idempotence=True))
    life.do(acts.Consume("t"))
    life.seen(3.5)
    life.do(cluster.view, lambda: cluster.account.of(TopicPartition("other", 0)))
    follower = cluster.brokers[2].partitions[T0]
    fetcher = follower.fetcher
    assert fetcher is not None
    life.do(lambda: fetcher.delay(fetcher.states[T0]))
    life.seen(2)
    part = FetchedPartition(T0, errors.OFFSET_OUT_OF_RANGE, follower.log.leo, (), NO_OFFSET, NO_OFFSET, NO_EPOCH, NO_OFFSET, 0)
    life.do(lambda: take_partition(fetcher, part))
    life.seen(1)
    leading = cluster.brokers[1].partitions[T0]
    entry = leading.sessions.pop(2)
    life.unseen(0)
    life.do(lambda: link(leading, entry))
    fetches = cluster.brokers[1].fetch_manager
    life.do(lambda: fetches._fetch(asks(fetches.sessions[2, 0], (), (T0,)), "b2"))
    follows = cluster.brokers[2].fetch_manager
    for offset in (1, 2):
        part_of_it = ((T0, offset, 0, 0, 1),)
        life.do(lambda part_of_it=part_of_it: follows._fetch(asks(follows.sessions[3, 0], part_of_it, ()), "b3"))  # type: ignore[misc]
    life.do(acts.Pause(3))
    life.seen(0.7)
    life.do(acts.Resume(3), acts.SlowDisk(2, 20 * US_PER_MS))
    life.seen(1.2)
    life.do(acts.SlowDisk(2, 0), acts.DeleteRecords(T0))
    life.seen(1.2)
    life.do(acts.Set("unclean.leader.election.enable", "true", topic="t"), acts.Cut(("b1", "b3")))
    life.seen(1)
    life.unseen(6)
    life.seen(3)
    life.do(acts.Cut(("b1", "b2")))
    life.unseen(4)
    life.seen(2)
    life.do(acts.Heal())
    life.seen(2)
    life.do(acts.FailDir(1, cluster.brokers[1].disk.dir_of(T0)))
    life.seen(0.5)
    life.do(lambda: fetches._fetch(asks(fetches.sessions[3, 0], ((T0, 1, 0, 0, 1),), ()), "b3"))
    life.unseen(3.5)
    life.do(lambda: cluster.account.acknowledged(T0, 1, Term(0, 9), 1_000, 3, 1))
    life.do(acts.Kill(2))
    life.seen(3.2)
    life.do(acts.Start(2))
    life.seen(2.5)
    asking = next(p.fetcher for broker in cluster.brokers.values() for p in broker.partitions.values() if p.fetcher is not None)
    for tp, state in asking.states.items():  # as after a back-off in which the epoch was raised
        state.sent_epoch, asking.unsent[tp], asking.prepared = -1, None, False
    life.unseen(0)
    life.do(lambda: asking._fetch(SECOND // 2, 1, 0))


def controller(life: Life) -> None:
    """A broker comes and goes where there is no partition."""
    life.do(acts.Kill(4))
    life.seen(10)
    life.do(acts.Start(4))
    life.seen(5)
    plane = life.cluster.controller
    assert isinstance(plane, Controller)
    life.do(lambda: plane._schedule("balance", SECOND), lambda: plane.unregister(4))


def waiting(life: Life) -> None:
    """Writes wait until they time out."""
    life.do(acts.Load("t", 5, every=5 * SECOND, producer="all"))
    life.do(acts.Cut(("b1", "b2")))
    life.unseen(33)
    life.seen(4)


def silent(life: Life) -> None:
    """A producer's requests are lost on the way; it waits until its own request time-out, and gives the connection up."""
    life.do(acts.Load("t", 5, every=5 * SECOND, producer="all"))
    life.seen(1)
    life.do(acts.Isolate("all"))
    life.unseen(29)
    life.seen(8)


def zookeeper(life: Life) -> None:
    """What only a ZooKeeper cluster tells."""
    cluster = life.cluster
    life.do(acts.Kill(4))
    life.seen(4)
    life.do(acts.Start(4))
    life.seen(2)
    broker = cluster.brokers[4]
    assert isinstance(broker, ZooKeeperBroker)
    client = broker.zk
    life.do(lambda: client._answered(SessionResponse(client.session, 0, SESSION_EXPIRED, ()), "zookeeper"))
    life.seen(2)
    life.do(acts.Load("t", 5, every=SECOND, producer="all"))
    life.seen(1.2)
    life.do(acts.Kill(1))
    life.seen(4)
    life.do(acts.Start(1))
    life.seen(4)


SOON: Final = {
    "auto.leader.rebalance.enable": "false",
    "log.segment.bytes": "1000",
    "log.retention.bytes": "3000",
    "log.retention.check.interval.ms": "4000",
    "log.flush.offset.checkpoint.interval.ms": "3000",
    "replica.lag.time.max.ms": "4000",
    "replica.socket.timeout.ms": "5000",
    "replica.fetch.backoff.ms": "2000",
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
}
"""Of everything there is something to do within seconds."""


@pytest.mark.skipif(core.is_compiled(), reason="who tells a journal is not seen where it is compiled")
def test_what_changes_is_told_and_nothing_else_needs_to_be() -> None:
    """Every step is looked at (`Watched.look`), and every mark in the source was once the only one that told of a change."""
    told = Told()
    needed: set[Mark] = set()
    with told.listening():
        kraft(Life("4.1", needed, told, SOON))
        waiting(Life("4.1", needed, told, {}))
        silent(Life("4.1", needed, told, {}))
        controller(Life("4.1", needed, told, {}, partitions=False))
        zookeeper(Life("2.0", needed, told, {"zookeeper.session.timeout.ms": "3000", "replica.lag.time.max.ms": "4000"}))
    assert needed == marks_in_source()
