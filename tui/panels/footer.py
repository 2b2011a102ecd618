"""The last line of the screen.

The footer shows the most useful keys, dimmed if they are unavailable. For a few seconds, a message can replace the keys. A long message takes
several lines.
"""

from __future__ import annotations

from typing import Final

import attrs
from rich.cells import cell_len
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip

from core.sim.repr_mixin import ReprMixin
from tui.actions.hints import Hint
from tui.panels.lines import Lines
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, blank, wrap

MARK: Final = 3
"""The width of the mark before a message, in cells."""

MOST_ROWS: Final = 3
"""The maximum number of rows of a message."""


@attrs.frozen(repr=False)
class FooterMessage(ReprMixin):
    """A message in the footer. `refused` is True if the message explains why an action was not possible."""

    text: str
    refused: bool = False


def paint_footer(hints: tuple[Hint, ...], note: FooterMessage | None, paint: Palette, width: int, last: int = 2) -> Strip:
    """Paint the footer. The last hints (help and quit) are always shown.

    Args:
        hints: the hints, with the most important first.
        note: a message to show instead of the hints.
        paint: the palette that provides the styles.
        width: the width of the line, in cells.
        last: the number of hints at the end that are always shown.
    """
    if note is not None:
        return paint_message(note, paint, width, 1)[0]
    kept = hints[len(hints) - last :] if last else ()
    gap = 2 if width >= 100 else 1
    reserved = sum(_length(hint) + gap for hint in kept)
    row = Row()
    for hint in hints[: len(hints) - len(kept)]:
        if row.width + _length(hint) + gap + reserved > width:
            continue
        _hint(row.pad(row.width + gap if row.width else 1), hint, paint)
    for hint in kept:
        _hint(row.pad(row.width + gap if row.width else 1), hint, paint)
    return row.strip(width)


def paint_message(note: FooterMessage, paint: Palette, width: int, rows: int) -> list[Strip]:
    """Paint a message on a number of rows. If it does not fit, its end is cut."""
    parts = [note.text] if rows == 1 else wrap(note.text, width - MARK)
    parts = [*parts[: rows - 1], " ".join(parts[rows - 1 :])]
    mark = Row().add(" ✕ " if note.refused else " ► ", paint.bad if note.refused else paint.good)
    return [(mark if number == 0 else Row().pad(MARK)).add(part, paint.strong).strip(width) for number, part in enumerate(parts)]


def rows_of(note: FooterMessage | None, width: int) -> int:
    """Return the number of rows that the footer needs for a message, at most `MOST_ROWS`."""
    if note is None or width <= 2 * MARK or cell_len(note.text) + MARK <= width:
        return 1
    return min(MOST_ROWS, len(wrap(note.text, width - MARK)))


def _length(hint: Hint) -> int:
    return len(hint.key) + len(hint.label) + 1


def _hint(row: Row, hint: Hint, paint: Palette) -> None:
    meta = Style(meta={"action": hint.action})
    row.add(hint.key, (paint.key if hint.possible else paint.key_off) + meta)
    row.add(f" {hint.label}", (paint.muted if hint.possible else paint.key_off) + meta)


class Footer(Lines):
    """The widget that shows the footer. A click on a hint does the same as its key."""

    _now: object = None

    class Chosen(Message):
        """The message that is sent when the user clicks a hint."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def update(self, hints: tuple[Hint, ...], note: FooterMessage | None) -> None:
        """Show the hints or the message."""
        before, (width, height) = self._now, self.box
        self._now = now = (hints, note, self.paint, self.box)
        if now != before:
            lines = (
                [paint_footer(hints, None, self.paint, width)] if note is None else paint_message(note, self.paint, width, max(1, height))
            )
            self.show([*lines, *[blank(width)] * (height - len(lines))])

    def on_click(self, event: events.Click) -> None:
        """Request the action of the clicked hint."""
        action = event.style.meta.get("action")
        if action is not None:
            self.post_message(self.Chosen(str(action)))
