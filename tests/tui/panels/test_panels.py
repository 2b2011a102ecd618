"""The rendered lines of the header, brokers, events, inspector, scenario, totals, and footer, without an application."""

from __future__ import annotations

import math

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.geometry import Size

from core.kafka.broker.broker_state import BrokerState
from core.kafka.events import DETAIL, KINDS, NOTABLE
from core.kafka.health import PartitionStatus
from core.kafka.ids import TopicPartition
from core.kafka.release import Release
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.act_sentences import sentence
from core.lab.cluster import Cluster
from core.lab.history.event_buffer import EventBuffer, EventRing
from core.lab.reports.network_report import CatchUp
from core.lab.spec import BrokerSpec, ClusterSpec
from core.lab.views.broker_view import NetworkUse
from core.lab.views.client_view import ProducerView
from core.lab.views.partition_view import PartitionView
from core.sim.units import SECOND
from scenarios import catalogue
from scenarios.running.runner import Run
from tests.tui.states import cluster, partition, replica, view_of
from tui.analysis.metrics_history import METRICS
from tui.panels.brokers import height_for, paint_brokers
from tui.panels.cluster_totals import client_items, paint_totals
from tui.panels.events import EventLog, glyph_of, paint_event
from tui.panels.footer import FooterMessage, Hint, paint_footer
from tui.panels.header import Clock, paint_header
from tui.panels.inspector import high_watermark_sentence, paint_broker, paint_event_detail, paint_partition
from tui.panels.lines import changed
from tui.panels.minimal import paint_minimal
from tui.panels.scenario import paint_scenario
from tui.rendering.palette import COLOR
from tui.rendering.rows import Row
from tui.session.scenario_state import Expected, ScenarioState, Verdict

CLOCK = Clock(12_345_000, True, 1.0, None, None, "4.1", 7, "three brokers")


def text(lines) -> str:  # type: ignore[no-untyped-def]
    return "\n".join(strip.text for strip in lines)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "►  00:12.345  1×"),
        ({"playing": False}, "‖  00:12.345  paused  1×"),
        ({"speed": 1000.0, "reached": 212.0}, "1000×  falling behind: 212×"),
        ({"speed": math.inf, "reached": 1234.5}, "max  runs at 1,234×"),
        ({"playing": False, "task_target": "the next event"}, "searching for the next event"),
        ({"playing": False, "ended": True}, "end of the script"),
        ({"by_steps": True, "speed": 0.5}, "  0.5 steps/s"),
        ({"past": 0, "events_past": 12}, "12 events before the end"),
        ({"past": 3_000_000, "events_past": 12}, "3s before the end"),
    ],
)
def test_the_clock_is_honest(changes: dict[str, object], said: str) -> None:
    line = paint_header(attrs.evolve(CLOCK, **changes), COLOR, 120).text
    assert said in line
    assert line.endswith("three brokers  Kafka 4.1  seed 7 ")
    assert len(line) == 120


def test_a_narrow_header_would_rather_drop_the_seed_than_cut_the_title() -> None:
    clock = attrs.evolve(CLOCK, playing=False, ended=True, title="e1-data-loss")
    assert paint_header(clock, COLOR, 80).text.endswith("e1-data-loss  Kafka 4.1 ")


def test_a_dead_broker_is_distinguished_from_a_fenced_one() -> None:
    fake = cluster()
    fake.do(acts.Kill(2))
    assert "b2 ✕ dead, not yet noticed" in text(paint_brokers(fake.view(), COLOR, (120, 4), selected=1, focused=True, cards=True))
    fake.run_until(10_000_000)
    lines = text(paint_brokers(fake.view(), COLOR, (120, 4), selected=1, focused=True, cards=True))
    assert "b2 ✕ stopped" in lines
    assert "Brokers 2 of 3 up" in lines
    assert "►b1" in lines


def test_cut_links_stand_at_both_their_ends() -> None:
    fake = cluster()
    fake.do(acts.Cut(("b1", "controller")))
    lines = text(paint_brokers(fake.view(), COLOR, (120, 4), selected=None, focused=False, cards=True))
    assert "cut ↔ controller" in lines
    assert "cut ↔ b1" in lines
    assert "links: 2 cut" in lines


