"""Creates Java's archive of Spark's classes (`spark.class_archive`), once for each environment.

To create the archive, run `python -m spark_reports.make_class_archive`.

The program simulates a small session and reports on it, so that the archive contains the classes that reports need. `make` runs the program
when it installs Spark. Simultaneous runs and interrupted runs do no harm, because the archive appears only when it is complete.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from core.kafka.release import CURRENT
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from scenarios.io.standard_streams import print_error, print_messages
from scenarios.io.termination_signals import Terminated, raise_on_signals
from scenarios.logs.log_header import make_header
from scenarios.logs.log_writer import LogWriter
from spark_reports.compute import compute_tables, load_logs, session_settings
from spark_reports.errors import ReportError
from spark_reports.logs.session_log import open_log
from spark_reports.rows.staging import stage_logs
from spark_reports.spark.class_archive import archive_path, spark_jars, stale
from spark_reports.spark.failures import MISSING
from spark_reports.spark.java import find_java
from spark_reports.spark.master import LOCAL_MASTER
from spark_reports.spark.session import spark_session

EVENTS: Final = session_settings.SMALL_EVENTS * 5 // 4
"""The number of events in the simulated session. `EVENTS` is greater than `SMALL_EVENTS`, because Spark loads fewer classes for smaller
sessions.
"""

HOUR: Final = 3600.0
"""The number of seconds in an hour."""

_MAKING: Final = ".making-"


def prepare() -> Path:
    """Create the archive if it does not exist, and return its path.

    Raises:
        ReportError: PySpark or Java is missing, this Java runtime cannot create archives, or the archive cannot be written.
    """
    try:
        import pyspark
    except ImportError as missing:
        raise ReportError(MISSING) from missing
    jars = spark_jars(Path(pyspark.__file__).parent)
    archive = archive_path(find_java(), jars)
    if archive.exists():
        return archive
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        _delete_leftovers(archive.parent)
        with tempfile.TemporaryDirectory(prefix=_MAKING, dir=archive.parent) as scratch:
            made = Path(scratch) / archive.name
            _report(Path(scratch), made)
            if not made.exists():
                raise ReportError(f"this Java runtime cannot create an archive: {find_java().home}")
            made.replace(archive)
        for old in stale(archive):
            with contextlib.suppress(OSError):
                old.unlink()
    except OSError as failure:
        raise ReportError(f"{archive.parent}: cannot write the archive of Java classes: {failure.strerror or failure}") from failure
    return archive


def _delete_leftovers(place: Path) -> None:
    """Delete directories that killed runs left behind. Only directories that are older than an hour are deleted, because no run takes an
    hour."""
    for scratch in place.glob(f"{_MAKING}*"):
        with contextlib.suppress(OSError):
            if time.time() - scratch.stat().st_mtime > HOUR:
                shutil.rmtree(scratch, ignore_errors=True)


def _report(scratch: Path, record: Path) -> None:
    """Report on a simulated session, using a Java runtime that records the classes that it loads."""
    path = scratch / "session.jsonl"
    _simulate(path)
    log = open_log(path, path)
    with spark_session(settings=session_settings.spark_settings(LOCAL_MASTER), brief=True, record=record) as spark:
        staged = stage_logs([log], [], scratch / "staged", *load_logs.needed_kinds_and_columns(charts=False))
        left = [log] if not staged.logs else []
        loaded = load_logs.load_logs(spark, left, staged, [], [], False, scratch, lambda _: None)
        compute_tables.compute_tables(loaded, 100, [], False, lambda _: None)


def _simulate(path: Path) -> None:
    """Simulate a session with a load, and with a broker that is killed and restarted repeatedly, so that most tables have rows."""
    spec = ClusterSpec(brokers=tuple(BrokerSpec(broker) for broker in (1, 2, 3)), topics=(TopicSpec("orders", partitions=3),))
    with LogWriter(path, make_header(spec, CURRENT, 1, None)) as log:
        cluster = Cluster(spec, CURRENT, seed=1, sink=log)
        cluster.do(acts.Load("orders", rate=1000, every=SECOND // 50, producer="app"))
        while cluster.journal.seq < EVENTS:
            for act in (acts.Kill(2), acts.Start(2)):
                cluster.run_until(cluster.now + 15 * SECOND)
                cluster.do(act)
        log.close(cluster.now)


def main() -> int:
    """Create the archive. If the archive cannot be created, report the failure and return 0, because Spark also starts without the
    archive."""
    print_messages("Creating the archive of Spark's Java classes (takes a minute, only once) …")
    try:
        with raise_on_signals():
            prepare()
    except ReportError as wrong:
        print_error(f"{wrong}; Spark starts without it")
    except Terminated as stopped:
        return 128 + stopped.signal
    return 0


if __name__ == "__main__":
    sys.exit(main())
