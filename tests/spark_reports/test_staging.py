"""Logs staged as Parquet before Spark reads them: what is in the file is the events, and a log that is not in order is left to Spark's reader."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import attrs
import pytest
from pyarrow import parquet

from spark_reports import staging
from spark_reports.sessions import open_log
from spark_reports.staging import escaped, stage
from tests.spark_reports.logs import event, log_text

EVENTS = [
    event(5, "broker-paused", broker=1),
    event(9, "append", broker=1, topic="ö", partition=0, leader_epoch=0, from_offset=0, to_offset=2, bytes=9, producer="p", acks=-1),
    event(9, "broker-resumed", broker=1, paused_us=4),
]
KINDS, COLUMNS = ("append", "broker-paused"), ("topic", "to_offset", "broker")
WHOLE = log_text(EVENTS, 30)


def staged_rows(path: Path, text: str) -> list[dict[str, object]] | None:
    """The rows that a log's text is staged as; None if it is not."""
    path.write_text(text)
    if not stage([open_log(path)], path.parent / "staged", KINDS, COLUMNS):
        return None
    return parquet.read_table(path.parent / "staged" / "session=one" / "events.parquet", partitioning=None).to_pylist()


@pytest.mark.parametrize("size", [1, 100, 1 << 20])
@pytest.mark.parametrize(
    "text",
    [WHOLE, log_text(EVENTS, None), log_text(EVENTS, None)[:-1], log_text(EVENTS, None) + '{"seq": 4, "t'],
    ids=["ended", "killed", "no line break", "torn"],
)
def test_wanted_events_are_staged_whatever_stands_behind_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, size: int
) -> None:
    monkeypatch.setattr(staging, "BLOCK_BYTES", size)
    rows = staged_rows(tmp_path / "one.jsonl", text)
    assert rows == [
        {"seq": 1, "t": 5, "cause": 0, "kind": "broker-paused", "broker": 1, "topic": None, "to_offset": None},
        {"seq": 2, "t": 9, "cause": 0, "kind": "append", "broker": 1, "topic": "ö", "to_offset": 2},
    ]


def test_a_session_without_events_is_staged_empty(tmp_path: Path) -> None:
    assert staged_rows(tmp_path / "one.jsonl", log_text([], 30)) == []


LINE = log_text(EVENTS, None).splitlines()[2]


@pytest.mark.parametrize(
    "wrong",
    [
        "no JSON",
        "",
        LINE + " " + LINE.replace('"seq": 2', '"seq": 3'),
        LINE.replace('"append"', '"apend"'),
        LINE.replace('"to_offset": 2', '"to_offset": "2"'),
        LINE.replace('"to_offset": 2', '"to_offset": 2.5'),
        LINE.replace('"to_offset": 2', '"offset": 2'),
        LINE.replace('"seq": 2', '"seq": 3'),
        LINE.replace('"t": 9', '"t": null'),
    ],
)
def test_a_log_with_a_line_out_of_order_is_left_alone(tmp_path: Path, wrong: str) -> None:
    assert wrong != LINE
    assert staged_rows(tmp_path / "one.jsonl", WHOLE.replace(LINE, wrong)) is None
    assert not list((tmp_path / "staged").glob("*/*"))


def test_a_log_that_says_another_number_of_events_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(WHOLE)
    assert not stage([attrs.evolve(open_log(path), events=4)], tmp_path / "staged", KINDS, COLUMNS)


@pytest.mark.parametrize("name", ["plain-1.x", "a b%20/c:d", "ö=*"])
def test_names_of_sessions_come_back(name: str) -> None:
    assert unquote(escaped(name)) == name
    assert not set(escaped(name)) & set('/:=*" ')
