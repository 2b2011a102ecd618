"""Finished tables on the terminal and as JSON."""

from __future__ import annotations

import io
import json
from pathlib import Path

from spark_reports.render import as_csv, as_json, comparison, html, terminal
from spark_reports.render.progress import Progress
from spark_reports.render.result import Report, Result

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


def several(lost: int, latency: int) -> list[Result]:
    """What is compared of two sessions, the second without loss and quick."""
    tables = {name: Result(name, "", "", ("session", "x"), []) for name, _ in comparison.MEASURES.values()}
    tables["sessions"] = Result(
        "sessions", "Sessions", "", ("session", "release", "end_us", "events"), [("a", "2.8", 5_000_000, 10), ("b", "4.1", 5_000_000, 9)]
    )
    columns = ("session", "acknowledged", "lost", "lost_acknowledged", "lost_read", "recovered", "duplicated", "diverged")
    rows = [("a", 10, lost, lost, 0, 0, 0, 0), ("a", 5, 1, 0, 1, 0, 0, 0), ("b", 15, 0, 0, 0, 0, 0, 0)]
    tables["records"] = Result("records", "", "", columns, rows)
    tables["produce_latency"] = Result("produce_latency", "", "", ("session", "p50_us", "p99_us"), [("a", 2, latency), ("b", 2, 7)])
    return list(tables.values())


def test_sessions_side_by_side() -> None:
    compared = comparison.compare(several(lost=3, latency=1_500))
    assert compared is not None
    assert compared.columns == ("measure", "a (2.8)", "b (4.1)", "differs")
    rows = {row[0]: row[1:] for row in compared.rows}
    assert rows["records_lost"] == (4, 0, True)
    assert rows["records_acknowledged"] == (15, 15, False)
    assert rows["produce_p99_us"] == (1_500, 7, True)
    shown = [line.split() for line in rendered(compared).splitlines()]
    assert ["produce", "p99", "1.5ms", "7us", "yes"] in shown
    assert ["end", "5s", "5s", "no"] in shown
    assert 'produce p99</td><td class="n" data-v="1500">1.5ms' in html.render(Report([several(0, 0)[0], compared]))


def test_one_session_is_not_compared() -> None:
    tables = several(0, 0)
    tables[0] = tables[0].cut(1)
    assert comparison.compare([Result("sessions", "", "", ("session", "release"), [("a", "4.1")]), *tables[1:]]) is None


def test_csv_has_raw_values(tmp_path: Path) -> None:
    as_csv.write([RECORDS, Result("one", "", "", ("a", "b"), [(None, True)])], tmp_path)
    assert (tmp_path / "one.csv").read_text() == "a,b\n,true\n"
    assert (tmp_path / "records.csv").read_bytes().decode().splitlines()[1] == "s,[bold]orders[/],1000,-1,12345,1500000"


def test_progress_says_nothing_if_it_is_to_be_quiet() -> None:
    out = io.StringIO()
    Progress(out, quiet=True)("reading")
    assert out.getvalue() == ""
    Progress(out, quiet=False)("reading")
    assert out.getvalue() == "reading\n"
