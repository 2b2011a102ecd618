"""How the suite is shared out among processes: file by file, the longest first, and all that use one Spark session in one process."""

from __future__ import annotations

import gc
import inspect
import os
from collections import Counter
from typing import Any

import pytest

SESSION = "spark-session"
"""The group of files with tests that take the Spark session of their process: starting and warming one up is dear, two is twice as dear."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files that take longest first, so that nothing long is left for one process at the end, and name the group.

    What starts a Java takes longest, then what is marked as slow, then the files with many applications: each takes half a second.
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
    """What thousands of collected tests hold is no garbage: looking through it again and again takes 5 to 10 % of the time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """What `--dist loadgroup` does, but for tests of no group, which stay with their file."""
    from xdist.scheduler import LoadGroupScheduling

    class ByGroupOrFile(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            group = super()._split_scope(nodeid)
            return nodeid.split("::")[0] if group == nodeid else group

    return ByGroupOrFile(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One process more than cores: a good part of the tests waits, for a terminal, for a cluster to start, for an application's pauses."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + 1
