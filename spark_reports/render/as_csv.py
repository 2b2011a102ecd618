"""Tables as CSV, a file each: values under the columns' own names, times in µs, nothing where there is no value.

Spreadsheets take a text that begins with `=`, `+`, `-` or `@` for a formula and run it, so such a text gets an apostrophe before it,
as people type it there; a number stays a number. Control characters are spelled out.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from scenarios.output_files import whole_file
from scenarios.visible import visible
from spark_reports.render.result import Result

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
"""How a text begins that a spreadsheet runs."""

_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")


def write(results: Sequence[Result], directory: Path) -> None:
    """Write each table to `NAME.csv` in a directory.

    Raises:
        InputError: a file cannot be written.
    """
    for result in results:
        with whole_file(directory / f"{result.name}.csv") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(result.columns)
            writer.writerows([csv_value(value) for value in row] for row in result.rows)


def csv_value(value: object) -> object:
    """A value as it stands in a CSV file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return value
    shown = visible(value)
    return f"'{shown}" if value[:1] in _FORMULA and not _NUMBER.fullmatch(value) else shown
