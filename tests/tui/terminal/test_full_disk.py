"""A playground whose disk becomes full tells it in one line, ends with exit code 2, and keeps what can still be kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scenarios.language.script import read_script
from scenarios.logs.log_reader import LogReader
from tests.tui.terminal.test_terminal import PLAY, Terminal

LIMITED = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0})); " + PLAY
"""A program that cannot make a file larger than a number of bytes, as if the disk were full. It must not compile modules, because Python
keeps the ones that it could write only in part.
"""


@pytest.fixture
def opened() -> Iterator[list[Terminal]]:
    terminals: list[Terminal] = []
    yield terminals
    for terminal in terminals:
        terminal.close()


def played(opened: list[Terminal], folder: Path, size: int, *options: str) -> tuple[int, str]:
    """Kill a broker, wait until the cluster has recorded some kilobytes of events, and quit. Return the exit code and the last lines."""
    terminal = Terminal(*options, cwd=folder, program=LIMITED.format(size), PYTHONDONTWRITEBYTECODE="1")
    opened.append(terminal)
    terminal.read_until("Partitions")
    terminal.press("kx")
    terminal.read_until("00:2")
    message = "cannot be written: File too large; the session goes on"  # its end stands on the next line
    if "s.jsonl" in options and message.encode() not in terminal.output:
        terminal.read_until(message)
    terminal.press("q")
    code = terminal.wait()
    return code, terminal.output.rpartition(b"\x1b[?1049l")[2].decode()


def told(last: str) -> list[str]:
    return [line[line.index("isrlab: ") :] for line in last.splitlines() if "isrlab: " in line]


def test_a_script_that_does_not_fit_leaves_the_one_that_stood_there(opened: list[Terminal], tmp_path: Path) -> None:
    (tmp_path / "drill.yaml").write_text("what stood there")
    code, last = played(opened, tmp_path, 64, "--record", "drill.yaml")
    assert (code, told(last)) == (2, ["isrlab: drill.yaml: cannot be written: File too large"])
    assert (tmp_path / "drill.yaml").read_text() == "what stood there"
    assert [path.name for path in tmp_path.iterdir()] == ["drill.yaml"]


@pytest.mark.parametrize("option", ["--record", "--log"])
def test_a_log_is_readable_up_to_where_the_disk_was_full(option: str, opened: list[Terminal], tmp_path: Path) -> None:
    code, last = played(opened, tmp_path, 16_384, option, "s.jsonl")
    assert (code, told(last)) == (2, ["isrlab: s.jsonl: cannot be written: File too large"])
    events = list(LogReader(tmp_path / "s.jsonl"))
    assert [event[0] for event in events] == list(range(1, len(events) + 1))
    assert len(events) > 20


def test_a_log_that_does_not_fit_keeps_no_script_from_being_saved(opened: list[Terminal], tmp_path: Path) -> None:
    code, last = played(opened, tmp_path, 16_384, "--log", "s.jsonl", "--record", "drill.yaml")
    assert (code, told(last)) == (2, ["isrlab: s.jsonl: cannot be written: File too large"])
    scenario = read_script((tmp_path / "drill.yaml").read_text(), "drill.yaml")
    assert [act.word for step in scenario.steps for act in step.acts][-1] == "kill"
