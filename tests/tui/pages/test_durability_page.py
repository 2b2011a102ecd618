"""The page with the durability account: lost records by producer with the cause, exposed records, and the jump to the event."""

from __future__ import annotations

import attrs
import pytest

from core.kafka.events import KINDS
from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.history.event_buffer import EventBuffer
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from scenarios import catalogue
from scenarios.running.runner import Run
from tests.tui.app.test_playground import playing, screen_text
from tests.tui.states import cluster
from tui.pages.durability import entries_of, exposure_events, offset_ranges, paint_durability
from tui.rendering.palette import COLOR
from tui.session.play_target import PlayTarget

TP = TopicPartition("orders", 0)


def finished(name: str, release: str) -> tuple[Cluster, EventBuffer]:
    event_buffer = EventBuffer()
    run = Run(catalogue.load(name), Release.named(release), 0, event_buffer.append)
    run.run()
    return run.cluster, event_buffer


def text(cluster: Cluster, event_buffer: EventBuffer, size: tuple[int, int] = (120, 37)) -> str:
    events = exposure_events(event_buffer)
    entries = entries_of(cluster.durability_report(), lambda tp: events.get(tp, 0))
    lines = paint_durability(cluster.view(), entries, event_buffer.find, COLOR, size, 0)
    assert all(line.cell_length == size[0] for line in lines)
    assert len(lines) <= size[1]
    return "\n".join(line.text for line in lines)


def test_a_loss_names_producer_offsets_and_what_doomed_it() -> None:
    cluster, event_buffer = finished("e1-data-loss", "0.10.2")
    (lost,) = cluster.durability_report().lost
    assert (lost.tp, lost.ranges, lost.records, lost.loss_kind) == (TP, ((1, 2),), 1, "acknowledged")
    doomed = event_buffer.find(lost.event)
    assert doomed is not None
    assert doomed[3] == "truncated"
    shown = text(cluster, event_buffer)
    assert "1 lost, 0 exposed" in shown
    assert "LOST, acknowledged" in shown
    assert f"#{lost.event} b1 truncated orders-0 to 1" in shown
    assert "because" in shown


def test_losses_add_up_to_the_account() -> None:
    for name, release in (("d6-unclean-election-on", "4.1"), ("e1-data-loss", "0.10.2"), ("l3-power-loss-everywhere", "4.1")):
        cluster, _ = finished(name, release)
        harm = cluster.durability_report()
        assert sum(each.records for each in harm.lost) == cluster.account.lost
        assert sum(each.records for each in harm.exposed) == cluster.view().exposed


def test_producers_that_interleave_have_their_exact_offsets_each() -> None:
    event_buffer = EventBuffer()
    spec = ClusterSpec(brokers=tuple(BrokerSpec(i) for i in (1, 2, 3)), topics=(TopicSpec("orders", partitions=1, replication_factor=3),))
    cluster = Cluster(spec, seed=1, sink=event_buffer.append)
    for name, rate in (("app", 50), ("audit", 30)):
        cluster.do(acts.Load("orders", rate, acks="1", producer=name))
    cluster.run_until(2 * SECOND)
    leader = cluster.partition_view(TP).leader
    for other in {1, 2, 3} - {leader}:
        cluster.do(acts.Cut((f"b{leader}", f"b{other}")))
    cluster.run_until(5 * SECOND)
    cluster.do(acts.Kill(leader))
    cluster.run_until(20 * SECOND)
    appended = [event for index in range(event_buffer.ring(0).total) if (event := event_buffer.ring(0).at(index))[3] == "append"]
    lost = cluster.durability_report().lost
    assert {each.producer for each in lost} == {"app", "audit"}
    assert all(len(each.ranges) > 2 for each in lost)
    offsets = [(each.producer, offset) for each in lost for start, end in each.ranges for offset in range(start, end)]
    assert len(offsets) == len(set(offsets)) == cluster.account.lost == sum(each.records for each in lost)
    columns = ["seq", "t", "cause", "kind", *KINDS["append"].columns]
    whose = {}
    for event in appended:
        told = dict(zip(columns, event, strict=True))
        if told["broker"] == leader:
            whose |= dict.fromkeys(range(told["from_offset"], told["to_offset"]), told["producer"])
    assert all(whose[offset] == producer for producer, offset in offsets)
    shown = text(cluster, event_buffer)
    assert offset_ranges(lost[0].ranges)[:60] in shown
    assert f"{len(lost[0].ranges)} ranges in " in shown


def test_offsets_are_described_in_words() -> None:
    assert offset_ranges(((3, 4), (5, 8), (9, 10))) == "3, 5–7, 9"
    assert offset_ranges(((3, 4), (5, 8), (9, 1012)), 1) == "3 and 1,006 more in 2 ranges"


