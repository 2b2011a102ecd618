"""The pictures above the tables of groups, services, and the audit."""

from __future__ import annotations

import pytest

from spark_reports.output import html
from spark_reports.output.bar_charts import ROWS, Segment, bar_chart
from spark_reports.output.group_charts import BARS, LANES, lanes
from spark_reports.output.pictures import pictures
from spark_reports.tables.result import Report
from tests.spark_reports.output.pages import owner, result, tables_with_pictures

HOSTILE = "<script>alert(1)</script>"
END = 10_000_000


TABLES, DRAWN = tables_with_pictures(HOSTILE, END)
SESSIONS = result("sessions", [{"session": HOSTILE, "release": "4.1", "events": 5, "end_us": END}])
REPORT = Report([SESSIONS, *TABLES], {}, DRAWN)


def test_each_table_has_its_picture() -> None:
    found = pictures(REPORT)
    assert found.keys() == {"groups", "group_lag", "deliveries", "delays", "retries", "audit", "traces"}
    page = html.render(REPORT)
    for picture in found.values():
        assert picture in page
        assert "<script" not in picture, "names are text"
    assert page.count('class="patterns"') == 1
    assert pictures(Report([SESSIONS, *TABLES])) == {}, "a report without charts has no pictures"


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("groups", "no running consumer owns the partition, 5s to 10s"),
        ("groups", "rebalance 1, stable"),
        ("deliveries", "7 records never"),
        ("delays", "max: 2s late"),
        ("retries", "3 records succeeded"),
        ("traces", "<b>copied</b> &lt;script&gt;alert(1)&lt;/script&gt; <i>+1ms</i>"),
        ("traces", "9 more steps"),
        ("audit", "9 records acknowledged and lost"),
    ],
)
def test_the_text_under_the_pointer(table: str, words: str) -> None:
    assert words in pictures(REPORT)[table]


def test_a_lost_record_is_not_also_kept() -> None:
    assert "acknowledged and kept</title>" not in pictures(REPORT)["audit"]


def test_there_are_not_too_many_bars() -> None:
    rows = [owner("s", f"c{number % 3}", number, number + 1, partition) for partition in range(LANES + 5) for number in range(BARS + 5)]
    drawn = lanes("g", rows, [], BARS + 5)
    assert drawn.count("<rect") == LANES * BARS
    assert f"{LANES} of {LANES + 5}" in drawn
    chart = bar_chart("x", [("row", [Segment("l0", 1, "1", "one")])] * (ROWS + 1), str)
    assert chart.count("<rect") == ROWS
    assert f"{ROWS} of {ROWS + 1} rows" in chart
    assert bar_chart("x", [("row", [Segment("l0", 0, "0", "none")])], str) == ""
