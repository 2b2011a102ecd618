"""The one place that starts Spark: on this machine's cores by default, on any `--master` otherwise, and silent.

Spark's JVM writes its warnings to a file in a scratch directory; they are shown only as the tail of an error when Spark
does not start. On this machine (`local[…]`, `local-cluster[…]`, a master on loopback) the driver listens on loopback
only; no web interface is opened, and nothing is written to the current directory. An `sc://` master is a Spark Connect
server: no Java is started here then. `shipped` brings this program's own modules to Python workers elsewhere.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shlex
import shutil
import signal
import socket
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from scenarios.errors import did_you_mean
from scenarios.stopping import held, whole
from spark_reports.archive import BRIEF, archive_of, spark_jars, to_make, to_use
from spark_reports.errors import ReportError
from spark_reports.jvm import Java, find_java, java_home

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
    # Every expression built in Python would be looked up in the source it comes from.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
}
"""In force on every master; a Spark Connect server takes those of `spark.sql.` only."""

_LOCAL_DIRS: Final = "SPARK_LOCAL_DIRS"
_OUTSIDE: Final = frozenset({"spark.local.dir", "spark.driver.extraJavaOptions", "spark.sql.warehouse.dir"})
"""Settings by which Spark keeps files outside its scratch directory."""

_DIED: Final = re.compile(r"^(?:Exception in thread \"main\"|Caused by:) [\w.$]+(?:: (?:requirement failed: )?(.+))$", re.MULTILINE)
_TAIL_LINES: Final = 15
_STOP_SECONDS: Final = 10
_RECORD_SECONDS: Final = 300

_MASTER: Final = re.compile(
    r"local|local\[(\d+|\*)(,\s*\d+)?\]|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]|spark://[^\s/]+:\d+|sc://\S+|yarn|k8s://\S+"
)
_MASTERS: Final = (
    "local[*]",
    "local[2]",
    "local-cluster[2,1,1024]",
    "spark://host:7077",
    "sc://host:15002",
    "yarn",
    "k8s://https://host:6443",
)
_LOOPBACK: Final = ("127.", "localhost", "[::1]")
_CONNECT_PORT: Final = 15002
_KNOCK_SECONDS: Final = 10
_CONNECT_MODE: Final = "SPARK_CONNECT_MODE_ENABLED"


def is_local(master: str) -> bool:
    """Whether that master runs in this machine's own JVM (`local`, `local[2]`, `local[*]`)."""
    return master == "local" or master.startswith("local[")


def is_connect(master: str) -> bool:
    """Whether that master is a Spark Connect server."""
    return master.startswith("sc://")


def is_here(master: str) -> bool:
    """Whether driver and executors are all on this machine and need no network but loopback."""
    return is_local(master) or master.startswith("local-cluster[") or master.partition("://")[2].startswith(_LOOPBACK)


def read_conf(given: Iterable[str]) -> dict[str, str]:
    """Spark settings as `--conf` takes them: `spark.executor.memory=2g`.

    Raises:
        ReportError: one of them is no setting.
    """
    settings = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip().startswith("spark."):
            raise ReportError(f"--conf: '{text[:60]}' is no Spark setting; write spark.name=value, for example spark.executor.memory=2g")
        settings[name.strip()] = value.strip()
    return settings


