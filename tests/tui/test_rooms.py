"""The folders of the playground: none has too many modules, and only the session uses the live cluster.

The import contracts in pyproject.toml define which folder can import which.
"""

from __future__ import annotations

import ast
import re
import tomllib
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


@pytest.mark.parametrize(
    "room", [room for room in ROOMS if room.name not in ("session", "commands", "arguments")], ids=lambda room: room.name
)
def test_only_the_session_knows_the_live_cluster(room: Path) -> None:
    for file in room.glob("*.py"):
        reached = [
            node.lineno for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Attribute) and node.attr == "cluster"
        ]
        assert not reached, f"{file.name} lines {reached}"


def test_the_page_about_the_rooms_names_every_room_and_nothing_that_is_gone() -> None:
    page = (TUI.parent / "docs" / "playground-architecture.md").read_text()
    rooms = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `tui/")]
    assert sorted(rooms) == sorted(f"tui/{room.name}" for room in ROOMS if room != TUI)
    files = set(re.findall(r"\b[a-z_]+/[a-z_]+\.py\b", page))
    assert [
        file for file in files if not ((TUI / file).exists() or (TUI.parent / file).exists() or (TUI.parent / "tests" / file).exists())
    ] == []


def test_the_page_lists_rooms_in_the_order_of_the_contract() -> None:
    contracts = tomllib.loads((TUI.parent / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(each["layers"] for each in contracts if each.get("containers") == ["tui"])
    ranks = {name.strip(): rank for rank, layer in enumerate(layers) for name in layer.split("|")}
    page = (TUI.parent / "docs" / "playground-architecture.md").read_text()
    rooms = [line.split("`")[1].removeprefix("tui/") for line in page.splitlines() if line.startswith("| `tui/")]
    assert [ranks[room] for room in rooms] == sorted(ranks[room] for room in rooms)
