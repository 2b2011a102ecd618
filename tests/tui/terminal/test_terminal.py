"""The playground in a real pseudo-terminal: its output, and how it quits."""

from __future__ import annotations

import base64
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.kafka.release import CURRENT
from scenarios.logs.log_reader import read_events
from scenarios.logs.replay import replay
from tests.signals import heard

ROOT = Path(__file__).resolve().parents[3]
PLAY = "import sys; from tui.cli import main; sys.exit(main(sys.argv[1:]))"


class Terminal:
    """A pseudo-terminal in which a playground runs."""

    def __init__(
        self, *arguments: str, columns: int = 120, rows: int = 40, cwd: Path | None = None, program: str = PLAY, **environ: str
    ) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        env = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONIOENCODING": "utf-8", **environ}
        env["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [env.get("PYTHONPATH")])])
        command = [sys.executable, "-c", program, "play", *arguments]
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=env, cwd=cwd, preexec_fn=heard)
        self.output = b""

    def read(self, seconds: float) -> bytes:
        """Return the output of the given number of seconds."""
        end = time.monotonic() + seconds
        got = b""
        while (left := end - time.monotonic()) > 0:
            ready, _, _ = select.select([self.master], [], [], left)
            if ready:
                got += os.read(self.master, 65536)
        self.output += got
        return got

    def read_until_still(self, seconds: float) -> None:
        """Read until there has been no output for the given number of seconds."""
        end = time.monotonic() + 60
        while self.read(seconds):
            assert time.monotonic() < end, "it writes and writes"

    def read_until(self, text: str, seconds: float = 60.0) -> bytes:
        """Return the output up to the appearance of a text."""
        end = time.monotonic() + seconds
        start = len(self.output)
        while text.encode() not in self.output[start:]:
            assert time.monotonic() < end, f"{text!r} was never written"
            self.read(0.1)
        return self.output[start:]

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def wait(self) -> int:
        """Return the exit code. Remaining output is read, so that the process does not block."""
        end = time.monotonic() + 60
        while self.process.poll() is None:
            assert time.monotonic() < end, "it does not end"
            self.read(0.1)
        self.read(0.1)
        return self.process.returncode

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.close()


def test_paused_it_writes_nothing(terminals: list[Terminal]) -> None:
    terminal = Terminal()
    terminals.append(terminal)
    terminal.read_until("Partitions")
    terminal.read_until("00:01")  # while it plays the screen moves
    terminal.press(" ")
    terminal.read_until("paused")
    terminal.read_until_still(1.0)
    assert terminal.read(2.0) == b""
    terminal.press("q")
    assert terminal.wait() == 0


@pytest.fixture
def deaf() -> Iterator[None]:
    """Ignore the signals that are ignored under `nohup` or in a script's background process."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGHUP, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("deaf")
@pytest.mark.parametrize(("ending", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), ("\x03", 0), ("q", 0)])
def test_however_it_ends_log_and_terminal_are_sane(
    terminals: list[Terminal], tmp_path: Path, ending: signal.Signals | str, code: int
) -> None:
    log = tmp_path / "session.jsonl"
    terminal = Terminal("--log", str(log))
    terminals.append(terminal)
    terminal.read_until("Partitions")
    terminal.press("k")
    terminal.read_until("kill b")
    if isinstance(ending, str):
        terminal.press(ending)
    else:
        terminal.process.send_signal(ending)
    assert terminal.wait() == code
    assert b"\x1b[?1049l" in terminal.output, "the alternate screen is left"
    assert b"\x1b[?25h" in terminal.output, "the cursor is back"
    assert b"\x1b[?1000l" in terminal.output, "the mouse is let go"
    assert termios.tcgetattr(terminal.slave)[3] == terminal.before[3], "the line discipline is as before"
    problems: list[str] = []
    reader, events = read_events(log, problems.append)
    assert problems == []
    assert reader.end is not None
    assert reader.end.events == len(events)
    assert any(event[3] == "broker-stopped" for event in events)


def test_the_log_of_a_killed_playground_is_readable_and_replays(terminals: list[Terminal], tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    terminal = Terminal("--log", str(log))
    terminals.append(terminal)
    terminal.read_until("Partitions")
    terminal.press("k")
    terminal.read_until("kill b")
    end = time.monotonic() + 60
    while b'"kind":"broker-stopped"' not in log.read_bytes():
        assert time.monotonic() < end, "events reach the disk within a second"
        terminal.read(0.1)
    terminal.process.send_signal(signal.SIGKILL)
    assert terminal.wait() == -signal.SIGKILL
    problems: list[str] = []
    reader, events = read_events(log, problems.append)
    assert len(problems) == 1
    assert "was killed" in problems[0]
    assert reader.end is None
    assert [event[0] for event in events] == list(range(1, len(events) + 1))
    assert replay(log).same
    again = Terminal(str(log))
    terminals.append(again)
    again.read_until("Partitions")
    again.press("q")
    assert again.wait() == 0


def copied(terminal: Terminal) -> str:
    """Return the text that was last copied to the terminal's clipboard (OSC 52)."""
    found = re.findall(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)(?:\x07|\x1b\\)", terminal.output)
    return base64.b64decode(found[-1]).decode()


