"""A disk that becomes full while a file is written: one line, exit code 2, and nothing half that takes the place of something whole."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scenarios.logs.log_reader import LogReader

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = "f2-min-isr-2-two-down"

DESCRIBED = "Topic: orders\tPartitionCount: 900\tReplicationFactor: 3\tConfigs: \n" + "".join(
    f"\tTopic: orders\tPartition: {number}\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\n" for number in range(900)
)


def isrlab(folder: Path, *arguments: str, blocks: int = 0) -> subprocess.CompletedProcess[str]:
    """Run isrlab in a folder. With `blocks`, no file can grow beyond that many blocks, as if the disk were full."""
    limit = f"ulimit -f {blocks}; " if blocks else ""
    # Python would cache a module that does not fit in part, and could not import it again.
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    call = ["sh", "-c", f'{limit}exec "$@"', "sh", sys.executable, "-m", "tui", *arguments]
    return subprocess.run(call, cwd=folder, capture_output=True, text=True, env=env, timeout=300, check=False)


@pytest.mark.parametrize(("name", "blocks"), [("s.jsonl", 16), ("s.jsonl.zst", 48)])
def test_a_log_is_readable_up_to_where_the_disk_was_full(name: str, blocks: int, tmp_path: Path) -> None:
    done = isrlab(tmp_path, "run", SCENARIO, "--log", name, blocks=blocks)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"isrlab: {name}: cannot be written: File too large\n")
    reader = LogReader(tmp_path / name)
    events = list(reader)
    assert len(events) > 5
    assert reader.end is None
    assert [event[0] for event in events] == list(range(1, len(events) + 1))


def test_checkpoint_files_that_do_not_fit_leave_no_directory(tmp_path: Path) -> None:
    cluster = "cluster: {brokers: 3, topics: {orders: {partitions: 300, replication-factor: 3}}}"
    (tmp_path / "large.yaml").write_text(f"{cluster}\ntimeline: [{{load: {{topic: orders, rate: 3000}}}}, {{wait: 6s}}]")
    (tmp_path / "empty").mkdir()
    before = {path.name for path in tmp_path.iterdir()}
    for target in ("new/deep", "empty"):
        done = isrlab(tmp_path, "checkpoints", "large.yaml", "-o", target, blocks=1)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"isrlab: {target}: cannot be written: File too large\n")
        assert {path.name for path in tmp_path.iterdir()} == before
        assert not list((tmp_path / "empty").iterdir())
    assert isrlab(tmp_path, "checkpoints", "large.yaml", "-o", "new/deep").returncode == 0
    assert len(list((tmp_path / "new" / "deep").glob("broker-*/log-dir-1/orders-*/leader-epoch-checkpoint"))) == 900


@pytest.mark.parametrize(
    ("target", "arguments"),
    [
        ("r.xml", ("run", SCENARIO, "b2-high-watermark", "e1-data-loss", "--junit", "r.xml")),
        ("p.json", ("log", "export", "s.jsonl", "--perfetto", "p.json")),
        ("i.yaml", ("import", "d.txt", "-o", "i.yaml")),
    ],
)
def test_a_file_that_does_not_fit_leaves_the_one_that_stood_there(target: str, arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "d.txt").write_text(DESCRIBED)
    assert isrlab(tmp_path, "run", SCENARIO, "--log", "s.jsonl").returncode == 0
    (tmp_path / target).write_text("what stood there")
    before = {path.name for path in tmp_path.iterdir()}
    done = isrlab(tmp_path, *arguments, blocks=1)
    assert (done.returncode, done.stderr) == (2, f"isrlab: {target}: cannot be written: File too large\n")
    assert (tmp_path / target).read_text() == "what stood there"
    assert {path.name for path in tmp_path.iterdir()} == before
    assert isrlab(tmp_path, *arguments).returncode == 0
    assert (tmp_path / target).stat().st_size > 1_024
