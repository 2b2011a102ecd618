"""What random faults at random times reach, a search reaches with no more faults: a sample of `make explore-swarm`."""

from __future__ import annotations

import pytest

from tests.scenarios.exploration.swarm import Case, compare, in_words

CASES = (6, 109)
"""Two cases in which few random runs reach the goal with two faults. The search needs one in the first, and two in the second."""


@pytest.mark.parametrize("number", CASES)
def test_a_search_finds_what_random_faults_find(number: int) -> None:
    compared = compare(Case(number), 40)
    assert compared.least == 2, in_words(compared)
    assert compared.holds, in_words(compared)
