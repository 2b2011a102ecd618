"""A report as one HTML file that needs nothing else: no network, no other file, no server; charts are in it as SVG.

The page's own content security policy allows its one script, by its hash, and its style sheet; nothing may be loaded. Names
from a log are text everywhere: escaped, with characters that do not print spelled out. Without JavaScript everything is
there but sorting, filtering and the switch between dark and light, which otherwise follows the reader's system.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

from core.units import format_duration
from scenarios.visible import visible
from spark_reports.render import svg
from spark_reports.render.result import Report, Result
from spark_reports.render.terminal import ALARMS, heading, text_of

ROWS: Final = 300
"""Rows of a table in the page; Parquet has all of them."""

CURVES: Final = 24
"""High watermark charts of a session at most."""

_BAD: Final = ' class="bad"'
_NUMBER: Final = ' class="n" data-n'
_HERE: Final = Path(__file__).parent

Rows = list[Mapping[str, Any]]


def render(report: Report) -> str:
    """The page."""
    style = (_HERE / "page.css").read_text(encoding="utf-8")
    script = (_HERE / "page.js").read_text(encoding="utf-8")
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    tables = {result.name: result for result in report.tables}
    sessions = _rows(tables["sessions"])
    title = f"isrlab report: {_session_words(sessions)}"
    charts = _charts(report, sessions)
    targets = [("charts", "Charts")] if charts else []
    targets += [(result.name, result.title) for result in report.tables]
    links = "".join(f'<a href="#{escape(to)}">{escape(words)}</a>' for to, words in targets)
    return "".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; ",
            f"script-src 'sha256-{allowed}'; img-src data:; base-uri 'none'; form-action 'none'\">\n",
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="data:,">\n',
            f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n",
            f'<header><h1>isrlab report</h1><span>{escape(_session_words(sessions))}</span><button id="theme" type="button">dark / light</button>',
            f"<nav>{links}</nav></header>\n<main>\n",
            _cards(tables),
            charts,
            *(_section(result) for result in report.tables),
            f"</main>\n<script>{script}</script>\n</body>\n</html>\n",
        )
    )


def _rows(result: Result) -> Rows:
    return [dict(zip(result.columns, row, strict=True)) for row in result.rows]


def _session_words(sessions: Rows) -> str:
    if len(sessions) != 1:
        return f"{len(sessions)} sessions"
    one = sessions[0]
    events = f"{one['events']:,} event{'' if one['events'] == 1 else 's'}"
    return f"{visible(one['session'])}, release {visible(one['release'])}, {events} in {format_duration(one['end_us'])}"


# --- what a reader must not overlook -------------------------------------------------------------------------------


def _cards(tables: Mapping[str, Result]) -> str:
    """The few figures that decide: lost records, elections, unavailability."""

    def total(table: str, column: str) -> int:
        return sum(row[column] for row in _rows(tables[table])) if table in tables else 0

    def longest(what: str) -> int:
        windows = _rows(tables["unavailability"]) if "unavailability" in tables else []
        return max((row["lasts_us"] for row in windows if row["what"] == what), default=0)

    cut = any(result.more or len(result.rows) > ROWS for result in tables.values())
    figures: list[tuple[str, str, bool]] = [
        (f"{total('records', 'acknowledged'):,}", "records acknowledged", False),
        (f"{(lost := total('records', 'lost')):,}", "acknowledged records lost", lost > 0),
        (f"{total('elections', 'elections'):,}", "leaders elected", False),
        (f"{(unclean := total('elections', 'unclean')):,}", "of them unclean", unclean > 0),
        (format_duration(reads := longest("reads")), "longest without reads", reads > 0),
        (format_duration(writes := longest("writes")), "longest without acks=all writes", writes > 0),
    ]
    cards = "".join(f"<li{_BAD if bad else ''}><b>{escape(figure)}</b><span>{escape(words)}</span></li>" for figure, words, bad in figures)
    note = '<p class="notes">Some tables are cut; these figures are of the rows below.</p>' if cut else ""
    return f'<ul class="cards">{cards}</ul>{note}\n'


# --- charts --------------------------------------------------------------------------------------------------------


def _charts(report: Report, sessions: Rows) -> str:
    """Every session's charts, as far as there is something to draw."""
    drawn = {result.name: _rows(result) for result in report.drawn}
    if not drawn.get("timeline"):
        return ""
    shown = len({(row["session"], row["topic"], row["partition"]) for row in drawn["timeline"]})
    parts = ['<section id="charts"><h2>Leaders, ISR and availability</h2>']
    parts.append(
        '<p class="notes">Each partition has three stripes: who leads; its ISR, where it is not whole; and when it could not be read, or not '
        "written with acks=all, counted from the moment the leader was gone. Point at a bar to read what it says.</p>"
    )
    if shown < report.partitions:
        parts.append(f'<p class="notes">{shown:,} of {report.partitions:,} partitions are drawn: those that had the most trouble.</p>')
    if any(result.more for result in report.drawn):
        parts.append('<p class="notes">Too much happened to draw all of it: the charts are not complete, the tables are.</p>')
    parts.append(svg.legend(drawn["timeline"]))
    for session in sessions:
        of = {name: [row for row in rows if row["session"] == session["session"]] for name, rows in drawn.items()}
        if not of["timeline"]:
            continue
        if len(sessions) > 1:
            parts.append(f"<h3>{escape(visible(session['session']))}</h3>")
        parts.append(f"<figure>{svg.timeline(of['timeline'], of.get('unavailability', []), session['end_us'])}</figure>")
        parts.append(_curves(of.get("curves", []), session["end_us"]))
    parts.append("</section>\n")
    return "".join(parts)


