"""The grid: bars whose gaps always show, marks that need no colour, columns for any width."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.ids import TopicPartition
from core.spec import BrokerSpec, ClusterSpec, TopicSpec
from core.view import PartitionStatus
from tests.tui.states import cluster, partition, replica, view_of
from tui.palette import COLOUR
from tui.panels.bars import Window, bar
from tui.panels.grid import Columns, GridPainter, in_order

LAGGING = partition(
    replica(1, 1200, 1180, role="leader"),
    replica(2, 1200, 1150),
    replica(3, 1100, 1100, in_isr=False),
    status=PartitionStatus.UNDER_REPLICATED,
)


def texts(view, width: int, height: int = 8, **wanted) -> list[str]:  # type: ignore[no-untyped-def]
    return [strip.text for strip in GridPainter(COLOUR).lines(view, in_order(view, False), (width, height), **wanted)]


@given(st.integers(0, 10**12), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(2, 60))
def test_a_gap_of_one_record_shows_in_every_bar(leo: int, pending: int, missing: int, width: int) -> None:
    shorter = max(0, leo - missing)
    hw = max(0, shorter - pending)
    p = partition(replica(1, leo, hw), replica(2, shorter, hw))
    window = Window.of(p)
    for copy in p.copies:
        committed, waiting, lacking = bar(window, copy.hw, copy.leo, width)
        assert committed + waiting + lacking == width
        assert min(committed, waiting, lacking) >= 0
        if copy.leo < window.end:
            assert lacking > 0
        else:
            assert lacking == 0 or window.end == 0
        if copy.hw < copy.leo:
            assert waiting > 0
        elif copy.leo == window.end > 0:
            assert committed == width


def test_the_window_keeps_its_size_while_the_log_grows() -> None:
    sizes = set()
    for leo in range(1000, 1400, 7):
        window = Window.of(partition(replica(1, leo, leo - 9), replica(2, leo - 12, leo - 12)))
        sizes.add(window.end - window.start)
    assert sizes == {20}


def test_a_row_says_everything() -> None:
    row = texts(view_of(LAGGING), 140)[2]
    assert "orders-0" in row
    assert "△ under-repl" in row
    assert "L3 P7" in row
    assert "[1,2]/2" in row
    assert "1180/1200" in row
    assert "1150/1200" in row
    assert "1100/1100" in row
    assert "★●" in row
    assert " ○ " in row
    assert "▂" in row
    assert "·" in row


@pytest.mark.parametrize(
    ("changes", "marks"),
    [
        ({}, " ●"),
        ({"in_isr": False}, " ○"),
        ({"alive": False, "role": "offline"}, " ⊗"),
        ({"alive": False, "role": "offline", "in_isr": False}, " ✕"),
        ({"role": "leader"}, "☆●"),
    ],
)
def test_marks_need_no_colour(changes: dict[str, object], marks: str) -> None:
    p = partition(replica(1, 10, 10, role="leader"), replica(2, 10, 10, **changes))
    assert f"{marks} ▆" in texts(view_of(p), 120)[2]


def test_a_broker_that_holds_nothing_has_an_empty_column() -> None:
    p = partition(replica(1, 5, 5), replica(3, 5, 5))
    columns = Columns.plan(view_of(p), 120)
    row = texts(view_of(p), 120)[2]
    start = columns.cells_at + columns.cell
    assert row[start : start + columns.cell].strip() == ""


@pytest.mark.parametrize("width", [80, 100, 120, 160, 200])
def test_every_line_is_exactly_as_wide_as_the_screen(width: int) -> None:
    for line in texts(cluster().view(), width, partition=TopicPartition("orders", 1), broker=2, focused=True):
        assert len(line) == width


def test_many_brokers_give_replicas_their_broker_s_name() -> None:
    spec = ClusterSpec(brokers=tuple(BrokerSpec(i) for i in range(1, 31)), topics=(TopicSpec("t", partitions=3),))
    lines = texts(cluster(spec).view(), 80)
    assert all(len(line) == 80 for line in lines)
    assert "b1 " in lines[2]
    assert "b2 " in lines[2]
    assert "b3 " in lines[2]


def test_only_the_rows_that_changed_are_painted_again() -> None:
    fake = cluster()
    painter = GridPainter(COLOUR)
    before = painter.lines(fake.view(), in_order(fake.view(), False), (120, 8))
    fake.parts[TopicPartition("orders", 1)]["epoch"] = 9
    fake.parts[TopicPartition("orders", 1)]["leader"] = 3
    after = painter.lines(fake.view(), in_order(fake.view(), False), (120, 8))
    assert after[2] is before[2]
    assert after[3] is not before[3]
    assert after[3].text != before[3].text


def test_worst_first_is_the_order_of_operators() -> None:
    fine = partition(replica(1, 1, 1), tp=TopicPartition("a", 0))
    offline = attrs.evolve(fine, tp=TopicPartition("z", 0), status=PartitionStatus.OFFLINE, leader=-1)
    under_min = attrs.evolve(fine, tp=TopicPartition("y", 0), status=PartitionStatus.UNDER_MIN_ISR)
    lost = attrs.evolve(fine, tp=TopicPartition("x", 0), lost=3)
    view = view_of(fine, under_min, offline, lost)
    assert [p.tp.topic for p in in_order(view, True)] == ["x", "z", "y", "a"]
    assert [p.tp.topic for p in in_order(view, False)] == ["a", "x", "y", "z"]


def test_offline_says_so_without_colour() -> None:
    p = partition(replica(1, 5, 5, alive=False, role="offline"), leader=-1, status=PartitionStatus.OFFLINE)
    row = texts(view_of(p), 120)[2]
    assert "✖ offline" in row
    assert "none" in row
