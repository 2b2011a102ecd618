"""What a new user of the playground must find: the screens, the meaning of columns and words, and which brokers are down."""

from __future__ import annotations

import asyncio
import re

import attrs
import pytest

from core.kafka.broker.broker_state import BrokerState
from core.kafka.release import CURRENT
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.spec import BrokerSpec, ClusterSpec
from core.lab.views.cluster_view import ClusterView
from core.sim.units import SECOND
from scenarios import catalogue
from scenarios.releases import release_named
from tests.tui.app.test_playground import playing, screen_text
from tests.tui.states import cluster
from tui.analysis.partition_list import in_order
from tui.main_screen.page_stack import TABS
from tui.panels.brokers import brokers_not_up, paint_brokers
from tui.panels.partition_grid import GridPainter
from tui.rendering.palette import COLOR
from tui.session.play_target import PlayTarget

SIZES = [(80, 24), (100, 30), (120, 40), (200, 60)]

HUNDRED = ClusterSpec(
    brokers=tuple(BrokerSpec(i) for i in range(1, 101)),
    topics=(TopicSpec("orders", partitions=300), TopicSpec("payments", partitions=300)),
    settings=(("min.insync.replicas", 2),),
)


def hundred(title: str = "a hundred brokers") -> PlayTarget:
    return PlayTarget(None, HUNDRED, CURRENT, title=title)


def of_many(count: int, **states: BrokerState) -> ClusterView:
    """Return brokers 1 to `count`. All are up, except those that are named (`b2=BrokerState.STOPPED`)."""
    view = cluster().view()
    one = view.brokers[0]
    brokers = tuple(
        attrs.evolve(one, id=i, state=states.get(f"b{i}", BrokerState.RUNNING), fenced=states.get(f"b{i}") is BrokerState.STOPPED)
        for i in range(1, count + 1)
    )
    return attrs.evolve(view, brokers=brokers)


# --- the line of screens -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
async def test_all_screens_and_their_keys_stand_on_the_overview_too(size: tuple[int, int]) -> None:
    async with playing(size=size) as (app, main_screen, pilot):
        line = screen_text(app).splitlines()[1]
        assert [word for word in line.split() if len(word) == 1] == [key for key, *_ in TABS]
        named = [f"{key} {name}" for key, name, _ in TABS if f"{key} {name}" in line]
        assert len(named) >= 5
        assert set(line.split()) == set(" ".join([key for key, *_ in TABS] + named).split())
        await pilot.press("4")
        assert main_screen.pages.page is not None
        assert screen_text(app).splitlines()[1].split() == line.split()


async def test_a_click_on_the_line_opens_a_screen_from_the_overview() -> None:
    async with playing() as (app, main_screen, pilot):
        x = screen_text(app).splitlines()[1].index("4 Metrics")
        await pilot.click("#tabs", offset=(x, 0))
        assert main_screen.pages.page is not None
        assert main_screen.pages.page.name == "metrics"


# --- what the columns say ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_columns_say_leader_and_whose_offsets_stand_there(width: int) -> None:
    fake = cluster()
    fake.run_until(2_000_000)
    view = fake.view()
    lines = [strip.text for strip in GridPainter(COLOR).lines(view, in_order(view, False), (width, 6))]
    head, row = lines[1], lines[2]
    assert head.count("LEO") == 3, "once for each replica"
    first = view.partitions[0].replica_views[0]
    written = f"{first.hw}/{first.leo}"
    assert written in row
    assert head.index("HW/LEO") - 2 <= row.index(written) <= head.index("HW/LEO") + 2
    assert "leader" in head
    assert head.index("leader") <= row.index("b1") < head.index("leader") + 6


# --- who is down ---------------------------------------------------------------------------------------------------


def test_who_is_down_is_named_in_the_headline() -> None:
    view = of_many(3, b2=BrokerState.STOPPED)
    lines = [strip.text for strip in paint_brokers(view, COLOR, (80, 2), selected=1, focused=False, cards=False)]
    assert "Brokers 2 of 3 up · ✕ b2 stopped" in lines[0]
    assert lines[1].index("b1") < lines[1].index("b2") < lines[1].index("b3"), "where all are seen each keeps its place"


@pytest.mark.parametrize("width", [80, 120])
def test_of_many_brokers_those_that_are_down_come_first(width: int) -> None:
    view = of_many(100, b55=BrokerState.STOPPED, b71=BrokerState.PAUSED)
    lines = [
        strip.text for strip in paint_brokers(view, COLOR, (width, 5), selected=1, focused=False, cards=False, note="unclean election off")
    ]
    assert "98 of 100 up" in lines[0]
    assert "✕ b55 stopped" in lines[0]
    assert "‖ b71 paused" in lines[0]
    assert "unclean election off" in lines[0]
    assert lines[1].index("b55") < lines[1].index("b71") < lines[1].index("b1 ")


def test_a_controller_that_is_gone_is_not_left_out_of_the_headline() -> None:
    view = attrs.evolve(of_many(100, b55=BrokerState.STOPPED), controller="")
    line = paint_brokers(view, COLOR, (80, 5), selected=1, focused=False, cards=False, note="unclean election off")[0].text
    assert "✕ none" in line


def test_of_very_many_that_are_down_as_many_are_named_as_there_is_room() -> None:
    view = of_many(100, **{f"b{i}": BrokerState.STOPPED for i in range(10, 60)})
    assert brokers_not_up(view, 40) == "✕ b10 b11 b12 b13 b14 b15 +44 stopped"
    assert brokers_not_up(view, 12) == "✕ 50 stopped"


