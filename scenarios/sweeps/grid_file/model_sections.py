"""Reads the sections of a grid of replication models: the systems, their load, and the operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from core.sim.units import SECOND, US_PER_MS
from scenarios.errors import InputError, did_you_mean
from scenarios.language.nodes import Fields, Node, from_data
from scenarios.language.values import as_duration, as_fields, as_text
from scenarios.models.systems import read_systems
from scenarios.sweeps.grid.fault_model import FaultKind
from scenarios.sweeps.grid.grid import MAX_CELLS, Grid
from scenarios.sweeps.grid_file.read_workload import read_positive_duration
from scenarios.sweeps.simulation.models.experiment import MODELS, ModelCell

KINDS: Final = (
    FaultKind.CRASH,
    FaultKind.POWER_LOSS,
    FaultKind.PAUSE,
    FaultKind.SLOW_DISK,
    FaultKind.CUT,
    FaultKind.ISOLATE,
    FaultKind.RACK_OUTAGE,
)
"""The kinds of faults that exist in all models. In a rack outage, the machines of all servers lose power."""

LONGEST: Final = 3_600 * SECOND
"""The maximum horizon, in µs. A sweep over models simulates the whole horizon."""


class ModelSections:
    """The systems, their load, and the operator."""

    words = ("sweep", "about", "models", "faults", "horizon", "load", "operator")
    experiment = MODELS

    def __init__(self, root: Fields) -> None:
        self.root = root
        self.systems = root.read_needed("models", "for example 'models: [kafka, mysql]'", read_systems, ())
        if len(self.systems) > MAX_CELLS:
            root.document.add(root.key_error("models", f"the grid has {len(self.systems):,} systems", f"use at most {MAX_CELLS:,}"))
        for system in self.systems:
            if len(system.servers) < 3:
                root.document.add(root.key_error("models", f"{system.name} has fewer than 3 servers", "faults hit the servers n1 to n3"))
        self.writes, self.reads = root.read("load", _read_load, (20 * US_PER_MS, 40 * US_PER_MS))
        self.operator = root.read("operator", as_duration, 30 * SECOND)

    def read_name(self, node: Node) -> str:
        """Return the name of the grid."""
        return as_text(node)

    def read_horizon(self) -> int:
        """Return the horizon, which is simulated completely."""
        return self.root.read_needed("horizon", "for example 'horizon: 60s'", _read_horizon, SECOND)

    def check(self, grid: Grid[ModelCell]) -> None:
        """Check that all models have the faults."""
        given = self.root.get("faults")
        for fault in grid.faults:
            if fault.kind not in KINDS or fault.controller:
                assert given is not None
                self.root.document.add(given.error(f"'{fault.kind}' exists only in Kafka", f"use {', '.join(KINDS)}"))

    def cells(self, grid: Grid[ModelCell]) -> tuple[ModelCell, ...]:
        """Return a cell for each system."""
        return tuple(
            ModelCell(number, system.name, None, system.variant, self.writes, self.reads, self.operator)
            for number, system in enumerate(self.systems, 1)
        )


def only_models(grid: Grid[ModelCell], names: Sequence[str]) -> Grid[ModelCell]:
    """Return a grid that contains only the named systems. A name can be that of a system in the grid, or of any system that `isrlab run
    --model` knows.

    Raises:
        InputError: there is no such system.
    """
    known = {cell.name: cell for cell in grid.cells}
    cells: list[ModelCell] = []
    for name in dict.fromkeys(names):
        cell = known.get(name)
        if cell is None:
            try:
                (system,) = read_systems(from_data({"models": [name]}, "--model").values["models"])
            except InputError:
                raise InputError(f"--model: unknown system '{name[:40]}'; {did_you_mean(name, known)}") from None
            cell = attrs.evolve(grid.cells[0], name=name, variant=system.variant)
        cells.append(attrs.evolve(cell, number=len(cells) + 1))
    return attrs.evolve(grid, cells=tuple(cells), text=f"{grid.text}# --model {' '.join(cell.name for cell in cells)}\n")


def _read_horizon(node: Node) -> int:
    horizon = as_duration(node)
    if not SECOND <= horizon <= LONGEST:
        raise node.error(f"{node.what()} is out of range", "use 1s to 1h; a sweep over models simulates the whole horizon")
    return horizon


def _read_load(node: Node) -> tuple[int, int]:
    fields = as_fields(node, "for example {writes: 20ms, reads: 40ms}")
    fields.only("writes", "reads")
    writes = fields.read("writes", read_positive_duration, 20 * US_PER_MS)
    return writes, fields.read("reads", read_positive_duration, 40 * US_PER_MS)
