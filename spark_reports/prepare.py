"""Makes Java's archive of Spark's classes (`archive`), once for an environment: `python -m spark_reports.prepare`.

A small session is played and reported, so that the archive has what reports need; `make` does this when it installs Spark. Two at
a time do no harm, and neither does one that is stopped: the archive appears whole under its name or not at all.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path
from typing import Final

from scenarios import catalogue
from scenarios.eventlog import LogWriter, make_header
from scenarios.releases import release_named
from scenarios.runner import Run
from spark_reports import computing
from spark_reports.archive import archive_of, spark_jars, stale
from spark_reports.errors import ReportError
from spark_reports.jvm import find_java
from spark_reports.sessions import open_log
from spark_reports.spark import LOCAL_MASTER, MISSING, spark_session
from spark_reports.staging import stage
from spark_reports.stopping import Stopped, stoppable

SCENARIO: Final = "d6-unclean-election-on"
"""What is played: short, and most tables of its report have rows."""


def prepare() -> Path:
    """Make the archive unless there is one; gives where it is.

    Raises:
        ReportError: PySpark or a Java is missing, that Java makes no archives, or there is no place for it.
    """
    try:
        import pyspark
    except ImportError as missing:
        raise ReportError(MISSING) from missing
    jars = spark_jars(Path(pyspark.__file__).parent)
    archive = archive_of(find_java(), jars)
    if archive.exists():
        return archive
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".making-", dir=archive.parent) as scratch:
            made = Path(scratch) / archive.name
            _report(Path(scratch), made)
            if not made.exists():
                raise ReportError(f"this Java makes no archive: {find_java().home}")
            made.replace(archive)
        for old in stale(archive):
            with contextlib.suppress(OSError):
                old.unlink()
    except OSError as failure:
        raise ReportError(f"{archive.parent}: Java's archive cannot be written there: {failure.strerror or failure}") from failure
    return archive


def _report(scratch: Path, record: Path) -> None:
    """Report on a session that is played for it, in a Java that records."""
    scenario = catalogue.load(SCENARIO)
    release = release_named(scenario.releases[-1])
    path = scratch / "session.jsonl"
    with LogWriter(path, make_header(scenario.spec, release, scenario.seed, scenario.name)) as writer:
        run = Run(scenario, release, sink=writer)
        run.run()
        writer.close(run.cluster.now)
    log = open_log(path, path)
    with spark_session(settings=computing.spark_settings(LOCAL_MASTER), brief=True, record=record) as spark:
        staged = stage([log], [], scratch / "staged", *computing.needed(charts=False))
        left = [log] if not staged.logs else []
        loaded = computing.load(spark, left, staged, [], [], False, scratch, lambda _: None)
        computing.compute(loaded, 100, None, False, lambda _: None)


def main() -> int:
    """Make the archive; what keeps it from being made is told, and is no reason for anything else to fail."""
    print("Preparing Java's archive of Spark's classes (half a minute, once) …", file=sys.stderr, flush=True)
    try:
        with stoppable():
            prepare()
    except ReportError as wrong:
        print(f"isrlab: {wrong}; Spark will start without", file=sys.stderr)
    except Stopped as stopped:
        return 128 + stopped.signal
    return 0


if __name__ == "__main__":
    sys.exit(main())
