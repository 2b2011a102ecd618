"""The scopes of Kafka's settings: which settings can change at run time, which need a restart, and what they apply to."""

from __future__ import annotations

import pytest

from core.kafka.release import RELEASES
from core.kafka.settings.registry import SETTINGS, setting_named
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.errors import ActRefused
from tests.core.kafka import setting_table

LAG = "replica.lag.time.max.ms"


def made(release: str = "4.1") -> Cluster:
    return Cluster(
        ClusterSpec(tuple(BrokerSpec(broker) for broker in (1, 2, 3)), (TopicSpec("t", assignment=(PartitionSpec((1, 2, 3)),)),)),
        RELEASES[release],
    )


def test_a_read_only_setting_is_refused_in_kafkas_words_and_nothing_changes() -> None:
    cluster = made()
    seq = cluster.journal.seq
    with pytest.raises(ActRefused, match=r"Cannot update these configs dynamically: Set\(replica\.lag\.time\.max\.ms\)"):
        cluster.do(acts.Set(LAG, "5000"))
    assert cluster.journal.seq == seq
    assert cluster.settings.get(LAG) == 30_000


def test_force_has_it_at_once() -> None:
    cluster = made()
    cluster.do(acts.Set(LAG, "5000", broker=2, force=True))
    cluster.run_until(1_000_000)
    assert [broker.context.config.lag_max for broker in cluster.brokers.values()] == [30_000_000, 5_000_000, 30_000_000]


def test_topic_beats_broker_beats_cluster() -> None:
    cluster = made("4.0")
    name = "min.insync.replicas"
    cluster.do(acts.Set(name, "2"))
    cluster.do(acts.Set(name, "3", broker=1))
    cluster.run_until(1_000_000)
    assert [broker.partitions[tp].min_isr for broker in cluster.brokers.values() for tp in broker.partitions] == [3, 2, 2]
    cluster.do(acts.Set(name, "1", topic="t"))
    cluster.run_until(2_000_000)
    assert [broker.partitions[tp].min_isr for broker in cluster.brokers.values() for tp in broker.partitions] == [1, 1, 1]


def test_every_topic_setting_is_dynamic() -> None:
    assert [name for name, setting in SETTINGS.items() if setting.scope == "topic" and not setting.dynamic] == []


def test_every_setting_is_what_it_was() -> None:
    """`python -m tests.core.kafka.setting_table` writes the table again. Compare the difference with Kafka's documentation."""
    assert setting_table.text() == setting_table.FILE.read_text(encoding="utf-8")


def test_an_unknown_setting_names_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"^unknown setting 'min\.insync\.replica'; did you mean 'min\.insync\.replicas'\?$"):
        setting_named("min.insync.replica")
    with pytest.raises(ValueError, match=r"^unknown setting 'zzz'$"):
        setting_named("zzz")
