"""Writes SUMMARIES.md, the definition of every table of a report, from the summaries: `python -m spark_reports.summaries_doc`. A test holds the two in step."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from spark_reports.summaries import SUMMARIES

DOCUMENT: Final = Path(__file__).with_name("SUMMARIES.md")
"""Where the document stands."""

_HEAD: Final = """# The tables of a report

<!-- Written by `python -m spark_reports.summaries_doc` from spark_reports/summaries. -->

Each table answers one question about one or more sessions; `isrlab report` prints them, and `--json`, `-o DIR` (Parquet, or `--csv`) and
`--html FILE` have them too. A column that ends in `_us` is a time in µs of virtual time. Percentiles are exact: nearest ranks, always
values that occurred. Rows are sorted by the columns in **bold**, which tell them apart. A session that was killed ends with its last
event. An independent pass in plain Python gives the same tables in the tests.
"""


def document() -> str:
    """The text of SUMMARIES.md."""
    parts = [_HEAD]
    for summary in SUMMARIES:
        columns = ", ".join(f"**{field.name}**" if field.name in summary.keys else field.name for field in summary.schema.fields)
        parts.append(f"\n## {summary.title}\n\n`{summary.name}`: {columns}\n\n{summary.notes}\n")
        parts.append(f"\nMade from: {', '.join(f'`{kind}`' for kind in sorted(summary.kinds))}.\n")
    return "".join(parts)


def main() -> None:
    """Write the document."""
    DOCUMENT.write_text(document(), encoding="utf-8")


if __name__ == "__main__":
    main()
