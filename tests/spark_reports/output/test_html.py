"""The HTML report: one self-contained file in which names have no effect. It is checked as text and, if a browser is installed, in the
browser.
"""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from spark_reports.output import html, svg_charts
from spark_reports.tables.result import Report, Result
from tests.spark_reports.output.browser import browser, chromium, pixels

HOSTILE = "<script>alert(1)</script>"
IMAGE = '"><img src="http://evil.example/x" onerror="alert(2)">'

SESSIONS = Result(
    "sessions", "Sessions", "", ("session", "release", "events", "end_us", "ended"), [(HOSTILE, "4.1", 100_000, 60_000_000, True)]
)
RECORDS = Result(
    "records",
    "Records by partition",
    "`lost`: acknowledged & <gone>.",
    ("session", "topic", "partition", "acknowledged", "lost"),
    [(HOSTILE, HOSTILE, 0, 900, 7), (HOSTILE, "orders", 1, 10_000, 0), (HOSTILE, IMAGE, 2, 20, 0), (HOSTILE, "a\x1b\u202eb", 3, 100, 0)],
)
WINDOWS = Result(
    "unavailability",
    "Windows",
    "",
    ("session", "topic", "partition", "what", "why", "from_us", "to_us", "lasts_us"),
    [(HOSTILE, HOSTILE, 0, "writes", "no leader", 20_000_000, 31_000_000, 11_000_000)],
)
STATES = ("session", "topic", "partition", "isr", "state", "leader", "from_us", "to_us", "min_isr")
TIMELINE = Result(
    "timeline",
    "",
    "",
    STATES,
    [
        (HOSTILE, HOSTILE, 0, "1,2,3", "in sync", 1, 0, 20_000_000, 2),
        (HOSTILE, HOSTILE, 0, "1", "offline", -1, 20_000_000, 31_000_000, 2),
        (HOSTILE, HOSTILE, 0, "2", "under min", 2, 31_000_000, 60_000_000, 2),
        (HOSTILE, IMAGE, 2, "3,1", "in sync", 3, 0, 60_000_000, 2),
    ],
)
CURVES = Result(
    "curves",
    "",
    "",
    ("session", "topic", "partition", "at_us", "log_end", "high_watermark"),
    [(HOSTILE, HOSTILE, 0, at * 1_000_000, at * 10, at * 10 - 5 if at % 2 else None) for at in range(60)],
)
REPORT = Report([SESSIONS, RECORDS, WINDOWS], {"records_lost": 7}, [TIMELINE, CURVES, WINDOWS], partitions=90)


