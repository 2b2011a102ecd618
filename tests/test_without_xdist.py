"""The suite also runs in one process, without pytest-xdist."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_the_groups_of_xdist_need_no_xdist() -> None:
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", "--collect-only", "tests/spark_reports/summaries/test_summaries.py"]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
