"""The scenario panel: the description of a scenario, and the state of its expectations.

Expectations of the same step are grouped below the step's note. Failed expectations are always shown in full. If there is not enough room,
expectations that were true are left out first.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style
from textual.strip import Strip

from tui.panels.events import colored
from tui.panels.lines import Lines
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, blank, clip, rule, wrap
from tui.session.scenario_state import Expected, ScenarioState, Verdict


def paint_scenario(state: ScenarioState, paint: Palette, size: tuple[int, int]) -> list[Strip]:
    """Return the lines of the scenario panel."""
    width, height = size
    held = sum(e.verdict is Verdict.HELD for e in state.expectations)
    failed = sum(e.verdict is Verdict.FAILED for e in state.expectations)
    note = f"{held} of {len(state.expectations)} held" + (f", {failed} FAILED" if failed else "") + (" · ended" if state.ended else "")
    body = height - 1
    said = (("now", state.said, paint.strong), ("shown", state.shown, paint.number), ("next", state.next, paint.text))
    step = [line for label, text, style in said for line in _labelled(label, text, paint, width, style)]
    about = [Row().add(" " + line, paint.muted).strip(width) for line in wrap(state.about, width - 2)]
    groups = grouped(state.expectations)
    full = [_group(group, paint, width, conditions=True) for group in groups]
    brief = [_group(group, paint, width, conditions=group[0].verdict is Verdict.FAILED) for group in groups]
    if len(step) + _total(full) > body:
        full = brief
    least = min(len(step), body)
    begun = bool(state.said) or any(e.verdict is not Verdict.PENDING for e in state.expectations)
    title, whole = "Scenario", body - least - _total(full) >= len(about)
    if not whole and begun:
        # There is no room for the description below the headline, so the headline contains as much of it as fits.
        title += "  " + clip(state.about, max(0, width - len(note) - 18))
    elif not whole:
        about = _cut(about, max(1, body - least), paint, width)
    lines = [rule(title, note, width, paint.title, paint.faint, paint.bad if failed else paint.good if state.ended else paint.muted)]
    if whole or not begun:
        lines += about
    lines += step[:least]
    lines += [line for lines_of in _that_fit(groups, full, height - len(lines)) for line in lines_of]
    while len(lines) < height:
        lines.append(blank(width))
    return lines[:height]


def _cut(about: list[Strip], room: int, paint: Palette, width: int) -> list[Strip]:
    """Return as many lines of the scenario's description as fit in the panel. If some lines are left out, the last line names the key that
    shows all lines."""
    if len(about) <= room:
        return about
    more = " ⏎ shows all "
    last = clip(f"{about[room - 1].text.rstrip()} …", width - len(more))
    return [*about[: room - 1], Row().add(last, paint.muted).add(more, paint.key).strip(width)]


def grouped(expectations: Sequence[Expected]) -> list[list[Expected]]:
    """Group adjacent expectations with the same note. An expectation without a note forms its own group."""
    groups: list[list[Expected]] = []
    for e in expectations:
        if groups and e.note and groups[-1][0].note == e.note:
            groups[-1].append(e)
        else:
            groups.append([e])
    return groups


def verdict_of(group: Sequence[Expected]) -> Verdict:
    """Return the verdict for a group of expectations. The verdict is "failed" if any expectation of the group failed, and "held" if all of
    the group's expectations held.
    """
    verdicts = {e.verdict for e in group}
    return Verdict.FAILED if Verdict.FAILED in verdicts else Verdict.PENDING if Verdict.PENDING in verdicts else Verdict.HELD


def _total(blocks: list[list[Strip]]) -> int:
    return sum(map(len, blocks))


def _labelled(label: str, text: str, paint: Palette, width: int, style: Style) -> list[Strip]:
    """Paint a label, for example `next`, and then text that wraps to as many lines as necessary. If the text is empty, return no lines."""
    return [
        Row().add(f" {label if number == 0 else '':<6}", paint.muted).join(colored(line, paint, style)).strip(width)
        for number, line in enumerate(wrap(text, width - 8))
    ]


def _that_fit(groups: list[list[Expected]], blocks: list[list[Strip]], room: int) -> list[list[Strip]]:
    """Return the blocks of expectations that fit into the panel, in their original order.

    If there is not enough room, failed groups of expectations take precedence, then pending ones, and then the latest ones that held.
    """
    if _total(blocks) <= room:
        return blocks
    rank = {Verdict.FAILED: 0, Verdict.PENDING: 1, Verdict.HELD: 2}
    verdicts = [verdict_of(group) for group in groups]
    order = sorted(range(len(blocks)), key=lambda n: (rank[verdicts[n]], -n if verdicts[n] is Verdict.HELD else n))
    chosen: list[int] = []
    for number in order:
        if len(blocks[number]) <= room:
            chosen.append(number)
            room -= len(blocks[number])
    return [blocks[number] for number in sorted(chosen)]


def _group(group: list[Expected], paint: Palette, width: int, *, conditions: bool) -> list[Strip]:
    verdict = verdict_of(group)
    glyph, style = _mark(verdict, paint)
    base = paint.muted if verdict is Verdict.PENDING else paint.text
    note = group[0].note
    lines = [
        Row().add(f" {glyph} " if number == 0 else "   ", style).join(colored(line, paint, base)).strip(width)
        for number, line in enumerate(wrap(note or group[0].text, width - 4))
    ]
    if note and conditions:
        row = Row().add("   ", base)
        for number, e in enumerate(group):
            text = e.text + ("" if number == len(group) - 1 else ",")
            if row.width > 3 and row.width + len(text) + 1 > width:
                lines.append(row.strip(width))
                row = Row().add("   ", base)
            row.add((" " if row.width > 3 else "") + text, paint.muted)
        lines.append(row.strip(width))
    for e in group:
        if e.verdict is Verdict.FAILED:
            for label, text in (("expected", e.wanted or e.text), ("got", e.got), ("at", f"{e.where}: {e.text}" if note else e.where)):
                for number, line in enumerate(wrap(text, width - 14)):
                    row = Row().add(f"   {label if number == 0 else '':<9} ", paint.muted)
                    lines.append(row.add(line, paint.bad if label == "got" else paint.text).strip(width))
    return lines


def _mark(verdict: Verdict, paint: Palette) -> tuple[str, Style]:
    return {Verdict.PENDING: ("○", paint.muted), Verdict.HELD: ("✓", paint.good), Verdict.FAILED: ("✖", paint.bad)}[verdict]


class ScenarioPanel(Lines):
    """The widget that shows the scenario panel."""

    def update(self, state: ScenarioState) -> None:
        """Show a new state of the scenario."""
        self.show(paint_scenario(state, self.paint, (self.box.width, self.box.height)))
