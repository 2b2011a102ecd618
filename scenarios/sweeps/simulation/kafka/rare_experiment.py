"""The experiment on rare losses: one run draws many years of faults, and simulates one window for each number of nodes that are faulty at once."""

from __future__ import annotations

import math
from typing import Final

import attrs

from scenarios.sweeps.grid.grid import Counts, Grid, Sample, Stratum
from scenarios.sweeps.simulation.event_limit import EventLimit
from scenarios.sweeps.simulation.kafka.cell import KafkaCell
from scenarios.sweeps.simulation.kafka.rare_windows import draw_strata, expected_overlaps
from scenarios.sweeps.simulation.kafka.simulate_episode import EpisodeResult, simulate_episode
from scenarios.sweeps.simulation.runs import as_numbers, as_values


@attrs.frozen
class RareRun:
    """The result of one cell with one seed.

    Attributes:
        cell, seed: the cell and the seed of the run.
        windows, frequencies, squares, largest: for each number of nodes that are faulty at once, the windows that were drawn (`Stratum`).
        simulated: the numbers of nodes that are faulty at once in the simulated windows.
        losing: those of them whose window lost acknowledged records.
        simulated_us: the total virtual time of the windows, in µs.
        faults: the number of faults in the simulated windows.
        events: the number of events that the windows recorded.
        acked: the number of acknowledged records.
        lost, lost_acknowledged, lost_read: the numbers of lost records in all simulated windows, as in `KafkaRun`.
        unclean: the number of unclean elections.
        not_whole: the number of windows that ended before the cluster had recovered.
    """

    cell: int
    seed: int
    windows: tuple[int, ...] = attrs.field(converter=as_numbers)
    frequencies: tuple[float, ...] = attrs.field(converter=as_values)
    squares: tuple[float, ...] = attrs.field(converter=as_values)
    largest: tuple[float, ...] = attrs.field(converter=as_values)
    simulated: tuple[int, ...] = attrs.field(converter=as_numbers)
    losing: tuple[int, ...] = attrs.field(converter=as_numbers)
    simulated_us: int
    faults: int
    events: int
    acked: int
    lost: int
    lost_acknowledged: int
    lost_read: int
    unclean: int
    not_whole: int

    @property
    def latencies(self) -> Counts:
        """Latencies are not measured, because windows of all numbers of faulty nodes would count the same."""
        return ()

    @property
    def waits(self) -> Counts:
        """Nothing, as for latencies."""
        return ()


class RareExperiment:
    """Kafka clusters in windows in which several nodes are faulty at the same time."""

    run_type = RareRun
    most = math.inf

    def simulate(self, grid: Grid[KafkaCell], cell: KafkaCell, seed: int) -> RareRun:
        """Draw the faults of a run, and simulate the windows that it chooses."""
        limit = None if grid.max_events is None else EventLimit(grid.max_events)
        played: dict[int, EpisodeResult] = {}
        strata = draw_strata(grid, cell, seed)
        for at_once, drawn in enumerate(strata, start=1):
            if drawn.episode is not None:
                played[at_once] = simulate_episode(cell, drawn.episode, limit)
                if limit is not None:
                    limit.next_cluster(played[at_once].events)
        results = played.values()
        return RareRun(
            cell=cell.number,
            seed=seed,
            windows=tuple(drawn.stratum.windows for drawn in strata),
            frequencies=tuple(drawn.stratum.frequency for drawn in strata),
            squares=tuple(drawn.stratum.square for drawn in strata),
            largest=tuple(drawn.stratum.largest for drawn in strata),
            simulated=tuple(played),
            losing=tuple(at_once for at_once, result in played.items() if result.lost_acknowledged),
            simulated_us=sum(each.end for each in results),
            faults=sum(each.episode.faults for each in results),
            events=sum(each.events for each in results),
            acked=sum(each.meter.acked for each in results),
            lost=sum(each.lost for each in results),
            lost_acknowledged=sum(each.lost_acknowledged for each in results),
            lost_read=sum(each.lost_read for each in results),
            unclean=sum(each.meter.unclean for each in results),
            not_whole=sum(1 for each in results if not each.recovered),
        )

    def means(self, grid: Grid[KafkaCell], cell: KafkaCell, run: RareRun) -> dict[str, float]:
        """Return nothing: means over runs have no meaning, because each window has its own weight."""
        return {}

    def samples(self, grid: Grid[KafkaCell], cell: KafkaCell, run: RareRun) -> tuple[Sample, ...]:
        """Return the windows of a run, one for each number of nodes that are faulty at once."""
        rows = zip(run.windows, run.frequencies, run.squares, run.largest, strict=True)
        return tuple(
            Sample(
                Stratum(*row),
                expected_overlaps(grid.faults, cell.spec, at_once),
                (at_once in run.losing) if at_once in run.simulated else None,
            )
            for at_once, row in enumerate(rows, start=1)
        )


RARE: Final = RareExperiment()