def _curves(rows: Sequence[Mapping[str, Any]], end_us: int) -> str:
    """High watermarks of the partitions with the most records."""
    of: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for row in rows:
        of.setdefault((row["topic"], row["partition"]), []).append(row)
    if not of:
        return ""
    most = sorted(of, key=lambda where: (-max(row["log_end"] or 0 for row in of[where]), where))[:CURVES]
    figures = (
        f"<figure>{svg.curve(of[where], end_us)}<figcaption>{escape(visible(f'{where[0]}-{where[1]}'))}</figcaption></figure>"
        for where in sorted(most)
    )
    words = "High watermark (line) and log end (dashed) of the leader, in records"
    if len(of) > CURVES:
        words += f"; the {CURVES} longest of {len(of):,} logs"
    return f'<p class="notes">{words}.</p><div class="curves">{"".join(figures)}</div>'


# --- tables --------------------------------------------------------------------------------------------------------


def _section(result: Result) -> str:
    """A table with its title, what its columns mean, and a field to filter it."""
    head = f'<section id="{escape(result.name)}"><h2>{escape(result.title)}</h2>'
    notes = f'<p class="notes">{_marked(result.notes)}</p>' if result.notes else ""
    if not result.rows:
        return f"{head}{notes}<p>none</p></section>\n"
    more = result.more + max(0, len(result.rows) - ROWS)
    # With a single session its name says nothing; it stands in the first table already.
    first = 1 if result.name != "sessions" and result.columns[0] == "session" and len({row[0] for row in result.rows}) == 1 else 0
    columns, rows = result.columns[first:], [row[first:] for row in result.rows[:ROWS]]
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

    body = "".join(f"<tr>{cells(row)}</tr>\n" for row in result.rows[:ROWS])
    search = (
        f'<div class="filter"><input type="search" placeholder="filter rows" aria-label="Filter {escape(result.title)}" data-table="{escape(name)}">'
        '<span class="count" role="status"></span></div>'
    )
    cut = f'<p class="notes">and {more:,} more rows; -o DIR writes all of them</p>' if more else ""
    return (
        f'{head}{notes}{search if len(rows) > 1 else ""}<div class="scroll"><table id="{escape(name)}"><thead><tr>{headings}</tr></thead>'
        f"<tbody>\n{body}</tbody></table></div>{cut}</section>\n"
    )


def _marked(notes: str) -> str:
    """Notes with the names between backticks set apart."""
    return "".join(f"<code>{escape(part)}</code>" if number % 2 else escape(part) for number, part in enumerate(notes.split("`")))


def _cell(column: str, value: object, number: bool) -> str:
    shown = text_of(column, value)
    looks = [*(["n"] if number else []), *(["alarm"] if value and column in ALARMS else [])]
    attributes = f' class="{" ".join(looks)}"' if looks else ""
    # What a number sorts by, where that is not what is shown.
    if number and shown != str(value):
        attributes += f' data-v="{-1 if value is None else int(value)}"' if value is None or isinstance(value, int) else ""
    return f"<td{attributes}>{escape(shown)}</td>"
