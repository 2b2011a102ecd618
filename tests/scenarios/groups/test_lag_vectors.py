"""The vectors of `kafka-consumer-groups --describe`: which values it prints, and which it leaves out."""

from __future__ import annotations

import pytest

from core.kafka.ids import TopicPartition
from core.kafka.release import GroupsTool
from scenarios.groups.describe import View, describe
from scenarios.groups.facts import Brokers, Committed, Group, Member

T1 = [TopicPartition("t1", number) for number in range(3)]
T2 = [TopicPartition("t2", number) for number in range(3)]


def rows(group: Group, ends: dict[TopicPartition, int | None], view: View = View.OFFSETS) -> tuple[list[list[str]], str]:
    """Return the cells of the rows without the title, and what goes to stderr."""
    printed = describe(GroupsTool.SORTED, [group], Brokers(ends), view)
    return [line.split() for line in printed.out.splitlines()[2:]], printed.err


def test_lag_01_a_missing_offset_is_a_dash() -> None:
    """LAG-01."""
    member = Member("m1", "app", "/127.0.0.1", tuple(T1))
    offsets = {T1[1]: Committed(100), T2[0]: Committed(100), T2[1]: Committed(100)}
    found, _ = rows(Group("g", "Stable", "", 1, members=(member,), offsets=offsets), dict.fromkeys([*T1, *T2], 100))
    assert [(row[1], row[2], row[3], row[5]) for row in found] == [
        ("t1", "0", "-", "-"), ("t1", "1", "100", "0"), ("t1", "2", "-", "-"), ("t2", "0", "100", "0"), ("t2", "1", "100", "0"),
    ]  # fmt: skip


def test_lag_03_without_members_the_rows_remain() -> None:
    """LAG-03."""
    group = Group("g", "Empty", "b1:9092", 1, offsets={T1[0]: Committed(40)})
    found, told = rows(group, {T1[0]: 100})
    assert told == "\nConsumer group 'g' has no active members.\n"
    assert found == [["g", "t1", "0", "40", "100", "60", "-", "-", "-"]]
    (state,), _ = rows(group, {T1[0]: 100}, View.STATE)
    assert state[-2:] == ["Empty", "0"]


def test_lag_04_without_commits_only_the_log_end_is_known() -> None:
    """LAG-04."""
    member = Member("m1", "app", "/127.0.0.1", (T1[0],))
    found, _ = rows(Group("g", "Stable", "", 1, members=(member,)), {T1[0]: 7})
    assert [row[3:6] for row in found] == [["-", "7", "-"]]


@pytest.mark.parametrize(("committed", "end", "lag"), [(1000, 500, "-500"), (250, 100, "-150")])
def test_lag_05_a_lag_can_be_negative(committed: int, end: int, lag: str) -> None:
    """LAG-05."""
    found, _ = rows(Group("g", "Empty", "", 1, offsets={T1[0]: Committed(committed)}), {T1[0]: end})
    assert found[0][5] == lag
