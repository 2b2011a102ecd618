"""Acts that ask a question: what they ask, that every answer that they offer is possible, and what they would do now. Also the filters of
kafka-topics.
"""

from __future__ import annotations

import attrs
import pytest

from core.kafka.broker.broker_state import BrokerState
from core.kafka.errors import KafkaError
from core.kafka.ids import TopicPartition
from core.kafka.release import CURRENT
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.spec import BrokerSpec, ClusterSpec, NetworkSpec, ZoneSpec
from core.lab.views.partition_view import PartitionView
from core.sim.errors import ActRefused
from core.sim.units import SECOND
from scenarios import catalogue
from tests.tui.app.test_playground import done, playing, said, screen_text
from tests.tui.states import partition, replica, view_of
from tui.actions import admin_questions, effect_texts, fault_questions, questions
from tui.actions.all_actions import ACTIONS, BY_ID
from tui.actions.context import ActionContext
from tui.analysis.metrics_history import METRICS
from tui.analysis.partition_list import FILTERS, filtered, in_order
from tui.panels.cluster_totals import paint_totals
from tui.rendering.palette import COLOR
from tui.session.loading import LoadedSession, load_session
from tui.session.play_target import PlayTarget

SPEC = ClusterSpec(
    brokers=tuple(BrokerSpec(i, log_dirs=2) for i in (1, 2, 3, 4)), topics=(TopicSpec("orders", partitions=3, replication_factor=3),)
)


def fresh() -> LoadedSession:
    loaded = load_session(PlayTarget(None, SPEC, CURRENT))
    loaded.session.history.do(acts.Load("orders", 100))
    loaded.session.history.replay_run.advance_to(2 * SECOND)
    return loaded


def context(loaded: LoadedSession, broker: int = 1, tp: TopicPartition | None = None) -> ActionContext:
    view = loaded.session.history.view()
    settings = loaded.session.history.cluster.settings
    chosen = next(p for p in view.partitions if (p.tp == tp if tp else broker in p.replicas))
    return ActionContext(
        view=view, broker=view.broker(broker), partition=chosen, event=None, focus="grid", playing=False, speed=1.0, pace=loaded.spec.pace,
        setting=lambda name, topic: settings.get(name, topic=topic), overridden=lambda name, topic: False,
    )  # fmt: skip


QUESTIONS = [
    fault_questions.power_loss, fault_questions.slow_disk, fault_questions.directories, admin_questions.move_replica, fault_questions.link_quality, fault_questions.hold, admin_questions.reassign,
    admin_questions.delete_records, admin_questions.create_topic, admin_questions.consume, questions.cut, questions.min_isr, questions.acks, questions.load,
]  # fmt: skip


def test_zones_fail_and_come_back_and_are_cut_off_and_healed() -> None:
    zones = (ZoneSpec("a", ("b1", "b2")), ZoneSpec("b", ("b3",)), ZoneSpec("c", ("b4",)))
    loaded = load_session(PlayTarget(None, attrs.evolve(SPEC, zones=zones), CURRENT))
    assert fault_questions.no_zones(context(loaded)) is None
    assert fault_questions.no_zones(context(fresh())) is not None

    def choose(number: int) -> str:
        option = fault_questions.zones(context(loaded)).options[number - 1]
        (act,) = option.acts
        loaded.session.history.do(act)
        return option.label

    labels = [option.label for option in fault_questions.zones(context(loaded)).options]
    assert labels == [
        "zone a fails", "zone b fails", "zone c fails", "cut off zone a", "cut off zone b", "cut off zone c", "cut a ↔ b", "cut a ↔ c", "cut b ↔ c",
    ]  # fmt: skip
    assert [choose(1), choose(1)] == ["zone a fails", "restore zone a"]
    assert [choose(7), choose(7)] == ["cut a ↔ b", "heal a ↔ b"]
    assert [choose(5), choose(5)] == ["cut off zone b", "heal the links of zone b"]
    assert not loaded.session.history.view().cut_links


