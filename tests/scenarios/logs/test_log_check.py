"""`isrlab log check` and `isrlab log export`: every problem is reported with its line, and viewers can read the trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.sim.events import causes_of
from scenarios.logs.log_check import MAX_SHOWN, check_log
from scenarios.logs.log_reader import LogReader
from tui.cli import main


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the log of a scenario in which two brokers are down."""
    path = tmp_path_factory.mktemp("logs") / "two-down.jsonl"
    assert main(["run", "f2-min-isr-2-two-down", "--log", str(path)]) == 0
    return path


def lines_of(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def problems_of(tmp_path: Path, lines: list[dict[str, Any]], tail: str = "") -> list[str]:
    """Return the problems of a log with the given lines, without the name of the file."""
    path = tmp_path / "changed.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + tail, encoding="utf-8")
    checked = check_log(path)
    assert checked.count == len(checked.problems)
    return [problem.removeprefix(f"{path}") for problem in checked.problems]


def test_a_good_log_is_one_line(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["log", "check", str(log)]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith(f"{log}: ")
    assert captured.out.endswith("all in order\n")
    assert captured.err == ""


def test_every_problem_is_named_with_its_line(log: Path, tmp_path: Path) -> None:
    lines = lines_of(log)
    count = len(lines) - 2
    assert problems_of(tmp_path, lines) == []
    # The event of number 5 is missing; who names it as a cause is told too.
    told = problems_of(tmp_path, lines[:5] + lines[6:])
    assert told[0] == ":6: event 6 follows event 4; event 5 is missing"
    orphans = [index for index, line in enumerate(lines[6:], 6) if line.get("cause") == 5]
    assert len(told) == 1 + len(orphans)
    # Two lines in the wrong order.
    assert [text.partition("; ")[0] for text in problems_of(tmp_path, [*lines[:5], lines[6], lines[5], *lines[7:]])][:2] == [
        ":6: event 6 follows event 4",
        ":7: event 5 follows event 6",
    ]
    changed = [dict(line) for line in lines]
    changed[3]["cause"] = 3
    changed[7]["kind"] = "isr-shrank"
    changed[-2]["t"] = -1
    changed[-1]["events"] = count + 1
    told = problems_of(tmp_path, changed)
    assert told[0] == ":4: event 3 names event 3 as its cause; a cause must come before its effect, and 0 means no cause"
    # The event of an unknown kind is not checked, and not missing.
    assert told[1].startswith(f":{count + 1}: event {count} at -1 µs is earlier")
    assert told[-1] == f":{count + 2}: the end line says that the log has {count + 1} events, but the last event has number {count}"


def test_a_killed_session_is_readable_and_not_in_order(log: Path, tmp_path: Path) -> None:
    lines = lines_of(log)[:-1]
    assert problems_of(tmp_path, lines) == [": no end line: the process was killed; all events up to that point are readable"]
    assert problems_of(tmp_path, lines, tail='{"seq": 9')[0].startswith(f":{len(lines) + 1}: the last line is incomplete")


def test_a_line_behind_the_end_and_a_file_that_is_no_log(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(log)
    assert problems_of(tmp_path, [*lines, lines[-2]]) == [f":{len(lines) + 1}: there is a line after the end of the log"]
    (tmp_path / "empty.jsonl").write_bytes(b"")
    (tmp_path / "newer.jsonl").write_text(json.dumps(lines[0] | {"version": 99}) + "\n")
    capsys.readouterr()
    assert main(["log", "check", str(tmp_path)]) == 2
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 3
    assert any("newer.jsonl:1: version 99" in line for line in told)
    assert main(["log", "check", str(tmp_path / "none.jsonl")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_thousand_problems_are_counted(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps(lines_of(log)[0]) + "\n" + "hello\n" * 1_000)
    assert main(["log", "check", str(path)]) == 2
    told = capsys.readouterr().err.splitlines()
    assert len(told) == MAX_SHOWN + 1
    assert told[-1] == f"isrlab: {path}: {1_001 - MAX_SHOWN:,} more problems"


def test_a_trace_has_a_track_for_each_broker_and_arrows_along_causes(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "trace.json"
    assert main(["log", "export", str(log), "--perfetto", str(out)]) == 0
    trace = json.loads(out.read_text(encoding="utf-8"))["traceEvents"]
    reader = LogReader(log)
    events = {event[0]: event for event in reader}
    tracks = {entry["tid"]: entry["args"]["name"] for entry in trace if entry["name"] == "thread_name"}
    assert {f"b{broker.id}" for broker in reader.spec.brokers} < set(tracks.values())
    assert {"people", "controller"} < set(tracks.values())
    assert len(tracks) == sum(entry["name"] == "thread_name" for entry in trace), "no two have the same track"
    orders = {tracks[entry["tid"]]: entry["args"]["sort_index"] for entry in trace if entry["name"] == "thread_sort_index"}
    sorted_names = sorted(orders, key=lambda name: orders[name])
    brokers = [f"b{broker.id}" for broker in reader.spec.brokers]
    assert sorted_names[: 2 + len(brokers)] == ["people", "controller", *brokers], "the clients follow"
    slices = {entry["args"]["seq"]: entry for entry in trace if entry["ph"] == "X"}
    assert slices.keys() == events.keys()
    by_brokers = 0
    for seq, entry in slices.items():
        assert entry["ts"] == events[seq][1]
        assert entry["tid"] in tracks
        if entry["cat"] in ("became-leader", "became-follower", "leader-append", "follower-append"):
            by_brokers += 1
            assert tracks[entry["tid"]] == f"b{entry['args']['broker']}"
    assert by_brokers > 2
    # Each arrow starts on the slice of the cause and ends on that of the effect.
    starts = {entry["id"]: (entry["tid"], entry["ts"]) for entry in trace if entry["ph"] == "s"}
    ends = {entry["id"]: (entry["tid"], entry["ts"]) for entry in trace if entry["ph"] == "f"}
    caused = {
        (f"{seq}.{number}" if number else seq): (seq, cause)
        for seq, event in events.items()
        for number, cause in enumerate(causes_of(event))
    }
    assert len(caused) > 20
    assert starts == {arrow: (slices[cause]["tid"], slices[cause]["ts"]) for arrow, (_, cause) in caused.items()}
    assert ends == {arrow: (slices[seq]["tid"], slices[seq]["ts"]) for arrow, (seq, _) in caused.items()}
