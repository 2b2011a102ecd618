"""The selection: something is always selected, the selection moves through the listed items, and it describes their order and filter."""

from __future__ import annotations

import attrs

from core.kafka.health import PartitionStatus
from core.kafka.ids import TopicPartition
from tests.tui.states import cluster, partition, replica, view_of
from tui.actions.selection import Selection

VIEW = cluster().view()
NAMES = sorted(p.tp for p in VIEW.partitions)


def selected() -> Selection:
    selection = Selection()
    selection.keep_within(VIEW)
    return selection


def test_the_first_of_each_is_selected_as_soon_as_there_is_one() -> None:
    selection = selected()
    assert (selection.broker, selection.partition) == (1, NAMES[0])
    assert selection.broker_in(VIEW).id == 1
    assert selection.partition_in(VIEW).tp == NAMES[0]


def test_what_is_gone_is_selected_no_more() -> None:
    selection = selected()
    selection.choose(partition=NAMES[-1], broker=3)
    fewer = attrs.evolve(VIEW, brokers=VIEW.brokers[:2], partitions=[p for p in VIEW.partitions if p.tp == NAMES[0]])
    selection.keep_within(fewer)
    assert (selection.broker, selection.partition) == (1, NAMES[0])


def test_nothing_is_selected_where_there_is_nothing() -> None:
    selection, empty = Selection(), attrs.evolve(VIEW, brokers=(), partitions=())
    selection.keep_within(empty)
    assert (selection.broker, selection.partition) == (None, None)
    assert selection.broker_in(empty) is None
    assert selection.partition_in(empty) is None
    selection.move_broker(1, [])
    selection.move_partition(1, [])
    assert (selection.broker, selection.partition) == (None, None)


def test_brokers_go_round_and_partitions_end() -> None:
    selection = selected()
    selection.move_broker(-1, [1, 2, 3])
    assert selection.broker == 3
    selection.move_broker(1, [1, 2, 3])
    assert selection.broker == 1
    selection.move_partition(-1, NAMES)
    assert selection.partition == NAMES[0]
    selection.move_partition(100, NAMES)
    assert selection.partition == NAMES[-1]


def test_a_selection_that_is_not_listed_moves_from_the_first() -> None:
    selection = selected()
    selection.choose(partition=TopicPartition("gone", 0), broker=9)
    selection.move_into(NAMES[1:], [2, 3])
    assert (selection.partition, selection.broker) == (NAMES[1], 2)
    selection.move_into([], [])
    assert (selection.partition, selection.broker) == (NAMES[1], 2)


def test_the_worst_stands_first_and_is_selected() -> None:
    well = partition(replica(1, 5, 5), replica(2, 5, 5))
    ill = attrs.evolve(well, tp=TopicPartition("orders", 1), status=PartitionStatus.OFFLINE, leader=-1)
    view, selection = view_of(well, ill), Selection()
    selection.keep_within(view)
    assert selection.toggle_order(view) == "partitions sorted with the worst first"
    assert selection.partition == ill.tp
    assert selection.listing_note(view, "Esc") == "worst first"
    assert selection.toggle_order(view) == "partitions sorted by name"
    assert selection.partition == well.tp
    assert selection.listing_note(view, "Esc") == ""


def test_the_filters_of_kafka_topics_come_one_after_another_and_then_all() -> None:
    selection = selected()
    said = [selection.next_filter(VIEW) for _ in range(5)]
    assert said[0] == "no partition is unavailable (kafka-topics --unavailable-partitions)"
    assert said[-1] == f"partitions: all, {len(VIEW.partitions)}"
    assert selection.filter_name == ""


def test_search_words_and_filter_are_shown_with_the_key_that_ends_them() -> None:
    selection = selected()
    selection.words = "orders"
    assert [p.tp.topic for p in selection.listed(VIEW)] == ["orders", "orders"]
    assert selection.listing_note(VIEW, "Esc") == "'orders' only, of 3, Esc shows all"
    selection.filter_name = "under-replicated"
    assert selection.listing_note(VIEW, "Esc") == "under-replicated and 'orders' only, of 3, Esc shows all"
    both = "No partition is under-replicated and matches 'orders': press / to change the words, or Esc to show all, or press t for the next"
    assert selection.nothing_note("/", "Esc", "t") == f"{both} kafka-topics filter."