@contextlib.contextmanager
def spark_session(
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    brief: bool = False,
    record: Path | None = None,
) -> Iterator[SparkSession]:
    """A running Spark session, stopped with its JVM at the end of the block.

    Args:
        master: a Spark master or a Spark Connect URL; None is `local[*]`.
        settings: Spark settings by name, stronger than the ones chosen here.
        environ: where JAVA_HOME and PATH are looked up; None is this process's environment.
        brief: Java has little to compute, so that local Java compiles quickly rather than well: a small report then takes 40 %
            less processor time.
        record: where local Java writes an archive of what it loaded (`archive`) when the block ends well, which is waited for.

    Raises:
        ReportError: PySpark or a Java is missing, Spark does not start (the message has the end of Spark's own log), or
            something that Spark was asked to do in the block failed.
    """
    master = master or LOCAL_MASTER
    surroundings = dict(os.environ if environ is None else environ)
    _check_master(master)
    # Said on every import where pandas is newer than PySpark; nothing here uses pandas.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    if is_connect(master):
        with _connect_session(master, dict(settings or {})) as connected:
            yield connected
        return
    try:
        with whole():
            import pyspark
            from py4j.protocol import Py4JError
            from pyspark import SparkConf, SparkContext
            from pyspark.errors import PySparkException
            from pyspark.java_gateway import launch_gateway
            from pyspark.sql import SparkSession
    except ImportError as missing:
        raise ReportError(MISSING) from missing
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_news)
    scratch = Path(tempfile.mkdtemp(prefix="isrlab-spark-"))
    log = (scratch / "spark.log").open("w+b")
    gateway: Any = None
    context: SparkContext | None = None
    private = recorded = False
    try:
        spark_home = Path(pyspark.__file__).parent
        java = find_java(surroundings)
        options, jars = _archived(java, spark_home, record, surroundings) if is_here(master) else ([], [])
        home = java_home(java, scratch, jars)
        conf = SparkConf(loadDefaults=False).setMaster(master)
        chosen = {**_SETTINGS, **_settings_for(master, scratch, brief, options), **(settings or {})}
        private = is_local(master) and _LOCAL_DIRS not in surroundings and not _OUTSIDE & (settings or {}).keys()
        for name, value in chosen.items():
            conf.set(name, value)
        python = _python_of_workers(master, surroundings, chosen)
        with _environment(
            surroundings,
            _variables(master, home, spark_home, scratch, python, surroundings.get("PYTHONPATH", ""), [] if record else options),
        ):
            try:
                # A Java that has only begun could not be ended; a session of its own keeps signals to the terminal's programs from it.
                with held():
                    gateway = launch_gateway(conf, {"stdout": log, "stderr": log, "start_new_session": True})  # type: ignore[no-untyped-call]
                # Spark has a handler of its own for Ctrl-C.
                with held():
                    context = SparkContext(conf=conf, gateway=gateway)
            except Exception as failure:
                raise ReportError(f"Spark does not start on {master}: {_last_words(log) or _reason(failure) + _tail(log)}") from failure
            session = SparkSession(context)
        try:
            yield session
            recorded = record is not None
        except (PySparkException, Py4JError) as failure:
            # What went wrong can be asked of the JVM only while it runs.
            raise ReportError(f"Spark failed: {_reason(failure)}") from failure
    finally:
        _stop(context, gateway, at_once=private and not recorded, seconds=_RECORD_SECONDS if recorded else _STOP_SECONDS)
        log.close()
        shutil.rmtree(scratch, ignore_errors=True)


@contextlib.contextmanager
def shipped(spark: SparkSession, master: str | None) -> Iterator[None]:
    """Brings this program's modules to a session's Python workers, with attrs, which is all that a sweep's runs need.

    In local mode the workers find them where this process does. Elsewhere executors fetch a zip file, whenever one of them
    starts: so it is there until the block ends.
    """
    if is_local(master or LOCAL_MASTER):
        yield
        return
    import attr
    import attrs

    root = Path(__file__).resolve().parents[1]
    packages = [root / "core", root / "spark_reports", *(Path(str(module.__file__)).parent for module in (attr, attrs))]
    with tempfile.TemporaryDirectory(prefix="isrlab-ship-") as scratch:
        path = Path(scratch) / "isrlab.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for package in packages:
                for source in sorted(package.rglob("*.py")):
                    archive.write(source, source.relative_to(package.parent).as_posix())
        spark.addArtifacts(str(path), pyfile=True)
        yield


def _check_master(master: str) -> None:
    """Refuse a master that cannot be one, and one at which nobody answers: Spark itself would try for minutes.

    Raises:
        ReportError: the message says what a master looks like, or who does not answer.
    """
    if not _MASTER.fullmatch(master):
        remedy = did_you_mean(master, _MASTERS, f"for example {', '.join(_MASTERS[1:5])}")
        raise ReportError(f"--master: '{master[:60]}' is no Spark master; {remedy}")
    if not master.startswith(("spark://", "sc://")):
        return
    failures = []
    for address in master.partition("://")[2].partition("/")[0].split(","):
        host, _, port = address.rpartition(":") if re.search(r":\d+$", address) else (address, "", str(_CONNECT_PORT))
        try:
            with socket.create_connection((host.strip("[]"), int(port)), _KNOCK_SECONDS):
                return
        except (OSError, OverflowError) as failure:
            failures.append(f"{address}: {failure}")
    what = "Spark Connect server" if is_connect(master) else "Spark master"
    raise ReportError(f"--master {master}: no {what} answers ({'; '.join(failures)})")


