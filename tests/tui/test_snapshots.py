"""Pictures of every screen at three sizes, without colors, and in ASCII, compared with stored snapshots.

A snapshot contains the text of a picture, which can be read in a diff, and the fingerprint of its SVG, which covers every color. After an
intended change, `ISRLAB_SNAPSHOTS=write python -m pytest tests/tui/test_snapshots.py` writes the snapshots again. The new picture of a
snapshot that differs is stored with the test's other temporary files.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from core.lab.acts import Kill
from core.sim.units import SECOND
from scenarios import catalogue
from scenarios.releases import release_named
from tests.tui.app.test_playground import playing, screen_text, showing
from tui.app.screenshot import without_fonts
from tui.main_screen.screen import MainScreen
from tui.pages.compare import ComparePage
from tui.session.loading import LoadedSession
from tui.session.play_target import PlayTarget
from tui.terminal.filters import to_ascii

KEPT = Path(__file__).parent / "snapshots"

SCREENS: dict[str, tuple[str, ...]] = {
    "overview": (),
    "why": ("tab", "up", "up", "up"),
    "partition": ("down", "2"),
    "messages": ("down", "3"),
    "metrics": ("4",),
    "durability": ("5",),
    "settings": ("6", "down", "down"),
    "scenarios": ("7", "down"),
    "compare": ("8", "enter", "down", "enter"),
    "help": ("question_mark",),
    "question": ("right", "c"),
    "line": ("g",),
}
"""The keys that open each screen."""

IN_TURN: dict[str, tuple[str, ...]] = {
    "topology": ("asterisk", "right"),
    "map": ("number_sign",),
    "lessons": ("L",),
    "answer": ("1", "Q", "3", "enter"),
    "compare-four": ("escape", "ampersand", *"acks=0,1", "enter", "ampersand", *"min.insync.replicas=1", "enter"),
}
"""The keys that open screens of one application in turn."""

TYPED = {"=": "equals_sign", ",": "comma", ".": "full_stop"}
"""Textual's names of characters."""

SIZES = {"80x24": (80, 24), "120x40": (120, 40), "200x60": (200, 60)}
LOOKS: dict[str, tuple[tuple[int, int], dict[str, object]]] = {
    **{name: (size, {}) for name, size in SIZES.items()},
    "plain": (SIZES["120x40"], {"palette": "plain"}),
    "ascii": (SIZES["120x40"], {"ascii_only": True}),
}


_played: list[LoadedSession] = []


async def played() -> LoadedSession:
    """Return a session at 19 s, which is played once in a process. The cluster is under load, and broker 2 died at 3 s."""
    if not _played:
        async with playing(until=3 * SECOND) as (app, main_screen, _):
            main_screen.session.history.do(Kill(2))
            for second in (6, 10, 13, 16, 19):
                main_screen.session.history.replay_run.advance_to(second * SECOND)
                main_screen.refresh_view()
            _played.append(app.loaded)
    return _played[0]


async def picture(screen: str, look: str) -> tuple[str, str]:
    """Return the text and the SVG of a screen of the session at 19 s."""
    size, wanted = LOOKS[look]
    async with showing(await played(), size=size, **wanted) as (app, main_screen, pilot):
        for key in SCREENS[screen]:
            await pilot.press(key)
            await pilot.pause()
        await settled(main_screen, pilot)
        text = "\n".join(line.rstrip() for line in screen_text(app).split("\n"))
        return to_ascii(text) if look == "ascii" else text, without_fonts(app.export_screenshot(title="isrlab"))


async def settled(main_screen: MainScreen, pilot: Pilot[int]) -> None:
    """Wait until the screen shows everything."""
    while main_screen.session.history.task is not None:
        await pilot.pause(0.01)
    while isinstance(page := main_screen.pages.page, ComparePage) and not page._arrived:
        await pilot.pause(0.01)
    for field in main_screen.app.screen.query(Input):
        field.cursor_blink = False  # a blinking cursor would be in some pictures only
    await pilot.pause()


