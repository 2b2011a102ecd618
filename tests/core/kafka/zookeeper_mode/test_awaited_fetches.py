"""Fetchers that a broker stops while a fetch is in flight (`AbstractFetcherThread#shutdown` at 0.9.0.1, 0.10.2.2, 1.0.0, and 1.1.1)."""

from __future__ import annotations

import pytest

from core.kafka.events import EventTuple
from core.kafka.ids import NO_LEADER, TopicPartition
from core.kafka.partition_registration import PartitionRegistration
from core.kafka.release import RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.kafka.zookeeper_mode.broker import ZooKeeperBroker
from core.kafka.zookeeper_mode.controller.requests import LeaderAndIsrRequest, UpdateMetadataRequest
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND, US_PER_MS

TP, OTHER = TopicPartition("t", 0), TopicPartition("u", 0)
SESSION_OVER = 9 * SECOND
"""A time longer than the session timeout and the subsequent failover."""


class Bench:
    """Brokers 0, 1, and 2. Broker 0 leads t-0, and broker 2 leads u-0. Brokers 1 and 2 follow t-0."""

    def __init__(self, release: str) -> None:
        self.events: list[EventTuple] = []
        topics = (TopicSpec("t", assignment=(PartitionSpec((0, 1, 2)),)), TopicSpec("u", assignment=(PartitionSpec((2, 1)),)))
        self.cluster = Cluster(
            ClusterSpec(tuple(BrokerSpec(each) for each in range(3)), topics), RELEASES[release], sink=self.events.append
        )

    def do(self, act: acts.Act, then: int = SECOND) -> None:
        """Do something, and let some time pass."""
        self.cluster.do(act)
        self.wait(then)

    def wait(self, time: int) -> None:
        """Let time pass."""
        self.cluster.run_until(self.cluster.now + time)

    def broker(self, number: int) -> ZooKeeperBroker:
        """Return a broker."""
        broker = self.cluster.brokers[number]
        assert isinstance(broker, ZooKeeperBroker)
        return broker

    def known_leader(self, broker: int) -> int:
        """Return the leader of t-0 that a broker tells clients."""
        return self.broker(broker).context.metadata_cache.topic_leaders("t")[0][0]

    def kinds(self, kind: str) -> list[EventTuple]:
        """Return the events of a kind."""
        return [event for event in self.events if event[3] == kind]


@pytest.mark.parametrize(
    ("release", "waits"), [("0.8.2", True), ("0.9", True), ("0.10.2", True), ("0.11", True), ("1.1", False), ("2.4", False)]
)
def test_a_broker_waits_for_its_last_fetch_from_a_paused_leader_before_1_1(release: str, waits: bool) -> None:
    """KAFKA-6051. Broker 1 leads at once, but neither it nor broker 2 learns who leads until the fetch has timed out."""
    bench = Bench(release)
    bench.wait(2 * SECOND)
    bench.do(acts.Pause(0), SESSION_OVER)
    assert bench.broker(1).partitions[TP].is_leader
    assert [bench.known_leader(broker) for broker in (1, 2)] == ([NO_LEADER, NO_LEADER] if waits else [1, 1])
    assert {event[4:] for event in bench.kinds("fetcher-awaited")} == ({(1, 0), (2, 0)} if waits else set())
    bench.wait(20 * SECOND)  # 29 s after the pause
    assert bench.known_leader(1) == (NO_LEADER if waits else 1)
    bench.wait(2 * SECOND)  # replica.socket.timeout.ms after the last fetch
    assert [bench.known_leader(broker) for broker in (1, 2)] == [1, 1]
    assert bench.broker(2).fetcher_manager.fetch_state(TP) == "fetching"


@pytest.mark.parametrize("act", [acts.Resume(0), acts.Kill(0)])
def test_the_wait_ends_with_a_response_or_with_the_connection(act: acts.Act) -> None:
    bench = Bench("0.11")
    bench.wait(2 * SECOND)
    bench.do(acts.Pause(0), SESSION_OVER)
    assert bench.known_leader(1) == NO_LEADER
    bench.do(act, 100 * US_PER_MS)
    assert bench.known_leader(1) == 1


def test_a_fetch_that_waits_for_records_delays_the_new_leader_by_at_most_its_wait() -> None:
    """After a preferred election, the former leader responds at the latest after replica.fetch.wait.max.ms."""
    bench = Bench("0.11")
    bench.do(acts.Kill(0), SESSION_OVER)
    bench.do(acts.Start(0), 20 * SECOND)
    assert bench.known_leader(0) == 1
    begun = bench.cluster.now
    bench.do(acts.Elect("preferred"), 600 * US_PER_MS)
    assert bench.known_leader(0) == 0
    awaited = [event for event in bench.kinds("fetcher-awaited") if event[1] >= begun]
    assert {event[4] for event in awaited} >= {0}


def test_requests_of_every_controller_wait_their_turn() -> None:
    """`ReplicaManager#replicaStateChangeLock`: a new controller's requests wait, too, and are handled in the order of their arrival."""
    bench = Bench("0.10.2")
    bench.wait(2 * SECOND)
    bench.do(acts.Pause(0), SESSION_OVER)
    broker = bench.broker(1)
    epoch = broker.channel.epoch + 1
    state = PartitionRegistration((2, 1), (2, 1), 1, 9, 9)
    broker.handle(LeaderAndIsrRequest(2, epoch, ((OTHER, state, 0),), (1, 2)), "b2")
    broker.handle(UpdateMetadataRequest(2, epoch, ((OTHER, state),), (1, 2)), "b2")
    assert not broker.partitions[OTHER].is_leader
    bench.do(acts.Resume(0), 100 * US_PER_MS)
    assert broker.partitions[OTHER].leader_epoch == 9
    assert broker.context.metadata_cache.topic_leaders("u") == ((1, 9),)
    assert broker.channel.epoch == epoch


def test_a_broker_that_dies_forgets_what_it_was_waiting_for() -> None:
    bench = Bench("0.11")
    bench.wait(2 * SECOND)
    bench.do(acts.Pause(0), SESSION_OVER)
    bench.do(acts.Kill(1), SECOND)
    bench.do(acts.Start(1), 20 * SECOND)
    bench.do(acts.Resume(0), 10 * SECOND)
    assert bench.broker(1).unanswered is None
    assert set(bench.cluster.partition_view(TP).isr) == {0, 1, 2}
    assert bench.known_leader(1) == bench.known_leader(2) == bench.cluster.partition_view(TP).leader
