"""A report that does not fit on the disk is one line and exit code 2, and what stood in its place stays."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
import zstandard

from spark_reports.compute import compute_tables
from spark_reports.errors import ReportError
from spark_reports.logs.unpack import unpack
from spark_reports.spark import failures
from spark_reports.spark.java import Java, java_home
from spark_reports.tables import spark_table
from spark_reports.tables.result import Report
from tests.spark_reports.conftest import Reported
from tests.spark_reports.event_logs import event, log_text, write_log
from tui.cli import main

pytestmark = pytest.mark.spark


@pytest.fixture
def full_disk() -> Iterator[None]:
    """While the test runs, no file of this process can grow beyond 512 bytes, as if the disk were full."""
    with no_larger_files():
        yield


@contextlib.contextmanager
def no_larger_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("in_this_session")
@pytest.mark.parametrize(
    ("target", "options"),
    [("tables", ("-o", "tables")), ("tables", ("-o", "tables", "--csv")), ("page.html", ("--html", "page.html"))],
)
def test_a_report_that_does_not_fit_leaves_the_one_that_stood_there(
    target: str,
    options: tuple[str, ...],
    tmp_path: Path,
    follower_killed: Reported,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The disk becomes full when Spark runs. Tables are written while they are computed, and a page is written afterwards."""
    write_log(tmp_path / "s.jsonl", [event(0, "topic-created", topic="orders", partitions=1, replication_factor=3)], end=3_000_000)
    (tmp_path / "tables" / "sessions").mkdir(parents=True)
    for name in ("page.html", "tables/sessions/part-00000.parquet", "tables/sessions.csv"):
        (tmp_path / name).write_text("what stood there")
    before = {path: path.is_file() and path.read_text() for path in tmp_path.rglob("*")}
    monkeypatch.chdir(tmp_path)
    with contextlib.ExitStack() as at_end:

        def compute_and_fill(*arguments: Any) -> Report:
            at_end.enter_context(no_larger_files())
            return compute(*arguments) if target == "tables" else follower_killed.report

        compute = compute_tables.compute_tables
        monkeypatch.setattr(compute_tables, "compute_tables", compute_and_fill)
        code = main(["report", "s.jsonl", "-q", *options])
    captured = capsys.readouterr()
    assert (code, captured.out) == (2, "")
    (told,) = captured.err.splitlines()
    assert told.endswith(": cannot be written: File too large")
    assert target in told
    assert {path: path.is_file() and path.read_text() for path in tmp_path.rglob("*")} == before


def test_tables_are_not_written_after_a_failure() -> None:
    """When one of several threads fails, the directory is removed. A thread that is writing must end before, and no other may begin."""
    written: list[str] = []
    started, may_end = Event(), Event()

    def slow(name: str, *_: object) -> None:
        started.set()
        assert may_end.wait(60)
        written.append(name)

    writers = spark_table.UntilClosed([slow])
    (write,) = writers.writers
    running, closing = Thread(target=write, args=("first", None, None)), Thread(target=writers.close)
    running.start()
    assert started.wait(60)
    closing.start()
    assert closing.is_alive()
    may_end.set()
    closing.join(60)
    assert written == ["first"]
    running.join(60)
    write("second", None, None)  # type: ignore[arg-type]
    assert written == ["first"]


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
