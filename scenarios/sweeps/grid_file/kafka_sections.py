"""Reads the sections of a grid of Kafka's settings. The section `cluster:` is the same as in a scenario."""

from __future__ import annotations

from typing import Final

from core.lab.spec import Pace
from core.sim.units import SECOND
from scenarios.language.budget import check_clients
from scenarios.language.cluster import read_cluster
from scenarios.language.nodes import Fields, Node, shortened
from scenarios.language.values import as_duration, as_fields, as_int, as_text, each
from scenarios.sweeps.grid.fault_model import FaultKind
from scenarios.sweeps.grid.grid import Grid, format_horizon
from scenarios.sweeps.grid_file.read_cells import read_cells
from scenarios.sweeps.grid_file.read_workload import read_positive_duration, read_topic, read_workload
from scenarios.sweeps.simulation.draw_faults import dedicated_controllers
from scenarios.sweeps.simulation.kafka.cell import FaultWindow, KafkaCell, RareWindows
from scenarios.sweeps.simulation.kafka.experiment import KAFKA
from scenarios.sweeps.simulation.kafka.rare_experiment import RARE
from scenarios.sweeps.simulation.kafka.rare_windows import YEAR, number_of_strata

MAX_WHOLE: Final = 30 * 86_400 * SECOND
"""The maximum time of a run, in µs, that is simulated: the whole horizon, or the time around faults. In a day, three idle brokers produce several hundred thousand events."""

MAX_FAULTS: Final = 100_000
"""The maximum number of faults in a run, on average."""

MAX_YEARS: Final = 100_000
"""The maximum number of years whose faults a run draws."""

DAY: Final = 86_400 * SECOND


