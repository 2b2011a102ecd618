"""A report as one self-contained HTML file, without network access, other files, or a server. Charts are inline SVG.

The content security policy of the page allows only its one script (by hash) and its style sheet, and forbids loading anything else. Names
from a log are always escaped, and unprintable characters in them are replaced by visible escape sequences. Without JavaScript, sorting,
filtering, and the switch between dark and light do not work, and dark or light mode follows the settings of the reader's system.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

from core.kafka.health import HELD_BOUND
from core.sim.units import format_duration
from scenarios.io.escaping import escape_value
from spark_reports.output import svg_charts
from spark_reports.output.cell_text import ALARM_COLUMNS, cell_text, heading
from spark_reports.output.pictures import pictures
from spark_reports.tables.comparison import MOST, for_people
from spark_reports.tables.result import Report, Result

ROWS: Final = 300
"""The maximum number of rows that the page shows for each table. The Parquet files contain all rows."""

ALWAYS: Final = 4
"""The number of figures that the page shows even if they are zero: those about lost records and blocked clients."""

CURVES: Final = 24
"""The maximum number of high watermark charts for each session."""

_NUMBER: Final = ' class="n" data-n'
_HERE: Final = Path(__file__).parent

Rows = list[Mapping[str, Any]]


def render(report: Report) -> str:
    """Return the report as an HTML page."""
    style = (_HERE / "page.css").read_text(encoding="utf-8")
    script = (_HERE / "page.js").read_text(encoding="utf-8")
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    shown = [result.cut(ROWS) for result in for_people(report.tables)]
    sessions = next(result for result in report.tables if result.name == "sessions")
    title = f"isrlab report: {_session_words(sessions)}"
    charts = _charts(report, sessions)
    drawn = pictures(report)
    targets = [("charts", "Charts")] if charts else []
    targets += [(result.name, result.title) for result in shown]
    links = "".join(f'<a href="#{escape(to)}">{escape(words)}</a>' for to, words in targets)
    return "".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; ",
            f"script-src 'sha256-{allowed}'; img-src data:; base-uri 'none'; form-action 'none'\">\n",
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="data:,">\n',
            f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n",
            f'<header><h1>isrlab report</h1><span>{escape(_session_words(sessions))}</span><button id="theme" type="button">dark / light</button>',
            "</header>\n<main>\n",
            _cards(report),
            *(f'<p class="notice">{escape(escape_value(notice))}</p>\n' for notice in report.notices),
            f"<details><summary>All {len(shown)} tables</summary><nav>{links}</nav></details>\n",
            svg_charts.patterns() if charts or drawn else "",
            charts,
            *(_section(result, drawn.get(result.name, "")) for result in shown),
            f"</main>\n<script>{script}</script>\n</body>\n</html>\n",
        )
    )


def _rows(result: Result) -> Rows:
    return [dict(zip(result.columns, row, strict=True)) for row in result.rows]


def _session_words(sessions: Result) -> str:
    if sessions.count != 1:
        return f"{sessions.count:,} sessions"
    (one,) = _rows(sessions)
    events = f"{one['events']:,} event{'' if one['events'] == 1 else 's'}"
    return f"{escape_value(one['session'])}, release {escape_value(one['release'])}, {events} in {format_duration(one['end_us'])}"


# --- important figures ----------------------------------------------------------------------------------------------


def _cards(report: Report) -> str:
    """Return the most important figures, which are computed from all rows. Figures that report a problem come first."""
    figures = report.totals
    if not figures:
        return ""

    def figure(name: str) -> int:
        return figures.get(name) or 0

    def time(longest: str, total: str, words: str, table: str) -> tuple[int, str, str, str]:
        in_all = f", {format_duration(figure(total))} over all partitions" if figure(total) > figure(longest) else ""
        return figure(longest), format_duration(figure(longest)), f"{words}{in_all}", table

    def count(name: str, words: str, table: str) -> tuple[int, str, str, str]:
        return figure(name), f"{figure(name):,}", words, table

    alarms = [
        count("records_lost", _lost_words(figures), "records"),
        time("longest_stalled_us", "stalled_us", "longest stall of acks=all writes", "unavailability"),
        time("longest_no_writes_us", "no_writes_us", "longest time without acks=all writes", "unavailability"),
        time("longest_no_reads_us", "no_reads_us", "longest time without reads", "unavailability"),
        time("offline_us", "offline_us", "without a leader, over all partitions", "availability"),
        count("unclean", "unclean elections", "elections"),
        count("records_diverged", "offsets at which replicas differ", "records"),
        time("under_min_us", "under_min_us", "under min.insync.replicas, over all partitions", "min_isr"),
        count("batches_given_up", "batches that producers gave up on", "errors"),
        count("batches_unanswered", "batches unanswered at the end", "produce_latency"),
        count("transactions_hanging", "hanging transactions", "hanging_transactions"),
        count("records_duplicated", "records duplicated", "records"),
        count("records_out_of_order", "records in another order than they were sent", "records"),
        count("records_dropped", "records that a retry service dropped", "retry_outcomes"),
        count("records_succeeded_twice", "records that a retry service finished more than once", "retry_outcomes"),
        count("records_processed_out_of_order", "records that a group processed out of order", "deliveries"),
        count("records_never_delivered", "records that a group never processed", "deliveries"),
        count("records_delivered_twice", "records that a group processed more than once", "deliveries"),
        count("dead_letters", "dead letter" if figure("dead_letters") == 1 else "dead letters", "retry_outcomes"),
    ]
    if figure("longest_held_us") > HELD_BOUND:
        held = "longest time for which transactions held back reads with read_committed"
        alarms.append(time("longest_held_us", "held_us", held, "stable_offsets"))
    neutral = [count("records_acknowledged", "records acknowledged", "records"), count("elections", "leaders elected", "elections")]
    known = {result.name for result in report.tables if result.rows}
    if "group_lag" in known:
        most = f"; earlier, up to {figure('max_group_lag'):,} in one partition" if figure("max_group_lag") > figure("group_lag") else ""
        neutral.append((figure("group_lag"), f"{figure('group_lag'):,}", f"records of lag over all groups at the end{most}", "group_lag"))
    if "groups" in known:
        neutral.append(count("rebalances", "rebalances", "groups"))
        neutral.append(time("longest_unowned_us", "unowned_us", "longest time for which a partition had no owner in its group", "groups"))
    present = {result.name for result in report.tables}
    cards = []
    # Bad figures come first, then the others in their order. A good figure is shown only if it is among the first `ALWAYS` or is neutral.
    for number, (value, shown, words, table) in sorted(
        enumerate([*alarms, *neutral]), key=lambda each: (not _is_bad(each, len(alarms)), each[0])
    ):
        bad = _is_bad((number, (value, shown, words, table)), len(alarms))
        if number >= ALWAYS and number < len(alarms) and not bad:
            continue
        link = f'<a href="#{table}">{escape(words)}</a>' if table in present else escape(words)
        mark = "!" if bad else "✓" if number < len(alarms) else ""
        look = ' class="bad"' if bad else ' class="well"' if mark else ""
        cards.append(f"<li{look}><b>{f'<i>{mark}</i>' if mark else ''}{escape(shown)}</b><span>{link}</span></li>")
    return f'<ul class="cards">{"".join(cards)}</ul>{_worst_session(report)}\n'


def _is_bad(card: tuple[int, tuple[int, str, str, str]], alarms: int) -> bool:
    return card[0] < alarms and card[1][0] > 0


def _lost_words(figures: Mapping[str, int | None]) -> str:
    acknowledged, read = figures.get("records_lost_acknowledged"), figures.get("records_lost_read")
    if not figures.get("records_lost"):
        return "records lost"
    if acknowledged is None or read is None:
        return "lost records that were acknowledged or read"
    return f"records lost: {acknowledged:,} acknowledged, {read:,} read"


def _worst_session(report: Report) -> str:
    """Return the name of the worst session if there are several sessions."""
    overview = next((result for result in report.tables if result.name == "overview"), None)
    if overview is None or overview.count < 2:
        return ""
    return (
        f'<p class="notes">These figures cover all {overview.count:,} sessions. The worst is <b>{escape(escape_value(str(overview.rows[0][0])))}</b>; '
        f'<a href="#{"overview" if overview.count > MOST else "comparison"}">compare all sessions</a>.</p>'
    )


# --- charts --------------------------------------------------------------------------------------------------------


def _charts(report: Report, sessions: Result) -> str:
    """Return the charts of the worst sessions, worst first, or nothing if there is no data for charts."""
    drawn = {result.name: sorted(_rows(result), key=_place) for result in report.drawn if result.name in _DRAWN}
    if not drawn.get("timeline"):
        return ""
    shown = len({(row["session"], row["topic"], row["partition"]) for row in drawn["timeline"]})
    charted = {row["session"] for row in drawn["timeline"]}
    overview = next((result for result in report.tables if result.name == "overview"), sessions)
    ends = {row["session"]: row["end_us"] for row in _rows(overview)}
    parts = ['<section id="charts"><h2>Leaders, ISR, and availability</h2>']
    parts.append(
        '<p class="notes">Each partition has three stripes: its leader, its ISR as the controller knows it, and the operations that its clients cannot perform. '
        "In the third stripe, a bar starts as soon as the leader is gone, even if the controller has not noticed this yet. "
        "For details, hold the pointer over a bar.</p>"
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
    for session, end in ends.items():
        if session not in charted:
            continue
        of = {name: [row for row in rows if row["session"] == session] for name, rows in drawn.items()}
        if sessions.count > 1:
            parts.append(f"<h3>{escape(escape_value(session))}</h3>")
        if short := svg_charts.joined(of["timeline"]):
            parts.append(
                f'<p class="notes">{short:,} short bars are omitted, harmless ones first. The preceding bar covers the time of an omitted bar.</p>'
            )
        parts.append(f"<figure>{svg_charts.timeline(of['timeline'], of.get('unavailability', []), end)}</figure>")
        parts.append(_curves(of.get("curves", []), of.get("held", []), end))
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


def _section(result: Result, picture: str) -> str:
    """Return a table with its title, its notes, its picture, and a filter."""
    head = f'<section id="{escape(result.name)}"><h2>{escape(result.title)}</h2>'
    notes = (f'<p class="notes">{_marked(result.notes)}</p>' if result.notes else "") + picture
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
