"""How a sweep over models is shown."""

from __future__ import annotations

from typing import Final

from core.sim.units import format_duration
from scenarios.sweeps.output.columns import LATENCIES, LOSING_RUNS, LOSING_SEEDS, NAME, NUMBER, RUNS, Column, mean, most, total
from scenarios.sweeps.output.interval_chart import Panel
from scenarios.sweeps.output.presentation import Presentation, Quantity
from scenarios.sweeps.output.texts import first_seeds, percent, round_to
from scenarios.sweeps.simulation.models.experiment import ModelCell
from scenarios.sweeps.statistics.cell_results import CellResult, SweepResult
from scenarios.sweeps.statistics.estimates import Estimate

HEADINGS: Final = (
    "runs",
    "P(loss)",
    "95%",
    "writes lost",
    "most",
    "dirty",
    "stale",
    "no writes",
    "no reads",
    "p50",
    "p99",
    "p99.9",
    "bytes/write",
)
"""The headings of the columns that `_numbers_of` returns."""


def _bytes_per_write(cell: CellResult[ModelCell]) -> float | None:
    """Return the bytes between servers for each acknowledged write; None if the model does not count them."""
    sent, acked = cell.totals["bytes_sent"], cell.totals["acked"]
    return sent / acked if sent and acked else None


def _numbers_of(cell: CellResult[ModelCell]) -> list[str]:
    """Return the numbers of a system as text."""
    sent = _bytes_per_write(cell)
    return [
        f"{cell.runs:,}",
        percent(cell.loss.value),
        f"{percent(cell.loss.low)} – {percent(cell.loss.high)}",
        _share(cell.means["lost"]),
        f"{cell.most['lost_acknowledged']:,}",
        *(_share(cell.means[name]) for name in ("dirty", "stale", "write_down", "read_down")),
        *("–" if found is None else format_duration(round_to(found.value, digits=2)) for found in cell.latencies),
        "–" if sent is None else f"{sent:,.0f}",
    ]


def _share(estimate: Estimate) -> str:
    if not estimate.value:
        return percent(estimate.value)
    return f"{percent(estimate.value)} ({percent(estimate.low)} – {percent(estimate.high)})"


def _notes_of(outcome: SweepResult[ModelCell]) -> list[str]:
    """Return the notes that a reader needs to understand the table."""
    cells = outcome.cells
    notes = [
        "P(loss): the proportion of runs that lost an acknowledged write, with its exact 95% interval. Writes lost: the mean proportion of "
        "acknowledged writes that a run lost, with 95% bounds. Most: the number of writes that the worst run lost.",
        "Dirty: the mean proportion of reads that returned a row that does not exist at the end. Stale: the mean proportion of reads "
        "that missed an acknowledged write.",
        "No writes, no reads: the mean proportion of the time during which probes failed. p50, p99, p99.9: the latency of "
        "acknowledged writes, ±1.6%. "
        "Bytes/write: the number of bytes between servers for each acknowledged write. A dash (–) means that these bytes are not counted.",
        f"Each seed draws the same faults for all systems. On average, a run has {cells[0].totals['faults'] / cells[0].runs:.1f} faults.",
    ]
    if any(cell.cell.variant.model == "mysql" for cell in cells):
        notes.append(
            f"An operator promotes a MySQL replica {format_duration(cells[0].cell.operator_after)} after the source dies or is cut off, and "
            "rebuilds the former source. Systems other than MySQL replace their primary without an operator."
        )
    offline = [f"{cell.cell.name} {cell.totals['offline']:,}" for cell in cells if cell.totals["offline"]]
    if offline:
        notes.append(f"Runs in which no server accepted writes at the end, so nothing counts as lost: {', '.join(offline)}.")
    for cell in cells:
        if cell.losing:
            notes.append(f"{cell.cell.name} lost acknowledged writes with seeds {first_seeds(cell.losing)}.")
    return notes


def _slowest(cell: CellResult[ModelCell]) -> Estimate | None:
    found = cell.latencies[-1]
    return None if found is None else Estimate(found.value, found.value, found.value)


PANELS: Final = [
    Panel("P(loss) in a run", lambda cell: cell.loss, percent, most=1.0),
    Panel("share of the time without writes", lambda cell: cell.means["write_down"], percent, most=1.0),
    Panel("p99.9 of writes", _slowest, lambda us: format_duration(round(us)), logarithmic=True),
]

MODEL_PRESENTATION: Final = Presentation[ModelCell](
    columns=(
        NUMBER,
        NAME,
        Column("model", lambda result: result.cell.variant.model, str),
        RUNS,
        LOSING_RUNS,
        total("offline", "offline_runs"),
        *(column for name in ("loss", "lost", "dirty", "stale", "backward", "write_down", "read_down") for column in mean(name, digits=6)),
        most("lost_acknowledged", "lost_most"),
        *LATENCIES,
        Column("bytes_per_write", lambda result: None if (sent := _bytes_per_write(result)) is None else round(sent)),
        *map(total, ("acked", "failed", "unknown", "faults", "phantom")),
        LOSING_SEEDS,
    ),
    number_heading="no.",
    name_headings=lambda _: ["system"],
    names=lambda _, cell: [cell.cell.name],
    headings=HEADINGS,
    numbers=_numbers_of,
    notes=_notes_of,
    panels=lambda _: PANELS,
    caption="Each row is a system. A bar is a 95% interval. A diamond marks a system that lost acknowledged writes in at least one run; a circle "
    "marks a system that lost none.",
    compared=(
        Quantity("", "P(loss)", percent),
        Quantity("write_down", "no writes", percent),
        Quantity("stale", "stale", percent),
    ),
)
