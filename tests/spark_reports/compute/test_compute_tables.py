"""Spark generates code for sessions with many events, but not for sessions with few events. The tables are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spark_reports.compute import compute_tables, load_logs
from spark_reports.logs.session_log import open_log
from spark_reports.output import html
from spark_reports.rows.staging import stage_logs
from tests.spark_reports.conftest import Reported

pytestmark = pytest.mark.spark


def test_the_tables_of_many_and_of_few_events_are_the_same(
    tmp_path: Path, spark: Any, follower_killed: Reported, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert follower_killed.events <= compute_tables.SMALL_EVENTS
    monkeypatch.setattr(compute_tables, "SMALL_EVENTS", 0)
    generating = spark.newSession()
    for name, value in (("spark.sql.codegen.wholeStage", "true"), ("spark.sql.codegen.factoryMode", "CODEGEN_ONLY")):
        generating.conf.set(name, value)
    staged = stage_logs([open_log(follower_killed.log)], [], tmp_path / "staged", *load_logs.needed_kinds_and_columns(charts=False))
    loaded = load_logs.load_logs(generating, [], staged, [], [], False, tmp_path, lambda _: None)
    assert loaded.interpreting is not generating
    report = compute_tables.compute_tables(loaded, html.ROWS, [], False, lambda _: None)
    assert report.tables == follower_killed.report.tables
    assert report.totals == follower_killed.report.totals
    assert all(len(table.rows) > 0 for table in report.tables if table.name in ("elections", "records", "produce_latency", "lag"))
