"""The order in which a leader lists an ISR, compared with recordings of real clusters and with the order in which Scala prints its sets."""

from __future__ import annotations

import pytest

from core.kafka.broker.isr_order import expanded, shrunk
from core.kafka.messages import AlterPartitionRequest
from core.kafka.release import RELEASES, IsrOrder
from tests.core.node_bench import BrokerBench

LISTED = IsrOrder.INSERTION_TRIE_2_13
TABLE = IsrOrder.HASH_TABLE


@pytest.mark.parametrize(("release", "joined"), [("2.8", (1, 3, 2)), ("4.1", (1, 3, 2)), ("4.2", (1, 2, 3)), ("4.3", (1, 2, 3))])
def test_a_replica_that_rejoins_is_appended_up_to_4_1(release: str, joined: tuple[int, ...]) -> None:
    """Drills 4.1.1-1, 2.8.2-202, and 4.3.1-1: broker 2 is killed and restarted."""
    bench = BrokerBench(RELEASES[release])
    bench.partition_is((1, 2, 3), (1, 3))
    bench.produce(10)
    bench.fetch(3, 10)
    bench.fetch(2, 10)
    assert bench.proposal().items[0].isr == joined


@pytest.mark.parametrize(("release", "left"), [("2.8", (3, 1)), ("4.1", (3, 1)), ("4.2", (1, 3)), ("4.3", (1, 3))])
def test_a_shrunk_isr_keeps_its_order_up_to_4_1(release: str, left: tuple[int, ...]) -> None:
    """Drill 4.1.1-1, a-1: `Isr: 3,1,2` becomes `3,1`. A leader of 4.2 writes the remaining members in the order of its hash table."""
    bench = BrokerBench(RELEASES[release], me=3)
    bench.partition_is((2, 3, 1), (3, 1, 2))
    bench.produce(10)
    bench.fetch(1, 10)
    bench.wait(30_001)
    bench.broker.check_isr()
    assert bench.one_sent(AlterPartitionRequest).items[0].isr == left


def test_four_members_are_in_the_order_in_which_they_came() -> None:
    assert expanded((4, 1, 3), 2, LISTED) == (4, 1, 3, 2)
    assert shrunk((4, 1, 3, 2), (1,), LISTED) == (4, 3, 2)


@pytest.mark.parametrize(
    "members",
    [
        (5, 1, 2, 3, 4),
        (5, 10, 1, 6, 9, 2, 7, 3, 8, 4),
        (101, 106, 102, 105, 103, 104),
        (1005, 1001, 1002, 1003, 1004),
        (1, 65, 2, 1000, 1000000, 2147483647, 4, 900, 7),
        (5, 65, 2, 66, 4, 69, 0, 10, 56, 42, 24, 37, 25, 52, 14, 20, 46, 57, 29, 61, 1, 6, 60, 70, 21, 33, 28, 38, 9, 53, 13, 41, 45, 64, 17, 32, 34, 22,
         44, 59, 27, 12, 54, 49, 7, 39, 3, 35, 48, 63, 18, 50, 67, 16, 31, 11, 43, 40, 26, 55, 23, 8, 58, 36, 30, 51, 19, 47, 15, 68, 62),
    ],
)  # fmt: skip
def test_five_and_more_are_in_the_order_of_scala_2_13(members: tuple[int, ...]) -> None:
    """The order in which Scala 2.13.18 iterates over an immutable HashSet of these IDs."""
    *isr, joining = sorted(members)
    assert expanded(tuple(isr), joining, LISTED) == members
    assert shrunk((*isr, 77, joining), (77,), LISTED) == members


def test_five_and_more_were_in_another_order_before() -> None:
    """The order in which Scala 2.11 and 2.12 print `(0 to 100).toSet`: a single sequence, whereas 2.13 prints elements first that are alone
    on their branch.
    """
    printed = (
        69,
        0,
        88,
        5,
        10,
        56,
        42,
        24,
        37,
        25,
        52,
        14,
        20,
        46,
        93,
        57,
        78,
        29,
        84,
        61,
        89,
        1,
        74,
        6,
        60,
        85,
        28,
        38,
        70,
        21,
        33,
        92,
        65,
        97,
        9,
        53,
    )
    assert expanded(tuple(range(100)), 100, IsrOrder.INSERTION_TRIE)[: len(printed)] == printed
    assert expanded((1, 2, 3, 4), 5, IsrOrder.INSERTION_TRIE) == (5, 1, 2, 3, 4)


@pytest.mark.parametrize(
    ("grown", "left"),
    [
        ((1, 2, 3), (1, 2, 3)),
        ((8, 9, 7), (7, 8, 9)),
        ((16, 17, 15), (16, 17, 15)),
        ((101, 102, 103), (101, 102, 103)),
        ((8, 9, 5, 6, 7), (5, 6, 7, 8, 9)),
        ((0, 8, 16, 24, 1), (0, 16, 1, 8, 24)),
        ((16, 10, 11, 12, 13, 14, 15), (16, 10, 11, 12, 13, 14, 15)),
        (tuple(range(1, 18)), tuple(range(1, 18))),
        ((1, 65536, 2, 131073), (1, 65536, 2, 131073)),
    ],
)
def test_from_4_2_members_are_in_the_order_of_a_hash_table(grown: tuple[int, ...], left: tuple[int, ...]) -> None:
    """The order in which Scala 2.13.18 iterates over a mutable HashSet that `+` or `diff` has created."""
    assert expanded(grown[:-1], grown[-1], TABLE) == grown
    assert shrunk((*grown, 99), (99,), TABLE) == left
