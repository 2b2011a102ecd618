"""Finished tables on the terminal and as JSON."""

from __future__ import annotations

import io
import json
import re
from html import unescape
from pathlib import Path

import attrs

from spark_reports.output import html, json_document, svg_charts, terminal
from spark_reports.output.progress import Progress
from spark_reports.rows.schema import SESSION_SHOWN
from spark_reports.summaries.overview import FIGURES
from spark_reports.tables import comparison, csv_files
from spark_reports.tables.result import Report, Result

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
    assert "1 of 1,901 rows: the first rows; -o DIR writes all rows" in rendered(
        Result("r", "R", "", ("session", "n"), [("s", 1)], more=1900)
    )


def test_in_a_pipe_a_row_is_a_line() -> None:
    name = "t" * 249
    assert [name, "1"] in [
        line.split() for line in rendered(Result("r", "R", "", ("session", "topic", "n"), [("s", name, 1)])).splitlines()
    ]


def test_json_keeps_raw_values() -> None:
    document = json.loads(json_document.render(Report([RECORDS], {"records_lost": 12345})))
    assert document["isrlab"] == "report"
    assert (document["totals"], document["tables"]) == ({"records_lost": 12345}, {"records": {"rows": 2, "shown": 2}})
    assert document["summaries"]["records"][1] == {
        "session": "s", "topic": "a\x1b[31m\nb", "partition": 2, "acks": 1, "lost": 0, "offline_us": 0,
    }  # fmt: skip


def two(lost: int, latency: int) -> tuple[Result, Result]:
    """Return two sessions and their overview. The second session has no losses and low latency."""
    sessions = Result("sessions", "Sessions", "", ("session", "release", "events"), [("a", "2.8", 10), ("b", "4.1", 9)])
    columns = ("session", "end_us", "records_acknowledged", "records_lost", "produce_p99_us")
    rows = [("b", 5_000_000, 15, 0, 7), ("a", 5_000_000, 15, lost, latency)]
    return sessions, Result("overview", "Sessions, worst first", "", columns, rows)


def test_sessions_side_by_side() -> None:
    compared = comparison.compare(*two(lost=4, latency=1_500))
    assert compared is not None
    assert compared.columns == ("measure", "a (2.8)", "b (4.1)", "differs")
    rows = {row[0]: row[1:] for row in compared.rows}
    assert rows["records_lost"] == (4, 0, True)
    assert rows["records_acknowledged"] == (15, 15, False)
    assert rows["produce_p99_us"] == (1_500, 7, True)
    shown = [line.split() for line in rendered(compared).splitlines()]
    assert ["produce", "p99", "1.5ms", "7us", "yes"] in shown
    assert ["end", "5s", "5s", "no"] in shown
    assert 'produce p99</td><td class="n" data-v="1500">1.5ms' in html.render(Report([two(0, 0)[0], compared]))


def test_one_session_is_not_compared_nor_are_nine() -> None:
    sessions, overview = two(0, 0)
    assert comparison.compare(attrs.evolve(sessions, rows=sessions.rows[:1]), overview) is None
    assert comparison.compare(attrs.evolve(sessions, more=7), overview) is None


def test_a_table_is_cut_to_its_worst_rows() -> None:
    columns = ("topic", "state", "lost", "idle")
    rows = [("a", "offline", 0, 50), ("b", "at min", None, 10), ("c", "under min", 3, 90), ("d", "offline", 0, 20), ("e", "in sync", 3, 90)]
    table = Result("t", "T", "", columns, rows)
    for worst, order in {
        ("lost",): "cea",
        ("state",): "adc",
        ("lost", "state"): "cea",
        ("-idle",): "bda",
        ("state", "-idle"): "dac",
    }.items():
        cut = attrs.evolve(table, worst=worst).cut(3)
        assert ("".join(str(row[0]) for row in cut.rows), cut.more, cut.count) == (order, 2, 5), worst
        assert cut.cut(2).rows == cut.rows[:2]
    assert table.cut(5) is table
    assert attrs.evolve(table, worst=("lost", "-idle")).cut(3).shown() == (
        "3 of 5 rows: the worst by lost, then idle, lowest first; -o DIR writes all rows"
    )


