"""Burrow's evaluation: the vectors LAG-06 to LAG-11. Times are in s."""

from __future__ import annotations

import pytest

from core.lab.burrow import Commit, Verdict, evaluate, group_verdict
from core.sim.units import SECOND


def window(offsets: list[int], lags: list[int | None]) -> list[Commit]:
    """Return commits at 100, 200, ... s."""
    return [Commit(offset, 100 * SECOND * (number + 1), lag) for number, (offset, lag) in enumerate(zip(offsets, lags, strict=True))]


RISING = [1000, 2000, 3000, 4000, 5000]
SAME = [1000] * 5


@pytest.mark.parametrize(
    ("offsets", "lags", "now", "verdict"),
    [
        pytest.param(RISING, [0, 50, 100, 150, 200], 600, Verdict.OK, id="LAG-06 a lag of 0 in the window"),
        pytest.param(RISING, [0, 50, 100, 150, 200], 900, Verdict.OK, id="LAG-06 as old as the window is long"),
        pytest.param(RISING, [0, 50, 100, 150, 200], 1000, Verdict.STOP, id="LAG-06 older"),
        pytest.param(RISING, [50, 100, 150, 200, 250], 600, Verdict.WARN, id="LAG-07 the lag grows"),
        pytest.param(RISING, [50, 100, 150, 200, 250], 1000, Verdict.STOP, id="LAG-07 and the commits stop"),
        pytest.param(RISING, [50, 100, 90, 200, 250], 600, Verdict.OK, id="LAG-07 the lag shrinks once"),
        pytest.param(SAME, [100, 150, 200, 250, 300], 600, Verdict.STALL, id="LAG-08 the lag grows"),
        pytest.param(SAME, [100] * 5, 600, Verdict.STALL, id="LAG-08 the lag is constant"),
        pytest.param(SAME, [0, 100, 100, 100, 100], 600, Verdict.OK, id="LAG-08 a lag of 0 in the window"),
        pytest.param([1000, 2000, 3000, 2000, 4000], [1] * 5, 600, Verdict.WARN, id="recovered, with a constant lag"),
        pytest.param([1000, 2000, 3000, 2000, 4000], [9, 8, 7, 6, 5], 600, Verdict.OK, id="recovered"),
        pytest.param([1000, 2000, 3000, 2000], [9, 8, 7, 6], 500, Verdict.REWIND, id="rewound"),
        pytest.param(RISING, [50, None, 150, None, 250], 600, Verdict.WARN, id="LAG-11 unknown lags are left out"),
        pytest.param(RISING, [None, 0, None, 150, 250], 600, Verdict.OK, id="LAG-11 a known lag of 0"),
    ],
)
def test_windows(offsets: list[int], lags: list[int | None], now: int, verdict: Verdict) -> None:
    assert evaluate(window(offsets, lags), 931, now * SECOND) is verdict


def test_lag_10_and_11_the_current_lag_and_recent_ends() -> None:
    """LAG-10 and LAG-11."""
    commits = window(SAME, [100] * 5)
    assert evaluate(commits, 0, 10_000 * SECOND) is Verdict.OK
    assert evaluate(commits, 931, 10_000 * SECOND) is Verdict.STOP
    rising = window(RISING, [0, 50, 100, 150, 200])
    assert evaluate(rising, 931, 10_000 * SECOND, recent_ends=(5000, 5931)) is Verdict.OK
    assert evaluate(commits, 1, 600 * SECOND, allowed_lag=1) is Verdict.OK
    assert evaluate((), 5, 0) is Verdict.OK


def test_a_group_is_as_bad_as_its_worst_partition() -> None:
    assert group_verdict([]) is Verdict.OK
    assert group_verdict([Verdict.OK, Verdict.WARN]) is Verdict.WARN
    assert group_verdict([Verdict.OK, Verdict.REWIND, Verdict.WARN]) is Verdict.ERR
