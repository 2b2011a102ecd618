"""Fetches the libraries of a release with Maven, from the registry that Maven is set up for."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

SCALA: Final = (((2, 4), "2.13"), ((0, 8, 2), "2.11"))
"""The version of Scala of the recorded jars: the first releases, newest first."""

TOOLS_ARTIFACT: Final = (3, 5)
"""The first release that has the artifact kafka-tools with tools that were part of the core before."""

WITHOUT_JAXB: Final = (2, 0)
"""The first release that does not need JAXB, which Java has not had since version 11."""

JAXB: Final = "<dependency><groupId>javax.xml.bind</groupId><artifactId>jaxb-api</artifactId><version>2.3.1</version></dependency>"

LOGGING_LEFT_OUT: Final = ((2, 0), (4, 0))
"""The first release whose core does not depend on a logging library, and the first one that does so again."""

LOGGING: Final = "<dependency><groupId>org.slf4j</groupId><artifactId>slf4j-reload4j</artifactId><version>1.7.36</version></dependency>"

OLD_ZOOKEEPER: Final = ((2, 0), (2, 4))
"""The releases whose version of ZooKeeper does not resolve addresses under Java 14 and later (ZOOKEEPER-3779)."""

ZOOKEEPER: Final = "<dependency><groupId>org.apache.zookeeper</groupId><artifactId>zookeeper</artifactId><version>3.4.12</version>"

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
    if release < WITHOUT_JAXB:
        wanted += JAXB
    if LOGGING_LEFT_OUT[0] <= release < LOGGING_LEFT_OUT[1]:
        wanted += LOGGING
    if OLD_ZOOKEEPER[0] <= release < OLD_ZOOKEEPER[1]:
        wanted += ZOOKEEPER + f"{ALONE}</dependency>"
    folder.parent.mkdir(parents=True, exist_ok=True)
    pom = folder.with_name(folder.name + ".xml")
    pom.write_text(POM.format(wanted))
    done = subprocess.run(
        ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={folder}"], capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
