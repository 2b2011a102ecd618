"""Writes tables as CSV files. A long table is split into several files.

Columns keep their names, times are in µs, and a missing value is empty.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from scenarios.io.csv_values import csv_value
from scenarios.io.output_files import atomic_file


def write(name: str, columns: Sequence[str], rows: Iterable[Sequence[object]], directory: Path, part_rows: int) -> None:
    """Write a table to `NAME.csv` in a directory. After every `part_rows` rows, continue in a new file: `NAME-2.csv`, `NAME-3.csv`, and so
    on. Each file begins with the column names.

    Raises:
        InputError: a file cannot be written.
    """
    left = iter(rows)
    number = 0
    while (part := list(itertools.islice(left, part_rows))) or not number:
        number += 1
        with atomic_file(directory / (f"{name}.csv" if number == 1 else f"{name}-{number}.csv")) as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows([csv_value(value) for value in row] for row in part)


def names_in(directory: Path) -> set[str]:
    """Return the names of the CSV files in a directory."""
    return {path.name for path in directory.glob("*.csv")}


def remove_earlier_parts(directory: Path, written: Collection[str]) -> None:
    """If earlier output had more files for one of the tables than the files that were `written` now, delete the extra files."""
    for name in (name.removesuffix(".csv") for name in written):
        numbers = itertools.count(2)
        while (path := directory / f"{name}-{next(numbers)}.csv").exists():
            if path.name not in written:
                path.unlink()
