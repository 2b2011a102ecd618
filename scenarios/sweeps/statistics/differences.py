"""How much cells differ, with 95% confidence intervals.

A seed has the same faults in every cell. The difference between two cells is therefore estimated from the differences of runs with the same
seed, in which what the faults have in common cancels out. The gain of this pairing is the number of times as many runs with different seeds
would be needed for the same precision.

- For proportions, the interval is that of Bonett and Price (Statistical Methods in Medical Research 21, 2012), from the numbers of seeds with
  which only one of the two cells lost records.
- For means, the interval is Student's if the differences are of a similar size. Otherwise, the runs in which the second cell has more and those in
  which it has less are two means of few large values (`estimates.mean`), whose bounds are combined. Where no run differs, there is no interval.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from scenarios.sweeps.grid.grid import Cell, Grid, Run, Sample
from scenarios.sweeps.statistics.estimates import Estimate, is_even, mean, student, variance
from scenarios.sweeps.statistics.rare_loss import StratumResult, strata_of

Z: Final = 1.959963984540054
"""The two-sided 95% quantile of the normal distribution."""


@attrs.frozen
class Change:
    """The difference of a quantity between two cells.

    Attributes:
        value: the difference with its interval; None if no run differs.
        gain: how many times as many runs would be needed with different seeds; None if no run differs.
    """

    value: Estimate | None
    gain: float | None


@attrs.frozen
class Difference:
    """What the second of two cells has more than the first one.

    Attributes:
        one, other: the cells.
        word, before, after: the only parameter of the grid in which they differ, with its values; the names of the cells if there is none.
        runs: the number of seeds that both cells have run.
        loss: the difference of the probabilities of a loss in a run or, with strata, of the windows per year that lose records.
        means: the differences of the means, by name.
    """

    one: int
    other: int
    word: str
    before: str
    after: str
    runs: int
    loss: Change
    means: Mapping[str, Change]


def differences_of(grid: Grid[Any], runs: Mapping[int, Sequence[Run]]) -> tuple[Difference, ...]:
    """Return the differences between cells that differ in one parameter, for values that follow each other. Cells that the grid lists are
    compared with the first one. `runs` has the runs of each cell, in the order of their seeds."""
    found = []
    for one, other, word, before, after in _pairs(grid.cells):
        count = min(len(runs[one.number]), len(runs[other.number]))
        first, second = runs[one.number][:count], runs[other.number][:count]
        if count < 2:
            continue
        samples = [[grid.experiment.samples(grid, cell, run) for run in own] for cell, own in ((one, first), (other, second))]
        if samples[0][0]:
            loss = _change_of_strata(*samples)
        else:
            loss = _change_of_shares([run.lost_acknowledged > 0 for run in first], [run.lost_acknowledged > 0 for run in second])
        measured = [[grid.experiment.means(grid, cell, run) for run in own] for cell, own in ((one, first), (other, second))]
        means = {name: _change_of_means(*([run[name] for run in own] for own in measured)) for name in measured[0][0]}
        found.append(Difference(one.number, other.number, word, before, after, count, loss, means))
    return tuple(found)


def _pairs(cells: Sequence[Cell]) -> Iterator[tuple[Cell, Cell, str, str, str]]:
    words = [word for word, _ in cells[0].values or ()]
    if not words or any([word for word, _ in cell.values or ()] != words for cell in cells):
        yield from ((cells[0], other, "", cells[0].name, other.name) for other in cells[1:])
        return
    by_values = {tuple(value for _, value in cell.values or ()): cell for cell in cells}
    for place, word in enumerate(words):
        scale = list(dict.fromkeys(values[place] for values in by_values))
        for before, after in itertools.pairwise(scale):
            for values, one in by_values.items():
                other = by_values.get((*values[:place], after, *values[place + 1 :]))
                if values[place] == before and other is not None:
                    yield one, other, word, before, after


def difference_of_shares(more: float, fewer: float, runs: float) -> Estimate:
    """Return the difference of two proportions of the same runs. `more` and `fewer` are the numbers of runs that are hits only in the second
    and only in the first case. In weighted samples, they need not be whole."""
    up, down = (more + 1) / (runs + 2), (fewer + 1) / (runs + 2)
    half = Z * math.sqrt((up + down - (up - down) ** 2) / (runs + 2))
    return Estimate((more - fewer) / runs, max(-1.0, up - down - half), min(1.0, up - down + half))


def _change_of_shares(one: Sequence[bool], other: Sequence[bool]) -> Change:
    more = sum(b and not a for a, b in zip(one, other, strict=True))
    fewer = sum(a and not b for a, b in zip(one, other, strict=True))
    value = difference_of_shares(more, fewer, len(one)) if more or fewer else None
    return Change(value, _gain([float(each) for each in one], [float(each) for each in other]))


def _change_of_means(one: Sequence[float], other: Sequence[float]) -> Change:
    each = [after - before for before, after in zip(one, other, strict=True)]
    if not any(each):
        return Change(None, None)
    gain = _gain(one, other)
    if is_even([abs(value) for value in each]):
        return Change(student(each), gain)
    up, down = (_mean_or_nothing([max(0.0, sign * value) for value in each]) for sign in (1, -1))
    value = up.value - down.value
    return Change(
        Estimate(
            value,
            value - math.hypot(up.value - up.low, down.high - down.value),
            value + math.hypot(up.high - up.value, down.value - down.low),
        ),
        gain,
    )


def _mean_or_nothing(values: Sequence[float]) -> Estimate:
    return mean(values) if any(values) else Estimate(0.0, 0.0, 0.0)


def _gain(one: Sequence[float], other: Sequence[float]) -> float | None:
    each = variance([after - before for before, after in zip(one, other, strict=True)])
    return (variance(one) + variance(other)) / each if each else None


def _change_of_strata(one: Sequence[tuple[Sample, ...]], other: Sequence[tuple[Sample, ...]]) -> Change:
    """Return the difference in windows per year that lose records, for the numbers of faulty nodes with which any of the cells lost some."""
    parts, apart, paired = [], 0.0, 0.0
    for stratum, before, after in zip(strata_of(one), zip(*one, strict=False), zip(*other, strict=False), strict=False):
        if any(a.stratum != b.stratum for a, b in zip(before, after, strict=True)):
            return Change(None, None)  # other windows, so that runs are not paired
        both = [(a, b) for a, b in zip(before, after, strict=True) if a.lost is not None and b.lost is not None]
        if not any(a.lost or b.lost for a, b in both):
            continue
        weights = [a.stratum.frequency for a, _ in both]
        total, square = math.fsum(weights), math.fsum(weight * weight for weight in weights)
        runs = total * total / square
        more, fewer, first, second = (
            math.fsum(weight for weight, hit in zip(weights, hits, strict=True) if hit) / total
            for hits in (
                [b.lost and not a.lost for a, b in both],
                [a.lost and not b.lost for a, b in both],
                [a.lost for a, _ in both],
                [b.lost for _, b in both],
            )
        )
        scale = stratum.frequency.value**2 / runs
        apart += scale * (first * (1 - first) + second * (1 - second))
        paired += scale * (more + fewer - (more - fewer) ** 2)
        if more or fewer:
            parts.append(_scaled(difference_of_shares(more * runs, fewer * runs, runs), stratum))
    if not parts:
        return Change(None, None)
    value = sum(part.value for part in parts)
    low = value - math.hypot(*(part.value - part.low for part in parts))
    high = value + math.hypot(*(part.high - part.value for part in parts))
    return Change(Estimate(value, low, high), apart / paired if paired else None)


def _scaled(share: Estimate, stratum: StratumResult) -> Estimate:
    """Return the difference of two proportions of windows as a number of windows per year, with the noise of their frequency."""
    often = stratum.frequency
    value = share.value * often.value
    noise = abs(share.value) * (often.high - often.low) / 2
    return Estimate(
        value, value - math.hypot(value - share.low * often.value, noise), value + math.hypot(share.high * often.value - value, noise)
    )
