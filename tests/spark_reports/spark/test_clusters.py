"""Reports and sweeps on real clusters: a standalone master with two workers, one of which is killed, and a Spark Connect server.

The results are always the same as those of a single process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from scenarios import catalogue
from scenarios.logs.log_header import make_header
from scenarios.logs.log_writer import LogWriter
from scenarios.releases import release_named
from scenarios.running.runner import Run
from scenarios.sweeps.execution.checkpoint import Checkpoint
from scenarios.sweeps.execution.process_workers import ProcessWorkers
from scenarios.sweeps.execution.rounds import sweep_runs
from scenarios.sweeps.grid_file.read_grid import load_grid
from scenarios.sweeps.output.result_files import write_results
from spark_reports.summaries.registry import SUMMARIES
from tests.scenarios.sweeps.grids import TEXT
from tests.spark_reports.spark.clusters import SparkProcesses, quick_java, standalone_cluster
from tests.spark_reports.together import Writer, summarized_together

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.cluster]

ROOT = Path(__file__).resolve().parents[3]
FILES = ("runs.csv", "cells.csv", "cells.json", "sweep.html")
RUNS = 6


FEW_TASKS = ("--conf", "spark.sql.shuffle.partitions=1", "--conf", "spark.sql.adaptive.enabled=false")
INTERPRETED = ("--conf", "spark.sql.codegen.wholeStage=false", "--conf", "spark.sql.codegen.factoryMode=NO_CODEGEN")
ONE_EXECUTOR = ("--conf", "spark.cores.max=1")


def quick() -> list[str]:
    """Return settings for little data: few tasks, a Java that compiles quickly rather than well, and no code generation."""
    return [*FEW_TASKS, *INTERPRETED, "--conf", f"spark.executor.extraJavaOptions={quick_java()}"]


@pytest.fixture(scope="module")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, SparkProcesses]]:
    with standalone_cluster(tmp_path_factory.mktemp("standalone")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a grid file. Its subdirectory `alone` contains the results that processes on this machine computed."""
    place = tmp_path_factory.mktemp("grid")
    (place / "grid.yaml").write_text(TEXT.replace("every: 2h", "every: 30m").replace("  min.insync.replicas: [1, 2]\n", ""))
    grid = load_grid(place / "grid.yaml")
    outcome, every = sweep_runs(grid, RUNS, ProcessWorkers(2), Checkpoint(place / "alone", grid))
    write_results(place / "alone", outcome, every)
    return place


OWN_SESSION = """
import json
from pathlib import Path
from spark_reports import register, summary
from spark_reports.spark.session import spark_session
from tests.spark_reports.streams import to_the_end

with spark_session(master, settings) as spark:
    register(spark)
    rows = spark.read.format("isrlab").load(log)
    stream = spark.readStream.format("isrlab").load(log).writeStream.format("parquet").trigger(availableNow=True)
    to_the_end(stream.option("checkpointLocation", f"{out}/checkpoint"), f"{out}/rows")
    streamed = spark.read.parquet(f"{out}/rows").select(*rows.columns)
    found = [sorted(map(list, frame.collect()), key=repr) for frame in (rows, streamed)]
    Path(out, "found.json").write_text(json.dumps([*found, list(map(list, summary(rows, "elections").collect()))]))
"""


def isrlab(*arguments: str) -> subprocess.Popen[str]:
    """Start the command line."""
    return python("from tui.cli import main; sys.exit(main(arguments))", arguments=list(arguments))


