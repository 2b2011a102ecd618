"""Converts a Parquet dataset back to the original logs."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scenarios.errors import InputError
from scenarios.io.output_files import atomic_file
from scenarios.logs.log_file import is_packed_name, packer
from spark_reports.convert.log_parts import BASE64, NO_NEWLINE, PrintLine
from spark_reports.errors import ReportError
from spark_reports.rows.dataset import read_dataset
from spark_reports.rows.rows_to_lines import row_to_line
from spark_reports.rows.schema import DATASET_HEADER, DATASET_TAIL, LINE, SESSION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_FRAME_LINES: Final = 20_000


def to_json_lines(spark: SparkSession, datasets: Sequence[str], directory: Path, print_line: PrintLine) -> None:
    """Write every session of the given datasets as the original log, to a file named after the session."""
    for dataset in datasets:
        for session in sessions_of(spark, dataset):
            write_session(spark, dataset, session, directory / f"{_file_name(session)}.jsonl", print_line)


def sessions_of(spark: SparkSession, dataset: str) -> list[str]:
    rows = read_dataset(spark, dataset).where(f"kind = '{DATASET_HEADER}'").select(SESSION).distinct().collect()
    if not rows:
        raise ReportError(f"{dataset}: this directory contains no event logs; name a dataset that 'isrlab log convert' wrote")
    return sorted(row[SESSION] for row in rows)


def write_session(spark: SparkSession, dataset: str, session: str, out: Path, print_line: PrintLine) -> None:
    """Write a session in a dataset to a log file that is identical to the original log."""
    from pyspark.sql import functions as F

    rows = read_dataset(spark, dataset).where(F.col(SESSION) == session)
    texts = rows.orderBy("seq").select(F.coalesce(LINE, row_to_line()).alias("text"), (F.col("kind") == DATASET_TAIL).alias("tail"))
    lines = (_bytes_of(row["text"], row["tail"]) for row in texts.toLocalIterator(prefetchPartitions=True))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as wrong:
        raise InputError(f"{out.parent}: cannot create this directory: {wrong.strerror or wrong}") from None
    count = write_lines(out, _with_tail(lines))
    print_line(f"{out}: {count:,} lines of session {session}")


def _bytes_of(text: str, tail: bool) -> tuple[bytes, bool]:
    if tail and text.startswith(BASE64):
        return base64.b64decode(text[len(BASE64) :]), True
    return text.encode(), tail


def _with_tail(lines: Iterable[tuple[bytes, bool]]) -> Iterator[bytes]:
    """Yield the complete lines of a session, and then the text after the last event."""
    before: bytes | None = None
    for text, tail in lines:
        if tail and text == NO_NEWLINE.encode():
            break
        if before is not None:
            yield before + b"\n"
            before = None
        if tail:
            yield text
        else:
            before = text
    if before is not None:
        yield before


def write_lines(out: Path, lines: Iterator[bytes]) -> int:
    """Write lines to a file, compressed if its name ends in `.zst`. The file appears only when it is complete."""
    pack = packer() if is_packed_name(out) else bytes
    count = 0
    with atomic_file(out) as file:
        while chunk := list(itertools.islice(lines, _FRAME_LINES)):
            count += len(chunk)
            file.write(pack(b"".join(chunk)))
    return count


def _file_name(session: str) -> str:
    """Return the name of a session as a file name."""
    return session.replace("/", "-").lstrip(".") or "session"
