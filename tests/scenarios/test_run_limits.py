"""A run stops at its limits with an exit code of its own, and a long run shows its progress on a terminal."""

from __future__ import annotations

import gc
import io
import sys
import threading
import time
from pathlib import Path

import pytest

from scenarios.logs.log_reader import LogReader
from tui.cli import main
from tui.commands import run_watch

ENDLESS = """
cluster: {brokers: 3, topics: {t: {}}}
timeline:
  - load: {topic: t, rate: 1000}
  - wait: 3600d
expect:
  - lost == 0
"""
MODEL = """
model: mysql
clients: {c: }
timeline:
  - load: {client: c, every: 1ms}
  - wait: 3600d
"""


@pytest.fixture
def scripts(tmp_path: Path) -> dict[str, str]:
    """Return the paths of scripts that take years of virtual time, by kind."""
    found = {}
    for kind, text in (("kafka", ENDLESS), ("model", MODEL)):
        found[kind] = str(tmp_path / f"{kind}.yaml")
        Path(found[kind]).write_text(text)
    return found


@pytest.mark.parametrize("kind", ["kafka", "model"])
def test_a_run_stops_after_a_number_of_events(kind: str, scripts: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", scripts[kind], "--max-events", "500"]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"isrlab: {kind} (")
    assert "stopped after 500 events (--max-events), at virtual time" in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("kind", ["kafka", "model"])
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_run_stops_after_a_time(kind: str, options: list[str], scripts: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", scripts[kind], "--max-seconds", "0.2", *options]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "stopped after 0.2 s (--max-seconds), at virtual time" in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_time_limit_reached_during_a_garbage_collection_is_not_lost(
    scripts: dict[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python only prints an exception that a signal handler raises inside a callback of the garbage collector."""
    ignored = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)

    def linger(phase: str, info: dict[str, int]) -> None:
        until = time.monotonic() + 0.005
        while time.monotonic() < until:
            pass

    before = gc.get_threshold()
    gc.callbacks.append(linger)
    gc.set_threshold(100)
    try:
        assert main(["run", scripts["kafka"], "--max-seconds", "0.2"]) == 3
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(linger)
    assert not ignored
    assert capsys.readouterr().err.count("\n") == 1


def test_a_run_stops_after_a_time_in_any_thread(scripts: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    codes: list[int] = []
    thread = threading.Thread(
        target=lambda: codes.append(main(["run", scripts["kafka"], "--max-seconds", "0.2", "--max-events", "1000000"]))
    )
    thread.start()
    thread.join()
    assert codes == [3]
    assert "stopped after 0.2 s (--max-seconds)" in capsys.readouterr().err


def test_a_run_without_events_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_watch, "_GRACE", 0.05)
    watch = run_watch.RunWatch(1000, 0.05)
    with pytest.raises(run_watch.LimitReached, match=r"silent: stopped after 0\.05 s"), watch.over("silent"):
        time.sleep(10)


def test_releases_side_by_side_stop_at_the_limit(scripts: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", scripts["kafka"], "--release", "2.4", "--release", "4.3", "--max-events", "300"]) == 3
    assert "stopped after 300 events" in capsys.readouterr().err


def test_the_log_of_a_stopped_run_has_its_events(scripts: dict[str, str], tmp_path: Path) -> None:
    log = tmp_path / "stopped.jsonl"
    assert main(["run", scripts["kafka"], "--max-events", "500", "--log", str(log)]) == 3
    assert len(list(LogReader(log))) == 500


def test_a_run_below_its_limits_is_as_without_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "e1-data-loss"]) == 0
    without = capsys.readouterr().out
    assert main(["run", "e1-data-loss", "--max-events", "100000", "--max-seconds", "1000000"]) == 0
    assert capsys.readouterr() == (without, "")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--max-events", "0"),
        ("--max-events", "-1"),
        ("--max-events", "many"),
        ("--max-seconds", "0"),
        ("--max-seconds", "nan"),
        ("--max-seconds", "soon"),
    ],
)
def test_a_limit_that_is_no_number_is_refused(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "e1-data-loss", f"{option}={value}"]) == 2
    assert capsys.readouterr().err.startswith(f"isrlab: {option}: '{value}' is not a ")


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("terminal", [True, False])
def test_a_long_run_shows_its_progress_on_a_terminal(terminal: bool, scripts: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    out = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", out)
    monkeypatch.setattr(run_watch, "SHOWN_AFTER", 0)
    monkeypatch.setattr(run_watch, "_TICK", 0.02)
    assert main(["run", scripts["kafka"], "--max-seconds", "0.5"]) == 3
    *shown, last = out.getvalue().split("\r\x1b[K")
    assert last.startswith("isrlab: kafka (4.3): stopped after 0.5 s")
    assert all("virtual time" in each and "events" in each for each in shown[1:])
    assert bool(shown) == terminal


@pytest.mark.parametrize(("fault", "events"), [("primary-dies", "500"), ("a4-cancelled-reassignment", "40")])
def test_models_side_by_side_stop_at_the_limits(fault: str, events: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The second scenario waits for states of Kafka, and is therefore first run under Kafka alone."""
    for option, value, told in (
        ("--max-events", events, f"{events} events (--max-events)"),
        ("--max-seconds", "0.001", "0.001 s (--max-seconds)"),
    ):
        assert main(["run", fault, "--model", "kafka", "--model", "mysql", option, value]) == 3
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith(f"isrlab: {fault}: stopped after {told}, at virtual time ")
        assert captured.err.count("\n") == 1
