"""Tables as CSV, a file each or several for a long one: values under the columns' own names, times in µs, nothing where there is no value.

Spreadsheets take a text that begins with `=`, `+`, `-` or `@` for a formula and run it, so such a text gets an apostrophe before it,
as people type it there; a number stays a number. Control characters are spelled out.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from scenarios.output_files import whole_file
from scenarios.visible import visible

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
"""How a text begins that a spreadsheet runs."""

_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")


def write(name: str, columns: Sequence[str], rows: Iterable[Sequence[object]], directory: Path, part_rows: int) -> None:
    """Write a table to `NAME.csv` in a directory; one with more rows than `part_rows` goes on in `NAME-2.csv` and so forth.

    Each file begins with the columns' names. Files that a longer table of that name left there go.

    Raises:
        InputError: a file cannot be written.
    """
    left = iter(rows)
    number = 0
    while (part := list(itertools.islice(left, part_rows))) or not number:
        number += 1
        with whole_file(directory / (f"{name}.csv" if number == 1 else f"{name}-{number}.csv")) as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows([csv_value(value) for value in row] for row in part)
    while (path := directory / f"{name}-{number + 1}.csv").exists():
        path.unlink()
        number += 1


def csv_value(value: object) -> object:
    """A value as it stands in a CSV file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return value
    shown = visible(value)
    return f"'{shown}" if value[:1] in _FORMULA and not _NUMBER.fullmatch(value) else shown