def test_what_is_exposed_and_by_whom() -> None:
    event_buffer = EventBuffer()
    spec = ClusterSpec(
        brokers=tuple(BrokerSpec(i) for i in (1, 2, 3)),
        topics=(TopicSpec("orders", partitions=1, replication_factor=3, config=(("unclean.leader.election.enable", "true"),)),),
    )
    cluster = Cluster(spec, seed=1, sink=event_buffer.append)
    cluster.do(acts.Load("orders", 100, acks="1"))
    cluster.run_until(2 * SECOND)
    leader = cluster.partition_view(TP).leader
    behind = next(b for b in (1, 2, 3) if b != leader)
    cluster.do(acts.Cut((f"b{behind}", f"b{leader}")))
    cluster.run_until(60 * SECOND)
    (exposed,) = cluster.durability_report().exposed
    assert exposed.brokers == (behind,)
    assert exposed.records == cluster.view().exposed > 100
    began = exposure_events(event_buffer)[TP]
    assert event_buffer.find(began)[3] == "records-exposed"  # type: ignore[index]
    assert f"exposed by b{behind}" in text(cluster, event_buffer)


def test_nothing_lost_says_how_to_see_harm() -> None:
    cluster, event_buffer = finished("b2-high-watermark", "4.1")
    assert "nothing lost, nothing missed, nothing exposed" in text(cluster, event_buffer)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_enter_goes_to_the_event_that_doomed_them(size: tuple[int, int]) -> None:
    scenario = catalogue.load("e1-data-loss")
    target = PlayTarget(scenario, scenario.spec, Release.named("0.10.2"), title=scenario.name)
    async with playing(target, size=size, until=0) as (app, main_screen, pilot):
        while main_screen.session.history.replay_run.step():
            pass
        main_screen.refresh_view()
        await pilot.press("5")
        assert "LOST, acknowledged" in screen_text(app)
        assert main_screen.context().event[3] == "truncated"  # type: ignore[index]
        await pilot.press("enter")
        await pilot.pause()
        assert main_screen.pages.page is None
        assert main_screen.panels.events.selected is not None
        assert main_screen.panels.events.selected[3] == "truncated"
        await pilot.press("less_than_sign")
        assert main_screen.panels.events.selected[3] == "broker-started"


def test_totals_that_have_no_room_are_those_of_harm_that_there_is_not() -> None:
    view = attrs.evolve(cluster().view(), accepted=1_234_567, acked=1_234_567, diverged=12)
    lines = [line.text.rstrip() for line in paint_durability(view, [], lambda _: None, COLOR, (70, 10), 0)]
    assert lines[1].endswith("lost 0  diverged 12")
    whole = paint_durability(view, [], lambda _: None, COLOR, (120, 10), 0)[1].text.rstrip()
    assert whole.endswith("lost 0  exposed 0  duplicated 0  diverged 12")


def test_what_readers_missed_is_on_the_page_with_its_cause() -> None:
    """A group that commits first and crashes, and a group that retention overruns."""
    cluster, event_buffer = finished("j3-crash-order", "4.1")
    (missed,) = cluster.durability_report().missed
    assert (missed.reader, missed.ranges, missed.what, missed.records) == ("group before", ((20, 50),), "skipped", 30)
    cause = event_buffer.find(missed.event)
    assert cause is not None
    assert cause[3] == "offset-committed"
    shown = text(cluster, event_buffer)
    assert "0 lost, 30 missed by readers, 0 exposed" in shown
    assert "skipped: committed before they were processed" in shown
    assert "skipped 30" in shown
    narrow = text(cluster, event_buffer, (80, 20))
    assert "30 missed" in narrow


@pytest.mark.parametrize(
    ("name", "reader", "what"),
    [("k2-commit-first", "service careless", "dropped"), ("k1-commit-point", "service", "never"), ("k1-retention", "service", "expired")],
)
def test_what_services_and_processes_missed_is_on_the_page(name: str, reader: str, what: str) -> None:
    cluster, event_buffer = finished(name, "4.3")
    view, missed = cluster.view(), cluster.durability_report().missed
    assert missed
    assert all(each.reader.startswith(reader) and each.what.startswith(what) for each in missed)
    assert sum(each.records for each in missed) == view.unfinished > 0
    assert f"unfinished {view.unfinished:,}" in text(cluster, event_buffer)


def test_a_group_that_begins_at_the_end_has_missed_nothing() -> None:
    spec = ClusterSpec(brokers=(BrokerSpec(1),), topics=(TopicSpec("orders", partitions=1, replication_factor=1),))
    event_buffer = EventBuffer()
    spec = attrs.evolve(spec, settings=(("offsets.topic.replication.factor", 1),))
    cluster = Cluster(spec, sink=event_buffer.append)
    cluster.do(acts.Produce("orders", 20))
    cluster.run_until(2 * SECOND)
    cluster.do(acts.JoinGroup(("orders",), "c", "g", reset="latest"))
    cluster.run_until(10 * SECOND)
    assert sum(each.left_out for each in cluster.view().consumption) == 20
    assert "nothing lost, nothing missed, nothing exposed" in text(cluster, event_buffer)
