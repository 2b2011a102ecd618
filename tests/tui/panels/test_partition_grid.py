"""The grid: bars in which gaps are always visible, marks that need no color, and columns for any width."""

from __future__ import annotations

import re

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.kafka.health import PartitionStatus
from core.kafka.ids import TopicPartition
from core.kafka.topic_spec import TopicSpec
from core.lab.spec import BrokerSpec, ClusterSpec
from tests.tui.states import cluster, partition, replica, view_of
from tui.analysis.partition_list import in_order
from tui.panels.partition_grid import Columns, GridPainter, shown_offsets
from tui.rendering.bars import Window, bar, held_back_cells
from tui.rendering.palette import COLOR

LAGGING = partition(
    replica(1, 1200, 1180, role="leader"),
    replica(2, 1200, 1150),
    replica(3, 1100, 1100, in_isr=False),
    status=PartitionStatus.UNDER_REPLICATED,
)


def texts(view, width: int, height: int = 8, **wanted) -> list[str]:  # type: ignore[no-untyped-def]
    return [strip.text for strip in GridPainter(COLOR).lines(view, in_order(view, False), (width, height), **wanted)]


@given(st.integers(0, 10**12), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(2, 60))
def test_a_gap_of_one_record_shows_in_every_bar(leo: int, pending: int, missing: int, width: int) -> None:
    shorter = max(0, leo - missing)
    hw = max(0, shorter - pending)
    p = partition(replica(1, leo, hw), replica(2, shorter, hw))
    window = Window.of(p)
    for copy in p.replica_views:
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


@given(st.integers(1, 10**9), st.integers(0, 10**6), st.integers(1, 10**6), st.integers(2, 60))
def test_a_record_above_the_last_stable_offset_shows_in_the_leaders_bar(hw: int, pending: int, held: int, width: int) -> None:
    held_back_at = max(0, hw - held)
    p = partition(replica(1, hw + pending, hw), held_back_at=held_back_at)
    window = Window.of(p)
    committed, _, _ = bar(window, hw, hw + pending, width)
    cells = held_back_cells(window, held_back_at, hw, committed, width)
    assert min(committed, 1) <= cells <= committed
    assert held_back_cells(window, hw, hw, committed, width) == 0


def test_the_leaders_bar_shows_what_a_transaction_holds_back() -> None:
    p = partition(replica(1, 111, 111), replica(2, 111, 111), held_back_at=56, status=PartitionStatus.READS_HELD)
    lines = texts(view_of(p), 160)
    assert "◑ reads held" in lines[2]
    leader, follower = lines[2].split("111/111")[:2]
    assert leader.count("▓") >= leader.count("▆") - 2 > 0
    assert "▓" not in follower, "only the leader serves consumers"
    assert "▓▓ held by a transaction" in lines[0]


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
def test_marks_need_no_color(changes: dict[str, object], marks: str) -> None:
    p = partition(replica(1, 10, 10, role="leader"), replica(2, 10, 10, **changes))
    assert f"{marks} ▆" in texts(view_of(p), 120)[2]


def test_a_broker_that_holds_nothing_has_an_empty_column() -> None:
    p = partition(replica(1, 5, 5), replica(3, 5, 5))
    columns = Columns.plan(view_of(p), 120)
    row = texts(view_of(p), 120)[2]
    start = columns.cells_at + columns.cell
    assert row[start : start + columns.cell].strip() == ""


@pytest.mark.parametrize("leo", [999, 1_000, 9_999, 10_000, 123_456, 1_234_567, 987_654_321])
@pytest.mark.parametrize("width", [80, 100, 120, 160])
@pytest.mark.parametrize("brokers", [3, 4, 5, 100])
def test_both_offsets_are_seen_at_every_width(width: int, brokers: int, leo: int) -> None:
    if (width, brokers, leo) == (80, 100, 987_654_321):
        pytest.skip("three times two such numbers and the brokers' names are more than a line has")
    spec = ClusterSpec(brokers=tuple(BrokerSpec(i) for i in range(1, brokers + 1)), topics=(TopicSpec("payments", partitions=1),))
    held = [replica(number, leo, leo - 3) for number in (1, 2, brokers)]
    view = attrs.evolve(cluster(spec).view(), partitions=(partition(*held, tp=TopicPartition("payments", 0)),))
    columns = Columns.plan(view, width)
    _, head, row, *_ = texts(view, width)
    assert len(head) == len(row) == width
    assert head.count("HW/LEO") == columns.places
    assert "…" not in head
    shown = re.findall(r"(\d+)/(…?)(\d+)", re.sub(r"\[.*?\]/2", "", row))
    assert len(shown) == 3
    for hw, cut, end in shown:
        assert int(hw) == leo - 3
        assert str(leo).endswith(end)
        assert cut or int(end) == leo
    assert columns.bar or leo > 100_000_000 or (width == 80 and (brokers == 100 or leo > 1_000_000)), "bars have room, too"


