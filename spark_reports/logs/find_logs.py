"""Finds event logs in files, directories, and Parquet datasets, by pattern, and at URIs in other file systems."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

import attrs

from spark_reports.errors import ReportError

PACKED: Final = ".jsonl.zst"
"""The suffix of compressed logs."""

_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)

_NAMES: Final = ("*.jsonl", f"*{PACKED}")


@attrs.frozen
class FoundLogs:
    """The logs that were found: JSON Lines on this machine, Parquet datasets, and remote JSON Lines, which Spark reads."""

    files: list[Path]
    datasets: list[str]
    remote: list[str]


def find_logs(paths: Iterable[str | Path], *, or_none: bool = False) -> FoundLogs:
    """Find the logs at `paths`. A path that is given twice counts once.

    A directory stands for all its `*.jsonl` and `*.jsonl.zst` files, sorted by name, and, if it is a dataset, for its sessions. A pattern
    (`*`, `?`, `[…]`) stands for all matching files, unless a file has exactly that name. A URI (`hdfs:`, `s3a:` …) stands for JSON Lines if
    it ends in `.jsonl`, otherwise for a dataset. A path with the prefix `file:` is on this machine.

    Args:
        or_none: whether a directory or a pattern can stand for no log, because logs can appear later.

    Raises:
        ReportError: a directory contains no log, or no log matches a pattern.
    """
    files: dict[Path, None] = {}
    datasets: dict[str, None] = {}
    remote: dict[str, None] = {}
    for given in paths:
        text = str(given)
        if is_remote(text):
            (remote if re.search(r"\.jsonl(\.gz)?$", text) else datasets).setdefault(text)
            continue
        text = local_path(text)
        matched = [text] if os.path.exists(text) or not glob.has_magic(text) else sorted(glob.glob(text))
        if not matched and not or_none:
            raise ReportError(f"{text}: no event log matches this pattern")
        for one in map(Path, matched):
            if not one.is_dir() and one.suffix != ".parquet":
                files.setdefault(one)
                continue
            inside = sorted({found for name in _NAMES for found in one.glob(name)})
            if is_dataset(one):
                datasets.setdefault(f"file://{escape_glob(one.resolve())}")
            elif not inside and not or_none:
                raise ReportError(
                    f"{one}: this directory has no event log (*.jsonl, *{PACKED}, or a dataset that 'isrlab log convert' wrote)"
                )
            files.update(dict.fromkeys(inside))
    return FoundLogs(list(files), list(datasets), list(remote))


def is_remote(text: str) -> bool:
    """Whether a string is a URI (`hdfs:`, `s3a:` …) that only Spark can read. A path with the prefix `file:` is on this machine."""
    return _ADDRESS.match(text) is not None and not text.lower().startswith("file:")


def local_path(text: str) -> str:
    """Return a local path without the optional prefix `file:`."""
    return unquote(urlsplit(text).path) if _ADDRESS.match(text) else text


def escape_glob(path: Path) -> str:
    """Escape a path for Spark. In a local path, only the characters of glob patterns are special to Spark."""
    return re.sub(r"([\\*?{}\[\]])", r"\\\1", str(path))


def is_dataset(path: Path) -> bool:
    """Whether the path is a Parquet dataset, a session's part of a dataset, or a file in a dataset."""
    return path.suffix == ".parquet" or any(path.glob("session=*")) or any(path.glob("*.parquet"))
