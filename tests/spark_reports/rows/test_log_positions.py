"""A stream of logs that grow: which lines each batch has. `test_own_session` lets Spark read such a stream."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import zstandard

from spark_reports.errors import ReportError
from spark_reports.rows.log_partitions import log_partitions
from spark_reports.rows.log_source import LogPartition, LogSourceReader, LogStreamReader
from tests.spark_reports.event_logs import event, log_text, write_log

EVENTS = [
    event(6, "topic-created", topic="ö", partitions=1, replication_factor=2),
    *(event(t, "follower-append", topic="ö", broker=2, leader=1, to_offset=2**40 + t) for t in range(7, 12)),
]


def offset_of(reader: LogStreamReader, start: dict[str, Any]) -> dict[str, Any]:
    """Return the latest offset as Spark keeps it."""
    return json.loads(json.dumps(reader.latestOffset(start, None)))  # type: ignore[arg-type]


def rows(reader: Any, partitions: Any) -> list[dict[str, Any]]:
    return [row for part in partitions for batch in reader.read(part) for row in pa.Table.from_batches([batch]).to_pylist()]


def test_batches_have_the_rows_of_the_finished_log_wherever_they_end(tmp_path: Path) -> None:
    whole = log_text(EVENTS, 20).encode()
    log = tmp_path / "grows.jsonl"
    log.touch()
    reader = LogStreamReader([str(tmp_path)])
    offsets = [reader.initialOffset()]
    batches: list[list[dict[str, Any]]] = []
    # The pieces end in every part of a line, and in the middle of a character.
    for size in (*range(50, len(whole), 97), len(whole) - 1, len(whole)):
        log.write_bytes(whole[:size])
        offsets.append(offset_of(reader, offsets[-1]))
        batches.append(rows(reader, reader.partitions(*offsets[-2:])))
        assert sum(map(len, batches)) == whole.count(b"\n", 0, size)
    batch = LogSourceReader([LogPartition(*each) for each in log_partitions([str(tmp_path)])])
    assert [row for each in batches for row in each] == rows(batch, batch.partitions())
    # A query that is started again reads the last batches once more.
    assert [rows(reader, reader.partitions(*each)) for each in itertools.pairwise(offsets)] == batches


def test_logs_can_appear_later_and_ended_logs_can_disappear(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    reader = LogStreamReader([str(one), str(other)])
    assert offset_of(reader, {}) == {}
    write_log(one / "a.jsonl", EVENTS, 20)
    start = offset_of(reader, {})
    write_log(other / "a.jsonl", EVENTS)
    both = offset_of(reader, start)
    assert [position["session"] for position in both.values()] == ["a", str(other / "a.jsonl")]
    (one / "a.jsonl").unlink()
    assert offset_of(reader, both) == both
    (other / "a.jsonl").unlink()
    with pytest.raises(ReportError, match=r"other/a\.jsonl: this log was replaced, shortened, or removed"):
        offset_of(reader, both)


def test_what_is_not_a_growing_log_is_one_message(tmp_path: Path) -> None:
    log = write_log(tmp_path / "a.jsonl", EVENTS)
    reader = LogStreamReader([str(log)])
    start = offset_of(reader, {})
    for text in (log_text(EVENTS[:3], None), log_text(EVENTS, None).replace('"t": 11', '"t": 12')):
        log.write_text(text)
        with pytest.raises(ReportError, match=r"a\.jsonl: this log was replaced, shortened"):
            offset_of(reader, start)
    log.write_text(log_text(EVENTS, None) + "hello\n")
    with pytest.raises(ReportError, match=r"a\.jsonl: the last line is not an event"):
        offset_of(reader, start)
    log.write_text(log_text(EVENTS, 20))
    ended = offset_of(reader, start)
    log.write_text(log_text(EVENTS, 20) + '{"seq": 7, "t": 21}\n')
    with pytest.raises(ReportError, match=r"a\.jsonl: there are lines after the end"):
        offset_of(reader, ended)
    log.write_bytes(zstandard.ZstdCompressor().compress(log_text(EVENTS, 20).encode()))
    with pytest.raises(ReportError, match=r"a\.jsonl: a compressed log cannot be followed"):
        offset_of(reader, {})
    log.unlink()
    with pytest.raises(ReportError, match=r"a\.jsonl: cannot read this file: No such file"):
        offset_of(reader, {})
