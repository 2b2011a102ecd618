"""The majority log keeps the safety properties of the Raft paper in all orders of events within small bounds."""

from __future__ import annotations

import pytest

from tests.core.models.quorum_search import Checked


def test_all_orders_within_one_term() -> None:
    outcome = Checked(terms=1, writes=1, kills=0).search(limit=10_000)
    print(outcome.states, outcome.taken)
    assert not outcome.bad
    assert outcome.complete
    assert outcome.states == 3_744


@pytest.mark.parametrize(("guard", "terms", "bad"), [
    ("vote_once", 1, "election safety: n2 and n1 lead term 1"),
    ("compare_logs", 2, "leader completeness: n2 leads term 2 without entry 1"),
])  # fmt: skip
def test_without_a_guard_the_search_finds_the_harm(guard: str, terms: int, bad: str) -> None:
    outcome = Checked(terms, 0, 0, **{guard: False}).search(limit=10_000)
    assert outcome.bad == bad
