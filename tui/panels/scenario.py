"""A scenario's expectations as they are met or failed, and what the scenario is about."""

from __future__ import annotations

import enum
from collections.abc import Sequence

import attrs
from textual.strip import Strip

from tui.palette import Palette
from tui.panels.events import coloured
from tui.panels.lines import Lines
from tui.rows import Row, blank, rule, wrap


class Verdict(enum.StrEnum):
    """How an expectation stands."""

    PENDING = "pending"
    HELD = "held"
    FAILED = "failed"


@attrs.frozen
class Expected:
    """One expectation: what it says, its condition when that is not the same, and what was wanted and found once it has failed."""

    verdict: Verdict
    text: str
    condition: str = ""
    wanted: str = ""
    got: str = ""
    where: str = ""


@attrs.frozen
class ScenarioState:
    """What the panel shows: the scenario's name and text, its expectations, the next thing it does."""

    name: str
    about: str
    expectations: tuple[Expected, ...]
    next: str = ""
    said: str = ""
    """The note of the step carried out last."""


def paint_scenario(state: ScenarioState, paint: Palette, size: tuple[int, int]) -> list[Strip]:
    """The panel's lines: failures first when not everything fits."""
    width, height = size
    held = sum(e.verdict is Verdict.HELD for e in state.expectations)
    failed = sum(e.verdict is Verdict.FAILED for e in state.expectations)
    total = len(state.expectations)
    note = f"{held} of {total} held" + (f", {failed} FAILED" if failed else "")
    lines = [rule(f"Scenario {state.name}", note, width, paint.title, paint.faint, paint.bad if failed else paint.muted)]
    rows: list[list[Strip]] = [_expectation(e, paint, width) for e in state.expectations]
    about = [Row().add(" " + line, paint.muted).strip(width) for line in wrap(state.about, width - 2)]
    if state.said:
        about += [
            Row().add(" now   " if n == 0 else " " * 7, paint.muted).join(coloured(line, paint, paint.strong)).strip(width)
            for n, line in enumerate(wrap(state.said, width - 8))
        ]
    if state.next:
        about.append(Row().add(" next  ", paint.muted).join(coloured(state.next, paint, paint.text)).strip(width))
    body = height - 1
    wanted = sum(map(len, rows))
    lines += about[: max(min(2, len(about)), min(len(about), body - wanted))]
    room = height - len(lines)
    lines += [line for lines_of in _that_fit(state.expectations, rows, room) for line in lines_of]
    while len(lines) < height:
        lines.append(blank(width))
    return lines[:height]


def _that_fit(expectations: Sequence[Expected], rows: list[list[Strip]], room: int) -> list[list[Strip]]:
    """All of them when there is room, otherwise failed ones, then the ones to come, then the latest held; order is kept."""
    if sum(map(len, rows)) <= room:
        return rows
    rank = {Verdict.FAILED: 0, Verdict.PENDING: 1, Verdict.HELD: 2}
    order = sorted(range(len(rows)), key=lambda n: (rank[expectations[n].verdict], -n if expectations[n].verdict is Verdict.HELD else n))
    chosen: list[int] = []
    for number in order:
        if len(rows[number]) <= room:
            chosen.append(number)
            room -= len(rows[number])
    return [rows[number] for number in sorted(chosen)]


def _expectation(e: Expected, paint: Palette, width: int) -> list[Strip]:
    glyph, style = {Verdict.PENDING: ("○", paint.muted), Verdict.HELD: ("✓", paint.good), Verdict.FAILED: ("✖", paint.bad)}[e.verdict]
    base = paint.muted if e.verdict is Verdict.PENDING else paint.text
    lines = []
    for number, line in enumerate(wrap(e.text, width - 4)):
        row = Row().add(f" {glyph} " if number == 0 else "   ", style).join(coloured(line, paint, base))
        lines.append(row.strip(width))
    if e.verdict is Verdict.FAILED:
        for label, text in (("expected", e.wanted or e.condition), ("got", e.got), ("in", e.where)):
            if text:
                for number, line in enumerate(wrap(text, width - 14)):
                    lines.append(
                        Row()
                        .add(f"   {label if number == 0 else '':<9} ", paint.muted)
                        .add(line, paint.bad if label == "got" else paint.text)
                        .strip(width)
                    )
    return lines


class ScenarioPanel(Lines):
    """The panel as a widget."""

    def update(self, state: ScenarioState) -> None:
        """Show a new state."""
        self.show(paint_scenario(state, self.paint, (self.box.width, self.box.height)))
