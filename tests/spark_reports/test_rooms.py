"""The packages of the reports: none has too many modules, each describes its content, and the tests have the same folders.

The contracts of import-linter in pyproject.toml say which package may import which.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
REPORTS: Final = ROOT / "spark_reports"
MOST_MODULES: Final = 15
PACKAGES: Final = sorted(file.parent for file in REPORTS.rglob("__init__.py"))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: str(package.relative_to(ROOT)))
def test_a_package_has_few_modules_and_says_what_it_holds(package: Path) -> None:
    assert len([*package.glob("*.py")]) <= MOST_MODULES
    assert ast.get_docstring(ast.parse((package / "__init__.py").read_text()))


def test_every_folder_of_tests_belongs_to_a_package() -> None:
    folders = {file.parent.relative_to(ROOT / "tests") for file in (ROOT / "tests" / "spark_reports").rglob("test_*.py")}
    assert folders <= {package.relative_to(ROOT) for package in PACKAGES}


def test_a_table_has_a_module_of_its_name() -> None:
    from spark_reports.summaries.registry import SUMMARIES

    subjects = {file.stem: file for file in (REPORTS / "summaries").glob("*/*.py")}
    assert {summary.name for summary in SUMMARIES} <= subjects.keys()
