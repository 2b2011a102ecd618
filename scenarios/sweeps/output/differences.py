"""Shows how much cells differ: as rows of text for the terminal and the page, and as `differences.csv`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from scenarios.sweeps.output.columns import csv_text, significant
from scenarios.sweeps.output.presentation import Quantity
from scenarios.sweeps.output.presentations import presentation_of
from scenarios.sweeps.output.texts import counted
from scenarios.sweeps.statistics.cell_results import SweepResult
from scenarios.sweeps.statistics.differences import Change, Difference

SHOWN: Final = 24
"""The maximum number of differences that the terminal and the page show."""

TITLE: Final = "What each change does, with the same faults"


def headings_of(outcome: SweepResult[Any]) -> list[str]:
    """Return the headings of the rows of `rows_of`."""
    return ["cells", "change", *(quantity.heading for quantity in presentation_of(outcome.grid).compared)]


def rows_of(outcome: SweepResult[Any]) -> list[list[str]]:
    """Return the first differences as text."""
    compared = presentation_of(outcome.grid).compared
    return [
        [f"{each.one} → {each.other}", _name(each), *(_text(_change_of(each, quantity), quantity.text) for quantity in compared)]
        for each in outcome.differences[:SHOWN]
    ]


def note_of(outcome: SweepResult[Any]) -> str:
    """Return what a reader needs to understand the rows."""
    more = len(outcome.differences) - SHOWN
    return (
        "A row compares runs with the same seeds, and thus the same faults. The 95% interval is that of the difference. ×N: without this pairing, "
        "N times as many runs would be needed for the same precision. =: no run differs."
        + (f" differences.csv has {counted(more, 'more row')}." if more > 0 else "")
    )


def differences_csv(outcome: SweepResult[Any]) -> str:
    """Return CSV with a row for each difference."""
    names = list(outcome.differences[0].means) if outcome.differences else []
    columns = [f"{name}{end}" for name in ("loss", *names) for end in ("", "_low", "_high", "_gain")]
    rows = [
        [each.one, each.other, each.word, each.before, each.after, each.runs]
        + [value for change in (each.loss, *each.means.values()) for value in _numbers(change)]
        for each in outcome.differences
    ]
    return csv_text(["one", "other", "word", "before", "after", "runs", *columns], rows)


def _name(difference: Difference) -> str:
    return f"{difference.word} {difference.before} → {difference.after}".strip()


def _change_of(difference: Difference, quantity: Quantity) -> Change:
    return difference.means[quantity.name] if quantity.name else difference.loss


def _text(change: Change, text: Callable[[float], str]) -> str:
    found = change.value
    if found is None:
        return "="

    def signed(value: float) -> str:
        shown = text(abs(value))
        return shown if shown == text(0) else f"{'+' if value > 0 else '−'}{shown}"

    gain = "" if change.gain is None else " ×>1,000" if change.gain > 1_000 else f" ×{float(f'{change.gain:.2g}'):,g}"
    return f"{signed(found.value)} ({signed(found.low)} – {signed(found.high)}){gain}"


def _numbers(change: Change) -> list[float | None]:
    found, gain = change.value, None if change.gain is None else significant(change.gain)
    if found is None:
        return [0.0, None, None, gain]
    return [significant(found.value), significant(found.low), significant(found.high), gain]
