"""The wheels contain all sources and nothing else. A wheel with a compiled engine differs from the pure wheel only in the engine."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[1]

pytest.importorskip("setuptools")
pytest.importorskip("wheel")
sys.path.insert(0, str(ROOT))
import build_wheel  # noqa: E402


def shipped(wheel: Path) -> set[str]:
    """Return the files of the packages in a wheel."""
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


def sources() -> set[str]:
    """Return the files of the packages in the repository, except those that are only for development."""
    listed = subprocess.run(
        ["git", "ls-files", "core", "scenarios", "tui", "spark_reports"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {name for name in listed.stdout.splitlines() if not name.endswith(".md")}


@pytest.mark.slow
def test_a_pure_wheel_holds_the_sources_and_an_engine_is_put_beside_them(tmp_path: Path) -> None:
    made = build_wheel.pure(tmp_path)
    assert made.name.endswith("-py3-none-any.whl")
    assert shipped(made) == sources()

    compiled = tmp_path / "compiled"
    (compiled / "core" / "sim").mkdir(parents=True)
    (compiled / "core" / "sim" / "agenda.so").write_bytes(b"engine")
    (compiled / "isrlab__mypyc.so").write_bytes(b"group")
    engine = build_wheel.with_engine(made, compiled)
    assert "-none-any" not in engine.name
    assert shipped(engine) == sources() | {"core/sim/agenda.so", "isrlab__mypyc.so"}
    assert made.exists()
