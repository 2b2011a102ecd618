"""The picture of a sweep over models, as text for a terminal."""

from __future__ import annotations

from typing import Final

from scenarios.sweeps.output.models.latency_class import CLASSES, latency_class
from scenarios.sweeps.output.scales import end_of_shares
from scenarios.sweeps.output.texts import percent
from scenarios.sweeps.simulation.models.experiment import ModelCell
from scenarios.sweeps.statistics.cell_results import SweepResult

COLUMNS: Final = 64
"""The width of the picture, in characters."""

LINES: Final = 17
"""The height of the picture, in lines."""

MARKS: Final = ("·", "o", "O", "@")
"""The symbol after the number of a system, by latency class."""


def text_picture(outcome: SweepResult[ModelCell]) -> list[str]:
    """Return the lines of the picture: the probability of a loss against the time without writes, with intervals."""
    right = end_of_shares(max(cell.means["write_down"].high for cell in outcome.cells))
    top = end_of_shares(max(cell.loss.high for cell in outcome.cells))
    field = [[" "] * COLUMNS for _ in range(LINES)]

    def x(share: float) -> int:
        return min(COLUMNS - 1, round(share / right * (COLUMNS - 1)))

    def y(share: float) -> int:
        return max(0, LINES - 1 - round(share / top * (LINES - 1)))

    for cell in outcome.cells:
        for column in range(x(cell.means["write_down"].low), x(cell.means["write_down"].high) + 1):
            field[y(cell.loss.value)][column] = "─"
    for cell in outcome.cells:
        for line in range(y(cell.loss.high), y(cell.loss.low) + 1):
            at = x(cell.means["write_down"].value)
            field[line][at] = "┼" if field[line][at] in "─┼" else "│"
    ends = [0] * LINES
    for cell in sorted(outcome.cells, key=lambda each: each.means["write_down"].value):
        text = f"{cell.cell.number}{MARKS[latency_class(cell)]}"
        line = y(cell.loss.value)
        start = min(max(x(cell.means["write_down"].value), ends[line]), COLUMNS - len(text))
        field[line][start : start + len(text)] = text
        ends[line] = start + len(text)
    lines = ["Lower systems lose writes in fewer runs (P(loss)). Systems further left have less time without writes (no writes)."]
    lines.append(
        f"The symbol after a number is the system's p99.9: {', '.join(f'{mark} {name}' for mark, name in zip(MARKS, CLASSES, strict=True))}."
    )
    for number, row in enumerate(field):
        labeled = number % 4 == 0
        label = percent(top * (LINES - 1 - number) / (LINES - 1)) if labeled else ""
        lines.append(f"{label:>7} {'┤' if labeled else '│'}{''.join(row)}".rstrip())
    lines.append(" " * 8 + "└" + "─" * COLUMNS)
    half = percent(right / 2)
    axis = " " * 9 + "0%".ljust(COLUMNS // 2 - len(half) // 2) + half
    lines.append(axis.ljust(9 + COLUMNS - len(percent(right))) + percent(right) + " of the time without writes")
    lines.append("Each number identifies a system in the table.")
    return lines
