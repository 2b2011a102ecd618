"""The folders of scenarios: none has too many modules, and each describes its contents. pyproject.toml says which folder can import which."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

import pytest

SCENARIOS: Final = Path(__file__).parents[2] / "scenarios"
MOST_MODULES: Final = 15
FOLDERS: Final = sorted(file.parent for file in SCENARIOS.rglob("__init__.py"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_folder_has_few_modules_and_says_what_it_contains(folder: Path) -> None:
    assert len([*folder.glob("*.py")]) <= MOST_MODULES
    assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))


def test_tests_stand_in_the_folders_of_what_they_test() -> None:
    tested = {folder.name for folder in Path(__file__).parent.iterdir() if any(folder.glob("test_*.py"))}
    nested = {folder.name for folder in Path(__file__).parent.iterdir() if any(folder.glob("*/test_*.py"))}
    assert tested | nested == {folder.name for folder in FOLDERS if folder.parent == SCENARIOS}
