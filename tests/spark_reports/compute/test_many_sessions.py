"""Many sessions in one report: the figures cover all sessions, the omitted rows are the least severe and are mentioned, and the driver
holds few rows.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from spark_reports.compute import compute_tables, load_logs
from spark_reports.logs.session_log import open_log
from spark_reports.output import html, json_document, terminal
from spark_reports.rows.staging import stage_logs
from spark_reports.tables import spark_table
from spark_reports.tables.result import Report
from tests.spark_reports.event_logs import event, write_log

pytestmark = pytest.mark.spark

SESSIONS = 56
SHOWN = 50
END = 1_000_000
"""When the sessions end, in µs. Outages while a cluster is still starting are left out."""

PART = 16
"""The number of rows in each part of a file."""

LAST, BEFORE = (f"s{SESSIONS - number:03d}" for number in (1, 2))
"""The names of the last two sessions."""

A = {"topic": "a", "partition": 0}


def _events(number: int) -> list[dict[str, Any]]:
    """Return the events of sessions. Each has an election and two acknowledged batches. The last session by name loses records and is
    offline, and another session has an unclean leader.
    """
    changed = {**A, "replicas": [1, 2, 3], "adding": []}
    events = [
        event(0, "topic-created", topic=A["topic"], partitions=1, replication_factor=3),
        event(0, "partition-changed", **changed, leader=1, isr=[1, 2, 3]),
        event(10, "leader-elected", **A, leader=1, election="unclean" if number == SESSIONS - 2 else "clean"),
        event(10, "became-leader", **A, broker=1),
        event(20, "produce-acked", **A, records=10, acks=-1, latency_us=number + 1, attempt=1),
    ]
    if number == SESSIONS - 1:
        events += [
            event(1_000, "records-lost", **A, broker=2, from_offset=3, to_offset=8, lost_acknowledged=4, lost_read=2),
            event(END - 3_000, "partition-changed", **changed, leader=-1, isr=[1]),
        ]
    return events


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    directory = tmp_path_factory.mktemp("logs")
    return [write_log(directory / f"s{number:03d}.jsonl", _events(number), end=END) for number in range(SESSIONS)]


Compute = Callable[..., Report]


@pytest.fixture(scope="module")
def loaded(spark: Any, logs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> load_logs.LoadedLogs:
    scratch = tmp_path_factory.mktemp("scratch")
    staged = stage_logs([open_log(path) for path in logs], [], scratch / "staged", *load_logs.needed_kinds_and_columns(charts=True))
    return load_logs.load_logs(spark, [], staged, [], [], True, scratch, lambda _: None)


@attrs.frozen
class Computed:
    """A report that was computed, shown, and written in parts.

    Attributes:
        report: the report.
        fetched: the number of rows of each `collect`.
        place: the directory of the files.
    """

    report: Report
    fetched: list[int]
    place: Path


@pytest.fixture(scope="module")
def computed(loaded: load_logs.LoadedLogs, tmp_path_factory: pytest.TempPathFactory) -> Computed:
    place = tmp_path_factory.mktemp("out")
    with pytest.MonkeyPatch.context() as patch:
        fetched = watch_collect(patch)
        patch.setattr(spark_table, "PART_ROWS", PART)
        write = [spark_table.parquet(place), spark_table.csv(place)]
        return Computed(compute_tables.compute_tables(loaded, SHOWN, write, True, lambda _: None), fetched, place)


def watch_collect(patch: pytest.MonkeyPatch) -> list[int]:
    """From now on, count the rows of each `collect`."""
    from pyspark.sql.classic.dataframe import DataFrame

    fetched: list[int] = []
    collect = DataFrame.collect

    def watched(frame: DataFrame) -> list[Any]:
        rows = collect(frame)
        fetched.append(len(rows))
        return rows

    patch.setattr(DataFrame, "collect", watched)
    return fetched


@pytest.fixture(scope="module")
def report(computed: Computed) -> Report:
    return computed.report


def test_a_loss_in_the_last_of_many_sessions_is_on_the_cards(report: Report) -> None:
    assert (report.totals["records_lost"], report.totals["records_lost_acknowledged"], report.totals["records_lost_read"]) == (5, 4, 2)
    assert (report.totals["records_acknowledged"], report.totals["elections"], report.totals["unclean"]) == (10 * SESSIONS, SESSIONS, 1)
    assert (report.totals["longest_no_reads_us"], report.totals["offline_us"], report.totals["produce_p99_us"]) == (3_000, 3_000, SESSIONS)
    page = html.render(report)
    cards = re.search(r'<ul class="cards">(.*?)</ul>', page, re.S)
    assert cards is not None
    words = re.sub(r"<[^>]+>", " ", cards[1]).split()
    assert " ".join(words).startswith("! 5 records lost: 4 acknowledged, 2 read")
    assert f"{10 * SESSIONS} records acknowledged" in " ".join(words)
    assert f"What happened in {LAST}, the worst session" in page
    assert re.search(rf"<section id=.ranking.>.*?<ol><li><b>{LAST}</b>: 5 records lost", page, re.S), "the sessions are ranked by harm"


def test_what_is_cut_is_the_least_severe_and_says_so(report: Report) -> None:
    by_name = {table.name: table for table in report.tables}
    for name in ("sessions", "overview", "records", "elections", "availability", "produce_latency"):
        assert (len(by_name[name].rows), by_name[name].more) == (SHOWN, SESSIONS - SHOWN), name
    assert [row[0] for row in by_name["sessions"].rows[:3]] == [row[0] for row in by_name["overview"].rows[:3]] == [LAST, BEFORE, "s000"]
    assert [by_name[name].rows[0][0] for name in ("records", "elections", "availability", "produce_latency")] == [
        LAST,
        BEFORE,
        LAST,
        LAST,
    ]
    assert f"{SHOWN} of {SESSIONS} rows: the worst by lost, then lost acknowledged" in html.render(report)
    assert by_name["harm"].more == 0
    document = json.loads(json_document.render(report))
    assert document["tables"]["records"] == {"rows": SESSIONS, "shown": SHOWN, "order": list(by_name["records"].worst)}
    assert document["tables"]["harm"] == {"rows": 1, "shown": 1}
    assert document["totals"]["records_lost_acknowledged"] == 4

    class Out:
        encoding = "utf-8"
        text = ""

        def write(self, text: str) -> None:
            self.text += text

        def isatty(self) -> bool:
            return False

        def flush(self) -> None: ...

    out: Any = Out()
    terminal.render([by_name["records"].cut(PART)], out)
    assert f"{PART} of {SESSIONS} rows: the worst by lost, then lost acknowledged" in out.text
    assert out.text.count(LAST) == 1


def test_the_charts_are_of_the_worst_sessions(report: Report) -> None:
    charted = {row[0] for row in report.drawn[0].rows}
    assert len(charted) == compute_tables.CHARTED_SESSIONS
    assert {LAST, BEFORE} <= charted
    page = html.render(report)
    assert page.index(f"<h3>{LAST}</h3>") < page.index(f"<h3>{BEFORE}</h3>")
    assert f"The charts show 12 of {SESSIONS} partitions" in page


def test_a_comparison_fetches_only_the_sessions_that_it_compares(loaded: load_logs.LoadedLogs, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched = watch_collect(monkeypatch)
    only_overview = compute_tables.compute_tables(loaded, 0, [], False, lambda _: None)
    assert [table.name for table in only_overview.tables] == ["sessions", "overview"]
    assert only_overview.tables[1].rows[0][0] == LAST
    assert fetched == [9], "8 sessions can be compared, and one row for all"


def test_the_driver_fetches_no_more_rows_than_are_shown(computed: Computed) -> None:
    """This also holds for a report that writes files in parts."""
    assert SHOWN <= max(computed.fetched) <= SHOWN + 1 < SESSIONS
    for name in ("sessions", "overview", "records"):
        assert len(list((computed.place / name).glob("*.parquet"))) > 1, name
        parts = [computed.place / f"{name}.csv", *(computed.place / f"{name}-{number}.csv" for number in (2, 3, 4))]
        rows = [row for part in parts for row in csv.DictReader(part.open(newline=""))]
        assert [row["session"] for row in rows] == [f"s{number:03d}" for number in range(SESSIONS)], name
    assert (computed.place / "harm.csv").exists()
    assert not (computed.place / "harm-2.csv").exists()
