"""The pytest plugin. It records the blocks that each test runs and the time that it takes (MUTANTS_RECORD), or tries mutants
(MUTANTS_TESTS, MUTANTS_PIPES)."""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import hypothesis
import pytest

from tests.core import recorded_digests

TIMED_OUT = 86
"""The exit code of a run in which a test took too long."""
OUT_OF_TIME = 88
"""The exit code of a run that did not reach its last test in time."""
ONLY_DIGESTS = 85
"""The exit code of a run in which every test passed, except that digests differ from the recorded ones."""
NOT_PLANTED = 87
"""The exit code of a forked process that cannot contain a mutant, because its functions differ from those of the source."""
MEMORY = 6 << 30
WAITING = 10
"""The factor by which a test can last longer than its processor time, because it might wait for other processes."""

hypothesis.settings.register_profile(
    "mutants", derandomize=True, database=None, phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate]
)


def processor_seconds() -> float:
    """Return the processor time of this process and of its child processes that have ended."""
    return sum(os.times()[:4])


def crowding() -> float:
    """Return the factor by which a process might run longer than on an idle machine, because it has to wait for a processor."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


class Recorder:
    """Writes a line for each test that passes: its name, its processor time in seconds, and the blocks that ran."""

    def __init__(self, folder: str) -> None:
        from tests.mutants import probes

        self.take = probes.take
        self.left = os.path.join(folder, f"left-{os.getpid()}")
        os.environ["MUTANTS_LEAVE"] = self.left
        self.out = Path(folder, f"{os.getpid()}.jsonl")
        self.failed = False

    def write(self, name: str, seconds: float) -> None:
        blocks = [number for number, value in enumerate(self.take(self.left)) if value]
        with self.out.open("a") as out:
            out.write(json.dumps([name, round(seconds, 4), blocks]) + "\n")

    def pytest_collection_finish(self) -> None:
        self.write("", 0.0)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        self.failed = False
        began = processor_seconds()
        done = yield
        seconds = processor_seconds() - began
        if self.failed:
            self.take(self.left)
        else:
            self.write(item.nodeid, seconds)
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= not report.passed


class Digests:
    """Lets tests go on after a digest that differs from the recorded one. If no test fails, the exit code tells that digests differ.

    A digest only shows that something has changed. A test that fails for another reason shows that something is wrong.
    """

    def __init__(self) -> None:
        self.test = ""
        self.differing = ""
        self.compare = recorded_digests.assert_recorded
        recorded_digests.assert_recorded = self.note

    def note(self, name: str, digest: recorded_digests.RunDigest) -> None:
        try:
            self.compare(name, digest)
        except AssertionError:
            self.differing = self.differing or self.test

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self.test = item.nodeid

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.differing and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = ONLY_DIGESTS
            if path := os.environ.get("MUTANTS_TESTS"):
                Path(path).with_suffix(".result").write_text(self.differing)


class Chosen:
    """Runs the tests that a file names, in the order of the file. The file also limits the processor time of each test and of all tests
    together."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self.result = self.path.with_suffix(".result")
        self.limits: dict[str, float] = {}
        self.end = float("inf")

    def read(self, items: list[pytest.Item]) -> None:
        listed = json.loads(self.path.read_text())
        self.limits = listed["limits"]
        self.end = processor_seconds() + listed["seconds"]
        self.result.write_text("")
        by_name = {item.nodeid: item for item in items}
        items[:] = [by_name[name] for name in self.limits if name in by_name]

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.read(items)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        def too_long(*_: object) -> None:
            self.result.write_text(item.nodeid)
            os._exit(TIMED_OUT)

        if processor_seconds() > self.end:
            os._exit(OUT_OF_TIME)
        limit = self.limits[item.nodeid]
        for sort, number, seconds in (
            (signal.ITIMER_PROF, signal.SIGPROF, limit),
            (signal.ITIMER_REAL, signal.SIGALRM, WAITING * crowding() * limit),
        ):
            signal.signal(number, too_long)
            signal.setitimer(sort, seconds)
        done = yield
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.result.write_text(report.nodeid)


class Waiting(Chosen):
    """Collects tests once. For every mutant, forks a process that plants the mutant and runs the chosen tests."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        gc.collect()
        gc.freeze()  # a collection in a forked process need not copy what was there before

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        told, answers = (int(number) for number in os.environ["MUTANTS_PIPES"].split(","))
        with open(told) as lines, open(answers, "w") as out:
            print("ready", file=out, flush=True)
            while line := lines.readline():
                if not (child := os.fork()):
                    os.setpgid(0, 0)
                    if not planted(**json.loads(line)):
                        os._exit(NOT_PLANTED)
                    self.read(session.items)
                    return None
                code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child, signal.SIGKILL)  # what it started, too
                print(code, file=out, flush=True)
        os._exit(0)


def inner_codes(code: CodeType) -> Iterator[CodeType]:
    """Return the code objects of a module and of everything that is defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from inner_codes(constant)


def planted(path: str, old: str, new: str) -> bool:
    """Replace the code of the functions of an imported module by the code of another source. Return whether this is possible."""
    module = importlib.import_module(path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    file = module.__file__
    assert file is not None
    before, after = ([*inner_codes(compile(source, file, "exec", dont_inherit=True))] for source in (old, new))
    if [code.co_qualname for code in before] != [code.co_qualname for code in after]:
        return False
    other = {was: becomes for was, becomes in zip(before, after, strict=True) if was != becomes}
    gc.unfreeze()
    functions = [
        thing
        for thing in gc.get_objects()
        if isinstance(thing, FunctionType) and thing.__code__.co_filename == file and thing.__code__ in other
    ]
    gc.freeze()
    try:
        for function in functions:
            function.__code__ = other[function.__code__]
    except ValueError:  # it takes other variables from around it
        return False
    return bool(functions) or not other


def pytest_configure(config: pytest.Config) -> None:
    hypothesis.settings.load_profile("mutants")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    if (folder := os.environ.get("MUTANTS_RECORD")) and (
        os.environ.get("PYTEST_XDIST_WORKER") or not config.getoption("numprocesses", None)
    ):
        config.pluginmanager.register(Recorder(folder))
        return
    config.pluginmanager.register(Digests())
    if path := os.environ.get("MUTANTS_TESTS"):
        config.pluginmanager.register((Waiting if "MUTANTS_PIPES" in os.environ else Chosen)(path))
