"""A report that does not fit on the disk is one line and exit code 2, and what stood in its place stays."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from spark_reports.errors import ReportError
from spark_reports.logs.unpack import unpack
from spark_reports.spark import failures
from spark_reports.spark.java import Java, java_home
from tests.spark_reports.event_logs import event, log_text, write_log

pytestmark = pytest.mark.spark

ROOT = Path(__file__).resolve().parents[2]

REPORT = """
import resource, sys
from spark_reports.compute import compute_tables
from tui.cli import main
compute = compute_tables.compute_tables
def limited(*arguments):
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))
    return compute(*arguments)
compute_tables.compute_tables = limited
sys.exit(main(["report", *sys.argv[1:]]))
"""
"""A program that runs `isrlab report`, and that cannot make a file larger than 512 bytes once Spark runs."""


@pytest.fixture
def full_disk() -> Iterator[None]:
    """While the test runs, no file of this process can grow beyond 512 bytes, as if the disk were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "options"),
    [("tables", ("-o", "tables")), ("page.html", ("--html", "page.html"))],
)
def test_a_report_that_does_not_fit_leaves_the_one_that_stood_there(target: str, options: tuple[str, ...], tmp_path: Path) -> None:
    write_log(tmp_path / "s.jsonl", [event(0, "topic-created", topic="orders", partitions=1, replication_factor=3)], end=3_000_000)
    (tmp_path / "tables" / "sessions").mkdir(parents=True)
    for name in ("page.html", "tables/sessions/part-00000.parquet"):
        (tmp_path / name).write_text("what stood there")
    before = {path: path.is_file() and path.read_text() for path in tmp_path.rglob("*")}
    done = subprocess.run(
        [sys.executable, "-c", REPORT, "s.jsonl", "-q", *options],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    (told,) = done.stderr.splitlines()
    assert told.endswith(": cannot be written: File too large")
    assert target in told
    assert {path: path.is_file() and path.read_text() for path in tmp_path.rglob("*")} == before


@pytest.mark.usefixtures("full_disk")
def test_a_compressed_log_that_cannot_be_unpacked_is_not_to_blame(tmp_path: Path) -> None:
    events = [event(number, "broker-stopped", broker=1, how="killed") for number in range(20)]
    packed = tmp_path / "s.jsonl.zst"
    packed.write_bytes(zstandard.ZstdCompressor().compress(log_text(events, 1_000).encode()))
    assert packed.stat().st_size < 512
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with pytest.raises(ReportError, match=r"s\.jsonl\.zst: cannot unpack this file to .*scratch: File too large"):
        unpack(packed, scratch)


@pytest.mark.usefixtures("full_disk")
def test_a_scratch_directory_without_space_is_named(tmp_path: Path) -> None:
    java = Java(Path("/opt/java"), 17, has_vector=True, origin="PATH")
    with pytest.raises(ReportError, match=rf"cannot write to {tmp_path}: File too large; set TMPDIR"):
        java_home(java, tmp_path, [tmp_path / "spark.jar"])


@pytest.mark.parametrize(("free", "noted"), [(1 << 20, True), (1 << 30, False)])
def test_a_failure_of_spark_on_a_full_disk_names_the_disk(free: int, noted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = failures.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(failures.shutil, "disk_usage", lambda _: usage._replace(free=free))
    assert (f"; the disk of {tmp_path} is full" in failures.disk_note(tmp_path / "scratch")) is noted
