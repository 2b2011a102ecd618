"""The swim-lane diagram: the column of each event, the direction and label of its arrow, and the jump to its cause."""

from __future__ import annotations

import pytest

from core.kafka import events
from core.kafka.events import DETAIL, NOTABLE, PARTITION_OF
from core.kafka.ids import TopicPartition
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.cluster import Cluster
from core.lab.history.event_buffer import EventBuffer
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.events import kind_of, seq_of
from core.sim.units import SECOND
from tests.core.kafka.sentence_samples import samples
from tests.tui.app.test_playground import playing, screen_text
from tui.analysis.message_lanes import CLIENTS, Lane, LaneStep, concerns, node_of
from tui.pages.messages import TIME, centres, columns_of, paint_lane, squeezed
from tui.rendering.palette import COLOR

TP = TopicPartition("orders", 0)


def life() -> tuple[Cluster, EventBuffer]:
    event_buffer = EventBuffer()
    spec = ClusterSpec(
        brokers=tuple(BrokerSpec(i) for i in (1, 2, 3)),
        topics=(TopicSpec("orders", partitions=2, replication_factor=3),),
    )
    cluster = Cluster(spec, seed=1, sink=event_buffer.append)
    cluster.do(acts.Load("orders", 20))
    cluster.run_until(SECOND)
    cluster.do(acts.Kill(cluster.partition_view(TP).leader))
    cluster.run_until(20 * SECOND)
    return cluster, event_buffer


def lane(level: int = DETAIL) -> tuple[Cluster, Lane]:
    cluster, event_buffer = life()
    made = Lane(TP, frozenset(cluster.partition_view(TP).replicas), level)
    made.update(event_buffer)
    return cluster, made


def test_a_round_trip_is_read_from_the_causes() -> None:
    _, made = lane()
    steps = list(made.steps)
    first = next(n for n, step in enumerate(steps) if kind_of(step.event) == "append")
    leader = steps[first].node
    assert steps[first].source == CLIENTS
    copied = next(step for step in steps[first:] if kind_of(step.event) == "follower-append")
    assert (copied.source, copied.label) == (leader, steps[first].label)
    fetched = next(step for step in steps[first:] if kind_of(step.event) == "follower-fetched")
    assert fetched.node == leader
    assert fetched.source not in ("", leader, CLIENTS)
    assert fetched.label.startswith("fetch ")
    acked = next(step for step in steps[first:] if kind_of(step.event) == "produce-acked")
    assert (acked.node, acked.source) == (CLIENTS, leader)
    at = next(n for n in range(first, len(steps)) if steps[n].event[3] == "follower-high-watermark")
    told = steps[at]
    assert told.source == next(step.node for step in reversed(steps[:at]) if kind_of(step.event) == "high-watermark")
    assert told.label.startswith("HW ")


def test_an_election_goes_from_the_controller_to_the_new_leader() -> None:
    _, made = lane(NOTABLE)
    (elected,) = [step for step in made.steps if kind_of(step.event) == "leader-elected"]
    assert elected.node == "controller"
    _, made = lane()
    leads = [step for step in made.steps if kind_of(step.event) == "became-leader"][-1]
    assert leads.source == "controller"
    assert elected.label.startswith(f"new leader {leads.node}")


def test_nothing_of_other_partitions_is_in_it() -> None:
    _, made = lane()
    named = {PARTITION_OF[kind_of(step.event)](step.event) for step in made.steps if kind_of(step.event) in PARTITION_OF}
    assert named == {TP}
    assert not concerns((1, 0, 0, "append", 1, "orders", 1, 0, 0, 5, 100, "load", -1), TP, made.brokers)
    assert concerns((1, 0, 0, "append", 1, "orders", 0, 0, 0, 5, 100, "load", -1), TP, made.brokers)
    assert concerns((1, 0, 0, "broker-stopped", 2, "killed"), TP, frozenset({2}))
    assert not concerns((1, 0, 0, "broker-stopped", 2, "killed"), TP, frozenset({3}))


