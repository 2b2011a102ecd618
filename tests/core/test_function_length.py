"""Functions of the core can be read as a whole. Ruff limits their complexity (`C901`)."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

CORE: Final = Path(__file__).parents[2] / "core"

MOST_LINES: Final = 80
"""The maximum length of a function, with its docstring."""


def test_no_function_is_longer_than_80_lines() -> None:
    long = [
        f"{path.relative_to(CORE)}:{node.lineno} {node.name} has {lines} lines"
        for path in sorted(CORE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and (lines := (node.end_lineno or 0) - node.lineno + 1) > MOST_LINES
    ]
    assert long == []
