"""If a log has none of the events from which a table follows, the table is empty and is not computed. The declarations of the summaries are
checked.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from spark_reports.compute import compute_tables, load_logs
from spark_reports.logs.session_log import open_log
from spark_reports.rows.schema import FREQUENT_KINDS
from spark_reports.rows.staging import stage_logs
from spark_reports.summaries.clients.harm import HARM
from spark_reports.summaries.registry import CHARTS, SUMMARIES
from spark_reports.tables import spark_table
from tests.spark_reports.conftest import Tables
from tests.spark_reports.event_logs import event, write_log
from tests.spark_reports.together import Writer, summarized_together


@summarized_together
def write_session(folder: Path) -> tuple[list[Path], None]:
    """Write a session in which one broker starts, and nothing else happens. All tables of this session are empty."""
    return [write_log(folder / "only-a-broker.jsonl", [event(0, "broker-started", broker=1)], 10)], None


@pytest.mark.parametrize("summary", [*SUMMARIES, *CHARTS], ids=lambda summary: summary.name)
def test_rows_follow_from_kinds_that_the_table_needs(summary: Any) -> None:
    assert summary.rows_from
    assert set(summary.rows_from) <= set(summary.kinds)


@pytest.mark.spark
def test_without_these_kinds_a_session_has_no_rows(
    logs_together: dict[Writer, tuple[Sequence[Path], Any]], tables_together: Tables
) -> None:
    """Every kind occurs in at least one of the logs, so every table is computed. Many sessions lack the kinds of some tables."""
    kinds: dict[str, set[str]] = {}
    for paths, _ in logs_together.values():
        for path in paths:
            with path.open(encoding="utf-8") as lines:
                kinds[path.stem] = {json.loads(line).get("kind", "") for line in lines} | FREQUENT_KINDS
    for summary in (*SUMMARIES, *CHARTS):
        without = {session for session, found in kinds.items() if found.isdisjoint(summary.rows_from)}
        assert without or not FREQUENT_KINDS.isdisjoint(summary.rows_from), summary.name
        assert not without & {row["session"] for row in tables_together[summary.name]}, summary.name


@pytest.mark.spark
def test_what_follows_from_no_event_is_empty_and_not_computed(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """isrlab does not check whether frequent events occur, so tables that follow from them are always computed. To save time, this test
    omits these tables.
    """
    log = write_log(tmp_path / "session.jsonl", [event(0, "broker-started", broker=1)], 10)
    staged = stage_logs([open_log(log)], [], tmp_path / "staged", *load_logs.needed_kinds_and_columns(charts=False))
    loaded = load_logs.load_logs(spark, [], staged, [], [], False, tmp_path, lambda _: None)

    def refuse(inputs: Any) -> Any:
        raise AssertionError("this table is empty")

    rare = [attrs.evolve(summary, compute=refuse) for summary in SUMMARIES if FREQUENT_KINDS.isdisjoint(summary.rows_from)]
    monkeypatch.setattr(compute_tables, "SUMMARIES", rare)
    place = tmp_path / "out"
    report = compute_tables.compute_tables(loaded, 100, [spark_table.parquet(place)], False, lambda _: None)
    for found, summary in zip(report.tables[2:], rare, strict=True):
        assert (found.name, found.columns, list(found.rows), found.more) == (summary.name, tuple(summary.schema.names), [], 0)
    assert spark.read.parquet(str(place / "harm")).schema == HARM.schema
    assert report.totals["events"] == 1
    assert report.totals["longest_no_reads_us"] == 0
