"""Checkpoint files in Kafka's formats: written, read, refused, compared, and converted to a cluster again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.kafka.ids import TopicPartition
from core.kafka.log import checkpoint_files
from core.kafka.release import CURRENT
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from scenarios.errors import InputError
from scenarios.exports import checkpoints
from scenarios.exports.cluster_at import cluster_at as moment_of_log
from scenarios.logs.log_header import make_header
from scenarios.logs.log_writer import LogWriter
from tui.cli import main


def cluster_at(seconds: int) -> Cluster:
    spec = ClusterSpec(
        (BrokerSpec(1, log_dirs=2), BrokerSpec(2)), (TopicSpec("t", assignment=(PartitionSpec((1, 2)), PartitionSpec((1, 2)))),)
    )
    cluster = Cluster(spec)
    cluster.do(acts.Produce("t", 100, partition=0))
    cluster.do(acts.Produce("t", 40, partition=1))
    cluster.run_until(seconds * SECOND)
    return cluster


def test_an_offset_checkpoint_is_written_as_kafka_writes_it() -> None:
    offsets = {TopicPartition("orders", 0): 5, TopicPartition("a.b-c", 12): 0}
    text = checkpoint_files.format_offsets(offsets)
    assert text == "0\n2\norders 0 5\na.b-c 12 0\n"
    assert checkpoint_files.parse_offsets(text) == offsets


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: found 'nothing'; the version must be 0"),
        ("1\n0\n", "line 1: found '1'; the version must be 0"),
        ("0\nx\n", "line 2: found 'x'; it must be the number of entries"),
        ("0\n2\na 0 1\n", "line 2: the number of entries is 2, but the file has 1"),
        ("0\n1\na 0 -1\n", "line 3: found 'a 0 -1'; it must be `topic partition offset`"),
        ("0\n2\na 0 1\na 0 2\n", "line 4: a-0 appears twice"),
    ],
)
def test_a_wrong_offset_checkpoint_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(ValueError, match="replication-offset-checkpoint") as refused:
        checkpoint_files.parse_offsets(text)
    assert message in str(refused.value)


def test_b5_high_watermarks_are_written_every_five_seconds_for_each_log_directory() -> None:
    before, after = checkpoints.tree_of(cluster_at(4)), checkpoints.tree_of(cluster_at(6))
    assert before["broker-1/log-dir-1"]["replication-offset-checkpoint"] == "0\n0\n"
    assert after["broker-1/log-dir-1"]["replication-offset-checkpoint"] == "0\n1\nt 0 100\n"
    assert after["broker-1/log-dir-2"]["replication-offset-checkpoint"] == "0\n1\nt 1 40\n"
    assert after["broker-2/log-dir-1"]["replication-offset-checkpoint"] == "0\n2\nt 0 100\nt 1 40\n"
    assert after["broker-2/log-dir-1"]["t-1/leader-epoch-checkpoint"] == "0\n1\n0 0\n"
    assert ".kafka_cleanshutdown" not in after["broker-2/log-dir-1"]
    meta = checkpoint_files.parse_meta_properties(after["broker-1/log-dir-2"]["meta.properties"])
    assert meta["node.id"] == "1"
    assert len(meta["directory.id"]) == 22


def test_a_clean_shutdown_writes_the_marker_and_all_checkpoints() -> None:
    cluster = cluster_at(3)
    cluster.do(acts.Shutdown(2))
    cluster.run_until(6 * SECOND)
    files = checkpoints.tree_of(cluster)["broker-2/log-dir-1"]
    assert files["recovery-point-offset-checkpoint"] == files["replication-offset-checkpoint"] == "0\n2\nt 0 100\nt 1 40\n"
    assert files[".kafka_cleanshutdown"].startswith('{"version":0,"brokerEpoch":')


def test_a_tree_is_written_read_compared_and_made_a_cluster(tmp_path: Path) -> None:
    tree = checkpoints.tree_of(cluster_at(6))
    checkpoints.write_tree(tree, tmp_path / "out")
    assert checkpoints.read_tree(tmp_path / "out") == tree
    with pytest.raises(InputError, match="not empty"):
        checkpoints.write_tree(tree, tmp_path / "out")
    (tmp_path / "out/broker-2/log-dir-1/replication-offset-checkpoint").write_text("0\n1\nt 0 90\n")
    assert checkpoints.differences(tree, checkpoints.read_tree(tmp_path / "out")) == [
        "broker-2/log-dir-1/replication-offset-checkpoint: t-0: 100 in the first directory, 90 in the second",
        "broker-2/log-dir-1/replication-offset-checkpoint: t-1: 40 in the first directory, nothing in the second",
    ]
    spec = checkpoints.spec_of(tree)
    assert [(broker.id, broker.log_dirs) for broker in spec.brokers] == [(1, 2), (2, 1)]
    assert [placed.replicas for placed in spec.topics[0].assignment] == [(1, 2), (1, 2)]
    Cluster(spec)
    (tmp_path / "out/broker-2/log-dir-1/meta.properties").write_text("node.id=x\n")
    with pytest.raises(InputError, match=r"meta\.properties: meta\.properties: found 'x' as node\.id; it must be the broker's number"):
        checkpoints.read_tree(tmp_path / "out")


def test_the_command_gives_a_log_and_its_scenario_the_same_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, out = str(tmp_path / "log.jsonl"), str(tmp_path / "out")
    assert main(["run", "d4-log-dir-failure", "--release", "4.1", "--log", log]) == 0
    assert main(["checkpoints", "d4-log-dir-failure", "--at", "10s", "-o", out]) == 0
    assert "files of 5 log directories" in capsys.readouterr().out, "a failed one has none"
    assert main(["checkpoints", log, "--at", "10s", "--check", out]) == 0
    assert main(["checkpoints", log, "--at", "20s", "--check", out]) == 1
    assert "replication-offset-checkpoint: orders-" in capsys.readouterr().out
    assert main(["checkpoints", out]) == 0
    assert "log-dirs: 2" in capsys.readouterr().out
    assert main(["checkpoints", log]) == 2


def test_a_log_is_played_to_its_end_also_when_nothing_happens_there(tmp_path: Path) -> None:
    spec = ClusterSpec((BrokerSpec(1),), (TopicSpec("t", 1, 1),))
    ended, killed = tmp_path / "ended.jsonl", tmp_path / "killed.jsonl"
    with LogWriter(ended, make_header(spec, CURRENT, 0, None)) as writer:
        cluster = Cluster(spec, CURRENT, 0, writer)
        cluster.run_until(2 * SECOND)
        cluster.do(acts.Produce("t", 1, partition=0))
        cluster.run_until(3 * SECOND)
        writer.close(9 * SECOND)
    killed.write_bytes(b"".join(ended.read_bytes().splitlines(keepends=True)[:-1]))
    ends = [moment_of_log(str(path), None, log=True).now for path in (ended, killed)]
    assert ends[0] == 9 * SECOND
    assert 2 * SECOND <= ends[1] <= 3 * SECOND


@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_in_a_tree_is_refused(linked: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    checkpoints.write_tree(checkpoints.tree_of(cluster_at(6)), out)
    place, pipe = out / "broker-1/log-dir-1/pipe", tmp_path / "pipe"
    os.mkfifo(pipe)
    if linked:
        place.symlink_to(pipe)
    else:
        pipe.rename(place)
    for command in (["checkpoints", str(out)], ["checkpoints", "b2-high-watermark", "--check", str(out)]):
        assert main(command) == 2
        assert f"{place}: not a regular file; a directory tree contains broker-N/log-dir-N/… with regular files" in capsys.readouterr().err