def test_csv_has_raw_values(tmp_path: Path) -> None:
    csv_files.write("one", ("a", "b"), [(None, True)], tmp_path, 10)
    assert (tmp_path / "one.csv").read_text() == "a,b\n,true\n"
    csv_files.write(RECORDS.name, RECORDS.columns, RECORDS.rows, tmp_path, 10)
    assert (tmp_path / "records.csv").read_bytes().decode().splitlines()[1] == "s,[bold]orders[/],1000,-1,12345,1500000"


def test_a_long_csv_goes_on_in_further_files_and_a_shorter_one_leaves_none_behind(tmp_path: Path) -> None:
    csv_files.write("t", ("n",), [(n,) for n in range(5)], tmp_path, 2)
    assert {path.name: path.read_text().split() for path in tmp_path.iterdir()} == {
        "t.csv": ["n", "0", "1"], "t-2.csv": ["n", "2", "3"], "t-3.csv": ["n", "4"],
    }  # fmt: skip
    (tmp_path / "t-4.csv").write_text("of earlier output")
    csv_files.remove_earlier_parts(tmp_path, {"t.csv", "t-2.csv", "t-3.csv"})
    assert csv_files.names_in(tmp_path) == {"t.csv", "t-2.csv", "t-3.csv"}
    csv_files.write("t", ("n",), [], tmp_path, 2)
    csv_files.remove_earlier_parts(tmp_path, {"t.csv"})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"t.csv": "n\n"}


def test_progress_says_nothing_if_it_is_to_be_quiet() -> None:
    out = io.StringIO()
    Progress(out, quiet=True)("reading")
    assert out.getvalue() == ""
    Progress(out, quiet=False)("reading")
    assert out.getvalue() == "reading\n"


def test_what_a_session_kept_from_its_clients_is_on_the_first_screen_of_a_terminal() -> None:
    """This also holds for a terminal of 80 columns and 24 lines."""
    columns = tuple(SESSION_SHOWN)
    sessions = Result("sessions", "Sessions", "", columns, [("kill", "4.3", 0, "kill-one", 8_286, 60_000_000, True, False)])
    figures = {"stalled_us": 14_756_000, "longest_stalled_us": 7_378_000, "batches_unanswered": 249}
    overview = Result("overview", "", "", ("session", *FIGURES), [("kill", *(figures.get(name, 0) for name in FIGURES))])
    screen = rendered(*comparison.for_people([sessions, overview])).splitlines()[:23]
    assert any(line.split() == ["stalled", "14.756s"] for line in screen)
    assert any(line.split() == ["longest", "stalled", "7.378s"] for line in screen)
    assert any(line.split() == ["batches", "unanswered", "249"] for line in screen)


def test_a_curve_shows_where_transactions_held_back_the_last_stable_offset() -> None:
    points = [{"at_us": 0, "log_end": 10, "high_watermark": 0}, {"at_us": 100, "log_end": None, "high_watermark": 10}]
    held = [{"from_us": 25, "to_us": 50, "offset": 5}, {"from_us": 75, "to_us": 100, "offset": 10}]
    plain, chart = (
        json.loads(unescape(re.findall(r'data-curve="([^"]*)"', svg)[0]))
        for svg in (svg_charts.curve(points, 100), svg_charts.curve(points, 100, held))
    )
    steps = [["leo", [[[0, 10], [100, 10]]]], ["hw", [[[0, 0], [100, 10], [100, 10]]]]]
    assert plain == {"end": 100, "top": 10, "lines": steps}
    assert chart == {"end": 100, "top": 10, "lines": [*steps, ["lso", [[[25, 5], [50, 5]], [[75, 10], [100, 10]]]]]}
