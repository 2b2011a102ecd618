"""Producers that say nothing about idempotence: since 3.0, no retry of theirs is appended twice (KIP-679)."""

from __future__ import annotations

from typing import Any

import pytest

from core.kafka import events
from core.kafka.release import RELEASES
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.errors import ActRefused
from core.sim.units import SECOND


class Told:
    """A cluster of three brokers, and its events."""

    def __init__(self, release: str = "4.3", clients: tuple[tuple[str, str], ...] = ()) -> None:
        self.events: list[tuple[Any, ...]] = []
        topic = TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)),), config=(("min.insync.replicas", "2"),))
        spec = ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3)), (topic,), clients=clients)
        self.cluster = Cluster(spec, RELEASES[release], sink=self.events.append)

    def count(self, kind: type) -> int:
        return sum(event[3] == kind.kind for event in self.events)  # type: ignore[attr-defined]

    def retry(self, **load: Any) -> int:
        """Cut the link from the leader to a producer for longer than request.timeout.ms. Return the number of duplicated records."""
        self.cluster.do(acts.Load("t", 10, producer="app", **load))
        self.cluster.run_until(5 * SECOND)
        self.cluster.do(acts.Cut(("b1", "app"), one_way=True))
        self.cluster.run_until(50 * SECOND)
        self.cluster.do(acts.Heal())
        self.cluster.run_until(60 * SECOND)
        self.cluster.do(acts.StopLoad("app"))
        self.cluster.run_until(70 * SECOND)
        producer = self.cluster.clients.producer("app")
        assert producer is not None
        assert producer.metrics.retries > 0
        assert producer.metrics.failed == 0
        return self.cluster.account.duplicated


@pytest.mark.parametrize(
    ("release", "load", "duplicates"),
    [
        ("4.3", {}, False),
        ("3.3", {}, False),
        ("4.3", {"acks": "all"}, False),
        ("4.3", {"acks": "1"}, True),
        ("4.3", {"idempotence": False}, True),
        ("4.3", {"config": (("enable.idempotence", "false"),)}, True),
        ("2.8", {"acks": "all"}, True),
        ("2.8", {"idempotence": True}, False),
        ("2.8", {"config": (("enable.idempotence", "true"),)}, False),
    ],
)
def test_a_retry_is_appended_twice_only_without_idempotence(release: str, load: dict[str, Any], duplicates: bool) -> None:
    told = Told(release)
    assert (told.retry(**load) > 0) == duplicates
    assert (told.count(events.DuplicateDropped) > 0) == (not duplicates)


def test_settings_of_all_clients_apply_to_producers() -> None:
    assert Told(clients=(("enable.idempotence", "false"),)).retry() > 0
    assert Told(clients=(("acks", "1"),)).retry() > 0
    assert Told(clients=(("acks", "1"),)).retry(acks="all") == 0


def test_a_producer_asks_for_its_id_when_it_starts() -> None:
    """`Sender#runOnce`: before it has anything to send."""
    told = Told()
    told.cluster.do(acts.StartDelayService("t", levels=("30s",)))
    told.cluster.run_until(SECOND)
    assert told.count(events.ProducerIdGiven) == 1


def test_another_acks_switches_the_default_idempotence() -> None:
    told = Told()
    cluster = told.cluster
    cluster.do(acts.Load("t", 10, producer="app"))
    cluster.run_until(SECOND)
    producer = cluster.clients.producer("app")
    assert producer is not None
    assert producer.sender.idempotent
    cluster.do(acts.Acks("1", "app"))
    assert not producer.sender.idempotent
    cluster.run_until(2 * SECOND)
    assert producer.metrics.failed == 0
    cluster.do(acts.Acks("all", "app"))
    assert producer.sender.idempotent
    cluster.run_until(3 * SECOND)
    cluster.do(acts.StopLoad("app"))
    cluster.run_until(4 * SECOND)
    assert (producer.metrics.acked, producer.metrics.failed) == (producer.metrics.sent, 0)


def test_a_producer_that_must_be_idempotent_keeps_acks_all() -> None:
    cluster = Told().cluster
    cluster.do(acts.Load("t", 10, producer="app", idempotence=True))
    with pytest.raises(ActRefused, match="Must set acks to all"):
        cluster.do(acts.Acks("1", "app"))
    with pytest.raises(ActRefused, match="Must set acks to all"):
        cluster.do(acts.Load("t", 10, producer="app", acks="0"))
    with pytest.raises(ActRefused, match="already exists with idempotence"):
        cluster.do(acts.Produce("t", 10, producer="app", idempotence=False))
    with pytest.raises(ActRefused, match="'acks' and 'acks' in 'config' contradict each other"):
        cluster.do(acts.Produce("t", 10, acks="1", config=(("acks", "all"),)))
