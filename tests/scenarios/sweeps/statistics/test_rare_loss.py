"""The frequency of losses from weighted windows: worked by hand, and covered as often as it says."""

from __future__ import annotations

import random

import pytest

from scenarios.sweeps.grid.grid import Sample, Stratum
from scenarios.sweeps.statistics.estimates import proportion
from scenarios.sweeps.statistics.rare_loss import in_a_year, losses_per_year, seen_losses_per_year, strata_of


def sample(weights: list[float], lost: bool | None) -> Sample:
    return Sample(Stratum(len(weights), sum(weights), sum(each**2 for each in weights), max(weights, default=0.0)), 2.0, lost)


def test_frequencies_and_proportions_are_multiplied_and_bounds_are_added() -> None:
    runs = [[sample([1.0] * 50, lost=False), sample([0.01, 0.01], lost=number < 5)] for number in range(20)]
    one, two = strata_of(runs)
    assert (one.frequency.value, two.frequency.value) == pytest.approx((50, 0.02))
    assert (one.losing, two.losing, one.simulated, two.windows, two.expected) == (0, 5, 20, 40, 2.0)
    assert two.share is not None
    assert (two.share.low, two.share.high) == pytest.approx((proportion(5, 20).low, proportion(5, 20).high))
    assert two.losses is not None
    assert two.losses.value == pytest.approx(0.005)
    assert two.losses.low < 0.02 * two.share.low, "the weights have noise, too"
    assert two.losses.high > 0.02 * two.share.high
    assert one.losses is not None
    assert one.losses.high == pytest.approx(one.frequency.high * proportion(0, 20).high)
    together, seen = losses_per_year((one, two)), seen_losses_per_year((one, two))
    assert (together.value, together.high) == pytest.approx((0.005, one.losses.high + two.losses.high))
    assert seen == two.losses
    assert seen_losses_per_year((one,)) is None
    assert in_a_year(together).value == pytest.approx(0.0049875, abs=1e-7)


def test_what_was_not_drawn_or_not_simulated_has_no_estimate_but_a_bound() -> None:
    never = [[sample([1.0, 2.0], lost=False), sample([], lost=None)] for _ in range(10)]
    first, second = strata_of(never)
    assert (second.windows, second.losses, second.frequency.value) == (0, None, 0)
    assert second.frequency.high == pytest.approx(3.689 * 0.2, rel=0.001), "none of at most the largest weight that was seen"
    assert losses_per_year((first, second)) == first.losses


@pytest.mark.parametrize("runs", [20, 100])
def test_intervals_cover_the_true_frequency_as_often_as_they_say(runs: int) -> None:
    """Each run draws three windows on average, whose weights differ, and 30% of windows lose records."""
    draw = random.Random(runs)
    hits = 0
    for _ in range(200):
        drawn = []
        for _ in range(runs):
            weights = [0.001 * draw.lognormvariate(0, 0.5) for _ in range(sum(draw.random() < 0.1 for _ in range(30)))]
            drawn.append([sample(weights, (draw.random() < 0.3) if weights else None)])
        (found,) = strata_of(drawn)
        assert found.losses is not None
        hits += found.losses.low <= 3 * 0.001 * 2.718281828 ** (0.125) * 0.3 <= found.losses.high
    assert hits / 200 >= 0.93
