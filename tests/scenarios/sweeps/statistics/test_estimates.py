"""Compares intervals with published values and with their promised coverage, and histograms with sorted values."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.sweeps.grid.fault_model import exponential
from scenarios.sweeps.simulation.histogram import RELATIVE_ERROR, Histogram, Percentile, bucket_of, middle_of
from scenarios.sweeps.statistics.estimates import Estimate, mean, proportion
from scenarios.sweeps.statistics.quantiles import beta_cdf, beta_quantile, gamma_cdf, gamma_quantile, student_quantile


@pytest.mark.parametrize(
    ("hits", "runs", "low", "high"),
    # Newcombe, Statistics in Medicine 17 (1998), table I, method 5.
    [(81, 263, 0.2527, 0.3676), (15, 148, 0.0578, 0.1617), (0, 20, 0.0, 0.1684), (1, 29, 0.0009, 0.1776)],
)
def test_the_interval_of_a_proportion_is_as_published(hits: int, runs: int, low: float, high: float) -> None:
    found = proportion(hits, runs)
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)
    mirrored = proportion(runs - hits, runs)
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx((found.low, found.high), abs=1e-9)


def test_quantiles_are_as_published() -> None:
    # NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7: Student's t, and chi-square, which is twice a gamma variate.
    assert [student_quantile(0.975, freedom) for freedom in (1, 4, 49, 100)] == pytest.approx([12.706, 2.776, 2.010, 1.984], abs=6e-4)
    assert [2 * gamma_quantile(0.975, freedom / 2) for freedom in (1, 2, 10, 100)] == pytest.approx(
        [5.024, 7.378, 20.483, 129.561], abs=6e-4
    )
    assert [2 * gamma_quantile(0.025, freedom / 2) for freedom in (1, 2, 10, 100)] == pytest.approx([0.001, 0.051, 3.247, 74.222], abs=6e-4)
    assert (beta_quantile(0.5, 0, 3), beta_quantile(0.5, 3, 0), gamma_quantile(0.5, 0)) == (0, 1, 0)


@given(st.floats(0.5, 500), st.floats(0.5, 500), st.floats(0.001, 0.999))
def test_quantiles_are_where_the_distribution_functions_say(a: float, b: float, share: float) -> None:
    assert beta_cdf(beta_quantile(share, a, b), a, b) == pytest.approx(share, abs=1e-4)
    assert gamma_cdf(gamma_quantile(share, a), a) == pytest.approx(share, abs=1e-4)
    assert beta_quantile(share, a, b) + beta_quantile(1 - share, b, a) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("runs", [5, 20, 50, 100])
def test_intervals_of_rare_and_of_common_values_cover_the_mean_as_often_as_they_say(runs: int) -> None:
    """`tests/bench/bench_intervals.py` has more distributions and more samples. A percentile bootstrap covers the first one in 17% to 84%."""
    draw = random.Random(runs)
    rare = lambda: draw.expovariate(1) if draw.random() < 0.05 else 0.0  # noqa: E731
    outages = lambda: draw.gammavariate(20, 1)  # noqa: E731
    nearly = lambda: 0.001 + (draw.expovariate(1) if draw.random() < 0.1 else 0.0)  # noqa: E731
    for value, true, samples in ((rare, 0.05, 150), (outages, 20.0, 150), (nearly, 0.101, 150 if runs >= 50 else 1)):
        found = [mean([value() for _ in range(runs)]) for _ in range(samples)]
        assert all(each.low <= each.value <= each.high for each in found)
        assert sum(each.low <= true <= each.high for each in found) / samples >= 0.91 or samples == 1


def test_a_mean_of_nothing_seen_has_a_bound_only_if_its_values_have_one() -> None:
    assert mean([0, 0, 0]) == Estimate(0, 0, math.inf)
    assert mean([0.0] * 20, most=0.5).high == pytest.approx(0.5 * 0.1684, abs=1e-4)
    assert mean([0.9, 1.0], most=1.0).high == 1.0
    assert mean([7, 7, 7]) == Estimate(7, 7, 7)
    for nothing in (lambda: mean([]), lambda: proportion(0, 0)):
        with pytest.raises(ValueError, match="at least one"):
            nothing()


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(1, 50)), min_size=1, max_size=60), st.sampled_from([0.5, 0.9, 0.99, 0.999]))
def test_a_histograms_percentile_is_that_of_the_sorted_values(counted: list[tuple[int, int]], share: float) -> None:
    first, second = Histogram(), Histogram()
    for number, (value, count) in enumerate(counted):
        (first if number % 2 else second).add(value, count)
    second.merge(first.counts)
    values = sorted(value for value, count in counted for _ in range(count))
    exact = values[max(0, -(-round(share * 1000) * len(values) // 1000) - 1)]
    assert second.percentiles([share])[0].value == pytest.approx(exact, rel=RELATIVE_ERROR, abs=0.5)


def test_what_was_never_answered_counts_with_its_wait_so_far() -> None:
    answered, waits = Histogram(), Histogram()
    answered.add(2_000, 1_400)
    waits.add(30_000_000, 4_600)  # blocked for 46 of 60 s
    half, most = answered.percentiles([0.1, 0.99], waits)
    assert half == Percentile(pytest.approx(2_000, rel=RELATIVE_ERROR), at_least=False)
    assert most == Percentile(pytest.approx(30_000_000, rel=RELATIVE_ERROR), at_least=True)
    assert answered.percentiles([0.99])[0] == half
    assert Histogram().percentiles([0.5]) == [None]


@given(st.integers(0, 2**50))
def test_buckets_are_in_order_and_hold_their_middle(value: int) -> None:
    assert bucket_of(value) <= bucket_of(value + 1)
    assert bucket_of(int(middle_of(bucket_of(value)))) == bucket_of(value)


def test_exponential_variates_have_their_mean_and_tail() -> None:
    draw = random.Random(3)
    values = [exponential(draw) for _ in range(20_000)]
    assert sum(values) / 20_000 == pytest.approx(1, abs=0.03)
    assert sum(value > 2 for value in values) / 20_000 == pytest.approx(0.1353, abs=0.01)
    assert sum(value > 0.5 for value in values) / 20_000 == pytest.approx(0.6065, abs=0.015)
