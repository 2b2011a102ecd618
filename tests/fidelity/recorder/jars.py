"""Fetches the libraries of a release with Maven, from the registry that Maven is set up for."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

SCALA: Final = (((2, 4), "2.13"), ((0, 8, 2), "2.11"))
"""The version of Scala of the recorded jars: the first releases, newest first."""

TOOLS_ARTIFACT: Final = (3, 5)
"""The first release that has the artifact kafka-tools with tools that were part of the core before."""

POM: Final = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>recorder</groupId><artifactId>recorder</artifactId><version>1</version>
<dependencies>{}</dependencies>
</project>
"""

DEPENDENCY: Final = "<dependency><groupId>org.apache.kafka</groupId><artifactId>{}</artifactId><version>{}</version>{}</dependency>"

ALONE: Final = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
"""The tools need nothing that the core does not need, apart from libraries of tools that are not used here."""


def fetch_jars(version: str, release: tuple[int, ...], folder: Path) -> None:
    """Copy the jars of a version to a folder.

    Raises:
        RuntimeError: Maven failed. The message is Maven's.
    """
    scala = next(name for since, name in SCALA if release >= since)
    wanted = DEPENDENCY.format(f"kafka_{scala}", version, "")
    if release >= TOOLS_ARTIFACT:
        wanted += DEPENDENCY.format("kafka-tools", version, ALONE)
    folder.parent.mkdir(parents=True, exist_ok=True)
    pom = folder.with_name(folder.name + ".xml")
    pom.write_text(POM.format(wanted))
    done = subprocess.run(
        ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={folder}"], capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
