"""Runs a benchmark twice: with the sources and, if there is a C compiler, with the compiled engine (`compile_core.py`)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import core

ROOT: Final = Path(__file__).resolve().parents[2]
COMPILED: Final = ROOT / "build" / "compiled"


def with_each_engine(bench: Callable[[], None]) -> None:
    """Run a benchmark of the current script with each engine, each time in a separate process."""
    if sys.argv[1:] == ["one"]:
        print(f"--- the engine {'compiled' if core.is_compiled() else 'in pure Python'}", flush=True)
        bench()
        return
    build = subprocess.run([sys.executable, str(ROOT / "compile_core.py"), str(COMPILED)], capture_output=True, text=True, check=False)
    engines = [[ROOT]]
    if build.returncode == 0:
        engines.append([COMPILED, ROOT])
    else:
        print(build.stderr.strip().splitlines()[-1], flush=True)
    for path in engines:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path))}
        subprocess.run([sys.executable, sys.argv[0], "one"], env=environment, check=True)
