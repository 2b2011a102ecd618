"""The event log: the same events are read as were written, however the process ended. Other files are refused with a line number."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from core.kafka.events import EVENTS, KINDS, PartitionsCreated, SettingChanged, TopicCreated, agree, column_types, required_columns
from core.kafka.release import CURRENT
from core.kafka.topic_spec import PartitionSpec, TopicSpec
from core.lab.spec import BrokerSpec, ClusterSpec
from scenarios.errors import InputError, LogError
from scenarios.io.termination_signals import Terminated, raise_on_signals
from scenarios.logs import log_writer
from scenarios.logs.event_log_doc import DOCUMENT, document
from scenarios.logs.line_decoder import LineDecoder, WrongEvent
from scenarios.logs.line_encoder import encode_event
from scenarios.logs.log_header import End, make_header
from scenarios.logs.log_reader import LogReader, read_events
from scenarios.logs.log_writer import ENCODED_AT_ONCE, FLUSH_SECONDS, LogWriter
from tui.cli import main

ROOT = Path(__file__).resolve().parents[3]
SPEC = ClusterSpec(
    brokers=(BrokerSpec(1), BrokerSpec(2)),
    topics=(TopicSpec("orders", 1, 2, (PartitionSpec((1, 2)),), (("min.insync.replicas", "2"),)),),
    settings=(("min.insync.replicas", 2),),
)
HEADER = make_header(SPEC, CURRENT, 3, "a-name")
SAMPLES: dict[str, Any] = {
    "int": 2**62, "bool": True, "tuple[int, ...]": (1, -1, 2), "partition": 2, "partitions": 3, "skew_us": -7, "drift_ppm": -7, "late_us": -7, "total_error_us": -7,
    "broker": 2, "leader": 1, "old_leader": -1, "follower": 2, "sender": 1, "held_by": 1,
}  # fmt: skip
"""Sample values by the name of a column, or otherwise by its type."""


def samples(text: str = 'ü "quoted" \\ \n') -> list[tuple[Any, ...]]:
    """Return one event of every kind with the given text wherever any text is allowed. The second event creates the topic of the others."""
    kinds = [event for event in EVENTS if event not in (SettingChanged, TopicCreated, PartitionsCreated)]
    values = SAMPLES | {"str": text}
    return [
        (
            seq,
            seq * 1_000,
            seq - 1,
            event.kind,
            *(event.words.get(name, (values.get(name, values[kind]),))[0] for name, kind in column_types(event).items()),
        )
        for seq, event in enumerate([kinds[0], TopicCreated, *kinds[1:], SettingChanged], 1)
    ] + [(len(EVENTS), len(EVENTS) * 1_000, 0, "partitions-created", text, 5, 8)]


def write(path: Path, events: list[tuple[Any, ...]]) -> list[bytes]:
    with LogWriter(path, HEADER) as writer:
        for event in events:
            writer(event)
    return path.read_bytes().splitlines(keepends=True)


def test_every_kind_comes_back_as_it_was(tmp_path: Path) -> None:
    events = samples()
    lines = write(tmp_path / "s.jsonl", events)
    reader, read = read_events(tmp_path / "s.jsonl", report=pytest.fail)
    assert read == events
    assert reader.spec == SPEC
    assert reader.release is CURRENT
    assert (reader.header.seed, reader.header.scenario, reader.header.settings) == (3, "a-name", {"min.insync.replicas": "2"})
    assert reader.end is not None
    assert (reader.end.t, reader.end.events) == (len(events) * 1_000, len(events))
    assert len(lines) == len(events) + 2


def test_a_line_is_what_the_document_says(tmp_path: Path) -> None:
    lines = write(tmp_path / "s.jsonl", samples())
    assert lines[0].startswith(b'{"isrlab":"event-log","version":1,"release":"4.3","seed":3,"scenario":"a-name","settings":{')
    assert json.loads(lines[-1]) == {"end": True, "t": len(EVENTS) * 1_000, "events": len(EVENTS)}
    for line in lines[1:-1]:
        assert list(json.loads(line)) == ["seq", "t", "cause", "kind", *column_types(KINDS[json.loads(line)["kind"]])]
    assert {json.loads(line)["kind"] for line in lines[1:-1]} == set(KINDS)


def test_the_document_is_in_step_with_the_events() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(), "run: python -m scenarios.logs.event_log_doc"
    assert all(f"### {event.kind}\n" in document() for event in EVENTS)


def test_a_torn_last_line_is_reported_and_skipped(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    lines = write(path, samples())
    for cut in (1, 10, len(lines[-3]) - 2):
        path.write_bytes(b"".join(lines[:-3]) + lines[-3][:cut])
        said: list[str] = []
        reader, read = read_events(path, report=said.append)
        assert read == samples()[:-2], cut
        assert reader.torn == len(lines) - 2
        assert said == [
            f"{path}:{reader.torn}: the last line is incomplete (the process was killed while it was writing); isrlab skips this line"
        ]
    path.write_bytes(b"".join(lines[:-1]) + lines[-1][:5])
    assert read_events(path, report=lambda _text: None)[0].torn == len(lines)


def test_a_last_line_that_lacks_only_its_newline_counts(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join(write(path, samples())[:-1])[:-1])
    assert read_events(path, report=lambda _text: None)[1] == samples()


def test_a_log_without_end_is_read_and_said_so(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join(write(path, samples())[:-1]))
    said: list[str] = []
    assert read_events(path, report=said.append)[1] == samples()
    assert said == [f"{path}: the log has no end line, because its process was killed; all events up to that point are read"]


def mangled(lines: list[bytes]) -> dict[str, tuple[bytes, int, str]]:
    """Return invalid logs: their bytes, the invalid line, and words of the error message."""
    header = json.loads(lines[0])
    third = json.loads(lines[3])

    def with_header(**changed: Any) -> bytes:
        return json.dumps(header | changed).encode() + b"\n" + b"".join(lines[1:])

    def with_third(line: bytes) -> bytes:
        return b"".join(lines[:3]) + line + b"\n" + b"".join(lines[4:])

    def without(key: str) -> bytes:
        return json.dumps({name: value for name, value in third.items() if name != key}).encode()

    return {
        "empty": (b"", 1, "the file is empty"),
        "blank": (b"\n\n", 1, "no header"),
        "binary": (b"\x89PNG\r\n\x1a\n\0\0\0\r", 1, "not an event log"),
        "other-json": (b'{"a": 1}\n', 1, "not an event log of isrlab"),
        "a-list": (b"[1, 2]\n", 1, "not an event log of isrlab"),
        "no-header": (b"".join(lines[1:]), 1, "no header: the event log's first line is missing"),
        "torn-header": (lines[0][:40], 1, "not an event log"),
        "version": (with_header(version=2), 1, "version 2 of the format is unknown: a newer isrlab wrote it"),
        "version-type": (with_header(version="1"), 1, "version 1 of the format is unknown"),
        "release": (with_header(release="9.9"), 1, "unknown release '9.9'"),
        "seed": (with_header(seed="x"), 1, "Expected `int`, got `str`"),
        "cluster": (with_header(cluster={"brokers": "many"}), 1, "cluster.brokers: 'many' is not a whole number"),
        "no-cluster": (with_header(cluster=5), 1, "the header is wrong"),
        "not-json": (with_third(b"{seq: 3}"), 4, "not an event"),
        "not-utf8": (with_third(lines[3].strip().replace(b"killed", b"\xff\xfe")), 4, ""),
        "blank-line": (with_third(b""), 4, "not an event"),
        "half-a-line": (with_third(lines[3][:20]), 4, "not an event"),
        "no-seq": (with_third(without("seq")), 4, "missing required field `seq`"),
        "no-column": (with_third(without("broker")), 4, "missing required field `broker`"),
        "no-kind": (with_third(without("kind")), 4, "missing required field `kind`"),
        "column-type": (with_third(json.dumps(third | {"broker": "two"}).encode()), 4, "Expected `int`, got `str` - at `$.broker`"),
        "huge-number": (with_third(json.dumps(third | {"broker": 10**40}).encode()), 4, ""),
        "unknown-word": (with_third(json.dumps(third | {"how": "kiled"}).encode()), 4, "unknown how 'kiled'; did you mean 'killed'?"),
        "nested": (with_third(b'{"kind": "broker-stopped", "how": ' + b"[" * 5_000), 4, "not an event: the line is nested too deeply"),
        "nested-header": (b'{"isrlab": ' + b"[" * 5_000 + b"]" * 5_000 + b"}\n", 1, "the nesting in its first line is too deep"),
        "gap": (b"".join(lines[:3] + lines[4:]), 4, "event 4 follows event 2; lines are missing or out of order"),
        "twice": (b"".join(lines[:4] + lines[3:]), 5, "event 3 follows event 3"),
        "back-in-time": (with_third(json.dumps(third | {"t": 1}).encode()), 4, "event 3 is earlier than the previous event"),
        "behind-the-end": (b"".join(lines) + lines[3], len(lines) + 1, "there is a line after the end of the log"),
        "end-count": (b"".join(lines[:3] + lines[-1:]), 4, f"the last line says that the log has {len(EVENTS)} events, but it has 2"),
    }


CASES = list(mangled([b"{}\n"] * 4 + [b'{"end": true}\n']))


@pytest.mark.parametrize("case", CASES)
def test_a_malformed_log_is_refused_at_its_line(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.jsonl"
    data, line, words = mangled(write(path, samples()))[case]
    path.write_bytes(data)
    with pytest.raises(LogError) as caught:
        read_events(path)
    assert caught.value.line == line
    assert words in str(caught.value)
    assert main(["describe", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1, captured.err
    assert captured.err.startswith(f"isrlab: {path}:{line}: "), captured.err


IMPOSSIBLE: dict[str, tuple[dict[str, Any], str]] = {
    "topic": ({"topic": "never-created"}, "unknown topic 'never-created'; no earlier line creates it"),
    "partition": ({"partition": 8}, "unknown partition orders-8; the topic has 8 partitions, numbered from 0"),
    "negative-partition": ({"partition": -1}, "partition cannot be -1; it must be at least 0"),
    "broker": ({"leader": 77}, "unknown broker 77; the header's brokers are 1, 2"),
    "brokers": ({"isr": [1, 77]}, "unknown broker 77; the header's brokers are 1, 2"),
    "offset": ({"kind": "delete-records-refused", "offset": -5}, "offset cannot be -5; it must be at least -1"),
    "partitions": ({"kind": "topic-created", "partitions": 10**9}, "partitions cannot be 1000000000; it must be at most 200,000"),
    "created-twice": ({"kind": "topic-created"}, "topic 'orders' already exists; an earlier line creates it"),
    "not-so-many-more": ({"kind": "partitions-created", "added": 1}, "orders has 8 partitions; adding 1 does not result in 8"),
}


@pytest.mark.parametrize(
    ("count", "listed"), [(12, "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12"), (1_013, "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 1,001 more")]
)
def test_a_message_lists_at_most_twelve_brokers(count: int, listed: str) -> None:
    decode = LineDecoder(ClusterSpec(tuple(BrokerSpec(broker) for broker in range(1, count + 1))))
    with pytest.raises(WrongEvent) as caught:
        decode(encode_event((1, 0, 0, "broker-stopped", 7_777, "killed")))
    assert str(caught.value) == f"unknown broker 7777; the header's brokers are {listed}"


GOOD: dict[str, tuple[Any, ...]] = {
    "topic-created": ("orders", "", 3, 2),
    "partitions-created": ("orders", 5, 8),
    "partition-changed": ("orders", 7, 1, 0, 0, (1, 2), (1, 2), (), (), (), (), False, ""),
    "delete-records-refused": (1, "orders", 7, 5, 9, "OFFSET_OUT_OF_RANGE"),
    "broker-stopped": (1, "killed"),
}


def with_changed(path: Path, changed: dict[str, Any]) -> Path:
    """Return a log of five events in which the event on the fifth line is changed."""
    kinds = ["topic-created", "partitions-created", "broker-stopped", changed.get("kind", "partition-changed"), "partition-changed"]
    lines = [json.loads(encode_event((seq, seq, 0, kind, *GOOD[kind]))) for seq, kind in enumerate(kinds, 1)]
    lines[3] |= changed
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in [HEADER, *lines, End(True, 9, 5)]))
    return path


@pytest.mark.parametrize("case", list(IMPOSSIBLE))
def test_an_event_that_the_cluster_cannot_have_is_one_message(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = with_changed(tmp_path / "s.jsonl", IMPOSSIBLE[case][0])
    message = f"isrlab: {path}:5: {IMPOSSIBLE[case][1]}\n"
    for command in (["log", "check"], ["describe"], ["metrics"], ["replay"], ["log", "export", "--perfetto", str(tmp_path / "trace")]):
        assert main([*command, str(path)]) == 2, command
        assert capsys.readouterr() == ("", message), command
    assert not (tmp_path / "trace").exists()


def test_an_event_that_the_cluster_can_have_is_read(tmp_path: Path) -> None:
    path = with_changed(tmp_path / "s.jsonl", {})
    assert len(list(LogReader(path))) == 5


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written: No such file or directory"):
        LogWriter(tmp_path / "no" / "s.jsonl", HEADER)
    with pytest.raises(InputError, match="cannot be written: Is a directory"):
        LogWriter(tmp_path, HEADER)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises((InputError, OSError), match="No space left"):
        write(Path("/dev/full"), samples())


WRITER = """
import sys, time
from scenarios.logs.log_writer import LogWriter
sys.path.insert(0, sys.argv[2])
from tests.scenarios.logs.test_event_log import HEADER
writer = LogWriter(sys.argv[1], HEADER)
writer.begin()
for seq in range(1, 2_001):
    writer((seq, seq, 0, "broker-paused", 1))
