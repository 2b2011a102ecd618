"""Windows with several faulty nodes: their weights make their frequency that of the true faults, and every cell gets the same ones."""

from __future__ import annotations

import attrs
import pytest

from core.lab.acts import Cut, Heal, Kill, Pause, Resume, Start
from core.lab.spec import BrokerSpec
from core.sim.units import SECOND
from scenarios.sweeps.grid.fault_model import Duration, Fault, FaultKind
from scenarios.sweeps.grid.grid import Grid, Sample, Stratum
from scenarios.sweeps.grid_file.read_grid import read_grid
from scenarios.sweeps.simulation.draw_faults import DrawnFault
from scenarios.sweeps.simulation.kafka import rare_windows
from scenarios.sweeps.simulation.kafka.rare_experiment import RARE
from scenarios.sweeps.simulation.kafka.rare_windows import YEAR, draw_strata, draw_windows, expected_overlaps, most_at_once
from scenarios.sweeps.simulation.runs import Chunk, from_text, simulate_chunk, to_text
from scenarios.sweeps.statistics.rare_loss import strata_of
from tests.bench import bench_rare_loss
from tests.scenarios.sweeps.grids import RARE as TEXT
from tests.scenarios.sweeps.grids import small

MINUTE = 60 * SECOND
DAY = 1_440 * MINUTE
GAP = 50 * SECOND


def rare() -> Grid:
    return read_grid(TEXT, "rare.yaml")


def frequencies(faults: tuple[Fault, ...], spec, runs: int, years: int) -> list:  # type: ignore[no-untyped-def]
    """Return the estimated frequency of windows with one, two, and at least three nodes that are faulty at once."""
    found = []
    for seed in range(1, runs + 1):
        windows, drawn = draw_windows(faults, spec, seed, years * YEAR, GAP)
        strata = []
        for at_once in (1, 2, 3):
            weights = [window.weight / drawn for window in windows if min(window.at_once, 3) == at_once]
            strata.append(
                Sample(Stratum(len(weights), sum(weights), sum(each**2 for each in weights), max(weights, default=0.0)), None, None)
            )
        found.append(strata)
    return [stratum.frequency for stratum in strata_of(found)]


def test_overlaps_are_as_frequent_as_the_formula_says() -> None:
    spec = small().cells[0].spec
    crash = (Fault(FaultKind.CRASH, 7 * DAY, Duration(mean=10 * MINUTE)),)
    assert [expected_overlaps(crash, spec, at_once) for at_once in (1, 2, 3)] == pytest.approx([52.14, 0.0345, 5.70e-6], rel=0.001)
    for found, at_once in zip(frequencies(crash, spec, 20, 25), (1, 2, 3), strict=True):
        expected = expected_overlaps(crash, spec, at_once)
        assert expected is not None
        assert found.low <= expected <= found.high
        assert found.width < 0.8 * expected
    rack = Fault(FaultKind.RACK_OUTAGE, 7 * DAY, Duration(mean=10 * MINUTE))
    assert expected_overlaps((*crash, rack), spec, 2) is None
    racks = attrs.evolve(spec, brokers=tuple(attrs.evolve(broker, rack=f"rack {broker.id}") for broker in spec.brokers))
    assert expected_overlaps((rack,), racks, 2) == expected_overlaps(crash, spec, 2), "each rack has one broker"


def test_weighted_windows_are_as_frequent_as_windows_that_are_drawn_at_the_true_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = attrs.evolve(small().cells[0].spec, brokers=(BrokerSpec(1, "a"), BrokerSpec(2, "a"), BrokerSpec(3, "b"), BrokerSpec(4, "b")))
    faults = (
        Fault(FaultKind.CRASH, DAY, Duration(10 * MINUTE, 20 * MINUTE)),
        Fault(FaultKind.PAUSE, 10 * DAY, Duration(mean=10 * MINUTE), each_broker=True),
        Fault(FaultKind.RACK_OUTAGE, 30 * DAY, Duration(10 * MINUTE, 10 * MINUTE)),
        Fault(FaultKind.ROLLING_RESTART, 10 * DAY, Duration(5 * MINUTE, 5 * MINUTE), gap=10 * MINUTE),
    )
    weighted = frequencies(faults, spec, 20, 6)
    monkeypatch.setattr(rare_windows, "BUSY", 0.0)
    plain = frequencies(faults, spec, 4, 15)
    for one, other in zip(weighted, plain, strict=True):
        assert one.low <= other.high
        assert other.low <= one.high
        assert abs(one.value - other.value) < 0.35 * other.value


def test_nodes_that_are_faulty_at_once_are_counted_once() -> None:
    def fault(start: int, end: int, first, last) -> DrawnFault:  # type: ignore[no-untyped-def]
        return DrawnFault(FaultKind.CRASH, start, end, ((start, first), (end, last)))

    kill, pause = fault(10, 20, Kill(1), Start(1)), fault(15, 30, Pause(1), Resume(1))
    assert most_at_once((kill, pause)) == 1
    assert most_at_once((kill, fault(20, 30, Kill(2), Start(2)))) == 1
    assert most_at_once((kill, fault(19, 30, Kill(2), Start(2)))) == 2
    assert most_at_once((kill, pause, fault(12, 30, Cut(("b2", "b3")), Heal(("b2", "b3"))))) == 2


def test_cells_get_the_same_windows_and_runs_travel() -> None:
    grid = rare()
    one, other = (draw_strata(grid, cell, 3) for cell in grid.cells)
    assert [drawn.stratum for drawn in one] == [drawn.stratum for drawn in other]
    assert [drawn.episode and drawn.episode.start for drawn in one] == [drawn.episode and drawn.episode.start for drawn in other]
    assert one[0].stratum.frequency > 100 * one[1].stratum.frequency > 0
    chunk = simulate_chunk(grid, Chunk(2, 3, 3))
    assert from_text(grid, to_text(chunk)).runs == chunk.runs == (RARE.simulate(grid, grid.cells[1], 3),)
    only_two = attrs.evolve(grid.cells[0], rare=attrs.evolve(grid.cells[0].rare, at_once=2))
    assert [drawn.episode is None for drawn in draw_strata(grid, only_two, 3)] == [True, False]


@pytest.mark.slow
def test_plain_simulation_and_weighted_windows_agree_where_losses_are_frequent(monkeypatch: pytest.MonkeyPatch) -> None:
    """`tests/bench/bench_rare_loss.py` does the same with more runs."""
    monkeypatch.setattr(rare_windows, "BUSY", 0.6)
    plain, _ = bench_rare_loss.plainly(6)
    _, seen = bench_rare_loss.by_strata(12)
    assert seen is not None
    assert 0 < plain.low <= seen.high
    assert 0 < seen.low <= plain.high
