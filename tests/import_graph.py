"""The imports between the modules of the four packages, read from their sources. Imports for types only and imports within functions are
included.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PACKAGES: Final = ("core", "scenarios", "spark_reports", "tui")


def modules() -> dict[str, Path]:
    """Return every module, by its dotted name."""
    return {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
        for package in PACKAGES
        for file in sorted((ROOT / package).rglob("*.py"))
    }


@cache
def import_graph() -> dict[str, list[str]]:
    """Return, for each module, the modules of the four packages that it imports."""
    known = modules()
    return {module: _imports(module, known) for module in known}


def _imports(module: str, known: Mapping[str, Path]) -> list[str]:
    found: list[str] = []
    for node in ast.walk(ast.parse(known[module].read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: imports are absolute"
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in known else str(node.module) for name in full]
        found += (name for name in names if name in known and name != module)
    return found


def circles(graph: Mapping[str, Sequence[str]]) -> list[set[str]]:
    """Return the strongly connected components with more than one member (Tarjan's algorithm)."""
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


def folder_graph(folder: Path, graph: Mapping[str, Sequence[str]], files: Mapping[str, Path]) -> dict[str, list[str]]:
    """Return, for each folder and each file directly in a folder, the neighbors that it imports."""
    found: dict[str, list[str]] = {}
    for module, imported in graph.items():
        unit = _unit(files[module], folder)
        if unit is not None:
            neighbors = {_unit(files[other], folder) for other in imported} - {unit, None}
            found.setdefault(unit, []).extend(neighbor for neighbor in neighbors if neighbor)
    return found


def _unit(file: Path, folder: Path) -> str | None:
    """Return the folder or file through which a module belongs to a folder, or None if it does not belong to it or is that folder's
    `__init__.py`.
    """
    if not file.is_relative_to(folder):
        return None
    first = file.relative_to(folder).parts[0]
    return None if first == "__init__.py" else first
