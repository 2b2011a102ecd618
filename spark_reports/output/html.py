"""A report as one self-contained HTML file, without network access, other files, or a server. Charts are inline SVG.

The first screen says what happened (`incident`); then come the time axis (`axis`), the causes of the harm, and the tables, those about harm first.

The content security policy of the page allows only its scripts (by hash) and its style sheet, and forbids loading anything else. Names
from a log are always escaped, and unprintable characters in them are replaced by visible escape sequences. Without JavaScript, the curves, sorting,
filtering, zoom, and the switch between dark and light do not work, and dark or light mode follows the settings of the reader's system.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

import attrs
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from core.sim.units import format_duration
from scenarios.io.escaping import escape_value
from spark_reports.output import svg_charts
from spark_reports.output.axis import axis, chains
from spark_reports.output.axis import data as axis_data
from spark_reports.output.cell_text import ALARM_COLUMNS, cell_text, heading
from spark_reports.output.d3 import d3
from spark_reports.output.incident import NOTICE, Harm, Incident, client_harms, harms
from spark_reports.output.pictures import pictures
from spark_reports.tables.comparison import MOST, for_people
from spark_reports.tables.result import Report, Result

ROWS: Final = 300
"""The maximum number of rows that the page shows for each table. The Parquet files contain all rows."""

RANKED: Final = 20
"""The maximum number of sessions in the ranking on the first screen."""

CURVES: Final = 24
"""The maximum number of high watermark charts for each session."""

_HERE: Final = Path(__file__).parent

Rows = list[Mapping[str, Any]]


@functools.cache
def _template() -> Template:
    """Return the template of the page. It escapes every value, and makes unprintable characters visible."""

    def visible(value: object) -> object:
        return escape_value(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    environment = Environment(loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, finalize=visible)
    return environment.get_template("page.html.j2")


def render(report: Report, reload_seconds: float = 0) -> str:
    """Return the report as an HTML page.

    Args:
        reload_seconds: the interval at which the page loads itself again, because its sessions are still running; 0 if they are not.
    """
    sessions = next(result for result in report.tables if result.name == "sessions")
    incidents = _incidents(report, sessions)
    found = harms(report, incidents)
    charts = _charts(report, sessions, incidents)
    drawn = pictures(report)
    scripts = [(_HERE / "page.js").read_text(encoding="utf-8")]
    data = ""
    if charts and d3():
        scripts = [d3(), (_HERE / "axis.js").read_text(encoding="utf-8"), *scripts]
        # No name can end the element: `<` is written as an escape sequence of JSON.
        data = json.dumps([axis_data(incident) for incident in incidents], separators=(",", ":")).replace("<", "\\u003c")
    allowed = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts)
    shown = [result.cut(ROWS) for result in for_people(report.tables)]
    full = sorted((result for result in shown if result.rows), key=lambda result: _grade(result, found))
    several = len(incidents) > 1
    story = next((result for result in report.drawn if result.name == "story"), None)
    return _template().render(
        about=_session_words(sessions),
        allowed=Markup(allowed),
        style=Markup((_HERE / "page.css").read_text(encoding="utf-8")),
        cards=_cards(report, found),
        present={result.name for result in report.tables if result.rows},
        sentences=incidents[0].sentences() if incidents else [],
        worst=incidents[0].session if several else "",
        targets={result.name for result in report.tables} | ({"charts"} if charts else set()) | {"causes"},
        account=(
            f"The account is made from the first {len(story.rows):,} of {story.count:,} events that could matter."
            if story is not None and story.more
            else ""
        ),
        ranking=_ranking(report, incidents),
        notices=report.notices,
        reload_seconds=f"{reload_seconds:g}" if reload_seconds else "",
        patterns=Markup(svg_charts.patterns()) if charts or drawn else "",
        charts=Markup(charts),
        causes=[
            (incident.session if several else "", number, Markup(chain))
            for number, incident in enumerate(incidents)
            if (chain := chains(incident, number))
        ],
        tables=[_table(result, drawn.get(result.name, ""), calm=_grade(result, found)[0] > 1) for result in full],
        empty=[result for result in shown if not result.rows],
        data=Markup(data),
        scripts=[Markup(script) for script in scripts],
    )


def _incidents(report: Report, sessions: Result) -> list[Incident]:
    """Return the accounts of the sessions that have a chart, the worst session first."""
    charted = {str(row["session"]) for result in report.drawn for row in _rows(result)}
    overview = next((result for result in report.tables if result.name == "overview"), sessions)
    return [Incident(report, str(row["session"]), row["end_us"]) for row in _rows(overview) if row["session"] in charted]


def _grade(result: Result, found: Sequence[Harm]) -> tuple[int, int]:
    """Return how early a table comes: 0 or 1 if it is about faults or harm, and more if it is not."""
    about = [harm.table for harm in found]
    if result.name == "faults":
        return 0, -1
    if result.name in about:
        return 0, about.index(result.name)
    alarming = {index for index, column in enumerate(result.columns) if column in ALARM_COLUMNS}
    if any(row[index] for row in result.rows for index in alarming):
        return 1, 0
    return (3 if result.name in ("sessions", "settings", "event_kinds") else 2), 0


def _rows(result: Result) -> Rows:
    return [dict(zip(result.columns, row, strict=True)) for row in result.rows]


def _session_words(sessions: Result) -> str:
    if sessions.count != 1:
        return f"{sessions.count:,} sessions"
    (one,) = _rows(sessions)
    events = f"{one['events']:,} event{'' if one['events'] == 1 else 's'}"
    return f"{escape_value(one['session'])}, release {escape_value(one['release'])}, {events} in {format_duration(one['end_us'])}"


# --- the first screen ------------------------------------------------------------------------------------------------


@attrs.frozen
class Card:
    """A figure on the first screen: its value, what it is, the table that shows more, and a mark: `!` for harm, `✓` for no harm."""

    figure: str
    words: str
    table: str
    mark: str = ""

    @property
    def look(self) -> str:
        """The CSS class of the card."""
        return {"!": "bad", "✓": "well"}.get(self.mark, "")


def _cards(report: Report, found: Sequence[Harm]) -> list[Card]:
    """Return the harms, each once, and the most important other figures. All of them are computed from all rows."""
    figures = report.totals
    if not figures:
        return []
    present = {result.name for result in report.tables if result.rows}
    cards = [Card(harm.figure, harm.words, harm.table, "!") for harm in found]
    if not found:
        cards.append(Card("No harm", "to clients: nothing was lost, and nobody had to wait", "records", "✓"))
    elif not figures.get("records_lost"):
        cards.append(Card("0", "records lost", "records", "✓"))

    def count(name: str, words: str, one: str, table: str) -> None:
        value = figures.get(name) or 0
        cards.append(Card(f"{value:,}", one if value == 1 else words, table))

    count("records_acknowledged", "records acknowledged", "record acknowledged", "records")
    unclean = figures.get("unclean") or 0
    count(
        "elections",
        f"leaders elected{f', {unclean:,} unclean' if unclean else ''}",
        f"leader elected{', unclean' if unclean else ''}",
        "elections",
    )
    if "group_lag" in present:
        most = (
            f"; earlier, up to {figures['max_group_lag']:,} in one partition"
            if (figures.get("max_group_lag") or 0) > (figures.get("group_lag") or 0)
            else ""
        )
        count(
            "group_lag", f"records of lag over all groups at the end{most}", f"record of lag over all groups at the end{most}", "group_lag"
        )
    if "groups" in present:
        count("rebalances", "rebalances", "rebalance", "groups")
    return cards


def _ranking(report: Report, incidents: Sequence[Incident]) -> dict[str, Any]:
    """Return the sessions in the order of their harm, with their worst figures and their accounts, if there are several sessions."""
    overview = next((result for result in report.tables if result.name == "overview"), None)
    if overview is None or overview.count < 2:
        return {}
    accounts = {incident.session: incident.sentences() for incident in incidents[1:]}
    items = []
    for row in _rows(overview)[:RANKED]:
        felt = [
            f"{cell_text(name, row[name])} {words}"
            for name, words in (
                ("records_lost", "records lost" if row.get("records_lost") != 1 else "record lost"),
                ("records_diverged", "offsets diverged"),
                ("longest_no_writes_us", "without writes"),
                ("longest_stalled_us", "stalled"),
            )
            if (row.get(name) or 0) > (NOTICE if name.endswith("_us") else 0)
        ]
        felt += [f"{harm.figure} {harm.words}" for harm in client_harms(row)]
        items.append((str(row["session"]), ", ".join(felt) or "no harm", accounts.get(row["session"], [])))
    table = "overview" if overview.count > MOST else "comparison"
    return {"heading": f"{overview.count:,} sessions, the worst first", "sessions": items, "table": table}


# --- charts --------------------------------------------------------------------------------------------------------


def _charts(report: Report, sessions: Result, incidents: Sequence[Incident]) -> str:
    """Return the time axes of the worst sessions, worst first, or nothing if there is no data for charts."""
    drawn = {result.name: sorted(_rows(result), key=_place) for result in report.drawn if result.name in _DRAWN}
    if not drawn.get("timeline"):
        return ""
    shown = len({(row["session"], row["topic"], row["partition"]) for row in drawn["timeline"]})
    parts = ['<section id="charts"><h2>One time axis</h2>']
    parts.append(
        '<p class="notes">Above, the acts and the nodes; then the partitions, the worst first, each with three stripes: its leader, its ISR as the controller knows it, and '
        "the operations that its clients cannot perform. In the third stripe, a bar starts as soon as the leader is gone, even if the controller has not noticed this yet.</p>"
    )
    if shown < report.partitions:
        parts.append(
            f'<p class="notes">The charts show {shown:,} of {report.partitions:,} partitions: in the worst sessions, those that lost '
            "records or were unavailable for the longest time.</p>"
        )
    for result in report.drawn:
        if result.more and result.name in _DRAWN:
            parts.append(
                f'<p class="notes">The charts show only the {len(result.rows):,} worst of {result.count:,} {_DRAWN[result.name]}.</p>'
            )
    parts.append(svg_charts.legend(drawn["timeline"], drawn.get("unavailability", [])))
    for number, incident in enumerate(incidents):
        of = {name: [row for row in rows if row["session"] == incident.session] for name, rows in drawn.items()}
        if not of["timeline"]:
            continue
        if sessions.count > 1:
            parts.append(f"<h3>{escape(escape_value(incident.session))}</h3>")
        if short := svg_charts.joined(of["timeline"]):
            parts.append(
                f'<p class="notes">{short:,} short bars are omitted, harmless ones first. The preceding bar covers the time of an omitted bar.</p>'
            )
        parts.append(axis(incident, of.get("unavailability", []), number))
        parts.append(_curves(of.get("curves", []), of.get("held", []), incident.end))
    parts.append("</section>\n")
    return "".join(parts)


_DRAWN: Final = {"timeline": "states", "curves": "points", "unavailability": "windows", "held": "last stable offsets"}


def _place(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["session"], row["topic"], row["partition"], row.get("from_us", row.get("at_us", 0))


def _curves(rows: Sequence[Mapping[str, Any]], held: Sequence[Mapping[str, Any]], end_us: int) -> str:
    """Return charts of the high watermarks of the partitions with the most records, with the last stable offsets below them."""
    of: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for row in rows:
        of.setdefault((row["topic"], row["partition"]), []).append(row)
    if not of:
        return ""
    most = sorted(of, key=lambda where: (-max(row["log_end"] or 0 for row in of[where]), where))[:CURVES]
    stable: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for row in held:
        stable.setdefault((row["topic"], row["partition"]), []).append(row)
    figures = (
        f"<figure>{svg_charts.curve(of[where], end_us, stable.get(where, []))}<figcaption>{escape(escape_value(f'{where[0]}-{where[1]}'))}</figcaption></figure>"
        for where in sorted(most)
    )
    words = "High watermark (line) and log end (dashed) of the leader, in records"
    if any(where in stable for where in most):
        words += "; last stable offset while transactions held it back (thick)"
    if len(of) > CURVES:
        words += f"; the {CURVES} longest of {len(of):,} logs"
    return f'<p class="notes">{words}.</p><div class="curves">{"".join(figures)}</div>'


# --- tables --------------------------------------------------------------------------------------------------------


@attrs.frozen
class Cell:
    """A cell of a table: its text, its CSS classes, and the number that it is sorted by if its text is not that number."""

    text: str
    look: str
    sorts: int | None


@attrs.frozen
class Table:
    """A table of the page. A calm table is not about harm; it is not printed. `cut` says which rows are shown, if not all of them are."""

    name: str
    title: str
    notes: str
    picture: Markup
    calm: bool
    cut: str
    headings: Sequence[tuple[str, bool]]
    rows: Sequence[Sequence[Cell]]


def _table(result: Result, picture: str, calm: bool) -> Table:
    # The first table already shows the name of a single session.
    first = 1 if result.name != "sessions" and result.columns[0] == "session" and len({row[0] for row in result.rows}) == 1 else 0
    columns, rows = result.columns[first:], [row[first:] for row in result.rows]
    numbers = [any(isinstance(row[i], int) and not isinstance(row[i], bool) for row in rows) for i in range(len(columns))]

    def cells(row: tuple[object, ...]) -> list[Cell]:
        meanings = [result.meaning(index, row) for index in range(len(row))][first:]
        values = (heading(row[0]), *row[1:]) if result.by_row else row[first:]
        return [_cell(*cell) for cell in zip(meanings, values, numbers, strict=True)]

    headings = [(heading(column), number) for column, number in zip(columns, numbers, strict=True)]
    cut = result.shown() if result.more else ""
    return Table(result.name, result.title, result.notes, Markup(picture), calm, cut, headings, [cells(row) for row in result.rows])


def _cell(column: str, value: object, number: bool) -> Cell:
    shown = cell_text(column, value)
    looks = [*(["n"] if number else []), *(["alarm"] if value and column in ALARM_COLUMNS else [])]
    sorts = None
    if number and shown != str(value) and (value is None or isinstance(value, int)):
        sorts = -1 if value is None else int(value)
    return Cell(shown, " ".join(looks), sorts)
