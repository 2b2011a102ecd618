"""Distributes the test suite over processes file by file. The longest files come first, and all files that use the Spark session run in one
process.
"""

from __future__ import annotations

import gc
import inspect
import os
import sys
from collections import Counter
from functools import lru_cache
from typing import Any

import hypothesis
import pytest

# Each worker, and each command that a test starts, would otherwise compile the same hundreds of modules again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# On a busy machine, a test that draws its inputs may last as long as it needs.
hypothesis.settings.register_profile("suite", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("suite")

SESSION = "spark-session"
"""The group of files whose tests use the Spark session of their process. Starting and warming up a session is expensive, and two sessions
cost twice as much.
"""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files that take longest first, so that no process is left with a long file at the end, and assign the group.

    Files that start a Java take longest. Files that are marked as slow come next, and then files with many applications, each of which
    takes half a second.
    """
    session = {item.path for item in items if "spark" in getattr(item, "fixturenames", ())}
    spark = {item.path for item in items if item.get_closest_marker("spark")}
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    applications = Counter(item.path for item in items if inspect.iscoroutinefunction(getattr(item, "function", None)))
    for item in items:
        if item.path in session:
            item.add_marker(pytest.mark.xdist_group(SESSION))
    items.sort(key=lambda item: (item.path not in session, item.path not in spark, item.path not in slow, -applications[item.path]))


def pytest_collection_finish() -> None:
    """Exclude the objects of the thousands of collected tests from garbage collection, and collect less often than by default, which is after
    700 new objects. Each of both saves 5 to 10% of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Read each script of the library once for all tests in a process, and for their parameters. Scenarios cannot change, and many tests
    read all of them.
    """
    from scenarios import catalogue

    catalogue.read_any = lru_cache(4 * len(catalogue.names()))(catalogue.read_any)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Do what `--dist loadgroup` does, except that tests without a group stay together with their file."""
    from xdist.scheduler import LoadGroupScheduling

    class ByGroupOrFile(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            group = super()._split_scope(nodeid)
            return nodeid.split("::")[0] if group == nodeid else group

    return ByGroupOrFile(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return one more than the number of cores, because many tests wait: for a terminal, for the start of a cluster, or for an application."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + 1
