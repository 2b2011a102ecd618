"""A report as one JSON document: `{"isrlab": "report", "version": 1, "summaries": {name: [row, …]}}`, times in µs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from spark_reports.render.result import Result

VERSION: Final = 1
"""Of the document; a change that could break a reader raises it."""


def render(results: Sequence[Result]) -> str:
    """The document, indented, with a line break at its end."""
    summaries = {result.name: [dict(zip(result.columns, row, strict=True)) for row in result.rows] for result in results}
    document = {"isrlab": "report", "version": VERSION, "summaries": summaries}
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"
