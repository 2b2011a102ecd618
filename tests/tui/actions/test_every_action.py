"""Runs every action in the registry by its key and through the command palette. Both must have the same effect, and some effect."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from textual.command import CommandList
from textual.pilot import Pilot
from textual.widgets import Input

from core.kafka.events import DETAIL, NOTABLE
from core.sim.units import SECOND
from scenarios import catalogue
from scenarios.releases import release_named
from tests.tui.app.test_playground import playing, screen_text, searched
from tui.actions.all_actions import ACTIONS
from tui.app.playground import ActionProvider, Playground
from tui.main_screen.screen import MainScreen
from tui.session.play_target import PlayTarget

BEFORE: dict[str, tuple[str, ...]] = {
    "start": ("k",),
    "step-notable": ("k",),
    "heal": ("i",),
    "to-end": ("comma",),
    "follow": ("tab", "up", "up"),
    "diff": ("comma",),
    "screen-overview": ("2",),
    "back": ("2",),
    "search": ("6",),
    "cause": ("k", "N", "tab", "up"),
    "undo": ("k",),
    "redo": ("k", "left_curly_bracket"),
    "by-hand-round": ("b",),
    "by-hand-step": ("b",),
}
"""For actions that are impossible at the start: the keys after which they are possible."""

ELSEWHERE = {
    "controllers": ("d9-dedicated-controllers", "4.1"),
    "move-replica": ("d4-move-replica", "4.1"),
    "zones": ("d9-two-and-a-half-sites", "4.3"),
}
"""For actions that are impossible in the default cluster: a scenario and a release in which they are possible."""


def loaded(action: str) -> AbstractAsyncContextManager[tuple[Playground, MainScreen, Pilot[int]]]:
    """Return a session in which an action is possible."""
    if action in ELSEWHERE:
        name, release = ELSEWHERE[action]
        script = catalogue.load(name)
        return playing(PlayTarget(script, script.spec, release_named(release), 0, title=script.name), until=0, size=(100, 30))
    return playing(until=2 * SECOND, size=(100, 30))


def outcome(app: Playground, main_screen: MainScreen) -> dict[str, Any]:
    """Return the visible effects of an action."""
    session = main_screen.session
    ring = session.history.event_buffer.ring(NOTABLE)
    return {
        "events": session.history.replay_run.event_tap.seq,
        "done": [main_screen.session.event_sentence(ring.at(at)[0]) for at in range(ring.first, ring.total)][-3:],
        "now": session.history.cluster.now,
        "speed": session.playback.speed,
        "playing": session.playback.playing,
        "bookmarks": len(session.history.bookmarks),
        "dialog": type(app.screen).__name__,
        "page": None if main_screen.pages.page is None else main_screen.pages.page.name,
        "level": main_screen.panels.events.level,
        "cursor": main_screen.panels.events.cursor,
        "clipboard": app.clipboard,
        "running": app.is_running and app.return_code is None,
        "screen": screen_text(app).split("\n")[1:-1],
        "said": main_screen.panels.footer.lines[0].text if main_screen.panels.footer.lines else "",
        "kept": session.history.event_buffer.ring(DETAIL).total,
    }


async def settle(app: Playground, main_screen: MainScreen, pilot: Pilot[int]) -> None:
    """Wait until nothing moves anymore, except in a session that plays."""
    await pilot.pause()
    while main_screen.session.history.task_target is not None:
        main_screen.session.playback.frame(0.05)
        main_screen.refresh_view()
    await pilot.pause()


async def prepared(action: str, app: Playground, main_screen: MainScreen, pilot: Pilot[int]) -> dict[str, Any]:
    if action == "elect-preferred":
        await pilot.press("k")
        main_screen.session.history.replay_run.advance_to(20 * SECOND)
        await pilot.press("s")
        main_screen.session.history.replay_run.advance_to(40 * SECOND)
        main_screen.refresh_view()
    elif action == "elect-unclean":
        await pilot.press("u")
        main_screen.session.history.replay_run.advance_to(3 * SECOND)
        main_screen.refresh_view()
        await pilot.press("u")
        for broker in range(3):
            await pilot.press("k", "right")
            main_screen.session.history.replay_run.advance_to((20 + 20 * broker) * SECOND)
            main_screen.refresh_view()
        await pilot.press("s")
        main_screen.session.history.replay_run.advance_to(90 * SECOND)
        main_screen.refresh_view()
    else:
        for key in BEFORE.get(action, ()):
            await pilot.press(key)
            await settle(app, main_screen, pilot)
    await settle(app, main_screen, pilot)
    return outcome(app, main_screen)


async def by_palette(app: Playground, pilot: Pilot[int], label: str) -> None:
    """Type the label in the command palette, and choose the entry with exactly this label."""
    await pilot.press("colon")
    app.screen.query_one(Input).value = label
    await searched(app, pilot)
    entries = app.screen.query_one(CommandList)
    for at in range(entries.option_count):
        hit = getattr(entries.get_option_at_index(at), "hit", None)
        if hit is not None and hit.text == label:
            entries.highlighted = at
            await pilot.press("enter")
            return
    raise AssertionError(f"the palette does not offer {label!r}")


OFFERED = [action for action in ACTIONS if action.id != "palette"]


@pytest.mark.parametrize("action", OFFERED, ids=lambda a: a.id)
async def test_key_and_palette_do_the_same(action: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test opens the palette for actions that show something else, which the palette could cover, and for every fourth other action. A
    later test checks, for all actions, that the palette runs the right one.
    """
    monkeypatch.chdir(tmp_path)

    async def after(palette: bool) -> tuple[dict[str, Any], dict[str, Any]]:
        async with loaded(action.id) as (app, main_screen, pilot):
            before = await prepared(action.id, app, main_screen, pilot)
            refused = action.refuse(main_screen.context())
            assert refused is None, f"{action.id} is not possible here: {refused}"
            if palette:
                await by_palette(app, pilot, action.label)
            else:
                await pilot.press(action.keys[0])
            await settle(app, main_screen, pilot)
            found = outcome(app, main_screen)
            if action.id == "play":
                main_screen.session.history.pause()
                before, found = ({"playing": each["playing"], "dialog": each["dialog"], "page": each["page"]} for each in (before, found))
            return before, found

    before, by_key = await after(palette=False)
    assert by_key != before, f"{action.id} does nothing"
    moved = (by_key["dialog"], by_key["page"]) != (before["dialog"], before["page"])
    if moved or OFFERED.index(action) % 4 == 0 or action.id == "play":
        assert (await after(palette=True))[1] == by_key


async def test_the_palette_finds_every_action_by_its_label(monkeypatch: pytest.MonkeyPatch) -> None:
    async with playing(until=2 * SECOND, size=(100, 30)) as (app, _, _):
        done: list[str] = []
        monkeypatch.setattr(MainScreen, "action_do", lambda self, action: done.append(action))
        provider = ActionProvider(app.screen)
        for action in OFFERED:
            done.clear()
            for hit in [hit async for hit in provider.search(action.label) if hit.text == action.label]:
                hit.command()
            assert done == [other.id for other in OFFERED if other.label == action.label]
