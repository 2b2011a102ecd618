"""The leader epoch cache, by Kafka's own vectors: EPO (LeaderEpochFileCacheTest, UnifiedLogTest) and the pure DIV vectors."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.kafka.log.leader_epoch_cache import UNDEFINED, LeaderEpochCache, format_checkpoint, parse_checkpoint

Entries = tuple[tuple[int, int], ...]
LADDER: Entries = ((2, 6), (3, 8), (4, 11))


def cache_of(*entries: tuple[int, int]) -> LeaderEpochCache:
    return LeaderEpochCache.of(entries)


@pytest.mark.parametrize(
    ("assigned", "entries"),
    [
        pytest.param(((2, 11), (2, 12)), ((2, 11),), id="EPO-02"),
        pytest.param(((2, 9), (2, 10)), ((2, 9),), id="EPO-04"),
        pytest.param(((2, 9), (3, 9)), ((3, 9),), id="EPO-05"),
        pytest.param(((1, 5), (2, 6), (1, 7)), ((1, 7),), id="EPO-11"),
        pytest.param(((2, 6), (3, 5)), ((3, 5),), id="EPO-12"),
        pytest.param(((0, 0), (1, 3), (2, 6)), ((0, 0), (1, 3), (2, 6)), id="EPO-14"),
    ],
)
def test_epo_assign(assigned: Entries, entries: Entries) -> None:
    assert cache_of(*assigned).entries() == entries


@pytest.mark.parametrize(
    ("entries", "leo", "asked", "answer"),
    [
        pytest.param(((2, 10),), 11, 2, (2, 11), id="EPO-01"),
        pytest.param(((2, 11),), 14, 2, (2, 14), id="EPO-02"),
        pytest.param((), 0, -1, UNDEFINED, id="EPO-03-empty-undefined"),
        pytest.param(((2, 11),), 14, -1, UNDEFINED, id="EPO-03-undefined"),
        pytest.param((), 0, 0, UNDEFINED, id="EPO-03-empty"),
        pytest.param(((5, 11), (6, 12), (7, 13)), 14, 4, (4, 11), id="EPO-06"),
        pytest.param(((5, 11), (7, 12)), 13, 6, (5, 12), id="EPO-07-gap"),
        pytest.param(((5, 11), (7, 12)), 13, 5, (5, 12), id="EPO-07"),
        pytest.param(((1, 11), (2, 13), (3, 15)), 17, 2, (2, 15), id="EPO-08"),
        pytest.param(((2, 100),), 100, 3, UNDEFINED, id="EPO-10"),
        pytest.param(((1, 7),), 8, 1, (1, 8), id="EPO-11"),
        pytest.param(((1, 7),), 8, 2, UNDEFINED, id="EPO-11-gone"),
        pytest.param(((0, 0), (1, 3), (2, 6)), 9, 0, (0, 3), id="EPO-14-0"),
        pytest.param(((0, 0), (1, 3), (2, 6)), 9, 1, (1, 6), id="EPO-14-1"),
        pytest.param(((0, 0), (1, 3), (2, 6)), 9, 2, (2, 9), id="EPO-14-2"),
    ],
)
def test_epo_end_offset_for(entries: Entries, leo: int, asked: int, answer: tuple[int, int]) -> None:
    assert cache_of(*entries).end_offset_for(asked, leo) == answer


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        pytest.param(2, (0, 2), id="DIV-01"),
        pytest.param(0, (0, 2), id="DIV-02"),
        pytest.param(6, (4, 13), id="DIV-03"),
        pytest.param(5, (4, 13), id="DIV-04"),
        pytest.param(10, (10, 17), id="DIV-05"),
        pytest.param(11, UNDEFINED, id="DIV-07"),
    ],
)
def test_div_the_leaders_answer_to_a_last_fetched_epoch(asked: int, answer: tuple[int, int]) -> None:
    leader = cache_of((0, 0), (3, 2), (4, 8), (7, 13), (9, 14), (10, 17))
    assert leader.end_offset_for(asked, 17) == answer


@pytest.mark.parametrize(
    ("offset", "left"),
    [
        pytest.param(8, LADDER[:1], id="EPO-15-8"),
        pytest.param(9, LADDER[:2], id="EPO-15-9"),
        pytest.param(11, LADDER[:2], id="EPO-15-11"),
        pytest.param(12, LADDER, id="EPO-15-12"),
        pytest.param(-1, LADDER, id="EPO-15-negative"),
    ],
)
def test_epo_15_truncate_from_end(offset: int, left: Entries) -> None:
    cache = cache_of(*LADDER)
    cache.truncate_from_end(offset)
    assert cache.entries() == left


@pytest.mark.parametrize(
    ("offset", "left"),
    [
        pytest.param(8, ((3, 8), (4, 11)), id="EPO-16-8"),
        pytest.param(9, ((3, 9), (4, 11)), id="EPO-16-9"),
        pytest.param(1, LADDER, id="EPO-16-1"),
        pytest.param(6, LADDER, id="EPO-16-6"),
        pytest.param(11, ((4, 11),), id="EPO-16-11"),
        pytest.param(15, ((4, 15),), id="EPO-16-15"),
        pytest.param(5, LADDER, id="EPO-16-5"),
        pytest.param(-1, LADDER, id="EPO-16-negative"),
    ],
)
def test_epo_16_truncate_from_start(offset: int, left: Entries) -> None:
    cache = cache_of(*LADDER)
    cache.truncate_from_start(offset)
    assert cache.entries() == left


def test_epo_17_truncate_from_start_keeps_the_covering_epoch() -> None:
    cache = cache_of((0, 0), (1, 7), (2, 10))
    cache.truncate_from_start(5)
    assert cache.entries() == ((0, 5), (1, 7), (2, 10))


def test_epo_18_previous_epoch() -> None:
    cache = cache_of((2, 10), (4, 15), (10, 20))
    assert cache.previous_epoch(10) == 4
    cache.truncate_from_end(18)
    assert cache.previous_epoch(cache.latest_epoch) == 2
    assert cache.previous_epoch(2) == -1


def test_epo_21_a_trivial_entry_goes_when_the_log_is_truncated_to_its_end() -> None:
    cache = cache_of((19, 27))
    for epoch, target in ((20, 29), (24, 30)):
        cache.assign(epoch, 29)
        assert cache.latest_epoch == epoch
        cache.truncate_from_end(min(target, 29))
        assert cache.entries() == ((19, 27),)


@pytest.mark.parametrize(("offset", "left"), [(20, 3), (11, 2), (10, 1), (0, 0)])
def test_epo_22_truncation_of_the_log(offset: int, left: int) -> None:
    cache = cache_of((0, 0), (1, 10), (2, 16))
    cache.truncate_from_end(offset)
    assert len(cache) == left


def test_epo_23_deletion_of_the_oldest_records() -> None:
    cache = cache_of((0, 0), (1, 5), (2, 10))
    cache.truncate_from_start(5)
    assert cache.entries() == ((1, 5), (2, 10))


def test_negative_epoch_or_offset_is_refused() -> None:
    for epoch, offset in ((-1, 0), (0, -1)):
        with pytest.raises(ValueError, match="both must be 0 or more"):
            LeaderEpochCache().assign(epoch, offset)


def test_copy_is_independent_and_equal() -> None:
    cache = cache_of(*LADDER)
    copy = cache.copy()
    assert copy == cache
    copy.clear()
    assert (cache.entries(), copy.entries(), copy.latest_epoch) == (LADDER, (), -1)


def test_checkpoint_text() -> None:
    text = "0\n3\n2 6\n3 8\n4 11\n"
    assert format_checkpoint(LADDER) == text
    assert parse_checkpoint(text) == LADDER
    assert parse_checkpoint(format_checkpoint(())) == ()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "line 1"),
        ("1\n0\n", "line 1"),
        ("0\n", "line 2"),
        ("0\nx\n", "line 2"),
        ("0\n1\n2\n", "line 3"),
        ("0\n2\n2 6\n", "the number of entries is 2, but the file has 1"),
    ],
)
def test_checkpoint_errors_name_the_line(text: str, line: str) -> None:
    with pytest.raises(ValueError, match=line):
        parse_checkpoint(text)


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 40)), max_size=20))
def test_entries_rise_and_the_last_assignment_stands(assigned: list[tuple[int, int]]) -> None:
    cache = LeaderEpochCache()
    for epoch, offset in assigned:
        cache.assign(epoch, offset)
        assert cache.latest_epoch == epoch
        entries = cache.entries()
        assert all(a[0] < b[0] and a[1] < b[1] for a, b in itertools.pairwise(entries))
    assert parse_checkpoint(format_checkpoint(cache.entries())) == cache.entries()
