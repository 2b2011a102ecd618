"""Unpacks `.jsonl.zst` logs, because Spark cannot read them."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path
from typing import Final

from scenarios.logs.log_file import is_packed, open_log_file
from spark_reports.errors import ReportError

_WRITING: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors that only a write has."""


def unpack(path: Path, scratch: Path) -> Path | None:
    """Unpack a compressed log to a file in `scratch`, and return its path. Return None if the log is not compressed.

    Raises:
        ReportError: the file cannot be read or is damaged, or there is no space to unpack it.
    """
    try:
        if not is_packed(path):
            return None
        lines = scratch / f"{len(list(scratch.iterdir())):06d}.unpacked.jsonl"
        with open_log_file(path) as packed, lines.open("wb") as file:
            shutil.copyfileobj(packed, file, 1 << 20)
    except OSError as failure:
        what = f"cannot unpack this file to {scratch}" if failure.errno in _WRITING else "cannot read this file"
        raise ReportError(f"{path}: {what}: {failure.strerror or failure}") from failure
    return lines
