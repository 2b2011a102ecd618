"""Tests SUMMARIES.md, the page that defines the tables."""

from __future__ import annotations

import re

from spark_reports.summaries.registry import SUMMARIES
from spark_reports.summaries_doc import DOCUMENT, document, example


def test_the_document_is_in_step_with_the_summaries() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(), "run: python -m spark_reports.summaries_doc"


def test_each_table_has_its_schema_a_definition_and_an_example() -> None:
    """The rest of `document` is made from the same declarations."""
    sections = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", document(), re.MULTILINE | re.DOTALL))
    for summary in SUMMARIES:
        text = sections[summary.title]
        columns = re.search(rf"The table `{summary.name}` has the columns (.*)\.\n", text)
        assert columns is not None
        listed = [(name.strip("* "), kind) for names, kind in re.findall(r"([^();]+) \((\w+)\)", columns[1]) for name in names.split(",")]
        assert listed == [(field.name, field.dataType.simpleString()) for field in summary.schema.fields]
        assert len(summary.notes) > 40
        assert text.rstrip().endswith(f"\n    {example(summary)}")
        used = re.search(r'(?:orderBy|where)\("(\w+)', example(summary))
        assert used is None or used[1] in summary.schema.names
