"""A sweep stops at its limits with an exit code of its own, and keeps its finished runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenarios.sweeps.grids import TEXT
from tests.scenarios.sweeps.test_model_sweep import TEXT as MODELS
from tui.cli import main


@pytest.mark.parametrize("processes", ["0", "1"])
@pytest.mark.parametrize("text", [TEXT, MODELS], ids=["settings", "models"])
def test_a_sweep_stops_after_a_number_of_events(text: str, processes: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grid = tmp_path / "g.yaml"
    grid.write_text(text)
    assert main(["sweep", str(grid), "--runs", "2", "--processes", processes, "-q", "--max-events", "50"]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert ": cell 1, seed 1: stopped after 50 events (--max-events), at virtual time " in captured.err
    assert captured.err.count("\n") == 1


def test_a_sweep_below_its_limits_is_as_without_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grid = tmp_path / "g.yaml"
    grid.write_text(TEXT)
    words = ["sweep", str(grid), "--runs", "1", "--processes", "0", "-q", "--json"]
    assert main(words) == 0
    without = capsys.readouterr()
    assert main([*words, "--max-events", "10000000", "--max-seconds", "100000"]) == 0
    assert capsys.readouterr() == without


def test_a_sweep_that_was_stopped_continues(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grid, out = tmp_path / "g.yaml", tmp_path / "out"
    grid.write_text(TEXT)
    words = ["sweep", str(grid), "--processes", "0", "-q", "-o", str(out)]
    assert main([*words, "--runs", "1"]) == 0
    finished = {path.name for path in (out / "chunks").iterdir()}
    capsys.readouterr()
    assert main([*words, "--runs", "1000000", "--max-seconds", "1"]) == 3
    err = capsys.readouterr().err
    assert ": stopped after 1 s (--max-seconds); " in err
    assert err.endswith("out has the finished runs; to continue, run the same command again\n")
    assert finished <= {path.name for path in (out / "chunks").iterdir()}
    assert main([*words, "--runs", "1"]) == 0


@pytest.mark.parametrize(("option", "value"), [("--max-events", "0"), ("--max-seconds", "nan")])
def test_a_limit_that_is_no_number_is_refused(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "weekly-crashes", "--processes", "0", f"{option}={value}"]) == 2
    assert capsys.readouterr().err.startswith(f"isrlab: {option}: '{value}' is not a ")