@pytest.mark.parametrize("ask", QUESTIONS, ids=lambda ask: ask.__name__)
def test_every_answer_that_is_offered_is_possible(ask) -> None:  # type: ignore[no-untyped-def]
    count = len(ask(context(fresh())).options)
    assert count > 1
    for number in range(count):
        loaded = fresh()
        option = ask(context(loaded)).options[number]
        if option.refused is not None:
            continue
        assert option.acts
        for act in option.acts:
            loaded.session.history.do(act)
        loaded.session.history.replay_run.advance_to(4 * SECOND)


def test_every_key_of_an_answer_is_its_own() -> None:
    loaded = fresh()
    for ask in QUESTIONS:
        keys = [option.key for option in ask(context(loaded)).options if option.key]
        assert len(keys) == len(set(keys)), ask.__name__


def test_what_is_refused_is_refused_by_the_cluster_too() -> None:
    loaded = fresh()
    loaded.session.history.do(acts.FailDir(1, 2))
    loaded.session.history.replay_run.advance_to(5 * SECOND)
    question = fault_questions.directories(context(loaded))
    assert "replace directory 2 with an empty one" in [option.label for option in question.options]
    assert "the broker halts" in question.options[0].note
    moves = admin_questions.move_replica(context(loaded))
    refused = [option for option in moves.options if option.refused]
    assert len(refused) == 2
    for option in refused:
        with pytest.raises((ActRefused, KafkaError)):
            loaded.session.history.do(option.acts[0])


async def test_a_hold_names_its_one_way() -> None:
    async with playing() as (_app, main_screen, pilot):
        await pilot.press("H", "1")
        assert main_screen.view.held_links == (("b1", "b2"),)
        assert done(main_screen) == ["hold b1 → b2"]
        await pilot.press("H", "1")
        assert done(main_screen)[1:] == ["release b1 → b2"]


async def test_a_disk_that_is_not_slow_is_not_made_as_before() -> None:
    async with playing() as (app, main_screen, pilot):
        await pilot.press("Z", "1")
        assert done(main_screen) == []
        assert "the disk of b1 is not slow" in said(app, main_screen)
        assert main_screen.saving.unsaved == 0
        await pilot.press("Z", "3", "Z", "1")
        assert len(done(main_screen)) == 2
        assert main_screen.view.brokers[0].disk_delay_us == 0


def test_held_messages_can_be_released_and_a_move_given_up() -> None:
    loaded = fresh()
    loaded.session.history.do(acts.Hold(("b1", "b2")))
    labels = [option.label for option in fault_questions.hold(context(loaded)).options]
    assert "release b1 → b2" in labels
    assert "hold b2 → b1" in labels
    now = context(loaded)
    assert now.partition is not None
    away = next(b.id for b in now.view.brokers if b.id not in now.partition.replicas)
    loaded.session.history.do(acts.Kill(away))
    loaded.session.history.do(acts.Reassign(now.partition.tp, (*now.partition.replicas, away)))
    loaded.session.history.replay_run.advance_to(5 * SECOND)
    question = admin_questions.reassign(context(loaded, tp=now.partition.tp))
    assert question.options[0].label == "cancel the running reassignment"
    loaded.session.history.do(question.options[0].acts[0])


def test_a_broker_that_is_not_alive_is_added_through_the_admin_api() -> None:
    loaded = fresh()
    now = context(loaded)
    assert now.partition is not None
    away = next(b.id for b in now.view.brokers if b.id not in now.partition.replicas)
    loaded.session.history.do(acts.Kill(away))
    loaded.session.history.replay_run.advance_to(30 * SECOND)
    question = admin_questions.reassign(context(loaded, tp=now.partition.tp))
    added = next(option for option in question.options if option.label.startswith(f"add b{away}"))
    assert "Admin API" in added.note
    loaded.session.history.do(added.acts[0])
    loaded.session.history.replay_run.advance_to(31 * SECOND)
    assert loaded.session.history.replay_run.cluster.partition_view(now.partition.tp).adding == (away,)


