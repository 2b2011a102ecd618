"""stdout and stderr that accept nothing, or not every character: the program prints one line and has its own exit code, but never prints a
traceback.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scenarios.io.standard_streams import OutputLost, escaping_streams, print_lines, styled

ROOT = Path(__file__).resolve().parents[3]
LOST = "isrlab: cannot write to stdout: "

CALLS = [
    ["--help"],
    ["--version"],
    ["run", "b2-high-watermark"],
    ["run", "b2-high-watermark", "--json"],
    ["describe", "b2-high-watermark"],
    ["metrics", "b2-high-watermark"],
    ["scenarios", "list"],
    ["scenarios", "show", "b2-high-watermark"],
    ["keys"],
    ["reassign", "b2-high-watermark", "--list"],
]
"""A command line for each way of printing."""

PRINTING = [["scenarios", "list", "-l"], ["keys"], ["describe", "b2-high-watermark"]]
"""Command lines that print many characters that are not in ASCII."""


def isrlab(words: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a shell command in which `$@` stands for isrlab with the given arguments."""
    call = ["sh", "-c", words, "sh", sys.executable, "-m", "tui", *arguments]
    return subprocess.run(call, cwd=ROOT, capture_output=True, text=True, env={**os.environ, **environment}, timeout=120, check=False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("arguments", CALLS, ids=" ".join)
def test_a_full_disk_is_reported_in_one_line(arguments: list[str]) -> None:
    done = isrlab('"$@" >/dev/full', *arguments)
    assert (done.returncode, done.stderr) == (74, f"{LOST}No space left on device\n")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("blocks", [1, 2, 4])
@pytest.mark.parametrize(
    "arguments", [["run", "b2-high-watermark", "e1-data-loss", "--json"], ["scenarios", "list"], ["keys"]], ids=" ".join
)
def test_a_disk_that_is_full_before_the_end_is_reported(arguments: list[str], blocks: int, unbuffered: str, tmp_path: Path) -> None:
    """The disk takes part of a write, and nothing more."""
    out = tmp_path / "out"
    done = isrlab(f'ulimit -f {blocks}; "$@" >"{out}"', *arguments, PYTHONUNBUFFERED=unbuffered, PYTHONDONTWRITEBYTECODE="1")
    assert (done.returncode, done.stderr) == (74, f"{LOST}File too large\n")
    assert out.stat().st_size in (blocks * 512, blocks * 1024)


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_unbuffered_stdout_gets_the_same_text(unbuffered: str) -> None:
    done = isrlab('"$@"', "scenarios", "list", "-l", PYTHONUNBUFFERED=unbuffered, PYTHONIOENCODING="latin-1:strict")
    assert done.returncode == 0
    assert done.stdout == isrlab('"$@"', "scenarios", "list", "-l", PYTHONIOENCODING="latin-1:strict").stdout


def test_a_log_on_a_full_stdout(tmp_path: Path) -> None:
    log = tmp_path / "it.jsonl"
    assert isrlab('"$@"', "run", "b2-high-watermark", "--log", str(log)).returncode == 0
    for arguments in (["log", "check", str(log)], ["replay", str(log)], ["log", "export", str(log), "--perfetto", "-"]):
        done = isrlab('"$@" >/dev/full', *arguments)
        assert (done.returncode, done.stderr) == (74, f"{LOST}No space left on device\n")


@pytest.mark.parametrize("arguments", [["--version"], ["run", "b2-high-watermark"], ["keys"]], ids=" ".join)
def test_a_closed_stdout_is_reported_in_one_line(arguments: list[str]) -> None:
    done = isrlab('"$@" >&-', *arguments)
    assert (done.returncode, done.stderr) == (74, f"{LOST}it is closed\n")


def test_what_needs_no_stdout_does_without(tmp_path: Path) -> None:
    described = tmp_path / "d.txt"
    described.write_text(
        "Topic: t\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: \n\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n"
    )
    done = isrlab('"$@" <&- >&-', "import", str(described), "-o", str(tmp_path / "c.yaml"))
    assert done.returncode == 0
    assert (tmp_path / "c.yaml").read_text().startswith("cluster:")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_no_file_takes_the_place_of_a_stream_that_is_closed(closed: str, tmp_path: Path) -> None:
    opened = f"open({str(tmp_path / 'number')!r}, 'w')"
    code = f"from scenarios.io.standard_streams import escaping_streams\nwith escaping_streams(), {opened} as file: file.write(str(file.fileno()))"
    subprocess.run(["sh", "-c", f'"$@" {closed}', "sh", sys.executable, "-c", code], cwd=ROOT, check=True)
    assert int((tmp_path / "number").read_text()) > 2


def test_a_closed_stream_costs_no_other_descriptor(monkeypatch: pytest.MonkeyPatch) -> None:
    def lowest_free() -> int:
        found = os.open(os.devnull, os.O_RDONLY)
        os.close(found)
        return found

    before = lowest_free()
    monkeypatch.setattr(sys, "stdout", None)
    with escaping_streams():
        assert lowest_free() == before


def test_a_closed_stdin_is_reported() -> None:
    done = isrlab('"$@" <&-', "import", "-")
    assert (done.returncode, done.stderr) == (2, "isrlab: <stdin>: cannot be read: it is closed\n")


@pytest.mark.parametrize("words", ['"$@" 2>/dev/full', '"$@" 2>&-'])
def test_stderr_that_takes_nothing_changes_no_exit_code(words: str) -> None:
    assert isrlab(words, "run", "no-such-scenario").returncode == 2
    assert isrlab(words, "run", "b2-high-watermark").returncode == 0


def test_a_reader_that_goes_away_ends_it_without_a_word() -> None:
    done = isrlab('{ "$@"; echo "exit $?" >&2; } | head -n 1', "scenarios", "show", "b2-high-watermark")
    assert done.stdout.count("\n") == 1
    assert done.stderr in ("exit 0\n", "exit 141\n")  # a short text may be written before the reader goes


@pytest.mark.parametrize(
    "locale",
    [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
    ids=["ascii", "C"],
)
def test_what_an_encoding_lacks_is_spelled_out(locale: dict[str, str], tmp_path: Path) -> None:
    script = tmp_path / "s.yaml"
    script.write_text(
        "scenario: s\nabout: ★ 大\ncluster: {brokers: 1, topics: {t: {partitions: 1, replication-factor: 1}}}\n"
        "timeline: [{at: 1s, note: ★ 大, expect: {lost: 1}}]\n",
        encoding="utf-8",
    )
    done = isrlab('"$@"', "run", str(script), **locale)
    assert (done.returncode, done.stderr) == (1, "")
    assert r"(\u2605 \u5927)" in done.stdout
    done = isrlab('"$@"', "run", "★.yaml", **locale)
    assert done.returncode == 2
    assert done.stderr.startswith((r"isrlab: \u2605.yaml: cannot be read", r"isrlab: \udce2\udc98\udc85.yaml: cannot be read"))
    code = f"from tui.cli import main\nfor arguments in {PRINTING}: assert main(arguments) == 0\nmain(['--help'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, env={**os.environ, **locale}, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()


def test_streams_are_guarded_for_as_long_as_a_command_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    out, err = io.StringIO(), Full()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    with escaping_streams():
        print_lines(["a\x1b[31mb", "c\nd"])
        sys.stderr.write("lost")
        styled(sys.stdout).write("\x1b[1m")
    assert out.getvalue() == "a\\x1b[31mb\nc\\nd\n\x1b[1m"
    assert (sys.stdout, sys.stderr) == (out, err)
    monkeypatch.setattr(sys, "stdout", Full())
    with escaping_streams(), pytest.raises(OutputLost):
        styled(sys.stdout).write("x")
