"""The pictures of the tables of groups, services, and the audit."""

from __future__ import annotations

from typing import Any

import pytest

from spark_reports.output import html
from spark_reports.output.bar_charts import ROWS, Segment, bar_chart
from spark_reports.output.group_charts import BARS, LANES, lanes
from spark_reports.output.pictures import pictures
from spark_reports.tables.result import Report, Result

HOSTILE = "<script>alert(1)</script>"
END = 10_000_000


def result(name: str, rows: list[dict[str, Any]]) -> Result:
    return Result(name, name, "", tuple(rows[0]), [tuple(row.values()) for row in rows])


def owner(client: str, start: int, stop: int, partition: int = 0) -> dict[str, Any]:
    return {
        "session": HOSTILE,
        "group": HOSTILE,
        "topic": HOSTILE,
        "partition": partition,
        "client": client,
        "from_us": start,
        "to_us": stop,
    }


MOVE = {"session": HOSTILE, "group": HOSTILE, "number": 1, "from_us": 0, "lasts_us": 3, "outcome": "stable", "reason": HOSTILE}
LATE = {"session": HOSTILE, "worker": HOSTILE, "p50_late_us": -5, "p95_late_us": 3, "p99_late_us": 3, "max_late_us": 2_000_000}
WHERE = {"session": HOSTILE, "group": HOSTILE, "topic": HOSTILE, "partition": 0}
TABLES = [
    result("sessions", [{"session": HOSTILE, "release": "4.1", "events": 5, "end_us": END}]),
    result("groups", [{"session": HOSTILE, "group": HOSTILE}]),
    result("rebalances", [MOVE]),
    result("group_lag", [WHERE | {"lag": 3}]),
    result("deliveries", [WHERE | {"once": None, "twice": 2, "half": 0, "never": 7}]),
    result("delays", [LATE]),
    result("retries", [{"session": HOSTILE, "worker": HOSTILE, "number": 1, "succeeded": 3, "failed": 0}]),
    result(
        "traces",
        [
            {
                "session": HOSTILE,
                "topic": HOSTILE,
                "partition": 0,
                "offset": 7,
                "number": number,
                "why": "lost",
                "step": step,
                "node": HOSTILE,
            }
            | {"at_us": number * 1_000, "event": number, "cause": 0}
            for number, step in enumerate(["appended", "copied", *["committed"] * 30, "lost"], start=1)
        ],
    ),
    result("audit", [{"session": HOSTILE, "topic": HOSTILE, "bucket_us": 0, "tier": tier, "records": 9} for tier in ("acked", "lost")]),
]
DRAWN = [
    result("owners", [owner(HOSTILE, 0, END // 2), owner("", END // 2, END)]),
    result("lag_curves", [WHERE | {"at_us": at, "lag": at - 3, "max_lag": at} for at in range(9)]),
]


def test_each_table_has_its_picture() -> None:
    found = pictures(Report(TABLES, {}, DRAWN))
    assert found.keys() == {"groups", "group_lag", "deliveries", "delays", "retries", "audit", "traces"}
    page = html.render(Report(TABLES, {}, DRAWN))
    for picture in found.values():
        assert picture in page
        assert "<script" not in picture, "names are text"
    assert page.count('class="patterns"') == 1
    assert pictures(Report(TABLES)) == {}, "a report without charts has no pictures"


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("groups", "no running consumer has the partition, 5s to 10s"),
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
    assert words in pictures(Report(TABLES, {}, DRAWN))[table]


def test_a_lost_record_is_not_also_kept() -> None:
    assert "acknowledged and kept</title>" not in pictures(Report(TABLES, {}, DRAWN))["audit"]


def test_there_are_not_too_many_bars() -> None:
    rows = [owner(f"c{number % 3}", number, number + 1, partition) for partition in range(LANES + 5) for number in range(BARS + 5)]
    drawn = lanes("g", rows, [], BARS + 5)
    assert drawn.count("<rect") == LANES * BARS
    assert f"{LANES} of {LANES + 5}" in drawn
    chart = bar_chart("x", [("row", [Segment("l0", 1, "1", "one")])] * (ROWS + 1), str)
    assert chart.count("<rect") == ROWS
    assert f"{ROWS} of {ROWS + 1} rows" in chart
    assert bar_chart("x", [("row", [Segment("l0", 0, "0", "none")])], str) == ""
