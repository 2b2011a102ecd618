"""A report leaves out events of unknown kinds, and says how many there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spark_reports.compute import load_logs
from spark_reports.logs.session_log import open_log
from spark_reports.rows.staging import stage_logs
from tests.spark_reports.event_logs import event, log_text

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("staging", [True, False], ids=["arrow", "spark"])
def test_events_of_unknown_kinds_are_counted(spark: Any, tmp_path: Path, staging: bool) -> None:
    known = [event(5, "broker-paused", broker=1), event(6, "broker-paused", broker=2), event(9, "broker-resumed", broker=1, paused_us=4)]
    path = tmp_path / "newer.jsonl"
    text = log_text([event(4, "topic-created", topic="a", partitions=1, replication_factor=1), *known], 30)
    path.write_text(text.replace('"kind": "broker-paused", "broker": 2', '"kind": "meteorite", "size": [1, 2]'))
    log = open_log(path)
    staged = stage_logs([log] if staging else [], [], tmp_path / "staged", *load_logs.needed_kinds_and_columns(charts=False))
    assert len(staged.logs) == staging
    said: list[str] = []
    loaded = load_logs.load_logs(spark, [] if staging else [log], staged, [], [], False, tmp_path, said.append)
    assert said == ["newer: another version of isrlab wrote this log; 1 event of unknown kinds is skipped: meteorite (1)"]
    assert (loaded.refused, [log.session for log in loaded.logs]) == (0, ["newer"])
    assert {row["seq"]: row["kind"] for row in loaded.frames.infrequent.collect()}[3] == "meteorite"
    spark.catalog.clearCache()
