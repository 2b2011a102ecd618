"""Operates the application through its keys, with the real cluster: the effects of actions, their messages, and their refusals."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList

from core.kafka.broker.broker_state import BrokerState
from core.kafka.events import DETAIL, NORMAL, NOTABLE
from core.kafka.release import CURRENT, Release
from core.kafka.topic_spec import TopicSpec
from core.lab import acts
from core.lab.spec import BrokerSpec, ClusterSpec
from core.sim.units import SECOND
from scenarios import catalogue
from tui.actions.all_actions import ACTIONS, BY_ID
from tui.app.playground import Playground
from tui.dialogs.details import DetailsDialog
from tui.dialogs.help import HelpDialog
from tui.dialogs.question import QuestionDialog
from tui.dialogs.text_line import TextLineDialog
from tui.main_screen.display_options import DisplayOptions
from tui.main_screen.screen import MainScreen
from tui.session.loading import LoadedSession, load_session
from tui.session.play_target import PlayTarget
from tui.session.playback import AS_FAST_AS_IT_CAN


def screen_text(app: Playground) -> str:
    """Return the text on the screen, taken from its SVG picture."""
    lines = app.screen._compositor.render_strips()
    return "\n".join(strip.text for strip in lines)


@asynccontextmanager
async def playing(
    target: PlayTarget | None = None, *, size: tuple[int, int] = (120, 40), until: int = SECOND, **wanted: object
) -> AsyncIterator[tuple[Playground, MainScreen, Pilot[int]]]:
    """Return a paused playground at a virtual time."""
    loaded = load_session(target)
    if until:
        loaded.session.history.replay_run.advance_to(until)
    loaded.session.history.pause()
    async with showing(loaded, size=size, **wanted) as playground:
        yield playground


@asynccontextmanager
async def showing(
    loaded: LoadedSession, *, size: tuple[int, int] = (120, 40), **wanted: object
) -> AsyncIterator[tuple[Playground, MainScreen, Pilot[int]]]:
    """Return a playground of a session."""
    app = Playground(loaded, DisplayOptions(**{"ascii_only": False, "palette": "dark", **wanted}))  # type: ignore[arg-type]
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield app, app.main_screen, pilot


async def searched(app: Playground, pilot: Pilot[int]) -> None:
    """Wait until the command palette has found everything that was typed."""
    await pilot.pause()
    while any(worker.is_running and worker.node is app.screen for worker in app.workers):
        await pilot.pause(0.005)
    await pilot.pause()


async def happened(pilot: Pilot[int], condition: Callable[[], bool]) -> None:
    """Wait until a condition is true, for a minute at most. How much happens in a given time depends on the machine."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it never happened"
        await pilot.pause(0.02)


def done(main_screen: MainScreen) -> list[str]:
    """Return the acts so far, in words."""
    ring = main_screen.session.history.event_buffer.ring(NOTABLE)
    return [main_screen.session.event_sentence(ring.at(i)[0]) for i in range(ring.first, ring.total) if ring.at(i)[3] == "act"][3:]


def said(app: Playground, main_screen: MainScreen) -> str:
    return main_screen.panels.footer.lines[0].text


@pytest.mark.parametrize(
    ("keys", "act"),
    [
        (["k"], "kill b1"),
        (["right", "k"], "kill b2"),
        (["d"], "shutdown b1"),
        (["z"], "pause b1"),
        (["i"], "isolate b1"),
        (["u"], "set unclean.leader.election.enable = true"),
        (["c", "2"], "cut b1 and b2"),
        (["c", "c"], "cut b1 and controller"),
        (["c", "down", "enter"], "cut b1 and b3"),
        (["a", "1"], "acks 1 for load"),
        (["a", "0"], "acks 0 for load"),
        (["m", "1"], "set min.insync.replicas = 1 for orders"),
        (["m", "3"], "set min.insync.replicas = 3 for orders"),
        (["p", "1", "k", "enter"], "produce 1,000 records to orders partition 0 (acks all)"),
        (["down", "p", "1", "enter"], "produce 1 record to orders partition 1 (acks all)"),
    ],
)
async def test_a_key_does_its_act(keys: list[str], act: str) -> None:
    async with playing() as (app, main_screen, pilot):
        await pilot.press(*keys)
        await pilot.pause()
        assert done(main_screen) == [act]
        assert act in said(app, main_screen)


