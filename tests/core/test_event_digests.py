"""The program that prints digests of event logs can be run: contributors compare its output before and after a change."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.core import event_digests

ROOT: Final = Path(__file__).resolve().parents[2]


def test_the_program_prints_a_line_for_each_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(event_digests, "RELEASES", ("4.1",))
    monkeypatch.setattr(event_digests.catalogue, "names", lambda: ["e1-data-loss"])
    event_digests.main(["1"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] in ("pure", "compiled")
    assert [line.split()[0] for line in lines[1:]] == ["timeline", "swarm", *["e1-data-loss"] * (len(lines) - 3)]
    assert len(lines) > 3
    for line in lines[1:]:
        *_, events, digest, state, without_causes = line.split()
        assert int(events) > 10
        assert len(without_causes) == len(digest)
        assert state != without_causes


def test_the_digest_without_causes_differs_only_in_the_causes() -> None:
    runs = [event_digests.Run(), event_digests.Run(), event_digests.Run()]
    runs[0]((1, 0, 0, "append", 1))
    runs[1]((1, 0, 7, "append", 1))
    runs[2]((1, 0, 0, "append", 2))
    one, other, third = (run._without_causes.hexdigest() for run in runs)
    assert one == other != third


def test_the_module_can_be_run() -> None:
    """Without imports that fail: the usage ends the program before it plays anything."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.core.event_digests", "--help"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "digest" in done.stdout