@pytest.mark.parametrize("count", [1, 3, 4, 12, 100])
@pytest.mark.parametrize("width", [80, 120, 200])
def test_brokers_fit_however_many_there_are(count: int, width: int) -> None:
    spec = ClusterSpec(brokers=tuple(BrokerSpec(i) for i in range(count)), topics=(TopicSpec("t"),))
    height = height_for(count, width, True)
    lines = paint_brokers(cluster(spec).view(), COLOR, (width, height), selected=count - 1, focused=True, cards=True)
    assert len(lines) == height
    assert all(len(strip.text) == width for strip in lines)
    shown = text(lines)
    assert f"b{count - 1}" in shown, "the selected broker is always shown"
    assert "controller" in shown
    assert (f"–{count} shown" in shown) == any(f"b{i} " not in shown for i in range(count))


def test_every_kind_of_event_has_a_glyph() -> None:
    assert [kind for kind in KINDS if glyph_of(kind)[0] == "·" and kind != "became-follower"] == []
    assert all(hasattr(COLOR, glyph_of(kind)[1]) for kind in KINDS)


def test_an_event_line_says_when_what_and_why() -> None:
    event = (5, 19_000_000, 0, "broker-fenced", 2, 9_100_000, 9_000_000)
    line = paint_event(event, COLOR, 110, False, False)[0].text
    assert line.startswith(" 00:19.000 ○ the controller fenced b2 after receiving no heartbeat for broker.session.timeout.ms (9s)")
    assert line.endswith("…")
    assert len(line) == 110


def test_acts_are_described_in_words() -> None:
    assert sentence((1, 0, 0, "act", "kill", '{"broker": 2}')) == "kill b2"
    assert sentence((1, 0, 0, "act", "cut", '{"between": ["b1", "b2"], "one_way": true}')) == "cut b1 and b2 (one way)"
    said = sentence((1, 0, 0, "act", "set", '{"name": "min.insync.replicas", "value": "1", "topic": "orders"}'))
    assert said == "set min.insync.replicas = 1 for orders"
    assert (
        sentence((1, 0, 0, "act", "produce", '{"topic": "orders", "records": 1, "partition": 0}'))
        == "produce 1 record to orders partition 0"
    )
    slow = '{"between": ["b1", "b2"], "latency": 200000, "jitter": 20000, "loss-ppm": 100000}'
    assert sentence((1, 0, 0, "act", "link", slow)) == "link b1 and b2 (latency 200ms, jitter 20ms, loss 10%)"


def fenced(seq: int) -> tuple:  # type: ignore[type-arg]
    return (seq, seq * 1000, 0, "broker-fenced", seq, 9_000_000, 9_000_000)


def test_the_log_follows_until_somebody_goes_up() -> None:
    ring = EventRing(100)
    log = EventLog(COLOR, ring, id="events")
    log.box = Size(160, 4)
    log.post_message = lambda message: True  # type: ignore[method-assign, assignment]
    for seq in range(1, 21):
        ring.append(fenced(seq))
    log.update()
    assert "b20" in log.lines[3].text
    assert "following" in log.lines[0].text
    log.move(-5)
    log.update()
    assert log.selected == fenced(16)
    ring.append(fenced(21))
    log.update()
    assert log.selected == fenced(16), "what comes later does not move the selection"
    assert "5 later" in log.lines[0].text
    log.move(100)
    log.update()
    assert log.selected is None
    assert "b21" in log.lines[3].text


def test_a_ring_forgets_the_oldest_and_keeps_its_indices() -> None:
    ring = EventRing(10)
    for seq in range(1, 101):
        ring.append(fenced(seq))
    assert (ring.total, ring.first) == (100, 90)
    assert ring.at(95) == fenced(96)
    assert ring.index_of(96) == 95
    assert ring.index_of(3) is None
    with pytest.raises(IndexError):
        ring.at(5)


def test_notable_events_outlive_the_traffic() -> None:
    event_buffer = EventBuffer({DETAIL: 5, 1: 5, NOTABLE: 5})
    event_buffer.append(fenced(1))
    for seq in range(2, 50):
        event_buffer.append((seq, seq, 0, "checkpoint", 1, 1))
    assert event_buffer.ring(NOTABLE).at(0) == fenced(1)
    assert event_buffer.find(1) == fenced(1)
    assert event_buffer.ring(DETAIL).total == 49