async def test_controllers_by_key() -> None:
    scenario = catalogue.load("d9-dedicated-controllers")
    target = PlayTarget(None, scenario.spec, CURRENT, title="quorum")
    async with playing(target) as (app, main_screen, pilot):
        await pilot.press("M")
        assert "kill c" in screen_text(app)
        await pilot.press("1")
        await pilot.pause()
        act = next(played.act for played in reversed(main_screen.session.history.replay_run.acts))
        assert isinstance(act, acts.KillController)
    async with playing() as (app, main_screen, pilot):
        await pilot.press("M")
        assert "no dedicated controllers" in said(app, main_screen)


@pytest.mark.parametrize(
    ("keys", "act"),
    [
        (["O", "l"], acts.PowerLoss(1, unflushed="lost")),
        (["Z", "3"], acts.SlowDisk(1, 50_000)),
        (["F", "1"], acts.FailDir(1)),
        (["H", "1"], acts.Hold(("b1", "b2"))),
        (["R", "1"], acts.Reassign(TopicPartition("orders", 0), (3, 2))),
        (["X", "2"], acts.DeleteRecords(TopicPartition("orders", 0))),
        (["T", "1"], acts.CreateTopic("topic-1", 1, 3)),
        (["r", "1"], acts.StopConsume("consumer")),
    ],
)
async def test_a_key_does_its_act(keys: list[str], act: acts.Act) -> None:
    async with playing() as (_app, main_screen, pilot):
        await pilot.press(*keys)
        await pilot.pause()
        assert [played.act for played in main_screen.session.history.replay_run.acts][3:] == [act]
        assert len(done(main_screen)) == 1


@pytest.mark.parametrize("act", [action for action in ACTIONS if action.effect is not None], ids=lambda action: action.id)
def test_effects_are_shown_in_numbers(act) -> None:  # type: ignore[no-untyped-def]
    loaded = fresh()
    if act.id == "elect-unclean":
        for broker in (1, 2, 3, 4):
            loaded.session.history.do(acts.Kill(broker))
        loaded.session.history.replay_run.advance_to(30 * SECOND)
        loaded.session.history.do(acts.Start(4))
        loaded.session.history.replay_run.advance_to(36 * SECOND)
        tp = next(p.tp for p in loaded.session.history.view().partitions if p.offline and any(c.alive for c in p.replica_views))
        assert "gets a leader from the live replicas" in act.words(context(loaded, tp=tp))
        return
    if act.id in ("start", "elect-preferred"):
        loaded.session.history.do(acts.Kill(1))
        loaded.session.history.replay_run.advance_to(20 * SECOND)
    if act.id == "heal":
        loaded.session.history.do(acts.Isolate("b1"))
    words = act.words(context(loaded))
    assert words.startswith(act.help)
    assert " Now: " in words
    assert words.endswith(".")


def test_turning_unclean_election_on_is_said_to_have_no_effect_where_it_has_none() -> None:
    now = context(fresh())
    assert "can be lost" in effect_texts.unclean(now)
    older = attrs.evolve(now, view=attrs.evolve(now.view, release="3.6"))
    assert effect_texts.unclean(older).endswith("without effect: the controllers of this release ignore the setting.")


def test_a_kill_says_beforehand_what_it_costs_and_keeps_its_word() -> None:
    loaded = fresh()
    before = context(loaded)
    told = effect_texts.gone(before)
    led = [p.tp for p in before.view.partitions if p.leader == 1]
    assert f"b1 leads {len(led)} partition" in told
    assert "up to 9 s" in told
    loaded.session.history.do(acts.Kill(1))
    loaded.session.history.replay_run.advance_to(2 * SECOND + 9 * SECOND + 2 * SECOND)
    view = loaded.session.history.view()
    assert all(view.partition(tp).leader not in (1, -1) for tp in led)
    assert effect_texts.shut_down(attrs.evolve(before, broker=attrs.evolve(view.broker(2), state=BrokerState.RUNNING))).endswith(".")