class KafkaSections:
    """The cluster, the workload, the windows around faults, and the parameters that vary."""

    words = ("sweep", "about", "cluster", "workload", "consume", "faults", "horizon", "around", "rare", "vary", "cells")

    def __init__(self, root: Fields) -> None:
        self.root = root
        hint = "for example 'cluster: {brokers: 3, topics: {orders: {partitions: 6}}}'"
        self.spec = spec = root.read_needed("cluster", hint, read_cluster, None)
        if spec is not None and spec.pace is not Pace.TIMELINE:
            root.document.add(root.key_error("cluster", "a sweep always uses 'pace: timeline'", "omit 'pace'"))
        topics = None if spec is None else [topic.name for topic in spec.topics]
        self.producers = root.read_needed(
            "workload", "for example 'workload: [{topic: orders, rate: 100}]'", lambda node: read_workload(node, topics), ()
        )
        self.consumers = root.read("consume", lambda node: each(node, "write a list of topics", lambda one: read_topic(one, topics)), ())
        self.rare = root.read("rare", _read_rare, None)
        self.around = root.read("around", _read_around, None if self.rare is None else FaultWindow())
        self.experiment = KAFKA if self.rare is None else RARE

    def read_name(self, node: Node) -> str:
        """Return the name of the grid, which is also part of the names of its scenarios."""
        text = as_text(node, "write a short name, for example weekly-crashes")
        if len(text) > 80 or not all(char.isalnum() or char in "-_." for char in text):
            raise node.error(f"'{shortened(text)}' is not a valid name", "use at most 80 letters, digits, and dashes")
        return text

    def read_horizon(self) -> int:
        """Return the horizon, which has no limit if only windows around faults are simulated. With `rare`, it is the number of years."""
        root = self.root
        if self.rare is None:
            return root.read_needed("horizon", "write the time that a run represents, for example 'horizon: 365d'", _read_horizon, SECOND)
        if "horizon" in root.values:
            root.document.add(
                root.key_error(
                    "horizon", "a grid with 'rare' has no horizon", "write how many years of faults a run draws: 'rare: {years: 25}'"
                )
            )
        return self.rare.years * YEAR

    def check(self, grid: Grid[KafkaCell]) -> None:
        """Check that the whole horizon is short, and that there are faults for the windows around faults."""
        root = self.root
        around, horizon, faults = root.get("around"), root.get("horizon"), root.get("faults")
        if horizon is not None and around is None and grid.horizon > MAX_WHOLE:
            root.document.add(
                horizon.error(
                    f"{horizon.what()} is too long to simulate completely",
                    "to simulate only the time around faults, write 'around: {before: 10s, after: 60s}'",
                )
            )
        if workload := root.get("workload"):
            workload.tried(self._check_clients, None)
        if around is not None and not grid.faults and not (isinstance(faults, Fields) and faults.values):
            root.document.add(root.key_error("around", "the grid has no faults", "add some under 'faults', or omit 'around'"))

    def cells(self, grid: Grid[KafkaCell]) -> tuple[KafkaCell, ...]:
        """Return the cells: each of `cells` with each combination of `vary`."""
        assert self.spec is not None
        cells = tuple(read_cells(self.root, self.spec, self.producers, self.consumers, self.around, self.rare))
        self._check_faults(grid, cells)
        self._check_rare(cells)
        self._check_budget(grid, cells)
        return cells

    def _check_clients(self, workload: Node) -> None:
        check_clients([producing.name for producing in self.producers] + list(self.consumers), workload, whole="grid")

    def _check_rare(self, cells: tuple[KafkaCell, ...]) -> None:
        """Refuse a grid that would simulate no window."""
        for cell in cells:
            if self.rare is not None and self.rare.at_once > number_of_strata(cell):
                raise self.root.key_error(
                    "rare",
                    f"cell {cell.number} ({cell.name}) has {number_of_strata(cell)} replicas of each partition, fewer than 'at-once'",
                    "write a smaller number after 'at-once'",
                )

    def _check_budget(self, grid: Grid[KafkaCell], cells: tuple[KafkaCell, ...]) -> None:
        """Refuse a grid whose runs have too many faults, or simulate too much time around them, on average."""
        brokers = max(len(cell.spec.brokers) for cell in cells)
        faults, around, window = self.root.values.get("faults"), self.root.values.get("around"), self.around
        total = simulated = 0
        for fault in grid.faults:
            assert isinstance(faults, Fields)
            count = grid.horizon * (brokers if fault.each_broker else 1) // fault.every
            total += count
            if total > MAX_FAULTS:
                raise faults.key_error(
                    fault.kind,
                    f"a run has about {total:,} faults",
                    f"use at most {MAX_FAULTS:,}: write a longer 'every', or a shorter 'horizon'",
                )
            lasts = fault.lasts.expected
            if fault.kind is FaultKind.ROLLING_RESTART:
                lasts = brokers * (lasts + fault.gap)
            if window is not None and self.rare is None:
                simulated += count * (window.before + lasts + window.after)
        if window is not None and self.rare is None:
            simulated = min(simulated, grid.horizon + window.before + window.after)
            if simulated > MAX_WHOLE:
                assert around is not None
                raise around.error(
                    f"a run simulates about {format_horizon(simulated // DAY * DAY)} around its faults",
                    f"use at most {format_horizon(MAX_WHOLE)}: write fewer or shorter faults, or shorter times around them",
                )

    def _check_faults(self, grid: Grid[KafkaCell], cells: tuple[KafkaCell, ...]) -> None:
        """Check that the cluster of every cell has the parts that the faults affect: racks, dedicated controllers, or a second broker."""
        faults = self.root.values.get("faults")
        for cell in cells:
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


def _read_horizon(node: Node) -> int:
    horizon = as_duration(node)
    if horizon < SECOND:
        raise node.error(f"{node.what()} is too short", "use at least 1s")
    return horizon


def _read_rare(node: Node) -> RareWindows:
    fields = as_fields(node, "for example {years: 25}")
    default = RareWindows()
    with node.document.together():
        fields.only("years", "at-once")
        return RareWindows(
            years=fields.read("years", lambda one: as_int(one, 1, MAX_YEARS), default.years),
            at_once=fields.read("at-once", lambda one: as_int(one, 1), default.at_once),
        )


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