def held(name: str, look: str, text: str, svg: str, left: Path) -> None:
    """Compare a picture with its snapshot."""
    path = KEPT / f"{name}-{look}.txt"
    now = f"{text}\nsvg {hashlib.sha256(svg.encode()).hexdigest()[:16]}\n"
    if os.environ.get("ISRLAB_SNAPSHOTS") == "write":
        KEPT.mkdir(exist_ok=True)
        path.write_text(now, encoding="utf-8")
        return
    if not path.exists() or path.read_text(encoding="utf-8") != now:
        picture = left / f"{name}-{look}.svg"
        picture.write_text(svg, encoding="utf-8")
        assert path.exists(), f"there is no snapshot {path.name} yet; its picture is {picture}"
        assert now == path.read_text(encoding="utf-8"), f"{name} looks otherwise at {look}; its picture is {picture}"


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("screen", SCREENS)
async def test_the_screen_looks_as_it_did(screen: str, look: str, tmp_path: Path) -> None:
    text, svg = await picture(screen, look)
    if look == "ascii":
        assert svg.isascii() or all(ord(char) < 128 or char == "\xa0" for char in svg)
    held(screen, look, text, svg, tmp_path)


@pytest.mark.parametrize("look", ["80x24", "120x40"])
async def test_screens_in_turn_look_as_they_did(look: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))  # without progress in lessons
    async with showing(await played(), size=SIZES[look]) as (app, main_screen, pilot):
        for screen, keys in IN_TURN.items():
            for key in keys:
                await pilot.press(TYPED.get(key, key))
                await pilot.pause()
            await settled(main_screen, pilot)
            text = "\n".join(line.rstrip() for line in screen_text(app).split("\n"))
            held(screen, look, text, without_fonts(app.export_screenshot(title="isrlab")), tmp_path)


@pytest.mark.parametrize("size", [(79, 24), (60, 15), (30, 8)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_below_80_by_20_there_is_a_calm_view(size: tuple[int, int], tmp_path: Path) -> None:
    async with playing(size=size, until=3 * SECOND) as (app, main_screen, pilot):
        await pilot.press("k")
        main_screen.session.history.replay_run.advance_to(15 * SECOND)
        main_screen.refresh_view()
        await pilot.pause()
        held("minimal", f"{size[0]}x{size[1]}", screen_text(app), without_fonts(app.export_screenshot(title="isrlab")), tmp_path)


GROUP_SCRIPT = """\
scenario: members
about: Three consumers share six partitions. One of them is killed.
cluster: {brokers: 3, settings: {offsets.topic.num.partitions: 5}, topics: {orders: {partitions: 6, replication-factor: 3}}}
timeline:
  - load: {topic: orders, rate: 300}
  - at: 2s
    join-group: {consumer: app1, group: billing, topics: [orders], config: {session.timeout.ms: 10000}}
  - join-group: {consumer: app2, group: billing, topics: [orders], config: {session.timeout.ms: 10000}}
  - join-group: {consumer: app3, group: billing, topics: [orders], record-time: 8ms, config: {session.timeout.ms: 10000}}
  - at: 20s
    kill-consumer: app1
  - wait: 10s
"""
"""A script with a group. At 22 s, the coordinator has not yet noticed that app1 is dead."""


@pytest.mark.parametrize("look", SIZES)
async def test_groups_look_as_they_did(look: str, tmp_path: Path) -> None:
    path = tmp_path / "members.yaml"
    path.write_text(GROUP_SCRIPT)
    script = catalogue.load(str(path))
    target = PlayTarget(script, script.spec, release_named("4.3"), 0, title=script.name)
    async with playing(target, size=SIZES[look], until=0) as (app, main_screen, pilot):
        main_screen.session.history.replay_run.advance_to(22 * SECOND)
        await pilot.press("0")
        main_screen.refresh_view()
        await pilot.pause()
        text = "\n".join(line.rstrip() for line in screen_text(app).split("\n"))
        assert "app1 is dead, noticed at 00:2" in text
        held("groups", look, text, without_fonts(app.export_screenshot(title="isrlab")), tmp_path)


@pytest.mark.parametrize("look", LOOKS)
async def test_a_scenario_looks_as_it_did(look: str, tmp_path: Path) -> None:
    size, wanted = LOOKS[look]
    script = catalogue.load("e1-data-loss")
    async with playing(PlayTarget(script, script.spec, release_named("0.10.2"), 0, title=script.name), size=size, until=0, **wanted) as (
        app,
        main_screen,
        pilot,
    ):
        for _ in range(16):
            main_screen.session.history.replay_run.step()
        main_screen.refresh_view()
        await pilot.pause()
        text = "\n".join(line.rstrip() for line in screen_text(app).split("\n"))
        assert "LOST" in text
        held("scenario", look, to_ascii(text) if look == "ascii" else text, without_fonts(app.export_screenshot(title="isrlab")), tmp_path)
