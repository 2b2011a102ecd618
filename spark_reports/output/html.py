"""A report as one self-contained HTML file, without network access, other files, or a server. Charts are inline SVG.

The first screen says what happened (`incident`); then come the time axis (`axis`), the causes of the harm, and the tables, those about harm first.

The content security policy of the page allows only its scripts (by hash) and its style sheet, and forbids loading anything else. Names
from a log are always escaped, and unprintable characters in them are replaced by visible escape sequences. Without JavaScript, the curves, sorting,
filtering, zoom, and the switch between dark and light do not work, and dark or light mode follows the settings of the reader's system.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

from core.sim.units import format_duration
from scenarios.io.escaping import escape_value
from spark_reports.output import svg_charts
from spark_reports.output.axis import axis, chains
from spark_reports.output.axis import data as axis_data
from spark_reports.output.cell_text import ALARM_COLUMNS, cell_text, heading
from spark_reports.output.d3 import d3
from spark_reports.output.incident import NOTICE, Harm, Incident, harms
from spark_reports.output.pictures import pictures
from spark_reports.tables.comparison import MOST, for_people
from spark_reports.tables.result import Report, Result

ROWS: Final = 300
"""The maximum number of rows that the page shows for each table. The Parquet files contain all rows."""

RANKED: Final = 20
"""The maximum number of sessions in the ranking on the first screen."""

CURVES: Final = 24
"""The maximum number of high watermark charts for each session."""

_NUMBER: Final = ' class="n" data-n'
_HARM: Final = ' class="harm"'
_CALM: Final = ' class="calm"'
_HERE: Final = Path(__file__).parent

Rows = list[Mapping[str, Any]]


def render(report: Report) -> str:
    """Return the report as an HTML page."""
    style = (_HERE / "page.css").read_text(encoding="utf-8")
    scripts = [(_HERE / "page.js").read_text(encoding="utf-8")]
    shown = [result.cut(ROWS) for result in for_people(report.tables)]
    sessions = next(result for result in report.tables if result.name == "sessions")
    title = f"isrlab report: {_session_words(sessions)}"
    incidents = _incidents(report, sessions)
    found = harms(report, incidents)
    charts = _charts(report, sessions, incidents)
    drawn = pictures(report)
    full, empty = _by_severity(shown, found)
    targets = [("charts", "Time axis")] if charts else []
    targets += [(result.name, result.title) for result in full]
    links = "".join(f'<a href="#{escape(to)}">{escape(words)}</a>' for to, words in targets)
    data = ""
    if charts and d3():
        scripts = [d3(), (_HERE / "axis.js").read_text(encoding="utf-8"), *scripts]
        # No name can end the element: `<` is written as an escape sequence of JSON.
        found_data = json.dumps([axis_data(incident) for incident in incidents], separators=(",", ":")).replace("<", "\\u003c")
        data = f'<script type="application/json" id="axis-data">{found_data}</script>\n'
    allowed = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts)
    return "".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; ",
            f"script-src {allowed}; img-src data:; base-uri 'none'; form-action 'none'\">\n",
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="data:,">\n',
            f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n",
            f'<header><h1>isrlab report</h1><span>{escape(_session_words(sessions))}</span><button id="theme" type="button">dark / light</button>',
            "</header>\n<main>\n",
            _happened(report, incidents, found),
            *(f'<p class="notice">{escape(escape_value(notice))}</p>\n' for notice in report.notices),
            f"<details><summary>All {len(shown)} tables</summary><nav>{links}</nav></details>\n",
            svg_charts.patterns() if charts or drawn else "",
            charts,
            _causes(incidents),
            *(_section(result, drawn.get(result.name, ""), calm=_grade(result, found)[0] > 1) for result in full),
            _empty(empty),
            "</main>\n",
            data,
            *(f"<script>{script}</script>\n" for script in scripts),
            "</body>\n</html>\n",
        )
    )


def _incidents(report: Report, sessions: Result) -> list[Incident]:
    """Return the accounts of the sessions that have a chart, the worst session first."""
    charted = {str(row["session"]) for result in report.drawn for row in _rows(result)}
    overview = next((result for result in report.tables if result.name == "overview"), sessions)
    return [Incident(report, str(row["session"]), row["end_us"]) for row in _rows(overview) if row["session"] in charted]


def _by_severity(tables: Sequence[Result], found: Sequence[Harm]) -> tuple[list[Result], list[Result]]:
    """Return the tables with rows, faults and harm first, and the empty tables."""
    full = sorted((result for result in tables if result.rows), key=lambda result: _grade(result, found))
    return full, [result for result in tables if not result.rows]


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


def _empty(tables: Sequence[Result]) -> str:
    """Return the tables without rows, folded."""
    if not tables:
        return ""
    items = "".join(f'<li id="{escape(result.name)}">{escape(result.title)}: none</li>' for result in tables)
    words = "table is" if len(tables) == 1 else "tables are"
    return (
        f'<details class="empty"><summary>{len(tables)} {words} empty: nothing of that kind happened</summary><ul>{items}</ul></details>\n'
    )


def _rows(result: Result) -> Rows:
    return [dict(zip(result.columns, row, strict=True)) for row in result.rows]


def _session_words(sessions: Result) -> str:
    if sessions.count != 1:
        return f"{sessions.count:,} sessions"
    (one,) = _rows(sessions)
    events = f"{one['events']:,} event{'' if one['events'] == 1 else 's'}"
    return f"{escape_value(one['session'])}, release {escape_value(one['release'])}, {events} in {format_duration(one['end_us'])}"


# --- the first screen ------------------------------------------------------------------------------------------------


def _happened(report: Report, incidents: Sequence[Incident], found: Sequence[Harm]) -> str:
    """Return what happened: the harms, the account of the worst session, and the other sessions in a line each."""
    parts = [_cards(report, found)]
    present = {result.name for result in report.tables} | {"charts", "causes"}
    if incidents:
        worst = incidents[0]
        several = f" in {escape(escape_value(worst.session))}, the worst session" if len(incidents) > 1 else ""
        lines = []
        for one in worst.sentences():
            target = "charts" if one.target == "axis" else one.target
            label = f'<a href="#{target}">{escape(one.label)}</a>' if one.label and target in present else escape(one.label)
            more = f' <a class="more" href="#{target}">more</a>' if not one.label and target in present else ""
            lines.append(f"<dt>{label}</dt><dd{_HARM if one.harm else ''}>{escape(escape_value(one.text))}{more}</dd>")
        more = "".join(
            f'<p class="notes">The account is made from the first {len(result.rows):,} of {result.count:,} events that could matter.</p>'
            for result in report.drawn
            if result.name == "story" and result.more
        )
        parts.append(f'<section id="happened"><h2>What happened{several}</h2><dl>{"".join(lines)}</dl>{more}</section>\n')
    return "".join(parts) + _other_sessions(report)


def _cards(report: Report, found: Sequence[Harm]) -> str:
    """Return the harms, each once, and the most important other figures. All of them are computed from all rows."""
    figures = report.totals
    if not figures:
        return ""
    present = {result.name for result in report.tables if result.rows}
    cards = [_card(harm.figure, harm.words, harm.table, "!", present) for harm in found]
    if not found:
        cards.append(_card("No harm", "to clients: nothing was lost, and nobody had to wait", "records", "✓", present))
    elif not figures.get("records_lost"):
        cards.append(_card("0", "records lost", "records", "✓", present))

    def count(name: str, words: str, one: str, table: str) -> None:
        value = figures.get(name) or 0
        cards.append(_card(f"{value:,}", one if value == 1 else words, table, "", present))

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
    return f'<ul class="cards">{"".join(cards)}</ul>\n'


def _card(figure: str, words: str, table: str, mark: str, present: set[str]) -> str:
    look = {"!": ' class="bad"', "✓": ' class="well"'}.get(mark, "")
    link = f'<a href="#{table}">{escape(escape_value(words))}</a>' if table in present else escape(escape_value(words))
    return f"<li{look}><b>{f'<i>{mark}</i>' if mark else ''}{escape(figure)}</b><span>{link}</span></li>"


def _other_sessions(report: Report) -> str:
    """Return the sessions in the order of their harm, with their worst figures, if there are several sessions."""
    overview = next((result for result in report.tables if result.name == "overview"), None)
    if overview is None or overview.count < 2:
        return ""
    items = []
    for row in _rows(overview)[:RANKED]:
        felt = [
            f"{cell_text(name, row[name])} {words}"
            for name, words in (
                ("records_lost", "records lost"),
                ("records_diverged", "offsets diverged"),
                ("longest_no_writes_us", "without writes"),
                ("longest_stalled_us", "stalled"),
                ("batches_given_up", "batches given up"),
                ("transactions_hanging", "hanging transactions"),
                ("records_never_delivered", "records never processed"),
            )
            if (row.get(name) or 0) > (NOTICE if name.endswith("_us") else 0)
        ]
        items.append(f"<li><b>{escape(escape_value(str(row['session'])))}</b>: {escape(', '.join(felt) or 'no harm')}</li>")
    table = "overview" if overview.count > MOST else "comparison"
    return (
        f'<section id="ranking"><h2>{overview.count:,} sessions, the worst first</h2><ol>{"".join(items)}</ol>'
        f'<p class="notes">The figures at the top cover all sessions. <a href="#{table}">Compare all sessions</a>.</p></section>\n'
    )


def _causes(incidents: Sequence[Incident]) -> str:
    """Return the chains of causes of all sessions."""
    found = [(number, incident, drawn) for number, incident in enumerate(incidents) if (drawn := chains(incident, number))]
    if not found:
        return ""
    parts = [
        '<section id="causes"><h2>What led to each harm</h2><p class="notes">The first harm of each kind and partition, and the events that led to it, the first cause first. '
        "A bar shows when a step happened, between the first cause and the harm.</p>"
    ]
    for number, incident, drawn in found:
        name = f"<h3>{escape(escape_value(incident.session))}</h3>" if len(incidents) > 1 else ""
        parts.append(f'{name}<div data-of="axis-{number}">{drawn}</div>')
    return "".join(parts) + "</section>\n"


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


def _section(result: Result, picture: str, calm: bool) -> str:
    """Return a table with its title, its notes, its picture, and a filter. A calm table is not about harm; it is not printed."""
    head = f'<section id="{escape(result.name)}"{_CALM if calm else ""}><h2>{escape(result.title)}</h2>'
    about = f'<details class="about"><summary>About this table</summary><p class="notes">{_marked(result.notes)}</p></details>'
    notes = (about if result.notes else "") + picture
    if not result.rows:
        return f"{head}{notes}<p>none</p></section>\n"
    # The first table already shows the name of a single session.
    first = 1 if result.name != "sessions" and result.columns[0] == "session" and len({row[0] for row in result.rows}) == 1 else 0
    columns, rows = result.columns[first:], [row[first:] for row in result.rows]
    name = f"t-{result.name}"
    numbers = [any(isinstance(row[i], int) and not isinstance(row[i], bool) for row in rows) for i in range(len(columns))]
    headings = "".join(
        f'<th scope="col"{_NUMBER if number else ""}><button type="button">{escape(heading(column))}</button></th>'
        for column, number in zip(columns, numbers, strict=True)
    )

    def cells(row: tuple[object, ...]) -> str:
        meanings = [result.meaning(index, row) for index in range(len(row))][first:]
        values = (heading(row[0]), *row[1:]) if result.by_row else row[first:]
        return "".join(_cell(*cell) for cell in zip(meanings, values, numbers, strict=True))

    body = "".join(f"<tr>{cells(row)}</tr>\n" for row in result.rows)
    search = (
        f'<div class="filter"><input type="search" placeholder="filter rows" aria-label="Filter {escape(result.title)}" data-table="{escape(name)}">'
        '<span class="count" role="status"></span></div>'
    )
    cut = f'<p class="notes cut">{escape(result.shown())}</p>' if result.more else ""
    return (
        f'{head}{notes}{cut}{search if len(rows) > 1 else ""}<div class="scroll"><table id="{escape(name)}"><thead><tr>{headings}</tr></thead>'
        f"<tbody>\n{body}</tbody></table></div></section>\n"
    )


def _marked(notes: str) -> str:
    """Return notes as HTML, with names between backticks formatted as code."""
    return "".join(f"<code>{escape(part)}</code>" if number % 2 else escape(part) for number, part in enumerate(notes.split("`")))


def _cell(column: str, value: object, number: bool) -> str:
    shown = cell_text(column, value)
    looks = [*(["n"] if number else []), *(["alarm"] if value and column in ALARM_COLUMNS else [])]
    attributes = f' class="{" ".join(looks)}"' if looks else ""
    # The value that a number is sorted by, if it differs from the shown text.
    if number and shown != str(value):
        attributes += f' data-v="{-1 if value is None else int(value)}"' if value is None or isinstance(value, int) else ""
    return f"<td{attributes}>{escape(shown)}</td>"
