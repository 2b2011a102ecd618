"""Settings and environment variables of a Spark session.

On this machine, the driver listens only on loopback, no web interface is opened, and Spark writes only to a scratch directory.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from spark_reports.spark.class_archive import BRIEF
from spark_reports.spark.master import is_local, is_on_this_machine

SETTINGS: Final[dict[str, str]] = {
    "spark.app.name": "isrlab",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Otherwise, PySpark looks up the source line of every expression.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
}
"""Settings that apply to every master. A Spark Connect server accepts only the settings that start with `spark.sql.`."""

_LOG4J: Final = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""

LOCAL_DIRS: Final = "SPARK_LOCAL_DIRS"

OUTSIDE_SCRATCH: Final = frozenset(
    {
        "spark.local.dir",
        "spark.driver.extraJavaOptions",
        "spark.sql.warehouse.dir",
        "spark.eventLog.enabled",
        "spark.extraListeners",
        "spark.plugins",
    }
)
"""Settings that make Spark keep files outside the scratch directory, or tell others that it ends."""


def settings_for(master: str, scratch: Path, brief: bool, archived: Sequence[str]) -> dict[str, str]:
    """Return the settings that depend on the master. `archived` contains the options with which Java uses its class archive."""
    if not is_on_this_machine(master):
        return {}
    loopback = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    # A parallel garbage collector slows down a short run.
    options = [
        f"-Dderby.system.home={scratch}",
        f"-Djava.io.tmpdir={scratch}",
        f"-Dlog4j2.configurationFile={_log4j(scratch)}",
        "-XX:-UsePerfData",
        # With only the fast compiler, Java would by default discard compiled code of a long run for lack of space.
        *([*BRIEF, "-XX:ReservedCodeCacheSize=128m"] if brief else ["-XX:+UseParallelGC"]),
        *archived,
    ]
    if not is_local(master):
        return loopback | {
            "spark.sql.shuffle.partitions": "4",
            "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
            "spark.driver.extraJavaOptions": shlex.join(options),
        }
    return loopback | {
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": str(min(8, max(2, os.cpu_count() or 2))),
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
        "spark.local.dir": str(scratch),
        "spark.driver.extraJavaOptions": shlex.join(options),
    }


def python_of_executors(master: str, environ: Mapping[str, str], settings: Mapping[str, str]) -> str:
    """Return the Python program for executors.

    If `spark.pyspark.python` is set, return its value. Otherwise, executors on this machine use the Python of this process, and executors
    elsewhere use PYSPARK_PYTHON or `python3`.
    """
    here = sys.executable if is_on_this_machine(master) else environ.get("PYSPARK_PYTHON", "python3")
    return settings.get("spark.pyspark.python", here)


def environment_variables(
    master: str, home: Path, spark_home: Path, scratch: Path, python: str, pythonpath: str, archived: Sequence[str]
) -> dict[str, str]:
    """Return the environment variables for Spark's start scripts and workers. The Java process that the start script runs also uses the
    class archive."""
    variables = {
        "JAVA_HOME": str(home),
        "SPARK_HOME": str(spark_home),
        "PYSPARK_PYTHON": python,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    # The script splits words at spaces, even in quotes.
    if archived and not any(re.search(r"[\s*?\[]", option) for option in archived):
        variables["SPARK_LAUNCHER_OPTS"] = " ".join((*BRIEF, *archived))
    if is_local(master):
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, (str(Path(__file__).resolve().parents[2]), pythonpath)))
    if is_on_this_machine(master):
        log4j = _log4j(scratch)
        log4j.parent.mkdir()
        log4j.write_text(_LOG4J, encoding="utf-8")
        variables |= {"SPARK_CONF_DIR": str(log4j.parent), "SPARK_LOCAL_IP": "127.0.0.1"}
    return variables


def _log4j(scratch: Path) -> Path:
    """Return the path of the configuration file for Spark's log, whose directory contains no other configuration."""
    return scratch / "conf" / "log4j2.properties"
