"""A few seconds of random key bursts; `python -m tests.fuzz.key_bursts` and `make fuzz` run longer."""

from __future__ import annotations

import pytest

from tests.fuzz.key_bursts import run


@pytest.mark.parametrize("seed", [1, 2])
def test_bursts_of_keys_end_nothing(seed: int) -> None:
    report = run(2.0, seed)
    assert not report.failures, str(report)
    assert report.cases > 20, str(report)


def test_a_click_at_an_answer_that_is_gone_is_at_nothing() -> None:
    report = run(30.0, 77, session=37)
    assert not report.failures, str(report)
