"""A terminal that is closed, or stopped and continued, while the playground runs in it."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scenarios.logs.log_reader import read_events
from tests.signals import heard
from tui.terminal.driver import HangupSafeFile

ROOT = Path(__file__).resolve().parents[3]


class Broken(io.StringIO):
    """A terminal whose writes fail."""

    def __init__(self) -> None:
        super().__init__()
        self.there = True

    def write(self, text: str) -> int:
        if not self.there:
            raise OSError(5, "Input/output error")
        return super().write(text)


def test_a_file_that_breaks_takes_what_is_written_and_says_so_once() -> None:
    under, told = Broken(), []
    lasting = HangupSafeFile(under, lambda: told.append("gone"))
    lasting.write("a")
    lasting.flush()
    assert (under.getvalue(), told) == ("a", [])
    under.there = False
    for _ in range(2):
        lasting.write("b")
        lasting.flush()
    assert told == ["gone"]
    closed = Broken()
    closed.close()
    HangupSafeFile(closed, lambda: told.append("closed")).write("c")
    assert told == ["gone", "closed"]


def test_what_a_terminal_has_not_taken_is_flushed_nowhere() -> None:
    """Otherwise, Python's flush at exit would fail, and the exit code would be 120."""
    master, slave = pty.openpty()
    told: list[str] = []
    with open(slave, "w") as file:
        lasting = HangupSafeFile(file, lambda: told.append("gone"))
        lasting.write("a")
        os.close(master)
        lasting.flush()
        assert told == ["gone"]
        file.write("b")
        file.flush()


class Owned:
    """A playground that owns its terminal, as it does under a shell. Its output is read and discarded."""

    def __init__(self, log: Path, *, deaf: bool = False) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))

        def own() -> None:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            heard()
            if deaf:
                signal.signal(signal.SIGHUP, signal.SIG_IGN)

        env = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tui", "play", "--log", str(log)], stdin=slave, stdout=slave, stderr=slave, env=env, preexec_fn=own
        )
        os.close(slave)
        self.written = b""

    def read_until(self, text: bytes) -> None:
        """Wait until a text appears in the output after the text that the last call waited for."""
        end = time.monotonic() + 60
        while text not in self.written:
            assert time.monotonic() < end, f"{text!r} was never written"
            if select.select([self.master], [], [], 0.1)[0]:
                self.written += os.read(self.master, 65536)
        self.written = self.written.partition(text)[2]

    def close(self) -> None:
        """Close the terminal if it is open, and kill any remaining process."""
        if self.master >= 0:
            os.close(self.master)
            self.master = -1
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@pytest.fixture
def opened() -> Iterator[list[Owned]]:
    opened: list[Owned] = []
    yield opened
    for owned in opened:
        owned.close()


def ended_well(log: Path) -> None:
    problems: list[str] = []
    reader, events = read_events(log, problems.append)
    assert problems == []
    assert reader.end is not None
    assert reader.end.events == len(events)


@pytest.mark.parametrize("deaf", [False, True], ids=["hears", "deaf"])
def test_a_closed_terminal_ends_it_and_keeps_the_log(opened: list[Owned], tmp_path: Path, deaf: bool) -> None:
    """This also holds if SIGHUP is ignored (`nohup`), because nobody can use the playground anymore."""
    log = tmp_path / "session.jsonl"
    owned = Owned(log, deaf=deaf)
    opened.append(owned)
    owned.read_until(b"Partitions")
    for _ in range(50):
        owned.read_until(b"\x1b[")
    os.close(owned.master)
    owned.master = -1
    assert owned.process.wait(60) == 128 + signal.SIGHUP
    ended_well(log)


@pytest.mark.parametrize("deaf", [False, True], ids=["hears", "deaf"])
def test_a_closed_terminal_ends_it_also_while_nothing_is_written(opened: list[Owned], tmp_path: Path, deaf: bool) -> None:
    """A paused playground writes nothing, so no write fails."""
    log = tmp_path / "session.jsonl"
    owned = Owned(log, deaf=deaf)
    opened.append(owned)
    owned.read_until(b"Partitions")
    os.write(owned.master, b" ")
    owned.read_until(b"paused")
    while select.select([owned.master], [], [], 1.0)[0]:
        os.read(owned.master, 65536)
    os.close(owned.master)
    owned.master = -1
    assert owned.process.wait(20) == 128 + signal.SIGHUP
    ended_well(log)


def test_continued_without_a_stop_signal_it_reads_keys_once(opened: list[Owned], tmp_path: Path) -> None:
    log = tmp_path / "session.jsonl"
    owned = Owned(log)
    opened.append(owned)
    owned.read_until(b"Partitions")
    for _ in range(3):
        owned.process.send_signal(signal.SIGSTOP)
        owned.process.send_signal(signal.SIGCONT)
        owned.read_until(b"\x1b[?1049h")
        owned.read_until(b"Partitions")
    if os.path.isdir("/proc"):
        # The main thread, the log's, the keys' and the screen's; two more each time were they taken anew.
        assert len(os.listdir(f"/proc/{owned.process.pid}/task")) < 7
    os.write(owned.master, b"q")
    drain = threading.Thread(target=owned.read_until, args=(b"\x1b[?1049l",))
    drain.start()
    assert owned.process.wait(60) == 0
    drain.join()
    ended_well(log)


def stopped(pid: int) -> bool:
    """Return whether a process is stopped (SIGSTOP)."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="looks into /proc")
@pytest.mark.parametrize("over", [b"", b"g"], ids=["overview", "line"])
def test_ctrl_z_suspends_and_fg_comes_back_to_the_screen(opened: list[Owned], tmp_path: Path, over: bytes) -> None:
    log = tmp_path / "session.jsonl"
    owned = Owned(log)
    opened.append(owned)
    owned.read_until(b"Partitions")
    before = termios.tcgetattr(owned.master)[3]
    if over:
        os.write(owned.master, over)
        owned.read_until(b"Go to")
    os.write(owned.master, b"\x1a")
    owned.read_until(b"\x1b[?1049l")
    end = time.monotonic() + 60
    while not stopped(owned.process.pid):
        assert time.monotonic() < end, "it does not stop"
        time.sleep(0.05)
    assert termios.tcgetattr(owned.master)[3] & termios.ICANON, "the shell has the terminal as it was"
    assert not before & termios.ICANON
    owned.process.send_signal(signal.SIGCONT)
    owned.read_until(b"\x1b[?1049h")
    owned.read_until(b"Partitions")
    os.write(owned.master, b"\x1b" if over else b"")
    time.sleep(0.5)
    os.write(owned.master, b"q")
    drain = threading.Thread(target=owned.read_until, args=(b"\x1b[?1049l",))
    drain.start()
    assert owned.process.wait(60) == 0
    drain.join()
    ended_well(log)