def test_isolating_says_what_it_does_to_a_leader_a_follower_and_to_one_without_a_process() -> None:
    loaded = fresh()
    now = context(loaded)
    assert now.broker is not None
    assert "still considers itself the leader" in effect_texts.isolated(now)
    assert "leads no partition" in effect_texts.isolated(
        attrs.evolve(now, view=view_of(attrs.evolve(partition(replica(2, 5, 5)), leader=2)))
    )
    dead = attrs.evolve(now, broker=attrs.evolve(now.broker, state=BrokerState.STOPPED))
    assert effect_texts.isolated(dead) == "b1 is stopped; after it starts, it cannot reach any other node until its links heal."


def test_the_effect_of_a_stopped_broker_is_shown_for_no_one_and_many_partitions() -> None:
    def of(broker: int, *partitions: PartitionView) -> tuple[str, str]:
        view = view_of(*partitions)
        of_broker = attrs.evolve(context(fresh()), view=view, broker=view.broker(broker), partition=None)
        return effect_texts.gone(of_broker), effect_texts.shut_down(of_broker)

    session, one, alone = (
        "until its session expires (up to 9 s)",
        partition(replica(1, 5, 5), replica(2, 5, 5)),
        partition(replica(1, 5, 5)),
    )
    under = "; 1 partition refuses acks=all writes."
    assert of(1, one) == (
        f"b1 leads 1 partition; clients are not served {session} and other brokers lead{under}",
        f"1 partition gets a new leader first, then b1 stops{under}",
    )
    assert of(1, one, one)[1].startswith("2 partitions get new leaders first")
    assert of(1, alone) == (
        f"b1 leads 1 partition; clients are not served {session}; 1 partition would have no leader.",
        "b1 stops; 1 partition has no other member of the ISR and goes offline.",
    )
    assert of(2, one) == (
        f"b2 leads no partition; in partitions that have it in the ISR, acks=all writes wait {session}{under}",
        f"b2 stops{under}",
    )
    assert of(3, one) == ("b3 leads no partition and is in no ISR: clients are not affected.", "b3 stops.")


def test_unregistering_tells_what_it_does_and_why_it_cannot_be_done() -> None:
    unregister = BY_ID["unregister"]

    def of(broker: int, *partitions: PartitionView) -> ActionContext:
        view = view_of(*partitions)
        return attrs.evolve(context(fresh()), view=view, broker=view.broker(broker), partition=None)

    one, again = partition(replica(1, 5, 5), replica(2, 5, 5)), "; it registers again only after a restart."
    assert effect_texts.unregistered(of(1, one)).startswith(
        "The controller unregisters b1 and removes it from all ISRs that have other members; 1 partition gets a new leader; "
        "1 partition refuses acks=all writes"
    )
    assert effect_texts.unregistered(of(1, partition(replica(1, 5, 5)))).startswith(
        "The controller unregisters b1 and removes it from all ISRs that have other members; 1 partition goes offline"
    )
    nothing = attrs.evolve(of(3, one), broker=attrs.evolve(of(3, one).view.broker(3), replicas=0))
    assert effect_texts.unregistered(nothing) == f"The controller unregisters b3{again}"
    assert unregister.refuse(context(fresh())) is None
    assert "b3 is not registered" in str(
        unregister.refuse(attrs.evolve(nothing, broker=attrs.evolve(nothing.view.broker(3), broker_epoch=-1)))
    )
    zookeeper = attrs.evolve(nothing, view=attrs.evolve(nothing.view, controller="b1", voters=()))
    assert "ends with its session" in str(unregister.refuse(zookeeper))


def test_the_filters_are_those_of_kafka_topics() -> None:
    fine = partition(replica(1, 5, 5), replica(2, 5, 5), replica(3, 5, 5))
    low = attrs.evolve(partition(replica(1, 5, 5), replica(2, 5, 5), replica(3, 1, 1, in_isr=False)), tp=TopicPartition("a", 0))
    lower = attrs.evolve(partition(replica(1, 5, 5), replica(2, 5, 5, in_isr=False)), tp=TopicPartition("b", 0))
    dark = attrs.evolve(partition(replica(1, 5, 5, alive=False), replica(2, 5, 5, in_isr=False)), tp=TopicPartition("c", 0), leader=-1)
    view = view_of(fine, low, lower, dark)
    found = {which: [p.tp.topic for p in in_order(view, False, which)] for which in FILTERS}
    assert list(FILTERS) == ["unavailable", "under-min-isr", "at-min-isr", "under-replicated"]
    assert found == {
        "unavailable": ["c"], "under-min-isr": ["b", "c"], "at-min-isr": ["a"], "under-replicated": ["a", "b", "c"],
    }  # fmt: skip