@pytest.mark.parametrize(
    ("keys", "act"),
    [
        (["k", "s"], "start b1"),
        (["z", "z"], "resume b1"),
        (["c", "2", "c", "2"], "heal b1 and b2"),
        (["i", "h"], "heal"),
        (["u", "u"], "set unclean.leader.election.enable = false"),
        (["l", "0"], "stop-load load"),
        (["l", "4"], "load on orders (rate 1,000/s, acks all)"),
    ],
)
async def test_and_its_opposite(keys: list[str], act: str) -> None:
    async with playing() as (_, main_screen, pilot):
        await pilot.press(*keys)
        await pilot.pause()
        assert done(main_screen)[-1] == act


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        (["s"], "b1 is already running"),
        (["k", "k"], "b1 is stopped; to start it, press s"),
        (["k", "z"], "b1 is stopped"),
        (["h"], "no link is cut"),
        (["U"], "orders-0 is led by b"),
        (["e"], "the preferred leader already leads every partition"),
        (["v"], "the cluster runs on its own; to step it by hand, press b"),
        (["z", "d"], "only a running broker can shut down"),
    ],
)
async def test_what_is_impossible_says_why_and_does_nothing(keys: list[str], reason: str) -> None:
    async with playing() as (app, main_screen, pilot):
        await pilot.press(*keys[:-1])
        before = main_screen.session.history.cluster.journal.seq  # type: ignore[attr-defined]
        await pilot.press(keys[-1])
        assert reason in said(app, main_screen)
        assert main_screen.session.history.cluster.journal.seq == before  # type: ignore[attr-defined]


async def test_a_kill_plays_out_on_the_screen() -> None:
    async with playing() as (app, main_screen, pilot):
        await pilot.press("right", "k", "N")
        while main_screen.session.playback.moving:
            await pilot.pause(0.05)
        main_screen.refresh_view()  # The screen shows the end of the search with its next frame.
        await pilot.pause()
        text = screen_text(app)
        assert "b2 ✕ stopped" in text
        assert "the controller fenced b2" in text
        assert "★ b3 leads orders-2 in epoch 1 after b2" in text or "★ b1 leads orders-2 in epoch 1 after b2" in text
        assert "⊘ unserved" in text, "b3 is elected, and has not heard of it yet"
        assert "‖ stalled" in text, "elsewhere the leader waits for the dead follower until it hears of the smaller ISR"
        main_screen.session.history.replay_run.advance_to(main_screen.session.history.cluster.now + SECOND)
        main_screen.refresh_view()
        await pilot.pause()
        assert "▽ at min" in screen_text(app)
        await pilot.press("s")
        await pilot.press(*["N"] * 1)
        while main_screen.session.playback.moving:
            await pilot.pause(0.05)
        for _ in range(40):
            if all(len(p.isr) == 3 for p in main_screen.view.partitions):
                break
            await pilot.press("N")
            while main_screen.session.playback.moving:
                await pilot.pause(0.02)
        assert "✓ healthy" in screen_text(app)


async def test_preferred_and_unclean_election() -> None:
    async with playing() as (_, main_screen, pilot):
        await pilot.press("right", "k")
        main_screen.session.history.replay_run.advance_to(15 * SECOND)
        await pilot.press("s")
        main_screen.session.history.replay_run.advance_to(40 * SECOND)
        main_screen.refresh_view()
        await pilot.press("e")
        assert done(main_screen)[-1] == "elect preferred"


async def test_unclean_election_of_a_partition_that_nobody_leads() -> None:
    async with playing() as (_, main_screen, pilot):
        for second in (15, 30, 45):
            await pilot.press("k", "right")
            main_screen.session.history.replay_run.advance_to(second * SECOND)
        main_screen.refresh_view()
        assert all(p.offline for p in main_screen.view.partitions)
        await pilot.press("U")
        assert "no replica of orders-0 is up" in main_screen.panels.footer.lines[0].text
        await pilot.press("s")
        main_screen.session.history.replay_run.advance_to(55 * SECOND)
        main_screen.refresh_view()
        assert main_screen.view.partitions[0].offline, "b1 left the ISR first; it may not lead by itself"
        await pilot.press("U")
        assert done(main_screen)[-1] == "elect unclean partition orders-0"
        main_screen.session.history.replay_run.advance_to(60 * SECOND)
        main_screen.refresh_view()
        assert main_screen.view.partitions[0].leader == 1
        assert main_screen.view.unclean_elections == 1


