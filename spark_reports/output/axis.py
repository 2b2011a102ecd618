"""The one time axis of a session: acts, the life of each broker, partitions, and curves, one below the other.

Lanes are drawn here, so that they are there in print and without JavaScript. `axis.js` adds the curves, which D3 draws from the data in the page, the zoom, and the crosshair.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Any, Final

import attrs

from core.sim.units import format_duration
from scenarios.io.escaping import escape_value
from scenarios.running.run_summary import ORDINARY_ACTS
from spark_reports.output import svg_charts
from spark_reports.output.incident import NOTICE, Incident, Told
from spark_reports.output.svg_parts import Bar, grid_line, percent, shortened, stripe, swatch, time_marks

Row = Mapping[str, Any]

ACTS: Final = 60
"""The maximum number of acts that are marked on the axis and listed below it."""

LABEL: Final = 34
"""The maximum number of characters of a label in the lane of acts."""

POINTS: Final = 120
"""The number of equal pieces of time in a curve (`summaries.chart_data`)."""

WAITING: Final = 6
"""The maximum number of lanes for groups, and for partitions whose transactions waited."""

BARS: Final = 200
"""The maximum number of bars in such a lane."""

LINKS: Final = 12
"""The maximum number of cut links with a lane."""

_LANE: Final = 30

_STATES: Final = {
    "paused": "u-stalled",
    "slow disk": "s-under",
    "failed": "s-at",
    "cut": "s-min",
    "fenced": "s-at",
    "session expired": "s-at",
}
"""The CSS class of each fault; that of a process which is not running is `s-offline`."""

_FENCES: Final = ("fenced", "session expired")


def axis(incident: Incident, windows: Sequence[Row], number: int) -> str:
    """Return the axis of a session, in an element with the id `axis-NUMBER`."""
    end = max(incident.end, 1)
    marks = time_marks(end)
    acts = _acts(incident)
    lanes = [_marks_lane("acts", acts, end, marks)]
    lanes += [_broker_lane(node, incident, end, marks) for node in _nodes(incident)]
    cuts = [row for row in incident.rows("faults") if row["what"] == "cut"]
    for who in list(dict.fromkeys(row["who"] for row in cuts))[:LINKS]:
        bars = [_bar(row, end) for row in cuts if row["who"] == who]
        lanes.append(_lane(who, stripe(bars, end, 2, 14), 18, end, marks))
    more = [*_transaction_lanes(incident, end, marks), *_group_lanes(incident, end, marks)]
    partitions = _worst_first(incident)
    help_ = "Time axis: the arrow keys move the crosshair, plus and minus zoom, 0 shows everything, and Enter holds the crosshair"
    return (
        f'<div class="axis-whole" id="axis-{number}" data-number="{number}">{_fault_legend(incident)}{_zoom_buttons(incident)}'
        f'<div class="readout" role="status" aria-live="polite"></div><div class="axis-box" tabindex="0" role="group" aria-label="{help_}">'
        f'<div class="timeline">{"".join((*lanes, *more))}{svg_charts.timeline(partitions, windows, end)}</div>'
        f'<div class="series"></div><div class="cross" hidden></div></div>{_act_list(incident)}</div>'
    )


def _zoom_buttons(incident: Incident) -> str:
    worst = next((each for each in (*incident.outages, *incident.closed) if each.lasts > NOTICE), None)
    harm = ""
    if worst is not None:
        around = max(worst.lasts // 8, 1)
        harm = f'<button type="button" data-zoom="harm" data-from="{worst.start - around}" data-to="{worst.end + around}">the worst time</button>'
    return (
        '<div class="zoom"><button type="button" data-zoom="in">+</button><button type="button" data-zoom="out">-</button>'
        f'<button type="button" data-zoom="all">everything</button>{harm}</div>'
    )


def _log_name(incident: Incident) -> str:
    """Return the name of the session's log, as a word of a command."""
    return shlex.quote(escape_value(f"{incident.session}.jsonl"))


