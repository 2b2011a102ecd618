"""Checks whether a Spark master is valid, whether it is on this machine, and whether it answers.

This module also reads the Spark settings of `--conf`.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from typing import Final

from scenarios.errors import did_you_mean
from spark_reports.errors import ReportError

LOCAL_MASTER: Final = "local[*]"
"""The master that uses all cores of this machine in one JVM."""

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

_CONNECT_SECONDS: Final = 10


def is_local(master: str) -> bool:
    """Whether the master runs in a JVM of this machine (`local`, `local[2]`, `local[*]`)."""
    return master == "local" or master.startswith("local[")


def is_connect(master: str) -> bool:
    """Whether the master is a Spark Connect server."""
    return master.startswith("sc://")


def is_on_this_machine(master: str) -> bool:
    """Whether the driver and all executors are on this machine, so that they need only the loopback network."""
    return is_local(master) or master.startswith("local-cluster[") or master.partition("://")[2].startswith(_LOOPBACK)


def read_conf(given: Iterable[str]) -> dict[str, str]:
    """Read Spark settings in the form of `--conf`, for example `spark.executor.memory=2g`.

    Raises:
        ReportError: an item is not a Spark setting.
    """
    settings = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip().startswith("spark."):
            raise ReportError(f"--conf: '{text[:60]}' is not a Spark setting; write spark.name=value, for example spark.executor.memory=2g")
        settings[name.strip()] = value.strip()
    return settings


def check_master(master: str) -> None:
    """Reject a master that is invalid or does not answer, because Spark itself would try to connect for minutes.

    Raises:
        ReportError: the master is rejected. The message contains examples of valid masters, or the address that does not answer.
    """
    if not _MASTER.fullmatch(master):
        remedy = did_you_mean(master, _MASTERS, f"for example {', '.join(_MASTERS[1:5])}")
        raise ReportError(f"--master: '{master[:60]}' is not a Spark master; {remedy}")
    if not master.startswith(("spark://", "sc://")):
        return
    failures = []
    for address in master.partition("://")[2].partition("/")[0].split(","):
        host, _, port = address.rpartition(":") if re.search(r":\d+$", address) else (address, "", str(_CONNECT_PORT))
        try:
            with socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS):
                return
        except (OSError, OverflowError) as failure:
            failures.append(f"{address}: {failure}")
    what = "Spark Connect server" if is_connect(master) else "Spark master"
    raise ReportError(f"--master {master}: no {what} answers ({'; '.join(failures)})")
