"""Commands that are stopped by real signals leave no processes and no files behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

from scenarios.io.termination_signals import SIGNALS, Terminated, defer_signals, keep_signal_handlers, raise_on_signals
from spark_reports.thread_pool import pool_of
from tests.scenarios.sweeps.grids import TEXT
from tests.signals import heard
from tests.spark_reports.event_logs import event, write_log
from tui.cli import main

ROOT = Path(__file__).resolve().parents[2]
MARK = "ISRLAB_TEST_OF"


def processes_of(mark: str) -> list[str]:
    """Return the command lines of all processes on this machine that have a given mark in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{MARK}={mark}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:200])
    return found


def stopped(tmp_path: Path, number: int, ready: Callable[[str], bool], *arguments: str) -> str:
    """Run a command. When `ready` accepts its output on stderr, send a signal to it and to all its processes, as a terminal does. Return
    all output.
    """
    scratch, said = tmp_path / "scratch", tmp_path / "stderr"
    scratch.mkdir()
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(scratch), MARK: str(tmp_path)}
    with said.open("wb") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "tui", *arguments],
            cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err, start_new_session=True,
            preexec_fn=heard,
        )  # fmt: skip
    deadline = time.monotonic() + 120
    while not ready(said.read_text()):
        assert process.poll() is None, said.read_text()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(process.pid, number)
    assert process.wait(60) == 128 + number, said.read_text()
    # Python's own workers end a moment after they were told to.
    for _ in range(100):
        if not processes_of(str(tmp_path)):
            break
        time.sleep(0.05)
    assert processes_of(str(tmp_path)) == []
    assert list(scratch.iterdir()) == []
    text = said.read_text()
    assert "Traceback" not in text
    return text


@pytest.mark.spark
@pytest.mark.slow
def test_a_report_takes_its_java_with_it(tmp_path: Path) -> None:
    created = event(0, "topic-created", topic="a", partitions=2, replication_factor=3)
    log = write_log(tmp_path / "s.jsonl", [created, event(5, "produce-acked", topic="a", records=3, acks=-1)], end=10)
    stopped(tmp_path, signal.SIGTERM, lambda said: "computing" in said, "report", str(log), "-o", str(tmp_path / "out"))


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.usefixtures("in_this_session")
def test_a_killed_report_leaves_what_stood_there_and_runs_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    created = event(0, "topic-created", topic="a", partitions=2, replication_factor=3)
    write_log(tmp_path / "s.jsonl", [created, event(5, "produce-acked", topic="a", records=3, acks=-1)], end=10)
    (tmp_path / "r.html").write_text("what stood there")
    said = tmp_path / "stderr"
    command = ["report", "s.jsonl", "-o", "out", "--html", "r.html"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), MARK: str(tmp_path)}
    with said.open("wb") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "tui", *command],
            cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err,
        )  # fmt: skip
    deadline = time.monotonic() + 240
    while "computing" not in said.read_text():
        assert process.poll() is None, said.read_text()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.kill()
    assert process.wait(60) == -signal.SIGKILL
    assert (tmp_path / "r.html").read_text() == "what stood there"
    assert all(path.name.startswith(".") for path in (tmp_path / "out").glob("*")), "no table is there before all are"
    while processes_of(str(tmp_path)):
        assert time.monotonic() < deadline, "Java ends soon after Python"
        time.sleep(0.1)
    monkeypatch.chdir(tmp_path)
    assert main(command) == 0
    assert "<html" in (tmp_path / "r.html").read_text()
    assert list((tmp_path / "out").iterdir())


def test_a_sweep_keeps_its_chunks_and_no_workers(tmp_path: Path) -> None:
    (tmp_path / "g.yaml").write_text(TEXT)
    chunks = tmp_path / "out" / "chunks"
    said = stopped(
        tmp_path, signal.SIGHUP, lambda _: any(chunks.glob("*.jsonl")), "sweep", "g.yaml", "--runs", "500", "--processes", "2", "-o", "out"
    )
    assert "out has the finished runs" in said
    assert list(chunks.glob("*.jsonl"))


def test_a_conversion_leaves_no_half(tmp_path: Path) -> None:
    log = write_log(tmp_path / "s.jsonl", [event(n, "broker-paused", broker=1) for n in range(400_000)])
    target = tmp_path / "t.jsonl.zst"
    stopped(tmp_path, signal.SIGTERM, lambda _: any(tmp_path.glob(".isrlab-*.part")), "log", "convert", str(log), "-o", str(target))
    assert {path.name for path in tmp_path.iterdir()} <= {"s.jsonl", "scratch", "stderr", target.name}


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_signal_unwinds_and_later_ones_change_nothing(number: signal.Signals) -> None:
    before = [signal.getsignal(each) for each in SIGNALS]
    signal.signal(number, signal.SIG_DFL)
    done: list[str] = []

    def work() -> None:
        try:
            os.kill(os.getpid(), number)
        finally:
            os.kill(os.getpid(), number)
            done.append("put in order")

    try:
        with pytest.raises(Terminated) as raised, raise_on_signals():
            work()
        assert raised.value.signal == number
        assert done
    finally:
        for each, handler in zip(SIGNALS, before, strict=True):
            signal.signal(each, handler)


def _begin_with_a_signal(done: list[str]) -> None:
    with keep_signal_handlers():
        os.kill(os.getpid(), signal.SIGTERM)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        done.append("begun")
    done.append("not reached")


def test_a_held_signal_comes_when_the_block_is_done_whatever_the_block_did_to_handlers() -> None:
    done: list[str] = []
    with pytest.raises(Terminated), raise_on_signals():
        _begin_with_a_signal(done)
    assert done == ["begun"]


def _whole_in_whole_with_a_signal(done: list[str]) -> None:
    try:
        with defer_signals():
            with defer_signals():
                os.kill(os.getpid(), signal.SIGTERM)
            done.append("whole")
    finally:
        with defer_signals():
            done.append("put in order")
        done.append("and on")


def test_what_is_to_be_done_wholly_is_and_the_signal_is_raised_once() -> None:
    done: list[str] = []
    with pytest.raises(Terminated), raise_on_signals():
        _whole_in_whole_with_a_signal(done)
    assert done == ["whole", "put in order", "and on"]


def test_a_signal_is_no_keyboard_interrupt_which_py4j_would_swallow() -> None:
    with pytest.raises(Terminated), raise_on_signals(), contextlib.suppress(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGTERM)


def test_a_signal_in_a_finalizer_is_not_lost() -> None:
    """Python discards exceptions from the callbacks of weak references, and py4j has such a callback for each object in Java."""

    def finalize(_: object) -> None:
        done.append("finalized")
        os.kill(os.getpid(), signal.SIGTERM)

    done: list[str] = []
    held = {threading.Event()}
    reference = weakref.ref(next(iter(held)), finalize)

    def release_and_wait() -> None:
        with raise_on_signals():
            held.clear()
            done.append("released")
            threading.Event().wait(30)
            done.append("not reached")

    with pytest.raises(Terminated):
        release_and_wait()
    assert done == ["finalized", "released"]
    assert reference() is None


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with raise_on_signals():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_pool_does_not_wait_for_what_runs_when_its_block_fails() -> None:
    running, may_end = threading.Event(), threading.Event()
    given_up: list[int] = []

    def work_until_stopped() -> None:
        with pool_of(1) as pool:
            pool.submit(lambda: (running.set(), may_end.wait(30)))
            pool.submit(given_up.append, 1)
            running.wait(30)
            raise Terminated(signal.SIGTERM)

    with pytest.raises(Terminated):
        work_until_stopped()
    may_end.set()
    assert not given_up
