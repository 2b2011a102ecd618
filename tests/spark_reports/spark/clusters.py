"""Real Spark clusters for tests: a standalone master with workers. They use PySpark's own jars, and only the loopback network.

Each process leads its own process group, so that the processes that it starts (executors) end with it. `stop` ends all remaining processes,
whatever the test did.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import attrs
import pyspark

from spark_reports.spark.class_archive import BRIEF, archive_path, options_to_use, spark_jars
from spark_reports.spark.java import find_java, java_home

START_SECONDS = 300
LOG4J = """\
rootLogger.level = info
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %p %c{1}: %m%n%ex
"""


JARS = spark_jars(Path(pyspark.__file__).parent)


def quick_java() -> str:
    """Return Java options for little work: compile quickly rather than well, and use the class archive if there is one."""
    archive = archive_path(find_java(), JARS)
    return shlex.join([*BRIEF, *(options_to_use(archive) if archive.exists() else ())])


@attrs.define
class SparkProcesses:
    """Processes that are started from PySpark's jars and use one scratch directory."""

    scratch: Path
    running: dict[str, subprocess.Popen[bytes]] = attrs.field(factory=dict)

    def start(self, name: str, *arguments: str) -> None:
        """Start `spark-class` with these arguments."""
        conf = self.scratch / "conf"
        if not conf.exists():
            conf.mkdir(parents=True)
            (conf / "log4j2.properties").write_text(LOG4J)
        options = f"{quick_java()} {shlex.quote(f'-Dlog4j2.configurationFile={conf}/log4j2.properties')}"
        home = Path(pyspark.__file__).parent
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
        environment = kept | {
            "SPARK_HOME": str(home),
            "JAVA_HOME": str(java_home(find_java(), self.scratch, JARS)),
            "SPARK_CONF_DIR": str(conf),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self.scratch / "local"),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_DAEMON_JAVA_OPTS": options,
            "SPARK_DAEMON_MEMORY": "256m",
        }
        with (self.scratch / f"{name}.log").open("wb") as log:
            self.running[name] = subprocess.Popen(
                [str(home / "bin" / "spark-class"), *arguments],
                cwd=self.scratch,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def said(self, name: str) -> str:
        """Return the log of a process so far."""
        return (self.scratch / f"{name}.log").read_text(errors="replace")

    def wait_for(self, name: str, text: str, count: int = 1) -> None:
        """Wait until a process has logged a text the given number of times."""
        deadline = time.monotonic() + START_SECONDS
        while self.said(name).count(text) < count:
            assert self.running[name].poll() is None, self.said(name)[-2_000:]
            assert time.monotonic() < deadline, self.said(name)[-2_000:]
            time.sleep(0.05)

    def kill(self, name: str) -> None:
        """Send SIGKILL to a process and to the processes that it started."""
        process = self.running.pop(name)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)


@contextlib.contextmanager
def spark_processes(scratch: Path) -> Iterator[SparkProcesses]:
    """Provide a starter of processes, which all end when the block ends."""
    processes = SparkProcesses(scratch)
    try:
        yield processes
    finally:
        for name in reversed(list(processes.running)):
            processes.kill(name)


@contextlib.contextmanager
def standalone_cluster(scratch: Path, workers: int = 2) -> Iterator[tuple[str, SparkProcesses]]:
    """Start a standalone master and its workers `worker-1`, `worker-2`, and so on, with one core each. Provide the URL of the master."""
    with spark_processes(scratch) as processes:
        processes.start("master", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        processes.wait_for("master", "New state: ALIVE")
        (url,) = set(re.findall(r"spark://127\.0\.0\.1:\d+", processes.said("master")))
        for number in range(1, workers + 1):
            processes.start(
                f"worker-{number}", "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--webui-port", "0",
                "--cores", "1", "--memory", "1g", "--work-dir", str(scratch / f"work-{number}"), url,
            )  # fmt: skip
        processes.wait_for("master", "Registering worker", workers)
        yield url, processes
