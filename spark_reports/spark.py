"""The one place that starts Spark: on this machine's cores by default, on any `--master` otherwise, and silent.

Spark's JVM writes its warnings to a file in a scratch directory; they are shown only as the tail of an error when Spark
does not start. In local mode the driver listens on loopback only, no web interface is opened, and nothing is written
to the current directory.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from spark_reports.errors import ReportError
from spark_reports.jvm import find_java, java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL_MASTER: Final = "local[*]"
"""All cores of this machine, in one JVM."""

MISSING: Final = (
    "reports need PySpark, which is not installed; `make report LOG=session.jsonl` installs it, or install isrlab with its spark extra"
)
"""Said when PySpark is not there."""

_LOG4J: Final = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""

_SETTINGS: Final[dict[str, str]] = {
    "spark.app.name": "isrlab",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
}
"""In force on every master."""

_TAIL_LINES: Final = 15


def is_local(master: str) -> bool:
    """Whether that master runs in this machine's own JVM (`local`, `local[2]`, `local[*]`)."""
    return master == "local" or master.startswith("local[")


@contextlib.contextmanager
def spark_session(
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    brief: bool = False,
) -> Iterator[SparkSession]:
    """A running Spark session, stopped with its JVM at the end of the block.

    Args:
        master: a Spark master; None is `local[*]`.
        settings: Spark settings by name, stronger than the ones chosen here.
        environ: where JAVA_HOME and PATH are looked up; None is this process's environment.
        brief: there is little to compute, so local Java compiles quickly rather than well: a small report then takes 40 %
            less processor time.

    Raises:
        ReportError: PySpark or a Java is missing, Spark does not start (the message has the end of Spark's own log), or
            something that Spark was asked to do in the block failed.
    """
    master = master or LOCAL_MASTER
    surroundings = dict(os.environ if environ is None else environ)
    try:
        import pyspark
        from py4j.protocol import Py4JError
        from pyspark import SparkConf, SparkContext
        from pyspark.errors import PySparkException
        from pyspark.java_gateway import launch_gateway
        from pyspark.sql import SparkSession
    except ImportError as missing:
        raise ReportError(MISSING) from missing
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    scratch = Path(tempfile.mkdtemp(prefix="isrlab-spark-"))
    log = (scratch / "spark.log").open("w+b")
    gateway: Any = None
    context: SparkContext | None = None
    try:
        home = java_home(find_java(surroundings), scratch)
        conf = SparkConf(loadDefaults=False).setMaster(master)
        for name, value in {**_SETTINGS, **_settings_for(master, scratch, brief), **(settings or {})}.items():
            conf.set(name, value)
        with _environment(surroundings, _variables(master, home, Path(pyspark.__file__).parent, scratch)):
            try:
                gateway = launch_gateway(conf, {"stdout": log, "stderr": log})  # type: ignore[no-untyped-call]
                context = SparkContext(conf=conf, gateway=gateway)
            except Exception as failure:
                raise ReportError(f"Spark does not start on {master}: {_reason(failure)}{_tail(log)}") from failure
            session = SparkSession(context)
        try:
            yield session
        except (PySparkException, Py4JError) as failure:
            # What went wrong can be asked of the JVM only while it runs.
            raise ReportError(f"Spark failed: {_reason(failure)}") from failure
    finally:
        _stop(context, gateway)
        log.close()
        shutil.rmtree(scratch, ignore_errors=True)


def _settings_for(master: str, scratch: Path, brief: bool) -> dict[str, str]:
    """Settings that depend on where Spark runs."""
    if not is_local(master):
        return {}
    options = [f"-Dderby.system.home={scratch}", "-XX:+UseParallelGC", *(["-XX:TieredStopAtLevel=1"] if brief else [])]
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": str(min(8, max(2, os.cpu_count() or 2))),
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
        "spark.driver.extraJavaOptions": shlex.join(options),
    }


def _variables(master: str, home: Path, spark_home: Path, scratch: Path) -> dict[str, str]:
    """Environment variables that Spark's start scripts and workers read."""
    variables = {
        "JAVA_HOME": str(home),
        "SPARK_HOME": str(spark_home),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    if is_local(master):
        conf_dir = scratch / "conf"
        conf_dir.mkdir()
        (conf_dir / "log4j2.properties").write_text(_LOG4J, encoding="utf-8")
        variables |= {"SPARK_CONF_DIR": str(conf_dir), "SPARK_LOCAL_IP": "127.0.0.1"}
    return variables


_DROPPED: Final = ("PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_ENV_LOADED")
"""Variables of some other Spark that must not reach this one."""


@contextlib.contextmanager
def _environment(base: Mapping[str, str], variables: Mapping[str, str]) -> Iterator[None]:
    """This process's environment replaced for the length of the block: Spark is started through it."""
    before = dict(os.environ)
    try:
        os.environ.clear()
        os.environ.update({name: value for name, value in base.items() if name not in _DROPPED} | dict(variables))
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _stop(context: Any, gateway: Any) -> None:
    """End the session and its JVM, and forget both, so that another session can be started."""
    if context is not None:
        with contextlib.suppress(Exception):
            context.stop()
    if gateway is None:
        return
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    process = gateway.proc
    with contextlib.suppress(Exception):
        gateway.shutdown()
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(timeout=10)
    except Exception:
        process.kill()
        process.wait()
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None


def _reason(failure: Exception) -> str:
    """What went wrong, in a line: of Java's exceptions the innermost one's message, which names the cause."""
    lines = [line.strip() for line in str(failure).strip().splitlines()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return (causes or lines or [type(failure).__name__])[-1 if causes else 0]


def _tail(log: IO[bytes]) -> str:
    """The last lines of Spark's own log, indented, with a line break before them; empty when it wrote nothing."""
    log.flush()
    log.seek(0)
    lines = log.read().decode("utf-8", "replace").splitlines()[-_TAIL_LINES:]
    return "".join(f"\n  {line}" for line in lines if line.strip())
