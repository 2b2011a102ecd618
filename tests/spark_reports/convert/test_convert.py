"""Converting logs to Parquet and back produces the same bytes for every form of log. A report on Parquet is the same as a report on JSON
Lines.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from core.kafka.events import EVENTS
from core.kafka.release import CURRENT
from core.lab.spec import BrokerSpec, ClusterSpec
from scenarios.errors import LogError
from scenarios.logs.log_header import make_header
from scenarios.logs.log_writer import LogWriter
from spark_reports.compute import load_logs
from spark_reports.convert import convert_logs, log_parts, to_json_lines, to_parquet
from spark_reports.errors import ReportError
from spark_reports.logs.find_logs import find_logs
from spark_reports.logs.session_log import open_log
from spark_reports.rows import rows_to_lines
from spark_reports.rows.dataset import Dataset
from spark_reports.rows.frames import read_frames
from tests.scenarios.logs.test_event_log import samples
from tests.spark_reports.event_logs import event, log_text, numbered, write_log

TEXT = 'ü "q" \\ / \n \x01 \x7f \u2028 <b> 𝄞'
HEADER = make_header(ClusterSpec(brokers=(BrokerSpec(1), BrokerSpec(2))), CURRENT, 3, None)


def every_kind(path: Path) -> None:
    """Return a log, as the laboratory writes it, with one event of every kind."""
    with LogWriter(path, HEADER) as writer:
        for sample in samples(TEXT):
            writer(sample)
        writer.close(10**9)


@pytest.mark.spark
@pytest.mark.parametrize("by", ["spark", "arrow"])
def test_what_comes_back_is_what_was_there(spark: Any, tmp_path: Path, by: str) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    two = [event(5, "broker-paused", broker=1), event(9, "broker-resumed", broker=1, paused_us=4)]
    every_kind(logs / "every-kind.jsonl")
    every_kind(logs / "packed.jsonl.zst")
    write_log(logs / "by=hand {x} [é] 100%.jsonl", two, end=30)  # with blanks behind its colons
    write_log(logs / "killed.jsonl", two)
    write_log(logs / "empty.jsonl", [])
    whole = (logs / "killed.jsonl").read_bytes()
    (logs / "no-newline.jsonl").write_bytes(whole[:-1])
    (logs / "torn.jsonl").write_bytes(whole + '{"seq":3,"t":9,"cause":0,"kind":"act","act":"ü'.encode()[:-1])
    lines = [json.dumps(line, separators=(",", ":")) + "\r" * (number == 1) for number, line in enumerate(numbered(two))]
    every = [event(n, "act", act=f"{chr(n)}", args='"\\') for n in range(1, 0x7F)]
    (logs / "signs.jsonl").write_bytes(
        log_text([], None).encode() + b"".join(msgspec.json.encode(line) + b"\n" for line in numbered(every))
    )
    (logs / "mixed.jsonl").write_text(log_text([], None) + "\n".join(lines) + "\n", newline="")

    given = sorted(logs.iterdir())
    said: list[str] = []
    target = to_parquet.parquet_target(given, str(tmp_path / "parquet {x} [y] ü%20"))
    checked = [(path, log_parts.read_log_parts(path)) for path in given]
    if by == "spark":
        to_parquet.to_parquet(spark, checked, target, said.append)
    else:
        assert to_parquet.to_parquet_locally(checked, tmp_path / "parquet {x} [y] ü%20", said.append) == []
    to_json_lines.to_json_lines(spark, find_logs([tmp_path / "parquet {x} [y] ü%20"]).datasets, tmp_path / "back", said.append)
    assert len(said) == 2 * len(given)
    for path in given:
        back = (tmp_path / "back" / path.name.removesuffix(".zst")).read_bytes()
        # The packed log holds the bytes of the one that is not.
        assert back == (logs / "every-kind.jsonl" if path.suffix == ".zst" else path).read_bytes(), path.name
    # Lines as the laboratory writes them are not stored a second time.
    rows = spark.read.parquet(to_parquet._readable(target))
    kept = {row["session"]: row["count"] for row in rows.where("line IS NOT NULL").groupBy("session").count().collect()}
    assert kept["packed"] == 2
    assert kept["by=hand {x} [é] 100%"] == 4
    assert kept["mixed"] == 3
    # Nine control characters have a letter in their number.
    assert kept["signs"] == 2 + 9
    if by == "spark":
        files = sorted((tmp_path / "parquet {x} [y] ü%20").rglob("*.parquet"))
        with pytest.raises(ReportError, match="two sessions called torn"):
            to_parquet.to_parquet(spark, [log for log in checked if log[0].stem == "torn"], target, said.append)
        assert sorted((tmp_path / "parquet {x} [y] ü%20").rglob("*.parquet")) == files
    with pytest.raises(ReportError, match="two sessions called every-kind"):
        to_parquet.parquet_target([logs / "every-kind.jsonl", tmp_path / "every-kind.jsonl"], "s3a://bucket/parquet")

    with pytest.raises(ReportError, match="two sessions called"):
        to_parquet.parquet_target(given, str(tmp_path / "parquet {x} [y] ü%20"))


def test_a_log_with_a_wrong_line_is_not_converted(tmp_path: Path) -> None:
    path = write_log(tmp_path / "bad.jsonl", [event(5, "broker-paused", broker=1)] * 2)
    path.write_text(path.read_text().replace('"seq": 2', '"seq": 3'))
    with pytest.raises(LogError, match=r"bad\.jsonl:3: event 3 follows event 1"):
        convert_logs.convert_logs([str(path)], str(tmp_path / "out"), None, {}, print)
    assert not (tmp_path / "out").exists()


def test_packing_needs_no_spark(tmp_path: Path) -> None:
    every_kind(tmp_path / "s.jsonl")
    said: list[str] = []
    convert_logs.convert_logs([str(tmp_path / "s.jsonl")], str(tmp_path / "p.jsonl.zst"), "no master at all", {}, said.append)
    convert_logs.convert_logs([str(tmp_path / "p.jsonl.zst")], str(tmp_path / "q.jsonl"), "no master at all", {}, said.append)
    assert (tmp_path / "q.jsonl").read_bytes() == (tmp_path / "s.jsonl").read_bytes()
    assert (tmp_path / "p.jsonl.zst").stat().st_size < (tmp_path / "s.jsonl").stat().st_size / 2
    assert not list(tmp_path.glob("*.part"))


def test_each_kinds_columns_stand_in_their_order() -> None:
    orders = rows_to_lines.column_orders()
    assert sorted(kind for _, kinds in orders for kind in kinds) == sorted(kind.kind for kind in EVENTS)
    for kind in EVENTS:
        (columns,) = [columns for columns, kinds in orders if kind.kind in kinds]
        assert [name for name in columns if name in kind.columns] == list(kind.columns)


@pytest.mark.spark
def test_logs_that_only_spark_can_read_and_datasets_give_the_events_of_the_lines(spark: Any, tmp_path: Path) -> None:
    logs = tmp_path / "a b%20ü"
    logs.mkdir()
    every_kind(logs / "one.jsonl")
    write_log(logs / "two.jsonl", [event(5, "broker-paused", broker=1), event(7, "broker-paused", broker=2)])
    (logs / "none.jsonl").write_text("{}\n")
    (logs / "void.jsonl").touch()
    given = [logs / "one.jsonl", logs / "two.jsonl"]
    to_parquet.to_parquet(spark, [(path, log_parts.read_log_parts(path)) for path in given], (tmp_path / "p").as_uri(), lambda _: None)
    kinds, columns = [kind.kind for kind in EVENTS], ["broker", "topic", "acks", "isr", "bytes"]
    found, complaints = load_logs._remote_logs(spark, f"file://{logs}/*.jsonl")
    stored, more = load_logs._dataset_logs(spark, (tmp_path / "p").as_uri(), kinds, columns)
    assert more == []
    assert len(complaints) == 2
    assert "void.jsonl: this file is empty" in complaints[0]
    assert "none.jsonl: this is not an event log" in complaints[1]
    for logs_of in (found, stored):
        assert [(log.session, log.events, log.end_us, log.ended) for log in logs_of] == [
            ("one", len(EVENTS), 10**9, True),
            ("two", 2, 7, False),
        ]
    here = read_frames(spark, [open_log(path) for path in given], [], kinds, columns, None).events
    remote = read_frames(spark, found, [], kinds, columns, None).events
    dataset = read_frames(spark, [], [Dataset((tmp_path / "p").as_uri())], kinds, columns, None).events
    expected = sorted(map(repr, here.collect()))
    assert len(expected) == len(EVENTS) + 2
    assert sorted(map(repr, remote.collect())) == expected
    assert sorted(map(repr, dataset.collect())) == expected
