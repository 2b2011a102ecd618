"""Estimates how often records are lost per year from windows that were drawn with weights.

For each number of nodes that are faulty at once, the frequency of such windows is multiplied by the proportion of them that lose records.

- The frequency is the sum of the weights of the drawn windows. Its interval is that of a weighted sum of Poisson counts (Fay and Feuer,
  Statistics in Medicine 16, 1997), so that it includes the noise of the weights.
- Each run simulates a window that was chosen by its weight, and counts with the total weight of the windows from which it was chosen. The
  proportion therefore has the exact interval for the effective number of runs, (Σw)²/Σw² (Korn and Graubard, Survey Methodology 24, 1998).
- The bounds of all numbers of faulty nodes are added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs

from scenarios.sweeps.grid.grid import Sample
from scenarios.sweeps.statistics.estimates import TAIL, Estimate, product, proportion
from scenarios.sweeps.statistics.quantiles import gamma_quantile


@attrs.frozen
class StratumResult:
    """The windows with the same number of nodes that are faulty at once.

    Attributes:
        at_once: the number of nodes.
        windows: the number of windows that were drawn.
        frequency: how many there are per year.
        expected: the same by a formula; None if there is none.
        simulated, losing: the numbers of windows that were simulated, and that lost acknowledged records.
        share: the proportion of windows that lose acknowledged records; None if none was simulated.
        losses: the number of windows per year that lose acknowledged records; None if none was simulated.
    """

    at_once: int
    windows: int
    frequency: Estimate
    expected: float | None
    simulated: int
    losing: int
    share: Estimate | None
    losses: Estimate | None


def strata_of(runs: Sequence[Sequence[Sample]]) -> tuple[StratumResult, ...]:
    """Return the results by the number of nodes that are faulty at once. `runs` has the samples of each run."""
    found: list[StratumResult] = []
    largest = 0.0
    for place, samples in enumerate(zip(*runs, strict=True)):
        largest = max((sample.stratum.largest for sample in samples if sample.stratum.windows), default=largest)
        frequency = _frequency(samples, largest)
        played = [sample for sample in samples if sample.lost is not None]
        share = losses = None
        if played:
            share = _share(played)
            losses = product(frequency, share)
        found.append(
            StratumResult(
                at_once=place + 1,
                windows=sum(sample.stratum.windows for sample in samples),
                frequency=frequency,
                expected=samples[0].expected,
                simulated=len(played),
                losing=sum(sample.lost is True for sample in played),
                share=share,
                losses=losses,
            )
        )
    return tuple(found)


def losses_per_year(strata: Sequence[StratumResult]) -> Estimate:
    """Return how many windows per year lose acknowledged records. The bounds of all numbers of faulty nodes that were simulated are added."""
    return _added([stratum.losses for stratum in strata if stratum.losses is not None])


def seen_losses_per_year(strata: Sequence[StratumResult]) -> Estimate | None:
    """Return the same for the numbers of faulty nodes with which a loss was seen; None if there is none."""
    seen = [stratum.losses for stratum in strata if stratum.losses is not None and stratum.losing]
    return _added(seen) if seen else None


def in_a_year(losses: Estimate) -> Estimate:
    """Return the probability of at least one loss in a year."""
    return Estimate(*(-math.expm1(-rate) for rate in (losses.value, losses.low, losses.high)))


def _added(parts: Sequence[Estimate]) -> Estimate:
    return Estimate(sum(each.value for each in parts), sum(each.low for each in parts), sum(each.high for each in parts))


def _frequency(samples: Sequence[Sample], largest: float) -> Estimate:
    """Return how many windows there are per year. If none was drawn, one could have had the `largest` weight."""
    runs = len(samples)
    total = math.fsum(sample.stratum.frequency for sample in samples) / runs
    square = math.fsum(sample.stratum.square for sample in samples) / runs**2
    most = largest / runs
    more, spread = total + most, square + most * most
    high = spread / more * gamma_quantile(1 - TAIL, more * more / spread) if more else math.inf
    low = square / total * gamma_quantile(TAIL, total * total / square) if total else 0.0
    return Estimate(total, low, high)


def _share(samples: Sequence[Sample]) -> Estimate:
    """Return the proportion of windows with a loss, from runs that count with the weights of their windows."""
    weights = [sample.stratum.frequency for sample in samples]
    total = math.fsum(weights)
    runs = total * total / math.fsum(weight * weight for weight in weights)
    hits = math.fsum(weight for weight, sample in zip(weights, samples, strict=True) if sample.lost) / total
    return proportion(hits * runs, runs)
