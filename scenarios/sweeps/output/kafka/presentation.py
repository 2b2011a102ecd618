"""How a sweep over Kafka's settings is shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from core.sim.units import format_duration
from scenarios.sweeps.grid.grid import Run
from scenarios.sweeps.output.columns import AT_LEAST, LATENCIES, LOSING_RUNS, LOSING_SEEDS, NAME, NUMBER, RUNS, Column, mean, most, total
from scenarios.sweeps.output.interval_chart import Panel, time_step
from scenarios.sweeps.output.kafka.loss_scenario import replay_of, write_scenarios
from scenarios.sweeps.output.parquet_files import write_parquet
from scenarios.sweeps.output.presentation import Presentation, Quantity
from scenarios.sweeps.output.texts import counted, first_seeds, percent, round_to
from scenarios.sweeps.simulation.kafka.cell import KafkaCell
from scenarios.sweeps.statistics.cell_results import CellResult, SweepResult
from scenarios.sweeps.statistics.estimates import Estimate

HEADINGS: Final = ("runs", "P(loss)", "95%", "lost acked/run", "lost read/run", "no writes", "stalled", "no reads", "p50", "p99", "p99.9")
"""The headings of the columns that `_numbers_of` returns."""


def varied_words(outcome: SweepResult[KafkaCell]) -> list[str]:
    """Return the keywords of the grid whose values vary between cells, in order. If the cells have their own names, return an empty list."""
    words = [[word for word, _ in cell.cell.values or ()] for cell in outcome.cells]
    return words[0] if all(each == words[0] for each in words) else []


def names_of(outcome: SweepResult[KafkaCell], cell: CellResult[KafkaCell]) -> list[str]:
    """Return the values of a cell that vary between cells, or its name."""
    values = dict(cell.cell.values or ())
    return [values[word] for word in varied_words(outcome)] or [cell.cell.name]


def _numbers_of(cell: CellResult[KafkaCell]) -> list[str]:
    """Return the numbers of a cell as text."""
    return [
        f"{cell.runs:,}{'*' if cell.settled else ''}",
        percent(cell.loss.value),
        f"{percent(cell.loss.low)} – {percent(cell.loss.high)}",
        *(_count_with_bounds(cell.means[name]) for name in ("lost_acknowledged", "lost_read")),
        *(_mean_with_bounds(cell.means[name]) for name in ("write_down", "stalled", "read_down")),
        *(
            "–" if found is None else f"{'≥ ' if found.at_least else ''}{format_duration(round_to(found.value, digits=3))}"
            for found in cell.latencies
        ),
    ]


def _mean_with_bounds(estimate: Estimate) -> str:
    """Return a mean time and its bounds as text."""
    if not estimate.value:
        return format_duration(0)
    value, low, high = (format_duration(round_to(us, digits=3)) for us in (estimate.value, estimate.low, estimate.high))
    return f"{value} ({low} – {high})"


def _count_with_bounds(estimate: Estimate) -> str:
    """Return a mean number and its bounds as text. If nothing was seen, the upper bound is not known."""
    value, low, high = map(_count, (estimate.value, estimate.low, estimate.high))
    return f"{value} ({low} – {high})" if estimate.value else "0"


def _count(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == 0 else f"{value:.3g}"


def _total(outcome: SweepResult[KafkaCell], number: str) -> int:
    return sum(cell.totals[number] for cell in outcome.cells)


def _notes_of(outcome: SweepResult[KafkaCell]) -> list[str]:
    """Return the notes that a reader needs to understand the table."""
    cells, around = outcome.cells, outcome.grid.cells[0].around
    simulated = _total(outcome, "simulated_us")
    share = simulated / max(1, outcome.grid.horizon * outcome.runs)
    faults, episodes = _total(outcome, "faults"), _total(outcome, "episodes")
    notes = [
        "P(loss): the proportion of runs that permanently lost an acknowledged record, with its exact 95% interval.",
        "Lost acked, lost read: the mean number per run of permanently lost records that had been acknowledged, and of those that a consumer "
        "had read. A record that had been both acknowledged and read is counted in both numbers.",
        "No writes, no reads: the time per run without writes to a partition, or without reads from it, as a mean over the partitions, with "
        "95% bounds. Stalled: the additional time during which acks=all writes waited, because a follower that did not fetch was still in the ISR, or because the leader's disk was slow.",
        "p50, p99, p99.9: produce latency of all records, ±1.6%"
        + (", during the simulated time" if around else "")
        + ". ≥: producers gave up on some records, or some records had no answer at the end; the time that these records had waited counts as "
        "their latency.",
        f"{faults:,} faults in {episodes:,} {'episodes' if around else 'runs'}. {format_duration(simulated)} of virtual "
        f"time was simulated"
        + (
            f", {percent(share)} of the time that the runs represent. The rest of the time is skipped, "
            f"because no record is lost and no client waits between faults."
            if around
            else "."
        ),
    ]
    if any(cell.settled for cell in cells):
        notes.append("*: the confidence interval of this cell was narrow enough, so the cell got no more runs.")
    open_ends = _total(outcome, "not_whole")
    if open_ends:
        notes.append(
            f"{open_ends:,} episodes ended before the cluster recovered, so unavailability is underestimated. For longer episodes, increase 'after'."
        )
    by_seeds: dict[tuple[int, ...], list[int]] = {}
    for cell in cells:
        if cell.losing:
            by_seeds.setdefault(cell.losing, []).append(cell.cell.number)
    for seeds, numbers in by_seeds.items():
        which = f"cell{'' if len(numbers) == 1 else 's'} {', '.join(map(str, numbers))}"
        notes.append(
            f"{which[0].upper()}{which[1:]} lost acknowledged records with seed{'' if len(seeds) == 1 else 's'} {first_seeds(seeds)}."
        )
    if any(cell.losing for cell in cells):
        notes.append(replay_of(outcome))
    return notes


PANELS: Final = [
    Panel("P(loss) in a run", lambda cell: cell.loss, percent, most=1.0),
    Panel(
        "time per run without acknowledged writes, per partition",
        lambda cell: cell.means["unacknowledged"],
        lambda us: format_duration(round(us)),
        step=time_step,
    ),
]


def write_tables_and_losses(out: Path, outcome: SweepResult[KafkaCell], columns: Sequence[Column], runs: Sequence[Run]) -> list[str]:
    """Write the tables as Parquet, with these columns for each cell, and scenarios that repeat the first losses. Return the names of what was
    written."""
    tables = write_parquet(out, outcome, columns, runs)
    scripts = write_scenarios(out / "losses", outcome)
    return [*(["runs.parquet", "cells.parquet"] if tables else []), *([f"losses/ ({counted(scripts, 'scenario')})"] if scripts else [])]


def _write_more(out: Path, outcome: SweepResult[KafkaCell], runs: Sequence[Run]) -> list[str]:
    return write_tables_and_losses(out, outcome, KAFKA_PRESENTATION.columns, runs)


KAFKA_PRESENTATION: Final = Presentation[KafkaCell](
    columns=(
        NUMBER,
        NAME,
        Column("release", lambda result: result.cell.release.name, str),
        RUNS,
        Column("settled", lambda result: result.settled, bool),
        LOSING_RUNS,
        *mean("loss", digits=6),
        *mean("lost_acknowledged", digits=3),
        most("lost_acknowledged", "lost_acknowledged_most"),
        *mean("lost_read", digits=3),
        most("lost_read", "lost_read_most"),
        *(column for name in ("write_down", "read_down", "stalled") for column in mean(name, digits=0, unit="_us")),
        *LATENCIES,
        *AT_LEAST,
        *map(total, ("acked", "failed", "unanswered", "duplicated", "faults", "episodes")),
        total("unclean", "unclean_elections"),
        *map(total, ("not_whole", "events", "simulated_us")),
        LOSING_SEEDS,
    ),
    number_heading="cell",
    name_headings=lambda outcome: varied_words(outcome) or ["name"],
    names=names_of,
    headings=HEADINGS,
    numbers=_numbers_of,
    notes=_notes_of,
    panels=lambda _: PANELS,
    caption="Each row is a cell. A bar is a 95% interval. A diamond marks a cell that lost acknowledged records in at least one run; a circle "
    "marks a cell that lost none.",
    compared=(
        Quantity("", "P(loss)", percent),
        Quantity("lost_acknowledged", "lost acked/run", _count),
        Quantity("unacknowledged", "no writes + stalled", lambda us: format_duration(round_to(us, digits=3))),
    ),
    write_more=_write_more,
)
