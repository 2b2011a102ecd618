"""Builds isrlab's wheel: `python build_wheel.py dist`. If there is a C compiler, the wheel contains a compiled engine; otherwise, the wheel
is pure.

Both kinds of wheel produce the same event logs, byte for byte. A compiled wheel works only with this version of Python on this platform.
The option `--pure` builds the wheel that works everywhere. The build needs setuptools and wheel, and a compiled wheel also needs mypy
(locks/compile.txt).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import compile_core

ROOT: Final = Path(__file__).resolve().parent
COMPILED: Final = ROOT / "build" / "compiled"


def pure(directory: Path) -> Path:
    """Build a wheel that contains only Python sources, and return its path."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
    ]
    shutil.rmtree(ROOT / "build" / "lib", ignore_errors=True)  # setuptools would ship what a former state of the sources left there
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([*command, "-w", scratch, str(ROOT)], check=True)
        (made,) = Path(scratch).glob("*.whl")
        directory.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(made, directory))


def with_engine(wheel: Path, compiled: Path) -> Path:
    """Build a wheel with a compiled engine for this Python and platform, and return its path."""
    with tempfile.TemporaryDirectory() as scratch:
        _wheel("unpack", str(wheel), "-d", scratch)
        (tree,) = Path(scratch).iterdir()
        shutil.copytree(compiled / "core", tree / "core", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        for group in compiled.glob("isrlab__mypyc*"):
            shutil.copy(group, tree)
        (info,) = tree.glob("*.dist-info")
        about = info / "WHEEL"
        about.write_text(about.read_text("utf-8").replace("Root-Is-Purelib: true", "Root-Is-Purelib: false"), "utf-8")
        metadata = info / "METADATA"
        headers, empty, body = metadata.read_text("utf-8").partition("\n\n")
        metadata.write_text(f"{headers}\nRequires-Dist: mypy-extensions{empty}{body}", "utf-8")  # compiled modules import it
        _wheel("pack", str(tree), "-d", scratch)
        (packed,) = Path(scratch).glob("*.whl")
        tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        _wheel("tags", "--remove", "--python-tag", tag, "--abi-tag", tag, "--platform-tag", platform, str(packed))
        (tagged,) = Path(scratch).glob("*.whl")
        return Path(shutil.copy(tagged, wheel.parent))


def _wheel(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "wheel", *arguments], check=True, stdout=subprocess.DEVNULL)


def main(arguments: Sequence[str]) -> int:
    """Run the command line and return the exit code."""
    directories = [Path(each) for each in arguments if each != "--pure"]
    if len(directories) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    made = pure(directories[0])
    if "--pure" not in arguments:
        try:
            compile_core.build(COMPILED)
        except (ImportError, OSError) as error:
            print(f"the engine cannot be compiled, so the wheel is a pure one: {error}", file=sys.stderr)
        else:
            compiled = with_engine(made, COMPILED)
            made.unlink()
            made = compiled
    print(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
