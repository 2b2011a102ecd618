"""Compares intervals with published values and with their promised coverage, and histograms with sorted values."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.sweeps.grid.fault_model import exponential
from scenarios.sweeps.simulation.histogram import RELATIVE_ERROR, Histogram, Percentile, bucket_of, middle_of
from scenarios.sweeps.statistics.estimates import bootstrap, wilson


@pytest.mark.parametrize(
    ("hits", "runs", "low", "high"),
    # Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_is_as_published(hits: int, runs: int, low: float, high: float) -> None:
    found = wilson(hits, runs)
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)
    mirrored = wilson(runs - hits, runs)
    assert (round(1 - mirrored.high, 9), round(1 - mirrored.low, 9)) == (round(found.low, 9), round(found.high, 9))


def test_a_bootstrap_covers_the_mean_about_as_often_as_it_says() -> None:
    draw = random.Random(1)
    hits = 0
    for number in range(60):
        found = bootstrap([draw.random() + draw.random() for _ in range(60)], str(number))
        assert found.low <= found.value <= found.high
        hits += found.low <= 1.0 <= found.high
    assert 0.88 <= hits / 60 <= 0.99


def test_many_values_are_averaged_in_blocks_without_changing_mean_or_spread() -> None:
    draw = random.Random(2)
    values = [draw.expovariate(1) for _ in range(4_321)]
    found = bootstrap(values, "x")
    assert found.value == pytest.approx(sum(values) / len(values))
    assert found.width == pytest.approx(2 * 1.96 / 4_321**0.5, rel=0.2)


def test_equal_values_leave_no_doubt() -> None:
    assert bootstrap([7, 7, 7], "x").width == 0
    for nothing in (lambda: bootstrap([], "x"), lambda: wilson(0, 0)):
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
