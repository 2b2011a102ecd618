"""Active faults appear on the cards of the affected brokers and in the header, however little room there is."""

from __future__ import annotations

import attrs
import pytest

from core.kafka.release import CURRENT
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.acts import Act
from core.lab.cluster import Cluster
from core.lab.spec import BrokerSpec, ClusterSpec, ZoneSpec
from core.lab.views.cluster_view import ClusterView
from core.sim.units import SECOND
from tests.tui.app.test_playground import playing, screen_text
from tui.analysis.faults import all_faults, faults_at, faults_text
from tui.panels.brokers import paint_brokers
from tui.rendering.palette import COLOR

SPEC = ClusterSpec(brokers=tuple(BrokerSpec(i, log_dirs=2) for i in (1, 2, 3)), topics=(TopicSpec("orders", partitions=2),))

FAULTS = [
    (acts.Pause(2), "b2 paused", 2, "paused"),
    (acts.SlowDisk(1, 50_000), "b1 disk +50ms per write", 1, "disk +50ms per write"),
    (acts.FailDir(3, 2), "b3 dir 2 of 2 failed", 3, "dir 2 of 2 failed"),
    (acts.Cut(("b1", "b3")), "b1↔b3 cut", 1, "cut ↔ b3"),
    (acts.Cut(("b1", "controller"), one_way=True), "b1→controller cut", 1, "cut → controller"),
    (acts.Hold(("b2", "b1")), "b2→b1 held", 1, "held ← b2"),
    (acts.Link(("b2", "b3"), latency=200_000), "b2↔b3 slow 200ms", 3, "slow ↔ b2 200ms"),
    (acts.Link(("b2", "b3"), loss_ppm=100_000), "b2↔b3 loss 10%", 2, "loss ↔ b3 10%"),
]


def after(*wanted: Act) -> ClusterView:
    cluster = Cluster(SPEC, CURRENT, 0)
    cluster.run_until(SECOND)
    for act in wanted:
        cluster.do(act)
    cluster.run_until(2 * SECOND)
    return cluster.view()


def test_without_faults_nothing_is_said() -> None:
    view = after()
    assert all_faults(view) == []
    assert faults_text(view) == ()


@pytest.mark.parametrize(("act", "listed", "broker", "on_card"), FAULTS, ids=[each[1] for each in FAULTS])
def test_each_fault_stands_in_the_header_and_on_the_card(act: Act, listed: str, broker: int, on_card: str) -> None:
    view = after(act)
    said = [fault.in_a_list for fault in all_faults(view)]
    assert any(
        each.startswith(listed) or set(each.split()[0].replace("←", "→").split("→")) == set(listed.split()[0].split("→")) for each in said
    ), said
    cards = "\n".join(line.text for line in paint_brokers(view, COLOR, (144, 4), selected=1, focused=False, cards=True))
    assert on_card in cards
    chips = paint_brokers(view, COLOR, (80, 2), selected=1, focused=False, cards=False)[1].text
    assert on_card.split()[0] in chips[(broker - 1) * 20 : broker * 20]


def test_two_zones_that_cannot_reach_each_other_are_one_fault() -> None:
    zones = (ZoneSpec("a", ("b1", "app")), ZoneSpec("b", ("b2",)), ZoneSpec("c", ("b3",)))
    cluster = Cluster(attrs.evolve(SPEC, zones=zones), CURRENT, 0)
    cluster.do(acts.Produce("orders", 1, producer="app"))
    cluster.do(acts.CutZone("a"))
    assert [fault.in_a_list for fault in all_faults(cluster.view())] == ["a↔b cut", "a↔c cut", "b1↔controller cut", "app↔controller cut"]
    cluster.do(acts.HealZone("a", "c"))
    cluster.do(acts.Cut(("b2", "b3"), one_way=True))
    assert [fault.in_a_list for fault in all_faults(cluster.view())] == ["a↔b cut", "b1↔controller cut", "b2→b3 cut", "app↔controller cut"]


@pytest.mark.parametrize(
    ("act", "back"),
    [(acts.Pause(2), acts.Resume(2)), (acts.SlowDisk(1, 50_000), acts.SlowDisk(1, 0)), (acts.Cut(("b1", "b3")), acts.Heal())],
)
def test_a_fault_that_is_taken_back_is_gone(act: Act, back: Act) -> None:
    assert faults_text(after(act))
    assert faults_text(after(act, back)) == ()


def test_a_node_has_its_own_faults_only_the_worst_first() -> None:
    view = after(acts.SlowDisk(1, 50_000), acts.Cut(("b1", "b3")))
    assert [fault.word for fault in faults_at(view, "b1")] == ["cut", "disk"]
    assert [fault.word for fault in faults_at(view, "b3")] == ["cut"]
    assert faults_at(view, "b2") == []


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_the_header_says_so_with_the_release_beside_it(size: tuple[int, int]) -> None:
    async with playing(size=size) as (app, main_screen, pilot):
        assert "fault" not in screen_text(app).splitlines()[0]
        for act in (acts.Pause(2), acts.Cut(("b1", "b3")), acts.SlowDisk(1, 50_000)):
            main_screen.session.history.do(act)
        main_screen.refresh_view()
        await pilot.pause()
        header = screen_text(app).splitlines()[0]
        assert "! 3 faults: b2 paused" in header
        assert "Kafka " in header
        if size[0] >= 120:
            assert "b2 paused, b1↔b3 cut, b1 disk +50ms per write" in header