@contextlib.contextmanager
def _connect_session(master: str, settings: dict[str, str]) -> Iterator[SparkSession]:
    """A session on a Spark Connect server; the server goes on when it ends."""
    try:
        with whole():
            from pyspark.errors import PySparkException
            from pyspark.sql.connect.session import SparkSession as ConnectSession
    except ImportError as missing:
        raise ReportError(
            f"--master {master} needs Spark Connect's client, of which {missing.name or missing} is missing; "
            "install isrlab with its connect extra"
        ) from missing
    for name in ("pyspark.sql.connect", "DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    session: Any = None
    mode = os.environ.get(_CONNECT_MODE)
    # PySpark's functions look at this to know which of its two halves is meant.
    os.environ[_CONNECT_MODE] = "1"
    try:
        session = ConnectSession.builder.remote(master).create()
        for name, value in {**{name: value for name, value in _SETTINGS.items() if name.startswith("spark.sql.")}, **settings}.items():
            session.conf.set(name, value)
        yield session
    except PySparkException as failure:
        raise ReportError(f"Spark failed: {_reason(failure)}") from failure
    finally:
        if session is not None:
            with contextlib.suppress(Exception):
                session.stop()
        if mode is None:
            del os.environ[_CONNECT_MODE]
        else:
            os.environ[_CONNECT_MODE] = mode


def _archived(java: Java, spark_home: Path, record: Path | None, environ: Mapping[str, str]) -> tuple[list[str], list[Path]]:
    """Java's options for its archive of Spark's jars, to use it or to write it, and those jars; nothing if there is none to use."""
    jars = spark_jars(spark_home)
    if not jars:
        return [], []
    if record is not None:
        return to_make(record), jars
    archive = archive_of(java, jars, environ)
    return (to_use(archive), jars) if archive.exists() else ([], [])


def _settings_for(master: str, scratch: Path, brief: bool, archived: Sequence[str]) -> dict[str, str]:
    """Settings that depend on where Spark runs; `archived` are Java's options for its archive."""
    if not is_here(master):
        return {}
    loopback = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    # Threads of a parallel collector only get in the way of a short run.
    options = [
        f"-Dderby.system.home={scratch}",
        f"-Djava.io.tmpdir={scratch}",
        f"-Dlog4j2.configurationFile={_log4j(scratch)}",
        "-XX:-UsePerfData",
        *(BRIEF if brief else ["-XX:+UseParallelGC"]),
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


def _python_of_workers(master: str, environ: Mapping[str, str], settings: Mapping[str, str]) -> str:
    """The Python that executors run: what `spark.pyspark.python` says, else this one on this machine, PYSPARK_PYTHON or `python3` elsewhere."""
    here = sys.executable if is_here(master) else environ.get("PYSPARK_PYTHON", "python3")
    return settings.get("spark.pyspark.python", here)


def _variables(
    master: str, home: Path, spark_home: Path, scratch: Path, python: str, pythonpath: str, archived: Sequence[str]
) -> dict[str, str]:
    """Environment variables that Spark's start scripts and workers read; the script's own Java has the archive, too."""
    variables = {
        "JAVA_HOME": str(home),
        "SPARK_HOME": str(spark_home),
        "PYSPARK_PYTHON": python,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    # The script takes words apart at blanks, whatever quotes there are.
    if archived and not any(re.search(r"[\s*?\[]", option) for option in archived):
        variables["SPARK_LAUNCHER_OPTS"] = " ".join((*BRIEF, *archived))
    if is_local(master):
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, (str(Path(__file__).resolve().parents[1]), pythonpath)))
    if is_here(master):
        log4j = _log4j(scratch)
        log4j.parent.mkdir()
        log4j.write_text(_LOG4J, encoding="utf-8")
        variables |= {"SPARK_CONF_DIR": str(log4j.parent), "SPARK_LOCAL_IP": "127.0.0.1"}
    return variables


def _log4j(scratch: Path) -> Path:
    """The settings of Spark's log, in a directory of Spark's settings that has nothing else."""
    return scratch / "conf" / "log4j2.properties"


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


def _is_news(record: logging.LogRecord) -> bool:
    """False for what py4j says, past its own logger, of a JVM that is gone; what came of it is told where it matters."""
    return record.msg not in ("Exception while sending command.", "KeyboardInterrupt while sending command.")


def _stop(context: Any, gateway: Any, *, at_once: bool, seconds: int) -> None:
    """End the session and its JVM, and forget both, so that another session can be started.

    Args:
        at_once: nothing is lost with the JVM, as all that it keeps is in its scratch directory and there are no executors elsewhere.
        seconds: how long the JVM may take to end by itself.
    """
    if gateway is None:
        return
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    process = gateway.proc
    if at_once:
        accumulators = getattr(context, "_accumulatorServer", None)
        if accumulators is not None:
            # It would print that the JVM does not answer.
            accumulators.handle_error = lambda *_: None
        process.kill()
    if context is not None:
        with contextlib.suppress(Exception), warnings.catch_warnings():
            # That its JVM is gone.
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
        # Told to end while Java writes its archive, for which it has another Java.
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None


def _reason(failure: Exception) -> str:
    """What went wrong, in a line: of Java's exceptions the innermost one's message, which names the cause."""
    lines = [line.strip() for line in str(failure).strip().splitlines()]
    causes = [line.removeprefix("Caused by: ").removeprefix(": ") for line in lines if line.startswith(("Caused by: ", ": "))]
    return (causes or lines or [type(failure).__name__])[-1 if causes else 0]


def _last_words(log: IO[bytes]) -> str:
    """What Java said that it ended of, as for a package that is nowhere to be found; empty if it did not."""
    log.flush()
    log.seek(0)
    said = _DIED.findall(log.read().decode("utf-8", "replace"))
    return said[-1].strip() if said else ""


def _tail(log: IO[bytes]) -> str:
    """The last lines of Spark's own log, indented, with a line break before them; empty when it wrote nothing."""
    log.flush()
    log.seek(0)
    lines = log.read().decode("utf-8", "replace").splitlines()[-_TAIL_LINES:]
    return "".join(f"\n  {line}" for line in lines if line.strip())
