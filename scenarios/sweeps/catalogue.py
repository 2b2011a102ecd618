"""The grids that come with isrlab, and grids in files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import attrs

from scenarios.errors import InputError, did_you_mean
from scenarios.sweeps.grid.grid import Grid
from scenarios.sweeps.grid.model_grid import ModelGrid
from scenarios.sweeps.grid_file.read_grid import load_any_grid

GRIDS: Final = Path(__file__).with_name("library")
"""The folder of the grids that come with isrlab."""


def grid_named(name: str) -> Grid | ModelGrid:
    """Read a grid from a file, or read a grid that comes with isrlab.

    Raises:
        InputError: the grid does not exist or is invalid.
    """
    known = sorted(path.stem for path in GRIDS.glob("*.yaml"))
    exists = os.path.exists(name)
    if not exists and name in known:
        return attrs.evolve(load_any_grid(GRIDS / f"{name}.yaml"), source=name)
    if not exists and "/" not in name and not name.endswith((".yaml", ".yml")):
        raise InputError(f"{name}: no such grid; {did_you_mean(name, known, 'name a file, or one of ' + ', '.join(known))}")
    return load_any_grid(name)
