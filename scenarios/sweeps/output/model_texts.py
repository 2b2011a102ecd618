"""The texts that describe the result of a sweep over models. The terminal and the HTML page show the same texts."""

from __future__ import annotations

from typing import Final

from core.sim.units import format_duration
from scenarios.sweeps.output.result_texts import percent
from scenarios.sweeps.statistics.estimates import Estimate
from scenarios.sweeps.statistics.model_results import ModelCellResult, ModelSweepResult

MODEL_HEADINGS: Final = (
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
    "bytes/write",
)
"""The headings of the columns that `model_numbers` returns."""

LATENCIES: Final = (10_000, 100_000, 1_000_000)
"""The bounds between the latency classes of the points in the picture, in µs."""

CLASSES: Final = ("below 10 ms", "below 100 ms", "below 1 s", "1 s or more")
"""The names of the latency classes."""


def model_title(outcome: ModelSweepResult) -> str:
    """Return the title: the grid, the number of runs, and their length."""
    return f"{outcome.grid.name}: {outcome.runs:,} runs of {format_duration(outcome.grid.horizon)}"


def latency_class(cell: ModelCellResult) -> int:
    """Return the latency class to which a system's 99.9th percentile of write latency belongs."""
    return sum((cell.p999 or 0) >= bound for bound in LATENCIES)


def model_numbers(cell: ModelCellResult) -> list[str]:
    """Return the numbers of a system as text."""
    return [
        f"{cell.runs:,}",
        percent(cell.loss.value),
        f"{percent(cell.loss.low)} – {percent(cell.loss.high)}",
        _share(cell.lost),
        f"{cell.lost_most:,}",
        _share(cell.dirty),
        _share(cell.stale),
        _share(cell.write_down),
        _share(cell.read_down),
        *("–" if value is None else _time(value) for value in (cell.p50, cell.p99, cell.p999)),
        "–" if cell.bytes_per_write is None else f"{cell.bytes_per_write:,.0f}",
    ]


def _time(us: float) -> str:
    """Return a latency as text, with two significant digits."""
    whole = round(us)
    step = int(10 ** max(0, len(str(whole)) - 2))
    return format_duration(int(whole / step + 0.5) * step)


def _share(estimate: Estimate) -> str:
    if estimate.low == estimate.high:
        return percent(estimate.value)
    return f"{percent(estimate.value)} ({percent(estimate.low)} – {percent(estimate.high)})"


def model_notes(outcome: ModelSweepResult) -> list[str]:
    """Return the notes that a reader needs to understand the table."""
    grid, cells = outcome.grid, outcome.cells
    notes = [
        "P(loss): the proportion of runs that lost an acknowledged write, with Wilson's 95% interval. Writes lost: the mean proportion of "
        "acknowledged writes that a run lost, with bootstrap 95% bounds. Most: the number of writes that the worst run lost.",
        "Dirty: the mean proportion of reads that returned a row that does not exist at the end. Stale: the mean proportion of reads "
        "that missed an acknowledged write.",
        "No writes, no reads: the mean proportion of the time during which probes failed. p50, p99, p99.9: the latency of "
        "acknowledged writes, ±1.6%. "
        "Bytes/write: the number of bytes between servers for each acknowledged write. A dash (–) means that these bytes are not counted.",
        f"Each seed draws the same faults for all systems. On average, a run has {cells[0].faults / cells[0].runs:.1f} faults.",
    ]
    if any(cell.cell.variant.model == "mysql" for cell in cells):
        notes.append(
            f"An operator promotes a MySQL replica {format_duration(grid.operator_after)} after the source dies or is cut off, and "
            "rebuilds the former source. Systems other than MySQL replace their primary without an operator."
        )
    offline = [f"{cell.cell.name} {cell.offline:,}" for cell in cells if cell.offline]
    if offline:
        notes.append(f"Runs in which no server accepted writes at the end, so nothing counts as lost: {', '.join(offline)}.")
    for cell in cells:
        if cell.losing:
            more = f" and {len(cell.losing) - 8:,} more" if len(cell.losing) > 8 else ""
            notes.append(f"{cell.cell.name} lost acknowledged writes with seeds {', '.join(map(str, cell.losing[:8]))}{more}.")
    return notes
