"""Searches find the harms of Kafka's history under the releases that had them, and not under the next."""

from __future__ import annotations

import pytest

from tests.scenarios.exploration.ladder import RUNGS, Side, climb

QUICK = [(f"{rung.name} ({side.release})", side) for rung in RUNGS for side in rung.sides if side.quick]


@pytest.mark.parametrize("side", [side for _, side in QUICK], ids=[name for name, _ in QUICK])
def test_a_short_search_gives_the_answer_of_its_release(side: Side) -> None:
    assert climb(side).answer == side.answer


def test_every_rung_is_found_under_one_release_and_not_under_another() -> None:
    for rung in RUNGS:
        answers = {side.answer for side in rung.sides}
        assert "found" in answers, rung.name
        assert len(answers) > 1, rung.name
