"""A report as one JSON document: `{"isrlab": "report", "version": 1, "totals": …, "tables": …, "summaries": {name: [row, …]}}`, with
times in µs.

`totals` has the figures of all sessions together, over all rows. For each table, `tables` says how many `rows` it has and how many are
`shown`. If fewer are shown, they are the worst, and `order` names the columns that decide (a leading `-`: the smallest value is the
worst).
"""

from __future__ import annotations

from typing import Final

import msgspec

from spark_reports.tables.result import Report

VERSION: Final = 1
"""The version of the document. It increases with a change that can break a reader."""


def render(report: Report) -> str:
    """The document, indented, with a line break at the end."""
    summaries = {result.name: [dict(zip(result.columns, row, strict=True)) for row in result.rows] for result in report.tables}
    tables = {
        result.name: {"rows": result.count, "shown": len(result.rows)} | ({"order": result.worst} if result.more else {})
        for result in report.tables
    }
    document = {"isrlab": "report", "version": VERSION, "totals": report.totals, "tables": tables, "summaries": summaries}
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"
