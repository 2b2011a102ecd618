"""The configuration of a member: the duration of a reset policy."""

from __future__ import annotations

import pytest

from core.kafka.clients.group_member.member_config import reset_duration
from core.sim.units import SECOND


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("P1D", 86_400_000),
        ("PT1H", 3_600_000),
        ("PT2M", 120_000),
        ("PT3S", 3_000),
        ("PT0.5S", 500),
        ("PT1.25S", 1_250),
        ("P2DT3H4M5.006S", 183_845_006),
    ],
)
def test_a_duration(text: str, milliseconds: int) -> None:
    assert reset_duration(f"by_duration:{text}") == milliseconds * SECOND // 1_000


@pytest.mark.parametrize("text", ["by_duration:P", "by_duration:PT", "by_duration:-PT1H", "by_duration:PT1.0000S", "PT1H", "earliest"])
def test_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        reset_duration(text)