def _fault_legend(incident: Incident) -> str:
    """Return the legend of the lanes of brokers, with what occurs in them."""
    found = {row["what"] for row in incident.rows("faults")}
    marks = [("act", "an act")]
    marks += [("s-sync", "running")]
    down = [what for what in found if what not in _STATES]
    if down:
        marks.append(("s-offline", f"not running: {', '.join(sorted(down))}"))
    marks += [(look, what) for what, look in _STATES.items() if what in found]
    if any(row["client"] == "" for row in incident.rows("owners")):
        marks.append(("s-under", "a partition of the group has no owner"))
    if any(each.kind == "controller-elected" for each in incident.told):
        marks.append(("l7", "controller"))
    return f'<div class="legend"><b>Nodes</b>{"".join(swatch(*mark) for mark in marks)}</div>'


def _act_list(incident: Incident) -> str:
    """Return the acts as a list, for those who cannot point at the axis."""
    acts = _acts(incident)
    log = escape(_log_name(incident))
    items = "".join(
        f'<li data-at="{each.at}"><b>{format_duration(each.at)}</b> {escape(escape_value(each.text))}</li>' for each in acts[:ACTS]
    )
    more = f"<li>and {len(acts) - ACTS:,} more</li>" if len(acts) > ACTS else ""
    return (
        f'<ol class="acts">{items}{more}</ol><p class="notes">To look at any of these moments, run <code>isrlab play {log} --at TIME</code>.</p>'
        if acts
        else ""
    )


def data(incident: Incident) -> dict[str, Any]:
    """Return what the script of the page needs to draw the curves of a session."""
    series = sorted(incident.rows("series"), key=lambda row: row["piece"])
    names = ("produced", "acknowledged", "refused", "waiting", "under_replicated", "p50_us", "p99_us", "max_us")
    lags: dict[int, int] = {}
    for row in incident.rows("lag_curves"):
        piece = row["at_us"] * POINTS // (incident.end + 1)
        lags[piece] = max(lags.get(piece, 0), row["max_lag"])
    return {
        "log": _log_name(incident),
        "end": max(incident.end, 1),
        "pieces": [row["piece"] for row in series],
        **{name: [row[name] for row in series] for name in names},
        "lag": sorted(lags.items()),
        "behind": _behind(incident),
        "told": [[each.at, each.seq, escape_value(each.text)] for each in incident.told if _is_told(each)][:300],
    }


