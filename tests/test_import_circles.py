"""No circle between files: two files that hold each other, straight or around some corners, are one file that nobody can read in part.

Type-only imports count, and those within functions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PACKAGES: Final = ("core", "scenarios", "spark_reports", "tui")

TIED: Final[dict[str, tuple[str, ...]]] = {
    "parts of the broker take the whole broker, the partition its managers, and they the partition": (
        "core.kafka.broker.alter_partition",
        "core.kafka.broker.appends",
        "core.kafka.broker.broker",
        "core.kafka.broker.consumer_fetch",
        "core.kafka.broker.delayed_produce",
        "core.kafka.broker.fetch_manager",
        "core.kafka.broker.fetch_session",
        "core.kafka.broker.fetch_state",
        "core.kafka.broker.fetched",
        "core.kafka.broker.fetcher",
        "core.kafka.broker.fetcher_manager",
        "core.kafka.broker.isr_change",
        "core.kafka.broker.list_offsets",
        "core.kafka.broker.partition",
        "core.kafka.broker.quiet",
        "core.kafka.broker.replica",
        "core.kafka.broker.replica_manager",
        "core.kafka.broker.roles",
        "core.kafka.broker.truncating",
        "core.kafka.broker.zookeeper_broker",
        "core.kafka.broker.zookeeper_isr",
    ),
}
"""Why files still stand in circles, and which: nothing is added, and what is untied is taken out."""


def _modules() -> dict[str, Path]:
    """Every module, by its dotted name."""
    return {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
        for package in PACKAGES
        for file in sorted((ROOT / package).rglob("*.py"))
    }


def _imports(module: str, modules: dict[str, Path]) -> Iterator[str]:
    """The modules of the house that a module names in imports."""
    for node in ast.walk(ast.parse(modules[module].read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: imports are absolute"
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in modules else str(node.module) for name in full]
        yield from (name for name in names if name in modules and name != module)


def circles(graph: dict[str, list[str]]) -> list[set[str]]:
    """The strongly connected components with more than one member (Tarjan)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    open_: list[str] = []
    found: list[set[str]] = []

    def visit(module: str) -> None:
        number[module] = low[module] = len(number)
        open_.append(module)
        for other in graph[module]:
            if other not in number:
                visit(other)
            if other in open_:
                low[module] = min(low[module], low[other])
        if low[module] == number[module]:
            at = open_.index(module)
            component = set(open_[at:])
            del open_[at:]
            if len(component) > 1:
                found.append(component)

    for module in graph:
        if module not in number:
            visit(module)
    return found


def test_circles_are_found() -> None:
    graph = {"a": ["b"], "b": ["c", "d"], "c": ["a"], "d": ["e"], "e": [], "f": ["g", "a"], "g": ["f"]}
    assert sorted(map(sorted, circles(graph))) == [["a", "b", "c"], ["f", "g"]]


def test_no_circle_between_files() -> None:
    modules = _modules()
    tied = {module for names in TIED.values() for module in names}
    graph = {module: list(_imports(module, modules)) for module in modules}
    found = circles(graph)
    new = [sorted(circle) for circle in found if not circle <= tied]
    assert not new, f"these files hold each other: {new}"
    untied = tied - set().union(*found)
    assert not untied, f"untied, or gone: take them out of TIED: {sorted(untied)}"
