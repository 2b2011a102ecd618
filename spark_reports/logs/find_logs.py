"""Finds event logs: what files, directories, patterns, Parquet datasets, and addresses of other file systems stand for."""

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
"""How the names of packed logs end."""

_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)

_NAMES: Final = ("*.jsonl", f"*{PACKED}")


@attrs.frozen
class FoundLogs:
    """What paths mean: logs as JSON Lines on this machine, datasets in Parquet, and JSON Lines elsewhere, for Spark to find."""

    files: list[Path]
    datasets: list[str]
    remote: list[str]


def find_logs(paths: Iterable[str | Path]) -> FoundLogs:
    """The logs meant by `paths`; what is named twice counts once.

    A directory stands for every `*.jsonl` and `*.jsonl.zst` in it, by name, and for the sessions of a dataset; a pattern (`*`, `?`,
    `[…]`) for what it matches, unless there is a file of that very name. Of an address (`hdfs:`, `s3a:` …) the end tells: `.jsonl` is
    JSON Lines, anything else a dataset; `file:` is this machine.

    Raises:
        ReportError: a directory or a pattern has no log in it.
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
        if not matched:
            raise ReportError(f"{text}: no event log matches this pattern")
        for one in map(Path, matched):
            if not one.is_dir() and one.suffix != ".parquet":
                files.setdefault(one)
                continue
            inside = sorted({found for name in _NAMES for found in one.glob(name)})
            if is_dataset(one):
                datasets.setdefault(f"file://{escape_glob(one.resolve())}")
            elif not inside:
                raise ReportError(f"{one}: no event log (*.jsonl, *{PACKED} or what 'isrlab log convert' wrote) in this directory")
            files.update(dict.fromkeys(inside))
    return FoundLogs(list(files), list(datasets), list(remote))


def is_remote(text: str) -> bool:
    """Whether it is an address (`hdfs:`, `s3a:` …) that only Spark can read; `file:` is this machine."""
    return _ADDRESS.match(text) is not None and not text.lower().startswith("file:")


def local_path(text: str) -> str:
    """A path of this machine as such, also when it is given as `file:…`."""
    return unquote(urlsplit(text).path) if _ADDRESS.match(text) else text


def escape_glob(path: Path) -> str:
    """A path as Spark reads it as itself: it takes addresses as they are, without escapes but for the characters of patterns."""
    return re.sub(r"([\\*?{}\[\]])", r"\\\1", str(path))


def is_dataset(path: Path) -> bool:
    """Whether there is Parquet at a path: a dataset, a session's part of one, or a file of it."""
    return path.suffix == ".parquet" or any(path.glob("session=*")) or any(path.glob("*.parquet"))
