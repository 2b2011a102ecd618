"""The page with the groups during a session under load: a member dies, then the coordinator, and then a leader."""

from __future__ import annotations

import pytest

from core.kafka.ids import NO_OFFSET, TopicPartition
from core.kafka.release import CURRENT, Release
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.history.event_buffer import EventBuffer
from core.lab.reports.group_report import GroupReport, OwnedPartition
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND, US_PER_MS
from scenarios import catalogue
from scenarios.running.runner import Run
from tui.analysis.group_history import GONE, GroupHistory, lane_cells, rebalancing_cells
from tui.pages.groups import paint_groups
from tui.rendering.palette import palette_of

PAINT = palette_of("dark")

MOMENTS = (3, 22, 29, 46, 62)
"""The seconds to look at: while members join, after a member died at 20 s, during the rebalance, after the coordinator died at 45 s, and
after a leader died at 60 s.
"""


def painted(groups: tuple[GroupReport, ...], history: GroupHistory, now: int, width: int, height: int) -> list[str]:
    return [line.text.rstrip() for line in paint_groups(groups, history, now, PAINT, (width, height), 0)]


@pytest.fixture(scope="module")
def shown() -> dict[tuple[int, int], list[str]]:
    """Return the lines of the page by (second, width)."""
    buffer = EventBuffer()
    spec = ClusterSpec(
        tuple(BrokerSpec(broker) for broker in (1, 2, 3)),
        (TopicSpec("orders", 6, 3),),
        settings=(("offsets.topic.num.partitions", "5"),),
    )
    cluster = Cluster(spec, CURRENT, sink=buffer.append)
    history, found = GroupHistory(), {}
    config = (("session.timeout.ms", "10000"),)
    cluster.do(acts.Load("orders", 300))
    for name, time in (("app1", 1), ("app2", 1), ("app3", 8)):
        cluster.do(acts.JoinGroup(("orders",), name, "billing", record_time=time * US_PER_MS, config=config))
    leader = 0
    for second in range(63):
        cluster.run_until(second * SECOND)
        if second == 20:
            cluster.do(acts.KillConsumer("app1"))
        if second == 45:
            cluster.do(acts.Kill(cluster.group_report()[0].coordinator))
        if second == 60:
            leader = cluster.controller.registry.partitions[TopicPartition("orders", 4)].leader
            cluster.do(acts.Kill(leader))
        if second in MOMENTS:
            history.update(buffer)
            for width, height in ((80, 20), (120, 36), (200, 56)):
                found[second, width] = painted(cluster.group_report(), history, cluster.now, width, height)
                assert len(found[second, width]) <= height
    return found


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_page_says_who_owns_what_and_what_stands_still_until_when(shown: dict[tuple[int, int], list[str]], width: int) -> None:
    joining, dead, rebalance, headless, leaderless = ("\n".join(shown[second, width]) for second in MOMENTS)
    assert "billing is waiting for more members. The wait ends no later than 00:0" in joining
    assert "orders-0   nobody" in joining
    assert "rebalance until 00:0" in joining
    assert "The coordinator has not noticed yet that app1 stopped." in dead
    assert "app1 is dead, noticed at 00:" in dead
    assert "1 of 1 stalled" in dead, "the coordinator has not noticed it, but partitions are stalled"
    assert "1 of 1 stalled" in rebalance
    assert "has no coordinator: b" in headless
    assert "The controller notices it at 00:5" in headless
    assert "is silent, noticed at 01:0" in leaderless
    assert "HW waits for b" in leaderless, "consumers get no new records of the other partitions until the ISR shrinks"
    assert "are stalled" in leaderless


def test_the_lanes_show_partitions_ends_and_rebalances(shown: dict[tuple[int, int], list[str]]) -> None:
    lines = shown[22, 120]
    lane = next(line for line in lines if line.startswith(" app1") and "✖" in line)
    assert "2222✖" in lane
    rebalance = next(line for line in lines if line.startswith(" rebalance"))
    assert "▒" in rebalance
    assert any(line.startswith(" lag ") and "▇" in line for line in lines)


@pytest.mark.parametrize("width", [120, 200])
def test_the_lag_curve_and_the_lanes_have_the_same_time_axis(shown: dict[tuple[int, int], list[str]], width: int) -> None:
    """The lag starts to grow where the lane of app1 ends, and both end at the current time."""
    lag = next(line for line in shown[22, width] if line.startswith(" lag "))
    lane = next(line for line in shown[22, width] if line.startswith(" app1") and "✖" in line)
    assert len(lag) == len(lane)
    assert sum("█" in line or "▁" in line for line in shown[22, width]) > 1, "with enough room, the curve is several lines high"


