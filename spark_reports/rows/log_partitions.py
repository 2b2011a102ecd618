"""Finds and describes the logs that the data source `isrlab` reads. This part of `log_source` runs on the driver."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from spark_reports.errors import ReportError
from spark_reports.logs.find_logs import find_logs
from spark_reports.logs.session_log import SessionLog, name_sessions, open_log
from spark_reports.logs.unpack import unpack
from spark_reports.rows.lines_to_rows import LogParts


def log_partitions(paths: Sequence[str]) -> list[tuple[str, str, LogParts]]:
    """Return the path, the name of the session, and the parts that are not events, of each log.

    Raises:
        ReportError: there is no log, a file is not an event log, or a log is not in JSON Lines at a local path.
    """
    found = find_logs(paths)
    for other in (*found.datasets, *found.remote):
        raise ReportError(f"{other}: format('isrlab') reads logs in JSON Lines at paths, neither Parquet nor URIs")
    logs: list[SessionLog] = []
    parts: list[LogParts] = []
    with tempfile.TemporaryDirectory(prefix="isrlab-logs-") as scratch:
        for path in found.files:
            plain = unpack(path, Path(scratch)) or path
            log = open_log(path, plain)
            with plain.open("rb") as file:
                header = file.readline().decode().rstrip("\n")
            if plain is not path:
                plain.unlink()
            logs.append(log)
            parts.append(LogParts(header, log.tail, log.events, log.end_us, log.ended, log.torn))
    named = zip(found.files, name_sessions(logs), parts, strict=True)
    return [(str(path.resolve()), log.session, each) for path, log, each in named]
