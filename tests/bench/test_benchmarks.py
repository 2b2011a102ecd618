"""Every benchmark can be imported, and so can everything that the programs import that it starts."""

from __future__ import annotations

import ast
import importlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

HERE: Final = Path(__file__).parent

BENCHMARKS: Final = sorted(HERE.glob("bench_*.py"))


def imported(file: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Import a benchmark as Python does when it runs the file: the modules of its folder can be imported by their names."""
    monkeypatch.syspath_prepend(str(HERE))
    spec = importlib.util.spec_from_file_location(f"benchmark_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def programs(module: ModuleType) -> Iterator[str]:
    """Return the texts of a module that are programs."""
    for name, value in vars(module).items():
        if isinstance(value, str) and not name.startswith("__") and ("import " in value):
            yield value


def names_imported(program: str) -> Iterator[tuple[str, str]]:
    """Return what a program imports from modules of this repository: (module, name)."""
    for node in ast.walk(ast.parse(program)):
        if (
            isinstance(node, ast.ImportFrom)
            and node.module
            and node.module.split(".")[0] in ("core", "scenarios", "spark_reports", "tui", "tests")
        ):
            yield from ((node.module, alias.name) for alias in node.names)


@pytest.mark.parametrize("file", BENCHMARKS, ids=lambda file: file.stem)
def test_a_benchmark_can_be_imported(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = imported(file, monkeypatch)
    assert callable(module.main)
    for program in programs(module):
        for name, attribute in names_imported(program):
            assert hasattr(importlib.import_module(name), attribute), f"{file.name}: {name} has no {attribute}"


def test_the_programs_of_the_benchmark_of_reports_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {name for program in programs(imported(HERE / "bench_report.py", monkeypatch)) for name in names_imported(program)}
    assert found == {
        ("spark_reports.spark.java", "find_java"),
        ("spark_reports.spark.java", "java_home"),
        ("spark_reports.spark.session", "spark_session"),
    }


def test_all_benchmarks_are_found() -> None:
    assert len(BENCHMARKS) >= 6


def test_the_measurements_of_keyframes_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """They reach deep into sessions, whose parts change more often than somebody runs the benchmark."""
    scale = imported(HERE / "bench_scale.py", monkeypatch)
    monkeypatch.setattr(scale, "PAIRS", 1)
    monkeypatch.setattr(scale, "TURNS", {10: 1})
    scale.each_keyframe(10)
    scale.with_and_without(10)
    scale.going_back(10, steps=2_000)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0].split(",")[0] for line in lines] == [*["keyframe at P=10"] * 4, *["P=10"] * 3]
