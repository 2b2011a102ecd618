"""Tests SUMMARIES.md, the page that defines the tables."""

from __future__ import annotations

from spark_reports.summaries_doc import DOCUMENT, document


def test_the_document_is_in_step_with_the_summaries() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(), "run: python -m spark_reports.summaries_doc"
