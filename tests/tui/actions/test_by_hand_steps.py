"""By-hand mode in the playground: a key stops everything that runs on its own, further keys fetch, answer, and produce, and another key
resumes.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual.pilot import Pilot

from core.kafka.ids import TopicPartition
from core.sim.units import SECOND
from scenarios import catalogue
from scenarios.releases import release_named
from scenarios.running.runner import run_scenario
from tests.core.lab.test_by_hand_mode import B2
from tests.tui.app.test_playground import happened, playing, said, screen_text
from tests.tui.handlers.test_time_travel import settled
from tui.actions import by_hand_steps as by_hand
from tui.app.playground import Playground
from tui.main_screen.screen import MainScreen

TABLE: list[list[str]] = [
    ["p", "1", "0", "enter"],
    ["v", "4", "space", "5", "enter"],
    ["p", "5", "enter"],
    ["v", "enter"],
    ["p", "enter"],
    ["v", "1", "0", "space", "8", "enter"],
]
"""The keys that produce each row of the worked example B2."""

BEGIN = ["b", "T", "1"]
"""The keys that start by-hand mode, and create and select a topic with one empty partition."""


def shown(app: Playground, main_screen: MainScreen) -> list[str]:
    """Return the LEO/HW of the selected partition's replicas, in order, as the screen shows them."""
    partition = main_screen.selection.partition_in(main_screen.view)
    assert partition is not None
    (row,) = (line for line in screen_text(app).splitlines() if line.startswith(f"► {partition.tp}"))
    ends = [f"{leo}/{hw}" for hw, leo in re.findall(r" (\d+)/(\d+) ", row)]
    return [ends[broker - 1] for broker in partition.replicas]


async def press(main_screen: MainScreen, pilot: Pilot[int], keys: list[str]) -> None:
    await pilot.press(*keys)
    await settled(main_screen, pilot)
    await pilot.pause()


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_the_table_of_b2_is_typed_in_from_the_running_playground(size: tuple[int, int]) -> None:
    async with playing(size=size, until=2 * SECOND) as (app, main_screen, pilot):
        main_screen.session.playback.play()
        await press(main_screen, pilot, BEGIN)
        before = main_screen.session.history.cluster.now
        for keys, (_, _, expected) in zip(TABLE, B2, strict=True):
            await press(main_screen, pilot, keys)
            assert shown(app, main_screen) == expected
        assert main_screen.session.history.cluster.now == before, "virtual time stands still"
        assert main_screen.selection.partition == TopicPartition("topic-1", 0)
    assert len(BEGIN) + sum(map(len, TABLE)) <= 25


async def test_by_hand_nothing_goes_by_itself_until_the_key_is_pressed_again() -> None:
    async with playing(until=2 * SECOND) as (app, main_screen, pilot):
        main_screen.session.playback.play()
        await press(main_screen, pilot, ["b"])
        assert "by hand" in screen_text(app).splitlines()[0]
        now, seq = main_screen.session.history.cluster.now, main_screen.view.seq
        await pilot.press("space")
        assert "virtual time is paused while you step by hand; to let it run, press b" in said(app, main_screen)
        await pilot.pause(0.2)
        assert (main_screen.session.history.cluster.now, main_screen.view.seq) == (now, seq)
        await pilot.press("b")
        assert main_screen.session.playback.playing
        await happened(pilot, lambda: main_screen.session.history.cluster.now > now and main_screen.view.seq > seq)
        assert "by hand" not in screen_text(app).splitlines()[0]


async def test_single_steps_of_a_broker_take_a_count() -> None:
    async with playing(until=2 * SECOND) as (_app, main_screen, pilot):
        await press(main_screen, pilot, [*BEGIN, *TABLE[0]])
        partition = main_screen.selection.partition_in(main_screen.view)
        assert partition is not None
        follower = partition.replicas[1]
        while main_screen.selection.broker != follower:
            await pilot.press("right")
        await press(main_screen, pilot, ["E", "r", "E", "a", "3", "enter"])
        await press(main_screen, pilot, ["E", "f", "2", "enter"])
        view = main_screen.selection.partition_in(main_screen.view)
        assert view is not None
        assert view.replica_on(follower).leo == 5


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("0", "from 1 to 10,000,000"),
        ("x", "from 1 to 10,000,000"),
        ("4", "enter 2 numbers, for example 4 5"),
        ("- -", "no follower is left to fetch"),
    ],
)
async def test_wrong_counts_are_reported_in_the_input_dialog(text: str, wrong: str) -> None:
    async with playing(until=2 * SECOND) as (app, main_screen, pilot):
        await press(main_screen, pilot, [*BEGIN, *TABLE[0]])
        await pilot.press("p" if text in ("0", "x") else "v")
        await pilot.press(*("space" if char == " " else "minus" if char == "-" else char for char in text), "enter")
        await pilot.pause()
        assert wrong in screen_text(app)


async def test_going_back_begins_a_branch_and_the_session_is_a_script_that_replays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with playing(until=2 * SECOND) as (app, main_screen, pilot):
        main_screen.session.playback.play()
        await press(main_screen, pilot, BEGIN)
        for keys in TABLE[:4]:
            await press(main_screen, pilot, keys)
        assert shown(app, main_screen) == B2[3][2]
        await press(main_screen, pilot, ["left_curly_bracket"])
        assert shown(app, main_screen) == B2[2][2], "a round is undone at once"
        assert "undone" in said(app, main_screen)
        await press(main_screen, pilot, ["left_curly_bracket", "left_curly_bracket"])
        assert shown(app, main_screen) == B2[0][2]
        await press(main_screen, pilot, ["right_curly_bracket"])
        assert shown(app, main_screen) == B2[1][2]
        await press(main_screen, pilot, ["p", "7", "enter"])
        assert shown(app, main_screen) == ["17/0", "4/0", "5/0"]
        assert main_screen.session.history.branch.name == "branch 2"
        main_screen.loaded.save(Path("x.yaml"))
        acts = list(main_screen.session.history.branch.act_events)
        end = main_screen.session.history.end.time
    script = catalogue.load("x.yaml")
    events: list[tuple[object, ...]] = []
    result = run_scenario(script, release_named(script.releases[-1]), sink=events.append)
    assert result.held
    again = [event for event in events if event[3] == "act"]
    assert again == acts
    assert events[-1][1] <= end


async def test_where_it_cannot_be_it_says_why() -> None:
    from tui.session.play_target import PlayTarget

    async with playing(PlayTarget(None, None, release_named("2.8"))) as (app, main_screen, pilot):
        await pilot.press("b")
        assert "ZooKeeper cannot be stepped by hand" in said(app, main_screen)
        assert "its sessions depend on pings" in str(by_hand.cannot_toggle(main_screen.context()))
        await pilot.press("v")
        assert "the cluster runs on its own; to step it by hand, press b" in said(app, main_screen)