async def test_space_steps_and_speed() -> None:
    async with playing() as (_, main_screen, pilot):
        assert main_screen.view.now == SECOND
        await pilot.press("n")
        assert main_screen.view.now > SECOND
        assert not main_screen.session.playback.playing
        await pilot.press("plus", "plus")
        assert main_screen.session.playback.speed == 5
        await pilot.press("minus")
        assert main_screen.session.playback.speed == 2
        await pilot.press("x")
        assert main_screen.session.playback.speed == AS_FAST_AS_IT_CAN
        await pilot.press("x")
        assert main_screen.session.playback.speed == 2
        before = main_screen.view.now
        await pilot.press("space")
        assert main_screen.session.playback.playing
        await happened(pilot, lambda: main_screen.view.now > before)
        await pilot.press("space")
        at = main_screen.view.now
        await pilot.pause(0.2)
        assert main_screen.view.now == at
        assert "paused" in main_screen.panels.header.lines[0].text


async def test_paused_the_timer_rests() -> None:
    async with playing() as (_, main_screen, pilot):
        frames = main_screen._frames
        await pilot.pause(0.3)
        assert main_screen._frames == frames
        await pilot.press("space")
        await happened(pilot, lambda: main_screen._frames > frames)


async def test_events_filter_select_cause_and_follow() -> None:
    async with playing() as (app, main_screen, pilot):
        await pilot.press("d", "f")
        assert main_screen.panels.events.level == NORMAL
        await pilot.press("f")
        assert main_screen.panels.events.level == DETAIL
        await pilot.press("f")
        main_screen.session.history.replay_run.advance_to(3 * SECOND)
        main_screen.refresh_view()
        await pilot.press("tab", "up")
        assert main_screen.panels.events.has_focus
        chosen = main_screen.panels.events.selected
        assert chosen is not None
        while main_screen.panels.events.selected is not None and main_screen.panels.events.selected[3] != "leader-elected":
            await pilot.press("up")
        elected = main_screen.panels.events.selected
        assert elected is not None
        assert "Why" in screen_text(app)
        assert "PartitionChangeBuilder#electLeader" in screen_text(app)
        await pilot.press("backspace")
        assert main_screen.panels.events.selected is not None
        assert main_screen.panels.events.selected[0] == elected[2]
        await pilot.press("G")
        assert main_screen.panels.events.selected is None


async def test_order_zoom_help_and_palette() -> None:
    async with playing() as (app, main_screen, pilot):
        await pilot.press("o")
        assert "worst first" in screen_text(app)
        await pilot.press("enter")
        assert isinstance(app.screen, DetailsDialog)
        assert "epochs@start" in screen_text(app)
        await pilot.press("escape", "question_mark")
        assert isinstance(app.screen, HelpDialog)
        assert "kill -9" in screen_text(app)
        await pilot.press("down", "down", "down", "down")
        await pilot.pause()
        assert "unavailable: b1 is already running" in screen_text(app)
        await pilot.press("escape", "colon")
        assert app.screen is not main_screen
        await pilot.press(*"isolate")
        await searched(app, pilot)
        await pilot.press("enter")
        await pilot.press("enter")
        assert done(main_screen) == ["isolate b1"]


async def test_the_mouse_selects_and_acts() -> None:
    async with playing() as (_, main_screen, pilot):
        await pilot.click("#brokers", offset=(40, 2))
        assert main_screen.context().broker is not None
        assert main_screen.selection.broker == 2
        await pilot.click("#grid", offset=(5, 4))
        assert str(main_screen.selection.partition) == "orders-2"
        footer = main_screen.panels.footer.lines[0].text
        await pilot.click("#footer", offset=(re.search(r"\bk kill", footer).start(), 0))  # type: ignore[union-attr]
        assert done(main_screen) == ["kill b2"]
        await pilot.click("#events", offset=(10, 2))
        assert main_screen.panels.events.selected is not None


