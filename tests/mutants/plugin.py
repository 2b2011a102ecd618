"""The side of pytest: records what each test runs and how long it takes (MUTANTS_RECORD), or runs chosen tests in their order (MUTANTS_TESTS)."""

from __future__ import annotations

import json
import os
import resource
import signal
from pathlib import Path
from typing import Any

import hypothesis
import pytest

TIMED_OUT = 86
"""The exit code of a run in which a test took too long."""
MEMORY = 6 << 30
WAITING = 10
"""How many times its seconds of a processor a test may last: it may wait for others, or the machine be busy."""

hypothesis.settings.register_profile(
    "mutants", derandomize=True, database=None, phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate]
)


class Recorder:
    """Writes a line for each test that passes: its name, its seconds of a processor, and the blocks that ran."""

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
        began = sum(os.times()[:4])
        done = yield
        seconds = sum(os.times()[:4]) - began
        if self.failed:
            self.take(self.left)
        else:
            self.write(item.nodeid, seconds)
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= not report.passed


class Chosen:
    """Runs the tests that are named in a file, in its order, each within the seconds of a processor that it is given there."""

    def __init__(self, path: str) -> None:
        self.limits: dict[str, float] = json.loads(Path(path).read_text())
        self.result = Path(path).with_suffix(".result")
        self.result.write_text("")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        by_name = {item.nodeid: item for item in items}
        items[:] = [by_name[name] for name in self.limits if name in by_name]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        def too_long(*_: object) -> None:
            self.result.write_text(item.nodeid)
            os._exit(TIMED_OUT)

        limit = self.limits[item.nodeid]
        for sort, number, seconds in ((signal.ITIMER_PROF, signal.SIGPROF, limit), (signal.ITIMER_REAL, signal.SIGALRM, WAITING * limit)):
            signal.signal(number, too_long)
            signal.setitimer(sort, seconds)
        done = yield
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.result.write_text(report.nodeid)


def pytest_configure(config: pytest.Config) -> None:
    hypothesis.settings.load_profile("mutants")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    if (folder := os.environ.get("MUTANTS_RECORD")) and (
        os.environ.get("PYTEST_XDIST_WORKER") or not config.getoption("numprocesses", None)
    ):
        config.pluginmanager.register(Recorder(folder))
    elif path := os.environ.get("MUTANTS_TESTS"):
        config.pluginmanager.register(Chosen(path))