def _behind(incident: Incident) -> list[tuple[int, int]]:
    """Return how many records the log ends of the leaders are above their high watermarks, at the end of each piece of time."""
    last: dict[tuple[str, int], list[int]] = {}
    found: dict[int, int] = {}
    for row in sorted(incident.rows("curves"), key=lambda row: row["at_us"]):
        offsets = last.setdefault((row["topic"], row["partition"]), [0, 0])
        for place, name in enumerate(("log_end", "high_watermark")):
            if row[name] is not None:
                offsets[place] = row[name]
        found[row["at_us"] * POINTS // (incident.end + 1)] = sum(max(end - committed, 0) for end, committed in last.values())
    return sorted(found.items())


def chains(incident: Incident, number: int) -> str:
    """Return the causes of the harms of the session with this number on the page, each as a waterfall: when each step happened, and how long after the one before."""
    figures = []
    log = escape(_log_name(incident))
    for chain in incident.chains:
        first, last = chain.steps[0], chain.steps[-1]
        whole = max(last.at - first.at, 1)
        items = []
        before = first.at
        for step in chain.steps:
            left, wide = 100 * (before - first.at) / whole, 100 * (step.at - before) / whole
            since = f"+{format_duration(step.at - before)}" if step is not first else format_duration(step.at)
            look = "act" if step.kind == "act" else "s-min" if step is last else "l0"
            bar = f'<svg width="100%" height="10" aria-hidden="true"><rect class="{look}" x="{percent(min(left, 98.5))}" width="{percent(max(min(wide, 100 - left), 1.5))}" height="10"/></svg>'
            items.append(
                f'<li data-at="{step.at}"><i>{since}</i>{bar}<span>{escape(escape_value(step.text))} <small>event {step.seq:,}</small></span></li>'
            )
            before = step.at
        figures.append(
            f'<figure id="chain-{number}-{last.seq}"><figcaption>{format_duration(last.at)}: {escape(last.kind.replace("-", " "))}, {format_duration(last.at - first.at)} after its first cause. '
            f"<code>isrlab play {log} --at {format_duration(first.at)}</code></figcaption>"
            f'<ol class="chain">{"".join(items)}</ol></figure>'
        )
    return "".join(figures)


def _is_told(each: Told) -> bool:
    return each.kind not in (
        "produce-waiting",
        "append-refused",
        "produce-given-up",
        "controller-elected",
        "group-rebalancing",
    ) and not _is_work(each)


def _is_work(each: Told) -> bool:
    return each.kind == "act" and each.column("act") in ORDINARY_ACTS


def _acts(incident: Incident) -> list[Told]:
    """Return the acts that are not ordinary work, or all acts if there are no others."""
    acts = [each for each in incident.told if each.kind == "act"]
    return [each for each in acts if not _is_work(each)] or acts


def _nodes(incident: Incident) -> list[str]:
    """Return the brokers, and the controllers that had a fault."""
    brokers = {
        int(each)
        for row in incident.rows("timeline")
        for each in (*row["isr"].split(","), row["leader"])
        if str(each).strip() and int(each) >= 0
    }
    faulty = [row["who"] for row in incident.rows("faults") if row["what"] != "cut"]
    known = {f"b{broker}" for broker in brokers} | {who.split(" ")[0] for who in faulty}
    known |= {str(each.column("controller")) for each in incident.told if each.kind == "controller-elected"}
    return sorted(known, key=lambda name: (name[:1], int(re.sub(r"\D", "", name) or 0), name))


def _bar(row: Row, end: int, weight: int = 5) -> Bar:
    look = _STATES.get(row["what"], "s-offline")
    until = end if row["until_us"] is None else row["until_us"]
    return Bar(
        row["from_us"],
        max(until, row["from_us"]),
        look,
        row["what"],
        f"{row['who']} {row['what']} for {format_duration(row['lasts_us'])}",
        weight,
    )


def _broker_lane(name: str, incident: Incident, end: int, marks: Sequence[int]) -> str:
    """Return the lane of a broker or a controller: its process, and below whether it is fenced or the controller."""
    rows = [row for row in incident.rows("faults") if row["who"].split(" ")[0] == name and row["what"] != "cut"]
    process = [_bar(row, end) for row in sorted(rows, key=lambda row: row["from_us"]) if row["what"] not in _FENCES]
    elected = [each for each in incident.told if each.kind == "controller-elected"]
    terms = [
        Bar(each.at, after.at if after is not None else end, "l7", "controller", f"{name} is the controller")
        for each, after in zip(elected, [*elected[1:], None], strict=False)
        if each.column("controller") == name
    ]
    below = [*terms, *(_bar(row, end) for row in rows if row["what"] in _FENCES)]
    running, at = [], 0
    for bar in (bar for bar in process if bar.look not in ("s-under", "s-at")):
        running.append(Bar(at, bar.start, "s-sync", "", f"{name} is running"))
        at = max(at, bar.end)
    running.append(Bar(at, end, "s-sync", "", f"{name} is running"))
    alive = stripe([bar for bar in running if bar.end > bar.start], end, 1, 14)
    return _lane(name, alive + stripe(process, end, 1, 14) + stripe(below, end, 17, 11), _LANE, end, marks)


def _transaction_lanes(incident: Incident, end: int, marks: Sequence[int]) -> list[str]:
    """Return a lane for each partition whose last stable offset transactions held back, the worst ones only."""
    of: dict[str, list[Row]] = {}
    for row in incident.rows("held"):
        if row["lasts_us"] > NOTICE:
            of.setdefault(f"{row['topic']}-{row['partition']}", []).append(row)
    worst = sorted(of, key=lambda name: (-sum(row["lasts_us"] for row in of[name]), name))[:WAITING]
    lanes = []
    for name in worst:
        words = "transactions held back the last stable offset"
        bars = [Bar(row["from_us"], row["to_us"], "s-at", "held back", f"{name}: {words} at {row['offset']:,}") for row in of[name][:BARS]]
        lanes.append(_lane(f"{name} LSO", stripe(bars, end, 2, 14), 18, end, marks))
    return lanes


def _group_lanes(incident: Incident, end: int, marks: Sequence[int]) -> list[str]:
    """Return a lane for each group: its rebalances, and below when a partition of the group had no owner."""
    moves: dict[str, list[Bar]] = {}
    idle: dict[str, list[Bar]] = {}
    for row in incident.rows("rebalances"):
        words = f"group {row['group']}: rebalance {row['number']}, {row['outcome']} ({row['reason']})"
        bar = Bar(row["from_us"], row["from_us"] + (row["lasts_us"] or 0), "l4", "rebalance", words)
        moves.setdefault(row["group"], []).append(bar)
    for row in sorted(incident.rows("owners"), key=lambda row: (row["group"], row["from_us"], row["to_us"])):
        if row["client"] == "" and row["to_us"] - row["from_us"] > NOTICE:
            before = idle.setdefault(row["group"], [])
            if before and row["from_us"] <= before[-1].end:
                before[-1] = attrs.evolve(before[-1], end=max(before[-1].end, row["to_us"]))
            else:
                before.append(Bar(row["from_us"], row["to_us"], "s-under", "no owner", f"group {row['group']}: a partition had no owner"))
    return [
        _lane(
            f"group {name}",
            stripe(moves.get(name, [])[:BARS], end, 1, 14) + stripe(idle.get(name, [])[:BARS], end, 17, 11),
            _LANE,
            end,
            marks,
        )
        for name in list(dict.fromkeys((*idle, *moves)))[:WAITING]
    ]


def _marks_lane(name: str, acts: Sequence[Told], end: int, marks: Sequence[int]) -> str:
    """Return the lane with a mark for each instant at which acts happened. A label names all acts of its instant, if there is space."""
    instants = [(at, ", ".join(each.text for each in together)) for at, together in groupby(acts[:ACTS], lambda each: each.at)]
    parts = [
        f'<rect class="act" x="{percent(100 * at / end)}" y="2" width="4" height="18"><title>{escape(escape_value(text))}, {format_duration(at)}</title></rect>'
        for at, text in instants
    ]
    labels, free = [], 0.0
    for at, text in instants:
        place, words = 100 * at / end, text if len(text) <= LABEL else f"{text[: LABEL - 1]}…"
        if place >= free and place < 90:
            labels.append(f'<text class="quiet minor" x="{percent(place)}" y="15" dx="8">{escape(escape_value(words))}</text>')
            free = place + max(12, 0.7 * len(words))
    return _lane(name, "".join(parts + labels), 22, end, marks)


def _lane(name: str, drawn: str, height: int, end: int, marks: Sequence[int]) -> str:
    grid = "".join(grid_line(at, end, height) for at in marks)
    words = escape(escape_value(name))
    return f'<div class="lane"><span title="{words}">{escape(shortened(escape_value(name)))}</span><svg width="100%" height="{height}"><svg class="z" width="100%">{grid}{drawn}</svg></svg></div>'


def _worst_first(incident: Incident) -> list[Row]:
    """Return the states of partitions, those of the worst partition first."""
    hurt: dict[tuple[str, int], int] = {}
    for each in (*incident.outages, *incident.closed):
        hurt[each.topic, each.partition] = hurt.get((each.topic, each.partition), 0) + each.lasts
    return sorted(
        incident.rows("timeline"),
        key=lambda row: (-hurt.get((row["topic"], row["partition"]), 0), row["topic"], row["partition"], row["from_us"]),
    )