async def test_a_question_can_be_left_without_an_answer() -> None:
    async with playing() as (app, main_screen, pilot):
        await pilot.press("c")
        assert isinstance(app.screen, QuestionDialog)
        assert app.screen.query_one(OptionList).option_count >= 6
        await pilot.press("escape")
        assert app.screen is main_screen
        assert done(main_screen) == []
        await pilot.press("m", "2")
        assert "current value" in said(app, main_screen)
        assert done(main_screen) == []


async def test_a_refusal_of_the_cluster_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from core.sim.errors import ActRefused

    async with playing() as (app, main_screen, pilot):

        def refuse(act: acts.Act, **_: object) -> int:
            raise ActRefused("b1 is on fire; put it out first")

        monkeypatch.setattr(main_screen.session.history, "do", refuse)
        await pilot.press("k")
        assert "b1 is on fire" in said(app, main_screen)


async def test_a_scenario_shows_its_expectations_being_met() -> None:
    scenario = catalogue.load("e1-data-loss")
    target = PlayTarget(scenario, scenario.spec, Release.named("0.10.2"), title=scenario.name)
    async with playing(target, until=0) as (app, main_screen, pilot):
        assert "0 of" in main_screen.panels.expected.lines[0].text
        for _ in range(20):
            await pilot.press("n")
        assert "ended" in main_screen.panels.expected.lines[0].text
        text = screen_text(app)
        assert "LOST 1" in text
        assert "end of the script" in text
        assert "FAILED" not in text
        await pilot.press("E", "w")
        assert done(main_screen)[-1].startswith("checkpoint b")


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (120, 40), (200, 60)])
async def test_all_panels_stand_at_every_size(size: tuple[int, int]) -> None:
    async with playing(size=size) as (app, main_screen, pilot):
        await pilot.press("right", "k")
        main_screen.session.history.replay_run.advance_to(20 * SECOND)
        main_screen.refresh_view()
        main_screen.prompts.drop_message()
        await pilot.pause()
        lines = screen_text(app).splitlines()
        assert len(lines) == size[1]
        text = "\n".join(lines)
        for word in (
            "isrlab",
            "Brokers 2 of 3 up",
            "Partitions",
            "orders-0",
            "payments-2",
            "Events",
            "acked",
            "lost 0",
            "k kill",
            "q quit",
            "after b2: b3 is the first live ISR",
        ):
            assert word in text, word
        assert main_screen.view.broker(2).state is BrokerState.STOPPED


async def test_a_small_terminal_gets_the_calm_view_and_growing_brings_all_back() -> None:
    async with playing(size=(60, 12)) as (app, main_screen, pilot):
        assert "enlarge the terminal to 80×20" in screen_text(app)
        await pilot.press("k")
        assert done(main_screen) == ["kill b1"]
        await pilot.resize_terminal(120, 40)
        await pilot.pause()
        assert "Partitions 9" in screen_text(app)


async def test_ascii_reaches_every_corner() -> None:
    async with playing(ascii_only=True) as (app, _, pilot):
        for keys in ([], ["question_mark"], ["escape", "c"], ["escape", "enter"]):
            await pilot.press(*keys)
            await pilot.pause()
            shown = app.export_screenshot()
            glyphs = "".join(re.findall(r">([^<]*)</text>", shown)).replace("&#160;", " ")
            assert "".join(char for char in glyphs if not char.isascii()) == ""


async def test_without_color_the_selection_is_reversed() -> None:
    async with playing(palette="plain") as (app, main_screen, _):
        assert main_screen.panels.grid.lines[2].text.startswith("► orders-0")
        assert any(segment.style is not None and segment.style.reverse for segment in main_screen.panels.grid.lines[2])
        assert not re.search(r"fill: #(?:6cb6ff|4f9be8|f0b429)", app.export_screenshot())


def test_the_registry_is_sound() -> None:
    keys = [key for action in ACTIONS for key in action.keys]
    assert len(keys) == len(set(keys)), "no key twice"
    assert len(BY_ID) == len(ACTIONS)
    eaten = {"ctrl+b", "ctrl+a", "ctrl+o", "ctrl+t", "ctrl+n", "ctrl+p", "ctrl+s", "ctrl+g", "ctrl+h", "ctrl+q"}
    for action in ACTIONS:
        assert set(action.keys) - eaten, f"{action.id} has a key that no multiplexer eats"
        assert sum(bool(x) for x in (action.build, action.ask, action.call, action.page)) == 1
        assert action.help.endswith((".", "?"))


