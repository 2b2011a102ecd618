"""The steady case in one loop (`core.kafka.broker.steady`) is the general methods' outcome: the same events, in the same order, and the same end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from core.kafka.broker import steady
from core.kafka.broker.partition import Partition
from core.kafka.ids import TopicPartition
from core.kafka.messages import FetchResponse
from core.kafka.release import RELEASES, Release
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from scenarios.releases import release_named
from tests.core.properties.swarm import swarm
from tests.core.properties.timelines import heal, play

RULES = (
    "0.8.2",
    "0.10.2",
    "2.0",
    "2.7",
    "3.3",
    "4.1",
    "4.1 without strict-min-isr",
    "4.1 without request-time-leo",
    "4.1 without ignores-diverging-fetch",
    "2.4 without fetch-epoch-fencing without hw-same-epoch",
)


def _never(partition: Partition) -> None:
    """Judge no partition steady: each goes the general way, and so do its followers."""


def _played(seed: int, release: Release) -> tuple[list[tuple], Any]:
    found: list[tuple] = []
    cluster = play(swarm(seed, harsh=seed % 2 == 1), release, found.append, Cluster.run_until)
    heal(cluster, Cluster.run_until)
    return found, cluster.view()


def both_ways(run: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run with the steady case and without it."""
    quick = run()
    with monkeypatch.context() as patch:
        patch.setattr(Partition, "judge_steady", _never)
        assert run() == quick


@pytest.mark.parametrize("rules", RULES)
def test_random_timelines_go_both_ways_alike(rules: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in (3, 8, 21):
        both_ways(lambda seed=seed: _played(seed, release_named(rules)), monkeypatch)


def _busy(*settings: tuple[str, object], changes: tuple[acts.Act, ...] = ()) -> tuple[list[tuple], Any]:
    """Many partitions under load in one session each, with small changes of settings on the way."""
    found: list[tuple] = []
    spec = ClusterSpec(brokers=tuple(BrokerSpec(broker) for broker in (1, 2, 3)), topics=(TopicSpec("t", 12, 3),), settings=tuple(settings))
    cluster = Cluster(spec, RELEASES["4.1"], 7, found.append)
    for acks in ("all", "1", "0"):
        cluster.do(acts.Load("t", 400, acks=acks, producer=f"load{acks}", every=5_000))
    cluster.do(acts.Consume("t", reset="earliest", consumer="reader"))
    cluster.run_until(SECOND)
    for act in changes:
        cluster.do(act)
        cluster.run_until(cluster.now + SECOND)
    return found, cluster.view()


@pytest.mark.parametrize(
    "settings",
    [
        (),
        (("replica.fetch.max.bytes", 250),),
        (("replica.fetch.response.max.bytes", 900),),
        (("replica.fetch.min.bytes", 500),),
        (("replica.fetch.min.bytes", 0),),
        (("flush.messages", 7),),
        (("segment.bytes", 1_000), ("retention.bytes", 3_000), ("log.retention.check.interval.ms", 100)),
    ],
)
def test_limits_and_flushes_go_both_ways_alike(settings: tuple[tuple[str, object], ...], monkeypatch: pytest.MonkeyPatch) -> None:
    changes = (
        acts.Set("min.insync.replicas", "3"),
        acts.Set("min.insync.replicas", "4"),
        acts.Set("min.insync.replicas", "2"),
        acts.DeleteRecords(TopicPartition("t", 1), 20),
        acts.Kill(3),
        acts.Start(3),
        acts.Elect(),
    )
    both_ways(lambda: _busy(*settings, changes=changes), monkeypatch)


def test_the_steady_case_is_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    general = runs = 0
    take = steady.take_partitions

    def counted(fetcher: Any, response: FetchResponse) -> Any:
        nonlocal general, runs
        for part in response.partitions:
            if part[1] is None:
                runs += 1
            else:
                general += 1
        return take(fetcher, response)

    monkeypatch.setattr(steady, "take_partitions", counted)
    _busy()
    assert runs > general > 0
