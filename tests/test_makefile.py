"""`make help` lists every target that users can run."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
MAKEFILE: Final = (ROOT / "Makefile").read_text("utf-8")


@pytest.mark.skipif(shutil.which("make") is None, reason="no make on this machine")
def test_help_lists_every_target() -> None:
    """Every target for users is phony, because make would otherwise treat a file with the target's name as its result. Other targets stand
    for files.
    """
    phony = re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    assert phony is not None
    printed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    listed = [line.split()[1] for line in printed.splitlines() if line.startswith("make ")]
    assert sorted(listed) == sorted(phony[1].split())
    assert sorted(listed) == sorted(re.findall(r"^([a-z-]+):(?!=)", MAKEFILE, re.MULTILINE))
    assert all(len(line) <= 80 for line in printed.splitlines())
