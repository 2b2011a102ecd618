"""`main_report` from end to end: the content of stdout, stderr, and the files."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import zstandard
from pyarrow import parquet

from scenarios.io.csv_values import csv_value
from spark_reports.report import main_report
from tests.spark_reports.event_logs import HEADER, event, log_text, write_log

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]


def report(*paths: Path, environ: Mapping[str, str] | None = None, cwd: Path = ROOT, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run `main_report` in a fresh interpreter."""
    code = (
        f"import sys; from spark_reports.report import main_report; sys.exit(main_report({[str(path) for path in paths]!r}, **{options!r}))"
    )
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=cwd,
        env={**(os.environ if environ is None else environ), "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def without_java(tmp_path: Path) -> dict[str, str]:
    """Return an environment with every program on this machine except `java`."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for directory in ("/usr/local/bin", "/usr/bin", "/bin"):
        for tool in Path(directory).iterdir():
            if not tool.name.startswith("java") and not (tools / tool.name).is_symlink():
                (tools / tool.name).symlink_to(tool)
    return {"PATH": str(tools), "HOME": str(tmp_path)}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write three good logs, one of which is compressed and one of which is torn, and six bad ones."""
    place = tmp_path_factory.mktemp("logs")
    changed = {"topic": "orders", "partition": 0, "replicas": [1, 2, 3]}
    events = [
        event(0, "topic-created", topic="orders", partitions=1, replication_factor=3),
        event(0, "partition-changed", **changed, leader=1, isr=[1, 2, 3]),
        event(1_000_000, "leader-elected", topic="orders", partition=0, leader=2, election="unclean"),
        event(1_000_000, "partition-changed", **changed, leader=2, isr=[2]),
        event(1_000_000, "records-lost", topic="orders", partition=0, from_offset=500, to_offset=1000),
        event(1_000_000, "produce-acked", topic="orders", partition=0, records=3, acks=-1, latency_us=2_500),
    ]
    logs = place / "logs {a,b} [x]* #1 ünï%20"
    logs.mkdir()
    write_log(logs / "_good: one.jsonl", events, end=3_000_000)
    (logs / "[red]killed.jsonl").write_text(log_text(events, None) + '{"seq": 6, "t": 1000')
    (logs / "wrong-line.jsonl").write_text(json.dumps(HEADER) + "\n" + json.dumps({"seq": 1} | events[0]) + '\n{"seq": 2, "t": "now"}\n')
    (logs / "binary.jsonl").write_bytes(bytes(range(256)))
    (logs / "newer.jsonl").write_text(json.dumps(HEADER | {"version": 99}) + "\n")
    (logs / "empty.jsonl").touch()
    (logs / "huge-line.jsonl").write_text(log_text(events, None) + '{"seq": 6, "t": "' + "9" * (20 << 20) + '"}\n')
    packed = zstandard.ZstdCompressor().compress(log_text(events[:2], 2_000_000).encode())
    (logs / "packed.jsonl.zst").write_bytes(packed)
    (logs / "damaged.jsonl.zst").write_bytes(packed[:30] + bytes(30))
    return logs


def check_messages(stderr: str) -> None:
    """Check that stderr has the progress, one message for each bad log, one for the torn log, and nothing of Spark's own."""
    assert "WARN" not in stderr
    told = stderr.splitlines()
    complaints = [line for line in told if line.startswith("isrlab: ")]
    assert len(complaints) == 7, stderr
    progress = [line for line in told if line not in complaints]
    assert (progress[0], progress[1].split(" (")[0]) == ("starting Spark …", "reading 5 logs")
    assert max(map(len, complaints)) < 400
    names = (
        "[red]killed.jsonl",
        "wrong-line.jsonl:3: ",
        "binary.jsonl:1: ",
        "newer.jsonl:1: ",
        "empty.jsonl:1: ",
        "huge-line",
        "damaged.jsonl.zst",
    )
    for name in names:
        assert sum(name in line for line in complaints) == 1


def test_good_and_bad_logs_together_without_java(logs: Path, tmp_path: Path) -> None:
    """A process of its own starts the Java that comes with the packages. `test_clusters` tests the Java of this machine.

    The event log of Spark is complete.
    """
    cwd, told = tmp_path / "cwd", tmp_path / "told"
    cwd.mkdir()
    told.mkdir()
    conf = [
        "spark.eventLog.enabled=true",
        f"spark.eventLog.dir={told.as_uri()}",
        "spark.eventLog.rolling.enabled=false",
        "spark.eventLog.compress=false",
    ]
    done = report(logs, environ=without_java(tmp_path), cwd=cwd, compare=True, conf=conf)
    assert done.returncode == 2, done.stderr
    (event_log,) = told.iterdir()
    assert event_log.suffix != ".inprogress"
    assert "SparkListenerApplicationEnd" in event_log.read_text().splitlines()[-1]
    check_messages(done.stderr)
    shown = [line.split() for line in done.stdout.splitlines()]
    assert ["records", "lost", "500", "500", "0", "yes"] in shown
    assert list(cwd.iterdir()) == []


@pytest.mark.usefixtures("in_this_session")
def test_tables_for_people_csv_and_parquet_in_one_run(logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`test_clusters` tests JSON."""
    assert main_report([logs], out_dir=tmp_path / "out", csv=True, parquet=True) == 2
    done = capsys.readouterr()
    check_messages(done.err)
    written = {path.name for path in (tmp_path / "out").iterdir()}
    names = {path.stem for path in (tmp_path / "out").glob("*.csv")}
    assert {"sessions", "overview", "elections", "records", "comparison"} < names
    assert written == {f"{name}.csv" for name in names} | names - {"comparison"}
    assert all(list((tmp_path / "out" / name).glob("*.parquet")) for name in names - {"comparison"})
    for name in names - {"comparison"}:
        with (tmp_path / "out" / f"{name}.csv").open(newline="") as file:
            header, *lines = csv.reader(file)
        dataset = parquet.read_table(tmp_path / "out" / name)
        assert dataset.column_names == header
        assert [[str(csv_value("" if value is None else value)) for value in row.values()] for row in dataset.to_pylist()] == lines, name

    def rows(name: str, *columns: str) -> list[tuple[str, ...]]:
        with (tmp_path / "out" / f"{name}.csv").open(newline="") as file:
            return [tuple(row[column] for column in columns) for row in csv.DictReader(file)]

    assert sorted(rows("sessions", "session", "end_us", "ended", "torn")) == [
        ("[red]killed", "1000000", "false", "true"),
        ("_good: one", "3000000", "true", "false"),
        ("packed", "2000000", "true", "false"),
    ]
    assert sorted(rows("elections", "session", "unclean")) == [("[red]killed", "1"), ("_good: one", "1")]
    assert [sum(int(of) for (of,) in rows("availability", "under_replicated_us"))] == [2_000_000]
    assert rows("records", "lost") == [("500",), ("500",)]
    assert sorted(rows("overview", "session", "records_lost")) == [("[red]killed", "500"), ("_good: one", "500"), ("packed", "0")]
    shown = [line.split() for line in done.out.splitlines()]
    assert ["records", "lost", "500", "500", "0", "yes"] in shown
    assert ["[red]killed", "orders", "all", "1", "3", "0", "0", "2.5ms", "2.5ms", "2.5ms", "2.5ms", "-"] in shown


def test_a_master_that_is_none_is_one_message(tmp_path: Path) -> None:
    log = write_log(tmp_path / "s.jsonl", [], end=10)
    done = report(log, master="nonsense", quiet=True)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("isrlab: --master: 'nonsense' is not a Spark master; ")


def test_only_bad_logs_start_no_spark(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("hello\n")
    done = report(tmp_path / "bad.jsonl", tmp_path / "none.jsonl")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 2)
    assert "starting Spark" not in done.stderr
