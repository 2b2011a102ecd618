"""Starts Spark on the cores of this machine, or on any `--master`. No other module starts Spark.

The JVM writes its warnings to a file in a scratch directory. If Spark does not start, the error message shows the end of the file with the
JVM's warnings.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scenarios.io.termination_signals import defer_signals, keep_signal_handlers
from spark_reports.errors import ReportError
from spark_reports.spark.class_archive import archive_path, options_to_make, options_to_use, spark_jars
from spark_reports.spark.connect import connect_session
from spark_reports.spark.failures import MISSING, disk_note, exit_reason, log_tail, reason_of
from spark_reports.spark.java import Java, find_java, java_home
from spark_reports.spark.master import LOCAL_MASTER, check_master, is_connect, is_local, is_on_this_machine
from spark_reports.spark.settings import LOCAL_DIRS, OUTSIDE_SCRATCH, SETTINGS, environment_variables, python_of_executors, settings_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_STOP_SECONDS: Final = 10

_RECORD_SECONDS: Final = 300


@contextlib.contextmanager
def spark_session(
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    brief: bool = False,
    record: Path | None = None,
) -> Iterator[SparkSession]:
    """Provide a running Spark session. When the block ends, the session and its JVM end.

    Args:
        master: a Spark master or a Spark Connect URL; None means `local[*]`.
        settings: Spark settings by name, which override the settings that this function chooses.
        environ: the environment variables, including JAVA_HOME and PATH; None means the environment of this process.
        brief: whether Java has little to compute; if so, local Java uses only its fast compiler, which saves a small report 40% of its
            processor time.
        record: the file to which local Java writes an archive of the classes that it has loaded (`class_archive`). If the block fails, Java
            writes no archive. Otherwise, the session ends only after the file has been written.

    Raises:
        ReportError: PySpark or Java is missing, Spark does not start (the message contains the end of Spark's log), or Spark failed in the
            block.
    """
    master = master or LOCAL_MASTER
    surroundings = dict(os.environ if environ is None else environ)
    check_master(master)
    # PySpark warns on every import if pandas is newer. This program does not use pandas.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    if is_connect(master):
        with connect_session(master, dict(settings or {})) as connected:
            yield connected
        return
    try:
        with defer_signals():
            import pyspark
            from py4j.protocol import Py4JError
            from pyspark import SparkConf, SparkContext
            from pyspark.errors import PySparkException
            from pyspark.java_gateway import launch_gateway
            from pyspark.sql import SparkSession
    except ImportError as missing:
        raise ReportError(MISSING) from missing
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_not_about_dead_jvm)
    scratch = Path(tempfile.mkdtemp(prefix="isrlab-spark-"))
    log = (scratch / "spark.log").open("w+b")
    gateway: Any = None
    context: SparkContext | None = None
    private = recorded = False
    try:
        spark_home = Path(pyspark.__file__).parent
        java = find_java(surroundings)
        options, jars = _archived(java, spark_home, record, surroundings) if is_on_this_machine(master) else ([], [])
        home = java_home(java, scratch, jars)
        conf = SparkConf(loadDefaults=False).setMaster(master)
        chosen = {**SETTINGS, **settings_for(master, scratch, brief, options), **(settings or {})}
        private = is_local(master) and LOCAL_DIRS not in surroundings and not OUTSIDE_SCRATCH & (settings or {}).keys()
        for name, value in chosen.items():
            conf.set(name, value)
        python = python_of_executors(master, surroundings, chosen)
        with _environment(
            surroundings,
            environment_variables(master, home, spark_home, scratch, python, surroundings.get("PYTHONPATH", ""), [] if record else options),
        ):
            try:
                # A Java that is starting cannot be stopped. A separate process session protects it from the signals of the terminal.
                with keep_signal_handlers():
                    gateway = launch_gateway(conf, {"stdout": log, "stderr": log, "start_new_session": True})  # type: ignore[no-untyped-call]
                # Spark installs its own handler for Ctrl-C.
                with keep_signal_handlers():
                    context = SparkContext(conf=conf, gateway=gateway)
            except Exception as failure:
                raise ReportError(
                    f"Spark does not start on {master}: {exit_reason(log) or reason_of(failure) + log_tail(log)}{disk_note(scratch)}"
                ) from failure
            session = SparkSession(context)
        try:
            yield session
            recorded = record is not None
        except (PySparkException, Py4JError) as failure:
            # The JVM can explain a failure only while it is running.
            raise ReportError(f"Spark failed: {reason_of(failure)}{disk_note(scratch)}") from failure
    finally:
        _stop(context, gateway, at_once=private and not recorded, seconds=_RECORD_SECONDS if recorded else _STOP_SECONDS)
        log.close()
        shutil.rmtree(scratch, ignore_errors=True)


def _archived(java: Java, spark_home: Path, record: Path | None, environ: Mapping[str, str]) -> tuple[list[str], list[Path]]:
    """Return the Java options for using or writing the archive of the classes in Spark's jars, and return the jars.

    If there is no class archive, both return values are empty.
    """
    jars = spark_jars(spark_home)
    if not jars:
        return [], []
    if record is not None:
        return options_to_make(record), jars
    archive = archive_path(java, jars, environ)
    return (options_to_use(archive), jars) if archive.exists() else ([], [])


_DROPPED: Final = ("PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_ENV_LOADED")
"""Environment variables that configure a different Spark installation and must not affect this one."""


@contextlib.contextmanager
def _environment(base: Mapping[str, str], variables: Mapping[str, str]) -> Iterator[None]:
    """While the block runs, replace the environment of this process, because Spark inherits this environment."""
    before = dict(os.environ)
    try:
        os.environ.clear()
        os.environ.update({name: value for name, value in base.items() if name not in _DROPPED} | dict(variables))
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _is_not_about_dead_jvm(record: logging.LogRecord) -> bool:
    """Return whether to keep a log message from py4j.

    Messages about a JVM that has ended are dropped, because the end of the JVM is reported elsewhere.
    """
    return record.msg not in ("Exception while sending command.", "KeyboardInterrupt while sending command.")


def _stop(context: Any, gateway: Any, *, at_once: bool, seconds: int) -> None:
    """End the session and its JVM, and remove all references to both, so that another session can start.

    Args:
        at_once: whether to kill the JVM immediately, which is safe if all its files are in its scratch directory and no executors run
            elsewhere.
        seconds: the time limit for the JVM to exit.
    """
    if gateway is None:
        return
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    process = gateway.proc
    if at_once:
        accumulators = getattr(context, "_accumulatorServer", None)
        if accumulators is not None:
            # Otherwise, the accumulator server prints that the JVM does not answer.
            accumulators.handle_error = lambda *_: None
        process.kill()
    if context is not None:
        with contextlib.suppress(Exception), warnings.catch_warnings():
            # PySpark warns that its JVM has ended.
            warnings.simplefilter("ignore")
            context.stop()
    with contextlib.suppress(Exception):
        gateway.shutdown()
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(timeout=seconds)
    except Exception:
        process.kill()
        process.wait()
    except BaseException:
        # The command was stopped while Java was writing its archive in a second Java process.
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
