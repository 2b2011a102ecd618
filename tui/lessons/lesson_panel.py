"""The panel of the lesson that is running: what it says, the answers to choose from, its table, and at its end what has changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Final

import attrs
from rich.style import Style
from textual.binding import Binding
from textual.message import Message
from textual.strip import Strip

from core.sim.repr_mixin import ReprMixin
from core.sim.units import format_duration
from scenarios.lessons.phases import Compared, Phase
from scenarios.lessons.places import PlaceKind, Pointer
from tui.panels.events import colored
from tui.panels.lines import Lines
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, blank, clip, rule, wrap

if TYPE_CHECKING:
    from scenarios.lessons.player import Player

WIDE: Final = 116
"""The width from which the table of a lesson stands beside its text."""

LEAST_TEXT: Final = 44
"""The minimum width of the text beside the table."""

WIDEST: Final = 100
"""The maximum width of a line of text. Longer lines are hard to read."""


@attrs.frozen(repr=False)
class LessonShown(ReprMixin):
    """What the panel shows.

    Attributes:
        title: the title of the lesson.
        step, steps: the number of the current step, from 1, and that of all.
        phase: what the lesson waits for.
        said: the text.
        revealed: the values below it, each with its name.
        choices: the answers, each with its mark: empty, `wrong` if it was chosen, or `right` after it was chosen.
        cursor: the selected answer.
        replied: the reply to the last answer or act.
        columns, table: the lesson's table.
        compared, ideas: what has changed since the start, and what to try; both at the end.
        look: the place that the text speaks of, in words.
        remaining: the virtual time that is still to pass, in µs.
        paused: whether virtual time is paused although the lesson waits for it.
        focused: whether the panel has the keyboard focus.
        top: the number of lines that are scrolled out at the top.
    """

    title: str
    step: int
    steps: int
    phase: Phase
    said: str = ""
    revealed: tuple[tuple[str, str], ...] = ()
    choices: tuple[tuple[str, str], ...] = ()
    cursor: int = 0
    replied: str = ""
    columns: tuple[str, ...] = ()
    table: tuple[tuple[str, ...], ...] = ()
    compared: tuple[Compared, ...] = ()
    ideas: tuple[str, ...] = ()
    look: str = ""
    remaining: int = 0
    paused: bool = False
    focused: bool = True
    top: int = 0


def shown_lesson(player: Player, *, cursor: int, remaining: int, paused: bool, focused: bool, top: int) -> LessonShown:
    """Return what the panel shows of a player."""
    now = player.now
    answered = player.phase is Phase.READ

    def mark(number: int, right: bool) -> str:
        return "wrong" if number in now.chosen else "right" if right and answered else ""

    stuck = player.phase is Phase.STUCK
    return LessonShown(
        title=player.lesson.title,
        step=now.index + 1,
        steps=len(player.lesson.steps),
        phase=player.phase,
        said=f"The lesson cannot go on from here: {player.stuck}." if stuck else now.said,
        revealed=() if stuck else now.revealed,
        choices=tuple((choice.label, mark(number, choice.right)) for number, choice in enumerate(player.choices)),
        cursor=cursor,
        replied=now.replied,
        columns=player.lesson.columns,
        table=player.table,
        compared=now.compared if player.phase is Phase.END else (),
        ideas=now.ideas if player.phase is Phase.END else (),
        look="" if now.point is None else pointer_words(now.point),
        remaining=remaining,
        paused=paused,
        focused=focused,
        top=top,
    )


def pointer_words(point: Pointer) -> str:
    """Return a place on the screen in words."""
    if point.kind is PlaceKind.BROKER:
        return f"b{point.name}"
    if point.kind is PlaceKind.PARTITION:
        return point.name if point.broker < 0 else f"{point.name} on b{point.broker}"
    if point.kind is PlaceKind.PAGE:
        return f"the page {point.name}"
    return {PlaceKind.TIME: "the clock, top left", PlaceKind.KEYS: "the keys, last line"}.get(point.kind, f"the {point.kind}")


def paint_lesson(shown: LessonShown, paint: Palette, size: tuple[int, int]) -> list[Strip]:
    """Return the lines of the panel."""
    width, height = size
    beside = bool(shown.columns) and width >= WIDE
    table = _table(shown, paint, min(width, WIDEST) if not beside else width - LEAST_TEXT - 2)
    edge = width - max((strip.cell_length for strip in table), default=0) - 2 if beside else width
    text_width = min(edge - 2, WIDEST)
    body = _body(shown, paint, text_width)
    keys = _keys(shown, paint, width)
    room = max(1, height - 2)
    below = table if not beside and len(body) + 1 + len(table) <= room else []
    if not beside and table and not below:
        # The newest rows of the table are shown as far as there is room, below the headings.
        spare = room - len(body)
        below = [table[0], *table[len(table) - spare + 1 :]] if spare > 1 else []
    top = max(0, min(shown.top, len(body) - (room - len(below))))
    whole, body = body, body[top : top + room - len(below)]
    if len(whole) > top + len(body) and len(body) > 1:
        body[-1] = Row().add(f" ↓ {len(whole) - top - len(body) + 1} more lines, PgDn", paint.key).strip(width)
    if top and body:
        body[0] = Row().add(" ↑ PgUp shows what is above", paint.key).strip(width)
    note = f"step {shown.step} of {shown.steps}" + (f" · look at {shown.look}" if shown.look else "")
    title = paint.title_focused if shown.focused else paint.title
    lines = [rule("Lesson  " + clip(shown.title, max(0, width - len(note) - 16)), note, width, title, paint.faint, paint.strong)]
    for number in range(room - len(below)):
        left = body[number] if number < len(body) else blank(width)
        if beside and number < len(table):
            row = Row()
            row.put(tuple(left.crop(0, edge)), min(left.cell_length, edge))
            row.pad(edge)
            row.put(tuple(table[number]), table[number].cell_length)
            left = row.strip(width)
        lines.append(left.adjust_cell_length(width))
    lines += [one.adjust_cell_length(width) for one in below]
    return [*lines, keys][:height]


def rows_for(shown: LessonShown, paint: Palette, width: int) -> int:
    """Return the number of lines that the panel needs without its table. A question that is not answered yet needs room for the reply."""
    body = _body(shown, paint, min(width - 2, WIDEST))
    return len(body) + 2 + (3 if shown.choices and not shown.replied else 0)


def _paragraphs(text: str, paint: Palette, style: Style, width: int, indent: str = " ") -> list[Strip]:
    out: list[Strip] = []
    for number, paragraph in enumerate(part for part in text.split("\n") if part.strip()):
        if number:
            out.append(blank(width + 1))
        for line in wrap(paragraph, width - len(indent)):
            out.append(Row().add(indent, style).join(colored(line, paint, style)).strip(width + 1))
    return out


def _body(shown: LessonShown, paint: Palette, width: int) -> list[Strip]:
    """Return the text, what is revealed, the answers, the reply, and at the end the comparison and the ideas."""
    stuck = shown.phase is Phase.STUCK
    out = _paragraphs(shown.said, paint, paint.warn if stuck else paint.text, width)
    for name, value in shown.revealed:
        out.append(Row().add(f"   {name} = ", paint.muted).add(value, paint.strong).strip(width + 1))
    asked = shown.phase is Phase.CHOOSE
    for number, (label, mark) in enumerate(shown.choices):
        here = asked and number == shown.cursor
        glyph, sign = {"wrong": ("✖", paint.bad), "right": ("✓", paint.good)}.get(mark, ("○", paint.text))
        style = paint.strong if here or mark == "right" else paint.text if asked and not mark else paint.muted
        for line_number, line in enumerate(wrap(label, width - 6)):
            row = Row().add(" ► " if here and line_number == 0 else "   ", paint.key).add(f"{glyph} " if line_number == 0 else "  ", sign)
            out.append(row.add(line, style).strip(width + 1, paint.row if here else None))
    if shown.replied:
        glyph, style = ("✖", paint.warn) if shown.phase in (Phase.CHOOSE, Phase.ACT) else ("✓", paint.good)
        lines = wrap(shown.replied, width - 4)
        for number, line in enumerate(lines):
            out.append(Row().add(f" {glyph} " if number == 0 else "   ", style).join(colored(line, paint, paint.text)).strip(width + 1))
    if shown.compared:
        out.append(Row().add(" What has changed since the start", paint.title).strip(width + 1))
        for one in shown.compared:
            first = f"{one.name}: {one.was} → {one.now}"
            for number, line in enumerate(wrap(f"{first}, because {one.because}", width - 4)):
                row = Row().add("   ", paint.text)
                if number == 0 and line.startswith(first):
                    row.add(first, paint.strong)
                    line = line.removeprefix(first)
                out.append(row.join(colored(line, paint, paint.muted)).strip(width + 1))
    if shown.ideas:
        out.append(Row().add(" Try it yourself: the session goes on, and everything is allowed", paint.title).strip(width + 1))
        for idea in shown.ideas:
            for number, line in enumerate(wrap(idea, width - 4)):
                out.append(Row().add(" • " if number == 0 else "   ", paint.key).join(colored(line, paint, paint.text)).strip(width + 1))
    return out


def _table(shown: LessonShown, paint: Palette, width: int) -> list[Strip]:
    """Return the lines of the lesson's table, its headings first. An empty cell has a dot."""
    if not shown.columns or not shown.table or shown.phase is Phase.END:
        return []
    columns = list(zip(shown.columns, *shown.table, strict=True))
    widths = [max(map(len, column)) for column in columns]
    over = sum(widths) + 2 * len(widths) + 1 - width
    while over > 0 and max(widths) > 6:
        widest = widths.index(max(widths))
        widths[widest] -= 1
        over -= 1
    out = []
    for number, cells in enumerate((shown.columns, *shown.table)):
        row = Row().add(" ", paint.text)
        for place, (cell, each) in enumerate(zip(cells, widths, strict=True)):
            style = paint.muted if number == 0 else paint.text if place == 0 else paint.number
            row.add(clip(cell or "·", each).ljust(each) + "  ", style if cell else paint.faint)
        out.append(row.strip(min(width, sum(widths) + 2 * len(widths) + 1)))
    return out


