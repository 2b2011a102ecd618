"""The events in memory, and the events as they were at an earlier event, compared with plain lists."""

from __future__ import annotations

from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from core.lab.history.event_buffer import CHUNK, EventRing

LONG: Final = 4 * CHUNK


def events(seqs: range) -> list[tuple[int, str]]:
    return [(seq, "event") for seq in seqs]


@given(st.integers(1, 2 * CHUNK), st.integers(1, LONG), st.integers(0, LONG), st.integers(0, 2 * CHUNK))
def test_a_ring_as_it_was_goes_on_from_there(size: int, came: int, back_to: int, again: int) -> None:
    ring = EventRing(size)
    for event in events(range(0, 2 * came, 2)):
        ring.append(event)
    kept = list(range(0, 2 * came, 2))[-size:]
    assert [event[0] for event in ring.since(0)] == kept
    was = ring.prefix(back_to)
    known = [seq for seq in kept if seq <= back_to]
    assert [event[0] for event in was.since(0)] == known
    if known:
        assert was.at(ring.index_of(known[-1]) or 0)[0] == known[-1]
    fresh = range(back_to + 1, back_to + 1 + again)
    for event in events(fresh):
        was.append(event)
    held = [*known, *fresh][-size:]
    assert [event[0] for event in was.since(0)] == held
    for seq in (*held[:3], *held[-3:]):
        index = was.index_of(seq)
        assert index is not None
        assert was.at(index)[0] == seq
    assert was.index_of(-1) is None
    assert [event[0] for event in ring.since(0)] == kept
