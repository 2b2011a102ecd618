"""Java's archive of Spark's classes: a file made once (`prepare`) that spares Spark's start, and a report's queries, half their work.

At every start Java loads, checks and links some twenty thousand classes of Spark's, which takes longer than a small report. It
can keep them as they are then in a file: the AOT cache from Java 25 on (JEP 483, 514), an archive of class data before (JEP 350).
Java itself refuses a file of another Java, of other jars or of other options without a word, and then starts as it would without.
So the file is only ever a matter of speed, and its name says what it was made for.
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
"""The first Java with an AOT cache that is made in one go."""

BRIEF: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""How Java runs when it has little to compute, and when the archive is made: threads of a collector would get in the way, and it
compiles quickly rather than well."""

_FORMAT: Final = "1"
_SILENT: Final = "-Xlog:disable"


def spark_jars(spark_home: Path) -> list[Path]:
    """Every jar of a PySpark, in the order in which the archive has them; none where they are not found."""
    return sorted((spark_home / "jars").glob("*.jar"))


def archive_of(java: Java, jars: Sequence[Path], environ: Mapping[str, str] = os.environ) -> Path:
    """Where the archive of these jars for that Java is, or would be.

    It is in the environment that this program is installed in, whose jars it is of, and goes with it; without one in the user's
    cache (`XDG_CACHE_HOME`). Of another Java, or of jars that were replaced, it is another file.
    """
    in_environment = sys.prefix != sys.base_prefix
    cache = Path(sys.prefix) / "var" if in_environment else Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    of_java = (java.home / "release", java.home / "lib" / "modules", java.home / "lib" / "server" / "libjvm.so")
    name = f"spark-{_digest([_FORMAT, *BRIEF], jars)}-java-{java.version}-{_digest([], of_java)}"
    return cache / "isrlab" / f"{name}.{'aot' if java.version >= AOT_SINCE else 'jsa'}"


def to_use(archive: Path) -> list[str]:
    """Java's options to start with that archive."""
    return [f"-XX:{'AOTCache' if archive.suffix == '.aot' else 'SharedArchiveFile'}={archive}", _SILENT]


def to_make(archive: Path) -> list[str]:
    """Java's options to write that archive, with what it has loaded, when it ends in good order."""
    return [f"-XX:{'AOTCacheOutput' if archive.suffix == '.aot' else 'ArchiveClassesAtExit'}={archive}", _SILENT]


def stale(archive: Path) -> list[Path]:
    """Archives beside that one that no Java will use any more: those of other jars."""
    jars = archive.name.partition("-java-")[0]
    return [other for other in archive.parent.glob("spark-*-java-*") if not other.name.startswith(f"{jars}-java-")]


def _digest(words: Sequence[str], files: Sequence[Path]) -> str:
    """Tells files by where they are, their sizes and times; one that is not there counts as well."""
    told = [*words]
    for file in files:
        try:
            stat = file.stat()
        except OSError:
            told.append(str(file))
        else:
            told.append(f"{file} {stat.st_size} {stat.st_mtime_ns}")
    return hashlib.sha256("\n".join(told).encode("utf-8", "surrogateescape")).hexdigest()[:12]
