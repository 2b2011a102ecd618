"""Sets of offsets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.kafka.log.offset_set import OffsetSet

OFFSETS = st.integers(0, 20)


@given(st.lists(st.tuples(OFFSETS, OFFSETS), max_size=6), OFFSETS, OFFSETS)
def test_a_range_contains_as_many_offsets_as_a_set_of_integers(ranges: list[tuple[int, int]], start: int, end: int) -> None:
    offsets = OffsetSet.of(ranges)
    start, end = min(start, end), max(start, end)
    single = {offset for low, high in ranges for offset in range(low, high)}
    within = single & {*range(start, end)}
    assert offsets.count_within(start, end) == len(within)
    assert {offset for low, high in offsets.within(start, end) for offset in range(low, high)} == within
