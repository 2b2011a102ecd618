"""A report as one JSON document. Times are in µs.

The form is `{"isrlab": "report", "version": 1, "totals": …, "notices": …, "tables": …, "summaries": {name: [row, …]}}`.

`totals` contains the figures for all sessions together, computed from all rows. `notices` says what the report leaves out of the sessions. For each table, `tables` contains the number of `rows` and
the number of rows that are `shown`. If there are more rows than can be shown, only the worst rows are shown. `order` names the columns by
which the rows are sorted to find the worst ones. A leading `-` in the name of a column means that the smallest value is the worst.
"""

from __future__ import annotations

from typing import Final

import msgspec

from spark_reports.tables.result import Report

VERSION: Final = 1
"""The version of the document. The version increases with each change that can break a program that reads the document."""


def render(report: Report) -> str:
    """Return the document, indented, with a newline at the end."""
    summaries = {result.name: [dict(zip(result.columns, row, strict=True)) for row in result.rows] for result in report.tables}
    tables = {
        result.name: {"rows": result.count, "shown": len(result.rows)} | ({"order": result.worst} if result.more else {})
        for result in report.tables
    }
    document = {
        "isrlab": "report",
        "version": VERSION,
        "totals": report.totals,
        "notices": report.notices,
        "tables": tables,
        "summaries": summaries,
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"