def test_copies_and_pictures_leave_the_terminal_also_from_a_dialog(terminals: list[Terminal], tmp_path: Path) -> None:
    terminal = Terminal(cwd=tmp_path)
    terminals.append(terminal)
    terminal.read_until("Partitions")
    terminal.press(" y")
    terminal.read_until("copied the kafka-topics row")
    assert copied(terminal).startswith("Topic: orders\tPartition: 0\tLeader: ")
    terminal.press("\r")
    terminal.read_until("Esc: back")
    terminal.press("y")
    terminal.read_until("copied this text")
    assert "partition epoch 0" in copied(terminal)
    terminal.press("P")
    terminal.read_until("picture saved as isrlab-")
    (picture,) = tmp_path.glob("isrlab-*.svg")
    assert "Esc:" in picture.read_text(encoding="utf-8"), "the dialog is in it"
    terminal.press("q")
    terminal.read(0.5)
    terminal.press("q")
    assert terminal.wait() == 0


def test_no_color_writes_no_color(terminals: list[Terminal]) -> None:
    terminal = Terminal(NO_COLOR="1")
    terminals.append(terminal)
    terminal.read_until("Partitions")
    terminal.press("q")
    assert terminal.wait() == 0
    assert b"38;2;" not in terminal.output
    assert b"48;2;" not in terminal.output
    assert b"38;5;" not in terminal.output


def test_ascii_writes_ascii_only(terminals: list[Terminal]) -> None:
    terminal = Terminal(ISRLAB_ASCII="1")
    terminals.append(terminal)
    terminal.read_until("Partitions")
    terminal.press("?")
    terminal.read_until("Keys")
    terminal.press("\x1b")
    terminal.read_until("Partitions")
    terminal.press("q")
    assert terminal.wait() == 0
    assert terminal.output.isascii()


def test_scenario_log_is_the_same_as_headless(terminals: list[Terminal], tmp_path: Path) -> None:
    """A scenario that is played to its end on a screen, at a speed that frames cannot reach, has the same events as without a screen."""
    played, run = tmp_path / "played.jsonl", tmp_path / "run.jsonl"
    terminal = Terminal("c1-paused-follower", "--log", str(played))
    terminals.append(terminal)
    terminal.read_until("Partitions")
    terminal.press("x")
    terminal.read_until("held · ended")
    terminal.press("q")
    assert terminal.wait() == 0
    subprocess.run(
        [sys.executable, "-c", PLAY, "run", "c1-paused-follower", "--release", CURRENT.name, "--log", str(run)],
        check=True,
        capture_output=True,
    )
    on_screen, headless = played.read_text().splitlines()[:-1], run.read_text().splitlines()[:-1]
    assert any('"isr-expanded"' in line for line in on_screen), "it was played to its end"
    assert on_screen == headless[: len(on_screen)]
