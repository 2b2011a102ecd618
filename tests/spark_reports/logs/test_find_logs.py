"""Reading logs without Spark: headers, ends, incomplete last lines, and one clear message for every file that is not a log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from spark_reports.errors import ReportError
from spark_reports.logs.find_logs import find_logs, is_remote, local_path
from spark_reports.logs.session_log import explain_bad_line, name_sessions, open_log
from spark_reports.report import main_report
from tests.spark_reports.event_logs import HEADER, event, log_text, write_log

EVENTS = [event(5, "broker-paused", broker=1), event(9, "broker-resumed", broker=1, paused_us=4)]


def test_a_session_that_ended(tmp_path: Path) -> None:
    log = open_log(write_log(tmp_path / "one.jsonl", EVENTS, end=30))
    assert (log.session, log.release, log.seed, log.scenario) == ("one", "4.1", 7, None)
    assert log.settings == {"min.insync.replicas": "2"}
    assert (log.events, log.end_us, log.ended, log.torn) == (2, 30, True, False)


def test_a_killed_session_ends_with_its_last_event(tmp_path: Path) -> None:
    log = open_log(write_log(tmp_path / "one.jsonl", EVENTS))
    assert (log.events, log.end_us, log.ended, log.torn) == (2, 9, False, False)


@pytest.mark.parametrize("cut", [1, 2, 20, 60])
def test_a_torn_line_is_left_out(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "one.jsonl"
    text = log_text(EVENTS, None)
    path.write_text(text[: len(text) - cut])
    log = open_log(path)
    # Without its line break only, the last event is whole.
    assert (log.events, log.end_us, log.torn) == ((2, 9, False) if cut == 1 else (1, 5, True))


def test_a_header_alone_is_an_empty_session(tmp_path: Path) -> None:
    log = open_log(write_log(tmp_path / "one.jsonl", []))
    assert (log.events, log.end_us, log.ended, log.torn) == (0, 0, False, False)


@pytest.mark.parametrize("torn", [False, True])
def test_the_end_of_a_long_log_is_found(tmp_path: Path, torn: bool) -> None:
    path = tmp_path / "long.jsonl"
    text = log_text(
        [event(n, "act", act="x" * 1_000, args="{}") for n in range(200)] + [event(300, "act", act="y" * 200_000, args="{}")], None
    )
    path.write_text(text + ('{"seq": 202, "t": 301, "act": "' + "z" * 300_000 if torn else ""))
    log = open_log(path)
    assert (log.events, log.end_us, log.torn) == (201, 300, torn)


def header(**changes: Any) -> str:
    return json.dumps({**HEADER, **changes}) + "\n"


NO_LOGS: dict[str, bytes] = {
    "empty": b"",
    "blank": b"\n\n",
    "binary": b"\x00\x01\x02\xff\xfe" * 50,
    "parquet": b"PAR1\x15\x04",
    "yaml": b"topic: orders\n",
    "list": b"[1, 2]\n",
    "torn header": b'{"isrlab": "event-log", "version": 1, "rel',
    "another kind of file": b'{"isrlab": "scenario"}\n',
    "number": b"1" * 5_000 + b"\n",
    "nested too deeply": b"[" * 100_000 + b"\n",
    "newer version": header(version=2).encode(),
    "version of a wrong type": header(version="one").encode(),
    "seed of a wrong type": header(seed=None).encode(),
    "release of a wrong type": header(release=4.1).encode(),
    "field missing": b'{"isrlab": "event-log", "version": 1}\n',
    "no event in the second line": header().encode() + b"hello\n",
}


@pytest.mark.parametrize("content", NO_LOGS.values(), ids=NO_LOGS.keys())
def test_what_is_no_log_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    with pytest.raises(ReportError) as refused:
        open_log(path)
    assert str(refused.value).startswith(f"{path}:")
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < len(str(path)) + 250


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"none\.jsonl: cannot be read"):
        open_log(tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "null",
        '{"seq": 3, "t": 9, "cause": 0}',
        '{"seq": 3, "t": null, "cause": 0, "kind": "meteorite"}',
        '{"seq": 3, "cause": 0, "kind": "broker-paused", "broker": 1}',
        '{"seq": 3, "t": 9, "cause": 0, "kind": "broker-paused"}',
        '{"seq": 3, "t": 9, "cause": 0, "kind": "broker-paused", "broker": "one"}',
        '{"seq": 3, "t": 9, "cause": 0, "kind": "broker-paused", "broker": 1e40}',
    ],
    ids=[str(number) for number in range(8)],
)
def test_a_bad_line_is_found_and_explained(tmp_path: Path, line: str) -> None:
    good = write_log(tmp_path / "good.jsonl", EVENTS)
    path = write_log(tmp_path / "bad.jsonl", EVENTS)
    path.write_text(path.read_text() + line + "\n" + json.dumps({"end": True, "t": 9, "events": 3}) + "\n")
    assert explain_bad_line(attrs.evolve(open_log(good), path=str(path), readable=path)).startswith(f"{path}:4: ")


def test_a_directory_stands_for_the_logs_in_it(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", "notes.txt"):
        (tmp_path / name).touch()
    assert find_logs([tmp_path, tmp_path / "a.jsonl"]).files == [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(ReportError, match="no event log"):
        find_logs([tmp_path / "empty"])


def test_patterns_packed_logs_datasets_and_addresses(tmp_path: Path) -> None:
    for name in ("b.jsonl.zst", "a.jsonl", "[x].jsonl", "x.jsonl"):
        (tmp_path / name).touch()
    part = tmp_path / "parquet" / "session=s"
    part.mkdir(parents=True)
    assert [path.name for path in find_logs([tmp_path / "*.jsonl*"]).files] == ["[x].jsonl", "a.jsonl", "b.jsonl.zst", "x.jsonl"]
    # A file of that very name comes before the pattern.
    assert find_logs([tmp_path / "[x].jsonl"]).files == [tmp_path / "[x].jsonl"]
    assert find_logs([(tmp_path / "a.jsonl").as_uri()]).files == [tmp_path / "a.jsonl"]
    assert find_logs([tmp_path / "parquet"]).datasets == [f"file://{tmp_path / 'parquet'}"]
    elsewhere = find_logs(["hdfs://host/logs/*.jsonl", "s3a://bucket/sessions"])
    assert (elsewhere.remote, elsewhere.datasets) == (["hdfs://host/logs/*.jsonl"], ["s3a://bucket/sessions"])
    with pytest.raises(ReportError, match="no event log matches this pattern"):
        find_logs([tmp_path / "none*.jsonl"])


@pytest.mark.parametrize(
    ("text", "elsewhere", "path"),
    [
        ("out/tables", False, "out/tables"),
        ("file:///a%20b/c", False, "/a b/c"),
        ("a:b", False, "a:b"),
        ("hdfs://host:9000/out", True, None),
        ("s3a://bucket/out", True, None),
    ],
)
def test_an_address_is_distinguished_from_a_path(text: str, elsewhere: bool, path: str | None) -> None:
    assert is_remote(text) is elsewhere
    assert path is None or local_path(text) == path


def test_csv_is_written_here_only(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    log = write_log(tmp_path / "s.jsonl", [], end=1)
    assert main_report([log], out_dir="s3a://bucket/out", csv=True) == 2
    assert capsys.readouterr().err == (
        "isrlab: s3a://bucket/out: isrlab writes CSV only on this machine; to write Parquet to this URI, omit --csv\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["s.jsonl"]


def test_sessions_of_the_same_name_are_distinguished(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    paths = [write_log(tmp_path / part, []) for part in ("one/s.jsonl", "two/s.jsonl", "t.jsonl")]
    assert [log.session for log in name_sessions([open_log(path) for path in paths])] == [str(paths[0]), str(paths[1]), "t"]
