"""Writes SUMMARIES.md, which defines every table of a report: `python -m spark_reports.summaries_doc`.

A test checks that the file is up to date.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from core.kafka.events import KINDS
from spark_reports.severity import LEAST, RANKS
from spark_reports.summaries.overview import FIGURES, NAME, NOTES, TITLE, WORST
from spark_reports.summaries.registry import SUMMARIES
from spark_reports.summaries.summary import Summary

DOCUMENT: Final = Path(__file__).with_name("SUMMARIES.md")
"""The path of the document."""

_HEAD: Final = """# The tables of a report

<!-- Written by `python -m spark_reports.summaries_doc` from spark_reports/summaries. -->

Each table answers one question about one or more sessions. `isrlab report` prints the tables; `--json`, `-o DIR` (Parquet, or CSV with
`--csv`), and `--html FILE` write them, and `spark_reports.summary` computes them in your own Spark session. A column that ends in `_us` is a time in µs of virtual time. Percentiles are exact and use the
nearest-rank method, so each percentile is a value that occurred. The columns in **bold** identify a row, and rows are sorted by these columns.
The type of each column is that of Spark, and the last line about each table is an example for your own Spark session (see docs/reports.md).
A session that was killed ends with its last event. Tests compare the tables with those of an independent implementation in plain Python.

If a table has many rows, the output shows only the worst rows: 100 in the terminal, 300 on the HTML page, and 10,000 in JSON. The
description of each table says how the worst rows are sorted. The output says how many rows the table has. CSV and Parquet files contain all
rows. With `--csv`, a table of more than 200,000 rows becomes several files. The figures at the top of the page (`totals` in JSON) are the
overview for all sessions together. The figures at the top cover all rows, even if the output shows fewer rows.
"""


def document() -> str:
    """Return the text of SUMMARIES.md."""
    measures = _joined(("**session**", *FIGURES))
    made_of = "\n".join(
        f"| {name} | {'maximum' if each.worst else 'sum'} of `{each.value}` | {each.table} |" for name, each in FIGURES.items()
    )
    parts = [_HEAD, f"\n## {TITLE}\n\nThe table `{NAME}` has the columns {measures}.\n\n{NOTES}\n\n{_order(WORST)}\n"]
    parts.append(f"\n| figure | value of each row | of the table |\n|---|---|---|\n{made_of}\n")
    for summary in SUMMARIES:
        parts.append(f"\n## {summary.title}\n\nThe table `{summary.name}` has the columns {_schema(summary)}.\n\n{summary.notes}\n")
        if summary.worst:
            parts.append(f"\n{_order(summary.worst)}\n")
        kinds = [f"`{kind}`" for kind in sorted(summary.kinds)]
        named = "all kinds" if set(summary.kinds) == set(KINDS) else f"the {'kind' if len(kinds) == 1 else 'kinds'} {_joined(kinds)}"
        parts.append(f"\nThis table is computed from events of {named}.\n\n    {example(summary)}\n")
    return "".join(parts)


def _schema(summary: Summary) -> str:
    """Return the columns with their types, in order."""
    return "; ".join(
        f"{', '.join(f'**{field.name}**' if field.name in summary.keys else field.name for field in fields)} ({kind})"
        for kind, fields in itertools.groupby(summary.schema.fields, lambda field: field.dataType.simpleString())
    )


def example(summary: Summary) -> str:
    """Return Python code that shows the worst rows of a table."""
    table = f'summary(events, "{summary.name}")'
    if not summary.worst:
        return f"{table}.show()"
    column = summary.worst[0]
    if column in RANKS:
        return f"{table}.where(\"{column} = '{RANKS[column][-1]}'\").show()"
    return f'{table}.orderBy("{column.removeprefix(LEAST)}", ascending={column.startswith(LEAST)}).show()'


def _order(worst: Sequence[str]) -> str:
    """Return a sentence about the order of the worst rows."""
    columns = [f"`{name.removeprefix(LEAST)}` (lowest first)" if name.startswith(LEAST) else f"`{name}`" for name in worst]
    return f"If the output shows only the worst rows, it sorts them by {_joined(columns)}, worst first."


def _joined(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) < 2 else f"{', '.join(names[:-1])}{',' if len(names) > 2 else ''} and {names[-1]}"


def main() -> None:
    """Write SUMMARIES.md."""
    DOCUMENT.write_text(document(), encoding="utf-8")


if __name__ == "__main__":
    main()
