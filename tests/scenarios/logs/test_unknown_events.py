"""A log with kinds and columns that this version of isrlab does not know is read, and the unknown is counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scenarios.errors import LogError
from scenarios.logs.log_reader import LogReader, read_events
from tui.cli import main

KINDS = "2 events of unknown kinds are skipped: meteorite (2)"
COLUMNS = "unknown columns are ignored: broker-stopped.mood (2), broker-stopped.why (2)"


def changed(log: Path, to: Path, change: Any) -> Path:
    """Write a changed copy of a log. `change` gets the list of its lines."""
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    change(lines)
    to.write_text("".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return to


def with_unknown_kinds(lines: list[dict[str, Any]]) -> None:
    for number in (5, 9):
        lines[number] = {name: lines[number][name] for name in ("seq", "t", "cause")} | {"kind": "meteorite", "size": [1, {"a": 2}]}


def with_unknown_columns(lines: list[dict[str, Any]]) -> None:
    for line in lines:
        if line.get("kind") == "broker-stopped":
            line |= {"mood": "bad", "why": [{"a": None}]}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the log of a scenario in which two brokers are down."""
    path = tmp_path_factory.mktemp("logs") / "two-down.jsonl"
    assert main(["run", "f2-min-isr-2-two-down", "--log", str(path)]) == 0
    return path


def test_events_of_unknown_kinds_are_skipped_and_counted(log: Path, tmp_path: Path) -> None:
    reader, events = read_events(changed(log, tmp_path / "newer.jsonl", with_unknown_kinds), report=(said := []).append)
    _, every = read_events(log)
    assert events == [event for event in every if event[0] not in (5, 9)]
    assert reader.unknown == {"meteorite": 2}
    assert said == [f"{tmp_path / 'newer.jsonl'}: another version of isrlab wrote this log; {KINDS}"]


def test_unknown_columns_are_ignored_and_counted(log: Path, tmp_path: Path) -> None:
    reader, events = read_events(changed(log, tmp_path / "newer.jsonl", with_unknown_columns), report=(said := []).append)
    assert events == list(LogReader(log))
    assert reader.unknown == {"broker-stopped.mood": 2, "broker-stopped.why": 2}
    assert said == [f"{tmp_path / 'newer.jsonl'}: another version of isrlab wrote this log; {COLUMNS}"]


def test_a_missing_column_and_a_number_out_of_bounds_are_still_refused(log: Path, tmp_path: Path) -> None:
    def without(lines: list[dict[str, Any]]) -> None:
        next(line for line in lines if line.get("kind") == "broker-stopped").pop("broker")

    def out_of_bounds(lines: list[dict[str, Any]]) -> None:
        with_unknown_columns(lines)
        next(line for line in lines if line.get("kind") == "partition-changed")["partition"] = 10**9

    for change, problem in ((without, "missing required field `broker`"), (out_of_bounds, "partition cannot be 1000000000")):
        with pytest.raises(LogError, match=problem):
            list(LogReader(changed(log, tmp_path / "wrong.jsonl", change)))


def test_a_missing_line_beside_an_unknown_kind_is_still_told(log: Path, tmp_path: Path) -> None:
    def without_a_line(lines: list[dict[str, Any]]) -> None:
        with_unknown_kinds(lines)
        del lines[7]

    with pytest.raises(LogError, match="event 8 follows event 6"):
        list(LogReader(changed(log, tmp_path / "short.jsonl", without_a_line)))


def test_a_check_counts_what_is_unknown_and_finds_no_gap(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def both(lines: list[dict[str, Any]]) -> None:
        with_unknown_kinds(lines)
        with_unknown_columns(lines)

    newer = changed(log, tmp_path / "newer.jsonl", both)
    capsys.readouterr()
    assert main(["log", "check", str(newer)]) == 0
    captured = capsys.readouterr()
    assert captured.out.endswith("all in order\n")
    assert captured.err == f"{newer}: another version of isrlab wrote this log; {KINDS}; {COLUMNS}\n"


@pytest.mark.parametrize("command", [["log", "export", "--perfetto", "-"], ["metrics"], ["describe"]])
def test_commands_read_such_a_log(command: list[str], log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    newer = changed(log, tmp_path / "newer.jsonl", with_unknown_kinds)
    capsys.readouterr()
    assert main([*command, str(newer)]) == 0
    captured = capsys.readouterr()
    assert captured.out
    assert KINDS in captured.err


@pytest.mark.parametrize("command", [["replay"], ["audit"]])
def test_a_replay_needs_every_event(command: list[str], log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    newer = changed(log, tmp_path / "newer.jsonl", with_unknown_kinds)
    capsys.readouterr()
    assert main([*command, str(newer)]) == 2
    problem = f"{newer}: a replay needs every event of a log, but another version of isrlab wrote this log; {KINDS}"
    assert capsys.readouterr() == ("", f"isrlab: {problem}\n")


def test_a_replay_names_the_first_line_with_an_unknown_column(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    newer = changed(log, tmp_path / "newer.jsonl", with_unknown_columns)
    line = next(number for number, line in enumerate(newer.read_text().splitlines(), 1) if "broker-stopped" in line)
    capsys.readouterr()
    assert main(["replay", str(newer)]) == 1
    assert f"{newer}:{line}: after {line - 2} identical events" in capsys.readouterr().out
