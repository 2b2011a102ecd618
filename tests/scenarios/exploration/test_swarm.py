"""What random faults at random times reach, a search reaches with no more faults: a sample of `make explore-swarm`."""

from __future__ import annotations

import attrs
import pytest

from scenarios.exploration.evidence import evidence_lines
from scenarios.exploration.request import Request
from tests.scenarios.exploration.swarm import Case, compare, in_words, searched

CASES = (6, 109)
"""Two cases in which few random runs reach the goal with two faults. The search needs one in the first, and two in the second."""


@pytest.mark.parametrize("number", CASES)
def test_a_search_finds_what_random_faults_find(number: int) -> None:
    compared = compare(Case(number), 40)
    assert compared.least == 2, in_words(compared)
    assert compared.holds, in_words(compared)


def test_a_shutdown_is_also_tried_just_before_a_batch_is_sent() -> None:
    """The shutdown must begin between 0.6 and 1 ms before a batch is sent; then the leader appends it, and refuses it later. No situation of a
    partition changes at this moment."""
    case = Case(79)
    assert searched(case.start(), attrs.evolve(case.bounds(), at_most=1)) == 1
    request = Request(case.start(), "duplicated > 0", ("shutdown",))
    assert any("shutdown also around the first batch" in line for line in evidence_lines(request, ()))
    assert not any("around" in line for line in evidence_lines(attrs.evolve(request, goal="offline > 0"), ()))
