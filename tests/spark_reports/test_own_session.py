"""Logs and summaries in a Spark session that the caller has started, as docs/reports.md shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import zstandard
from pyspark.errors import PySparkException, StreamingQueryException

from core.kafka.events import KINDS
from spark_reports import count_unknown, list_summaries, register, summary
from spark_reports.compute.load_logs import load_logs, needed_kinds_and_columns
from spark_reports.errors import ReportError
from spark_reports.logs.session_log import open_log
from spark_reports.rows.schema import DATASET_HEADER, DATASET_TAIL, ENVELOPE_NAMES, SESSION, dataset_schema
from spark_reports.rows.staging import stage_logs
from tests.spark_reports.compute.test_unknown_kinds import newer_log
from tests.spark_reports.conftest import Reported
from tests.spark_reports.event_logs import event, log_text, write_log
from tests.spark_reports.streams import to_the_end

pytestmark = pytest.mark.spark

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reports.md"


@pytest.fixture(scope="module")
def own(spark: Any) -> Any:
    """Provide a session with the data source, and with Spark's default for names, which `isrlab report` changes."""
    session = spark.newSession()
    session.conf.set("spark.sql.caseSensitive", "false")
    register(session)
    return session


def test_the_rows_are_those_that_a_report_loads(own: Any, spark: Any, tmp_path: Path) -> None:
    """The report reads the logs with Spark's parser of JSON."""
    links = tmp_path / "links"
    links.mkdir()
    paths = [newer_log(tmp_path / "newer.jsonl"), tmp_path / "[x] packed ö.jsonl"]
    lag = {"broker": 2, "leader": 1, "to_offset": 2**40}
    created = event(6, "topic-created", topic="ö", partitions=1, replication_factor=2)
    events = [created, event(7, "follower-append", topic="ö", **lag), event(8, "partition-changed", topic="ö", replicas=[1, 2], isr=[2])]
    paths[1].write_text(log_text(events, None) + '{"seq": 4, "t": 9')
    # A column that other kinds have as text would have to be text.
    paths[0].write_text(paths[0].read_text().replace('"why"', '"wherefore"'))
    kinds, columns = needed_kinds_and_columns(charts=True)
    staged = stage_logs([], [], links, kinds, columns)
    wanted = [SESSION, *ENVELOPE_NAMES, *columns]
    loaded = load_logs(spark, [open_log(path) for path in paths], staged, [], [], True, links, lambda _: None)
    expected = loaded.frames.events.select(*wanted).collect()
    spark.catalog.clearCache()

    paths[1].with_suffix(".jsonl.zst").write_bytes(zstandard.ZstdCompressor().compress(paths[1].read_bytes()))
    paths[1].unlink()
    rows = own.read.format("isrlab").load(str(tmp_path))
    assert rows.schema == dataset_schema()
    assert rows.rdd.getNumPartitions() == 2
    every = rows.collect()
    assert "meteorite" in {row["kind"] for row in every}
    unknown = {row["kind"] for row in every} - KINDS.keys() - {DATASET_HEADER, DATASET_TAIL}
    found = [tuple(row[name] for name in wanted) for row in every if row["kind"] in {*kinds, *unknown}]
    assert sorted(found, key=repr) == sorted(map(tuple, expected), key=repr)
    ends = {row["session"]: (row["seq"], row["t"], row["line"]) for row in every if row["kind"] == DATASET_TAIL}
    assert ends == {"newer": (6, 30, '{"end": true, "t": 30, "events": 5}\n'), "[x] packed ö": (4, 8, '{"seq": 4, "t": 9')}


def test_the_example_of_the_page_gives_the_table_of_the_report(spark: Any, follower_killed: Reported) -> None:
    example, _ = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    # Spark finds relative paths where Java was started.
    assert example.count('"logs/"') == 1
    names: dict[str, Any] = {}
    exec(example.replace('"logs/"', repr(str(follower_killed.log))), names)
    (expected,) = (table for table in follower_killed.report.tables if table.name == "availability")
    frame = names["availability"]
    assert sorted(map(tuple, frame.select(*expected.columns).collect())) == sorted(expected.rows)
    assert frame.schema.names == next(each.schema.names for each in list_summaries() if each.name == "availability")
    assert expected.rows
    events = names["events"]
    with pytest.raises(ReportError, match="no summary 'nothing'"):
        summary(events, "nothing")
    with pytest.raises(ReportError, match="rows of the kinds log-header and log-tail are missing"):
        summary(events.where("kind = 'leader-elected'"), "elections")
    spark.catalog.clearCache()


def test_what_is_not_a_log_is_one_message(own: Any, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("hello\n")
    with pytest.raises(PySparkException, match=r"bad\.jsonl:1: .*event log") as wrong:
        own.read.format("isrlab").load(str(tmp_path / "bad.jsonl")).count()
    assert str(wrong.value).count("bad.jsonl:1: ") == 1
    log = write_log(tmp_path / "line.jsonl", [event(1, "broker-paused", broker=1), event(2, "broker-paused", broker=2)], 5)
    log.write_text(log.read_text().replace('"t": 2', '"t": "2"'))
    with pytest.raises(PySparkException, match=r"line\.jsonl: some lines are not events") as wrong:
        own.read.format("isrlab").load([str(log)]).collect()


def test_what_a_newer_version_wrote_is_kept_and_counted(own: Any, tmp_path: Path) -> None:
    log = newer_log(tmp_path / "newer.jsonl")
    rows = own.read.format("isrlab").load(str(log))
    assert sorted(map(tuple, count_unknown(rows).collect()), key=str) == [
        ("newer", "broker-paused", "mood", 2),
        ("newer", "broker-resumed", "why", 1),
        ("newer", "meteorite", None, 1),
    ]
    lines = log.read_text().splitlines()
    every = rows.orderBy("seq").select("kind", "broker", "line").collect()
    assert [row["line"] for row in every[1:-1]] == [None, *lines[2:6]]
    assert [row["broker"] for row in every if row["kind"].startswith("broker")] == [1, 1, 1]


def test_a_stream_has_the_rows_of_the_finished_logs(own: Any, tmp_path: Path) -> None:
    """Each query ends with what is complete, and the next one goes on from its checkpoint."""
    logs, out = tmp_path / "logs", str(tmp_path / "out")
    logs.mkdir()
    created = event(6, "topic-created", topic="ö", partitions=1, replication_factor=2)
    events = [created, *(event(t, "follower-append", topic="ö", broker=2, leader=1, to_offset=2**40 + t) for t in range(7, 12))]
    whole = log_text(events, 20).encode()
    cut = whole.rindex("ö".encode()) + 1

    def read() -> None:
        rows = own.readStream.format("isrlab").load(str(logs)).writeStream.format("parquet").trigger(availableNow=True)
        to_the_end(rows.option("checkpointLocation", str(tmp_path / "checkpoint")), out)

    (logs / "grows.jsonl").write_bytes(whole[:cut])
    read()
    (logs / "grows.jsonl").write_bytes(whole)
    write_log(logs / "later.jsonl", events[:1], 9)
    read()
    expected = own.read.format("isrlab").load(str(logs)).collect()
    found = own.read.parquet(out).select(*dataset_schema().names).collect()
    assert sorted(map(tuple, found), key=repr) == sorted(map(tuple, expected), key=repr)
    assert len(expected) == 8 + 3

    (logs / "grows.jsonl").write_bytes(whole[:cut])
    with pytest.raises(StreamingQueryException, match=r"grows\.jsonl: this log was replaced, shortened, or removed") as wrong:
        read()
    assert str(wrong.value).count("was replaced, shortened") == 1