def test_of_a_series_of_refusals_the_first_is_notable() -> None:
    event_buffer = EventBuffer()
    for seq in range(1, 100):
        event_buffer.append((seq, seq * 10_000, 0, "append-refused", 1, "orders", 0, "load", 10, "NOT_ENOUGH_REPLICAS", (1,), 2))
    event_buffer.append((100, 1_000_000, 0, "append-refused", 1, "orders", 1, "load", 10, "NOT_ENOUGH_REPLICAS", (1,), 2))
    event_buffer.append((101, 20_000_000, 0, "append-refused", 1, "orders", 0, "load", 10, "NOT_ENOUGH_REPLICAS", (1,), 2))
    ring = event_buffer.ring(NOTABLE)
    assert [ring.at(i)[0] for i in range(ring.total)] == [1, 100, 101]
    assert event_buffer.ring(DETAIL).total == 101


def test_why_goes_back_through_the_causes() -> None:
    fake = cluster()
    event_buffer = EventBuffer()
    fake.sink = event_buffer.append
    fake.do(acts.Shutdown(1))
    elected = next(
        e for e in (event_buffer.ring(NOTABLE).at(i) for i in range(event_buffer.ring(NOTABLE).total)) if e[3] == "leader-elected"
    )
    lines = text(paint_event_detail(elected, event_buffer.find, COLOR, 90))
    assert "PartitionChangeBuilder#electLeader" in lines
    assert "because ○ the controller fenced b1" in lines
    assert "because ▸ shutdown b1" in lines


def test_a_partition_says_why_its_high_watermark_is_held() -> None:
    p = partition(replica(1, 120, 118, role="leader"), replica(2, 118, 118, caught_up_us=3_200_000), slowest_replicas=(2,))
    view = view_of(p)
    assert high_watermark_sentence(p, view) == "HW is held at 118 by b2, last caught up 3.2s ago: 2 records wait."
    alone = attrs.evolve(p, isr=(1,))
    assert "ISR [1] is smaller than min.insync.replicas 2" in high_watermark_sentence(alone, view)
    assert "is smaller than" not in high_watermark_sentence(alone, attrs.evolve(view, release="3.6")), (
        "before 3.7 records are committed all the same"
    )
    assert high_watermark_sentence(attrs.evolve(p, leader=-1), view).startswith("No leader")
    dead = partition(replica(1, 5, 5, alive=False, role="offline"), replica(2, 5, 5))
    assert "is not running, but there is no new leader yet" in high_watermark_sentence(dead, view)


def test_all_who_hold_the_high_watermark_are_named() -> None:
    slow = replica(3, 118, 118, caught_up_us=5_140_000)
    p = partition(replica(1, 120, 118, role="leader"), replica(2, 118, 118), slow, slowest_replicas=(2, 3))
    assert high_watermark_sentence(p, view_of(p)) == "HW is held at 118 by b3 (last caught up 5.1s ago) and b2: 2 records wait."
    many = partition(replica(1, 120, 118, role="leader"), *(replica(n, 118, 118) for n in (2, 4, 5)), slow, slowest_replicas=(2, 4, 5, 3))
    assert high_watermark_sentence(many, view_of(many)) == "HW is held at 118 by b3 (last caught up 5.1s ago) and 3 others: 2 records wait."
    three = attrs.evolve(many, slowest_replicas=(2, 4, 5))
    assert high_watermark_sentence(three, view_of(three)) == "HW is held at 118 by b2, b4, and b5: 2 records wait."


def test_with_one_line_a_loss_comes_before_who_is_missing() -> None:
    p = attrs.evolve(partition(replica(1, 9, 9, role="leader"), replica(2, 7, 7, in_isr=False)), lost=1, lost_acknowledged=1)
    assert "other records were lost" in text(paint_partition(p, view_of(p), COLOR, 80, 1, left={2: "left 00:01.000"})[:2])
    well = attrs.evolve(p, lost=0)
    assert "b2 left" in text(paint_partition(well, view_of(well), COLOR, 80, 1, left={2: "left 00:01.000"})[:2])


def test_a_partition_in_full_shows_what_each_replica_believes() -> None:
    p = partition(
        replica(1, 9, 9, role="leader"), replica(2, 7, 7, role="leader", believes_leader=2, believes_epoch=1, epochs=((0, 0), (1, 5)))
    )
    lines = text(paint_partition(p, view_of(p), COLOR, 110))
    assert "considers b2 the leader (epoch 1)" in lines
    assert "0@0 1@5" in lines
    assert "☆●b2" in lines
    assert "-2" in lines