print("written", flush=True)
time.sleep(60)
"""


def killed_when_idle(path: Path) -> tuple[LogReader, list[tuple[Any, ...]], str]:
    """Return the log of a process that wrote 2,000 events, waited until they were in its file, and was killed, with the message about the
    log.
    """
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(ROOT)], cwd=ROOT, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"written\n"
        deadline = time.monotonic() + 60
        while len(read_events(path, report=lambda _: None)[1]) < 2_000:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        assert process.wait(60) == -signal.SIGKILL
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    said: list[str] = []
    reader, events = read_events(path, report=said.append)
    return reader, events, said[0]


def test_a_killed_process_loses_at_most_a_second(tmp_path: Path) -> None:
    reader, events, said = killed_when_idle(tmp_path / "s.jsonl")
    assert len(events) == 2_000
    assert reader.end is None
    assert "killed" in said
    assert FLUSH_SECONDS <= 1


def test_a_signal_leaves_no_hole_between_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal comes at the worst time: events have left the buffer, but have not been written as lines yet."""
    path = tmp_path / "s.jsonl"
    monkeypatch.setattr(log_writer, "FLUSH_SECONDS", 600)
    taken: list[int] = []

    def write_until_stopped() -> None:
        with LogWriter(path, HEADER) as writer:
            writer.begin()
            encode = log_writer.encode_events

            def told_meanwhile(events: Sequence[Any]) -> bytes:
                os.kill(os.getpid(), signal.SIGTERM)
                return encode(events)

            monkeypatch.setattr(log_writer, "encode_events", told_meanwhile)
            for seq in range(1, 10 * ENCODED_AT_ONCE):
                taken.append(seq)
                writer((seq, seq, 0, "broker-paused", 1))

    with pytest.raises(Terminated), raise_on_signals():
        write_until_stopped()
    reader, events = read_events(path)
    assert [event[0] for event in events] == taken
    assert ENCODED_AT_ONCE <= len(taken) < 9 * ENCODED_AT_ONCE
    assert reader.end is not None
    assert reader.end.events == len(taken)