class _Tags(HTMLParser):
    """A parser that counts elements, and collects attributes that could load or run something."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[str, int] = {}
        self.active: list[tuple[str, str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.active += [(tag, name, value) for name, value in attrs if name in ("src", "href", "action") or name.startswith("on")]


def test_names_are_text_and_nothing_is_loaded() -> None:
    page = html.render(REPORT)
    tags = _Tags()
    tags.feed(page)
    assert tags.counts["script"] == 4, "D3, the script of the axis, its data, and the script of the page"
    assert "img" not in tags.counts
    assert all(name == "href" and (value or "").startswith(("#", "data:,")) for _, name, value in tags.active)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert page.count("<tr>") == 3 + 1 + 4 + 1
    assert "The charts show 2 of 90 partitions" in page
    assert "<code>lost</code>: acknowledged &amp; &lt;gone&gt;." in page


def test_a_report_without_charts_or_rows_is_a_page() -> None:
    page = html.render(Report([SESSIONS, Result("records", "Records", "", ("session", "topic"), [])]))
    assert "none" in page
    assert "<svg" not in page


def test_the_page_stays_small_whatever_happened() -> None:
    """The report has 60 partitions that flap all the time, and tables with a thousand rows. No session with 10^5 events can cause a larger
    page.
    """
    states = [
        ("s", f"topic-{p}", p, "1,2,3", "in sync" if n % 2 else "under min", n % 3, n * 300_000, (n + 1) * 300_000, 2)
        for p in range(60)
        for n in range(200)
    ]
    curves = [("s", f"topic-{p}", p, n * 500_000, n * 100, n * 100 - 1) for p in range(60) for n in range(120)]
    windows = [("s", f"topic-{p}", p, "writes", "no leader", n * 600_000, n * 600_000 + 9, 9) for p in range(60) for n in range(100)]
    table = [("s", f"topic-{p}", p, 10**9, 0) for p in range(1_000)]
    many = [Result(f"records{n}", "Records", "", RECORDS.columns, table) for n in range(11)]
    report = Report(
        [Result("sessions", "Sessions", "", SESSIONS.columns, [("s", "4.1", 100_000, 60_000_000, True)]), *many],
        {},
        [
            Result("timeline", "", "", STATES, states),
            Result("curves", "", "", CURVES.columns, curves),
            Result("unavailability", "", "", WINDOWS.columns, windows),
        ],
    )
    page = html.render(report)
    assert len(page.encode()) < 2_000_000
    assert page.count("<rect") <= svg_charts.SEGMENTS + 100
    assert "short bars are omitted, harmless ones first" in page


# --- in a browser --------------------------------------------------------------------------------------------------

PROBE = """
window.alerted = 0;
window.alert = () => { window.alerted += 1; };
addEventListener("load", () => {
  const table = document.getElementById("t-records");
  const order = () => Array.from(table.tBodies[0].rows).filter((row) => !row.hidden).map((row) => Number(row.cells[1].textContent));
  const press = (column) => table.tHead.rows[0].cells[column].querySelector("button").click();
  const found = { start: order() };
  press(2); found.up = order();
  press(2); found.down = order();
  found.sorted = table.tHead.rows[0].cells[2].getAttribute("aria-sort");
  const field = document.querySelector("input[data-table=t-records]");
  field.value = "ORD"; field.dispatchEvent(new Event("input")); found.filtered = order();
  found.count = field.nextElementSibling.textContent;
  const paper = () => getComputedStyle(document.body).backgroundColor;
  found.paper = paper();
  document.getElementById("theme").click(); found.other = paper();
  found.loaded = performance.getEntriesByType("resource").map((entry) => entry.name);
  found.scripts = document.scripts.length;
  found.images = document.images.length;
  found.bars = Array.from(document.querySelectorAll(".timeline rect"), (bar) => bar.getBoundingClientRect().width);
  found.wide = document.documentElement.scrollWidth > innerWidth;
  found.alerted = window.alerted;
  document.body.innerHTML = "<pre id=found></pre>";
  document.getElementById("found").textContent = "FOUND" + JSON.stringify(found) + "END";
});
"""


@browser
@pytest.mark.slow
def test_in_a_browser_the_page_works_loads_nothing_and_runs_nobody_elses_script(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(html.render(REPORT), encoding="utf-8")
    shot, traffic = tmp_path / "shot.png", tmp_path / "net.json"
    opened = chromium(tmp_path, page, f"--screenshot={shot}", f"--log-net-log={traffic}")
    assert "CONSOLE" not in opened.stderr, opened.stderr
    assert "evil.example" not in traffic.read_text(encoding="utf-8", errors="replace")
    width, size, lines = pixels(shot.read_bytes())
    colors = {line[i : i + size] for line in lines[::2] for i in range(0, width * size, size)}
    assert len(colors) > 50

    # The same page with a probe that is allowed to run.
    probed = tmp_path / "probed.html"
    text = re.sub(r"script-src '[^;]*'", "script-src 'unsafe-inline'", page.read_text(encoding="utf-8"))
    probed.write_text(text.replace("<style>", f"<script>{PROBE}</script>\n<style>", 1), encoding="utf-8")
    dumped = chromium(tmp_path, probed, "--dump-dom", "--virtual-time-budget=2000")
    match = re.search(r'<pre id="found">FOUND(.*)END</pre>', dumped.stdout)
    assert match, dumped.stdout[-2000:]
    found: dict[str, Any] = json.loads(match[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    assert found["start"] == [0, 1, 2, 3]
    assert found["up"] == [2, 3, 0, 1], "by acknowledged: 20, 100, 900, 10,000"
    assert found["down"] == [1, 0, 3, 2]
    assert found["sorted"] == "descending"
    assert (found["filtered"], found["count"]) == ([1], "1 of 4")
    assert {found["paper"], found["other"]} == {"rgb(255, 255, 255)", "rgb(20, 23, 27)"}
    assert (found["loaded"], found["images"], found["alerted"], found["scripts"]) == ([], 0, 0, 5)
    assert not found["wide"]
    assert len(found["bars"]) == 8 + 3, "the bars of two partitions, and of three brokers that run all the time"
    assert all(bar > 10 for bar in found["bars"])
