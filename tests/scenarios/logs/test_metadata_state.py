"""The metadata of a logged session at a moment: topics that exist, settings, and brokers that are not fenced."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.kafka.release import CURRENT
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from scenarios.logs.log_header import make_header
from scenarios.logs.log_reader import LogReader
from scenarios.logs.log_writer import LogWriter
from scenarios.logs.metadata_state import MetadataState, read_metadata_state


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a log in which a setting changes at 1 s, a topic is created at 2 s and deleted at 4 s, and broker 3 is killed at 6 s."""
    spec = ClusterSpec(
        tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
        (TopicSpec("orders", assignment=(PartitionSpec((1, 2)),), config=(("retention.ms", 1_000_000),)), TopicSpec("jobs", 1, 1)),
    )
    path = tmp_path_factory.mktemp("logs") / "session.jsonl"
    with LogWriter(path, make_header(spec, CURRENT, 1, None)) as writer:
        cluster = Cluster(spec, CURRENT, seed=1, sink=writer)
        for second, act in (
            (1, acts.Set("min.insync.replicas", "2", "orders")),
            (2, acts.CreateTopic("audit", 1, 1, config=(("retention.ms", "60000"),))),
            (3, acts.Set("unclean.leader.election.enable", "true")),
            (4, acts.DeleteTopic("audit")),
            (6, acts.Kill(3)),
        ):
            cluster.run_until(second * SECOND)
            cluster.do(act)
        cluster.run_until(30 * SECOND)
        writer.close(cluster.now)
    return path


def state_at(log: Path, second: int | None) -> MetadataState:
    return read_metadata_state(LogReader(log), None if second is None else second * SECOND)


def configs(state: MetadataState) -> dict[str, dict[str, str]]:
    return {topic.name: {name: str(value) for name, value in topic.config} for topic in state.topics}


def test_a_setting_of_a_topic_changes_only_this_topic(log: Path) -> None:
    assert configs(state_at(log, 0)) == {"orders": {"retention.ms": "1000000"}, "jobs": {}}
    assert configs(state_at(log, 1))["orders"] == {"retention.ms": "1000000", "min.insync.replicas": "2"}
    assert configs(state_at(log, None)) == {"orders": {"retention.ms": "1000000", "min.insync.replicas": "2"}, "jobs": {}}


def test_a_topic_exists_from_its_creation_to_its_deletion(log: Path) -> None:
    assert list(configs(state_at(log, 1))) == ["orders", "jobs"]
    assert configs(state_at(log, 3))["audit"] == {"retention.ms": "60000"}
    assert list(configs(state_at(log, 5))) == ["orders", "jobs"]


def test_a_fenced_broker_is_not_live(log: Path) -> None:
    assert state_at(log, 6).live_brokers == {1, 2, 3}
    assert state_at(log, None).live_brokers == {1, 2}
