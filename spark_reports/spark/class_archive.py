"""Java's archive of Spark's classes: with this file, Spark does half as much work to start and to prepare a report's queries.

At every start, Java loads, verifies, and links about twenty thousand Spark classes, which takes longer than a small report. Java can keep
the linked classes in a file: an AOT cache since Java 25 (JEP 483, 514), or a class data sharing archive in earlier versions (JEP 350). If
the file was created for a different Java runtime, other jars, or other options, Java silently ignores the file. The archive therefore
affects only speed. The file name identifies the Java runtime and the jars for which the file was created.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from spark_reports.spark.java import Java

AOT_SINCE: Final = 25
"""The first version of Java that creates an AOT cache in a single step."""

BRIEF: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""Java's options for short computations and for creating the archive, which select a serial garbage collector and only the fast compiler.
"""

_FORMAT: Final = "1"
_SILENT: Final = "-Xlog:disable"


def spark_jars(spark_home: Path) -> list[Path]:
    """Return all jars of a PySpark installation, sorted by name, which is the order in the class archive. If the installation has no jars,
    the result is empty.
    """
    return sorted((spark_home / "jars").glob("*.jar"))


def archive_path(java: Java, jars: Sequence[Path], environ: Mapping[str, str] = os.environ) -> Path:
    """Return the path of the archive for the given jars and the given Java runtime, whether or not the file exists.

    The archive is in the virtual environment of this program. If there is no virtual environment, the archive is in the user's cache
    (`XDG_CACHE_HOME`). Each combination of a Java runtime and a set of jars has its own file.
    """
    in_environment = sys.prefix != sys.base_prefix
    cache = Path(sys.prefix) / "var" if in_environment else Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    of_java = (java.home / "release", java.home / "lib" / "modules", java.home / "lib" / "server" / "libjvm.so")
    name = f"spark-{_digest([_FORMAT, *BRIEF], jars)}-java-{java.version}-{_digest([], of_java)}"
    return cache / "isrlab" / f"{name}.{'aot' if java.version >= AOT_SINCE else 'jsa'}"


def options_to_use(archive: Path) -> list[str]:
    """Return the Java options that use an archive."""
    return [f"-XX:{'AOTCache' if archive.suffix == '.aot' else 'SharedArchiveFile'}={archive}", _SILENT]


def options_to_make(archive: Path) -> list[str]:
    """Return Java's options for writing an archive.

    With these options, when Java exits normally, it writes out the classes that it has loaded.
    """
    return [f"-XX:{'AOTCacheOutput' if archive.suffix == '.aot' else 'ArchiveClassesAtExit'}={archive}", _SILENT]


def stale(archive: Path) -> list[Path]:
    """Return the archives in the directory of `archive` that are no longer used, because they were created for other jars."""
    jars = archive.name.partition("-java-")[0]
    return [other for other in archive.parent.glob("spark-*-java-*") if not other.name.startswith(f"{jars}-java-")]


def _digest(words: Sequence[str], files: Sequence[Path]) -> str:
    """Return a digest of strings and of the paths, sizes, and modification times of files. If a file is missing, the digest covers only its
    path.
    """
    told = [*words]
    for file in files:
        try:
            stat = file.stat()
        except OSError:
            told.append(str(file))
        else:
            told.append(f"{file} {stat.st_size} {stat.st_mtime_ns}")
    return hashlib.sha256("\n".join(told).encode("utf-8", "surrogateescape")).hexdigest()[:12]
