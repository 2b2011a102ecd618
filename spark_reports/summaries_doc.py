"""Writes SUMMARIES.md, the definition of every table of a report, from the summaries: `python -m spark_reports.summaries_doc`. A test holds the two in step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from spark_reports.severity import LEAST
from spark_reports.summaries.overview import FIGURES, NAME, NOTES, TITLE, WORST
from spark_reports.summaries.registry import SUMMARIES

DOCUMENT: Final = Path(__file__).with_name("SUMMARIES.md")
"""Where the document stands."""

_HEAD: Final = """# The tables of a report

<!-- Written by `python -m spark_reports.summaries_doc` from spark_reports/summaries. -->

Each table answers one question about one or more sessions; `isrlab report` prints them, and `--json`, `-o DIR` (Parquet, or `--csv`) and
`--html FILE` have them too. A column that ends in `_us` is a time in µs of virtual time. Percentiles are exact: nearest ranks, always
values that occurred. Rows are sorted by the columns in **bold**, which tell them apart. A session that was killed ends with its last
event. An independent pass in plain Python gives the same tables in the tests.

Of a table with many rows the terminal shows 100, the HTML page 300, JSON 10,000: the worst, by the columns named as *worst first*, the
first one first. What shows them says how many rows there are. Files have all rows: a table of more than 200,000 rows is written in
several. The figures at the head of the page, `totals` in JSON, are those of the overview below for all sessions together: they are
computed over every row, whatever is shown.
"""


def document() -> str:
    """The text of SUMMARIES.md."""
    measures = ", ".join(FIGURES)
    made_of = "\n".join(
        f"| {name} | {'greatest' if each.worst else 'sum'} of `{each.value}` | {each.table} |" for name, each in FIGURES.items()
    )
    parts = [_HEAD, f"\n## {TITLE}\n\n`{NAME}`: **session**, {measures}\n\n{NOTES}\n\nWorst first: {_worst(WORST)}.\n"]
    parts.append(f"\n| figure | made of each row | of table |\n|---|---|---|\n{made_of}\n")
    for summary in SUMMARIES:
        columns = ", ".join(f"**{field.name}**" if field.name in summary.keys else field.name for field in summary.schema.fields)
        parts.append(f"\n## {summary.title}\n\n`{summary.name}`: {columns}\n\n{summary.notes}\n")
        parts.append(f"\nWorst first: {_worst(summary.worst)}.\n")
        parts.append(f"\nMade from: {', '.join(f'`{kind}`' for kind in sorted(summary.kinds))}.\n")
    return "".join(parts)


def _worst(columns: Sequence[str]) -> str:
    return ", ".join(f"{name.removeprefix(LEAST)} (the least)" if name.startswith(LEAST) else name for name in columns)


def main() -> None:
    """Write the document."""
    DOCUMENT.write_text(document(), encoding="utf-8")


if __name__ == "__main__":
    main()