def test_offsets_are_shortened_only_where_even_without_bars_they_do_not_fit() -> None:
    spec = ClusterSpec(brokers=tuple(BrokerSpec(i) for i in range(1, 101)), topics=(TopicSpec("orders", partitions=1),))
    p = partition(replica(54, 12_000, 12_000), replica(55, 12_003, 12_000), replica(100, 12_003, 12_000))
    row = texts(attrs.evolve(cluster(spec).view(), partitions=(p,)), 80)[2]
    assert re.findall(r"\d+/\S+", row) == ["12000/12000", "12000/12003", "12000/12003"]


def test_ten_thousand_records_leave_the_isr_on_80_columns() -> None:
    p = partition(replica(1, 10_003, 10_000, role="leader"), replica(2, 10_000, 9_990), replica(3, 10_003, 10_000))
    row = texts(view_of(p), 80)[2]
    for seen in ("[1,2,3]/2", "10000/10003", "9990/10000", "★●"):
        assert seen in row


@pytest.mark.parametrize(
    ("hw", "leo", "width", "shown"),
    [
        (630, 640, 7, ("630", "640")),
        (123_457, 123_460, 13, ("123457", "123460")),
        (123_457, 123_460, 11, ("123457", "…460")),
        (123_000, 123_460, 11, ("123000", "…460")),
        (100_000, 123_460, 11, ("100000", "123k")),
        (0, 123_460, 11, ("0", "123460")),
        (1_000, 1_234_567_890, 11, ("1000", "1234M")),
        (99_999, 100_001, 11, ("99999", "100k")),
    ],
)
def test_offsets_in_few_cells(hw: int, leo: int, width: int, shown: tuple[str, str]) -> None:
    assert shown_offsets(hw, leo, width) == shown


@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_offsets_never_take_more_than_their_cells(hw: int, leo: int) -> None:
    hw, leo = sorted((hw, leo))
    width = len(str(leo)) + 4
    assert len("/".join(shown_offsets(hw, leo, width))) <= width


@pytest.mark.parametrize("width", [80, 100, 120, 160, 200])
@pytest.mark.parametrize("brokers", [7, 12])
def test_a_replica_on_every_one_of_many_brokers_keeps_its_column(width: int, brokers: int) -> None:
    spec = ClusterSpec(brokers=tuple(BrokerSpec(i) for i in range(1, brokers + 1)), topics=(TopicSpec("orders", partitions=1),))
    p = partition(*(replica(number, 123, 120) for number in range(1, brokers + 1)))
    view = attrs.evolve(cluster(spec).view(), partitions=(p,))
    columns = Columns.plan(view, width)
    assert columns.cells_at + columns.places * columns.cell <= width
    row = texts(view, width)[2]
    starts = [columns.cells_at + place * columns.cell + columns.label for place in range(columns.places)]
    assert [row[start : start + 2].strip()[-1] for start in starts] == ["●"] * brokers


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
    painter = GridPainter(COLOR)
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


def test_internal_topics_come_after_others_of_the_same_state() -> None:
    internal = partition(replica(1, 1, 1), tp=TopicPartition("__consumer_offsets", 0))
    fine = attrs.evolve(internal, tp=TopicPartition("z", 0))
    offline = attrs.evolve(internal, tp=TopicPartition("__transaction_state", 0), status=PartitionStatus.OFFLINE, leader=-1)
    view = view_of(internal, fine, offline)
    assert [p.tp.topic for p in in_order(view, True)] == ["__transaction_state", "z", "__consumer_offsets"]
    assert [p.tp.topic for p in in_order(view, False)] == ["z", "__consumer_offsets", "__transaction_state"]


def test_offline_says_so_without_color() -> None:
    p = partition(replica(1, 5, 5, alive=False, role="offline"), leader=-1, status=PartitionStatus.OFFLINE)
    row = texts(view_of(p), 120)[2]
    assert "✖ offline" in row
    assert "none" in row
