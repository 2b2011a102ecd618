"""Reads a grid from YAML. Its sections about the experiment are read by `KafkaSections` or `ModelSections`, and all others are the same.

Every mistake is reported with its place and a remedy.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import attrs

from scenarios.errors import InputError, did_you_mean
from scenarios.gc_disabled import gc_disabled
from scenarios.language.nodes import parse, read_file
from scenarios.language.values import as_text
from scenarios.sweeps.grid.grid import Grid
from scenarios.sweeps.grid_file.kafka_sections import KafkaSections
from scenarios.sweeps.grid_file.model_sections import ModelSections
from scenarios.sweeps.grid_file.read_faults import read_faults

GRIDS: Final = Path(__file__).parents[1] / "library"
"""The folder of the grids that come with isrlab."""


def grid_named(name: str) -> Grid:
    """Read a grid from a file, or read a grid that comes with isrlab.

    Raises:
        InputError: the grid does not exist or is invalid.
    """
    known = sorted(path.stem for path in GRIDS.glob("*.yaml"))
    exists = os.path.exists(name)
    if not exists and name in known:
        return attrs.evolve(load_grid(GRIDS / f"{name}.yaml"), source=name)
    if not exists and "/" not in name and not name.endswith((".yaml", ".yml")):
        raise InputError(f"{name}: no such grid; {did_you_mean(name, known, 'name a file, or one of ' + ', '.join(known))}")
    return load_grid(name)


def load_grid(path: str | Path) -> Grid:
    """Read the grid in a file.

    Raises:
        InputError: the file cannot be read, or the grid is invalid.
    """
    return read_grid(read_file(path, "name a grid file"), str(path))


def read_grid(text: str, source: str) -> Grid:
    """Read a grid from text. `source` is the name of the text in error messages. A grid with `models` is a grid of replication models.

    Raises:
        ScriptError: the grid is invalid. A `ScriptMistakes` error contains all mistakes.
    """
    root = parse(text, source)
    with gc_disabled(), root.document.together(everything=True):
        sections = ModelSections(root) if "models" in root.values else KafkaSections(root)
        root.only(*sections.words)
        grid: Grid[Any] = Grid(
            name=root.read("sweep", sections.read_name, Path(source).stem),
            about=root.read("about", as_text, ""),
            source=source,
            text=text,
            experiment=sections.experiment,
            cells=(),
            faults=root.read("faults", read_faults, ()),
            horizon=sections.read_horizon(),
        )
        sections.check(grid)
    with root.document.together():
        return attrs.evolve(grid, cells=sections.cells(grid))