def python(code: str, **values: Any) -> subprocess.Popen[str]:
    """Start a Python program with these global variables, outside the source tree, so that executors can get isrlab only from the driver."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); globals().update({values!r}); {code}"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd="/", env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )  # fmt: skip


def ended(process: subprocess.Popen[str]) -> str:
    """Wait until a process succeeds, and return what it wrote to stdout."""
    out, err = process.communicate(timeout=400)
    assert process.returncode == 0, err
    return out


def same(swept: Path, out: Path) -> bool:
    return all((swept / "alone" / name).read_bytes() == (out / name).read_bytes() for name in FILES)


@summarized_together
def write_session(folder: Path) -> tuple[list[Path], Path]:
    scenario = catalogue.load("d6-unclean-election-on")
    release = release_named(scenario.releases[-1])
    log = folder / "on-a-cluster.jsonl"
    with LogWriter(str(log), make_header(scenario.spec, release, scenario.seed, scenario.name)) as writer:
        run = Run(scenario, release, sink=writer)
        run.run()
        writer.close(run.cluster.now)
    return [log], log


@pytest.fixture(scope="module")
def session(summarized: Callable[[Writer], tuple[Path, dict[str, list[dict[str, Any]]]]]) -> tuple[str, dict[str, Any]]:
    """Return the log of a session, and its tables as computed by Spark on this machine."""
    log, tables = summarized(write_session)
    return str(log), json.loads(json.dumps({summary.name: tables[summary.name] for summary in SUMMARIES}))


def check_report(session: tuple[str, dict[str, Any]], *where: str) -> None:
    """Check that the report has the tables of the session, with the rows in any order."""
    log, expected = session
    tables = json.loads(ended(isrlab("report", log, "--json", "-q", *where)))["summaries"]
    for name, rows in expected.items():
        assert sorted(tables[name], key=json.dumps) == sorted(rows, key=json.dumps), name
    assert sum(map(bool, expected.values())) > 5


def test_report_on_a_standalone_cluster(standalone: tuple[str, SparkProcesses], session: tuple[str, dict[str, Any]]) -> None:
    check_report(session, "--master", standalone[0], *quick(), *ONE_EXECUTOR)


def check_data_source(session: tuple[str, dict[str, Any]], out: Path, master: str, settings: Mapping[str, str]) -> None:
    """Read and stream a log with the data source, and compute a summary, in a session on a cluster."""
    log, expected = session
    ended(python(OWN_SESSION, master=master, settings=dict(settings), log=log, out=str(out)))
    read, streamed, elections = json.loads((out / "found.json").read_text())
    assert read == streamed
    assert len(read) == len(Path(log).read_text().splitlines())
    assert [dict(zip(expected["elections"][0], row, strict=True)) for row in elections] == expected["elections"]


def test_the_data_source_on_a_standalone_cluster(
    standalone: tuple[str, SparkProcesses], session: tuple[str, dict[str, Any]], tmp_path: Path
) -> None:
    settings = dict(setting.split("=", 1) for setting in quick() if setting != "--conf")
    check_data_source(session, tmp_path, standalone[0], settings)


def test_a_sweep_on_a_standalone_cluster_outlives_a_worker(standalone: tuple[str, SparkProcesses], swept: Path, tmp_path: Path) -> None:
    url, processes = standalone
    process = isrlab("sweep", str(swept / "grid.yaml"), "--runs", str(RUNS), "--master", url, "-o", str(tmp_path / "out"), "-q", *quick())
    deadline = time.monotonic() + 400
    while not list((tmp_path / "out").glob("chunks/cell*.jsonl")):
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    done = len(list((tmp_path / "out").glob("chunks/cell*.jsonl")))
    processes.kill("worker-2")
    ended(process)
    assert done < len(list((tmp_path / "out").glob("chunks/cell*.jsonl")))
    assert same(swept, tmp_path / "out")


def test_the_data_source_on_spark_connect(session: tuple[str, dict[str, Any]], connect_url: str, tmp_path: Path) -> None:
    pytest.importorskip("pyspark.sql.connect.session")
    check_data_source(session, tmp_path, connect_url, {})


def test_report_and_sweep_on_spark_connect(swept: Path, session: tuple[str, dict[str, Any]], connect_url: str, tmp_path: Path) -> None:
    pytest.importorskip("pyspark.sql.connect.session")
    check_report(session, "--master", connect_url, *FEW_TASKS, *INTERPRETED)
    ended(isrlab("sweep", str(swept / "grid.yaml"), "--runs", str(RUNS), "--master", connect_url, "-o", str(tmp_path / "out"), "-q"))
    assert same(swept, tmp_path / "out")