def test_flush_brings_everything_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    writer = LogWriter(path, HEADER)
    writer.begin()
    writer((1, 5, 0, "broker-paused", 1))
    assert list(LogReader(path)) == []
    writer.flush()
    assert list(LogReader(path)) == [(1, 5, 0, "broker-paused", 1)]
    writer.close(9)
    writer.close()
    reader = LogReader(path)
    assert len(list(reader)) == 1
    assert reader.end is not None
    assert reader.end.t == 9


def test_a_log_of_an_earlier_isrlab_that_lacks_columns_is_read_and_agrees_with_what_is_played_anew(tmp_path: Path) -> None:
    """`records-lost` was written without `lost_acknowledged` and `lost_read`."""
    old_line = {
        "seq": 2, "t": 5, "cause": 0, "kind": "records-lost", "topic": "t", "partition": 0, "broker": 2, "epoch": 0, "from_offset": 3,
        "to_offset": 7, "leader_epoch": 1, "doomed_by": 0,
    }  # fmt: skip
    path = tmp_path / "old.jsonl"
    header = make_header(SPEC, CURRENT, 1, None)
    created = encode_event((1, 0, 0, "topic-created", "t", "", 1, 2))
    path.write_bytes(b"\n".join([msgspec.json.encode(header), created, msgspec.json.encode(old_line), b""]))
    added = ("lost_acknowledged", "lost_read")
    lost = KINDS["records-lost"]
    assert required_columns(lost) == tuple(name for name in lost.columns if name not in added)
    _, event = list(LogReader(path))
    assert event[4 + list(KINDS["records-lost"].columns).index("lost_acknowledged") :] == (-1, -1)
    assert agree(event, (*event[:-2], 4, 1))
    assert not agree(event, (*event[:-3], 9, 4, 1)), "another event doomed them"
    assert not agree((*event[:-2], 4, 1), (*event[:-2], 3, 1)), "what is written counts"
