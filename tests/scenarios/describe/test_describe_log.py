"""The describe output of a log, computed from its events."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.kafka.release import CURRENT
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from scenarios.logs.log_header import make_header
from scenarios.logs.log_writer import LogWriter
from tui.cli import main


def test_a_topic_that_is_created_in_a_session_has_the_config_it_was_created_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = ClusterSpec((BrokerSpec(1), BrokerSpec(2)))
    log = tmp_path / "s.jsonl"
    with LogWriter(log, make_header(spec, CURRENT, 0, None)) as writer:
        cluster = Cluster(spec, CURRENT, 0, writer)
        cluster.run_until(SECOND)
        cluster.do(acts.CreateTopic("made", 1, 2, config=(("min.insync.replicas", "2"),)))
        cluster.run_until(3 * SECOND)
        writer.close(cluster.now)
    assert main(["describe", str(log)]) == 0
    (headline,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Topic: made\t") and "PartitionCount" in line]
    assert headline.endswith("Configs: min.insync.replicas=2")
