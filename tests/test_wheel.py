"""The wheels contain all sources and nothing else, and work in an environment that has nothing but them and the packages they name. A wheel
with a compiled engine differs from the pure wheel only in the engine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
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


def clean_environment() -> dict[str, str]:
    """Return the environment variables without those that lead to the repository."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ISRLAB"))}


def installed(wheel: Path, directory: Path) -> Path:
    """Install a wheel and the locked packages in an empty environment. Return the folder of the environment's commands."""
    venv.create(directory)
    commands = directory / "bin"
    pip = [sys.executable, "-m", "pip", "--python", str(commands / "python"), "--disable-pip-version-check"]
    env = clean_environment()
    done = subprocess.run([*pip, "install", "--quiet", "-r", str(ROOT / "locks" / "play.txt")], env=env, capture_output=True, text=True)
    if "Failed to establish a new connection" in done.stderr or "Temporary failure in name resolution" in done.stderr:
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr
    subprocess.run([*pip, "install", "--quiet", str(wheel)], env=env, check=True)
    subprocess.run([*pip, "check"], env=env, check=True)
    return commands


def said(commands: Path, folder: Path, *arguments: str) -> str:
    """Return what a command of the environment prints in a folder outside the repository."""
    done = subprocess.run(
        [str(commands / arguments[0]), *arguments[1:]], cwd=folder, env=clean_environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_wheel_works_in_an_empty_environment(tmp_path: Path) -> None:
    """With ISRLAB_COMPILED, the wheel has the engine in that folder; otherwise, it is pure."""
    wheel, compiled = build_wheel.pure(tmp_path / "dist"), os.environ.get("ISRLAB_COMPILED", "")
    if compiled:
        wheel = build_wheel.with_engine(wheel, Path(compiled))
    commands = installed(wheel, tmp_path / "environment")
    assert said(commands, tmp_path, "isrlab", "--version").startswith("isrlab ")
    assert said(commands, tmp_path, "python", "-c", "import core; print(core.is_compiled())") == f"{bool(compiled)}\n"
    assert "ok" in said(commands, tmp_path, "isrlab", "run", "e1-data-loss")
    assert str(tmp_path) in said(commands, tmp_path, "python", "-c", "import core; print(core.__file__)")
