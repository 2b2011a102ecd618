"""After an unexpected error, the playground quits cleanly: it saves the session, prints one message that names the file, and exits with
code 70.
"""

from __future__ import annotations

import os
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from scenarios.logs.log_reader import read_events
from tests.tui.terminal.test_terminal import PLAY, Terminal
from tui.app.crash_report import write_crash_report
from tui.session.loading import load_session

BROKEN = """
from tui.handlers import playback_controls
def fail(self): raise RuntimeError("no such luck")
playback_controls.PlaybackControls.faster = fail
"""
"""A program in which the key `+` causes an error."""

BROKEN_CLUSTER = """
from core.lab.cluster import Cluster
from tui.handlers import playback_controls
def fail(self, *_): raise RuntimeError("no such luck")
def break_it(self): Cluster.step = Cluster.run_until = fail; self.session.playback.play(); self.screen.refresh_view()
playback_controls.PlaybackControls.faster = break_it
"""
"""A program in which the cluster itself fails after the key `+`."""


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.close()


@pytest.mark.parametrize("broken", [BROKEN, BROKEN_CLUSTER])
@pytest.mark.parametrize("logged", [True, False])
def test_a_crash_saves_the_session_and_reports_where(terminals: list[Terminal], tmp_path: Path, broken: str, logged: bool) -> None:
    arguments = ("--log", "mine.jsonl") if logged else ()
    terminal = Terminal(*arguments, cwd=tmp_path, program=broken + PLAY)
    terminals.append(terminal)
    terminal.read_until("Partitions")
    terminal.press(" k")
    terminal.read_until("kill b1")
    terminal.press("+")
    assert terminal.wait() == 70
    _, told = terminal.output.split(b"\x1b[?1049l")
    assert b"isrlab: the playground failed: RuntimeError: no such luck" in told
    assert b"Traceback" not in terminal.output
    assert termios.tcgetattr(terminal.slave)[3] == terminal.before[3], "the line discipline is as before"
    name = "mine" if logged else "isrlab-session"
    script, trace = tmp_path / f"{name}-failed-1.yaml", tmp_path / f"{name}-failed-1.traceback.txt"
    assert f"isrlab play {script.name}".encode() in told
    assert trace.name.encode() in told
    assert "no such luck" in trace.read_text()
    assert not list(tmp_path.glob(".partial*"))
    run = subprocess.run(
        [sys.executable, "-c", PLAY, "run", str(script), "--log", str(tmp_path / "again.jsonl")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "kill:" in script.read_text()
    if logged:
        problems: list[str] = []
        reader, events = read_events(tmp_path / "mine.jsonl", problems.append)
        assert broken != BROKEN or (problems, reader.end is not None) == ([], True)
        assert b"isrlab play mine.jsonl" in told
        again = read_events(tmp_path / "again.jsonl", problems.append)[1]
        assert again[: len(events)] == events


def test_where_nothing_can_be_written_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.chdir(tmp_path)
    lines = write_crash_report(load_session(None), "Traceback\nValueError: no")
    assert lines[0] == "the playground failed: ValueError: no"
    assert "the session is not saved" in lines[1]


def test_what_stands_there_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number in (1, 2):
        assert f"isrlab-session-failed-{number}.yaml" in write_crash_report(load_session(None), "ValueError: no")[1]
