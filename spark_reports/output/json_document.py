"""A report as one JSON document: `{"isrlab": "report", "version": 1, "totals": …, "tables": …, "summaries": {name: [row, …]}}`, times in µs.

`totals` has the figures of all sessions together, over all rows. `tables` says for each table how many `rows` it has and how many are
`shown`; where these are fewer they are the worst, and `order` has the columns by which (a leading `-`: the smallest is the worst).
"""

from __future__ import annotations

from typing import Final

import msgspec

from spark_reports.tables.result import Report

VERSION: Final = 1
"""Of the document; a change that could break a reader raises it."""


def render(report: Report) -> str:
    """The document, indented, with a line break at its end."""
    summaries = {result.name: [dict(zip(result.columns, row, strict=True)) for row in result.rows] for result in report.tables}
    tables = {
        result.name: {"rows": result.count, "shown": len(result.rows)} | ({"order": result.worst} if result.more else {})
        for result in report.tables
    }
    document = {"isrlab": "report", "version": VERSION, "totals": report.totals, "tables": tables, "summaries": summaries}
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"
