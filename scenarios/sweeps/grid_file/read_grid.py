"""Reads a grid, which is a YAML file with the same section `cluster:` as a scenario.

Every mistake is reported with its place and a remedy.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import attrs

from core.lab.spec import Pace
from core.sim.units import SECOND
from scenarios.gc_disabled import gc_disabled
from scenarios.language.cluster import read_cluster
from scenarios.language.nodes import Fields, Node, parse, read_file, shortened
from scenarios.language.values import as_duration, as_fields, as_text, each
from scenarios.sweeps.grid.fault_model import FaultKind
from scenarios.sweeps.grid.grid import FaultWindow, Grid
from scenarios.sweeps.grid.model_grid import ModelGrid
from scenarios.sweeps.grid_file.read_cells import read_cells
from scenarios.sweeps.grid_file.read_faults import read_faults
from scenarios.sweeps.grid_file.read_model_grid import read_model_grid
from scenarios.sweeps.grid_file.read_workload import read_positive_duration, read_topic, read_workload
from scenarios.sweeps.simulation.draw_faults import dedicated_controllers

MAX_WHOLE: Final = 30 * 86_400 * SECOND
"""The maximum horizon, in µs, that is simulated completely. In a day, three idle brokers produce several hundred thousand events."""

_ROOT: Final = ("sweep", "about", "cluster", "workload", "consume", "faults", "horizon", "around", "vary", "cells")


def load_grid(path: str | Path) -> Grid:
    """Read the grid in a file.

    Raises:
        InputError: the file cannot be read, or the grid is invalid.
    """
    return read_grid(read_file(path, "name a grid file"), str(path))


def load_any_grid(path: str | Path) -> Grid | ModelGrid:
    """Read the grid in a file. A grid with `models` is a grid of replication models.

    Raises:
        InputError: the file cannot be read, or the grid is invalid.
    """
    text, source = read_file(path, "name a grid file"), str(path)
    root = parse(text, source)
    return read_model_grid(root, text, source) if "models" in root.values else _read_root(root, text, source)


def read_grid(text: str, source: str) -> Grid:
    """Read a grid from text. `source` is the name of the text in error messages.

    Raises:
        ScriptError: the grid is invalid. A `ScriptMistakes` error contains all mistakes.
    """
    return _read_root(parse(text, source), text, source)


def _read_root(root: Fields, text: str, source: str) -> Grid:
    with gc_disabled(), root.document.together(everything=True):
        root.only(*_ROOT)
        hint = "for example 'cluster: {brokers: 3, topics: {orders: {partitions: 6}}}'"
        spec = root.read_needed("cluster", hint, read_cluster, None)
        if spec is not None and spec.pace is not Pace.TIMELINE:
            root.document.add(root.key_error("cluster", "a sweep always uses 'pace: timeline'", "omit 'pace'"))
        topics = None if spec is None else [topic.name for topic in spec.topics]
        producers = root.read_needed(
            "workload", "for example 'workload: [{topic: orders, rate: 100}]'", lambda node: read_workload(node, topics), ()
        )
        grid = Grid(
            name=root.read("sweep", _name, Path(source).stem),
            about=root.read("about", as_text, ""),
            source=source,
            text=text,
            cells=(),
            faults=root.read("faults", read_faults, ()),
            horizon=root.read_needed("horizon", "write the time that a run represents, for example 'horizon: 365d'", _read_horizon, SECOND),
            consumers=root.read("consume", lambda node: each(node, "write a list of topics", lambda one: read_topic(one, topics)), ()),
            around=root.read("around", _read_around, None),
        )
        around, horizon, faults = root.get("around"), root.get("horizon"), root.get("faults")
        if horizon is not None and around is None and grid.horizon > MAX_WHOLE:
            root.document.add(
                horizon.error(
                    f"{horizon.what()} is too long to simulate completely",
                    "to simulate only the time around faults, write 'around: {before: 10s, after: 60s}'",
                )
            )
        if around is not None and not grid.faults and not (isinstance(faults, Fields) and faults.values):
            root.document.add(root.key_error("around", "the grid has no faults", "add some under 'faults', or omit 'around'"))
    assert spec is not None
    with root.document.together():
        grid = attrs.evolve(grid, cells=tuple(read_cells(root, spec, producers)))
        _check_faults(root, grid)
    return grid


def _read_horizon(node: Node) -> int:
    horizon = as_duration(node)
    if horizon < SECOND:
        raise node.error(f"{node.what()} is too short", "use at least 1s")
    return horizon


def _name(node: Node) -> str:
    text = as_text(node, "write a short name, for example weekly-crashes")
    if len(text) > 80 or not all(char.isalnum() or char in "-_." for char in text):
        raise node.error(f"'{shortened(text)}' is not a valid name", "use at most 80 letters, digits, and dashes")
    return text


def _read_around(node: Node) -> FaultWindow:
    fields = as_fields(node, "for example {before: 10s, after: 60s}")
    default = FaultWindow()
    with node.document.together():
        fields.only("before", "after", "near", "soon")
        return FaultWindow(
            before=fields.read("before", read_positive_duration, default.before),
            after=fields.read("after", read_positive_duration, default.after),
            near=fields.read("near", read_positive_duration, default.near),
            soon=fields.read("soon", read_positive_duration, default.soon),
        )


def _check_faults(root: Fields, grid: Grid) -> None:
    """Check that the cluster of every cell has the parts that the faults affect: racks, dedicated controllers, or a second broker."""
    faults = root.values.get("faults")
    for cell in grid.cells:
        brokers = cell.spec.brokers
        for fault in grid.faults:
            assert isinstance(faults, Fields)
            if fault.kind is FaultKind.RACK_OUTAGE and any(broker.rack is None for broker in brokers):
                raise faults.key_error(
                    fault.kind,
                    f"cell {cell.number} ({cell.name}) has brokers without a rack",
                    "give the brokers racks, or write 'vary: {racks: [3]}'",
                )
            if fault.kind is FaultKind.CONTROLLER_CRASH and not dedicated_controllers(cell.spec):
                raise faults.key_error(
                    fault.kind,
                    f"cell {cell.number} ({cell.name}) has no dedicated controllers",
                    "add controllers, for example 'controllers: [c1, c2, c3]'; a combined controller dies with its broker ('crash')",
                )
            if fault.kind is FaultKind.CUT and fault.brokers and not fault.controller and len(brokers) < 2:
                raise faults.key_error(fault.kind, f"cell {cell.number} has only one broker", "write 'between: controller'")
            if fault.kind is FaultKind.CUT and fault.controller and cell.spec.controllers:
                raise faults.key_error(
                    fault.kind, f"cell {cell.number} has a quorum of controllers", "write 'between: brokers', or omit 'controllers'"
                )
