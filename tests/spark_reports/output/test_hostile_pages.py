"""Names in logs are text in the page of a report, whatever they contain: a real browser neither runs them nor makes elements of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs
import pytest

from spark_reports.output import html
from spark_reports.tables.result import Report, Result
from tests.spark_reports.output import pages
from tests.spark_reports.output.browser import browser
from tests.spark_reports.output.devtools import opened

pytestmark = [browser, pytest.mark.browser]

HOSTILE = (
    "<script>window.hacked=1</script>",
    "</script><script>window.hacked=1</script>",
    '"><img src=x onerror="window.hacked=1">',
    "'><img src=x onerror='window.hacked=1'>",
    "</style></title></textarea><svg onload=window.hacked=1>",
    "<!-- <script>window.hacked=1</script>",
    "';window.hacked=1;//",
    "${window.hacked=1}`;window.hacked=1",
    "javascript:window.hacked=1",
    "&lt;b&gt; &amp;amp; &#60;i&#62;",
    "<a href=javascript:window.hacked=1>x</a>",
    "]]><x:script xmlns:x='http://www.w3.org/1999/xhtml'>window.hacked=1</x:script>",
    "__proto__",
    "constructor",
)

ELEMENTS = """Object.entries(Array.from(document.querySelectorAll("*"), (e) => e.tagName + (Array.from(e.attributes).some((a) => a.name.startsWith("on"))
  ? " with a handler" : "")).reduce((all, name) => ({...all, [name]: (all[name] || 0) + 1}), Object.create(null))).sort()"""
"""The number of elements of each kind in the page."""

ACTIVE = ("A", "BASE", "FORM", "IFRAME", "IMG", "LINK", "META", "OBJECT", "SCRIPT", "STYLE", "TITLE")
"""The kinds of elements that do more than show text. How many pictures there are also depends on the order of the names."""


def renamed(report: Report, name: str) -> Report:
    """Return a report in which the names of the session and of each topic are `name` and a number."""
    names: dict[object, str] = {}

    def results(several: Iterable[Result]) -> list[Result]:
        return [
            attrs.evolve(one, rows=[tuple(cell(column, value) for column, value in zip(one.columns, row, strict=True)) for row in one.rows])
            for one in several
        ]

    def cell(column: str, value: Any) -> Any:
        if column not in ("session", "topic", "group", "client", "worker", "scenario", "producer", "transactional_id", "node") or not value:
            return value
        return names.setdefault(value, f"{name} {len(names)}")

    return attrs.evolve(report, tables=results(report.tables), drawn=results(report.drawn))


async def test_hostile_names_are_text(tmp_path: Path) -> None:
    async with opened(tmp_path / "profile") as page:

        async def shown(name: str) -> Any:
            path = tmp_path / "page.html"
            path.write_text(html.render(renamed(pages.report(), name)), encoding="utf-8")
            await page.go(path)
            return await page.value(ELEMENTS)

        plain = await shown("plain")
        for name in HOSTILE:
            now = await shown(name)
            assert {kind for kind, _ in now} == {kind for kind, _ in plain}, name
            assert [each for each in now if each[0] in ACTIVE] == [each for each in plain if each[0] in ACTIVE], name
            # What hides in pieces of the page that open only at a click runs as well if it ever does.
            await page.value(
                "document.querySelectorAll('summary, button, th, [tabindex]').forEach((e) => e.dispatchEvent(new MouseEvent('click', {bubbles: true})))"
            )
            assert await page.value("[typeof window.hacked, typeof ({}).hacked]") == ["undefined", "undefined"], name
            assert await page.value(f"document.body.textContent.includes({json.dumps(name)})"), name
