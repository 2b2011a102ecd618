"""The texts in the result table of a sweep. The terminal and the HTML page show the same texts."""

from __future__ import annotations

from typing import Any, Final

from core.sim.units import format_duration
from scenarios.sweeps.grid.grid import format_horizon
from scenarios.sweeps.statistics.cell_results import SHOWN_SEEDS, CellResult, SweepResult
from scenarios.sweeps.statistics.estimates import Estimate

HEADINGS: Final = ("runs", "P(loss)", "95%", "lost acked/run", "lost read/run", "no writes", "stalled", "no reads", "p50", "p99", "p99.9")
"""The headings of the columns that `numbers_of` returns."""


def varied_words(outcome: SweepResult) -> list[str]:
    """Return the keywords of the grid whose values vary between cells, in order. If the cells have their own names, return an empty list."""
    cells = [cell.cell for cell in outcome.cells]
    words = [[word for word, _ in cell.values] for cell in cells]
    return words[0] if all(each == words[0] for each in words) else []


def cell_values(cell: CellResult, words: list[str]) -> list[str]:
    values = dict(cell.cell.values)
    return [values[word] for word in words] or [cell.cell.name]


def title_of(outcome: SweepResult) -> str:
    """Return the title: the grid, the number of runs, and the horizon."""
    return f"{outcome.grid.name}: {outcome.runs:,} runs of {format_horizon(outcome.grid.horizon)}"


def numbers_of(cell: CellResult) -> list[str]:
    """Return the numbers of a cell as text."""
    return [
        f"{cell.runs:,}{'*' if cell.settled else ''}",
        percent(cell.loss.value),
        f"{percent(cell.loss.low)} – {percent(cell.loss.high)}",
        _count(cell.lost_acknowledged.value),
        _count(cell.lost_read.value),
        mean_with_bounds(cell.write_down),
        mean_with_bounds(cell.stalled),
        mean_with_bounds(cell.read_down),
        *(
            "–" if found is None else f"{'≥ ' if found.at_least else ''}{format_duration(_three_digits(found.value))}"
            for found in cell.latencies
        ),
    ]


def mean_with_bounds(estimate: Estimate) -> str:
    """Return a mean time and its bounds as text."""
    value = format_duration(_three_digits(estimate.value))
    if estimate.low == estimate.high:
        return value
    return f"{value} ({format_duration(_three_digits(estimate.low))} – {format_duration(_three_digits(estimate.high))})"


def percent(share: float) -> str:
    """Return a proportion in percent, with enough digits to distinguish it from 0 and 1."""
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    return f"{share:.2%}" if share < 0.1 or share > 0.995 else f"{share:.1%}"


def _count(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == 0 else f"{value:.3g}"


def _three_digits(us: float) -> int:
    """Return a time, given in µs, rounded to three significant digits."""
    whole = round(us)
    step = int(10 ** max(0, len(str(whole)) - 3))
    return int(whole / step + 0.5) * step


def notes_of(outcome: SweepResult) -> list[str]:
    """Return the notes that a reader needs to understand the table."""
    cells = outcome.cells
    simulated = sum(cell.simulated_us for cell in cells)
    share = simulated / max(1, outcome.grid.horizon * outcome.runs)
    faults, episodes = sum(cell.faults for cell in cells), sum(cell.episodes for cell in cells)
    notes = [
        "P(loss): the proportion of runs that permanently lost an acknowledged record, with Wilson's 95% interval.",
        "Lost acked, lost read: the mean number per run of permanently lost records that had been acknowledged, and of those that a consumer "
        "had read. A record that had been both acknowledged and read is counted in both numbers.",
        "No writes, no reads: the time per run without writes to a partition, or without reads from it, as a mean over the partitions, with "
        "bootstrap 95% bounds. Stalled: the additional time during which acks=all writes waited, because a follower that did not fetch was still in the ISR, or because the leader's disk was slow.",
        "p50, p99, p99.9: produce latency of all records, ±1.6%"
        + (", during the simulated time" if outcome.grid.around else "")
        + ". ≥: producers gave up on some records, or some records had no answer at the end; the time that these records had waited counts as "
        "their latency.",
        f"{faults:,} faults in {episodes:,} {'episodes' if outcome.grid.around else 'runs'}. {format_duration(simulated)} of virtual "
        f"time was simulated"
        + (
            f", {percent(share)} of the time that the runs represent. The rest of the time is skipped, "
            f"because no record is lost and no client waits between faults."
            if outcome.grid.around
            else "."
        ),
    ]
    if any(cell.settled for cell in cells):
        notes.append("*: the confidence interval of this cell was narrow enough, so the cell got no more runs.")
    open_ends = sum(cell.not_whole for cell in cells)
    if open_ends:
        notes.append(
            f"{open_ends:,} episodes ended before the cluster recovered, so unavailability is underestimated. For longer episodes, increase 'after'."
        )
    by_seeds: dict[tuple[int, ...], list[int]] = {}
    for cell in cells:
        if cell.losing:
            by_seeds.setdefault(cell.losing, []).append(cell.cell.number)
    for seeds, numbers in by_seeds.items():
        more = f" and {len(seeds) - SHOWN_SEEDS:,} more" if len(seeds) > SHOWN_SEEDS else ""
        which = f"cell{'' if len(numbers) == 1 else 's'} {', '.join(map(str, numbers))}"
        notes.append(
            f"{which[0].upper()}{which[1:]} lost acknowledged records with seed{'' if len(seeds) == 1 else 's'} {', '.join(map(str, seeds[:SHOWN_SEEDS]))}{more}."
        )
    if any(cell.losing for cell in cells):
        first: Any = next(cell for cell in cells if cell.losing)
        notes.append(
            f"To replay a loss: isrlab sweep {outcome.grid.source} --cell {first.cell.number} --seed {first.losing[0]} --scenario loss.yaml; isrlab play loss.yaml"
        )
    return notes


def counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