async def test_what_actions_call_is_there_and_nothing_else() -> None:
    async with playing() as (_, main_screen, _):
        assert set(main_screen.actions.calls) == {action.call for action in ACTIONS if action.call}


def test_the_same_picture_for_the_same_arguments(tmp_path: Path) -> None:
    from tui.app.screenshot import main

    one, two = tmp_path / "one.svg", tmp_path / "two.svg"
    for out in (one, two):
        assert main([str(out), "--size", "100x30", "--seconds", "12", "--kill", "2@1"]) == 0
    assert one.read_text() == two.read_text()
    assert "http" not in re.sub(r'xmlns[^"]*"[^"]*"', "", one.read_text())
    assert main([str(one), "--scenario", "no-such-scenario"]) == 2


async def test_a_click_selects_the_broker_that_stands_there_when_the_first_have_scrolled_away() -> None:
    spec = ClusterSpec(brokers=tuple(BrokerSpec(i) for i in range(1, 31)), topics=(TopicSpec("t"),))
    async with playing(PlayTarget(None, spec, CURRENT, title="thirty"), size=(80, 24)) as (app, main_screen, pilot):
        await pilot.press("left")
        assert main_screen.selection.broker == 30
        first = screen_text(app).splitlines()[3].split()
        await pilot.click("#brokers", offset=(4, 1))
        assert first[1] == f"b{main_screen.selection.broker}" != "b1"


async def test_the_right_button_asks_what_to_do_with_what_is_under_it() -> None:
    async with playing(size=(200, 60)) as (app, main_screen, pilot):
        await pilot.click("#brokers", offset=(40, 2), button=3)
        await pilot.pause()
        assert isinstance(app.screen, QuestionDialog)
        said = {option.label: option for option in app.screen.question.options}
        assert app.screen.question.title == "b2"
        assert "leads" in said["kill"].note
        assert said["kill"].refused is None
        assert said["start"].refused == "b2 is already running"
        assert said["heal all"].refused == "no link is cut"
        assert "b2 is already running" in screen_text(app)
        await pilot.press("k")
        await pilot.pause()
        assert done(main_screen) == ["kill b2"]
        await pilot.click("#grid", offset=(5, 4), button=3)
        await pilot.pause()
        assert isinstance(app.screen, QuestionDialog)
        assert app.screen.question.title == "orders-2"
        await pilot.press("p")
        await pilot.pause()
        assert isinstance(app.screen, TextLineDialog)
        assert "Produce to orders-2" in screen_text(app)


async def test_what_is_said_of_an_answer_is_never_cut() -> None:
    async with playing(size=(80, 24)) as (app, _board, pilot):
        await pilot.click("#brokers", offset=(30, 1), button=3)
        await pilot.pause()
        assert isinstance(app.screen, QuestionDialog)
        note = next(option.note for option in app.screen.question.options if option.label == "kill")
        assert len(note) > 60
        beside = [line.split("│")[1][19:] if line.count("│") >= 2 else "" for line in screen_text(app).splitlines()]
        assert note in " ".join(" ".join(beside).split())


async def test_row_and_inspector_and_account_show_one_moment() -> None:
    async with playing(until=5 * SECOND) as (_, main_screen, pilot):
        await pilot.press("right", "right")
        main_screen.session.playback.play()
        moved = set()
        for _ in range(20):
            main_screen._last_frame = time.perf_counter() - 0.05
            main_screen._next_frame()
            p = next(p for p in main_screen.view.partitions if p.tp == main_screen.selection.partition)
            row = next(line.text for line in main_screen.panels.grid.lines if line.text.startswith("►"))
            inspector = "\n".join(line.text for line in main_screen.panels.inspector.lines)
            for copy in p.replica_views:
                assert f"{copy.hw}/{copy.leo}" in row
                assert re.search(rf"b{copy.broker} +{copy.leo:,} +{copy.hw:,} ", inspector)
            assert f"acked {main_screen.view.acked:,} of" in main_screen.panels.totals.lines[1].text
            moved.add(p.acked)
        assert len(moved) > 2, "otherwise there was nothing to see"
