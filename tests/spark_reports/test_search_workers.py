"""A search finds the same alone, in processes, and on Spark."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

from spark_reports.spark import session
from tui.cli import main

SCRIPT = """
cluster:
  brokers: 2
  topics: {orders: {replication-factor: 2, config: {min.insync.replicas: 1}}}
"""


@pytest.mark.spark
def test_a_search_prints_the_same_alone_in_processes_and_on_spark(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Findings come while other runs are under way, and hand their situations over to other kinds of faults."""
    monkeypatch.setattr(session, "spark_session", lambda *_, **__: contextlib.nullcontext(spark))
    script = tmp_path / "mine.yaml"
    script.write_text(SCRIPT)
    options = ["--acks", "1", "--faults", "pause,kill", "--within", "13s", "--prune", "repeats", "--json", "--evidence"]
    printed = []
    for where in ([], ["--processes", "2"], ["--master", "local[2]"]):
        assert main(["explore", str(script), *options, *where]) == 1
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] == printed[2]
    assert '"acts": [' in printed[0]


def test_a_master_that_cannot_be_used_is_told_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "mine.yaml"
    script.write_text(SCRIPT)
    assert main(["explore", str(script), "--master", "nowhere"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[-1].startswith("isrlab: --master: ")
    assert "nowhere" in said[-1]
