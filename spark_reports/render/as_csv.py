"""Tables as CSV, a file each: raw values under the columns' own names, times in µs, nothing where there is no value."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from spark_reports.errors import ReportError
from spark_reports.render.result import Result


def write(results: Sequence[Result], directory: Path) -> None:
    """Write each table to `NAME.csv` in a directory.

    Raises:
        ReportError: a file cannot be written.
    """
    for result in results:
        path = directory / f"{result.name}.csv"
        try:
            with path.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(result.columns)
                writer.writerows([_text(value) for value in row] for row in result.rows)
        except OSError as failure:
            raise ReportError(f"{path}: the table cannot be written there: {failure.strerror or failure}") from failure


def _text(value: object) -> object:
    return ("true" if value else "false") if isinstance(value, bool) else value
