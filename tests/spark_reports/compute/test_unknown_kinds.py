"""A report leaves out what another version of isrlab wrote, events of unknown kinds and unknown columns, and says how many there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from core.kafka.events import KINDS
from spark_reports.compute import compute_tables, load_logs
from spark_reports.compute.load_logs import LoadedLogs
from spark_reports.convert.convert_logs import convert_logs
from spark_reports.logs.find_logs import find_logs
from spark_reports.logs.session_log import open_log
from spark_reports.output import html, json_document
from spark_reports.rows.schema import DATASET_HEADER, DATASET_TAIL
from spark_reports.rows.staging import stage_logs
from spark_reports.tables.result import Report, Result
from tests.spark_reports.event_logs import event, log_text

pytestmark = pytest.mark.spark

KNOWN = [
    event(4, "topic-created", topic="a", partitions=1, replication_factor=1),
    event(5, "broker-paused", broker=1),
    event(6, "broker-paused", broker=2),
    event(9, "broker-resumed", broker=1, paused_us=4),
    event(9, "broker-paused", broker=1),
]
NEWER = "another version of isrlab wrote this log; 1 event of unknown kinds is skipped: meteorite (1)"
COLUMNS = "; unknown columns are ignored: broker-paused.mood (2), broker-resumed."


def newer_log(path: Path) -> Path:
    """Write a log with an event of an unknown kind, and with unknown columns, one of which has several types."""
    text = log_text(KNOWN, 30).replace('"kind": "broker-paused", "broker": 2', '"kind": "meteorite", "size": [1, 2]')
    text = text.replace('"paused_us": 4', '"paused_us": 4, "why": {"who": "<b>me</b>"}')
    text = text.replace('"kind": "broker-paused"', '"kind": "broker-paused", "mood": "sad"')
    path.write_text(text.replace('"mood": "sad"', '"mood": ["sad", 1]', 1))
    return path


def newer_dataset(directory: Path, log: Path) -> Path:
    """Write a Parquet dataset as a newer version of isrlab would convert a log to it."""
    log.write_text(log_text(KNOWN, 30))
    convert_logs([str(log)], str(directory), None, {}, lambda _: None)
    (file,) = directory.rglob("*.parquet")
    table = parquet.ParquetFile(file).read()
    kinds = table["kind"].to_pylist()
    at = kinds.index("broker-paused", kinds.index("broker-paused") + 1)
    kinds[at] = "meteorite"
    moods = ["sad" if kind == "broker-paused" else None for kind in kinds]
    whys = ["so" if kind == "broker-resumed" else None for kind in kinds]
    table = table.set_column(table.column_names.index("kind"), "kind", pa.array(kinds))
    parquet.write_table(table.append_column("mood", pa.array(moods)).append_column("wherefore", pa.array(whys)), file)
    return directory


def loaded(spark: Any, tmp_path: Path, paths: list[Path], staging: bool, said: list[str]) -> LoadedLogs:
    found = find_logs(paths)
    logs, columns = [open_log(path) for path in found.files], load_logs.needed_kinds_and_columns(charts=False)
    staged = stage_logs(logs if staging else [], found.datasets if staging else [], tmp_path / "staged", *columns)
    assert (len(staged.logs), len(staged.datasets)) == ((len(logs), len(found.datasets)) if staging else (0, 0))
    return load_logs.load_logs(spark, [] if staging else logs, staged, [], found.datasets, False, tmp_path, said.append)


@pytest.mark.parametrize("staging", [True, False], ids=["arrow", "spark"])
@pytest.mark.parametrize("written", [newer_log, newer_dataset], ids=["lines", "dataset"])
def test_what_is_unknown_is_counted(spark: Any, tmp_path: Path, staging: bool, written: Any) -> None:
    """Without Arrow, only events of unknown kinds are counted."""
    log, word = tmp_path / "newer.jsonl", "why" if written is newer_log else "wherefore"
    paths = [newer_log(log)] if written is newer_log else [newer_dataset(tmp_path / "set", log)]
    said: list[str] = []
    found = loaded(spark, tmp_path, paths, staging, said)
    assert said == list(found.notices) == [f"newer: {NEWER}{f'{COLUMNS}{word} (1)' if staging else ''}"]
    assert (found.refused, [log.session for log in found.logs]) == (0, ["newer"])
    assert {row["kind"] for row in found.frames.infrequent.collect()} - KINDS.keys() - {DATASET_HEADER, DATASET_TAIL} == {"meteorite"}
    spark.catalog.clearCache()


def test_the_report_says_what_it_leaves_out(spark: Any, tmp_path: Path) -> None:
    newer_log(tmp_path / "<b>.jsonl")
    found = loaded(spark, tmp_path, [tmp_path / "<b>.jsonl"], True, [])
    report = compute_tables.compute_tables(found, 10, [], False, lambda _: None)
    (kinds,) = (table for table in report.tables if table.name == "event_kinds")
    assert ("<b>", "meteorite", 1, 6, 6) in kinds.rows
    assert report.notices == (f"<b>: {NEWER}{COLUMNS}why (1)",)
    assert f'<p class="notice">&lt;b&gt;: {NEWER}{COLUMNS}why (1)</p>' in html.render(report)
    assert f'"notices": [\n    "<b>: {NEWER}{COLUMNS}why (1)"\n  ]' in json_document.render(report)
    spark.catalog.clearCache()


def test_a_report_of_known_logs_has_no_notices() -> None:
    sessions = Result("sessions", "Sessions", "", ("session", "release", "events", "end_us"), [("a", "4.3", 1, 2)])
    assert 'class="notice"' not in html.render(Report([sessions]))
