"""A complete session in tmux: real keys, the resulting screen, and the files that remain on disk."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scenarios.logs.log_reader import read_events

ROOT = Path(__file__).resolve().parents[3]
ISRLAB = "import sys; from tui.cli import main; sys.exit(main(sys.argv[1:]))"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux"),
]


class Tmux:
    """A separate tmux server with one window of 120 × 40."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.env = {
            name: value for name, value in os.environ.items() if name not in ("TMUX", "NO_COLOR", "ISRLAB_ASCII", "COLUMNS", "LINES")
        }
        self.env |= {"PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(directory), "LC_ALL": "C.UTF-8"}
        self.socket = f"isrlab-{os.getpid()}"

    def run(self, *arguments: str) -> str:
        command = ["tmux", "-u", "-L", self.socket, "-f", os.devnull, *arguments]
        done = subprocess.run(command, env=self.env, cwd=self.directory, capture_output=True, text=True, encoding="utf-8", check=False)
        assert done.returncode == 0, f"tmux {arguments[0]}: {done.stderr}"
        return done.stdout

    def open(self, *arguments: str) -> None:
        """Start isrlab. When it ends, its exit code is written to a file, and the screen remains."""
        command = shlex.join([sys.executable, "-c", ISRLAB, *arguments])
        self.run("new-session", "-d", "-x", "120", "-y", "40", f"{command}; echo ended with $?; exec cat")

    def screen(self) -> str:
        return self.run("capture-pane", "-p")

    def until(self, *texts: str, gone: str | None = None) -> str:
        """Return the screen once it shows all given texts and not the unwanted one. Two captures must agree, because tmux can show a
        half-drawn frame.
        """
        end = time.monotonic() + 60
        matched = False
        while True:
            screen = self.screen()
            before, matched = matched, all(text in screen for text in texts) and (gone is None or gone not in screen)
            if before and matched:
                return screen
            assert time.monotonic() < end, f"{texts!r} without {gone!r} never came; the screen:\n{screen}"
            time.sleep(0.05)

    def press(self, key: str, *texts: str, gone: str | None = None) -> str:
        """Press a key, and return the screen once it shows the effect of the key."""
        self.run("send-keys", key)
        return self.until(*texts, gone=gone)

    def write(self, text: str) -> None:
        self.run("send-keys", "-l", text)


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    server = Tmux(tmp_path)
    yield server
    asked = ["tmux", "-L", server.socket, "display-message", "-p", "#{socket_path}"]
    socket = subprocess.run(asked, env=server.env, capture_output=True, text=True, check=False).stdout.strip()
    subprocess.run(["tmux", "-L", server.socket, "kill-server"], env=server.env, capture_output=True, check=False)
    if socket:
        Path(socket).unlink(missing_ok=True)


def header_time(screen: str) -> str:
    """Return the virtual time in the first line."""
    return screen.split()[2]


def isrlab(tmux: Tmux, *arguments: str) -> str:
    """Run a command that must succeed, and return its output."""
    command = [sys.executable, "-c", ISRLAB, *arguments]
    done = subprocess.run(command, env=tmux.env, cwd=tmux.directory, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_session_from_the_first_key_to_the_saved_script(tmux: Tmux, tmp_path: Path) -> None:
    tmux.open("play", "--log", "played.jsonl")
    screen = tmux.until("Brokers 3 of 3 up", "Partitions 9", "stores ISRs", "q quit", gone="paused")  # the third only where there is room
    assert len(screen.rstrip("\n").splitlines()) == 40
    assert max(len(line) for line in screen.splitlines()) <= 120
    while header_time(screen) < "00:01":
        screen = tmux.until("Brokers 3 of 3 up")
    tmux.press("k", "Brokers 2 of 3 up", "dead, not yet noticed", "▸ kill b1", "retries")
    ended = header_time(tmux.press("Space", "paused"))

    # Back, to the cause, and to before it.
    tmux.press(",", "before the end")
    tmux.press("<", "Show the last change", "state of b1")
    tmux.press("b", "broker-stopped", "because ▸ kill b1", gone="Show the last change")
    tmux.press("[", "following", "before the end", gone="broker-stopped")
    tmux.press(",", "Brokers 3 of 3 up", "before the end")

    # What is done there instead begins a branch; the future that was is kept, to go to and to compare with.
    screen = tmux.press("z", "⑂ branch 2", "▸ pause b1", gone="before the end")
    assert "kill b1" not in screen.split("Events")[1].split("Partition ─")[0]
    tmux.press("N", "the controller fenced b1")
    tmux.press("D", "Differences from", f"3 before the last jump, at {ended} ")
    tmux.press(
        "3", "Difference", f"then: before the last jump, at {ended} ", "stopped → paused, fenced", "leader b1 → b2", gone="Differences from"
    )
    tmux.press("Escape", gone="Difference")

    tmux.press("S", "Save the session", "session.yaml")
    tmux.write("mine.yaml")
    tmux.press("Enter", "saved as mine.yaml", gone="Save the session")
    tmux.press("q", "ended with 0")

    # The script makes the branch again, event by event, and so do the acts in the log.
    script = (tmp_path / "mine.yaml").read_text()
    assert "pause:" in script
    assert "kill:" not in script
    assert isrlab(tmux, "run", "mine.yaml", "--log", "run.jsonl").startswith("ok ")
    assert isrlab(tmux, "replay", "played.jsonl").startswith("same ")
    (played, events), (again, repeated) = read_events(tmp_path / "played.jsonl"), read_events(tmp_path / "run.jsonl")
    assert len(events) > 300
    assert sum(event[3] == "leader-elected" for event in events) >= 3
    assert events == repeated
    assert played.end == again.end
    assert played.end is not None
