"""Staging logs as Parquet before Spark reads them: the files contain the events, and invalid logs are left to Spark's parser."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import attrs
import pytest
from pyarrow import parquet

from spark_reports.compute.load_logs import logs_of_markers
from spark_reports.convert.convert_logs import convert_logs
from spark_reports.logs.find_logs import find_logs
from spark_reports.logs.session_log import open_log
from spark_reports.rows import lines_to_rows
from spark_reports.rows.schema import FREQUENT_KINDS
from spark_reports.rows.staging import escape_session, stage_logs
from tests.spark_reports.event_logs import event, log_text

EVENTS = [
    event(5, "broker-paused", broker=1),
    event(6, "topic-created", topic="ö", partitions=1, replication_factor=2),
    event(9, "append", broker=1, topic="ö", partition=0, leader_epoch=0, from_offset=0, to_offset=2, bytes=9, producer="p", acks=-1),
    event(9, "broker-resumed", broker=1, paused_us=4),
]
KINDS, COLUMNS = ("append", "broker-paused"), ("topic", "to_offset", "broker")
WHOLE = log_text(EVENTS, 30)


def staged_rows(path: Path, text: str) -> list[dict[str, object]] | None:
    """Return the rows to which a log is staged, or None if it cannot be staged."""
    path.write_text(text)
    staged = stage_logs([open_log(path)], [], path.parent / "staged", KINDS, COLUMNS)
    if not staged.logs:
        return None
    rows = parquet.read_table(staged.events / "session=one" / "events.parquet", partitioning=None).to_pylist()
    # Those that are not frequent once more, with their session.
    assert parquet.read_table(staged.infrequent).to_pylist() == [
        row | {"session": "one"} for row in rows if row["kind"] not in FREQUENT_KINDS
    ]
    return rows


@pytest.mark.parametrize("size", [1, 100, 1 << 20])
@pytest.mark.parametrize(
    "text",
    [WHOLE, log_text(EVENTS, None), log_text(EVENTS, None)[:-1], log_text(EVENTS, None) + '{"seq": 5, "t'],
    ids=["ended", "killed", "no line break", "torn"],
)
def test_wanted_events_are_staged_whatever_stands_behind_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, size: int
) -> None:
    monkeypatch.setattr(lines_to_rows, "BLOCK_BYTES", size)
    rows = staged_rows(tmp_path / "one.jsonl", text)
    assert rows == [
        {"seq": 1, "t": 5, "cause": 0, "kind": "broker-paused", "broker": 1, "topic": None, "to_offset": None},
        {"seq": 3, "t": 9, "cause": 0, "kind": "append", "broker": 1, "topic": "ö", "to_offset": 2},
    ]


def test_a_session_without_events_is_staged_empty(tmp_path: Path) -> None:
    assert staged_rows(tmp_path / "one.jsonl", log_text([], 30)) == []


LINE = log_text(EVENTS, None).splitlines()[3]


@pytest.mark.parametrize(
    "wrong",
    [
        "no JSON",
        "",
        LINE + " " + LINE.replace('"seq": 3', '"seq": 4'),
        LINE.replace('"to_offset": 2', '"to_offset": "2"'),
        LINE.replace('"to_offset": 2', '"to_offset": 2.5'),
        LINE.replace('"to_offset": 2', '"offset": 2'),
        LINE.replace('"seq": 3', '"seq": 4'),
        LINE.replace('"t": 9', '"t": null'),
    ],
)
def test_a_log_with_a_line_out_of_order_is_left_alone(tmp_path: Path, wrong: str) -> None:
    assert wrong != LINE
    assert staged_rows(tmp_path / "one.jsonl", WHOLE.replace(LINE, wrong)) is None
    assert not list((tmp_path / "staged").rglob("*.parquet"))


def test_events_of_unknown_kinds_are_staged_to_be_counted(tmp_path: Path) -> None:
    rows = staged_rows(tmp_path / "one.jsonl", WHOLE.replace(LINE, LINE.replace('"append"', '"apend"')))
    assert rows is not None
    assert [row["kind"] for row in rows] == ["broker-paused", "apend"]


def test_a_log_that_says_another_number_of_events_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(WHOLE)
    assert not stage_logs([attrs.evolve(open_log(path), events=5)], [], tmp_path / "staged", KINDS, COLUMNS).logs


def test_rare_events_of_a_dataset_are_picked_out_with_what_its_logs_say(tmp_path: Path) -> None:
    dataset = tmp_path / "data {set} [x]"
    names = ("a b%20ö", "other")
    for name in names:
        path = tmp_path / f"{name}.jsonl"
        path.write_text(WHOLE)
        convert_logs([str(path)], str(dataset), None, {}, lambda _: None)
    (dataset / "_half-third").mkdir()
    found = find_logs([dataset, dataset / "session=other"]).datasets
    staged = stage_logs([], found, tmp_path / "staged", KINDS, COLUMNS)
    both, one = (staged.datasets[address] for address in found)
    row = {"seq": 1, "t": 5, "cause": 0, "kind": "broker-paused", "broker": 1, "topic": None, "to_offset": None}
    assert parquet.read_table(both.infrequent).to_pylist() == [row | {"session": name} for name in names]
    assert parquet.read_table(one.infrequent).to_pylist() == [row | {"session": "other"}]
    logs, wrong = logs_of_markers(found[0], both.markers)
    assert [(log.session, log.events, log.end_us, log.ended) for log in logs] == [(name, 4, 30, True) for name in names]
    assert not wrong
    tails = [mark for mark in both.markers if mark.kind == "log-tail"]
    assert logs_of_markers(found[0], tails)[1][0].endswith("name a dataset that 'isrlab log convert' wrote")
    heads = [mark for mark in both.markers if mark not in tails]
    assert "session other is incomplete" in logs_of_markers(found[0], heads)[1][1]


def test_an_empty_list_of_a_dataset_is_not_a_missing_one(tmp_path: Path) -> None:
    state = {"topic": "ö", "partition": 0, "leader": 1, "replicas": [1, 2], "isr": [], "adding": []}
    created = event(4, "topic-created", topic="ö", partitions=1, replication_factor=2)
    events = [created, event(5, "partition-changed", **state), event(6, "broker-paused", broker=1)]
    (tmp_path / "one.jsonl").write_text(log_text(events, 30))
    convert_logs([str(tmp_path / "one.jsonl")], str(tmp_path / "data"), None, {}, lambda _: None)
    found = find_logs([tmp_path / "data"]).datasets
    staged = stage_logs([], found, tmp_path / "staged", ("partition-changed", "broker-paused"), ("replicas", "isr", "adding"))
    changed, paused = parquet.read_table(staged.datasets[found[0]].infrequent, columns=["replicas", "isr", "adding"]).to_pylist()
    assert changed == {"replicas": [1, 2], "isr": [], "adding": []}
    assert paused == {"replicas": None, "isr": None, "adding": None}


@pytest.mark.parametrize("content", [None, b"", b"PAR1 and no more"])
def test_a_dataset_that_is_none_is_left_alone(tmp_path: Path, content: bytes | None) -> None:
    part = tmp_path / "data" / "session=s"
    part.mkdir(parents=True)
    if content is not None:
        (part / "events.parquet").write_bytes(content)
    found = find_logs([tmp_path / "data"]).datasets
    assert found
    assert not stage_logs([], [*found, "s3a://bucket/logs"], tmp_path / "staged", KINDS, COLUMNS).datasets


@pytest.mark.parametrize("name", ["plain-1.x", "a b%20/c:d", "ö=*"])
def test_names_of_sessions_come_back(name: str) -> None:
    assert unquote(escape_session(name)) == name
    assert not set(escape_session(name)) & set('/:=*" ')


def test_a_log_of_an_earlier_isrlab_lacks_columns_and_is_staged_all_the_same(tmp_path: Path) -> None:
    lost = event(7, "records-lost", topic="ö", partition=0, broker=2, from_offset=3, to_offset=7)
    old = {name: value for name, value in lost.items() if not name.startswith("lost_")}
    path = tmp_path / "one.jsonl"
    created = event(6, "topic-created", topic="ö", partitions=1, replication_factor=2)
    path.write_text(log_text([created, old], 30))
    columns = ("from_offset", "to_offset", "lost_acknowledged")
    staged = stage_logs([open_log(path)], [], tmp_path / "staged", ("records-lost",), columns)
    (row,) = parquet.read_table(staged.events / "session=one" / "events.parquet", partitioning=None).to_pylist()
    assert {name: row[name] for name in columns} == {"from_offset": 3, "to_offset": 7, "lost_acknowledged": None}
    damaged = {name: value for name, value in old.items() if name != "to_offset"}
    path.write_text(log_text([created, old, damaged], 30))
    assert stage_logs([open_log(path)], [], tmp_path / "again", ("records-lost",), columns).logs == [], "what every log has must be there"