def _keys(shown: LessonShown, paint: Palette, width: int) -> Strip:
    """Return the line with the keys that work now."""
    row = Row().add(" ", paint.text)
    if not shown.focused:
        return row.add("Tab", paint.key).add(" returns to the lesson", paint.muted).strip(width)
    words: Sequence[tuple[str, str]]
    if shown.phase is Phase.READ:
        words = (("⏎", "go on"),)
    elif shown.phase is Phase.CHOOSE:
        words = (("↑ ↓", "choose an answer"), ("⏎", "answer"))
    elif shown.phase is Phase.ACT:
        words = (("⏎", "let the lesson do it"),)
    elif shown.phase is Phase.TIME:
        left = format_duration(shown.remaining // 100_000 * 100_000)
        words = (("⏎", "skips"),) if not shown.paused else (("Space", "lets time pass"), ("⏎", "skips"))
        row.add(f"{left} to go  ", paint.strong)
    elif shown.phase is Phase.END:
        words = (("Space", "lets time pass"), ("⏎", "closes this panel"), ("L", "more lessons"))
    else:
        words = ()
    for key, label in (*words, ("⌫", "a step back")):
        row.add(key, paint.key).add(f" {label}  ", paint.muted)
    return row.strip(width)


class LessonPanel(Lines, can_focus=True):
    """The widget that shows the panel."""

    BINDINGS: ClassVar = [
        Binding("enter", "pressed('enter')", show=False),
        Binding("up", "pressed('up')", show=False),
        Binding("down", "pressed('down')", show=False),
        Binding("backspace", "pressed('back')", show=False),
        Binding("pageup", "pressed('pageup')", show=False),
        Binding("pagedown", "pressed('pagedown')", show=False),
    ]

    class Pressed(Message):
        """The message that a key of the lesson was pressed: `enter`, `up`, `down`, `back`, `pageup`, or `pagedown`."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def action_pressed(self, key: str) -> None:
        """Pass a key on to the lesson."""
        self.post_message(self.Pressed(key))

    def update(self, shown: LessonShown) -> None:
        """Show the lesson."""
        width, height = self.box
        lines = paint_lesson(attrs.evolve(shown, focused=self.has_focus), self.paint, (width, height))
        while len(lines) < height:
            lines.append(blank(width))
        self.show(lines)
