"""If memory or the stack runs out, isrlab prints one line and ends with the exit code for bad input."""

from __future__ import annotations

import argparse
import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tui import cli
from tui.commands import run

LARGE = """
scenario: large
cluster:
  brokers: 100
  topics:
    t: {partitions: 100000, replication-factor: 5}
timeline:
  - wait: 1s
expect:
  - lost == 0
"""


@pytest.mark.parametrize(("error", "words"), [(MemoryError, "not enough memory"), (RecursionError, "nested too deeply")])
def test_exhaustion_is_one_line_and_bad_input(
    error: type[Exception], words: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(arguments: argparse.Namespace) -> int:
        raise error

    monkeypatch.setattr(run, "_run", fail)
    assert cli.main(["run", "e1-data-loss"]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert words in err


def test_a_full_disk_is_one_line_and_bad_input(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Commands report files that they cannot write; this is the line for files that the user does not know, such as those in /tmp."""

    def fail(arguments: argparse.Namespace) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/tmp/scratch")

    monkeypatch.setattr(run, "_run", fail)
    assert cli.main(["run", "e1-data-loss"]) == 2
    assert capfd.readouterr() == ("", "isrlab: /tmp/scratch cannot be written: No space left on device\n")


@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_AS")
def test_a_cluster_that_does_not_fit_into_memory_is_bad_input(tmp_path: Path) -> None:
    script = tmp_path / "large.yaml"
    script.write_text(LARGE)
    program = "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (2**28, 2**28)); from tui.cli import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", program, "run", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.count("\n") == 1
    assert "not enough memory" in done.stderr