def test_replicas_lag_behind_their_leader_or_are_ahead_of_it() -> None:
    p = partition(replica(2, 12, 12, alive=False, role="offline"), replica(1, 9, 9, role="leader"), replica(3, 8, 8))

    def told(p: PartitionView) -> list[str]:
        rows = text(paint_partition(p, view_of(p), COLOR, 110)).splitlines()
        return [row.split()[3] for row in rows if row.lstrip("★☆●○⊗✕ ").startswith("b") and "0@0" in row]

    assert told(p) == ["+3", "·", "-1"]
    assert told(attrs.evolve(p, leader=-1)) == ["·", "-3", "-4"]


def test_a_broker_in_full() -> None:
    fake = cluster()
    fake.do(acts.Cut(("b2", "b3")))
    lines = text(paint_broker(fake.view().broker(2), fake.view(), COLOR, 80))
    assert "faults: cut ↔ b3" in lines
    assert "leads orders-1" in lines


def test_a_broker_with_a_limited_bandwidth_says_who_waits_for_it() -> None:
    view = cluster().view()
    busy = attrs.evolve(view.broker(2), network=NetworkUse(10_000_000, 10_000_000, 4_099_999, 1_680_000, 9_000))
    from_it = CatchUp(True, (1, 3), 12, 640_000_000, 10_000_000, 4_000_000)
    to_it = CatchUp(False, (1,), 1, 999_600, 9_000_000, 9_000_000)
    lines = text(paint_broker(busy, view, COLOR, 100, (from_it, to_it))).splitlines()
    assert [line.strip() for line in lines[1:4]] == [
        "b1 and b3 catch up on 12 partitions: 640 MB behind, about 1m47s more.",
        "b2 catches up from b1 on 1 partition: 1 MB behind, no end, because new records come as fast.",
        "network 10 MB/s: sends at 100 %, receives at 40 %",
    ]
    longer = attrs.evolve(busy, network=attrs.evolve(busy.network, to_send=30_000_000))
    assert "network 10 MB/s: sends at 100 %, receives at 40 %; 30 MB wait to be sent" in text(paint_broker(longer, view, COLOR, 100))
    assert "network" not in text(paint_broker(view.broker(2), view, COLOR, 100))
    view = attrs.evolve(view, brokers=(view.broker(1), busy, view.broker(3)))
    assert "network out 100%" in text(paint_brokers(view, COLOR, (120, 4), selected=1, focused=True, cards=True))
    assert "b2 up out 100%" in text(paint_brokers(view, COLOR, (80, 3), selected=1, focused=True, cards=False))


def test_a_broker_that_was_unregistered_has_no_epoch() -> None:
    view = cluster().view()
    assert "epoch 11" in text(paint_brokers(view, COLOR, (120, 4), selected=1, focused=True, cards=True))
    gone = attrs.evolve(view, brokers=tuple(attrs.evolve(broker, broker_epoch=-1) for broker in view.brokers))
    lines = text(paint_brokers(gone, COLOR, (120, 4), selected=1, focused=True, cards=True))
    assert "not registered" in lines
    assert "epoch -1" not in lines
    assert "  not registered" in text(paint_broker(gone.broker(2), gone, COLOR, 80))


SCENARIO = ScenarioState(
    "loss",
    "What happens.",
    (
        Expected(Verdict.HELD, "acked == 2", "m2 is committed", "2", "2", "line 9"),
        Expected(Verdict.FAILED, "lost == 0", "nothing is lost", "0", "1", "line 12"),
        Expected(Verdict.PENDING, "leader(orders-0) == 1", "the follower leads"),
    ),
    "fence b2",
    "m2",
)


def test_a_scenario_shows_expected_and_got_of_what_failed() -> None:
    lines = text(paint_scenario(SCENARIO, COLOR, (60, 20)))
    assert "1 of 3 held, 1 FAILED" in lines
    assert "✓ m2 is committed" in lines
    assert "✖ nothing is lost" in lines
    assert "expected  0" in lines
    assert "got       1" in lines
    assert "at        line 12: lost == 0" in lines
    assert "○ the follower leads" in lines
    assert "next  fence b2" in lines


