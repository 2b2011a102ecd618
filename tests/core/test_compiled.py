"""The compiled engine: the output of `compile_core.py` for a module, and the same event logs from the same runs, byte for byte."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import core
from compile_core import HOT, SOURCES, copied

ROOT = Path(__file__).resolve().parents[2]
COMPILED = os.environ.get("ISRLAB_COMPILED", "")

MODULE = '''"""What it is."""

from __future__ import annotations

from typing import NamedTuple


class Plain:
    """One."""


class Named(NamedTuple):
    """Two."""


class Broker(Node):
    """Three."""
'''


def test_the_sources_are_pure_python() -> None:
    assert not core.is_compiled()


def test_what_is_compiled_is_there() -> None:
    assert [name for name in HOT if not (SOURCES / f"{name}.py").exists()] == []
    assert list(HOT) == sorted(set(HOT))


def test_hot_classes_are_marked_in_the_copy_and_nothing_else_is_touched() -> None:
    assert copied(MODULE, hot=False) == MODULE
    lines = copied(MODULE, hot=True).splitlines()
    assert [lines[at + 1] for at, line in enumerate(lines) if line.startswith("@mypyc_attr")] == ["class Plain:", "class Broker(Node):"]
    assert lines[2:4] == ["from __future__ import annotations", "from mypy_extensions import mypyc_attr"]
    assert [line for line in lines if "mypyc_attr" not in line] == MODULE.splitlines()


def digests(*first: str) -> list[str]:
    """Return the output of `event_digests` with the given directories first on the path."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([*first, str(ROOT)])}
    command = [sys.executable, str(Path(__file__).with_name("event_digests.py"))]
    return subprocess.run(
        command, cwd=Path(__file__).parent, env=environment, capture_output=True, text=True, check=True
    ).stdout.splitlines()


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="make test-compiled builds the engine first")
def test_it_gives_the_same_event_logs() -> None:
    pure, compiled = digests(), digests(str(Path(COMPILED).resolve()))
    assert (pure.pop(0), compiled.pop(0)) == ("pure", "compiled")
    assert len(pure) > 100
    assert compiled == pure
