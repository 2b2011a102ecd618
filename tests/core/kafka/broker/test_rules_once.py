"""Each rule exists once: where one does nothing, scenarios of the library fail; and nothing but the rule moves the high watermark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import core
from core.kafka import events
from core.kafka.broker.follower import fetch_response, offset_responses
from core.kafka.broker.partition import Partition
from core.kafka.broker.replica import Replica
from core.kafka.broker.requests.fetch_manager import FetchManager
from core.kafka.controller import partition_change
from core.kafka.controller.partition_change import ElectionResult
from core.kafka.controller.placement import StripedReplicaPlacer
from core.kafka.ids import NO_EPOCH
from core.kafka.log.replica_log import ReplicaLog
from core.kafka.release import CURRENT
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from scenarios import catalogue
from scenarios.running.runner import run_scenario

pytestmark = pytest.mark.skipif(core.is_compiled(), reason="a compiled rule cannot be replaced")


def test_only_the_rule_raises_a_leaders_high_watermark(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = Partition.maybe_increment_leader_hw
    raised = 0
    advances: list[tuple] = []

    def counted(partition: Partition) -> bool:
        nonlocal raised
        rose = rule(partition)
        raised += rose
        return rose

    def sink(event: tuple) -> None:
        if event[3] == events.HighWatermarkAdvanced.kind:
            advances.append(event)

    monkeypatch.setattr(Partition, "maybe_increment_leader_hw", counted)
    cluster = Cluster(ClusterSpec(tuple(BrokerSpec(each) for each in (1, 2, 3)), (TopicSpec("t", 6, 3),)), CURRENT, 7, sink)
    for acks in ("all", "1", "0"):
        cluster.do(acts.Load("t", 200, acks=acks, producer=f"load{acks}", every=5_000))
    cluster.run_until(2 * SECOND)
    assert raised == len(advances) > 500


def _first_brokers(_placer: Any, partitions: int, replication_factor: int, brokers: Any) -> tuple[tuple[int, ...], ...]:
    return (tuple(sorted(each.broker for each in brokers)[:replication_factor]),) * partitions


@pytest.mark.parametrize(
    ("where", "rule", "instead", "scenario"),
    [
        (Partition, "maybe_increment_leader_hw", lambda _: False, "b2-high-watermark"),
        (Partition, "_is_follower_in_sync", lambda *_: False, "c4-reentry-at-high-watermark"),
        (Partition, "out_of_sync_replicas", lambda _: (), "c1-stopped-follower"),
        (Partition, "effective_min_isr", lambda _: 1, "f2-min-isr-2-two-down"),
        (Partition, "check_fetch", lambda *_: None, "e2-divergence"),
        (Partition, "maybe_expand_isr", lambda *_: None, "c4-reentry-at-high-watermark"),
        (Replica, "update_fetch_state", lambda *_: None, "b2-high-watermark"),
        (ReplicaLog, "read", lambda *_: None, "b2-high-watermark"),
        (ReplicaLog, "append_as_leader", lambda log, *_: log.leo, "b2-high-watermark"),
        (ReplicaLog, "append_as_follower", lambda log, *_: log.leo, "b2-high-watermark"),
        (ReplicaLog, "update_high_watermark", lambda *_: False, "b2-high-watermark"),
        (FetchManager, "read_from_log", lambda *_, **__: [], "b2-high-watermark"),
        (fetch_response, "process_fetch_request", lambda *_: None, "b2-high-watermark"),
        (fetch_response, "truncate_on_fetch_response", lambda *_: None, "e2-divergence"),
        (offset_responses, "truncation_point", lambda partition, *_: (partition.log.leo, NO_EPOCH), "e2-divergence"),
        (partition_change, "elect_leader", lambda partition, **_: ElectionResult(partition.leader, "none"), "captures-kill-9"),
        (StripedReplicaPlacer, "place", _first_brokers, "a2-racks"),
    ],
)
def test_without_the_rule_the_library_fails(
    where: Any, rule: str, instead: Callable[..., Any], scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_scenario(catalogue.load(scenario), CURRENT).held
    monkeypatch.setattr(where, rule, instead)
    assert not run_scenario(catalogue.load(scenario), CURRENT).held