def test_with_little_room_failures_stay() -> None:
    lines = text(paint_scenario(SCENARIO, COLOR, (60, 8)))
    assert "got       1" in lines
    assert "m2 is committed" not in lines


def test_the_account_shouts_what_is_lost() -> None:
    fine = view_of(partition(replica(1, 5, 5)))
    assert "lost 0" in text(paint_totals(fine, COLOR, (120, 3), headline=False))
    harm = attrs.evolve(fine, lost=12, unclean_elections=1)
    lines = text(paint_totals(harm, COLOR, (120, 3), headline=False))
    assert " LOST 12 " in lines
    assert "unclean elections 1" in lines


def test_where_not_all_has_room_what_is_wrong_has_it_first() -> None:
    p = attrs.evolve(partition(replica(1, 5, 5), replica(2, 5, 5, in_isr=False)), min_isr=1)
    client = ProducerView("producer", "orders", -1, 0, sent=1_000, acked=1_000, failed=0, in_flight=0, retries=0, last_latency_us=0)
    under = attrs.evolve(view_of(p), acked=1_000, producers=(client,))
    line = text(paint_totals(under, COLOR, (66, 1), headline=False))
    assert "acked 1,000 of 1,000 │ lost 0 │ offline 0 │ under-replicated 1" in line
    assert "under min" not in line
    assert "under min ISR 0 │ under-replicated 1" in text(paint_totals(under, COLOR, (100, 1), headline=False))


def test_a_table_without_room_for_every_replica_is_left_out() -> None:
    p = partition(replica(1, 5, 5), replica(2, 5, 5))
    assert len(text(paint_partition(p, view_of(p), COLOR, 100, 5)).splitlines()) == 7
    short = text(paint_partition(p, view_of(p), COLOR, 100, 4))
    assert "caught up" not in short
    assert "ISR [1,2] of [1,2]" in short


def test_the_account_counts_as_kafka_topics_does() -> None:
    under = partition(replica(1, 5, 5), replica(2, 5, 5, in_isr=False), status=PartitionStatus.UNDER_MIN_ISR)
    off = attrs.evolve(under, tp=TopicPartition("orders", 1), leader=-1, status=PartitionStatus.OFFLINE)
    lines = text(paint_totals(view_of(under, off), COLOR, (120, 3), headline=False))
    assert "offline 1" in lines
    assert "under min ISR 2" in lines
    assert "under-replicated 2" in lines


def test_isr_shrinks_are_those_of_leaders_if_more_replicas_are_out() -> None:
    p = partition(replica(1, 5, 5), replica(2, 5, 5, in_isr=False))
    assert "ISR shrinks 0 expands 0 by leaders, out 1" in text(paint_totals(view_of(p), COLOR, (120, 4), headline=False))
    assert "leaders" not in text(paint_totals(attrs.evolve(view_of(p), isr_shrinks=1), COLOR, (120, 4), headline=False))
    shrinks = next(metric for metric in METRICS if metric.short == "IsrShrinksPerSec")
    assert "Kafka does not count replicas that the controller removes" in shrinks.about


def test_the_footer_keeps_help_and_quit() -> None:
    hints = (
        *tuple(Hint(f"a{n}", "k", f"action {n}", n % 2 == 0) for n in range(20)),
        Hint("help", "?", "help", True),
        Hint("quit", "q", "quit", True),
    )
    line = paint_footer(hints, None, COLOR, 80).text
    assert "? help" in line
    assert "q quit" in line
    assert len(line) == 80
    assert "b2 is stopped" in paint_footer(hints, FooterMessage("b2 is stopped; start it with s", True), COLOR, 80).text


def test_the_minimal_view_is_calm() -> None:
    fake = cluster()
    fake.brokers[3] = BrokerState.PAUSED
    lines = paint_minimal(fake.view(), fenced(1), 1, COLOR, (50, 10))
    assert len(lines) == 10
    assert "‖ b3" in text(lines)
    assert "✓ 3 healthy" in text(lines)
    assert "the controller fenced b1" in text(lines)
    for width in range(24, 60):
        narrow = text(paint_minimal(fake.view(), fenced(1), 1, COLOR, (width, 18)))
        assert "…" not in narrow, "nothing is cut"
        assert "offline 0" in narrow
        assert "80×20." in narrow