@pytest.mark.parametrize("width", [80, 90, 100, 120])
@pytest.mark.parametrize("fenced", [False, True])
@pytest.mark.parametrize("down", [(55,), (55, 56, 57, 58), tuple(range(10, 60))])
def test_the_title_names_the_first_brokers_that_are_down(width: int, fenced: bool, down: tuple[int, ...]) -> None:
    brokers = tuple(BrokerSpec(number) for number in range(1, 101))
    view = cluster(ClusterSpec(brokers=brokers, topics=(TopicSpec("orders"),))).view()
    gone = [attrs.evolve(b, state=BrokerState.STOPPED, fenced=fenced) if b.id in down else b for b in view.brokers]
    title = paint_brokers(
        attrs.evolve(view, brokers=tuple(gone)),
        COLOR,
        (width, 5),
        selected=1,
        focused=False,
        cards=width >= 100,
        note="unclean election off",
    )[0].text
    named = re.search(r"✕ ((?:b\d+ )+)", title)
    assert named is not None, title
    names = named[1].split()
    assert names == [f"b{number}" for number in down[: len(names)]]
    assert len(names) == len(down) or f" +{len(down) - len(names)} " in title
    assert "unclean election off" in title


async def test_the_arrows_go_through_the_brokers_as_they_stand() -> None:
    async with playing(hundred(), size=(80, 24), until=SECOND) as (app, main_screen, pilot):
        main_screen.session.history.do(acts.Kill(55))
        main_screen.refresh_view()
        await pilot.pause()
        assert screen_text(app).splitlines()[3].split()[1] == "b55"
        await pilot.press("left")
        assert main_screen.selection.broker == 55


# --- what a step did -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
async def test_a_single_step_names_what_it_did(size: tuple[int, int]) -> None:
    """Most steps are fetches and appends, which no panel shows while the event log lists only notable events."""
    async with playing(size=size, until=3 * SECOND) as (app, main_screen, pilot):
        for _ in range(12):
            before = main_screen.session.history.replay_run.event_tap.seq
            await pilot.press("n")
            while main_screen.session.history.task_target is not None:
                await pilot.pause(0.02)
            await pilot.pause()
            seq = main_screen.session.history.replay_run.event_tap.seq
            told = " ".join(" ".join(line.split()) for line in screen_text(app).splitlines()[-3:])  # a long message takes several lines
            assert f"#{seq} " in told
            sentences = [main_screen.session.event_sentence(each) for each in range(before + 1, seq + 1)]
            assert any(sentence[:30] in told for sentence in sentences)
            more = seq - before - 1
            assert (f"(and {more} more)" in told) == (more > 0) or told.rstrip().endswith("…")


async def test_a_step_by_hand_names_the_act_and_what_came_of_it() -> None:
    script = catalogue.load("e1-data-loss")
    target = PlayTarget(script, script.spec, release_named("0.10.2"), 0, title=script.name)
    async with playing(target, size=(120, 40), until=0) as (app, _board, pilot):
        for _ in range(4):
            await pilot.press("n")
            await pilot.pause()
        assert "arrive b1: b2 raised the high watermark of orders-0 from 0 to 1" in screen_text(app).splitlines()[-1]


# --- what a scenario is about --------------------------------------------------------------------------------------


async def test_what_a_scenario_is_about_is_seen_at_80_columns() -> None:
    script = catalogue.load("e1-data-loss")
    target = PlayTarget(script, script.spec, release_named("0.10.2"), 0, title=script.name)
    async with playing(target, size=(80, 24), until=0) as (app, _, pilot):
        text = screen_text(app)
        assert "Before 0.11, a restarted follower truncates its log to its own high watermark" in text
        assert "⏎ shows all" in text
        await pilot.press("enter")
        await pilot.pause()
        assert "(KIP-101), broker 1 keeps m2." in " ".join(screen_text(app).replace("│", " ").split())
        await pilot.press("escape", "n", "n", "n", "n")
        await pilot.pause()
        assert "Scenario  Before 0.11, a restarted follower truncates" in screen_text(app)


async def test_as_fast_as_it_can_works_between_frames_whatever_timers_textual_skips(monkeypatch: pytest.MonkeyPatch) -> None:
    async with playing() as (_, main_screen, pilot):
        playback, slices = main_screen.session.playback, 0
        work = playback.work

        def counted() -> None:
            nonlocal slices
            slices += 1
            work()

        monkeypatch.setattr(playback, "work", counted)
        monkeypatch.setattr(main_screen, "set_timer", lambda *_: None)
        playback.play()
        await pilot.press("x")
        main_screen._next_frame()
        main_screen._frame_timer.pause()
        for _ in range(3_000):
            if slices > 20:
                break
            await asyncio.sleep(0.01)
        assert slices > 20
        await pilot.press("space")
        assert not playback.playing, "a key is handled between two slices"


async def test_a_note_about_an_import_is_no_error() -> None:
    async with playing(PlayTarget(None, None, CURRENT, notes=("no topic has a leader", "line 7 is ignored")), until=0) as (
        app,
        _board,
        _pilot,
    ):
        footer = screen_text(app).splitlines()[-1]
        assert footer.startswith(" ► no topic has a leader (and 1 more)")
