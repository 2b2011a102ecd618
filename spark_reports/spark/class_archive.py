"""Java's archive of Spark's classes: a file that halves the work of starting Spark and preparing a report's queries.

At every start Java loads, verifies, and links some twenty thousand classes of Spark, which takes longer than a small report. Java can
keep the linked classes in a file: the AOT cache since Java 25 (JEP 483, 514), and before that an archive of class data (JEP 350). If
the file belongs to another Java, other jars, or other options, Java silently ignores it. So the file affects only speed, and its name
says what it was made for.
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
"""The first Java whose AOT cache takes a single step to create."""

BRIEF: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""Java's options if it has little to compute, and to make the archive: no parallel garbage collector, and a compiler that is fast
rather than thorough.
"""

_FORMAT: Final = "1"
_SILENT: Final = "-Xlog:disable"


def spark_jars(spark_home: Path) -> list[Path]:
    """All jars of a PySpark installation, in the order of the archive; empty if there are none."""
    return sorted((spark_home / "jars").glob("*.jar"))


def archive_path(java: Java, jars: Sequence[Path], environ: Mapping[str, str] = os.environ) -> Path:
    """The path of the archive of these jars for that Java, whether or not it exists.

    The archive is in the virtual environment of this program; outside of one, in the user's cache (`XDG_CACHE_HOME`). Another Java, or
    other jars, get another file.
    """
    in_environment = sys.prefix != sys.base_prefix
    cache = Path(sys.prefix) / "var" if in_environment else Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    of_java = (java.home / "release", java.home / "lib" / "modules", java.home / "lib" / "server" / "libjvm.so")
    name = f"spark-{_digest([_FORMAT, *BRIEF], jars)}-java-{java.version}-{_digest([], of_java)}"
    return cache / "isrlab" / f"{name}.{'aot' if java.version >= AOT_SINCE else 'jsa'}"


def options_to_use(archive: Path) -> list[str]:
    """Java's options to use that archive."""
    return [f"-XX:{'AOTCache' if archive.suffix == '.aot' else 'SharedArchiveFile'}={archive}", _SILENT]


def options_to_make(archive: Path) -> list[str]:
    """Java's options to write that archive, with the classes it has loaded, when it exits normally."""
    return [f"-XX:{'AOTCacheOutput' if archive.suffix == '.aot' else 'ArchiveClassesAtExit'}={archive}", _SILENT]


def stale(archive: Path) -> list[Path]:
    """Archives next to that one that no Java uses any more, because they are of other jars."""
    jars = archive.name.partition("-java-")[0]
    return [other for other in archive.parent.glob("spark-*-java-*") if not other.name.startswith(f"{jars}-java-")]


def _digest(words: Sequence[str], files: Sequence[Path]) -> str:
    """A digest of words and files (path, size, and time); a missing file counts, too."""
    told = [*words]
    for file in files:
        try:
            stat = file.stat()
        except OSError:
            told.append(str(file))
        else:
            told.append(f"{file} {stat.st_size} {stat.st_mtime_ns}")
    return hashlib.sha256("\n".join(told).encode("utf-8", "surrogateescape")).hexdigest()[:12]
