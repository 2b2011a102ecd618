"""Renders a sweep as one self-contained HTML file with a picture of the trade-off and the table. The page loads nothing from elsewhere, and
names are escaped.
"""

from __future__ import annotations

import re
from html import escape
from typing import Final

from scenarios.io.escaping import escape_text, escape_value
from scenarios.sweeps.output import differences, interval_chart
from scenarios.sweeps.output.presentations import presentation_of
from scenarios.sweeps.output.texts import title_of
from scenarios.sweeps.statistics.cell_results import SweepResult

STYLE: Final = """
:root { color-scheme: light dark; --ink: #1b2430; --soft: #66707c; --line: #d5dae0; --paper: #fff; --bad: #b3261e; --good: #1d6f42; --point: #2457a6 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --soft: #9aa4b0; --line: #38414c; --paper: #14181d; --bad: #ff8a80; --good: #7ddba3; --point: #8ab4f8 } }
body { margin: 2rem auto; max-width: 76rem; padding: 0 1rem; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif }
h1 { font-size: 1.4rem; overflow-wrap: anywhere } h2 { font-size: 1.1rem; margin-top: 1.5rem } pre { overflow-x: auto } figure { margin: 1.5rem 0; overflow-x: auto } figcaption, .notes { color: var(--soft) }
svg { max-width: 100%; height: auto } svg text { fill: var(--ink); font: 12px system-ui, sans-serif } svg .soft { fill: var(--soft) }
svg .grid { stroke: var(--line) } svg .bar { stroke: var(--point) }
table { font-size: 13px; border-collapse: collapse; font-variant-numeric: tabular-nums } .wide { overflow-x: auto } .whole { white-space: nowrap }
th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--line); text-align: right } th { vertical-align: bottom }
td.text, th.text { text-align: left } td.text { min-width: 3rem } td.lost { color: var(--bad); font-weight: 600 } td.kept { color: var(--good) }
@media (max-width: 40rem) { body { margin: 1rem auto } .notes { padding-left: 1.1rem } }
@media print { body { margin: 0; max-width: none } }
"""


def render(outcome: SweepResult) -> str:
    """Return the result of a sweep as an HTML page."""
    shown = presentation_of(outcome.grid)
    title = escape(escape_value(title_of(outcome)))
    about = f"<p>{escape(escape_value(' '.join(outcome.grid.about.split())))}</p>" if outcome.grid.about else ""
    notes = "".join(f"<li>{escape(escape_value(line))}</li>" for line in shown.notes(outcome))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{STYLE}{interval_chart.STYLE}</style></head><body><h1>{title}</h1>{about}\n"
        f"<figure>{_picture(outcome)}<figcaption>{escape(shown.caption)}</figcaption></figure>\n"
        f'<div class="wide">{_table(outcome)}</div>\n{_differences(outcome)}<ul class="notes">{notes}</ul>'
        f"<details><summary>The grid</summary><pre>{escape(escape_text(outcome.grid.text))}</pre></details></body></html>\n"
    )


def _picture(outcome: SweepResult) -> str:
    shown = presentation_of(outcome.grid)
    return interval_chart.picture(outcome.cells, shown.panels(outcome), "; ".join(panel.title for panel in shown.panels(outcome)))


def _differences(outcome: SweepResult) -> str:
    """Return a table of the differences between cells."""
    if not outcome.differences:
        return ""
    head = "".join(f'<th class="text">{escape(word)}</th>' for word in differences.headings_of(outcome))
    rows = []
    for row in differences.rows_of(outcome):
        cells = "".join(f'<td class="text">{_unbroken(text)}</td>' for text in row)
        rows.append(f"<tr>{cells}</tr>")
    body = "".join(rows)
    return (
        f'<h2>{escape(differences.TITLE)}</h2><p class="notes">{escape(differences.note_of(outcome))}</p>'
        f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>\n'
    )


def _table(outcome: SweepResult) -> str:
    shown = presentation_of(outcome.grid)
    head = (
        f"<th>{shown.number_heading}</th>"
        + "".join(f'<th class="text">{escape(escape_value(word))}</th>' for word in shown.name_headings(outcome))
        + "".join(f"<th>{text}</th>" for text in shown.headings)
    )
    rows = []
    for cell in outcome.cells:
        names = "".join(f'<td class="text">{escape(escape_value(name))}</td>' for name in shown.names(outcome, cell))
        kind = "lost" if cell.losing else "kept"
        numbers = "".join(
            f'<td class="{kind}">{_unbroken(text)}</td>' if column == 1 else f"<td>{_unbroken(text)}</td>"
            for column, text in enumerate(shown.numbers(cell))
        )
        rows.append(f"<tr><td>{cell.cell.number}</td>{names}{numbers}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _unbroken(text: str) -> str:
    """Return text as HTML in which lines do not break within an interval."""
    shown = escape(escape_value(text)).replace(" – ", "&nbsp;–&nbsp;").replace(" → ", "&nbsp;→&nbsp;")
    return re.sub(r"\([^()]*\)", r'<span class="whole">\g<0></span>', shown)
