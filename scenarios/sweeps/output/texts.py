"""Texts that occur in the results of every sweep."""

from __future__ import annotations

from typing import Final

from scenarios.sweeps.grid.grid import format_horizon
from scenarios.sweeps.statistics.cell_results import SweepResult

SHOWN_SEEDS: Final = 8
"""The maximum number of seeds that the notes list for runs with a loss."""


def title_of(outcome: SweepResult) -> str:
    """Return the title: the grid, the number of runs, and the horizon."""
    return f"{outcome.grid.name}: {outcome.runs:,} runs of {format_horizon(outcome.grid.horizon)}"


def percent(share: float) -> str:
    """Return a proportion in percent, with enough digits to distinguish it from 0 and 1."""
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    return f"{share:.2%}" if share < 0.1 or share > 0.995 else f"{share:.1%}"


def round_to(us: float, digits: int) -> int:
    """Return a time, given in µs, rounded to a number of significant digits."""
    whole = round(us)
    step = int(10 ** max(0, len(str(whole)) - digits))
    return int(whole / step + 0.5) * step


def first_seeds(seeds: tuple[int, ...]) -> str:
    """Return a list of seeds that contains at most the first `SHOWN_SEEDS`."""
    more = f" and {len(seeds) - SHOWN_SEEDS:,} more" if len(seeds) > SHOWN_SEEDS else ""
    return f"{', '.join(map(str, seeds[:SHOWN_SEEDS]))}{more}"


def counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
