"""The rooms of the playground: none is too large to be looked over, and only the session knows the cluster that lives.

Which room may import which stands in the contracts of the import linter, in pyproject.toml.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

import pytest

TUI: Final = Path(__file__).parents[2] / "tui"
MOST_MODULES: Final = 15
ROOMS: Final = sorted(folder.parent for folder in TUI.rglob("__init__.py"))


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_room_has_few_modules_and_says_what_is_in_it(room: Path) -> None:
    assert len([*room.glob("*.py")]) <= MOST_MODULES
    assert ast.get_docstring(ast.parse((room / "__init__.py").read_text()))


@pytest.mark.parametrize("room", [room for room in ROOMS if room.name not in ("session", "commands")], ids=lambda room: room.name)
def test_only_the_session_knows_the_live_cluster(room: Path) -> None:
    for file in room.glob("*.py"):
        reached = [
            node.lineno for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Attribute) and node.attr == "cluster"
        ]
        assert not reached, f"{file.name} lines {reached}"
