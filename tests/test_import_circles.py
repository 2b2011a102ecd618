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
    graph = {module: list(_imports(module, modules)) for module in modules}
    found = [sorted(circle) for circle in circles(graph)]
    assert not found, f"these files hold each other: {found}"
