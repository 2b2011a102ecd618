"""Before 2.7, a broker's metadata shows an old ISR until the leader has published its change and the controller has sent it."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.lab.views.metadata_response import states_in_metadata_cache
from core.sim.units import SECOND, US_PER_MS
from scenarios.releases import release_named
from tui.cli import main

SCRIPT = """
scenario: cut
cluster:
  brokers: 3
  topics: {orders: {replicas: [[1, 2, 3]]}}
timeline:
  - load: {topic: orders, rate: 20}
  - at: 2s
    cut: [b1, b3]
  - wait: 40s
"""


def stale_for(release: str) -> tuple[int, int]:
    """Return how long, in ms, the ISR of ZooKeeper and of a broker differed after a shrink, and the number of changes of the broker's."""
    cluster = Cluster(ClusterSpec(tuple(map(BrokerSpec, (1, 2, 3))), (TopicSpec("orders", 1, 3),)), release_named(release), seed=1)
    cluster.do(acts.Load("orders", 20))
    cluster.run_until(2 * SECOND)
    tp, state = next(iter(cluster.controller.registry.partitions.items()))
    follower = next(broker for broker in state.replicas if broker != state.leader)
    cluster.do(acts.Cut((f"b{state.leader}", f"b{follower}")))
    different, shown = 0, []
    for _ in range(3_500):
        cluster.run_until(cluster.now + 20 * US_PER_MS)
        told = states_in_metadata_cache(cluster)
        assert told is not None
        different += told[tp].isr != cluster.controller.registry.partitions[tp].isr
        if not shown or told[tp].isr != shown[-1]:
            shown.append(told[tp].isr)
    assert follower not in shown[-1]
    return 20 * different, len(shown)


def test_the_isr_of_a_broker_is_older_before_2_7() -> None:
    """Leaders publish ISR changes at most every 2.5 s, and at the earliest 5 s after the last change (`ReplicaManager#maybePropagateIsrChanges`)."""
    late, changes = stale_for("2.4")
    assert 1_000 <= late <= 7_600
    assert changes == 2
    assert stale_for("2.8")[0] <= 40


@pytest.mark.parametrize("release", ["2.0", "4.3"])
def test_no_broker_is_asked_before_2_2_and_without_zookeeper(release: str) -> None:
    cluster = Cluster(ClusterSpec(tuple(map(BrokerSpec, (1, 2, 3))), (TopicSpec("orders", 1, 3),)), release_named(release), seed=1)
    assert states_in_metadata_cache(cluster) is None


def test_describe_asks_a_broker_and_with_zookeeper_prints_the_truth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cut.yaml").write_text(SCRIPT)
    found = set()
    for second in range(11, 24):
        lines = []
        for options in ([], ["--zookeeper"]):
            assert main(["describe", "cut.yaml", "--release", "2.4", "--at", f"{second}s", *options]) == 0
            lines.append("Isr: 1,2,3" in capsys.readouterr().out)
        found.add(tuple(lines))
    assert found == {(True, True), (True, False), (False, False)}, "first the same, then an old ISR, then the same again"
