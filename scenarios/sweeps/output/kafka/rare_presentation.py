"""How a sweep for rare losses is shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from core.sim.units import format_duration
from scenarios.io.output_files import write_atomically
from scenarios.sweeps.grid.grid import Run
from scenarios.sweeps.output.columns import LOSING_RUNS, LOSING_SEEDS, NAME, NUMBER, RUNS, Column, csv_text, significant, total
from scenarios.sweeps.output.interval_chart import Panel
from scenarios.sweeps.output.kafka.loss_scenario import replay_of
from scenarios.sweeps.output.kafka.presentation import names_of, varied_words, write_tables_and_losses
from scenarios.sweeps.output.presentation import Presentation, Quantity
from scenarios.sweeps.output.texts import counted
from scenarios.sweeps.simulation.kafka.cell import KafkaCell
from scenarios.sweeps.statistics.cell_results import CellResult, SweepResult
from scenarios.sweeps.statistics.estimates import Estimate
from scenarios.sweeps.statistics.rare_loss import StratumResult, in_a_year, seen_losses_per_year

HEADINGS: Final = ("runs", "P(loss)/year", "95%, where seen", "at most", "windows that lost, by faulty nodes at once")
"""The headings of the columns that `_numbers_of` returns."""

STRATA_COLUMNS: Final = (
    "cell", "at_once", "windows", "frequency", "frequency_low", "frequency_high", "expected", "simulated", "losing",
    "share", "share_low", "share_high", "losses", "losses_low", "losses_high",
)  # fmt: skip
"""The columns of `strata.csv`. Frequencies and losses are per year."""


def _numbers_of(cell: CellResult[KafkaCell]) -> list[str]:
    """Return the numbers of a cell as text."""
    seen = seen_losses_per_year(cell.strata)
    probability = None if seen is None else in_a_year(seen)
    return [
        f"{cell.runs:,}",
        "0" if probability is None else small(probability.value),
        "–" if probability is None else f"{small(probability.low)} – {small(probability.high)}",
        small(cell.loss.high),
        ", ".join(f"{_name(stratum, cell)}: {_lost(stratum)}" for stratum in cell.strata),
    ]


def _lost(stratum: StratumResult) -> str:
    """Return how many windows lost records and, if none did, the upper bound of lossy windows per year."""
    if stratum.losses is None:
        return "–"
    bound = "" if stratum.losing else f" (≤ {small(stratum.losses.high)}/year)"
    return f"{stratum.losing} of {stratum.simulated}{bound}"


def small(value: float) -> str:
    """Return a positive number that can be very small as text with two or three digits."""
    if value >= 0.001 or value == 0:
        return f"{value:.3g}"
    digits, power = f"{value:.1e}".split("e")
    return f"{digits.removesuffix('.0')}e{int(power)}"


def _name(stratum: StratumResult, cell: CellResult[KafkaCell]) -> str:
    return f"{stratum.at_once}{'+' if stratum.at_once == len(cell.strata) else ''}"


def _bounded(estimate: Estimate) -> str:
    return f"{small(estimate.value)} ({small(estimate.low)} – {small(estimate.high)})"


def _notes_of(outcome: SweepResult[KafkaCell]) -> list[str]:
    """Return the notes that a reader needs to understand the table."""
    cells = outcome.cells
    years = outcome.grid.cells[0].rare
    assert years is not None
    notes = [
        f"Each run draws the faults of {counted(years.years, 'year')}, and simulates one window for each number of nodes that are faulty at the same time. "
        "Windows are drawn as if faults were more frequent, and count by their likelihood.",
        "P(loss)/year: the probability that a year has a window in which acknowledged records are permanently lost, estimated from the windows "
        "in which this was seen, with its 95% interval. It includes the noise of the weights.",
        "At most: the upper bound with all simulated windows, also those in which nothing was lost. The bounds for each number of faulty nodes are "
        "added. It is high if few windows with one faulty node were simulated; a longer sweep without 'rare' bounds them better.",
        f"{format_duration(sum(cell.totals['simulated_us'] for cell in cells))} of virtual time was simulated.",
    ]
    frequencies: dict[str, list[int]] = {}
    for cell in cells:
        texts = [
            f"{_name(stratum, cell)} at once: {_bounded(stratum.frequency)}"
            + ("" if stratum.expected is None else f", by the formula {small(stratum.expected)}")
            for stratum in cell.strata
        ]
        frequencies.setdefault("; ".join(texts), []).append(cell.cell.number)
    for text, numbers in frequencies.items():
        which = "" if len(frequencies) == 1 else f" in cell{'' if len(numbers) == 1 else 's'} {', '.join(map(str, numbers))}"
        notes.append(f"Windows per year{which}: {text}.")
    missing = sorted({stratum.at_once for cell in cells for stratum in cell.strata if not stratum.simulated})
    if missing:
        notes.append(
            f"No window with {' or '.join(map(str, missing))} at once was simulated, so losses in such windows are not in any number."
        )
    open_ends = sum(cell.totals["not_whole"] for cell in cells)
    if open_ends:
        notes.append(f"{open_ends:,} windows ended before the cluster recovered.")
    if any(cell.losing for cell in cells):
        notes.append(replay_of(outcome))
    return notes


def _panel(at_once: int, outcome: SweepResult[KafkaCell]) -> Panel:
    """Return the panel of a number of faulty nodes; 0 is the sum."""

    def estimate(cell: CellResult[KafkaCell]) -> Estimate | None:
        if not at_once:
            return cell.loss
        return cell.strata[at_once - 1].losses if at_once <= len(cell.strata) else None

    def losing(cell: CellResult[KafkaCell]) -> bool:
        return bool(cell.losing if not at_once else at_once <= len(cell.strata) and cell.strata[at_once - 1].losing)

    last = "+" if at_once == max(len(cell.strata) for cell in outcome.cells) else ""
    title = f"lossy windows/year, {at_once}{last} at once" if at_once else "P(loss) in a year, all windows"
    return Panel(title, estimate, small, logarithmic=True, losing=losing)


def _panels_of(outcome: SweepResult[KafkaCell]) -> list[Panel]:
    """Return the panels of the strata that were simulated, and of their sum."""
    simulated = {stratum.at_once for cell in outcome.cells for stratum in cell.strata if stratum.simulated}
    return [_panel(at_once, outcome) for at_once in (0, *sorted(simulated))]


def _strata_rows(outcome: SweepResult[KafkaCell]) -> list[list[object]]:
    rows: list[list[object]] = []
    for cell in outcome.cells:
        for stratum in cell.strata:
            estimates = (stratum.frequency, stratum.share, stratum.losses)
            frequency, share, losses = (
                [None] * 3 if one is None else [significant(value) for value in (one.value, one.low, one.high)] for one in estimates
            )
            expected = None if stratum.expected is None else significant(stratum.expected)
            rows.append(
                [
                    cell.cell.number,
                    stratum.at_once,
                    stratum.windows,
                    *frequency,
                    expected,
                    stratum.simulated,
                    stratum.losing,
                    *share,
                    *losses,
                ]
            )
    return rows


def _write_more(out: Path, outcome: SweepResult[KafkaCell], runs: Sequence[Run]) -> list[str]:
    """Write the results by the number of faulty nodes, the tables as Parquet, and scenarios that repeat the first losses."""
    write_atomically(out / "strata.csv", csv_text(STRATA_COLUMNS, _strata_rows(outcome)))
    return ["strata.csv", *write_tables_and_losses(out, outcome, RARE_PRESENTATION.columns, runs)]


RARE_PRESENTATION: Final = Presentation[KafkaCell](
    columns=(
        NUMBER,
        NAME,
        Column("release", lambda result: result.cell.release.name, str),
        RUNS,
        LOSING_RUNS,
        Column("loss", lambda result: significant(result.loss.value), float),
        Column("loss_low", lambda result: significant(result.loss.low), float),
        Column("loss_high", lambda result: significant(result.loss.high), float),
        *map(total, ("lost_acknowledged", "lost_read", "acked", "faults", "not_whole", "events", "simulated_us")),
        total("unclean", "unclean_elections"),
        LOSING_SEEDS,
    ),
    number_heading="cell",
    name_headings=lambda outcome: varied_words(outcome) or ["name"],
    names=names_of,
    headings=HEADINGS,
    numbers=_numbers_of,
    notes=_notes_of,
    panels=_panels_of,
    caption="Each row is a cell. The axes are logarithmic. A bar is a 95% interval; if nothing was lost, it ends at the upper bound. A diamond "
    "means that simulated windows of a panel lost acknowledged records; a circle means that none did.",
    compared=(Quantity("", "lossy windows/year", small),),
    write_more=_write_more,
)
