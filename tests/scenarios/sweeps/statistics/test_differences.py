"""Differences between cells: which cells are compared, intervals worked by hand and covered as often as they say, and what pairing gains."""

from __future__ import annotations

import math
import random

import attrs
import pytest

from scenarios.sweeps.grid.grid import Cell, Sample, Stratum
from scenarios.sweeps.statistics.differences import Difference, difference_of_shares, differences_of
from tests.scenarios.sweeps.grids import small


@attrs.frozen
class FakeRun:
    cell: int
    seed: int
    lost_acknowledged: int
    value: float = 0.0
    windows: tuple[Sample, ...] = ()


class FakeExperiment:
    def means(self, grid: object, cell: Cell, run: FakeRun) -> dict[str, float]:
        return {"value": run.value}

    def samples(self, grid: object, cell: Cell, run: FakeRun) -> tuple[Sample, ...]:
        return run.windows


GRID = attrs.evolve(small(), experiment=FakeExperiment())


def compared(*values: list[FakeRun]) -> Difference:
    """Return the difference between the first two cells, whose runs are given. The other cells have the runs of the second."""
    first, second = values
    return differences_of(GRID, {1: first, 2: second, 3: second, 4: second})[2]


def test_cells_that_differ_in_one_word_are_compared() -> None:
    runs = [FakeRun(1, seed, 0) for seed in (1, 2)]
    found = differences_of(GRID, dict.fromkeys((1, 2, 3, 4), runs))
    assert [(each.one, each.other, each.word, each.before, each.after) for each in found] == [
        (1, 3, "min.insync.replicas", "1", "2"),
        (2, 4, "min.insync.replicas", "1", "2"),
        (1, 2, "acks", "1", "all"),
        (3, 4, "acks", "1", "all"),
    ]
    assert all(each.loss.value is None and each.means["value"].value is None for each in found), "no run differs"
    listed = attrs.evolve(GRID, cells=tuple(attrs.evolve(cell, values=None) for cell in GRID.cells))
    assert [(each.one, each.other) for each in differences_of(listed, dict.fromkeys((1, 2, 3, 4), runs))] == [(1, 2), (1, 3), (1, 4)]


def test_pairing_removes_what_runs_have_in_common() -> None:
    draw = random.Random(1)
    faults = [draw.gammavariate(4, 10) for _ in range(40)]
    first = [FakeRun(1, seed, 0, value) for seed, value in enumerate(faults)]
    second = [FakeRun(2, seed, 0, value + 1 + draw.random()) for seed, value in enumerate(faults)]
    change = compared(first, second).means["value"]
    assert change.value is not None
    assert change.value.value == pytest.approx(1.5, abs=0.2)
    assert change.value.width < 0.3
    assert change.gain is not None
    assert change.gain > 500


def test_a_difference_of_losses_is_as_worked_by_hand() -> None:
    first = [FakeRun(1, seed, int(seed < 10)) for seed in range(50)]
    second = [FakeRun(2, seed, int(seed < 2)) for seed in range(50)]
    change = compared(first, second).loss
    assert change.value is not None
    # Bonett and Price: (1 − 9) / 52 ± 1.96·√((1 + 9) / 52 − (8 / 52)²) / √52
    half = 1.959964 * math.sqrt((10 / 52 - (8 / 52) ** 2) / 52)
    assert (change.value.value, change.value.low, change.value.high) == pytest.approx((-0.16, -8 / 52 - half, -8 / 52 + half))
    # Variances of 10, 2, and 8 hits of 50.
    assert change.gain == pytest.approx((10 * 40 + 2 * 48) / (8 * 42))


def test_a_difference_of_rare_losses_is_in_windows_per_year() -> None:
    def run(seed: int, lost: bool) -> FakeRun:
        return FakeRun(
            1, seed, int(lost), 0, (Sample(Stratum(9, 50.0, 50.0, 1.0), None, False), Sample(Stratum(9, 0.01, 1e-6, 1e-3), None, lost))
        )

    change = compared([run(seed, lost=True) for seed in range(40)], [run(seed, lost=seed < 20) for seed in range(40)]).loss
    assert change.value is not None
    assert change.value.value == pytest.approx(-0.005)
    shares = difference_of_shares(0, 20, 40)
    assert -0.01 < change.value.low < 0.01 * shares.low < 0.01 * shares.high < change.value.high < 0, "weights have noise, too"
    same = [run(seed, lost=True) for seed in range(40)]
    assert compared(same, same).loss.value is None


def test_differences_that_are_mostly_zero_are_covered_as_often_as_they_say() -> None:
    draw = random.Random(5)
    hits = samples = 0
    for _ in range(150):
        first = [FakeRun(1, seed, 0, draw.expovariate(1) if draw.random() < 0.1 else 0.0) for seed in range(50)]
        second = [attrs.evolve(run, value=run.value + (draw.expovariate(0.5) if draw.random() < 0.1 else 0.0)) for run in first]
        found = compared(first, second).means["value"].value
        if found is not None:
            samples += 1
            hits += found.low <= 0.2 <= found.high
    assert hits / samples >= 0.93
