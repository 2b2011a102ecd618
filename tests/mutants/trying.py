"""Tries mutants in a copy of the tree. Each mutant runs in a process that is forked from one that has imported everything, or in a fresh
process."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple, TextIO

from tests.mutants.operators import Mutant
from tests.mutants.plugin import NOT_PLANTED, ONLY_DIGESTS, OUT_OF_TIME, TIMED_OUT, crowding

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "mutants"
COPIED = ("core", "scenarios", "tui", "spark_reports", "tests", "docs", "locks")
PYTEST = ("-m", "pytest", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "pytest_asyncio", "-p", "tests.mutants.plugin")
COLLECTING = 120.0
"""The maximum time from the start of a process to its first test on an idle machine, in seconds."""

WORDS = {0: "survived", ONLY_DIGESTS: "by record", TIMED_OUT: "timed out", OUT_OF_TIME: "undecided"}
"""The outcomes by exit code. With any other code, a test failed: the mutant was killed."""

TABLES = (
    "tests/core/kafka/test_sentences.py::test_every_kind_says_what_it_said",
    "tests/core/kafka/test_setting_scopes.py::test_every_setting_is_what_it_was",
)
"""The tests that compare a text with a file that isrlab has written. They run last, because they only show that something has changed."""


class Outcome(NamedTuple):
    """The outcome for a mutant, with the test that decided it, the time in seconds, and the number of tests.

    A mutant is killed, killed by record (only a recorded digest or a recorded table differs), timed out (a test took far longer than
    before), survived, or undecided (no test failed, but not all could run in time).
    """

    word: str
    by: str
    seconds: float
    tests: int


class Tests(NamedTuple):
    """The tests for a mutant in order, each as a name with the maximum processor time in seconds.

    Attributes:
        forked: the tests for a process in which everything is already imported, and in which only functions are changed.
        fresh: the tests for processes that import everything again, one after another, if the mutant has not been killed before.
        seconds: the maximum processor time of each of these processes.
    """

    forked: dict[str, float]
    fresh: list[dict[str, float]]
    seconds: float


def copy_of_the_tree(name: str) -> Path:
    """Return a copy of everything that tests read, without the output of tools."""
    copy = BUILD / name
    shutil.rmtree(copy, ignore_errors=True)
    left = shutil.ignore_patterns("__pycache__", "found", ".mypy_cache")
    for folder in COPIED:
        shutil.copytree(ROOT / folder, copy / folder, ignore=left)
    for path in ROOT.iterdir():
        if path.is_file() and path.name != ".git":
            shutil.copy2(path, copy / path.name)
    return copy


def started(copy: Path, arguments: list[str], pipes: tuple[int, ...] = (), **variables: str) -> subprocess.Popen[bytes]:
    """Start pytest in a copy, with a folder for its output."""
    scratch = copy / "build" / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    environment = {**os.environ, "PYTHONPATH": str(copy), "CI": "true", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "TMPDIR": str(scratch)}
    command = [sys.executable, *PYTEST, *arguments]
    silent = subprocess.DEVNULL
    return subprocess.Popen(
        command, cwd=copy, env={**environment, **variables}, stdin=silent, stdout=silent, stderr=silent, process_group=0, pass_fds=pipes
    )


def run(copy: Path, arguments: list[str], seconds: float | None = None, **variables: str) -> int:
    """Run pytest in a copy, and return its exit code. The time limit is the number of seconds on an idle machine."""
    pytest = started(copy, arguments, **variables)
    try:
        return pytest.wait(None if seconds is None else seconds * crowding())
    except subprocess.TimeoutExpired:
        return OUT_OF_TIME
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pytest.pid, signal.SIGKILL)  # what it started, too
        pytest.wait()


class Bench:
    """A copy of the tree, with a pytest process that has collected all tests and waits for mutants."""

    def __init__(self, name: str, arguments: list[str]) -> None:
        self.copy = copy_of_the_tree(name)
        self.chosen = self.copy / "build" / "chosen.json"
        self.result = self.chosen.with_suffix(".result")
        self.arguments = arguments
        self.waiting: subprocess.Popen[bytes] | None = None
        self.told: TextIO
        self.answers: TextIO

    def close(self) -> None:
        if self.waiting is not None:
            self.told.close()
            self.answers.close()
            self.waiting.kill()
            self.waiting.wait()
            self.waiting = None

    def try_out(self, mutant: Mutant, number: int, tests: Tests, given: list[str]) -> Outcome:
        """Run tests against a mutant, the given tests first, and restore the copy."""
        began = time.monotonic()
        if tests.forked:
            self._start_waiting()
        path = self.copy / mutant.path
        source, stat = path.read_bytes(), path.stat()
        path.write_bytes(mutant.applied(source))
        os.utime(path, (stat.st_atime, stat.st_mtime + number))  # no byte code of another mutant passes for this one's
        code, by, ran = 0, "", 0
        try:
            if given:
                code = run(self.copy, ["-x", *given], COLLECTING + tests.seconds)
            fresh = tests.fresh
            if tests.forked:
                self._choose(tests.forked, tests.seconds)
                code, ran = self._forked(mutant.path, source.decode(), mutant.applied(source).decode()), len(tests.forked)
                if code == NOT_PLANTED:
                    code, fresh = 0, [tests.forked, *fresh]
                by = self._decided_by()
            for limits in fresh:
                if code in (0, ONLY_DIGESTS):
                    self._choose(limits, tests.seconds)
                    found, ran = self._fresh(limits, tests.seconds), ran + len(limits)
                    if found:
                        code, by = found, self._decided_by()
        finally:
            path.write_bytes(source)
            os.utime(path, (stat.st_atime, stat.st_mtime))
        word = WORDS.get(code, WORDS[ONLY_DIGESTS] if by in TABLES else "killed")
        return Outcome(word, by or (f"exit code {code}" if code else ""), time.monotonic() - began, ran)

    def failing(self, tests: Collection[str]) -> list[str]:
        """Return the tests that also fail without a mutant."""
        self._start_waiting()
        path = next(self.copy.glob("core/kafka/*.py")).relative_to(self.copy)
        text = (self.copy / path).read_text()
        found: list[str] = []
        while left := [name for name in tests if name not in found]:
            self._choose(dict.fromkeys(left, COLLECTING), COLLECTING * len(left))
            if not self._forked(str(path), text, text):
                break
            found.append(self.result.read_text())
        return found

    def _decided_by(self) -> str:
        return self.result.read_text() if self.result.exists() else ""

    def _choose(self, limits: dict[str, float], seconds: float) -> None:
        self.result.unlink(missing_ok=True)
        self.chosen.write_text(json.dumps({"limits": limits, "seconds": seconds}))

    def _start_waiting(self) -> None:
        if self.waiting is None:
            told, answers = os.pipe(), os.pipe()
            pipes = told[0], answers[1]
            self.chosen.parent.mkdir(exist_ok=True)
            variables = {"MUTANTS_TESTS": str(self.chosen), "MUTANTS_PIPES": ",".join(map(str, pipes))}
            self.waiting = started(self.copy, ["-x", *self.arguments], pipes, **variables)
            for pipe in pipes:
                os.close(pipe)
            self.told, self.answers = os.fdopen(told[1], "w"), os.fdopen(answers[0])
            assert self.answers.readline() == "ready\n", "the tests cannot be collected"

    def _forked(self, path: str, old: str, new: str) -> int:
        print(json.dumps({"path": path, "old": old, "new": new}), file=self.told, flush=True)
        return int(self.answers.readline())

    def _fresh(self, limits: dict[str, float], seconds: float) -> int:
        files = list(dict.fromkeys(name.split("::")[0] for name in limits))
        return run(self.copy, ["-x", *files], COLLECTING + seconds, MUTANTS_TESTS=str(self.chosen))