def test_a_former_member_keeps_its_lane(shown: dict[tuple[int, int], list[str]]) -> None:
    """After the coordinator has removed app1, the lane still shows when app1 had partitions, below the lanes of the members."""
    lanes = [line.split()[0] for line in shown[46, 120] if line.startswith(" app") and line.endswith(("✖", "3"))]
    assert lanes == ["app2", "app3", "app1"]


def test_a_narrow_page_shortens_reasons_and_not_times(shown: dict[tuple[int, int], list[str]]) -> None:
    for second in MOMENTS:
        assert not any("…" in line for line in shown[second, 80]), shown[second, 80]


def test_cells_of_lanes() -> None:
    assert list(lane_cells([(2, 0), (4, 3), (8, GONE)], 0, 10, 5)) == [0, 3, 3, GONE, GONE]
    assert list(lane_cells([(9, 1)], 0, 10, 5)) == [None, None, None, None, 1]
    assert rebalancing_cells([(1, 2), (7, None)], 0, 10, 5) == [True, True, False, True, True]


@pytest.mark.parametrize("width", [80, 120])
def test_the_page_says_what_a_group_skipped_and_why(width: int) -> None:
    run = Run(catalogue.load("j3-crash-order"), Release.named("4.1"), 0)
    run.run()
    groups = run.cluster.group_report()
    lines = [
        line.text.rstrip()
        for line in paint_groups(
            groups, GroupHistory(), run.cluster.now, PAINT, (width, 24), [each.name for each in groups].index("before")
        )
    ]
    assert "before skipped 30 records: 30 committed before they were processed." in "\n".join(lines)
    assert [line.split()[-2] for line in lines if line.split()[:1] in (["after"], ["►"])] == ["0", "30"]


def test_without_groups_the_page_says_how_to_start_one() -> None:
    said = " ".join(painted((), GroupHistory(), 0, 80, 20))
    assert "enter join-group: {topics: [NAME]}" in said


def test_the_time_lag_is_the_first_column_to_be_left_out(shown: dict[tuple[int, int], list[str]]) -> None:
    for width in (120, 200):
        headers = next(line for line in shown[22, width] if line.startswith(" partition"))
        row = next(line for line in shown[22, width] if line.startswith(" orders-0"))
        right = headers.index("time lag") + len("time lag")
        assert row[:right].endswith(" 300      5.7s"), "50 records a second: the lag of 300 records grew for almost 6 s"
    assert not any("time lag" in line for line in shown[22, 80])


def test_time_lags() -> None:
    tp = TopicPartition("orders", 0)

    def owned(committed: int, end: int) -> OwnedPartition:
        return OwnedPartition(tp, "a", committed, end, end, "")

    buffer = EventBuffer()
    for seq, (time, old, new) in enumerate([(10, 50, 60), (20, 60, 70), (30, 70, 80)]):
        buffer.append((seq, time * SECOND, -1, "high-watermark", "b1", "orders", 0, 0, old, new, 1))
    history = GroupHistory()
    history.update(buffer)
    now = 40 * SECOND
    assert history.time_lag(owned(70, 80), now) == (10 * SECOND, False)
    assert history.time_lag(owned(60, 80), now) == (20 * SECOND, False)
    assert history.time_lag(owned(50, 80), now) == (30 * SECOND, False)
    assert history.time_lag(owned(49, 80), now) == (30 * SECOND, True), "it was above the offset before the first event"
    assert history.time_lag(owned(80, 80), now) == (0, False)
    assert history.time_lag(owned(NO_OFFSET, 80), now) is None
    assert GroupHistory().time_lag(owned(70, 80), now) is None, "no event is in memory"


def test_the_lag_curve_knows_logs_that_are_filled_at_the_start() -> None:
    """A leader reports its high watermark when it becomes leader; a deleted offset has no lag."""
    buffer, history = EventBuffer(), GroupHistory()
    buffer.append((1, 0, 0, "became-leader", 1, "t", 0, 0, 10, 10, (1,)))
    buffer.append((2, 0, 1, "offset-committed", 1, "g", "t", 0, 7, NO_OFFSET, 0))
    history.update(buffer)
    assert history.of("g").lags == [3]
    buffer.append((3, SECOND, 0, "offset-removed", 1, "g", "t", 0, 7))
    history.update(buffer)
    assert history.of("g").lags == [3, 0]