def test_a_filter_goes_by_the_setting_as_kafka_topics_does_and_a_metric_by_what_the_broker_makes_of_it() -> None:
    """RF 1 with min ISR 2, since 3.7: the broker caps the minimum, accepts writes, and is at min, but the tool lists the partition as under
    min.
    """
    alone = partition(replica(1, 5, 5), min_isr=1)
    view = view_of(attrs.evolve(alone, min_isr=2))
    view = attrs.evolve(view, partitions=(alone,))
    assert {which for which in FILTERS if filtered(view, which)} == {"under-min-isr"}
    assert "under min ISR 1" in "\n".join(strip.text for strip in paint_totals(view, COLOR, (120, 3), headline=False))
    values = {metric.short: metric.folded(metric.of(view)) for metric in METRICS if metric.of is not None}
    assert (values["AtMinIsrPartitionCount"], values["UnderMinIsrPartitionCount"], values["UnderReplicatedPartitions"]) == (1, 0, 0)
    leads_on_paper = attrs.evolve(view, brokers=tuple(attrs.evolve(each, fenced=each.id == 1) for each in view.brokers))
    assert filtered(leads_on_paper, "unavailable") == [alone]


async def test_the_filter_by_its_key() -> None:
    async with playing() as (app, main_screen, pilot):
        await pilot.press("k")
        main_screen.session.history.replay_run.advance_to(20 * SECOND)
        main_screen.refresh_view()
        await pilot.press("t", "t", "t")
        assert "at-min-isr, 9" in said(app, main_screen)
        assert "at-min-isr only, of 9" in screen_text(app)
        await pilot.press("t", "t")
        assert "all, 9" in said(app, main_screen)


async def test_the_palette_tells_what_would_happen() -> None:
    async with playing() as (_app, main_screen, _pilot):
        words = BY_ID["kill"].words(main_screen.context())
        assert "b1 leads 3 partitions" in words


def test_a_link_that_nobody_changed_is_not_made_new() -> None:
    loaded = fresh()
    new = next(o for o in fault_questions.link_quality(context(loaded)).options if "b2: back to normal" in o.label)
    assert new.refused == "the link is already back to normal"
    loaded.session.history.do(acts.Link(("b2", "b1"), latency=200_000))
    new, other = (
        next(o for o in fault_questions.link_quality(context(loaded)).options if f"b{n}: back to normal" in o.label) for n in (2, 3)
    )
    assert (new.refused, other.refused) == (None, "the link is already back to normal")
    loaded.session.history.do(*new.acts)
    assert not loaded.session.history.view().changed_links


def test_as_new_is_as_the_cluster_s_other_links_are() -> None:
    loaded = load_session(PlayTarget(None, attrs.evolve(SPEC, network=NetworkSpec(latency=3_000, jitter=700, loss_ppm=20_000)), CURRENT))
    loaded.session.history.do(acts.Link(("b1", "b2"), latency=200_000, loss_ppm=0))
    new = next(o for o in fault_questions.link_quality(context(loaded)).options if "b2: back to normal" in o.label)
    assert new.note == "3ms, 2% loss"
    loaded.session.history.do(*new.acts)
    assert not loaded.session.history.view().changed_links


async def test_as_new_writes_no_act_where_nothing_is_to_be_made_new() -> None:
    async with playing() as (app, main_screen, pilot):
        before = len(done(main_screen))
        await pilot.press("percent_sign")
        await pilot.pause()
        assert "back to normal" in screen_text(app)
        await pilot.press("3")
        await pilot.pause()
        assert len(done(main_screen)) == before
