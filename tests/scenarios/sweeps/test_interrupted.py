"""A sweep that kill -9 or a full disk ended continues with the same command, and its result is the same as if nothing had happened."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.scenarios.sweeps.test_model_sweep import TEXT

ROOT = Path(__file__).resolve().parents[3]
RUNS = 6

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
"""The environment of a process with a limit on its files. It compiles no modules, because Python keeps the ones that it could write only
in part.
"""


def sweep(folder: Path, out: str, *, blocks: int = 0) -> subprocess.Popen[str]:
    """Start a sweep on two processes in its own session. With `blocks`, no file can grow beyond that many blocks."""
    limit = f"ulimit -f {blocks}; " if blocks else ""
    command = ["-m", "tui", "sweep", "g.yaml", "--runs", str(RUNS), "--processes", "2", "-o", out, "-q"]
    return subprocess.Popen(
        ["sh", "-c", f'{limit}exec "$@"', "sh", sys.executable, *command],
        cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the table of all runs of a sweep that nothing disturbs."""
    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / "g.yaml").write_text(TEXT)
    process = sweep(folder, "out")
    _, told = process.communicate(timeout=300)
    assert process.returncode == 0, told
    return (folder / "out" / "runs.csv").read_text()


def test_a_killed_sweep_continues(undisturbed: str, tmp_path: Path) -> None:
    (tmp_path / "g.yaml").write_text(TEXT)
    process = sweep(tmp_path, "out")
    try:
        deadline = time.monotonic() + 240
        while not list((tmp_path / "out").glob("chunks/*.jsonl")):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert not (tmp_path / "out" / "runs.csv").exists()
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "chunks").glob("*.jsonl")}
    again = sweep(tmp_path, "out")
    _, told = again.communicate(timeout=300)
    assert again.returncode == 0, told
    assert (tmp_path / "out" / "runs.csv").read_text() == undisturbed
    assert all(path.stat().st_mtime_ns == written for path, written in kept.items()), "finished runs are not repeated"


def test_a_sweep_on_a_full_disk_continues_on_a_larger_one(undisturbed: str, tmp_path: Path) -> None:
    (tmp_path / "g.yaml").write_text(TEXT)
    process = sweep(tmp_path, "out", blocks=1)
    _, told = process.communicate(timeout=300)
    assert process.returncode == 2
    assert told.splitlines()[-1].startswith("isrlab: ")
    assert "File too large" in told.splitlines()[-1]
    assert "Traceback" not in told
    again = sweep(tmp_path, "out")
    _, told = again.communicate(timeout=300)
    assert again.returncode == 0, told
    assert (tmp_path / "out" / "runs.csv").read_text() == undisturbed
