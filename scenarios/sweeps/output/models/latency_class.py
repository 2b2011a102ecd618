"""Classes of write latency, which the pictures show as the sizes of points."""

from __future__ import annotations

from typing import Final

from scenarios.sweeps.simulation.models.experiment import ModelCell
from scenarios.sweeps.statistics.cell_results import CellResult

LATENCIES: Final = (10_000, 100_000, 1_000_000)
"""The bounds between the latency classes of the points in the picture, in µs."""

CLASSES: Final = ("below 10 ms", "below 100 ms", "below 1 s", "1 s or more")
"""The names of the latency classes."""


def latency_class(cell: CellResult[ModelCell]) -> int:
    """Return the latency class to which a system's 99.9th percentile of write latency belongs."""
    p999 = cell.latencies[-1]
    return 0 if p999 is None else sum(p999.value >= bound for bound in LATENCIES)
