"""Reads a grid of replication models: a YAML file with `models:`, `faults:`, and a load."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import attrs

from core.sim.units import SECOND, US_PER_MS
from scenarios.errors import InputError, did_you_mean
from scenarios.gc_disabled import gc_disabled
from scenarios.language.nodes import Fields, Node, from_data
from scenarios.language.values import as_duration, as_fields, as_text
from scenarios.models.systems import System, read_systems
from scenarios.sweeps.grid.fault_model import FaultKind
from scenarios.sweeps.grid.model_grid import ModelCell, ModelGrid
from scenarios.sweeps.grid_file.read_faults import read_faults

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

_ROOT: Final = ("sweep", "about", "models", "faults", "horizon", "load", "operator")


def read_model_grid(root: Fields, text: str, source: str) -> ModelGrid:
    """Read a grid of models from the top-level fields of its file.

    Raises:
        ScriptError: the grid is invalid. The error lists all mistakes.
    """
    with gc_disabled(), root.document.together(everything=True):
        root.only(*_ROOT)
        systems = root.read_needed("models", "for example 'models: [kafka, mysql]'", read_systems, ())
        for system in systems:
            if len(system.servers) < 3:
                root.document.add(root.key_error("models", f"{system.name} has fewer than 3 servers", "faults hit the servers n1 to n3"))
        load = root.read("load", _read_load, (20 * US_PER_MS, 40 * US_PER_MS))
        faults = root.read("faults", read_faults, ())
        given = root.get("faults")
        for fault in faults:
            if fault.kind not in KINDS or fault.controller:
                assert given is not None
                root.document.add(given.error(f"'{fault.kind}' exists only in Kafka", f"use {', '.join(KINDS)}"))
        return ModelGrid(
            name=root.read("sweep", as_text, Path(source).stem),
            about=root.read("about", as_text, ""),
            source=source,
            text=text,
            cells=_cells(systems),
            faults=faults,
            horizon=root.read_needed("horizon", "for example 'horizon: 60s'", _read_horizon, SECOND),
            write_every=load[0],
            read_every=load[1],
            operator_after=root.read("operator", as_duration, 30 * SECOND),
        )


def _cells(systems: Sequence[System]) -> tuple[ModelCell, ...]:
    return tuple(ModelCell(number, system.name, system.variant) for number, system in enumerate(systems, 1))


def only_models(grid: ModelGrid, names: Sequence[str]) -> ModelGrid:
    """Return a grid that contains only the named systems. A name can be that of a system in the grid, or of any system that `isrlab run
    --model` knows.

    Raises:
        InputError: there is no such system.
    """
    known = {cell.name: cell.variant for cell in grid.cells}
    cells: list[ModelCell] = []
    for name in dict.fromkeys(names):
        variant = known.get(name)
        if variant is None:
            try:
                (system,) = read_systems(from_data({"models": [name]}, "--model").values["models"])
            except InputError:
                raise InputError(f"--model: unknown system '{name[:40]}'; {did_you_mean(name, known)}") from None
            variant = system.variant
        cells.append(ModelCell(len(cells) + 1, name, variant))
    return attrs.evolve(grid, cells=tuple(cells), text=f"{grid.text}# --model {' '.join(cell.name for cell in cells)}\n")


def _read_load(node: Node) -> tuple[int, int]:
    fields = as_fields(node, "for example {writes: 20ms, reads: 40ms}")
    fields.only("writes", "reads")
    writes = fields.read("writes", _read_period, 20 * US_PER_MS)
    return writes, fields.read("reads", _read_period, 40 * US_PER_MS)


def _read_period(node: Node) -> int:
    period = as_duration(node)
    if period < US_PER_MS:
        raise node.error(f"{node.what()} is too short", "use at least 1ms")
    return period


def _read_horizon(node: Node) -> int:
    horizon = as_duration(node)
    if not SECOND <= horizon <= LONGEST:
        raise node.error(f"{node.what()} is out of range", "use 1s to 1h; a sweep over models simulates the whole horizon")
    return horizon
