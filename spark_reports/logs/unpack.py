"""Unpacks `.jsonl.zst` logs, because Spark cannot read them."""

from __future__ import annotations

import shutil
from pathlib import Path

from scenarios.logs.log_file import is_packed, open_log_file
from spark_reports.errors import ReportError


def unpack(path: Path, scratch: Path) -> Path | None:
    """Unpack a compressed log to a file in `scratch`, and return its path. Return None if the log is not compressed.

    Raises:
        ReportError: the file cannot be read or is damaged.
    """
    try:
        if not is_packed(path):
            return None
        lines = scratch / f"{len(list(scratch.iterdir())):06d}.unpacked.jsonl"
        with open_log_file(path) as packed, lines.open("wb") as file:
            shutil.copyfileobj(packed, file, 1 << 20)
    except OSError as failure:
        raise ReportError(f"{path}: cannot read this file: {failure.strerror or failure}") from failure
    return lines
