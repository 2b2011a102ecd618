"""The map of all partitions: a view is taken over by looking only at what changed, and every partition has its place."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from core.kafka.health import PartitionStatus
from core.kafka.ids import TopicPartition
from core.kafka.release import CURRENT
from core.kafka.topic_spec import TopicSpec
from core.lab.spec import BrokerSpec, ClusterSpec
from core.lab.views.cluster_view import ClusterView
from core.lab.views.partition_view import PartitionView
from tests.tui.app.test_playground import playing, screen_text
from tests.tui.states import partition, replica, view_of
from tui.actions.selection import Selection
from tui.analysis.partition_map import HEALTHY, LOOKS, MOVING, PartitionMap, state_of
from tui.maps.map_page import MapPage
from tui.maps.map_plan import plan_map
from tui.rendering.palette import COLOR, PLAIN, Palette
from tui.session.play_target import PlayTarget

ONE = partition(replica(1, 10, 10, role="leader"), replica(2, 10, 10), replica(3, 9, 9))
EMPTY = view_of()


def partitions(topics: int, each: int) -> list[PartitionView]:
    return [attrs.evolve(ONE, tp=TopicPartition(f"t{topic:03}", number)) for topic in range(topics) for number in range(each)]


def viewed(found: list[PartitionView]) -> ClusterView:
    return attrs.evolve(EMPTY, partitions=tuple(found))


class Screen(SimpleNamespace):
    """A screen that shows a view, and remembers the pages that were opened."""

    def __init__(self, view: ClusterView, paint: Palette = COLOR) -> None:
        super().__init__(view=view, paint=paint, selection=Selection(), opened=[])
        self.selection.keep_within(view)

    def open_page(self, name: str) -> None:
        self.opened.append(name)


def page_on(screen: Any) -> MapPage:
    page = MapPage(screen)
    page.opened()
    return page


def text(page: MapPage, width: int = 118, height: int = 37) -> str:
    return "\n".join(line.text for line in page.lines(width, height))


@pytest.fixture(scope="module")
def many() -> list[PartitionView]:
    """Return 20,000 partitions of 40 topics."""
    return partitions(40, 500)


def test_only_what_changed_is_looked_at_and_painted_again(many: list[PartitionView]) -> None:
    screen = Screen(viewed(many))
    page = page_on(screen)
    before = page.lines(118, 37)
    looked, painted = page._states.looked_at, page._painter.painted
    assert looked == 20_000
    changed = list(many)
    for at in (7, 14_000, 14_001):
        changed[at] = attrs.evolve(many[at], status=PartitionStatus.STALLED)
    screen.view = viewed(changed)
    after = page.lines(118, 37)
    assert page._states.looked_at - looked == 3
    assert page._painter.painted - painted == 2
    assert page._states.counts[PartitionStatus.STALLED + 1] == 3
    assert page._states.counts[HEALTHY] == 19_997
    assert sum(old != new for old, new in zip(before, after, strict=True)) <= 6
    page.lines(118, 37)
    assert page._states.looked_at - looked == 3


def test_a_status_that_the_controller_has_not_noticed_is_not_healthy() -> None:
    states = {status: state_of(attrs.evolve(ONE, status=status)) for status in PartitionStatus}
    assert [states[status] for status in PartitionStatus] == sorted(states.values())
    assert [status for status, state in states.items() if state == HEALTHY] == [PartitionStatus.HEALTHY]
    assert state_of(attrs.evolve(ONE, adding=(4,))) == MOVING
    assert state_of(attrs.evolve(ONE, diverged=1)) == 0
    assert len({glyph for glyph, _, _ in LOOKS}) == len(LOOKS)


@pytest.mark.parametrize(
    "groups",
    [
        [("a", 9)],
        [("a", 6), ("b", 3)],
        [("a", 400), ("b", 30)],
        [(f"t{n}", 2_500) for n in range(40)],
        [(f"t{n}", 3) for n in range(30_000)],
    ],
)
@pytest.mark.parametrize("size", [(80, 14), (118, 30), (198, 50)])
def test_every_partition_is_in_one_cell_and_all_cells_fit(groups: list[tuple[str, int]], size: tuple[int, int]) -> None:
    width, height = size
    plan = plan_map(groups, width, height)
    assert len(plan.rows) <= height
    assert [row.start for row in plan.rows[1:]] == [row.stop for row in plan.rows[:-1]]
    assert (plan.rows[0].start, plan.rows[-1].stop) == (0, sum(count for _, count in groups))
    assert max(plan.label + plan.cells_of(row) * plan.cell for row in plan.rows) <= width
    for index in range(0, plan.rows[-1].stop, max(1, plan.rows[-1].stop // 97)):
        start, stop = plan.cell_at(*plan.place(index))
        assert start <= index < stop


def test_enter_walks_into_the_map_to_a_partition_and_escape_walks_back(many: list[PartitionView]) -> None:
    found = list(many)
    found[14_001] = attrs.evolve(many[14_001], status=PartitionStatus.OFFLINE, leader=-1)
    screen = Screen(viewed(found))
    screen.selection.choose(partition=found[14_001].tp)
    page = page_on(screen)
    assert "1 offline" in text(page)
    assert "looks closer" in text(page)
    page.move("right")
    page.move("left")
    assert screen.selection.partition == found[14_001].tp
    assert page.enter()
    shown = text(page)
    assert "✖  t028-1 none" in shown
    assert "opens the partition" in shown
    assert not page.enter()
    assert (screen.opened, screen.selection.partition) == (["partition"], found[14_001].tp)
    assert page.back()
    assert "looks closer" in text(page)
    assert not page.back()


def test_only_problems_or_the_topics_with_words_can_be_listed() -> None:
    found = partitions(3, 100)
    found[150] = attrs.evolve(found[150], status=PartitionStatus.UNDER_MIN_ISR)
    page = page_on(Screen(viewed(found), PLAIN))
    page.filter()
    assert "▼  t001-50 b1" in text(page)
    page.filter()
    page.wanted = "t002"
    shown = text(page)
    assert "t001" not in shown
    assert "100 shown" in shown
    page.wanted = "t009"
    assert "No partition is listed." in text(page)


async def test_a_wide_screen_of_many_brokers_has_the_map_until_its_session_ends() -> None:
    spec = ClusterSpec(brokers=tuple(BrokerSpec(i) for i in range(1, 26)), topics=(TopicSpec("orders", partitions=300),))
    async with playing(PlayTarget(None, spec, CURRENT, title="many"), size=(200, 60), until=0) as (app, main_screen, pilot):
        assert "Map  300 partitions" in screen_text(app)
        assert "▪ healthy 300" in screen_text(app)
        region = main_screen.panels.partition_map.region
        await pilot.click("#partition-map", offset=(region.width // 2, 4))
        assert main_screen.selection.partition != TopicPartition("orders", 0)
        main_screen.dispose()
        assert not len(main_screen.panels.partition_map._states)


def test_topics_that_come_and_go_are_ordered_anew() -> None:
    states = PartitionMap()
    states.update(viewed(partitions(2, 5)))
    assert states.update(viewed(partitions(3, 5))) is None
    assert [span.topic for span in states.spans] == ["t000", "t001", "t002"]
    assert states.at(states.place_of(TopicPartition("t002", 3))).tp == TopicPartition("t002", 3)