@given(
    st.lists(st.sampled_from(["ab", "c", "def", "..", "g"]), max_size=8),
    st.lists(st.sampled_from(["ab", "c", "def", "..", "g"]), max_size=8),
)
def test_the_changed_span_covers_every_difference(before: list[str], after: list[str]) -> None:
    old, new = Row(), Row()
    for text_of in before:
        old.add(text_of, COLOR.text)
    for text_of in after:
        new.add(text_of, COLOR.text)
    one, other = old.strip(30), new.strip(30)
    start, end = changed(one, other, 30)
    assert 0 <= start < end <= 30
    assert one.text[:start] == other.text[:start]
    assert one.text[end:] == other.text[end:]


def test_a_failed_log_directory_is_named_where_its_replicas_are() -> None:
    running = Cluster(ClusterSpec(tuple(BrokerSpec(i, log_dirs=2) for i in (1, 2, 3)), (TopicSpec("t"),)))
    running.do(acts.FailDir(1, 1))
    view = running.view()
    shown = text(paint_partition(view.partitions[0], view, COLOR, 160))
    assert "log directory 1 has failed" in shown
    assert shown.count("has failed") == 1
    assert "log directory 1 of 2 failed" in text(paint_broker(view.broker(1), view, COLOR, 160))
    assert "failed" not in text(paint_broker(view.broker(2), view, COLOR, 160))


def test_every_kind_but_what_people_did_names_what_to_read_on() -> None:
    assert [kind for kind, event in KINDS.items() if not event.source] == ["act"]


def test_waiting_batches_are_shown_instead_of_the_latency_of_completed_ones() -> None:
    made = Cluster(ClusterSpec(brokers=tuple(BrokerSpec(i) for i in (1, 2, 3)), topics=(TopicSpec("t"),)))
    made.do(acts.Load("t", 100))
    made.run_until(4_000_000)
    shown = "".join(text for item in client_items(made.view(), COLOR) for text, _ in item.parts)
    assert " 2ms" in shown
    assert " for " not in shown
    made.do(acts.Pause(made.partition_view(TopicPartition("t", 0)).isr[-1]))
    made.run_until(8_000_000)
    (load,) = client_items(made.view(), COLOR)
    shown = "".join(text for text, _ in load.parts)
    assert " 2ms" not in shown
    assert "waiting 81 for 4s" in shown
    assert load.wrong


def test_the_totals_name_what_readers_missed_and_a_last_stable_offset_that_is_held_for_minutes() -> None:
    """Harm to groups, to the records of services, and to readers with read_committed is in the headline figures, and only if there is any."""
    spec = ClusterSpec(
        brokers=(BrokerSpec(1),),
        topics=(TopicSpec("orders", partitions=1, replication_factor=1), TopicSpec("pay", partitions=1, replication_factor=1)),
        settings=(
            ("offsets.topic.replication.factor", 1),
            ("transaction.state.log.replication.factor", 1),
            ("transaction.state.log.min.isr", 1),
        ),
    )
    busy = Cluster(spec)
    busy.do(acts.Produce("orders", 50))
    busy.do(acts.InitTransactions("pay", "tx", "app", config=(("transaction.timeout.ms", "600000"),)))
    busy.run_until(SECOND)
    busy.do(acts.BeginTransaction("app"))
    busy.do(acts.Produce("pay", 3, producer="app"))
    busy.do(acts.JoinGroup(("orders",), "c", "g", reset="earliest", commit="before", record_time=10_000, crash_after_records=20))
    busy.run_until(30 * SECOND)
    early = text(paint_totals(busy.view(), COLOR, (160, 3), headline=False))
    assert "SKIPPED 30" in early
    assert "LSO held" not in early, "a transaction of half a minute is no alarm"
    busy.run_until(132 * SECOND)
    assert "LSO held 2m10s in 1 partition" in text(paint_totals(busy.view(), COLOR, (160, 3), headline=False))
    for word in ("unfinished", "done twice"):
        assert word not in early.lower()


@pytest.mark.parametrize(("name", "words"), [("k2-commit-first", "UNFINISHED 10"), ("k2-crash", "done twice 10")])
def test_the_totals_name_the_harm_of_services(name: str, words: str) -> None:
    run = Run(catalogue.load(name), Release.named("4.3"), 0)
    run.run()
    assert words in text(paint_totals(run.cluster.view(), COLOR, (160, 4), headline=False))
