"""Product code reads events by the names of their columns (`core.sim.events`), never by positions in the tuple."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("core", "scenarios", "spark_reports", "tui")

MAY = {"core/sim/events.py", "scenarios/logs/line_encoder.py"}
"""The module that gives names to positions, and the encoder of logs, which does nothing but read tuples."""


def _ends_with(node: ast.expr, *ends: str) -> bool:
    """Return whether the last name of an expression ends with one of some words, for example `self.last_event`."""
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name.split("_")[-1] in ends


def _is_position(index: ast.expr) -> bool:
    """Return whether an index consists of numbers: `[7]`, `[-1]`, or `[4:]`."""
    if isinstance(index, ast.Slice):
        return any(isinstance(end, ast.Constant) for end in (index.lower, index.upper))
    return isinstance(index.operand if isinstance(index, ast.UnaryOp) else index, ast.Constant) and not isinstance(
        getattr(index, "value", 0), str
    )


def _names_of_events(tree: ast.AST) -> set[str]:
    """Return the names that an annotation declares to be events, and those of loops over events."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation is not None and ast.unparse(node.annotation).startswith("EventTuple"):
            found.add(node.arg)
        elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.target, ast.Name) and _ends_with(node.iter, "events"):
            found.add(node.target.id)
    return found


def positions(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each expression that reads an event by a position."""
    tree = ast.parse(text)
    for scope in ast.walk(tree):
        if not isinstance(scope, ast.FunctionDef | ast.Lambda):
            continue
        names = _names_of_events(scope)
        for node in ast.walk(scope):
            if isinstance(node, ast.Subscript) and _is_position(node.slice):
                read = node.value
                is_event = _ends_with(read, "event") or (isinstance(read, ast.Name) and read.id in names)
                of_list = isinstance(read, ast.Subscript) and _ends_with(read.value, "events") and not isinstance(read.slice, ast.Slice)
                of_ring = (
                    isinstance(read, ast.Call)
                    and isinstance(read.func, ast.Attribute)
                    and read.func.attr == "at"
                    and _ends_with(read.func.value, "ring")
                )
                if is_event or of_list or of_ring:
                    yield node.lineno, ast.unparse(node)


@pytest.mark.parametrize(
    "text",
    [
        "event[7]", "event[4:]", "step.event[0]", "last_event[-1]", "self.events[-1][1]", "ring.at(0)[1]", "[each[3] for each in self.events]",
    ],
)  # fmt: skip
def test_a_position_is_found(text: str) -> None:
    assert list(positions(f"def f(event):\n    return {text}\n"))


def test_a_position_in_a_declared_event_is_found() -> None:
    assert list(positions("def f(here: EventTuple | None):\n    return here[3]\n")) == [(2, "here[3]")]


@pytest.mark.parametrize("text", ["events[0]", "event['kind']", "kind_of(event)", "event[at]", "self.events[3:]"])
def test_nothing_else_is_found(text: str) -> None:
    assert not list(positions(f"def f(event):\n    return {text}\n"))


def test_no_product_code_reads_an_event_by_a_position() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {read}"
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if str(path.relative_to(ROOT)) not in MAY
        for line, read in sorted(set(positions(path.read_text(encoding="utf-8"))))
    ]
    assert not found
