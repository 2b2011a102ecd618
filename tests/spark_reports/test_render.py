"""Finished tables on the terminal and as JSON."""

from __future__ import annotations

import io
import json

from spark_reports.render import as_json, terminal
from spark_reports.render.result import Result

RECORDS = Result(
    name="records",
    title="Records by partition",
    notes="",
    columns=("session", "topic", "partition", "acks", "lost", "offline_us"),
    rows=[("s", "[bold]orders[/]", 1000, -1, 12345, 1_500_000), ("s", "a\x1b[31m\nb", 2, 1, 0, 0)],
)


def rendered(*results: Result) -> str:
    out = io.StringIO()
    terminal.render(results, out)
    return out.getvalue()


def test_numbers_times_and_names_are_shown_as_people_write_them() -> None:
    text = rendered(RECORDS)
    rows = [line.split() for line in text.splitlines()]
    assert ["topic", "partition", "acks", "lost", "offline"] in rows
    assert ["[bold]orders[/]", "1000", "all", "12,345", "1.5s"] in rows
    assert ["a\\x1b[31m\\nb", "2", "1", "0", "0s"] in rows


def test_no_escape_codes_where_there_is_no_terminal() -> None:
    assert "\x1b" not in rendered(RECORDS)


def test_the_session_is_a_column_as_soon_as_there_are_two() -> None:
    two = Result("records", "Records", "", ("session", "topic", "lost"), [("s1", "a", 1), ("s2", "a", 2)])
    assert "session" in rendered(two)
    assert "session" not in rendered(RECORDS)


def test_empty_and_cut_tables_say_so() -> None:
    assert "none" in rendered(Result("errors", "Errors by code", "", ("session", "error"), []))
    assert "and 1,900 more rows; -o DIR writes all of them" in rendered(Result("r", "R", "", ("session", "n"), [("s", 1)], more=1900))


def test_in_a_pipe_a_row_is_a_line() -> None:
    name = "t" * 249
    assert [name, "1"] in [
        line.split() for line in rendered(Result("r", "R", "", ("session", "topic", "n"), [("s", name, 1)])).splitlines()
    ]


def test_json_keeps_raw_values() -> None:
    document = json.loads(as_json.render([RECORDS]))
    assert document["isrlab"] == "report"
    assert document["summaries"]["records"][1] == {
        "session": "s", "topic": "a\x1b[31m\nb", "partition": 2, "acks": 1, "lost": 0, "offline_us": 0,
    }  # fmt: skip