@pytest.mark.parametrize(
    "kind", [events.ProduceAcked, events.Consumed, events.ConsumerTruncated, events.ReadReplica, events.BatchCompleted, events.PositionSet]
)
def test_what_a_client_records_is_in_the_column_of_the_clients(kind: type[events.Event]) -> None:
    assert node_of(next(samples(kind))) == CLIENTS


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize("replicas", [1, 3, 5])
def test_every_column_and_every_label_has_its_place(width: int, replicas: int) -> None:
    columns = columns_of(range(1, replicas + 1))
    cells = centres(len(columns), width)
    assert cells == sorted(set(cells))
    assert cells[0] >= TIME
    assert cells[-1] < width


def test_arrows_point_from_cause_to_effect() -> None:
    columns = columns_of((1, 2, 3))
    one, two = centres(5, 80)[1:3]
    event = (7, SECOND, 5, "follower-append", 2, "orders", 0, 1, 10, 20, 10)
    ((line, _),) = paint_lane([LaneStep(event, "b2", "b1", "10–19")], columns, -1, COLOR, 80)
    assert line.text[one : two + 1] == "├─── 10–19 ──▶"[: two - one] + "▶" or line.text[two] == "▶"
    assert line.text[one] == "├"
    assert "10–19" in line.text[one:two]
    ((back, _),) = paint_lane([LaneStep(event, "b1", "b2", "fetch 20")], columns, -1, COLOR, 80)
    assert back.text[one] == "◄"
    assert back.text[two] == "┤"


def test_pauses_are_shown_and_dead_brokers_have_no_line() -> None:
    columns = columns_of((1, 2, 3))
    stop = LaneStep((1, SECOND, 0, "broker-stopped", 2, "killed"), "b2", "", "killed")
    late = LaneStep((2, 4 * SECOND, 0, "high-watermark", 1, "orders", 0, 0, 1, 2, 1), "b1", "", "HW 2")
    lines = [line.text for line, _ in paint_lane([stop, late], columns, -1, COLOR, 80)]
    assert "✕ killed" in lines[0]
    assert "… 3.0 s" in lines[1]
    two = centres(5, 80)[2]
    assert lines[2][two] == "·"
    assert all(len(line) == 80 for line in lines)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_from_an_event_to_its_cause_again_and_again(size: tuple[int, int]) -> None:
    async with playing(size=size, until=3 * SECOND) as (app, main_screen, pilot):
        await pilot.press("3")
        assert "Messages of orders-0" in screen_text(app)
        assert "following" in screen_text(app)
        main_screen.pages.page.select(
            next(seq_of(s.event) for s in reversed(main_screen.pages.page._lane.steps) if kind_of(s.event) == "produce-acked")
        )  # type: ignore[union-attr, attr-defined]
        kinds = []
        for _ in range(4):
            kinds.append(main_screen.context().event[3])  # type: ignore[index]
            await pilot.press("less_than_sign")
        assert kinds == ["produce-acked", "high-watermark", "follower-fetched", "follower-append"]
        assert main_screen.context().event[3] == "append"  # type: ignore[index]
        assert "appended" in screen_text(app)
        await pilot.press("f", "f")
        assert "notable only" in screen_text(app)
        await pilot.press("G", "f", "up")
        assert main_screen.context().event is not None
        seq = main_screen.context().event[0]  # type: ignore[index]
        await pilot.press("enter")
        while main_screen.session.playback.moving:
            await pilot.pause(0.02)
        assert main_screen.session.history.replay_run.position.seq >= seq


def test_the_label_of_an_arrow_keeps_its_numbers() -> None:
    assert [squeezed("fetch 3,050", room) for room in (11, 10, 9, 4, 3)] == ["fetch 3,050", "fetch 3050", "3050", "3050", "fe…"]
    assert squeezed("3,040–3,049", 9) == "3040–3049"
