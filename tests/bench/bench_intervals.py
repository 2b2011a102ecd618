"""Shows by simulation how often the 95% intervals of a sweep cover the true value: `make bench`, or `bench_intervals.py --samples=N`.

Each line is a distribution of what one run yields. For 5, 20, 50, and 100 runs, the line has the percentage of samples whose interval
contains the true value and, after the slash, the same for a percentile bootstrap, which sweeps do not use. If no run yields anything, a
mean has no upper bound, and its interval counts as covering. The last number is the percentage of such samples.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scenarios.sweeps.statistics.estimates import Estimate, mean, proportion

SIZES: Final = (5, 20, 50, 100)
RESAMPLES: Final = 200

Draw = Callable[[random.Random], float]


def rarely(share: float, size: Draw) -> Draw:
    """Return a draw that is 0 except with the given probability."""
    return lambda draw: size(draw) if draw.random() < share else 0.0


VALUES: Final[dict[str, tuple[float, Draw]]] = {
    "lost in 2% of runs, exponential": (0.02, rarely(0.02, lambda draw: draw.expovariate(1))),
    "lost in 10% of runs, always 1": (0.1, rarely(0.1, lambda _: 1.0)),
    "lost in 10% of runs, exponential": (0.1, rarely(0.1, lambda draw: draw.expovariate(1))),
    "lost in 30% of runs, lognormal": (0.3 * math.exp(0.5), rarely(0.3, lambda draw: draw.lognormvariate(0, 1))),
    "lost in 50% of runs, exponential": (0.5, rarely(0.5, lambda draw: draw.expovariate(1))),
    "52 crashes, 1.8 records on average": (1.8, lambda draw: float(sum(draw.random() < 1.8 / 52 for _ in range(52)))),
    "52 outages of exponential length": (52.0, lambda draw: draw.gammavariate(52, 1)),
    "long outages in 5% of runs, else short": (0.06, lambda draw: 0.01 + (draw.expovariate(1) if draw.random() < 0.05 else 0.0)),
    "4 outages of exponential length": (4.0, lambda draw: draw.gammavariate(4, 1)),
}

SHARES: Final = (0.001, 0.02, 0.1, 0.5, 0.88)


def bootstrap(values: list[float], draw: random.Random) -> Estimate:
    """Return the percentile bootstrap interval of a mean."""
    means = sorted(sum(draw.choices(values, k=len(values))) / len(values) for _ in range(RESAMPLES))
    return Estimate(sum(values) / len(values), means[round(0.025 * (RESAMPLES - 1))], means[round(0.975 * (RESAMPLES - 1))])


def covers(found: Estimate, true: float) -> bool:
    """Return whether an interval contains the true value. A billionth more or less is rounding."""
    return found.low * (1 - 1e-9) <= true <= found.high * (1 + 1e-9)


def coverage_of_a_mean(true: float, value: Draw, runs: int, samples: int, draw: random.Random) -> tuple[float, float, float]:
    """Return the proportions of samples that are covered by the interval, that are covered by the bootstrap, and that have no bound."""
    covered = booted = unbounded = 0
    for _ in range(samples):
        values = [value(draw) for _ in range(runs)]
        found = mean(values)
        covered += covers(found, true)
        unbounded += found.high == math.inf
        booted += covers(bootstrap(values, draw), true)
    return covered / samples, booted / samples, unbounded / samples


def coverage_of_a_proportion(share: float, runs: int) -> float:
    """Return the probability that the interval of a proportion contains it, which needs no simulation."""
    return math.fsum(
        math.comb(runs, hits) * share**hits * (1 - share) ** (runs - hits)
        for hits in range(runs + 1)
        if covers(proportion(hits, runs), share)
    )


def main() -> None:
    """Print the tables."""
    samples = next((int(argument.removeprefix("--samples=")) for argument in sys.argv if argument.startswith("--samples=")), 400)
    print(f"{'proportion':<36}" + "".join(f"{f'{runs} runs':>20}" for runs in SIZES))
    for share in SHARES:
        print(f"{share:<36.1%}" + "".join(f"{coverage_of_a_proportion(share, runs):>20.1%}" for runs in SIZES))
    print(f"\n{f'mean, {samples} samples':<36}" + "".join(f"{f'{runs} runs':>20}" for runs in SIZES))
    draw = random.Random(1)
    for name, (true, value) in VALUES.items():
        cells = (coverage_of_a_mean(true, value, runs, samples, draw) for runs in SIZES)
        print(f"{name:<36}" + "".join(f"{f'{own:.0%} / {booted:.0%}, {none:.0%}':>20}" for own, booted, none in cells))


if __name__ == "__main__":
    main()
